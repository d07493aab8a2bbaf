"""A cast behind AXI4-Stream: packets of words, of any length."""

from __future__ import annotations

from typing import Unpack

from amaranth.hdl import Cat, Module, Signal

from ...spec import Cast, FloatFormat
from ..config.axis import BYTE
from ..config.cast import CastConfig, CastHardwareFields, cast_config
from ..lanes.control import FlowControl
from ..lanes.through import skid
from ..primitives.pipeline import AxisPipeline
from ..primitives.register import Stage
from .block import Caster


class AxisCaster(Caster, AxisPipeline[CastConfig]):
    """`Caster` with AXI4-Stream: ``s_axis`` with words, and ``m_axis`` with their casts.

    Beats without bytes are dropped; if they end a packet, they leave without bytes. All outputs depend on registers
    only.

    Parameters
    ----------
    config, profile, fields : the cast, as for `hdl.cast_config`, with its errors
    """

    SIGNALS = frozenset(("x", "p", "y", "random", "clk", "rst"))

    def __init__(
        self,
        config: str | FloatFormat | Cast | CastConfig,
        profile: str | None = None,
        **fields: Unpack[CastHardwareFields],
    ) -> None:
        AxisPipeline.__init__(self, cast_config(config, profile, **fields))
        for port in self.config.numerics.ports:
            setattr(self, port.name, Signal(port.width, name=port.name))
        self.enable = Signal()

    def elaborate(self, platform: object) -> Module:
        m = self.clocked()
        rules, control = self.config.numerics, FlowControl(self.config)
        entering, *_, leaving = rules.ports
        running_q = Signal()  # the reset is over
        m.d.sync += running_q.eq(1)
        last_bytes = [(entering.bits * (lane + 1) - 1) // BYTE for lane in range(rules.lanes)]
        given = {
            "words": self.s_axis_tdata[: entering.width],
            # the end of a packet, the mark that passes, and by lane whether its word has all its bytes
            "marks": Cat(self.s_axis_tlast, self.s_axis_tuser[0], *(self.s_axis_tkeep[byte] for byte in last_bytes)),
            **({"random": self.s_axis_tuser[1:]} if rules.random_bits else {}),
        }
        enters = self.s_axis_tvalid & running_q & (self.s_axis_tkeep[0] | self.s_axis_tlast)
        beats = skid(m, "beat", enters, given, control.back_enable)
        control.leave(m, list(self.config.microarchitecture.registered_after), self.m_axis_tvalid, self.m_axis_tready)
        m.d.comb += [
            self.s_axis_tready.eq(beats.ready & running_q),
            control.reads.eq(beats.valid & control.back_enable),
            self.enable.eq(control.back_enable),
            getattr(self, entering.name).eq(beats.values["words"]),
            *([self.random.eq(beats.values["random"])] if rules.random_bits else []),
        ]
        self.cast(m, platform)
        now = Stage(m, self, values={"marks": beats.values["marks"]})
        for boundary in self.config.stages:
            now = now.crossed(boundary, **now.values)
        first_lanes = [BYTE * byte // leaving.bits for byte in range(len(self.m_axis_tkeep))]
        m.d.comb += [
            self.m_axis_tdata.eq(getattr(self, leaving.name)),
            self.m_axis_tlast.eq(now.marks[0]),
            self.m_axis_tuser.eq(now.marks[1]),
            self.m_axis_tkeep.eq(Cat(now.marks[2 + lane] for lane in first_lanes)),
        ]
        return m
