"""Registers between the steps of a component, at the stage boundaries that its configuration names. Without any it has
no clock.

A component passes everything that crosses a boundary: the control inputs that are asked for later, and what it has
computed. So nothing can be late against the rest, and no expression is written twice.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from amaranth.hdl import Module, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Member, Out

from ..config.hardware import HardwareConfig


def enable_port(config: HardwareConfig, boundaries: Iterable[str]) -> dict[str, Member]:
    """The port ``enable`` of a component that has registers at one of these boundaries, or none."""
    return {"enable": In(1)} if set(boundaries) & set(config.microarchitecture.registered_after) else {}


class Enable(wiring.Component):
    """Whether registers take what comes: they do unless a result waits. Of the same function for all registers, but
    kept apart in synthesis, so that no net reaches all of them (one for 32 lanes is the critical path of a decoder).

    Ports
    -----
    ready, valid : in, ``o_ready`` and ``o_valid``
    y : out, the enable
    """

    kind = "advance"  # the top module has a signal ``enable``
    whole = True

    def __init__(self) -> None:
        super().__init__({"ready": In(1), "valid": In(1), "y": Out(1)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.d.comb += self.y.eq(self.ready | ~self.valid)
        return m


class Stage:
    """What a component has between two stage boundaries, each value an attribute: its control inputs, such as the mode,
    and what it has computed.
    """

    def __init__(
        self, m: Module, component: wiring.Component, control: Iterable[str] = (), values: Mapping[str, Value] = {}
    ) -> None:
        """The first stage. ``control`` are names of inputs; those that the component has not are left out."""
        self.m, self.component, self.values = m, component, dict(values)
        self.control = {name: getattr(component, name) for name in control if hasattr(component, name)}

    def __getattr__(self, name: str) -> Value:
        for values in (vars(self).get("control", {}), vars(self).get("values", {})):
            if name in values:
                return values[name]
        raise AttributeError(f"this stage has no {name}")

    def crossed(
        self,
        boundary: str,
        *,
        control: Iterable[str] | None = None,
        store_inverted: Iterable[str] = (),
        **values: Value,
    ) -> Stage:
        """The stage after a boundary: these values, and the control inputs, or only those that ``control`` names, as
        they are, or, where the configuration has registers there, as they were one cycle before.

        A cycle is one in which ``enable`` of the component is set. The registers hold data only, and are not reset.
        Those of the values in ``store_inverted``, which a single bit can decide, hold the complement. Synthesis would
        make that bit a synchronous reset, and gate it by the enable, as the reset of a register comes first: a LUT
        between the net that reaches all registers and some of them, always the critical path (on ECP5 150 MHz instead
        of 175). It does not look through an inverter, which vanishes in the LUTs before and behind. Outputs are
        registers as they are.
        """
        later = Stage(self.m, self.component)
        later.control = {name: value for name, value in self.control.items() if control is None or name in control}
        later.values = values
        if boundary not in self.component.config.microarchitecture.registered_after:
            return later
        with self.m.If(self.component.enable):
            for side in (later.control, later.values):
                for name, value in side.items():
                    inverts = name in store_inverted
                    register = Signal(value.shape(), name=f"{'not_' * inverts}{name}_{boundary}_q", reset_less=True)
                    self.m.d.sync += register.eq(~value if inverts else value)
                    side[name] = ~register if inverts else register
        return later
