"""The lanes of an NVFP4 encoder, and the unit that prepares the scale for them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from amaranth.hdl import Module, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In

from ...spec import FP32, Order
from ..config.architecture import Nvfp4Form
from ..config.nvfp4_encode import Nvfp4Config
from ..emission.modules import instantiated
from ..encode.operand import lane_name
from ..primitives.register import Stage, held
from .divisor import DIVISORS, DivisorUnit
from .element import ProductElement
from .factor import FACTOR_UNITS
from .random_element import RandomElement
from .threshold_unit import ThresholdUnit
from .thresholds import TableUnit, ThresholdElement

FORMS: dict[Nvfp4Form, tuple[Mapping[Order, type[wiring.Component]], type[wiring.Component]]] = {
    Nvfp4Form.PRODUCT: (FACTOR_UNITS, ProductElement),
    Nvfp4Form.THRESHOLDS: (
        {**dict.fromkeys(FACTOR_UNITS, ThresholdUnit), **dict.fromkeys(DIVISORS, DivisorUnit)},
        ThresholdElement,
    ),
    Nvfp4Form.TABLE: (dict.fromkeys(FACTOR_UNITS, TableUnit), ThresholdElement),
}
"""By form: the units that prepare the scale for the lanes, by order, and a lane."""


def connect_constants(m: Module, part: wiring.Component, now: Stage) -> None:
    """Connect the constants of the tensor to a part. A constant that the order lacks is one."""
    for name, member in part.signature.members.items():
        if member.flow is In and name not in ("amax", "scale", "enable"):
            m.d.comb += getattr(part, name).eq(now.control.get(name, FP32.bias << FP32.man_bits))


class Component(Protocol):
    """A component with lanes."""

    config: Nvfp4Config
    enable: Signal


def encoded(
    m: Module, platform: object, component: Component, now: Stage, also: Mapping[str, Value] = {}
) -> tuple[Stage, dict[str, Value]]:
    """The stage of a component with the code of each lane, and these codes. ``also`` are more values of the stage.

    If ``is_first`` is one of them, lanes keep what they receive with the first beat of a block.
    """
    config = component.config
    rules = config.numerics
    lanes, width = range(config.lanes), rules.source.bits
    factor_units, element_of = FORMS[config.microarchitecture.form]
    if rules.random_bits:
        element_of = RandomElement
    factor = factor_units[rules.order](config)
    elements = [element_of(config) for _ in lanes]
    factor.kind = "factor_unit"
    m.submodules.factor_unit = instantiated(factor, platform)
    m.d.comb += factor.scale.eq(now.scale)
    connect_constants(m, factor, now)
    parts = [factor]
    for boundary in config.factor_stages:
        now = now.crossed(boundary, control=("x", "random"), scale=now.scale, **also)
        also = {name: now.values[name] for name in also}
    asked = elements[0].signature.members
    told = {name: getattr(factor, name) for name in factor.signature.members if name in asked}
    if "nan_sign" in asked:
        told["nan_sign"] = now.scale[-1]
    told = {"scale": now.scale, **told}
    if "is_first" in also:
        received = held(m, component.enable & now.is_first, "factor", told)
        now = now.crossed("factor", control=("x", "random"), **also)
        now.values |= received
    else:
        now = now.crossed("factor", control=("x", "random"), **told, **also)
    for lane, element in enumerate(elements):
        element.kind = "lane"
        m.submodules[lane_name("element", lane, rules)] = instantiated(element, platform)
        m.d.comb += element.x.eq(now.x.word_select(lane, width))
        m.d.comb += [getattr(element, name).eq(now.values[name]) for name in told if name != "scale"]
        if rules.random_bits:
            m.d.comb += element.random.eq(now.random.word_select(lane, rules.random_bits))
        parts.append(element)
    for boundary in config.lane_stages:
        now = now.crossed(boundary, scale=now.scale, **{name: now.values[name] for name in also})
    m.d.comb += [part.enable.eq(component.enable) for part in parts if "enable" in part.signature.members]
    return now, {lane_name("p", lane, rules): element.p for lane, element in enumerate(elements)}
