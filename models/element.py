"""From source numbers and the scale of their block to element codes."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from ..spec import Kind, NumberFormat, Numerics, Rounding
from .rounding import RandomBits, carries, encode_magnitudes, largest_code
from .workspace import Workspace, code_dtype

__all__ = ["code_dtype", "element_values", "encode", "give_signs", "largest_value"]


def encode(
    y: np.ndarray,
    bits: np.ndarray,
    numerics: Numerics,
    workspace: Workspace,
    codes: np.ndarray,
    random: np.ndarray | None = None,
) -> None:
    """Write the codes of scaled magnitudes: (n,) float32 ``y``, overwritten -> (n,) unsigned ``codes``.

    ``bits`` are the source patterns (n,) uint32, of which only the sign is looked at; ``random`` are the random bits
    of each element, (n,) unsigned, under `Rounding.SR`.
    """
    element = numerics.block.element
    added = None if random is None else RandomBits(random, numerics.random_bits)
    np.minimum(y, workspace.limit[: y.size], out=y)
    MAGNITUDES[element.kind](y, numerics, workspace, codes, added)
    give_signs(codes, bits, element, workspace.flags[: y.size])


def _fixed_magnitudes(
    y: np.ndarray, numerics: Numerics, workspace: Workspace, codes: np.ndarray, random: RandomBits | None
) -> None:
    """Write the magnitudes of fixed-point codes: (n,) float32, not above the largest -> (n,) ``codes``."""
    element = numerics.block.element
    total = workspace.total[: y.size]
    sum = total.view(np.float32)
    np.multiply(y, np.float32(2.0**element.frac_bits), out=y)
    FIXED_ROUNDINGS[numerics.rounding](y, sum, total, codes, random)


def _nearest_even(
    y: np.ndarray, sum: np.ndarray, total: np.ndarray, codes: np.ndarray, random: RandomBits | None
) -> None:
    np.add(y, np.float32(2.0**23), out=sum)  # the machine's addition rounds to even
    np.copyto(codes, total, casting="unsafe")


def _half_up(y: np.ndarray, sum: np.ndarray, total: np.ndarray, codes: np.ndarray, random: RandomBits | None) -> None:
    np.multiply(y, np.float32(2), out=y)
    np.copyto(total, y, casting="unsafe")  # truncates: what is left below is the guard bit
    np.add(total, np.uint32(1), out=total)
    np.copyto(codes, np.right_shift(total, np.uint32(1), out=total), casting="unsafe")


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
}
"""Magnitudes ``y`` in units of the last place to ``codes``; ``sum`` is the memory of ``total`` as float32."""

MAGNITUDES = {Kind.FLOAT: encode_magnitudes, Kind.FIXED: _fixed_magnitudes}


def give_signs(codes: np.ndarray, bits: np.ndarray, element: NumberFormat, flags: np.ndarray | None = None) -> None:
    """Turn magnitudes into codes, in place, by the signs of ``bits``: (n,) uint8 or uint16 and (n,) uint32.

    ``flags`` (n,) bool is written to, if given, instead of fresh memory.
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


def largest_value(numerics: Numerics) -> float:
    """The largest magnitude that an element can become."""
    element = numerics.block.element
    return float(element_values(element)[largest_code(element, numerics.rounding)])


@lru_cache(maxsize=64)
def element_values(element: NumberFormat) -> np.ndarray:
    """The value of every code: (2**bits,) float32, read-only, from the definition of the format."""
    values = np.empty(1 << element.bits, np.float32)
    for code in range(values.size):
        number = element.decode(code)
        magnitude = float(number.magnitude if number.kind == "finite" else number.kind)
        values[code] = -magnitude if number.negative else magnitude
    values.flags.writeable = False
    return values
