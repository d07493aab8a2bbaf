"""Valid and ready of an encoder with lanes: which beat enters the store, and which one leaves it.

The store holds one block. While its beats are read, the beats of the next block are written behind the reader. So a
beat enters and a beat leaves in every cycle, as long as nobody waits.
"""

from __future__ import annotations

from amaranth.hdl import Module, Signal, Value

from ..config.encode import ConverterConfig
from .keys import front_stages


class BeatControl:
    """The valid bits and the beat counters, as statements in the top module.

    Attributes
    ----------
    front_enable, back_enable : enables of the registers before and behind the store
    writes, reads : whether a beat is written to the store or read from it
    write_beat, read_beat : its number in its block
    """

    def __init__(self, config: ConverterConfig) -> None:
        self.config = config
        address = (config.beats - 1).bit_length()
        self.front_enable = Signal()
        self.back_enable = Signal()
        self.writes = Signal()
        self.reads = Signal()
        self.write_beat = Signal(address)
        self.read_beat = Signal(address)

    def chain(self, m: Module, valid: Value, boundaries: list[str], enable: Value) -> Value:
        """The valid bit behind the registers at some boundaries."""
        for place in boundaries:
            before, valid = valid, Signal(name=f"valid_{place}_q")
            with m.If(enable):
                m.d.sync += valid.eq(before)
        return valid

    def connect(self, m: Module, i_valid: Value, i_ready: Signal, o_valid: Signal, o_ready: Value) -> None:
        """Add the control to the top module, with its handshake."""
        last = self.config.beats - 1
        registered, before = self.config.microarchitecture.registered_after, front_stages(self.config)
        front = [place for place in registered if place in before]
        back = [place for place in registered if place not in before]
        has_block = Signal()  # a whole block is stored, and not read completely
        can_write = Signal()
        offered = self.chain(m, i_valid, front, self.front_enable)
        leaving = self.chain(m, self.reads, back, self.back_enable)
        m.d.comb += [
            self.back_enable.eq(o_ready | ~leaving),
            self.reads.eq(has_block & self.back_enable),
            # a beat of the next block replaces a beat that is read, at the latest in this cycle
            can_write.eq(~has_block | (self.write_beat != self.read_beat) | self.back_enable),
            self.writes.eq(offered & can_write),
            self.front_enable.eq(can_write | ~offered if front else can_write),
            i_ready.eq(self.front_enable),
            o_valid.eq(leaving),
        ]
        with m.If(self.reads):
            m.d.sync += self.read_beat.eq(self.read_beat + 1)
            with m.If(self.read_beat == last):
                m.d.sync += has_block.eq(0)
        with m.If(self.writes):
            m.d.sync += self.write_beat.eq(self.write_beat + 1)
            with m.If(self.write_beat == last):
                m.d.sync += has_block.eq(1)
