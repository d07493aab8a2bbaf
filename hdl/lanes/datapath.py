"""Keys, store and codes of an encoder with lanes, between the ports and under a control."""

from __future__ import annotations

from typing import TypeAlias

from amaranth.hdl import Cat, Module, Mux, Signal

from ..config.encode import ConverterConfig
from ..config.nvfp4_encode import Nvfp4Config
from ..emission.modules import instantiated
from .accumulator import KeyAccumulator, KeyHolder
from .codes import BackPart, BeatCodes
from .control import BeatControl
from .keys import BeatKeys, EncoderConfig, FrontPart
from .nvfp4 import Nvfp4Codes, Nvfp4Keys
from .store import BlockStore

AnyFront: TypeAlias = FrontPart[ConverterConfig] | FrontPart[Nvfp4Config]
AnyBack: TypeAlias = BackPart[ConverterConfig] | BackPart[Nvfp4Config]


def _parts(config: EncoderConfig, entering: int, leaving: int) -> tuple[AnyFront, AnyBack]:
    """The parts in front of the store and behind it, with these bits of a packet."""
    if isinstance(config, Nvfp4Config):
        return Nvfp4Keys(config, entering), Nvfp4Codes(config, leaving)
    codes = BeatCodes(config, leaving)
    return BeatKeys(config, codes.elements[0].decisive_bits, entering), codes


class Datapath:
    """The parts as sub-modules of the top module, connected to each other and to a control.

    What enters ``keys`` and leaves ``codes`` is left to the top module. ``marks`` bits of a packet may enter with the
    last beat of a block (``keys.marks``); ``codes.marks`` gets them from ``marks_of_block``.
    """

    def __init__(
        self, m: Module, platform: object, config: EncoderConfig, control: BeatControl, marks: tuple[int, int] = (0, 0)
    ) -> None:
        entering, leaving = marks
        self.keys, self.codes = keys, codes = _parts(config, entering, leaving)
        has_random, halves = config.numerics.random_bits > 0, control.SLOTS > 1
        word = Cat(keys.numbers, keys.random_of_beat) if has_random else keys.numbers
        store = BlockStore(len(word), config.beats * control.SLOTS)
        accumulator = (KeyHolder if halves else KeyAccumulator)(keys.key.shape())
        m.submodules.beat_keys = instantiated(keys, platform)
        m.submodules.key_accumulator = instantiated(accumulator, platform)
        m.submodules.block_store = instantiated(store, platform)
        m.submodules.beat_codes = instantiated(codes, platform)
        m.d.comb += [
            accumulator.enable.eq(control.writes),
            accumulator.is_first.eq(control.is_first_write),
            *([accumulator.is_last.eq(control.is_last_write)] if isinstance(accumulator, KeyHolder) else []),
            accumulator.key.eq(keys.key),
            store.enable.eq(control.writes),
            store.write_beat.eq(control.write_beat),
            store.word.eq(word),
            store.read_beat.eq(control.read_beat),
            codes.enable.eq(control.back_enable),
            codes.key.eq(accumulator.amax),
            codes.numbers.eq(store.stored),
            *([codes.random.eq(store.stored[len(keys.numbers) :])] if has_random else []),
            codes.is_first.eq(control.is_first_read),
            codes.is_last.eq(control.is_last_read),
            *([keys.enable.eq(control.front_enable)] if "enable" in keys.signature.members else []),
        ]
        block_ends = control.writes & control.is_last_write
        for port in config.of_block:
            kept = Signal(port.width, name=f"{port.name}_q", reset_less=True)
            with m.If(block_ends):
                m.d.sync += kept.eq(getattr(keys, f"{port.name}_of_beat"))
            m.d.comb += getattr(codes, port.name).eq(kept)
        if entering:  # one for each half of the store
            half = [Signal(entering, name=f"marks_of_half{number}_q", reset_less=True) for number in range(2)]
            for number, marks_q in enumerate(half):
                with m.If(block_ends & (control.write_beat[-1] == number)):
                    m.d.sync += marks_q.eq(keys.marks_of_beat)
            self.marks_of_block = Signal(entering)
            m.d.comb += self.marks_of_block.eq(Mux(control.read_beat[-1], half[1], half[0]))
