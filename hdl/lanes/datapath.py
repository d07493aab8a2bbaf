"""Keys, store and codes of an encoder with lanes, between the ports and under a control."""

from __future__ import annotations

from typing import TypeAlias

from amaranth.hdl import Cat, Module, Mux, Signal, Value

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
        self.config, self.control = config, control
        m.submodules.beat_keys = instantiated(keys, platform)
        of_block = {port.name: getattr(keys, f"{port.name}_of_beat") for port in config.of_block}
        marks_of_beat = {"marks": keys.marks_of_beat} if entering else {}
        word: dict[str, Value] = {"numbers": keys.numbers}
        if config.numerics.random_bits:
            word["random"] = keys.random_of_beat
        if config.beats == 1:
            word |= {"key": Value.cast(keys.key), **of_block, **marks_of_beat}
            found = self._stored(m, platform, word)
        else:
            found = self._accumulated(m, platform)
            found |= self._stored(m, platform, word)
            found |= self._kept(m, of_block, marks_of_beat)
        m.submodules.beat_codes = instantiated(codes, platform)
        self.marks_of_block = found.pop("marks", None)
        m.d.comb += [
            codes.enable.eq(control.back_enable),
            *(getattr(codes, name).eq(value) for name, value in found.items()),
            codes.is_first.eq(control.is_first_read),
            codes.is_last.eq(control.is_last_read),
            *([keys.enable.eq(control.front_enable)] if "enable" in keys.signature.members else []),
        ]

    def _stored(self, m: Module, platform: object, values: dict[str, Value]) -> dict[str, Value]:
        """The values of a beat, behind the store."""
        control, word = self.control, Cat(values.values())
        store = BlockStore(len(word), self.config.beats * control.SLOTS)
        m.submodules.block_store = instantiated(store, platform)
        m.d.comb += [
            store.enable.eq(control.writes),
            store.write_beat.eq(control.write_beat),
            store.word.eq(word),
            store.read_beat.eq(control.read_beat),
        ]
        found, rest = dict[str, Value](), store.stored[:]
        for name, value in values.items():
            found[name], rest = rest[: len(value)], rest[len(value) :]
        return found

    def _accumulated(self, m: Module, platform: object) -> dict[str, Value]:
        """The largest key of a block."""
        control, key = self.control, self.keys.key
        accumulator = (KeyHolder if control.SLOTS > 1 else KeyAccumulator)(key.shape())
        m.submodules.key_accumulator = instantiated(accumulator, platform)
        m.d.comb += [
            accumulator.enable.eq(control.writes),
            accumulator.is_first.eq(control.is_first_write),
            *([accumulator.is_last.eq(control.is_last_write)] if isinstance(accumulator, KeyHolder) else []),
            accumulator.key.eq(key),
        ]
        return {"key": accumulator.amax}

    def _kept(self, m: Module, of_block: dict[str, Value], marks: dict[str, Value]) -> dict[str, Value]:
        """Values of the last beat of a block, kept until its first beat leaves the store, and its marks until its last
        beat does."""
        control, found = self.control, dict[str, Value]()
        block_ends = control.writes & control.is_last_write
        for name, value in of_block.items():
            found[name] = kept = Signal(len(value), name=f"{name}_q", reset_less=True)
            with m.If(block_ends):
                m.d.sync += kept.eq(value)
        for name, value in marks.items():  # one for each half of the store
            half = [Signal(len(value), name=f"{name}_of_half{number}_q", reset_less=True) for number in range(2)]
            for number, marks_q in enumerate(half):
                with m.If(block_ends & (control.write_beat[-1] == number)):
                    m.d.sync += marks_q.eq(value)
            found[name] = Signal(len(value), name=f"{name}_of_block")
            m.d.comb += found[name].eq(Mux(control.read_beat[-1], half[1], half[0]))
        return found
