"""The block converter under two levels of scales: the largest magnitude, the scale, what numbers are scaled with, and a
lane for each of them.
"""

from __future__ import annotations

from typing import Any, Unpack

from amaranth.hdl import Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ..spec import FP32, BlockFormat, NumberFormat, Order, TwoLevelEncode
from .amax import largest
from .architecture import TwoLevelForm
from .config import TwoLevelConfig, TwoLevelHardwareFields, two_level_config
from .modules import instantiated
from .operand import lane_name
from .pipeline import Pipeline
from .register import Stage
from .threshold_unit import ThresholdUnit
from .two_level_element import ProductElement
from .two_level_factor import FACTOR_UNITS
from .two_level_random_element import RandomElement
from .two_level_scale import SCALE_UNITS
from .two_level_thresholds import TableUnit, ThresholdElement

__all__ = ["FORMS", "TwoLevelConverter", "TwoLevelMaximum"]

IGNORES_NAN = {Order.TE: True, Order.PAPER: True, Order.AO: False, Order.AO_SINGLE: False}
"""Is NaN left out of the largest magnitude? Otherwise it is the largest of all."""

FORMS: dict[TwoLevelForm, tuple[Any, Any]] = {
    TwoLevelForm.PRODUCT: (FACTOR_UNITS, ProductElement),
    TwoLevelForm.THRESHOLDS: (dict.fromkeys(FACTOR_UNITS, ThresholdUnit), ThresholdElement),
    TwoLevelForm.TABLE: (dict.fromkeys(FACTOR_UNITS, TableUnit), ThresholdElement),
}
"""By form, what makes of the scale what the lanes are told, by order, and a lane."""


class TwoLevelMaximum(wiring.Component):
    """The largest magnitude of a block, by a tree of two-input comparators.

    Ports
    -----
    x : in, ``block_size`` numbers, element 0 in the low bits
    amax : out, a magnitude without sign
    """

    def __init__(self, config: TwoLevelConfig) -> None:
        self.rules = config.numerics
        bits = self.rules.source.bits
        super().__init__({"x": In(self.rules.block_size * bits), "amax": Out(bits - 1)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        source = self.rules.source
        level: list[Value] = []
        for lane in range(self.rules.block_size):
            magnitude = self.x.word_select(lane, source.bits)[:-1]
            leaf = Signal(source.bits - 1, name=f"level0_{lane}")
            is_left_out = magnitude > source.max_code + 1 if IGNORES_NAN[self.rules.order] else 0
            m.d.comb += leaf.eq(Mux(is_left_out, 0, magnitude))
            level.append(leaf)
        depth = 0
        while len(level) > 1:
            depth += 1
            winners = [Signal(source.bits - 1, name=f"level{depth}_{node}") for node in range(len(level) // 2)]
            m.d.comb += [winner.eq(largest(level[2 * node : 2 * node + 2])) for node, winner in enumerate(winners)]
            level = list[Value](winners)
        m.d.comb += self.amax.eq(level[0])
        return m


class TwoLevelConverter(Pipeline[TwoLevelConfig]):
    """Convert a block of numbers to a scale byte and element codes under the constants of a tensor; combinational,
    unless ``registered_after`` names stage boundaries, at which there are registers then, with the handshake of
    `BlockConverter`.

    The constants are those that the order has of the largest magnitude of a tensor, whatever that is; other words have
    no meaning.

    Parameters
    ----------
    config, profile, fields : the converter, as `hdl.two_level_config` takes it

    Raises
    ------
    TypeError, ValueError
        those of `hdl.two_level_config`

    Ports
    -----
    x : in, ``block_size`` numbers of the source, element 0 in the low bits
    k, d : in, the constants of the tensor, where the order has some
    row_start, row_cells, row_thresholds : in, in place of d, the row of the table of thresholds that `scale` chooses
    random : in, ``random_bits`` for each element, those of element 0 in the low bits; under stochastic rounding
    scale : out, the scale byte
    p : out, ``block_size`` codes, element 0 in the low bits
    i_valid, o_ready : in; with registers
    i_ready, o_valid : out; with registers
    """

    def __init__(
        self,
        config: str | BlockFormat | NumberFormat | TwoLevelEncode | TwoLevelConfig,
        profile: str | None = None,
        **fields: Unpack[TwoLevelHardwareFields],
    ) -> None:
        self._MustUse__used = True  # a configuration that is refused leaves nothing that Amaranth should warn of
        super().__init__(two_level_config(config, profile, **fields))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config, rules = self.config, self.config.numerics
        lanes, width, bits = range(rules.block_size), rules.source.bits, rules.block.element.bits
        factor_units, element_of = FORMS[config.microarchitecture.form]
        if rules.random_bits:
            element_of = RandomElement
        maximum, unit = TwoLevelMaximum(config), SCALE_UNITS[rules.order](config)
        factor = factor_units[rules.order](config)
        elements = [element_of(config) for _ in lanes]
        unit.kind, factor.kind = "scale_unit", "factor_unit"
        m.submodules.maximum = instantiated(maximum, platform)
        m.submodules.scale_unit = instantiated(unit, platform)
        m.submodules.factor_unit = instantiated(factor, platform)

        constants = [port.name for port in config.operation_ports if port.direction == "input" and port.name != "x"]
        now = Stage(m, self, control=("x", *constants)).crossed("input")
        m.d.comb += maximum.x.eq(now.x)
        now = now.crossed("amax", amax=maximum.amax)
        m.d.comb += unit.amax.eq(now.amax)
        self.constants(m, unit, now)
        now = now.crossed("scale", control=[name for name in now.control if name != "k"], scale=unit.scale)
        m.d.comb += factor.scale.eq(now.scale)
        self.constants(m, factor, now)
        asked = elements[0].signature.members
        told = {name: getattr(factor, name) for name in factor.signature.members if name in asked}
        if "nan_sign" in asked:
            told["nan_sign"] = now.scale[-1]
        now = now.crossed("factor", control=("x", "random"), scale=now.scale, **told)
        for lane, element in enumerate(elements):
            element.kind = "lane"
            m.submodules[lane_name("element", lane, rules)] = instantiated(element, platform)
            m.d.comb += element.x.eq(now.x.word_select(lane, width))
            m.d.comb += [getattr(element, name).eq(now.values[name]) for name in told]
            if rules.random_bits:
                m.d.comb += element.random.eq(now.random.word_select(lane, rules.random_bits))
        codes = {lane_name("p", lane, rules): element.p for lane, element in enumerate(elements)}
        now = now.crossed("output", control=(), scale=now.scale, **codes)
        m.d.comb += self.scale.eq(now.scale)
        m.d.comb += [self.p.word_select(lane, bits).eq(now.values[name]) for lane, name in enumerate(codes)]
        if config.latency:
            self.handshake(m)
        return m

    def constants(self, m: Module, part: wiring.Component, now: Stage) -> None:
        """Connect the constant of the tensor that a part has; it is one where the order has none."""
        for name, member in part.signature.members.items():
            if member.flow is In and name not in ("amax", "scale"):
                m.d.comb += getattr(part, name).eq(now.control.get(name, FP32.bias << FP32.man_bits))
