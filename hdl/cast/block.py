"""The component of a cast: one number, or several in parallel."""

from __future__ import annotations

from typing import Unpack

from amaranth.hdl import Module

from ...spec import Cast, FloatFormat
from ..config.cast import CastConfig, CastHardwareFields, cast_config
from ..emission.modules import instantiated
from ..primitives.pipeline import Pipeline
from ..primitives.register import Stage
from .number import NumberCast


class Caster(Pipeline[CastConfig]):
    """Cast each number of a word. It is combinational without registers, and has the handshake of `BlockConverter` with
    registers.

    Parameters
    ----------
    config, profile, fields : the cast, as for `hdl.cast_config`, with its errors

    Ports
    -----
    x, p : in, the numbers of a cast, or the codes of the way back, element 0 in the low bits
    random : in, ``random_bits`` for each number, element 0 in the low bits; under stochastic rounding
    p, y : out, the codes of a cast, or the numbers of the way back, element 0 in the low bits
    """

    def __init__(
        self,
        config: str | FloatFormat | Cast | CastConfig,
        profile: str | None = None,
        **fields: Unpack[CastHardwareFields],
    ) -> None:
        super().__init__(cast_config(config, profile, **fields))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        self.cast(m, platform)
        if self.config.latency:
            self.handshake(m)
        return m

    def cast(self, m: Module, platform: object) -> None:
        """The casts of a word, between the ports of the operation."""
        rules = self.config.numerics
        entering, *_, leaving = rules.ports
        now = Stage(m, self, control=(entering.name, "random")).crossed("input")
        lanes = [NumberCast(self.config) for _ in range(rules.lanes)]
        for number, lane in enumerate(lanes):
            m.submodules[f"number_{number}"] = instantiated(lane, platform)
            self.tell(m, now, lane)
            m.d.comb += lane.x.eq(now.control[entering.name].word_select(number, entering.bits))
            if rules.random_bits:
                m.d.comb += lane.random.eq(now.random.word_select(number, rules.random_bits))
        for boundary in self.config.number_stages:  # the lanes have their own registers
            now = now.crossed(boundary, control=())
        now = now.crossed("output", control=(), **{f"result_{number}": lane.y for number, lane in enumerate(lanes)})
        for number, result in enumerate(now.values.values()):
            m.d.comb += getattr(self, leaving.name).word_select(number, leaving.bits).eq(result)
