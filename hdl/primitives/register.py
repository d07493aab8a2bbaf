"""Registers between the steps of a component, at the stage boundaries that its configuration names.

A component passes everything that crosses a boundary: its control inputs and the values that it has computed. So no
signal can be late against the others, and no expression is written twice. A component without registers has no clock.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from amaranth.hdl import Module, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Member, Out

from ..config.hardware import HardwareConfig


def enable_port(config: HardwareConfig, boundaries: Iterable[str]) -> dict[str, Member]:
    """The port ``enable``, for a component with registers at any of these boundaries."""
    return {"enable": In(1)} if set(boundaries) & set(config.microarchitecture.registered_after) else {}


def held(m: Module, condition: Value, boundary: str, values: Mapping[str, Value]) -> dict[str, Value]:
    """Values behind registers at a stage boundary that move under a condition."""
    found = {
        name: Signal(value.shape(), name=f"{name}_{boundary}_q", reset_less=True) for name, value in values.items()
    }
    with m.If(condition):
        m.d.sync += [register.eq(values[name]) for name, register in found.items()]
    return dict(found)


class Enable(wiring.Component):
    """The enable of registers: they are enabled unless a result waits.

    The function is the same for all registers, but synthesis keeps its instances apart, so that no net reaches all
    registers. One net for 32 lanes would be the critical path of a decoder.

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
    """The values between two stage boundaries, as attributes: control inputs, such as the mode, and computed values."""

    def __init__(
        self, m: Module, component: wiring.Component, control: Iterable[str] = (), values: Mapping[str, Value] = {}
    ) -> None:
        """The first stage. ``control`` are names of inputs. Names without a port are ignored."""
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
        """The stage after a boundary, with these values and the control inputs that ``control`` names (all by default).
        They are delayed by one cycle if the configuration has registers there.

        Only cycles with ``enable`` of the component count. The registers hold data, and are not reset.

        Values in ``store_inverted``, which a single bit can decide, are stored as their complement. Otherwise synthesis
        makes this bit a synchronous reset. As a reset overrides the enable, it gates the bit with the enable, in a LUT
        between the enable net and the registers. That was always the critical path (150 instead of 175 MHz on ECP5).
        Synthesis does not see through an inverter, and the inverters vanish in the neighbouring LUTs. Outputs are
        stored as they are.
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
