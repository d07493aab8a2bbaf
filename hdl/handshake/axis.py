"""AXI4-Stream around hardware with valid and ready: packets of numbers that enter, and a stream for each result."""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Module, Signal, Value

from ...spec import NumberFormat, Role
from ..config.axis import OF_RESULTS
from ..config.hardware import HardwareConfig
from ..emission.modules import instantiated
from ..primitives.pipeline import AxisPipeline, Pipeline
from .packets import Entered, entering

MARKS = 2
"""Marks of a block: the last of a packet, and completed by zeros."""

ENDS = ("sent", "takes")
"""Ends of names of a stream: it has the result that waits for others, and it has the result after this cycle."""


def most_inside(core: HardwareConfig) -> int:
    """Blocks that are in a core at its full rate, and one more."""
    return core.latency // core.beats + 2


class AxisSurrounded(AxisPipeline[HardwareConfig]):
    """Hardware with AXI4-Stream: ``s_axis`` with numbers, and a stream for each result of its core.

    A packet that ends inside a block is completed with zeros, and so are numbers without their bytes in the beat that
    ends a packet. ``tuser`` of a result marks the block. Beats without bytes are dropped; if they end a packet, they
    are zeros. Each stream takes a result when it is ready, and the core waits until all have it. All outputs depend on
    registers only.

    Parameters
    ----------
    config : a configuration with AXI4-Stream and a `HardwareConfig.core`
    core : the component of its core, with a skid buffer
    """

    SIGNALS = frozenset(
        (
            *("core", "core_ready", "has_room", "marks_inside", "blocks_inside", "oldest", "clk", "rst"),
            *("block_enters", "block_leaves", *(f"{name}{end}" for name in OF_RESULTS.values() for end in ENDS)),
        )
    )

    def __init__(self, config: HardwareConfig, core: Pipeline[HardwareConfig]) -> None:
        super().__init__(config)
        self.core = core

    def elaborate(self, platform: object) -> Module:
        m = self.clocked()
        core, has_room, ready = self.core, Signal(name="has_room"), Signal(name="core_ready")
        m.submodules.core = instantiated(core, platform)
        beat = entering(m, self, self._number, self.config.beats, ready)
        m.d.comb += [ready.eq(core.i_ready & has_room), core.i_valid.eq(beat.valid & has_room), core.x.eq(beat.x)]
        if beat.user is not None:
            given = [port.name for port in self._inner("input") if port.role is not Role.NUMBERS]
            m.d.comb += Cat(getattr(core, name) for name in given).eq(beat.user)
        self.leave(m, self.oldest(m, beat, has_room))
        return m

    def oldest(self, m: Module, beat: Entered, has_room: Signal) -> Value:
        """The marks of the oldest block in the core, which stay here meanwhile. A beat enters only if there is
        room for more marks.
        """
        core, most = self.core, most_inside(self.core.config)
        marks_inside = Signal(MARKS * most, reset_less=True)  # of the block that entered last in the low bits
        blocks_inside = Signal(range(most + 1))
        enters, leaves = Signal(name="block_enters"), Signal(name="block_leaves")
        m.d.comb += [
            has_room.eq(blocks_inside != most),
            enters.eq(core.i_valid & core.i_ready & beat.is_last),
            leaves.eq(core.o_valid & core.o_ready & core.o_last),
        ]
        m.d.sync += blocks_inside.eq(blocks_inside + enters - leaves)
        with m.If(enters):
            m.d.sync += marks_inside.eq(Cat(beat.marks, marks_inside))
        oldest = Signal(MARKS)
        for count in range(1, most + 1):
            with m.If(blocks_inside == count):
                m.d.comb += oldest.eq(marks_inside.word_select(count - 1, MARKS))
        return oldest

    def leave(self, m: Module, marks: Value) -> None:
        """The streams of results, which have the marks of their block."""
        core, taken = self.core, []
        results = self._inner("output")
        for port in results:
            name = OF_RESULTS[port.name]
            data, valid, ready = (getattr(self, name + end) for end in ("tdata", "tvalid", "tready"))
            m.d.comb += [
                data.eq(getattr(core, port.name)),
                valid.eq(core.o_valid),
                getattr(self, f"{name}tlast").eq(core.o_last & marks[0]),
            ]
            if hasattr(self, f"{name}tuser"):
                keep = getattr(self, f"{name}tkeep")
                m.d.comb += [keep.eq(Const(-1, len(keep))), getattr(self, f"{name}tuser").eq(marks[1])]
            taken.append(ready)
            if len(results) > 1:
                sent, takes = (Signal(name=f"{name}{end}") for end in ENDS)
                m.d.comb += [valid.eq(core.o_valid & ~sent), takes.eq(ready | sent)]
                m.d.sync += sent.eq(core.o_valid & takes & ~core.o_ready)
                taken[-1] = takes
        m.d.comb += core.o_ready.eq(Cat(taken).all())

    @property
    def _number(self) -> NumberFormat:
        (number,) = (port.format for port in self._inner("input") if port.role is Role.NUMBERS)
        assert number is not None
        return number

    def _inner(self, direction: str) -> list:
        """The ports of the operation of one direction."""
        return [port for port in self.config.operation_ports if port.direction == direction]
