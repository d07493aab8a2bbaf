"""The block converter: tree, scale unit and one quantizer for each lane. The only place that knows lanes."""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ..spec import BlockFormat, Kind, Numerics, Role
from .amax import AmaxTree, ReduceKey, inner_stages
from .architecture import Quantizer
from .boundaries import TOGETHER, element_stages, tree_stages
from .config import ConverterConfig, converter_config
from .element import ElementQuantizer
from .elimination import Elimination
from .modules import placed
from .operand import lane_name, operand_config, special_flags
from .register import registered
from .scale import ScaleUnit
from .table_element import TableQuantizer
from .table_fixed import FixedQuantizer
from .widen import Widen

__all__ = ["BlockConverter"]


QUANTIZERS: dict[tuple[Quantizer, Kind], type[wiring.Component]] = {
    (Quantizer.SHIFT, Kind.FLOAT): ElementQuantizer,
    (Quantizer.SHIFT, Kind.FIXED): ElementQuantizer,
    (Quantizer.TABLE, Kind.FLOAT): TableQuantizer,
    (Quantizer.TABLE, Kind.FIXED): FixedQuantizer,
}


def narrowed(m: Module, numerics: Numerics, x: list, looks_at: int) -> list:
    """The numbers with the first ``looks_at`` bits of their fractions and, below, whether any other is set: the fewer
    bits are registered on the way to the quantizers.
    """
    rest = numerics.source.man_bits - looks_at
    if rest <= 1:
        return x
    found = [
        Signal(len(number) - rest + 1, name=f"{lane_name('x', lane, numerics)}_narrowed")
        for lane, number in enumerate(x)
    ]
    m.d.comb += [narrow.eq(Cat(number[:rest].any(), number[rest:])) for narrow, number in zip(found, x)]
    return found


class BlockConverter(wiring.Component):
    """Convert ``x`` (element 0 in the low bits) to a scale byte ``scale`` and codes ``p`` (element 0 in the low bits).

    ``mode`` chooses the numerics where the configuration has several; ``random`` are the random bits of stochastic
    rounding, those of element 0 in the low bits. Takes a `ConverterConfig`, or a format with a profile and overrides as
    `hdl.converter_config` does. Combinational, unless ``registered_after`` names places for registers.

    Then it works in the domain ``sync``. A block enters at an edge with ``i_valid`` and ``i_ready``, its mode and its
    random bits with it; its result leaves at an edge with ``o_valid`` and ``o_ready``, ``config.latency`` edges later
    if nothing waits, and does not change before. A block can enter at every edge. All registers stand still while a
    result waits, so ``i_ready`` follows ``o_ready`` within the cycle. Reset clears the valid bits, which drops what is
    in flight; nothing enters or leaves at an edge with reset.
    """

    def __init__(
        self, config: ConverterConfig | BlockFormat | str, profile: str | None = None, **overrides: object
    ) -> None:
        self._MustUse__used = True  # a configuration that is refused leaves nothing that Amaranth should warn of
        self.config = converter_config(config, profile, **overrides)
        self._MustUse__used = False
        # clock and reset are of the domain
        super().__init__(
            {
                port.name: (In if port.direction == "input" else Out)(port.width)
                for port in self.config.ports
                if port.role not in (Role.CLOCK, Role.RESET)
            }
        )
        self.enable = Signal()
        """Whether all registers take what comes, in this cycle."""

    def elaborate(self, platform) -> Module:
        m = Module()
        config = operand_config(self.config)
        numerics, lanes, told = config.numerics, range(config.numerics.block_size), ("mode", "random")
        micro = config.microarchitecture
        tree, unit = (AmaxTree if micro.amax in TOGETHER else Elimination)(config), ScaleUnit(config)
        quantizer = QUANTIZERS[micro.quantizer, numerics.block.element.kind]

        def named(x: list) -> dict:
            return {lane_name("x", lane, numerics): number for lane, number in zip(lanes, x)}

        (now,) = registered(m, self, "input", told=("x", *told))  # ports as they are at this step
        x = now.operands(m, platform, lanes)
        now, *x = registered(m, now, "widened", told=told, **named(x))
        elements = [quantizer(config) for _ in lanes]
        m.submodules.amax_tree, m.submodules.scale_unit = placed(tree, platform), placed(unit, platform)
        m.d.comb += tree.x.eq(Cat(x))
        if tree.reduced:
            now.tell(m, tree)

        if {*tree_stages(config), "scale"} & {*micro.registered_after}:
            x = narrowed(m, numerics, x, elements[0].looks_at)
        for place in inner_stages(config):  # what the tree holds there, it registers itself
            now, *x = registered(m, now, place, told=told, **named(x))
        root = tree_stages(config)[len(inner_stages(config))]
        now, key, *x = registered(m, now, root, told=told, amax=tree.amax, **named(x))
        if not tree.reduced:
            reduce_key = ReduceKey(config)
            m.submodules.reduce_key = placed(reduce_key, platform)
            m.d.comb += reduce_key.magnitude.eq(key)
            now.tell(m, reduce_key)
            now, key, *x = registered(m, now, "key", told=told, key=reduce_key.key, **named(x))

        m.d.comb += unit.key.eq(key)
        now.tell(m, unit)
        flags = {flag: getattr(unit, flag) for flag in special_flags(numerics)}
        if "is_large" in elements[0].signature.members:
            flags["is_large"] = elements[0].larger(unit.scale)
        now, scale, *rest = registered(
            m, now, "scale", told=told, forced=["scale", "is_large"], scale=unit.scale, **flags, **named(x)
        )
        flags, x = dict(zip(flags, rest)), rest[len(flags) :]

        count = numerics.random_bits
        for lane, element in enumerate(elements):
            m.submodules[lane_name("element", lane, numerics)] = placed(element, platform)
            now.tell(m, element)
            m.d.comb += [
                element.x.eq(Cat(Const(0, len(element.x) - len(x[lane])), x[lane])),
                element.scale.eq(scale),
                *(getattr(element, flag).eq(value) for flag, value in flags.items()),
                *([element.random.eq(now.random[count * lane : count * (lane + 1)])] if count else []),
            ]
        for place in element_stages(config):
            _, scale = registered(m, self, place, scale=scale)
        codes = {lane_name("p", lane, numerics): element.p for lane, element in enumerate(elements)}
        _, scale, *codes = registered(m, self, "output", scale=scale, **codes)

        bits = numerics.block.element.bits
        m.d.comb += [
            self.scale.eq(scale),
            *(self.p[bits * lane : bits * (lane + 1)].eq(code) for lane, code in enumerate(codes)),
        ]
        if self.config.latency:
            self.handshake(m)
        return m

    def tell(self, m: Module, part: wiring.Component) -> None:
        """Connect what a part needs to know of the whole: the mode, and whether registers take what comes."""
        m.d.comb += [
            getattr(part, port).eq(getattr(self, port)) for port in ("mode", "enable") if port in part.signature.members
        ]

    def handshake(self, m: Module) -> None:
        """A valid bit goes along with each block. Everything moves unless the last one waits to be taken."""
        valid = self.i_valid
        for place in self.config.microarchitecture.registered_after:
            before, valid = valid, Signal(name=f"valid_{place}_q")
            with m.If(self.enable):
                m.d.sync += valid.eq(before)
        m.d.comb += [self.enable.eq(self.o_ready | ~valid), self.i_ready.eq(self.enable), self.o_valid.eq(valid)]

    def operands(self, m: Module, platform, lanes: range) -> list:
        """The number of each lane, widened where the source asks for it."""
        numerics = self.config.numerics
        width = numerics.source.bits
        x = [self.x[width * lane : width * (lane + 1)] for lane in lanes]
        if operand_config(self.config) is self.config:
            return x
        width = operand_config(self.config).numerics.source.bits
        wide = Signal(numerics.block_size * width)
        numbers = [wide[width * lane : width * (lane + 1)] for lane in lanes]
        for lane in lanes:
            widen = Widen(self.config)
            m.submodules[lane_name("widen", lane, numerics)] = placed(widen, platform)
            m.d.comb += [widen.x.eq(x[lane]), numbers[lane].eq(widen.wide)]
        return numbers
