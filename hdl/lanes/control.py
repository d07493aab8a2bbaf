"""Valid and ready of an encoder with lanes: which beat enters the store, and which one leaves it.

The store holds one block. While its beats are read, the beats of the next block are written behind the reader. So a
beat enters and a beat leaves in every cycle, as long as nobody waits.
"""

from __future__ import annotations

from typing import ClassVar

from amaranth.hdl import Const, Module, Signal, Value

from ..config.hardware import HardwareConfig
from ..config.tile import TiledConfig
from .keys import EncoderConfig, front_stages


class FlowControl:
    """The valid bits of beats on their way out, as statements in the top module.

    Attributes
    ----------
    back_enable : enable of the registers on this way
    reads : whether a beat begins this way
    """

    PREFIX: ClassVar[str] = ""
    """Begins the names of all signals, if the module has another control."""

    def __init__(self, config: HardwareConfig) -> None:
        self.config = config
        self.back_enable = self.signal("back_enable")
        self.reads = self.signal("reads")

    def signal(self, name: str, width: int = 1) -> Signal:
        return Signal(width, name=f"{self.PREFIX}{name}")

    def leave(self, m: Module, back: list[str], o_valid: Signal, o_ready: Value) -> None:
        """The way out: registers at these boundaries, and the handshake."""
        leaving = self.chain(m, self.reads, back, self.back_enable)
        m.d.comb += [self.back_enable.eq(o_ready | ~leaving), o_valid.eq(leaving)]

    def chain(self, m: Module, valid: Value, boundaries: list[str], enable: Value) -> Value:
        """The valid bit behind the registers at some boundaries."""
        for place in boundaries:
            before, valid = valid, Signal(name=f"valid_{place}_q")
            with m.If(enable):
                m.d.sync += valid.eq(before)
        return valid


class BeatControl(FlowControl):
    """The valid bits and the beat counters of an encoder, as statements in the top module.

    Attributes
    ----------
    front_enable, back_enable : enables of the registers before and behind the store
    can_write : whether the store has room for a beat
    writes, reads : whether a beat is written to the store or read from it
    write_beat, read_beat : its address there
    is_first_write, is_last_write, is_first_read, is_last_read : its place in its block
    """

    SLOTS: ClassVar[int] = 1
    """Blocks in the store."""

    def __init__(self, config: EncoderConfig | TiledConfig) -> None:
        super().__init__(config)
        self.places_before = front_stages(config)
        address = (config.beats * self.SLOTS - 1).bit_length()
        self.front_enable = self.signal("front_enable")
        self.can_write = self.signal("can_write")
        self.writes = self.signal("writes")
        self.write_beat = self.signal("write_beat", address)
        self.read_beat = self.signal("read_beat", address)
        self.is_first_write, self.is_last_write = self._ends(self.write_beat)
        self.is_first_read, self.is_last_read = self._ends(self.read_beat)

    def _ends(self, address: Signal) -> tuple[Value, Value]:
        """Is the beat at an address the first or the last of its block?"""
        if self.config.beats == 1:
            return Const(1, 1), Const(1, 1)
        place = address[: (self.config.beats - 1).bit_length()]
        return ~place.any(), place.all()

    def places(self) -> tuple[str, ...]:
        """Stage boundaries with registers in front of the store and behind it."""
        return self.config.microarchitecture.registered_after

    def connect(self, m: Module, i_valid: Value, i_ready: Signal, o_valid: Signal, o_ready: Value) -> None:
        """Add the control to the top module, with its handshake."""
        registered, before = self.places(), self.places_before
        front = [place for place in registered if place in before]
        back = [place for place in registered if place not in before]
        offered = self.chain(m, i_valid, front, self.front_enable)
        self.leave(m, back, o_valid, o_ready)
        m.d.comb += [
            self.writes.eq(offered & self.can_write),
            self.front_enable.eq(self.can_write | ~offered if front else self.can_write),
            i_ready.eq(self.front_enable),
        ]
        self.store(m)

    def is_apart(self) -> Value:
        """Is the place that is written another one than the place that is read?"""
        return self.write_beat != self.read_beat

    def store(self, m: Module) -> None:
        """Count the beats that are written and read."""
        has_block = self.signal("has_block")  # a whole block is stored, and not read completely
        m.d.comb += [
            self.reads.eq(has_block & self.back_enable),
            # a beat of the next block replaces a beat that is read, at the latest in this cycle
            self.can_write.eq(~has_block | self.is_apart() | self.back_enable),
        ]
        with m.If(self.reads):
            m.d.sync += self.read_beat.eq(self.read_beat + 1)
            with m.If(self.is_last_read):
                m.d.sync += has_block.eq(0)
        with m.If(self.writes):
            m.d.sync += self.write_beat.eq(self.write_beat + 1)
            with m.If(self.is_last_write):
                m.d.sync += has_block.eq(1)
