"""The decoder with lanes, behind valid and ready."""

from __future__ import annotations

from amaranth.hdl import Module

from ..emission.modules import instantiated
from ..lanes.through import ThroughControl
from ..primitives.pipeline import Pipeline
from .beats import AnyDecoder, numbers_of


class LaneDecoder(Pipeline[AnyDecoder]):
    """Convert a scale byte and element codes, which enter in beats, to numbers, which leave in beats.

    A beat enters at an edge with ``i_valid`` and ``i_ready``. The first beat after a reset is the first of a block, and
    ``config.beats`` beats are a block. Only its first beat needs the scale. A beat leaves at an edge with ``o_valid``
    and ``o_ready``, and does not change before. ``i_ready`` follows ``o_ready`` within the cycle. Reset drops all beats
    inside.

    Parameters
    ----------
    config : a decoder with lanes

    Ports
    -----
    p : in, ``lanes`` codes, the first in the low bits
    scale : in, the scale byte of the block, with its first beat
    g : in, the scale of the tensor, with the first beat of a block; of NVFP4
    random : in, ``random_bits`` for each code of the beat; under stochastic rounding
    y : out, ``lanes`` numbers of the destination, the first in the low bits
    o_first, o_last : out, whether the beat is the first or the last of its block
    i_valid, o_ready : in
    i_ready, o_valid : out
    """

    IN_BEATS = True
    SIGNALS = frozenset(("beat_numbers",))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        numbers, control = numbers_of(self.config), ThroughControl(self.config)
        m.submodules.beat_numbers = instantiated(numbers, platform)
        control.connect(m, self.i_valid, self.o_valid, self.o_ready)
        entering = ("p", "scale", *(port.name for port in self.config.with_codes))
        m.d.comb += [
            self.i_ready.eq(control.back_enable),
            numbers.enable.eq(control.back_enable),
            numbers.is_first.eq(control.is_first),
            numbers.is_last.eq(control.is_last),
            *(getattr(numbers, name).eq(getattr(self, name)) for name in entering),
            *(getattr(self, name).eq(getattr(numbers, name)) for name in ("y", "o_first", "o_last")),
        ]
        return m
