"""A skid buffer in front of hardware with valid and ready."""

from __future__ import annotations

from amaranth.hdl import Module

from ...spec import Role
from ..config.hardware import HardwareConfig
from ..emission.modules import instantiated
from ..lanes.through import skid
from ..primitives.pipeline import Pipeline


class SkidBuffered(Pipeline[HardwareConfig]):
    """Hardware with `Interface.SKID`: its core, behind a place in which one beat waits.

    It has the ports of the core, and ``o_first`` and ``o_last``, which are set if a beat is a whole block.
    ``i_ready`` depends on registers only.

    Parameters
    ----------
    config : a configuration with a skid buffer and a `HardwareConfig.core`
    core : the component of its core, with valid and ready
    """

    IN_BEATS = True
    IS_AROUND = True
    SIGNALS = frozenset(("core", "beat_held", "beat_offered", "beat_ready"))

    def __init__(self, config: HardwareConfig, core: Pipeline[HardwareConfig]) -> None:
        super().__init__(config)
        self.core = core

    def elaborate(self, platform: object) -> Module:
        m = Module()
        core, pins = self.core, self.config.pins
        m.submodules.core = instantiated(core, platform)
        entering = [pin.name for pin in pins if pin.direction == "input" and pin.role.is_data]
        leaving = [pin.name for pin in pins if pin.is_result]
        marks = [pin.name for pin in pins if pin.role in (Role.FIRST, Role.LAST)]
        beat = skid(m, "beat", self.i_valid, {name: getattr(self, name) for name in entering}, core.i_ready)
        m.d.comb += [
            self.i_ready.eq(beat.ready),
            core.i_valid.eq(beat.valid),
            *(getattr(core, name).eq(beat.values[name]) for name in entering),
            *(getattr(self, name).eq(getattr(core, name)) for name in leaving),
            *(getattr(self, name).eq(getattr(core, name, 1)) for name in marks),
            self.o_valid.eq(core.o_valid),
            core.o_ready.eq(self.o_ready),
        ]
        return m
