"""The way of a beat into the store: the largest key of its numbers, and what the lanes use of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Generic, TypeAlias, TypeVar

from amaranth.hdl import Cat, Module, ShapeLike, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Member, Out

from ...spec import Encode
from ..config.encode import ConverterConfig
from ..config.nvfp4_encode import Nvfp4Config
from ..config.tile import TiledConfig
from ..emission.modules import instantiated
from ..encode.operand import lane_name, operand_config, scale_key_layout
from ..primitives.amax import inner_stages
from ..primitives.msb_first import tree_of
from ..primitives.register import Stage, enable_port
from ..primitives.widen import Widen


def number_bits(numerics: Encode, fraction_bits: int) -> int:
    """Width of a stored number: sign, exponent, ``fraction_bits`` of fraction, and a sticky bit if bits are left."""
    source = numerics.source
    return 1 + source.exp_bits + min(fraction_bits + 1, source.man_bits)


EncoderConfig: TypeAlias = ConverterConfig | Nvfp4Config
"""An encoder that can have lanes."""

Encoder = TypeVar("Encoder", bound=EncoderConfig)
"""One kind of them."""


def front_stages(config: EncoderConfig | TiledConfig) -> tuple[str, ...]:
    """Stage boundaries before the store."""
    stages, tree = config.stages, config.tree_stages
    return stages[: stages.index(tree[-1]) + 1] if tree else ()


class FrontPart(wiring.Component, Generic[Encoder]):
    """The part of an encoder with lanes in front of the store: the largest key of the numbers of a beat, and these
    numbers as the store holds them.

    Parameters
    ----------
    config : an encoder with lanes
    key : the shape of a key
    width : bits of a stored number
    marks : bits of a packet
    more : more ports

    Ports
    -----
    x : in, the numbers of a beat
    mode, or the constants of a tensor : in, if the configuration has them
    random : in, if the configuration has random bits
    enable : in, enable of the registers, if there are some before the store
    key : out, the largest key
    numbers : out, the stored numbers
    mode_of_beat and so on, random_of_beat : out, these inputs, delayed like the numbers
    marks, marks_of_beat : in and out, bits of a packet, delayed like the numbers; if there are ``marks``
    """

    given: tuple[str, ...]
    """Inputs of the encoder that leave as they are."""
    passed: tuple[str, ...]
    """The same with the marks of a packet."""

    def __init__(
        self, config: Encoder, key: ShapeLike, width: int, marks: int = 0, more: Mapping[str, Member] = {}
    ) -> None:
        self.config, self.width = config, width
        numerics, lanes = config.numerics, config.lanes
        passed = {port.name: port.width for port in config.of_block}
        passed |= {"random": numerics.random_bits * lanes} if numerics.random_bits else {}
        self.given = tuple(passed)
        self.passed = (*passed, "marks") if marks else self.given
        super().__init__(
            {
                "x": In(numerics.source.bits * lanes),
                **{name: In(bits) for name, bits in passed.items()},
                **enable_port(config, front_stages(config)),
                "key": Out(key),
                "numbers": Out(width * lanes),
                **{f"{name}_of_beat": Out(bits) for name, bits in passed.items()},
                **({"marks": In(marks), "marks_of_beat": Out(marks)} if marks else {}),
                **more,
            }
        )

    def leave(self, m: Module, now: Stage, key: Value, numbers: Sequence[Value]) -> None:
        """Connect the outputs to a stage."""
        m.d.comb += [
            self.key.eq(key),
            self.numbers.eq(Cat(numbers)),
            *(getattr(self, f"{name}_of_beat").eq(now.control[name]) for name in self.passed),
        ]


class BeatKeys(FrontPart[ConverterConfig]):
    """`FrontPart` of an encoder to formats with a shared exponent.

    Parameters
    ----------
    config : a `ConverterConfig` with lanes
    fraction_bits : leading bits of a fraction that the quantizers use; the others only as a sticky bit
    """

    def __init__(self, config: ConverterConfig, fraction_bits: int, marks: int = 0) -> None:
        self.fraction_bits = fraction_bits
        self.inside = operand_config(config)
        width = number_bits(self.inside.numerics, fraction_bits)
        super().__init__(config, scale_key_layout(self.inside), width, marks, self.more_ports(config.lanes))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config, numerics, lanes = self.inside, self.inside.numerics, range(self.config.lanes)
        tree = tree_of(config)
        m.submodules.amax_tree = instantiated(tree, platform)
        now = Stage(m, self, control=("x", *self.passed)).crossed("input")
        names = [lane_name("x", lane, numerics) for lane in lanes]
        now = now.crossed("widened", control=self.passed, **dict(zip(names, self.operands(m, platform, now.x))))
        x = [now.values[name] for name in names]
        m.d.comb += [
            tree.x.eq(Cat(x)),
            *([tree.mode.eq(now.mode)] if "mode" in tree.signature.members else []),
            *([tree.enable.eq(self.enable)] if "enable" in tree.signature.members else []),
        ]
        more = self.more(m, platform, x)
        values = {**dict(zip(names, (self.stored(number) for number in x))), **more}
        for boundary in inner_stages(config):  # the tree has its own registers
            now = now.crossed(boundary, **values)
            values = now.values
        now = now.crossed(config.tree_stages[-1], **values, amax=tree.amax.as_value())
        self.deliver(m, [now.values[name] for name in more])
        self.leave(m, now, now.amax, [now.values[name] for name in names])
        return m

    def more_ports(self, lanes: int) -> dict[str, Member]:
        """Ports for other values of the numbers."""
        return {}

    def more(self, m: Module, platform: object, numbers: list[Value]) -> dict[str, Value]:
        """Other values of the numbers, which are delayed like them."""
        return {}

    def deliver(self, m: Module, values: list[Value]) -> None:
        """Connect these values to their ports."""

    def operands(self, m: Module, platform: object, numbers: Value) -> list[Value]:
        """The number of each lane, widened if the source is FP16."""
        width = self.config.numerics.source.bits
        x = [numbers[width * lane : width * (lane + 1)] for lane in range(self.config.lanes)]
        if self.inside is self.config:
            return x
        widened: list[Value] = []
        for lane, number in enumerate(x):
            widen = Widen(self.config)
            m.submodules[lane_name("widen", lane, self.config.numerics)] = instantiated(widen, platform)
            wide = Signal(len(widen.wide), name=lane_name("wide", lane, self.config.numerics))
            m.d.comb += [widen.x.eq(number), wide.eq(widen.wide)]
            widened.append(wide)
        return widened

    def stored(self, number: Value) -> Value:
        """A number as the store holds it."""
        rest = self.inside.numerics.source.man_bits - self.fraction_bits
        return number if rest <= 1 else Cat(number[:rest].any(), number[rest:])
