"""The parts of an NVFP4 encoder with lanes in front of the store and behind it."""

from __future__ import annotations

from amaranth.hdl import Module, Signal

from ...spec import FourOverSix
from ..config.nvfp4_encode import Nvfp4Config
from ..emission.modules import instantiated
from ..nvfp4.candidate import better
from ..nvfp4.encoder import SCALE_UNITS, Nvfp4Maximum
from ..nvfp4.lanes import connect_constants, encoded
from ..primitives.register import Stage
from .codes import BackPart
from .keys import FrontPart


class Nvfp4Keys(FrontPart[Nvfp4Config]):
    """`FrontPart` of an NVFP4 encoder. The key is a whole magnitude, and the store holds whole numbers."""

    def __init__(self, config: Nvfp4Config, marks: int = 0) -> None:
        bits = config.numerics.source.bits
        super().__init__(config, bits - 1, bits, marks)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        maximum, (*inner, last) = Nvfp4Maximum(self.config), self.config.tree_stages
        m.submodules.maximum = instantiated(maximum, platform)
        now = Stage(m, self, control=("x", *self.passed)).crossed("input")
        m.d.comb += maximum.x.eq(now.x)
        if "enable" in maximum.signature.members:
            m.d.comb += maximum.enable.eq(self.enable)
        for boundary in inner:  # the maximum has its own registers
            now = now.crossed(boundary)
        now = now.crossed(last, amax=maximum.amax)
        self.leave(m, now, now.amax, [now.x])
        return m


class Nvfp4Codes(BackPart[Nvfp4Config]):
    """`BackPart` of an NVFP4 encoder: the scale of the block, the unit that prepares it, and the lanes."""

    def __init__(self, config: Nvfp4Config, marks: int = 0) -> None:
        bits = config.numerics.source.bits
        super().__init__(config, bits - 1, bits, marks)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self.config
        unit = SCALE_UNITS[config.numerics.order](config)
        unit.kind = "scale_unit"
        m.submodules.scale_unit = instantiated(unit, platform)
        now = Stage(m, self, control=("random", *(port.name for port in config.of_block)), values=self.place)
        now.control["x"] = self.numbers
        m.d.comb += unit.amax.eq(self.key)
        connect_constants(m, unit, now)
        if "enable" in unit.signature.members:
            m.d.comb += unit.enable.eq(self.enable)
        kept = [name for name in now.control if name != "k"]
        for boundary in config.scale_stages:  # the unit has its own registers
            now = now.crossed(boundary, control=kept, **now.values)
        place = now.values
        larger = {} if config.numerics.four_over_six is FourOverSix.OFF else {"larger": unit.larger}
        now = now.crossed("scale", control=kept, scale=unit.scale, **larger, **place)
        lanes = better if larger else encoded
        now, codes = lanes(m, platform, self, now, {name: now.values[name] for name in place})
        scale = Signal(len(now.scale), name="chosen_scale")  # once, in front of the registers at the output
        m.d.comb += scale.eq(now.scale)
        now.values["scale"] = scale
        self.leave(m, now, codes.values())
        return m
