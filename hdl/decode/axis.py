"""The decoder with lanes behind AXI4-Stream: a stream of codes, a stream of scales, and packets of numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from amaranth.hdl import Cat, Module, Signal, Value

from ..config.axis import BYTE
from ..emission.modules import instantiated
from ..lanes.through import Skid, ThroughControl, skid
from ..primitives.pipeline import AxisPipeline
from .aligner import unpack
from .beats import AnyDecoder, numbers_of


@dataclass(frozen=True, kw_only=True)
class Entering:
    """A beat on its way to the element decoders, with its scale and its marks."""

    offered: Value
    codes: Value
    scale: Value
    marks: Value
    more: Mapping[str, Value]
    """Inputs from ``tuser``, by name."""


class AxisDecoder(AxisPipeline[AnyDecoder]):
    """`LaneDecoder` with AXI4-Stream: ``s_axis`` with codes, ``s_axis_scale`` with scales, ``m_axis`` with numbers.

    The first beat of a block waits for its scale, and takes it. The end of a packet ends the block too. Beats without
    bytes are dropped; if they end a packet, they leave without bytes, and take no scale. All outputs depend on
    registers only. If the stream has packed blocks, ``s_axis`` has their bytes, and no other stream has the scales.

    Parameters
    ----------
    config : a decoder with AXI4-Stream
    """

    SIGNALS = frozenset(("beat_numbers", "block_aligner", "clk", "rst"))

    def elaborate(self, platform: object) -> Module:
        m = self.clocked()
        rules, lanes = self.config.numerics, range(self.config.lanes)
        control = ThroughControl(self.config)
        running_q = Signal()  # the reset is over
        m.d.sync += running_q.eq(1)
        given = self._packed if not self.config.is_even else self._apart
        beat = given(m, platform, control, running_q)
        # the end of a packet, the mark that passes, and which codes have all their bytes
        numbers = numbers_of(self.config, len(beat.marks))
        m.submodules.beat_numbers = instantiated(numbers, platform)
        control.connect(m, beat.offered, self.m_axis_tvalid, self.m_axis_tready, restart=beat.marks[0])
        last, mark, *kept = numbers.o_marks
        m.d.comb += [
            numbers.enable.eq(control.back_enable),
            numbers.is_first.eq(control.is_first),
            numbers.is_last.eq(control.is_last),
            numbers.p.eq(beat.codes),
            numbers.scale.eq(beat.scale),
            numbers.marks.eq(beat.marks),
            *(getattr(numbers, name).eq(value) for name, value in beat.more.items()),
            self.m_axis_tdata.eq(numbers.y),
            self.m_axis_tlast.eq(last),
            self.m_axis_tuser.eq(mark),
            self.m_axis_tkeep.eq(
                Cat(kept[lane % len(kept)].replicate(rules.destination.bits // BYTE) for lane in lanes)
            ),
        ]
        return m

    def _words(self, m: Module, running: Value, takes: Value, more: Mapping[str, Value]) -> Skid:
        """The beats of ``s_axis`` without those that are dropped, with ``more`` values."""
        entering = {**more, **{port.name: self.s_axis_tuser[1:] for port in self.config.with_codes}}
        enters = self.s_axis_tvalid & running & (self.s_axis_tkeep[0] | self.s_axis_tlast)
        words = skid(m, "beat", enters, entering, takes)
        m.d.comb += self.s_axis_tready.eq(words.ready & running)
        return words

    def _more(self, beats: Skid) -> dict[str, Value]:
        """The inputs that came from ``tuser``."""
        return {port.name: beats.values[port.name] for port in self.config.with_codes}

    def _apart(self, m: Module, platform: object, control: ThroughControl, running: Value) -> Entering:
        """Beats of codes, and a stream of scales."""
        rules, lanes = self.config.numerics, self.config.lanes
        element, stream = rules.block.element, self.config.block_stream
        ends = [element.bits * (lane + 1) - 1 for lane in range(lanes)]
        codes: Value = self.s_axis_tdata[: element.bits * lanes]
        if stream is not None:
            place = {bit: at for at, bit in enumerate(stream.places(element, lanes)) if bit is not None}
            firsts = [range(element.bits * lane, element.bits * (lane + 1)) for lane in range(lanes)]
            ends = [max(place[bit] for bit in bits) for bits in firsts]
            codes = stream.codes(self.s_axis_tdata, element, lanes)
        more = {
            "codes": codes,
            "has_bytes": self.s_axis_tkeep[0],
            "marks": Cat(self.s_axis_tlast, self.s_axis_tuser[0], *(self.s_axis_tkeep[end // BYTE] for end in ends)),
        }
        beats = self._words(m, running, control.reads, more)
        takes_scale = Signal()
        given = {"scale": self.s_axis_scale_tdata}
        scales = skid(m, "scale", self.s_axis_scale_tvalid & running, given, takes_scale)
        needs_scale = control.is_first & beats.values["has_bytes"]
        m.d.comb += [takes_scale.eq(control.reads & needs_scale), self.s_axis_scale_tready.eq(scales.ready & running)]
        byte = scales.values["scale"]
        return Entering(
            offered=beats.valid & (scales.valid | ~needs_scale),
            codes=beats.values["codes"],
            scale=byte if stream is None else stream.scale(byte),
            marks=beats.values["marks"],
            more=self._more(beats),
        )

    def _packed(self, m: Module, platform: object, control: ThroughControl, running: Value) -> Entering:
        """Beats from packed blocks."""
        stream, takes = self.config.block_stream, Signal(name="takes_word")
        assert stream is not None
        more = {
            "word": self.s_axis_tdata,
            "keep": self.s_axis_tkeep,
            "last": self.s_axis_tlast,
            "mark": self.s_axis_tuser[0],
        }
        words = self._words(m, running, takes, more)
        m.d.comb += takes.eq(words.valid & control.back_enable)
        element, lanes = self.config.numerics.block.element, self.config.lanes
        beat = unpack(m, platform, stream, element, lanes, words, takes, control)
        return Entering(
            offered=beat.offered,
            codes=beat.codes,
            scale=beat.scale,
            marks=Cat(words.values["last"], words.values["mark"], beat.is_whole),
            more=self._more(words),
        )
