"""The encoder with lanes: keys, store and codes, and the control of their beats."""

from __future__ import annotations

from typing import Unpack

from amaranth.hdl import Cat, Module, Signal

from ..config.encode import ConverterConfig, ConverterFields, Format, converter_config
from ..emission.modules import instantiated
from ..primitives.pipeline import Pipeline
from .accumulator import KeyAccumulator
from .codes import BeatCodes
from .control import BeatControl
from .keys import BeatKeys
from .store import BlockStore


class LaneConverter(Pipeline[ConverterConfig]):
    """Convert a block of numbers, which enters in beats, to its scale and element codes, which leave in beats.

    A beat enters at an edge with ``i_valid`` and ``i_ready``, together with the mode of its block and its random bits.
    The first beat after a reset is the first of a block, and ``config.beats`` beats are a block. A beat leaves at an
    edge with ``o_valid`` and ``o_ready``, together with the scale of its block, and does not change before. If nothing
    waits, a beat enters and a beat leaves at every edge. ``i_ready`` follows ``o_ready`` within the cycle. Reset drops
    all beats inside.

    Parameters
    ----------
    config, profile, fields : the converter, as for `hdl.converter_config`, with its errors

    Ports
    -----
    x : in, ``lanes`` numbers of the source, the first in the low bits
    mode : in, the number of the mode, the same for all beats of a block; if the configuration has several
    random : in, ``random_bits`` for each number of the beat; under stochastic rounding
    scale : out, the scale byte of the block
    p : out, ``lanes`` codes, the first in the low bits
    o_first, o_last : out, whether the beat is the first or the last of its block
    i_valid, o_ready : in
    i_ready, o_valid : out
    """

    SIGNALS = frozenset(("beat_keys", "block_store", "key_accumulator", "beat_codes"))

    def __init__(self, config: Format, profile: str | None = None, **fields: Unpack[ConverterFields]) -> None:
        super().__init__(converter_config(config, profile, **fields))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self.config
        codes = BeatCodes(config)
        keys = BeatKeys(config, codes.elements[0].decisive_bits)
        accumulator = KeyAccumulator(config)
        has_random, has_modes = config.numerics.random_bits > 0, bool(config.alternatives)
        word = Cat(keys.numbers, keys.random_of_beat) if has_random else keys.numbers
        store = BlockStore(len(word), config.beats)
        m.submodules.beat_keys = instantiated(keys, platform)
        m.submodules.key_accumulator = instantiated(accumulator, platform)
        m.submodules.block_store = instantiated(store, platform)
        m.submodules.beat_codes = instantiated(codes, platform)
        control = BeatControl(config)
        control.connect(m, self.i_valid, self.i_ready, self.o_valid, self.o_ready)
        is_first_write = ~control.write_beat.any()
        m.d.comb += [
            keys.x.eq(self.x),
            accumulator.enable.eq(control.writes),
            accumulator.is_first.eq(is_first_write),
            accumulator.key.eq(keys.key),
            store.enable.eq(control.writes),
            store.write_beat.eq(control.write_beat),
            store.word.eq(word),
            store.read_beat.eq(control.read_beat),
            codes.enable.eq(control.back_enable),
            codes.key.eq(accumulator.amax),
            codes.numbers.eq(store.stored),
            codes.is_first.eq(~control.read_beat.any()),
            codes.is_last.eq(control.read_beat.all()),
            self.scale.eq(codes.scale),
            self.p.eq(codes.p),
            self.o_first.eq(codes.o_first),
            self.o_last.eq(codes.o_last),
        ]
        if "enable" in keys.signature.members:
            m.d.comb += keys.enable.eq(control.front_enable)
        if has_modes:  # the mode of the beat that was written last, which is of the whole block
            mode_q = Signal(config.mode_bits, reset_less=True)
            with m.If(control.writes):
                m.d.sync += mode_q.eq(keys.mode_of_beat)
            m.d.comb += [keys.mode.eq(self.mode), codes.mode.eq(mode_q)]
        if has_random:
            m.d.comb += [keys.random.eq(self.random), codes.random.eq(store.stored[len(keys.numbers) :])]
        return m
