"""Rounding of non-negative float32 numbers to the grid of a floating-point element format.

Everything is built on the machine's correctly rounded float32 addition (IEEE 754 roundTiesToEven). The low bits of the
sum of ``y`` and the power of two whose last place is one grid step are ``y`` in whole steps, rounded to nearest, ties
to even. Other roundings correct this result by its rounding error, which is exact.
"""

from __future__ import annotations

from typing import NamedTuple, cast

import numpy as np

from ...spec import FP32, Encode, FloatFormat, Kind, NumberFormat, Rounding, Subnormals
from ..arrays.scratch_buffers import ScratchBuffers
from ..arrays.source import INFINITY


class RandomBits(NamedTuple):
    """Random numbers of ``width`` bits: (n,) unsigned."""

    numbers: np.ndarray
    width: int


def largest_code(element: NumberFormat, rounding: Rounding) -> int:
    """The code at which a rounding saturates: the largest number, or under `Rounding.GUARD_HALF_UP` the all-ones
    fraction of the last but one exponent field.
    """
    if rounding is Rounding.GUARD_HALF_UP and element.kind is Kind.FLOAT:
        return element.inf_field - 1
    return element.max_code


def encode_magnitudes(
    y: np.ndarray, numerics: Encode, buffers: ScratchBuffers, codes: np.ndarray, random: RandomBits | None
) -> None:
    """Write the codes of scaled magnitudes: (n,) float32, not above ``buffers.limit`` -> (n,) ``codes``.

    The element is a floating-point format. ``y`` is overwritten; ``random`` is for `Rounding.SR`.
    """
    element = cast(FloatFormat, numerics.block.element)
    rounding, subnormals = numerics.rounding, numerics.element_subnormals
    if rounding is Rounding.GUARD_HALF_UP:
        _guard_half_up(y, element, subnormals, buffers, codes)
        return
    if rounding is Rounding.RNE and element.man_bits > 0:
        _nearest_even(y, element, buffers, codes)
    else:
        error, step = _nearest_even(y, element, buffers, codes, with_error=True)
        CORRECTIONS[rounding](error, step, codes, random)
    if subnormals is Subnormals.FLUSH:
        np.multiply(codes, codes >= 1 << element.man_bits, out=codes)


def _nearest_even(
    y: np.ndarray, element: FloatFormat, buffers: ScratchBuffers, codes: np.ndarray, with_error: bool = False
) -> tuple[np.ndarray, np.ndarray]:
    """Write codes to nearest, ties to even. With ``with_error`` the result is the part cut off (negative: added) and
    the step, both (n,) float32; otherwise the contents of the two arrays are undefined.

    Let E be the exponent of y, at least emin. The sum y + 2**(E + 23 - man_bits) holds q = round(y / step) in its low
    bits. The code is q + ((E - emin) << man_bits): the hidden bit of q adds the missing one to the exponent field, and
    a q that was rounded up to the next power of two carries into it. The low bits suffice, so the arithmetic continues
    in the narrow dtype. The error is exact: it is the difference of two float32 numbers less than a step apart.
    """
    power, total, narrow = buffers.power[: y.size], buffers.total[: y.size], buffers.narrow[: y.size]
    shift = 23 - element.man_bits
    np.bitwise_and(y.view(np.uint32), INFINITY, out=power)  # the exponent field
    np.maximum(power, buffers.smallest_normal[: y.size], out=power)
    np.add(power, np.uint32(shift << 23), out=power)
    two, sum = power.view(np.float32), total.view(np.float32)
    np.add(y, two, out=sum)
    np.copyto(codes, total, casting="unsafe")
    if with_error:
        np.subtract(sum, two, out=sum)
        np.subtract(y, sum, out=y)
        np.multiply(two, np.float32(2.0**-23), out=sum)
    np.right_shift(power, np.uint32(shift), out=power)
    np.copyto(narrow, power, casting="unsafe")
    np.add(codes, narrow, out=codes)
    offset = ((element.emin + FP32.bias + shift) << element.man_bits) % (1 << 8 * codes.itemsize)
    np.subtract(codes, codes.dtype.type(offset), out=codes)
    return y, sum


def _even_code(error: np.ndarray, step: np.ndarray, codes: np.ndarray, random: RandomBits | None) -> None:
    """Ties to the even code, for formats without fraction bits: there the tie went up to the even number of steps,
    but the even code may be the one below.
    """
    np.subtract(codes, (error == step * np.float32(-0.5)) & (codes & 1 == 1), out=codes)


def _away_from_zero(error: np.ndarray, step: np.ndarray, codes: np.ndarray, random: RandomBits | None = None) -> None:
    """To nearest, ties away from zero: codes of ties that were rounded down become one larger."""
    np.multiply(step, np.float32(0.5), out=step)
    np.add(codes, error == step, out=codes)


def _ties_toward_zero(error: np.ndarray, step: np.ndarray, codes: np.ndarray, random: RandomBits | None) -> None:
    """To nearest, ties toward zero: codes of ties that were rounded up become one smaller."""
    np.multiply(step, np.float32(-0.5), out=step)
    np.subtract(codes, error == step, out=codes)


def _toward_zero(error: np.ndarray, step: np.ndarray, codes: np.ndarray, random: RandomBits | None) -> None:
    """Toward zero: codes that were rounded up become one smaller. A carry of random bits makes them one larger."""
    went_up = error < 0
    np.subtract(codes, went_up, out=codes)
    if random is not None:
        part = np.divide(error, step, out=error)
        np.add(part, went_up, out=part)  # exact: a number that went up is at least half a step
        np.add(codes, carries(part, random), out=codes)


CORRECTIONS = {
    Rounding.RNE: _even_code,
    Rounding.RNA: _away_from_zero,
    Rounding.RTZ: _toward_zero,
    Rounding.SR: _toward_zero,
    Rounding.RNZ: _ties_toward_zero,
}
"""Corrections of codes to nearest even, from the rounding error and the step. `Rounding.GUARD_HALF_UP` is a function of
its own.
"""


def carries(part: np.ndarray, random: RandomBits) -> np.ndarray:
    """Mask of the random bits that carry into the last place.

    ``part``, the part of a step that was cut off, is overwritten. It is cut to the width of the random bits, which
    makes the sum exact in float32.
    """
    whole = np.float32(1 << random.width)
    np.floor(np.multiply(part, whole, out=part), out=part)
    return np.add(part, random.numbers, out=part) >= whole


def _guard_half_up(
    y: np.ndarray, element: FloatFormat, subnormals: Subnormals, buffers: ScratchBuffers, codes: np.ndarray
) -> None:
    """Codes under the FPGA paper's recipe (section III.C), saturated at its own largest code.

    Rounding half up on the bit below the fraction is an addition to the bit pattern of y. Exponent field 0 keeps the
    unshifted fraction, and smaller numbers become 0. With exact subnormals both are rounded on the subnormal grid.
    """
    if subnormals is Subnormals.EXACT:
        error, step = _nearest_even(y, element, buffers, codes, with_error=True)
        _away_from_zero(error, step, codes)
    else:
        total, zero_field = buffers.total[: y.size], np.uint32((FP32.bias - element.bias) << 23)
        np.maximum(y.view(np.uint32), zero_field, out=total)
        np.subtract(total, zero_field, out=total)
        np.add(total, np.uint32(1 << (22 - element.man_bits)), out=total)
        np.right_shift(total, np.uint32(23 - element.man_bits), out=total)
        np.copyto(codes, total, casting="unsafe")
    np.minimum(codes, codes.dtype.type(largest_code(element, Rounding.GUARD_HALF_UP)), out=codes)
