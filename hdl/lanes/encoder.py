"""The encoder with lanes: keys, store and codes, and the control of their beats."""

from __future__ import annotations

from amaranth.hdl import Module

from ..config.architecture import Interface
from ..primitives.pipeline import Pipeline
from .control import BeatControl
from .datapath import Datapath
from .elastic import ElasticControl
from .keys import EncoderConfig


class LaneConverter(Pipeline[EncoderConfig]):
    """Convert a block of numbers, which enters in beats, to its scale and element codes, which leave in beats.

    A beat enters at an edge with ``i_valid`` and ``i_ready``, together with the mode of its block, or the constants of
    its tensor, and with its random bits. The first beat after a reset is the first of a block, and ``config.beats``
    beats are a block. A beat leaves at an edge with ``o_valid`` and ``o_ready``, together with the scale of its block,
    and does not change before. If nothing waits, a beat enters and a beat leaves at every edge. ``i_ready`` follows
    ``o_ready`` within the cycle, or, with the interface `Interface.SKID`, depends on registers only. Reset drops all
    beats inside.

    Parameters
    ----------
    config : an encoder with lanes

    Ports
    -----
    x : in, ``lanes`` numbers of the source, the first in the low bits
    mode : in, the number of the mode, the same for all beats of a block; if the configuration has several
    k, d : in, the constants of the tensor, the same for all beats of a block; to NVFP4
    random : in, ``random_bits`` for each number of the beat; under stochastic rounding
    scale : out, the scale byte of the block
    p : out, ``lanes`` codes, the first in the low bits
    o_first, o_last : out, whether the beat is the first or the last of its block
    i_valid, o_ready : in
    i_ready, o_valid : out
    """

    IN_BEATS = True
    SIGNALS = frozenset(("beat_keys", "block_store", "key_accumulator", "beat_codes"))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        skid = self.config.microarchitecture.interface is Interface.SKID
        control = (ElasticControl if skid else BeatControl)(self.config)
        datapath = Datapath(m, platform, self.config, control)
        control.connect(m, self.i_valid, self.i_ready, self.o_valid, self.o_ready)
        keys, codes = datapath.keys, datapath.codes
        m.d.comb += [
            keys.x.eq(self.x),
            *(getattr(keys, name).eq(getattr(self, name)) for name in keys.given),
            *(getattr(self, name).eq(getattr(codes, name)) for name in ("scale", "p", "o_first", "o_last")),
        ]
        return m
