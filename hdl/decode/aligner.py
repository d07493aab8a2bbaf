"""From words of a stream of packed blocks to beats: the codes of a beat, and the scale of its block."""

from __future__ import annotations

from dataclasses import dataclass

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ...spec import NumberFormat, ScalePlace
from ..config.axis import BYTE
from ..emission.modules import instantiated
from ..lanes.packed import BlockStream
from ..lanes.through import Skid, ThroughControl


class BlockAligner(wiring.Component):
    """A window of two words, which follow each other.

    Ports
    -----
    enable : in, whether the word is taken
    word : in, a word of ``size`` bytes
    offset : in, bytes of the word before that precede the window; a word of one byte has no choice
    window : out, ``size`` + 1 bytes
    """

    def __init__(self, size: int) -> None:
        self.size = size
        offset = {"offset": In(range(size))} if size > 1 else {}
        super().__init__({"enable": In(1), "word": In(BYTE * size), **offset, "window": Out(BYTE * (size + 1))})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        word_q = Signal(BYTE * self.size, reset_less=True)
        with m.If(self.enable):
            m.d.sync += word_q.eq(self.word)
        rest: Value = Cat(word_q, self.word)
        for place in reversed(range((self.size - 1).bit_length())):  # with the bytes that the next shifts can reach
            width, by = BYTE * (self.size + (1 << place)), BYTE << place
            shifted = Signal(width, name=f"shifted_by_{1 << place}")
            m.d.comb += shifted.eq(Mux(self.offset[place], rest[by:], rest))
            rest = shifted
        m.d.comb += self.window.eq(rest)
        return m


def _shifted(bits: Value, by: Value) -> Value:
    """Bits without the lowest ones."""
    for place in reversed(range(len(by))):
        bits = Mux(by[place], bits[1 << place :], bits)
    return bits


@dataclass(frozen=True)
class Unpacked:
    """A beat of packed blocks.

    Attributes
    ----------
    offered : whether it is offered
    is_whole : whether all its bytes are there; if not, a packet ends within a block
    codes, scale : the codes, and the scale if it is the first beat of a block
    """

    offered: Value
    is_whole: Value
    codes: Value
    scale: Value


def unpack(
    m: Module,
    platform: object,
    stream: BlockStream,
    element: NumberFormat,
    lanes: int,
    words: Skid,
    takes: Value,
    control: ThroughControl,
) -> Unpacked:
    """Add the way from words to beats to the top module. The words have ``word``, ``keep`` and ``last``; ``takes`` says
    whether one is taken.

    The first beat of a block needs one byte more than a word, and all others need a word. So each word completes a
    beat, except the first of a packet and those that only fill the register again.
    """
    size = stream.word_bytes(element, lanes)
    word, keep, last = (words.values[name] for name in ("word", "keep", "last"))
    aligner = BlockAligner(size)
    m.submodules.block_aligner = instantiated(aligner, platform)
    offset = Signal(range(size))
    is_filled = Signal()  # the register holds bytes of the next beat
    is_whole = Signal()
    m.d.comb += [
        aligner.enable.eq(takes),
        aligner.word.eq(word),
        *([aligner.offset.eq(offset)] if size > 1 else []),
        is_whole.eq(is_filled & (~last | _shifted(keep, offset)[0])),
    ]
    with m.If(takes):
        with m.If(last):
            m.d.sync += [is_filled.eq(0), offset.eq(0)]
        with m.Elif(~is_filled):
            m.d.sync += is_filled.eq(1)
        with m.Elif(control.is_last):
            is_used = offset == size - 1
            m.d.sync += [is_filled.eq(~is_used), offset.eq(Mux(is_used, 0, offset + 1))]
    is_before = stream.place is ScalePlace.BEFORE
    packed = aligner.window[BYTE:] if is_before else aligner.window[: BYTE * size]
    byte = aligner.window[:BYTE] if is_before else aligner.window[BYTE * size :]
    return Unpacked(
        offered=words.valid & (is_filled | last),
        is_whole=is_whole,
        codes=stream.codes(packed, element, lanes),
        scale=stream.scale(byte),
    )
