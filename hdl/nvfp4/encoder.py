"""The block converter under two levels of scales: the largest magnitude, the scale, what numbers are scaled with, and a
lane for each of them.
"""

from __future__ import annotations

from typing import Unpack

from amaranth.hdl import Const, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ...spec import BlockFormat, FourOverSix, NumberFormat, Nvfp4Encode, Order
from ..config.nvfp4_encode import Nvfp4Config, Nvfp4HardwareFields, nvfp4_config
from ..emission.modules import instantiated
from ..primitives.amax import largest
from ..primitives.pipeline import Pipeline
from ..primitives.register import Stage, enable_port
from .candidate import better
from .lanes import Component, connect_constants, encoded
from .ratio_scale import RatioScale, UnlimitedScale
from .scale import DefaultedScale, Nvfp4Scale

IGNORES_NAN = (Order.TE, Order.PAPER)
"""Orders that leave NaN out of the largest magnitude. In others it is above all numbers."""

SCALE_UNITS: dict[Order, type[Nvfp4Scale] | type[RatioScale]] = {
    Order.TE: Nvfp4Scale,
    Order.PAPER: Nvfp4Scale,
    Order.AO: RatioScale,
    Order.AO_SINGLE: RatioScale,
    Order.MODELOPT: UnlimitedScale,
    Order.COMPRESSED_TENSORS: DefaultedScale,
}
"""The unit for the scale, by order."""


class Nvfp4Maximum(wiring.Component):
    """The largest magnitude of a block or a beat, by a tree of two-input comparators.

    Ports
    -----
    x : in, the numbers of a block, or of a beat
    amax : out, a magnitude without sign
    """

    def __init__(self, config: Nvfp4Config) -> None:
        self.rules = config.numerics
        self.config = config
        bits = self.rules.source.bits
        enable = enable_port(config, config.tree_stages[:-1])
        super().__init__({"x": In(config.lanes * bits), **enable, "amax": Out(bits - 1)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        source = self.rules.source
        leaves: list[Signal] = []
        for lane in range(self.config.lanes):
            magnitude = self.x.word_select(lane, source.bits)[:-1]
            leaf = Signal(source.bits - 1, name=f"level0_{lane}")
            is_left_out = magnitude > source.max_code + 1 if self.rules.order in IGNORES_NAN else Const(0, 1)
            m.d.comb += leaf.eq(self.without(magnitude, is_left_out))
            leaves.append(leaf)
        level = list(Stage(m, self).crossed("level0", **{leaf.name: leaf for leaf in leaves}).values.values())
        depth = 0
        while len(level) > 1:
            depth += 1
            winners = [Signal(source.bits - 1, name=f"level{depth}_{node}") for node in range(len(level) // 2)]
            m.d.comb += [winner.eq(largest(level[2 * node : 2 * node + 2])) for node, winner in enumerate(winners)]
            level = list[Value](winners)
            if len(level) > 1:
                crossed = Stage(m, self).crossed(f"level{depth}", **{winner.name: winner for winner in winners})
                level = list(crossed.values.values())
        m.d.comb += self.amax.eq(level[0])
        return m

    @staticmethod
    def without(magnitude: Value, is_left_out: Value) -> Value:
        """The magnitude, or 0 if it is left out."""
        return Mux(is_left_out, 0, magnitude)


class Nvfp4Converter(Pipeline[Nvfp4Config]):
    """Convert a block of numbers to a scale byte and element codes under the constants of a tensor. It is combinational
    without registers, and has the handshake of `BlockConverter` with registers.

    The constants must be the ones that the order computes from some largest magnitude of a tensor.

    Parameters
    ----------
    config, profile, fields : the converter, as for `hdl.nvfp4_config`, with its errors

    Ports
    -----
    x : in, ``block_size`` numbers of the source, element 0 in the low bits
    k, d : in, the constants of the tensor, if the order has them
    row_start, row_cells, row_thresholds : in, instead of d, the row that ``scale`` selects in the table of thresholds
    random : in, ``random_bits`` for each element, element 0 in the low bits; under stochastic rounding
    scale : out, the scale byte
    p : out, ``block_size`` codes, element 0 in the low bits
    """

    SIGNALS = frozenset(("amax", "significand", "exponent", "larger", "is_better", "error"))

    def __init__(
        self,
        config: str | BlockFormat | NumberFormat | Nvfp4Encode | Nvfp4Config,
        profile: str | None = None,
        **fields: Unpack[Nvfp4HardwareFields],
    ) -> None:
        super().__init__(nvfp4_config(config, profile, **fields))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        scale, codes = encoded_block(m, platform, self)
        bits = self.config.numerics.block.element.bits
        m.d.comb += self.scale.eq(scale)
        m.d.comb += [self.p.word_select(lane, bits).eq(code) for lane, code in enumerate(codes)]
        self.store(m)
        if self.config.latency:
            self.handshake(m)
        return m


def encoded_block(m: Module, platform: object, block: Component) -> tuple[Value, list[Value]]:
    """The scale and the codes of the numbers ``x`` of a component, with its constants and registers."""
    config, rules = block.config, block.config.numerics
    maximum, unit = Nvfp4Maximum(config), SCALE_UNITS[rules.order](config)
    unit.kind = "scale_unit"
    m.submodules.maximum = instantiated(maximum, platform)
    m.submodules.scale_unit = instantiated(unit, platform)

    constants = [port.name for port in config.operation_ports if port.direction == "input" and port.name != "x"]
    now = Stage(m, block, control=("x", *constants)).crossed("input")
    m.d.comb += maximum.x.eq(now.x)
    connect_enable(m, block, maximum)
    for boundary in config.tree_stages[:-1]:  # the maximum has its own registers
        now = now.crossed(boundary)
    now = now.crossed("amax", amax=maximum.amax)
    m.d.comb += unit.amax.eq(now.amax)
    connect_constants(m, unit, now)
    connect_enable(m, block, unit)
    kept = [name for name in now.control if name != "k"]
    for boundary in config.scale_stages:
        now = now.crossed(boundary, control=kept)
    if rules.four_over_six is FourOverSix.OFF:
        now = now.crossed("scale", control=kept, scale=unit.scale)
        now, codes = encoded(m, platform, block, now)
    else:
        now = now.crossed("scale", control=kept, scale=unit.scale, larger=unit.larger)
        now, codes = better(m, platform, block, now)
    now = now.crossed("output", control=(), scale=now.scale, **codes)
    return now.scale, [now.values[name] for name in codes]


def connect_enable(m: Module, block: Component, part: wiring.Component) -> None:
    """Connect the enable of a part with registers."""
    if "enable" in part.signature.members:
        m.d.comb += part.enable.eq(block.enable)
