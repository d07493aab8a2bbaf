"""Registers between the steps of a converter, after those that its configuration names. Without any it has no clock.

A component asks at every place that it has, and passes all that lives there: what it was told and what it computed. So
nothing can be late against the rest, and no expression is written twice.
"""

from __future__ import annotations

from collections.abc import Iterable
from copy import copy

from amaranth.hdl import Module, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Member

from .config import ConverterConfig

__all__ = ["enable_port", "registered"]


def enable_port(config: ConverterConfig, places: Iterable[str]) -> dict[str, Member]:
    """The port ``enable`` of a component that has registers after one of these places, or none."""
    return {"enable": In(1)} if set(places) & set(config.microarchitecture.registered_after) else {}


def registered(
    m: Module,
    component: wiring.Component,
    place: str,
    *,
    told: Iterable[str] = (),
    forced: Iterable[str] = (),
    **values: Value,
) -> list:
    """The component and the values as what comes after ``place`` sees them: the same, or as they were one cycle before.

    A cycle is one in which ``component.enable`` is set. ``told`` are names of inputs of the component that are asked
    for later, and may have any that it does not have; in the component that is returned they are the registered ones.

    The registers hold data only, and are not reset. Those of the values in ``forced``, which a single bit can decide,
    hold the complement. Synthesis would make that bit a synchronous reset, and gate it by the enable, as the reset of a
    register comes first: a LUT between the net that reaches all registers and some of them, always the longest path (on
    ECP5 150 MHz instead of 175). It does not look through an inverter, which vanishes in the LUTs before and behind.
    Outputs are registers as they are.
    """
    if place not in component.config.microarchitecture.registered_after:
        return [component, *values.values()]
    later = copy(component)
    inputs = {name: getattr(component, name) for name in told if name in component.signature.members}
    delayed = []
    with m.If(component.enable):
        for name, value in (inputs | values).items():
            inverts = name in forced
            register = Signal(value.shape(), name=f"{'not_' * inverts}{name}_{place}_q", reset_less=True)
            m.d.sync += register.eq(~value if inverts else value)
            delayed.append(~register if inverts else register)
    for name, register in zip(inputs, delayed):
        setattr(later, name, register)
    return [later, *delayed[len(inputs) :]]
