"""The encoder with lanes behind AXI4-Stream: packets, null bytes, and a stream of scales."""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Module, Signal, Value

from ...spec import ScalePlace
from ..handshake.packets import entering
from ..primitives.pipeline import AxisPipeline
from .datapath import Datapath
from .elastic import ElasticControl
from .keys import EncoderConfig
from .packer import Leaving, pack

ENTERING = 2
"""Marks of a block: the last of a packet, and completed by zeros."""
LEAVING = 3
"""Marks of a beat: the last of a packet; and of its block: the last of a packet, and completed by zeros."""


class ScaleApart(ElasticControl):
    """`ElasticControl` whose registers stop too while a scale waits and the block behind it can come.

    One register says so, although it then stops them before the first beat of that block is there. The enable of all
    registers is the critical path, and this keeps it at four inputs.
    """

    def __init__(self, config: EncoderConfig, scale_ready: Value) -> None:
        super().__init__(config)
        self.scale_valid = Signal()
        self.scale_enters = Signal()
        self.scale_ready = scale_ready

    def leave(self, m: Module, back: list[str], o_valid: Signal, o_ready: Value) -> None:
        coming = self.chain(m, self.reads, back[:-1], self.back_enable)
        leaving = Signal(name="valid_output_q")
        scale_waits = Signal()  # after this cycle
        blocks = self._between_blocks(m, coming, scale_waits)
        m.d.comb += [
            scale_waits.eq(self.scale_enters | (self.scale_valid & ~self.scale_ready)),
            self.back_enable.eq((o_ready | ~o_valid) & ~(blocks & ~self.scale_ready)),
            o_valid.eq(leaving),
        ]
        m.d.sync += self.scale_valid.eq(scale_waits)
        with m.If(self.back_enable):
            m.d.sync += leaving.eq(coming)
        with m.Elif(o_ready):
            m.d.sync += leaving.eq(0)

    def _between_blocks(self, m: Module, coming: Value, scale_waits: Value) -> Value:
        """Does a scale wait while the beat that comes next is the first of its block? Sets ``scale_enters``."""
        enters = self.back_enable & coming
        if self.config.beats == 1:
            m.d.comb += self.scale_enters.eq(enters)
            return self.scale_valid
        next_beat = Signal(range(self.config.beats))
        beat_after = Signal.like(next_beat)
        scale_blocks = Signal()
        m.d.comb += [self.scale_enters.eq(enters & ~next_beat.any()), beat_after.eq(next_beat + enters)]
        m.d.sync += [next_beat.eq(beat_after), scale_blocks.eq(scale_waits & ~beat_after.any())]
        return scale_blocks


class AxisConverter(AxisPipeline[EncoderConfig]):
    """`LaneConverter` with AXI4-Stream: ``s_axis`` with numbers, ``m_axis`` with codes, ``m_axis_scale`` with scales.

    A packet that ends inside a block is completed with zeros, and so are numbers without their bytes in the beat that
    ends a packet. ``m_axis_tuser`` marks the block. Beats without bytes are dropped; if they end a packet, they are
    zeros. All outputs depend on registers only. A scale is offered not later than the first beat of its block, and
    at most one scale waits while the codes of its block leave. If the stream has packed blocks, ``m_axis`` has their
    bytes, and no other stream has the scales.

    Parameters
    ----------
    config : an encoder with lanes and AXI4-Stream
    """

    SIGNALS = frozenset(("beat_keys", "block_store", "key_accumulator", "beat_codes", "block_packer", "clk", "rst"))

    def elaborate(self, platform: object) -> Module:
        m = self.clocked()
        control = (
            ScaleApart(self.config, self.m_axis_scale_tready) if self.config.is_even else ElasticControl(self.config)
        )
        datapath = Datapath(m, platform, self.config, control, (ENTERING, LEAVING))
        codes, ready = datapath.codes, Signal(name="core_ready")
        entered = entering(m, self, self.config.numerics.source, self.config.beats, ready)
        valid, keys = entered.valid, datapath.keys
        m.d.comb += [keys.x.eq(entered.x), keys.marks.eq(entered.marks)]
        if entered.user is not None:
            rest = entered.user[:]
            for name in keys.given:
                bits = len(getattr(keys, name))
                m.d.comb += getattr(keys, name).eq(rest[:bits])
                rest = rest[bits:]
        if isinstance(control, ScaleApart):
            control.connect(m, valid, ready, self.m_axis_tvalid, self.m_axis_tready)
            self.leave_apart(m, datapath, control)
        else:
            has_beat = Signal()
            takes_beat = Signal()
            m.d.comb += takes_beat.eq(self.leave_packed(m, platform, datapath, has_beat))
            control.connect(m, valid, ready, has_beat, takes_beat)
            m.d.comb += codes.marks.eq(self.marks_of_beat(datapath, control))
        return m

    def marks_of_beat(self, datapath: Datapath, control: ElasticControl) -> Value:
        """The marks of the beat that leaves the store."""
        assert datapath.marks_of_block is not None
        ends_packet, completed = datapath.marks_of_block[0], datapath.marks_of_block[1]
        return Cat(control.is_last_read & ends_packet, ends_packet, completed)

    def leave_apart(self, m: Module, datapath: Datapath, control: ScaleApart) -> None:
        """The streams of codes and of scales."""
        codes, stream = datapath.codes, self.config.block_stream
        element, scale = self.config.numerics.block.element, codes.next_scale
        scale_q = Signal(len(scale), name="scale_output_q", reset_less=True)
        scale_last_q = Signal(reset_less=True)
        with m.If(control.scale_enters):
            m.d.sync += [scale_q.eq(scale), scale_last_q.eq(codes.next_marks[1])]
        m.d.comb += [
            codes.marks.eq(self.marks_of_beat(datapath, control)),
            self.m_axis_tdata.eq(codes.p if stream is None else stream.packed(codes.p, element, self.config.lanes)),
            self.m_axis_tkeep.eq(Const(-1, len(self.m_axis_tkeep))),
            self.m_axis_tlast.eq(codes.o_marks[0]),
            self.m_axis_tuser.eq(codes.o_marks[2]),
            self.m_axis_scale_tdata.eq(scale_q if stream is None else stream.byte(scale_q)),
            self.m_axis_scale_tlast.eq(scale_last_q),
            self.m_axis_scale_tvalid.eq(control.scale_valid),
        ]

    def leave_packed(self, m: Module, platform: object, datapath: Datapath, valid: Value) -> Value:
        """The stream of packed blocks, from the beats that leave; returns whether one can be taken."""
        codes, stream, element = datapath.codes, self.config.block_stream, self.config.numerics.block.element
        assert stream is not None
        beat = Leaving(
            valid=valid,
            codes=stream.packed(codes.p, element, self.config.lanes),
            scale=stream.byte(codes.scale),
            has_scale=codes.o_first if stream.place is ScalePlace.BEFORE else codes.o_last,
            ends_packet=codes.o_marks[0],
            is_completed=codes.o_marks[2],
        )
        ready, leaves = pack(m, platform, stream.place, beat, self.m_axis_tready)
        m.d.comb += [getattr(self, f"m_axis_{name}").eq(value) for name, value in leaves.items()]
        return ready
