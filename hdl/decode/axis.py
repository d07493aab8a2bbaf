"""The decoder with lanes behind AXI4-Stream: a stream of codes, a stream of scales, and packets of numbers."""

from __future__ import annotations

from typing import Unpack

from amaranth.hdl import Cat, ClockDomain, ClockSignal, Module, ResetSignal, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ...spec import BlockFormat, Decode, NumberFormat
from ..config.axis import BYTE
from ..config.decode import DecoderConfig, DecoderFields, decoder_config
from ..emission.modules import instantiated
from ..lanes.through import ThroughControl, skid
from ..primitives.pipeline import Pipeline
from .beats import BeatNumbers


class AxisDecoder(Pipeline[DecoderConfig]):
    """`LaneDecoder` with AXI4-Stream: ``s_axis`` with codes, ``s_axis_scale`` with scales, ``m_axis`` with numbers.

    The first beat of a block waits for its scale, and takes it. The end of a packet ends the block too. Beats without
    bytes are dropped; if they end a packet, they leave without bytes, and take no scale. All outputs depend on
    registers only.

    Parameters
    ----------
    config, profile, fields : the decoder, as for `hdl.decoder_config`, with its errors
    """

    SIGNALS = frozenset(("beat_numbers", "clk", "rst"))

    def __init__(
        self,
        config: str | BlockFormat | NumberFormat | Decode | DecoderConfig,
        profile: str | None = None,
        **fields: Unpack[DecoderFields],
    ) -> None:
        self.config = decoder_config(config, profile, **fields)
        ports = {p.name: (In if p.direction == "input" else Out)(p.width) for p in self.config.pins}
        wiring.Component.__init__(self, ports)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.domains.sync = ClockDomain("sync")
        m.d.comb += [ClockSignal().eq(self.aclk), ResetSignal().eq(~self.aresetn)]
        rules, lanes = self.config.numerics, range(self.config.lanes)
        bits, number_bytes = rules.block.element.bits, rules.destination.bits // BYTE
        # a packet, the mark that passes, and by lane whether its code has all its bytes
        numbers, control = BeatNumbers(self.config, 2 + len(lanes)), ThroughControl(self.config)
        m.submodules.beat_numbers = instantiated(numbers, platform)
        running_q = Signal()  # the reset is over
        m.d.sync += running_q.eq(1)
        last_bytes = [(bits * (lane + 1) - 1) // BYTE for lane in lanes]
        entering = {
            "codes": self.s_axis_tdata[: bits * len(lanes)],
            "has_bytes": self.s_axis_tkeep[0],
            "marks": Cat(self.s_axis_tlast, self.s_axis_tuser[0], *(self.s_axis_tkeep[byte] for byte in last_bytes)),
            **({"random": self.s_axis_tuser[1:]} if rules.random_bits else {}),
        }
        enters = self.s_axis_tvalid & running_q & (self.s_axis_tkeep[0] | self.s_axis_tlast)
        takes_scale = Signal()
        beats = skid(m, "beat", enters, entering, control.reads)
        given = {"scale": self.s_axis_scale_tdata}
        scales = skid(m, "scale", self.s_axis_scale_tvalid & running_q, given, takes_scale)
        marks, needs_scale = beats.values["marks"], control.is_first & beats.values["has_bytes"]
        offered = beats.valid & (scales.valid | ~needs_scale)
        control.connect(m, offered, self.m_axis_tvalid, self.m_axis_tready, restart=marks[0])
        m.d.comb += [
            takes_scale.eq(control.reads & needs_scale),
            self.s_axis_tready.eq(beats.ready & running_q),
            self.s_axis_scale_tready.eq(scales.ready & running_q),
            numbers.enable.eq(control.back_enable),
            numbers.is_first.eq(control.is_first),
            numbers.is_last.eq(control.is_last),
            numbers.p.eq(beats.values["codes"]),
            numbers.scale.eq(scales.values["scale"]),
            numbers.marks.eq(marks),
            *([numbers.random.eq(beats.values["random"])] if rules.random_bits else []),
            self.m_axis_tdata.eq(numbers.y),
            self.m_axis_tlast.eq(numbers.o_marks[0]),
            self.m_axis_tuser.eq(numbers.o_marks[1]),
            self.m_axis_tkeep.eq(Cat(numbers.o_marks[2 + lane].replicate(number_bytes) for lane in lanes)),
        ]
        return m
