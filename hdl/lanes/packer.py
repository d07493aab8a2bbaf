"""From beats of codes, with the scale of their block, to words of a stream of packed blocks."""

from __future__ import annotations

from dataclasses import dataclass

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ...spec import ScalePlace
from ..config.axis import BYTE
from ..emission.modules import instantiated


class BlockPacker(wiring.Component):
    """The bytes of words, which have as many as the codes of a beat.

    A beat completes a word, and the rest of its bytes wait for the next word.

    Ports
    -----
    enable : in, whether a word leaves the register at the output, or none is in it
    takes : in, whether a beat is taken; if not, the bytes that wait are the next word
    codes, scale : in, the ``size`` bytes of a beat, and the byte of its scale
    has_scale : in, whether the scale is next to these codes
    count : in, bytes that wait
    word : out, ``size`` bytes
    """

    def __init__(self, size: int, place: ScalePlace) -> None:
        self.size, self.place = size, place
        super().__init__(
            {
                **dict.fromkeys(("enable", "takes", "has_scale"), In(1)),
                "codes": In(BYTE * size),
                "scale": In(BYTE),
                "count": In(range(size + 1)),
                "word": Out(BYTE * size),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        size, is_before = self.size, self.place is ScalePlace.BEFORE
        waiting_q = Signal(BYTE * size, reset_less=True)
        word_q = Signal(BYTE * size, reset_less=True)
        first = Signal(range(size + 1))  # the place of the first code; ``size`` is the first place of the next word
        m.d.comb += first.eq(self.count + self.has_scale if is_before else self.count)
        rotated: Value = self.codes
        for place in range((size - 1).bit_length()):
            by, moved = BYTE << place, Signal(BYTE * size, name=f"rotated_by_{1 << place}")
            m.d.comb += moved.eq(Mux(first[place] & (first != size), Cat(rotated[-by:], rotated[:-by]), rotated))
            rotated = moved
        word, rest = list[Value](), list[Value]()
        for place in range(size):
            code = rotated[BYTE * place : BYTE * (place + 1)]
            waiting = waiting_q[BYTE * place : BYTE * (place + 1)]
            is_next = self.count == place if place else ~self.count.any()
            with_scale = Mux(self.has_scale & is_next, self.scale, code)
            word.append(Mux(counts(self.count, place), waiting, with_scale if is_before else code))
            rest.append(code if is_before else with_scale)
        with m.If(self.enable):
            m.d.sync += word_q.eq(Mux(self.takes, Cat(word), waiting_q))
            with m.If(self.takes):
                m.d.sync += waiting_q.eq(Cat(rest))
        m.d.comb += self.word.eq(word_q)
        return m


def counts(count: Value, place: int) -> Value:
    """Is this byte among so many?"""
    return count > place if place else count.any()


@dataclass(frozen=True)
class Leaving:
    """A beat that leaves the core: whether it is there, the bytes of its codes and of the scale of its block, whether
    this scale is next to them, and the marks of its packet.
    """

    valid: Value
    codes: Value
    scale: Value
    has_scale: Value
    ends_packet: Value
    is_completed: Value


def pack(m: Module, platform: object, place: ScalePlace, beat: Leaving, ready: Value) -> tuple[Value, dict[str, Value]]:
    """Add the way from beats to words to the top module; ``ready`` says that a word is taken. Returns whether the beat
    can be taken, and the signals of the stream.

    If a whole word waits, or the last bytes of a packet, they leave before the next beat is taken.
    """
    size = len(beat.codes) // BYTE
    packer = BlockPacker(size, place)
    m.submodules.block_packer = instantiated(packer, platform)
    count = Signal(range(size + 1), name="bytes_waiting")
    after = Signal(range(size + 1), name="bytes_after")  # a beat
    has_ended = Signal()  # the bytes that wait are the last of a packet
    waiting_completed_q = Signal(reset_less=True)  # zeros have completed their block
    has_word = Signal()
    moves = Signal(name="word_moves")
    takes = Signal(name="takes_for_word")
    valid_q = Signal(name="word_valid_q")
    m.d.comb += [
        after.eq(count + packer.has_scale),
        has_word.eq((count == size) | has_ended),
        moves.eq(ready | ~valid_q),
        takes.eq(beat.valid & moves & ~has_word),
        packer.enable.eq(moves),
        packer.takes.eq(takes),
        packer.codes.eq(beat.codes),
        packer.scale.eq(beat.scale),
        packer.has_scale.eq(beat.has_scale),
        packer.count.eq(count),
    ]
    rest = {"tkeep": Cat(counts(count, byte) for byte in range(size)), "tlast": has_ended, "tuser": waiting_completed_q}
    made = {"tkeep": Const(-1, size), "tlast": beat.ends_packet & ~after.any(), "tuser": beat.is_completed}
    leaves: dict[str, Value] = {"tvalid": valid_q, "tdata": packer.word}
    for name in rest:
        leaves[name] = register = Signal(len(rest[name]), name=f"word_{name}_q", reset_less=True)
        with m.If(moves):
            m.d.sync += register.eq(Mux(takes, made[name], rest[name]))
    with m.If(moves):
        m.d.sync += valid_q.eq(takes | has_word)
        with m.If(takes):
            m.d.sync += [count.eq(after), has_ended.eq(beat.ends_packet & after.any())]
            m.d.sync += waiting_completed_q.eq(beat.is_completed)
        with m.Elif(has_word):
            m.d.sync += [count.eq(0), has_ended.eq(0)]
    return moves & ~has_word, leaves
