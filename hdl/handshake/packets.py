"""Packets of numbers that enter by AXI4-Stream, completed by zeros to whole blocks."""

from __future__ import annotations

from dataclasses import dataclass

from amaranth.hdl import Cat, Module, Signal, Value
from amaranth.lib import wiring

from ...spec import NumberFormat
from ..config.axis import BYTE


@dataclass(frozen=True)
class Entered:
    """The beat in the register at the input.

    Attributes
    ----------
    valid : whether there is one
    x : its numbers, with zeros in place of missing ones
    marks : whether it ends a packet, and whether zeros completed it
    user : ``s_axis_tuser``, if the module has it
    is_last : whether it is the last of its block
    """

    valid: Signal
    x: Signal
    marks: Value
    user: Signal | None
    is_last: Value


def entering(m: Module, top: wiring.Component, number: NumberFormat, beats: int, ready: Value) -> Entered:
    """The register at the pins ``s_axis`` of a module. ``ready`` says whether the beat in it is taken.

    A packet that ends inside a block gets beats of zeros. Beats without bytes are dropped, unless they end a packet.
    """
    width, size = number.bits, number.bits // BYTE
    lanes = len(top.s_axis_tdata) // width
    x_q = Signal(len(top.s_axis_tdata), reset_less=True)
    valid_q = Signal()
    last_q = Signal(reset_less=True)
    completed_q = Signal(reset_less=True)
    beat = Signal(range(beats))  # the place of this beat in its block
    moves = Signal()
    pads = Signal()
    running_q = Signal()  # the reset is over
    enters = Signal()
    kept = [top.s_axis_tkeep[size * (lane + 1) - 1] for lane in range(lanes)]
    m.d.comb += [
        moves.eq(ready | ~valid_q),
        pads.eq(valid_q & last_q & ~beat.all() if beats > 1 else 0),  # the next beat is one of zeros
        top.s_axis_tready.eq(moves & ~pads & running_q),
        enters.eq(top.s_axis_tvalid & running_q & (top.s_axis_tkeep[0] | top.s_axis_tlast)),
    ]
    m.d.sync += running_q.eq(1)
    with m.If(moves):
        m.d.sync += valid_q.eq(pads | enters)
        with m.If(pads):
            m.d.sync += completed_q.eq(1)
        with m.Else():
            m.d.sync += [last_q.eq(top.s_axis_tlast), completed_q.eq(~kept[-1])]
        for lane, is_kept in enumerate(kept):
            part = slice(width * lane, width * (lane + 1))
            m.d.sync += x_q[part].eq(top.s_axis_tdata[part])
            with m.If(pads | ~is_kept):
                m.d.sync += x_q[part].eq(0)
    if beats > 1:
        with m.If(ready & valid_q):
            m.d.sync += beat.eq(beat + 1)
    user_q = None
    if hasattr(top, "s_axis_tuser"):
        user_q = Signal(len(top.s_axis_tuser), reset_less=True)
        with m.If(moves & ~pads):
            m.d.sync += user_q.eq(top.s_axis_tuser)
    return Entered(valid_q, x_q, Cat(last_q, completed_q), user_q, beat.all() if beats > 1 else 1)
