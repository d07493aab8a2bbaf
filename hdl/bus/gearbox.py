"""A stream with words of another number of bytes."""

from __future__ import annotations

from math import gcd

from amaranth.hdl import Cat, ClockDomain, ClockSignal, Const, Module, Mux, ResetSignal, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ..config.axis import BYTE
from .pins import Stream


def units_inside(entering: int, leaving: int) -> int:
    """The most units inside, for words that enter and leave with so many units. No ready depends on another one in the
    same cycle, and the rate is full.

    >>> units_inside(1, 4), units_inside(4, 1), units_inside(3, 8), units_inside(8, 3)
    (5, 5, 13, 18)
    """
    return entering + leaving if 1 in (entering, leaving) else leaving + 2 * entering - 1


class Gearbox(wiring.Component):
    """The bytes of a packet in words of another size, in the same order.

    Only the last word of a packet is short. Words without bytes are dropped; if one ends a packet after whole words, a
    word without bytes leaves. A packet enters when the packet before it has left. All outputs depend on registers only.

    Parameters
    ----------
    stream : the stream. If it enters the hardware, a packet has the ``tuser`` of its first word. If it leaves, a word
        has ``tuser`` set if one of its bytes has, or the end of its packet.

    Ports
    -----
    s_tdata, s_tkeep, s_tlast, s_tuser, s_tvalid, s_tready : words that enter
    m_tdata, m_tkeep, m_tlast, m_tuser, m_tvalid, m_tready : words that leave
    """

    def __init__(self, stream: Stream) -> None:
        self.kind, self.stream = stream.kind, stream
        self.entering, self.leaving = stream.sides
        self.unit = gcd(self.entering, self.leaving)
        ports: dict[str, wiring.Member] = {"aclk": In(1), "aresetn": In(1)}
        for side, size, forward, back in (("s_", self.entering, In, Out), ("m_", self.leaving, Out, In)):
            ports |= {f"{side}tdata": forward(BYTE * size), f"{side}tkeep": forward(size), f"{side}tlast": forward(1)}
            ports |= {f"{side}tuser": forward(stream.user)} if stream.user else {}
            ports |= {f"{side}tvalid": forward(1), f"{side}tready": back(1)}
        super().__init__(ports)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.domains.sync = ClockDomain("sync")
        m.d.comb += [ClockSignal().eq(self.aclk), ResetSignal().eq(~self.aresetn)]
        stream, unit = self.stream, self.unit
        entering, leaving = self.entering // unit, self.leaving // unit
        most = units_inside(entering, leaving)
        running_q = Signal()  # the reset is over
        count = Signal(range(most + 1))  # units inside
        has_ended = Signal()  # the last of them ends a packet
        ends_alone = Signal()  # behind whole words
        leaves = Signal()
        enters = Signal()
        left = Signal(range(most + 1))  # units that stay
        is_short = Signal()
        is_word = Signal()  # exactly, with the end of its packet
        m.d.comb += [
            is_short.eq(count < leaving),
            is_word.eq((count == leaving) & ~ends_alone),
            self.m_tvalid.eq(~is_short | has_ended),
            self.m_tlast.eq(has_ended & (is_short | is_word)),
            self.s_tready.eq(running_q & ~has_ended & (count <= most - entering)),
            leaves.eq(self.m_tvalid & self.m_tready),
            enters.eq(self.s_tvalid & self.s_tready),
            left.eq(Mux(leaves, Mux(is_short, 0, count - leaving), count)),
        ]
        taken = [self.s_tkeep[unit * place] & enters for place in range(entering)]
        added = Signal(range(entering + 1))
        m.d.comb += added.eq(sum(taken, Const(0, 1)))
        m.d.sync += [running_q.eq(1), count.eq(left + added)]
        ends = Signal()  # without tkeep, a word without bytes would be one with bytes there
        has_bytes = stream.has_keep or not stream.enters or self.s_tkeep[0]
        m.d.comb += ends.eq(enters & self.s_tlast & has_bytes)
        with m.If(leaves & self.m_tlast):
            m.d.sync += has_ended.eq(0)
        with m.If(ends):
            whole = [count == words * leaving if words else ~count.any() for words in range(most // leaving + 1)]
            m.d.sync += [has_ended.eq(1), ends_alone.eq(~self.s_tkeep[0] & Cat(whole).any())]

        places = range(most - entering + 1)
        starts = [Signal(name=f"starts_at_{place}") for place in places]  # a word enters, and its first unit is there
        m.d.comb += [
            start.eq(enters & (left == place if place else ~left.any())) for place, start in zip(places, starts)
        ]

        def kept(name: str, word: Value, width: int, is_exact: bool = True) -> Value:
            """The units inside, with so many bits of each. Other places are zeros if ``is_exact``."""
            every = Signal(width * most, name=f"{name}_q")  # with a reset, as simulators dislike unknown bytes
            for at in range(most):
                now = every[width * at : width * (at + 1)]
                behind: Value = Const(0, width) if is_exact else now
                if at + leaving < most:
                    behind = every[width * (at + leaving) :][:width]
                after = Mux(leaves, behind, now)
                for place in range(entering):
                    if at - place in places:
                        after = Mux(starts[at - place], word[width * place :][:width], after)
                m.d.sync += now.eq(after)
            return every

        m.d.comb += [
            self.m_tdata.eq(kept("bytes", self.s_tdata, BYTE * unit, is_exact=False)[: BYTE * self.leaving]),
            self.m_tkeep.eq(kept("keeps", self.s_tkeep, unit)[: self.leaving]),
        ]
        if stream.user and stream.enters:
            has_begun = Signal()
            user_q = Signal(stream.user, reset_less=True)
            with m.If(enters & (self.s_tkeep[0] | self.s_tlast)):
                m.d.sync += has_begun.eq(~self.s_tlast)
                with m.If(~has_begun):
                    m.d.sync += user_q.eq(self.s_tuser)
            m.d.comb += self.m_tuser.eq(user_q)
        elif stream.user:
            marks = Cat(self.s_tuser & self.s_tkeep[unit * place] for place in range(entering))
            mark_of_end = Signal(reset_less=True)
            with m.If(ends):
                m.d.sync += mark_of_end.eq(self.s_tuser)
            m.d.comb += self.m_tuser.eq(kept("marks", marks, 1)[:leaving].any() | (mark_of_end & self.m_tlast))
        return m
