"""Valid and ready of an encoder in beats, without a path from ``o_ready`` to ``i_ready`` within a cycle.

The store holds two blocks, and the key of a complete block waits in a register of its own, or with a whole block in the
store. So it is known one cycle before whether a beat can enter, and still a beat enters and a beat leaves in every
cycle.
"""

from __future__ import annotations

from amaranth.hdl import Const, Module, Mux, Signal, Value

from .control import BeatControl


class ElasticControl(BeatControl):
    """`BeatControl` for a store of two blocks. The counters have one more bit, the half of the store, and ``can_write``
    is a register.
    """

    SLOTS = 2

    def store(self, m: Module) -> None:
        (self._whole_blocks if self.config.beats == 1 else self._parts_of_blocks)(m)

    def _whole_blocks(self, m: Module) -> None:
        """A queue of two blocks."""
        has_block = Signal()
        after_write = Signal.like(self.write_beat)
        after_read = Signal.like(self.read_beat)
        remains = Signal()  # a block waits after this cycle, next to one that is written now
        m.d.comb += [
            self.reads.eq(has_block & self.back_enable),
            after_write.eq(self.write_beat + self.writes),
            after_read.eq(self.read_beat + self.reads),
            remains.eq(has_block & ~(self.back_enable & self.is_apart())),
        ]
        m.d.sync += [
            self.write_beat.eq(after_write),
            self.read_beat.eq(after_read),
            has_block.eq(remains | self.writes),
        ]
        m.d.sync += self.can_write.eq((after_write != after_read) | ~(remains | self.writes))

    def _parts_of_blocks(self, m: Module) -> None:
        """A block is read when it is complete."""
        key_waits = Signal()  # of a complete block, of which no beat has been read
        whole = Signal()
        after_write = Signal.like(self.write_beat)
        m.d.comb += [
            whole.eq(key_waits | ~self.is_first_read),
            self.reads.eq(whole & self.back_enable),
            after_write.eq(self.write_beat + self.writes),
        ]

        def after(name: str, reads: Value | int) -> tuple[Value, Value, Value]:
            """The beat that is read next, whether a key waits, and whether a beat can enter, after a cycle."""
            read, waits, can_write = (
                Signal(width, name=f"{part}_{name}")
                for part, width in (("read_beat", len(self.read_beat)), ("key_waits", 1), ("can_write", 1))
            )
            is_whole = waits | read[:-1].any()
            m.d.comb += [
                read.eq(self.read_beat + reads),
                waits.eq((key_waits & ~(reads & self.is_first_read)) | (self.writes & self.is_last_write)),
                # the half that is read is not written, and a key is not replaced before it is used
                can_write.eq(Mux(after_write[-1] == read[-1], ~is_whole, ~(waits & after_write[:-1].all()))),
            ]
            return read, waits, can_write

        moved, stopped = after("moved", whole), after("stopped", Const(0, 1))  # `back_enable` is late
        m.d.sync += self.write_beat.eq(after_write)
        for register, if_moved, if_stopped in zip((self.read_beat, key_waits, self.can_write), moved, stopped):
            m.d.sync += register.eq(Mux(self.back_enable, if_moved, if_stopped))
