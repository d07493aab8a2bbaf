"""Packed blocks in a stream: the scale and the codes of a block follow each other, without gaps between blocks."""

from __future__ import annotations

from dataclasses import dataclass

from amaranth.hdl import Cat, Const, Value

from ...spec import NumberFormat, Packing, ScalePlace
from ...spec.layouts.catalogue import ScaleByte
from ..config.axis import BYTE
from ..emission.stored import PACKINGS, Bits

EXPONENT_BIAS = 127
"""The code minus the byte of `ScaleByte.EXPONENT`."""


@dataclass(frozen=True, kw_only=True)
class BlockStream:
    """The bytes of blocks in a stream.

    >>> from mxcast.spec import E2M1
    >>> BlockStream(packing=Packing.LOW_FIRST, place=ScalePlace.BEFORE).word_bytes(E2M1, 32)
    16
    """

    packing: Packing
    place: ScalePlace
    scale_byte: ScaleByte = ScaleByte.CODE

    def word_bits(self, element: NumberFormat, lanes: int) -> int:
        """Bits of the packed codes of a beat."""
        return len(self.places(element, lanes))

    def word_bytes(self, element: NumberFormat, lanes: int) -> int:
        """Bytes of a word of the stream, which has as many as the codes of a beat."""
        return self.word_bits(element, lanes) // BYTE

    def places(self, element: NumberFormat, lanes: int) -> list[int | None]:
        """The bit of the codes at each bit of the packed codes; None for padding."""
        codes: list[Bits] = [
            [Const(element.bits * lane + bit, 16) for bit in range(element.bits)] for lane in range(lanes)
        ]
        return [None if bit is None else bit.value for bit in PACKINGS[self.packing](codes)]

    def codes(self, packed: Value, element: NumberFormat, lanes: int) -> Value:
        """The codes of a beat, the first in the low bits, from its packed codes."""
        found = {bit: at for at, bit in enumerate(self.places(element, lanes)) if bit is not None}
        return Cat(packed[found[bit]] for bit in range(element.bits * lanes))

    def packed(self, codes: Value, element: NumberFormat, lanes: int) -> Value:
        """The packed codes of a beat, from its codes. Padding is zero."""
        return Cat(Const(0, 1) if at is None else codes[at] for at in self.places(element, lanes))

    def byte(self, scale: Value) -> Value:
        """The byte of a scale, from its code."""
        return (scale - EXPONENT_BIAS)[:BYTE] if self.scale_byte is ScaleByte.EXPONENT else scale

    def scale(self, byte: Value) -> Value:
        """The code of a scale from its byte."""
        return (byte + EXPONENT_BIAS)[:BYTE] if self.scale_byte is ScaleByte.EXPONENT else byte
