"""Rounding of non-negative float32 numbers to the grid of an element format.

The one primitive is the correctly rounded float32 addition of the machine (IEEE 754 roundTiesToEven): adding to ``y``
the power of two whose last bit weighs one grid step leaves ``y`` in whole steps, rounded to nearest even, in the low
bits of the sum. Other roundings look at the error that this one made, which is exact.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..spec import FloatFormat, Rounding, Subnormals

__all__ = ["RandomBits", "Workspace", "carries", "encode_magnitudes", "largest_code"]

EXPONENT = np.uint32(0x7F800000)


class Workspace:
    """Three uint32 buffers of one chunk, and their float32 views, to be used again for every chunk."""

    def __init__(self, size: int) -> None:
        self.u = [np.empty(size, np.uint32) for _ in range(3)]

    def take(self, size: int) -> tuple[np.ndarray, ...]:
        """The first ``size`` elements of each buffer."""
        return tuple(buffer[:size] for buffer in self.u)


class RandomBits(NamedTuple):
    """Random numbers of ``width`` bits: (n,) unsigned."""

    numbers: np.ndarray
    width: int


def encode_magnitudes(y: np.ndarray, element: FloatFormat, rounding: Rounding, subnormals: Subnormals,
                      workspace: Workspace, random: RandomBits | None = None) -> np.ndarray:
    """Codes of scaled magnitudes: (n,) float32, 0 <= y < 2**100 -> (n,) uint32 in a buffer of ``workspace``.

    ``y`` is overwritten; ``random`` is for `Rounding.SR`. Saturates at the largest finite code.
    """
    if rounding is Rounding.GUARD_HALF_UP:
        return _guard_half_up(y, element, subnormals, workspace)
    if rounding is Rounding.RNE:
        codes = _nearest_even(y, element, workspace)
        if element.man_bits == 0:  # steps are powers of two: a tie went up to two steps, but the even code may be below
            error, step = _error(y, element, workspace)
            np.subtract(codes, (error == step * np.float32(-0.5)) & (codes & 1 == 1), out=codes)
    elif rounding is Rounding.RNA:
        codes = _nearest_away(y, element, workspace)
    else:
        codes = _toward_zero(y, element, workspace, random)
    np.minimum(codes, np.uint32(largest_code(element, rounding)), out=codes)
    if subnormals is Subnormals.FLUSH:
        np.multiply(codes, codes >= np.uint32(1 << element.man_bits), out=codes)
    return codes


def largest_code(element: FloatFormat, rounding: Rounding) -> int:
    """The code at which a rounding saturates: that of the largest number, or for the FPGA paper's recipe the all-ones
    fraction under the last but one exponent field."""
    if rounding is Rounding.GUARD_HALF_UP:
        return (((1 << element.exp_bits) - 1) << element.man_bits) - 1
    return element.max_code


def _nearest_even(y: np.ndarray, element: FloatFormat, workspace: Workspace) -> np.ndarray:
    """Codes, to nearest and ties to even, not yet saturated.

    With E the exponent of y, not below emin, the sum y + 2**(E + 23 - man_bits) holds q = round(y / step) in its low
    bits, and the code is q plus (E - emin) << man_bits: the hidden one of q supplies the missing one of the exponent
    field, and a q that has grown to the next power of two carries into it.
    """
    exponent, total, _ = workspace.take(y.size)
    shift = 23 - element.man_bits
    np.bitwise_and(y.view(np.uint32), EXPONENT, out=exponent)
    np.maximum(exponent, np.uint32((element.emin + 127) << 23), out=exponent)
    np.add(exponent, np.uint32(shift << 23), out=exponent)
    np.add(y, exponent.view(np.float32), out=total.view(np.float32))
    np.subtract(total, exponent, out=total)
    np.right_shift(exponent, np.uint32(shift), out=exponent)
    np.add(total, exponent, out=total)
    return np.subtract(total, np.uint32((element.emin + 127 + shift) << element.man_bits), out=total)


def _error(y: np.ndarray, element: FloatFormat, workspace: Workspace) -> tuple[np.ndarray, np.ndarray]:
    """What `_nearest_even` cut off or, negative, added, and the grid step: float32, in the buffers that are not the codes'.

    The difference of two numbers of one grid finer than float32's, less than a step apart, is exact.
    """
    step, _, error = workspace.take(y.size)
    shift = 23 - element.man_bits
    np.bitwise_and(y.view(np.uint32), EXPONENT, out=step)
    np.maximum(step, np.uint32((element.emin + 127) << 23), out=step)
    np.add(step, np.uint32(shift << 23), out=step)
    step, error = step.view(np.float32), error.view(np.float32)
    np.add(y, step, out=error)
    np.subtract(error, step, out=error)
    np.multiply(step, np.float32(2.0 ** -23), out=step)
    return np.subtract(y, error, out=error), step


def _nearest_away(y: np.ndarray, element: FloatFormat, workspace: Workspace) -> np.ndarray:
    """Codes, to nearest and ties away from zero, not yet saturated: to even, and one more after a tie went down."""
    codes = _nearest_even(y, element, workspace)
    error, step = _error(y, element, workspace)
    np.multiply(step, np.float32(0.5), out=step)
    return np.add(codes, error == step, out=codes)


def _toward_zero(y: np.ndarray, element: FloatFormat, workspace: Workspace, random: RandomBits | None) -> np.ndarray:
    """Codes, not yet saturated: to even, and one less where that went up; with random bits, one more where they carry."""
    codes = _nearest_even(y, element, workspace)
    error, step = _error(y, element, workspace)
    went_up = error < 0
    np.subtract(codes, went_up, out=codes)
    if random is None:
        return codes
    np.add(error, step, out=error, where=went_up)  # exact: a number that went up is at least half a step
    return np.add(codes, carries(np.divide(error, step, out=error), random), out=codes)


def carries(part: np.ndarray, random: RandomBits) -> np.ndarray:
    """Do random bits, added below the last place, carry into it? ``part`` of a step is cut to as many bits, which is
    exact where their sum in float32 would not be, and is overwritten."""
    whole = np.float32(1 << random.width)
    np.floor(np.multiply(part, whole, out=part), out=part)
    return np.add(part, random.numbers, out=part) >= whole


def _guard_half_up(y: np.ndarray, element: FloatFormat, subnormals: Subnormals, workspace: Workspace) -> np.ndarray:
    """Codes under the FPGA paper's recipe (section III.C), saturated at its own largest code.

    In the binade of y, half up on the bit below the fraction is an addition to the bit pattern. An exponent field
    of 0 keeps the unshifted fraction, and everything below it is 0; with exact subnormals both are rounded properly.
    """
    last = np.uint32(largest_code(element, Rounding.GUARD_HALF_UP))
    if subnormals is Subnormals.EXACT:
        codes = _nearest_away(y, element, workspace)
    else:
        codes, _, _ = workspace.take(y.size)
        shift, zero_field = np.uint32(23 - element.man_bits), np.uint32((127 - element.bias) << 23)
        np.maximum(y.view(np.uint32), zero_field, out=codes)
        np.subtract(codes, zero_field, out=codes)
        np.add(codes, np.uint32(1 << (22 - element.man_bits)), out=codes)
        np.right_shift(codes, shift, out=codes)
    return np.minimum(codes, last, out=codes)
