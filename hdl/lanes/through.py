"""Valid and ready of hardware with lanes in which no block has to be complete before its first beat leaves."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from amaranth.hdl import Const, Module, Mux, Signal, Value

from ..config.hardware import HardwareConfig
from .control import FlowControl


class ThroughControl(FlowControl):
    """The valid bits, and the place of a beat in its block.

    Attributes
    ----------
    back_enable : enable of all registers
    reads : whether a beat enters
    beat : the place of the beat that enters next in its block
    is_first, is_last : whether it is the first or the last of its block
    """

    def __init__(self, config: HardwareConfig) -> None:
        super().__init__(config)
        self.beat = Signal(range(config.beats))
        self.is_first: Value = Const(1, 1)
        self.is_last: Value = Const(1, 1)
        if config.beats > 1:
            self.is_first, self.is_last = ~self.beat.any(), self.beat.all()

    def connect(self, m: Module, i_valid: Value, o_valid: Signal, o_ready: Value, restart: Value | None = None) -> None:
        """Add the control to the top module. A beat can enter if ``back_enable`` is set; after one with ``restart`` a
        block begins.
        """
        self.leave(m, list(self.config.microarchitecture.registered_after), o_valid, o_ready)
        m.d.comb += self.reads.eq(i_valid & self.back_enable)
        after = self.beat + 1
        if self.config.beats > 1:
            with m.If(self.reads):
                m.d.sync += self.beat.eq(after if restart is None else Mux(restart, 0, after))


@dataclass(frozen=True)
class Skid:
    """A stream behind a place in which one transfer waits, so that its ready depends on a register only.

    Attributes
    ----------
    valid : whether something is offered to the hardware behind
    ready : whether something can enter
    values : the data that are offered, by name
    """

    valid: Signal
    ready: Signal
    values: Mapping[str, Value]


def skid(m: Module, name: str, valid: Value, values: Mapping[str, Value], takes: Value) -> Skid:
    """Add the place to the top module. ``takes`` says whether the hardware behind takes what is offered."""
    held = Signal(name=f"{name}_held")
    offered, ready = Signal(name=f"{name}_offered"), Signal(name=f"{name}_ready")
    m.d.comb += [ready.eq(~held), offered.eq(held | valid)]
    m.d.sync += held.eq(offered & ~takes)
    shown: dict[str, Value] = {}
    for part, value in values.items():
        kept = Signal(len(value), name=f"{name}_{part}_held_q", reset_less=True)
        with m.If(ready):
            m.d.sync += kept.eq(value)
        shown[part] = Signal(len(value), name=f"{name}_{part}")
        m.d.comb += shown[part].eq(Mux(held, kept, value))
    return Skid(offered, ready, shown)
