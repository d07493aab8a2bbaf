"""The block encoder: tree, scale unit, and one quantizer in each lane."""

from __future__ import annotations

from typing import Any, Unpack

from amaranth.hdl import Cat, Const, Module, Signal, Value

from ...spec import Encode
from ..config.encode import ConverterConfig, ConverterFields, Format, converter_config
from ..emission.modules import instantiated
from ..primitives.amax import ReduceKey, inner_stages
from ..primitives.msb_first import tree_of
from ..primitives.pipeline import Pipeline
from ..primitives.register import Stage
from ..primitives.widen import Widen
from .operand import lane_name, operand_config, special_flags
from .quantizers import quantizer_of
from .scale import ScaleUnit

CONTROL = ("mode", "random")
"""Inputs that cross stage boundaries with the numbers."""


def narrowed(m: Module, numerics: Encode, x: list[Value], significant_bits: int) -> list[Value]:
    """The numbers with the first ``significant_bits`` of their fractions and, below, one sticky bit. So fewer bits need
    registers on the way to the quantizers.
    """
    rest = numerics.source.man_bits - significant_bits
    if rest <= 1:
        return x
    found = [
        Signal(len(number) - rest + 1, name=f"{lane_name('x', lane, numerics)}_narrowed")
        for lane, number in enumerate(x)
    ]
    m.d.comb += [narrow.eq(Cat(number[:rest].any(), number[rest:])) for narrow, number in zip(found, x)]
    return found


class BlockConverter(Pipeline[ConverterConfig]):
    """Convert a block of numbers to a scale byte and element codes.

    It is combinational without registers (``registered_after``), and works in the domain ``sync`` with registers. A
    block enters at an edge with ``i_valid`` and ``i_ready``, together with its mode and its random bits. Its result
    leaves at an edge with ``o_valid`` and ``o_ready``, ``config.latency`` edges later if nothing waits, and does not
    change before. A block can enter at every edge. All registers keep their values while a result waits, so ``i_ready``
    follows ``o_ready`` within the cycle. Reset clears the valid bits, which drops the blocks in flight. Nothing enters
    or leaves at an edge with reset.

    Parameters
    ----------
    config, profile, fields : the converter, as for `hdl.converter_config`, with its errors

    Ports
    -----
    x : in, ``block_size`` numbers of the source, element 0 in the low bits
    mode : in, the number of the mode; if the configuration has several
    random : in, ``random_bits`` for each element, element 0 in the low bits; under stochastic rounding
    scale : out, the scale byte
    p : out, ``block_size`` codes, element 0 in the low bits
    i_valid, o_ready : in; with registers
    i_ready, o_valid : out; with registers
    """

    SIGNALS = frozenset(("amax", "magnitude", "key", "nan", "inf", "wide"))

    def __init__(self, config: Format, profile: str | None = None, **fields: Unpack[ConverterFields]) -> None:
        super().__init__(converter_config(config, profile, **fields))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = operand_config(self.config)
        numerics, lanes, micro = config.numerics, range(config.numerics.block_size), config.microarchitecture
        tree, unit = tree_of(config), ScaleUnit(config)
        numbers = [lane_name("x", lane, numerics) for lane in lanes]

        def crossed(stage: Stage, boundary: str, x: list[Value], **more: Any) -> tuple[Stage, list[Value]]:
            """The stage after a boundary, and the numbers there."""
            stage = stage.crossed(boundary, **more, **dict(zip(numbers, x)))
            return stage, [stage.values[name] for name in numbers]

        now = Stage(m, self, control=("x", "mode", "random")).crossed("input")
        x = self.operands(m, platform, lanes, now.x)
        now, x = crossed(now, "widened", x, control=CONTROL)
        elements = [quantizer_of(config) for _ in lanes]
        m.submodules.amax_tree, m.submodules.scale_unit = instantiated(tree, platform), instantiated(unit, platform)
        m.d.comb += tree.x.eq(Cat(x))
        if tree.reduced:
            self.tell(m, now, tree)

        if {*config.tree_stages, "scale"} & {*micro.registered_after}:
            x = narrowed(m, numerics, x, elements[0].significant_bits)
        for boundary in inner_stages(config):  # the tree has its own registers
            now, x = crossed(now, boundary, x)
        root = config.tree_stages[len(inner_stages(config))]
        now, x = crossed(now, root, x, amax=tree.amax)
        key = now.amax
        if not tree.reduced:
            reduce_key = ReduceKey(config)
            m.submodules.reduce_key = instantiated(reduce_key, platform)
            m.d.comb += reduce_key.magnitude.eq(key)
            self.tell(m, now, reduce_key)
            now, x = crossed(now, "key", x, key=reduce_key.key)
            key = now.key

        m.d.comb += unit.key.eq(key)
        self.tell(m, now, unit)
        flags = {flag: getattr(unit, flag) for flag in special_flags(numerics)}
        if "is_large" in elements[0].signature.members:
            flags["is_large"] = elements[0].larger(unit.scale)
        now, x = crossed(now, "scale", x, store_inverted=["scale", "is_large"], scale=unit.scale, **flags)

        count = numerics.random_bits
        for lane, element in enumerate(elements):
            m.submodules[lane_name("element", lane, numerics)] = instantiated(element, platform)
            self.tell(m, now, element)
            m.d.comb += [
                element.x.eq(Cat(Const(0, len(element.x) - len(x[lane])), x[lane])),
                element.scale.eq(now.scale),
                *(getattr(element, flag).eq(now.values[flag]) for flag in flags),
                *([element.random.eq(now.random[count * lane : count * (lane + 1)])] if count else []),
            ]
        for boundary in config.element_stages:  # the scale is delayed like the lanes
            now = now.crossed(boundary, control=(), scale=now.scale)
        codes = {lane_name("p", lane, numerics): element.p for lane, element in enumerate(elements)}
        now = now.crossed("output", control=(), scale=now.scale, **codes)

        bits = numerics.block.element.bits
        m.d.comb += [
            self.scale.eq(now.scale),
            *(self.p[bits * lane : bits * (lane + 1)].eq(now.values[name]) for lane, name in enumerate(codes)),
        ]
        self.store(m)
        if self.config.latency:
            self.handshake(m)
        return m

    def operands(self, m: Module, platform: object, lanes: range, numbers: Value) -> list[Value]:
        """The number of each lane, widened if the source is FP16."""
        numerics = self.config.numerics
        width = numerics.source.bits
        x = [numbers[width * lane : width * (lane + 1)] for lane in lanes]
        if operand_config(self.config) is self.config:
            return x
        width = operand_config(self.config).numerics.source.bits
        wide = Signal(numerics.block_size * width)
        widened = [wide[width * lane : width * (lane + 1)] for lane in lanes]
        for lane in lanes:
            widen = Widen(self.config)
            m.submodules[lane_name("widen", lane, numerics)] = instantiated(widen, platform)
            m.d.comb += [widen.x.eq(x[lane]), widened[lane].eq(widen.wide)]
        return widened
