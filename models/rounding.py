"""Rounding of non-negative float32 numbers to the grid of an element format.

The one primitive is the correctly rounded float32 addition of the machine (IEEE 754 roundTiesToEven): adding to ``y``
the power of two whose last bit weighs one grid step leaves ``y`` in whole steps, rounded to nearest even, in the low
bits of the sum. Other roundings look at the error that this one made, which is exact.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..spec import FloatFormat, Kind, NumberFormat, Numerics, Rounding, Subnormals
from .workspace import Workspace

__all__ = ["RandomBits", "carries", "encode_magnitudes", "largest_code"]

EXPONENT = np.uint32(0x7F800000)


class RandomBits(NamedTuple):
    """Random numbers of ``width`` bits: (n,) unsigned."""

    numbers: np.ndarray
    width: int


def largest_code(element: NumberFormat, rounding: Rounding) -> int:
    """The code at which a rounding saturates: that of the largest number, or for the FPGA paper's recipe the all-ones
    fraction under the last but one exponent field."""
    if rounding is Rounding.GUARD_HALF_UP and element.kind is Kind.FLOAT:
        return element.inf_field - 1
    return element.max_code


def encode_magnitudes(
    y: np.ndarray, numerics: Numerics, workspace: Workspace, codes: np.ndarray, random: RandomBits | None
) -> None:
    """Write the codes of scaled magnitudes: (n,) float32, not above the workspace's ``limit`` -> (n,) ``codes``.

    ``y`` is overwritten; ``random`` is for `Rounding.SR`.
    """
    element, rounding, subnormals = numerics.block.element, numerics.rounding, numerics.element_subnormals
    if rounding is Rounding.GUARD_HALF_UP:
        return _guard_half_up(y, element, subnormals, workspace, codes)
    if rounding is Rounding.RNE and element.man_bits > 0:
        _nearest_even(y, element, workspace, codes)
    else:
        CORRECTIONS[rounding](*_nearest_even(y, element, workspace, codes, with_error=True), codes, random)
    if subnormals is Subnormals.FLUSH:
        np.multiply(codes, codes >= 1 << element.man_bits, out=codes)


def _nearest_even(
    y: np.ndarray, element: FloatFormat, workspace: Workspace, codes: np.ndarray, with_error: bool = False
) -> tuple[np.ndarray, np.ndarray] | None:
    """Write codes to nearest and ties to even; ``with_error`` gives what that cut off (negative: added) and the step.

    With E the exponent of y, not below emin, the sum y + 2**(E + 23 - man_bits) holds q = round(y / step) in its low
    bits, and the code is q plus (E - emin) << man_bits: the hidden one of q supplies the missing one of the exponent
    field, and a q that has grown to the next power of two carries into it. All of it fits the low bits of a code, so
    the arithmetic goes on in the narrow dtype. The error, a difference of two numbers of one grid finer than float32's,
    less than a step apart, is exact.
    """
    power, total, narrow = workspace.power[: y.size], workspace.total[: y.size], workspace.narrow[: y.size]
    shift = 23 - element.man_bits
    np.bitwise_and(y.view(np.uint32), EXPONENT, out=power)
    np.maximum(power, workspace.smallest_normal[: y.size], out=power)
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
    offset = ((element.emin + 127 + shift) << element.man_bits) % (1 << 8 * codes.itemsize)
    np.subtract(codes, codes.dtype.type(offset), out=codes)
    return (y, sum) if with_error else None


def _even_code(error: np.ndarray, step: np.ndarray, codes: np.ndarray, random: RandomBits | None) -> None:
    """Without a fraction steps are powers of two: a tie went up to two steps, but the even code may be below."""
    np.subtract(codes, (error == step * np.float32(-0.5)) & (codes & 1 == 1), out=codes)


def _away_from_zero(error: np.ndarray, step: np.ndarray, codes: np.ndarray, random: RandomBits | None = None) -> None:
    """To nearest and ties away from zero: one more after a tie went down."""
    np.multiply(step, np.float32(0.5), out=step)
    np.add(codes, error == step, out=codes)


def _toward_zero(error: np.ndarray, step: np.ndarray, codes: np.ndarray, random: RandomBits | None) -> None:
    """One less where to nearest even went up; with random bits, one more where they carry."""
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
}
"""What each rounding changes in codes to nearest even, by the error that was made and the step.
`Rounding.GUARD_HALF_UP` is no correction of them.
"""


def carries(part: np.ndarray, random: RandomBits) -> np.ndarray:
    """Do random bits, added below the last place, carry into it? ``part`` of a step is cut to as many bits, which is
    exact where their sum in float32 would not be, and is overwritten."""
    whole = np.float32(1 << random.width)
    np.floor(np.multiply(part, whole, out=part), out=part)
    return np.add(part, random.numbers, out=part) >= whole


def _guard_half_up(
    y: np.ndarray, element: FloatFormat, subnormals: Subnormals, workspace: Workspace, codes: np.ndarray
) -> None:
    """Codes under the FPGA paper's recipe (section III.C), saturated at its own largest code.

    In the binade of y, half up on the bit below the fraction is an addition to the bit pattern. An exponent field
    of 0 keeps the unshifted fraction, and everything below it is 0; with exact subnormals both are rounded properly.
    """
    if subnormals is Subnormals.EXACT:
        _away_from_zero(*_nearest_even(y, element, workspace, codes, with_error=True), codes)
    else:
        total, zero_field = workspace.total[: y.size], np.uint32((127 - element.bias) << 23)
        np.maximum(y.view(np.uint32), zero_field, out=total)
        np.subtract(total, zero_field, out=total)
        np.add(total, np.uint32(1 << (22 - element.man_bits)), out=total)
        np.right_shift(total, np.uint32(23 - element.man_bits), out=total)
        np.copyto(codes, total, casting="unsafe")
    np.minimum(codes, codes.dtype.type(largest_code(element, Rounding.GUARD_HALF_UP)), out=codes)
