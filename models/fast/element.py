"""From source numbers and the scale of their block to element codes."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

import numpy as np

from ...spec import Encode, EncodedZero, FixedFormat, Kind, NumberFormat, Rounding
from ..arrays.codes import code_values
from ..arrays.scratch_buffers import ScratchBuffers
from .rounding import RandomBits, carries, encode_magnitudes, largest_code


def encode(
    y: np.ndarray,
    bits: np.ndarray,
    numerics: Encode,
    buffers: ScratchBuffers,
    codes: np.ndarray,
    random: np.ndarray | None = None,
) -> None:
    """Write the codes of scaled magnitudes: (n,) float32 ``y``, overwritten -> (n,) unsigned ``codes``.

    ``bits`` are the source patterns (n,) uint32, of which only the sign is used; ``random`` are the random bits of
    each element, (n,) unsigned, under `Rounding.SR`.
    """
    element = numerics.block.element
    added = None if random is None else RandomBits(random, numerics.random_bits)
    np.minimum(y, buffers.limit[: y.size], out=y)
    MAGNITUDES[element.kind](y, numerics, buffers, codes, added)
    SIGNS[numerics.zero](codes, bits, element, buffers)


def _fixed_magnitudes(
    y: np.ndarray, numerics: Encode, buffers: ScratchBuffers, codes: np.ndarray, random: RandomBits | None
) -> None:
    """Write the magnitudes of fixed-point codes: (n,) float32, not above the largest -> (n,) ``codes``."""
    element = cast(FixedFormat, numerics.block.element)
    total = buffers.total[: y.size]
    sum = total.view(np.float32)
    np.multiply(y, np.float32(2.0**element.frac_bits), out=y)
    FIXED_ROUNDINGS[numerics.rounding](y, sum, total, codes, random)


def _nearest_even(
    y: np.ndarray, sum: np.ndarray, total: np.ndarray, codes: np.ndarray, random: RandomBits | None
) -> None:
    np.add(y, np.float32(2.0**23), out=sum)  # float32 addition rounds to nearest, ties to even
    np.copyto(codes, total, casting="unsafe")


def _half_up(y: np.ndarray, sum: np.ndarray, total: np.ndarray, codes: np.ndarray, random: RandomBits | None) -> None:
    np.multiply(y, np.float32(2), out=y)
    np.copyto(total, y, casting="unsafe")  # truncates; the last bit is the guard bit
    np.add(total, np.uint32(1), out=total)
    np.copyto(codes, np.right_shift(total, np.uint32(1), out=total), casting="unsafe")


def _ties_toward_zero(
    y: np.ndarray, sum: np.ndarray, total: np.ndarray, codes: np.ndarray, random: RandomBits | None
) -> None:
    np.subtract(y, np.float32(0.5), out=y)  # exact from 1/4 on; below, the result is from -1/2 to -1/4
    np.copyto(codes, np.ceil(y, out=y), casting="unsafe")


def _toward_zero(
    y: np.ndarray, sum: np.ndarray, total: np.ndarray, codes: np.ndarray, random: RandomBits | None
) -> None:
    np.copyto(codes, np.trunc(y, out=sum), casting="unsafe")
    if random is not None:
        np.subtract(y, sum, out=y)
        np.add(codes, carries(y, random), out=codes)


FIXED_ROUNDINGS = {
    Rounding.RNE: _nearest_even,
    Rounding.RNA: _half_up,
    Rounding.GUARD_HALF_UP: _half_up,
    Rounding.RTZ: _toward_zero,
    Rounding.SR: _toward_zero,
    Rounding.RNZ: _ties_toward_zero,
}
"""Roundings of magnitudes ``y``, in units of the last place, to ``codes``. ``total`` and ``sum`` are one buffer as
uint32 and as float32.
"""

MAGNITUDES = {Kind.FLOAT: encode_magnitudes, Kind.FIXED: _fixed_magnitudes}
"""Functions from scaled magnitudes to magnitudes of codes, by kind of the element format."""


def give_signs(codes: np.ndarray, bits: np.ndarray, element: NumberFormat, flags: np.ndarray | None = None) -> None:
    """Turn magnitudes into codes, in place, by the signs of ``bits``: (n,) uint8 or uint16 and (n,) uint32.

    ``flags`` (n,) bool is a buffer to use instead of new memory.
    """
    negative = np.less(bits.view(np.int32), np.int32(0), out=flags).view(np.uint8).astype(codes.dtype, copy=False)
    if not element.signed_zero:
        np.subtract(codes, negative, out=codes)  # -c is ~(c - 1), and ~ is an exclusive or with all ones
        np.bitwise_xor(codes, np.negative(negative, out=negative), out=codes)
        if element.bits < 8 * codes.itemsize:
            np.bitwise_and(codes, codes.dtype.type((1 << element.bits) - 1), out=codes)
    else:
        np.multiply(negative, codes.dtype.type(element.sign_mask), out=negative)
        np.bitwise_or(codes, negative, out=codes)


def _signed(codes: np.ndarray, bits: np.ndarray, element: NumberFormat, buffers: ScratchBuffers) -> None:
    give_signs(codes, bits, element, buffers.flags[: codes.size])


def _without_negative_zero(codes: np.ndarray, bits: np.ndarray, element: NumberFormat, buffers: ScratchBuffers) -> None:
    """As `_signed`, but without -0."""
    zeros = codes == 0
    _signed(codes, bits, element, buffers)
    codes[zeros] = 0


SIGNS: dict[EncodedZero, Callable[[np.ndarray, np.ndarray, NumberFormat, ScratchBuffers], None]] = {
    EncodedZero.SIGNED: _signed,
    EncodedZero.POSITIVE: _without_negative_zero,
    EncodedZero.TAKEN_POSITIVE: _signed,
    EncodedZero.TAKEN_NEGATIVE: _signed,
}
"""Functions from magnitudes to codes. The rule for zeros has already changed the signs in ``bits``."""


def largest_value(numerics: Encode) -> float:
    """The largest magnitude of an element under these numerics."""
    element = numerics.block.element
    return float(code_values(element)[largest_code(element, numerics.rounding)])
