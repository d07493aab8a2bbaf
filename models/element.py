"""From source numbers and the scale of their block to element codes."""

from __future__ import annotations

import numpy as np

from ..spec import FixedFormat, Numerics, Rounding
from .rounding import RandomBits, Workspace, carries, encode_magnitudes, largest_code

__all__ = ["encode", "signed_codes", "code_dtype", "element_values", "largest_value"]


def encode(y: np.ndarray, bits: np.ndarray, numerics: Numerics, workspace: Workspace, codes: np.ndarray,
           random: np.ndarray | None = None) -> None:
    """Write the codes of scaled magnitudes: (n,) float32 ``y``, overwritten -> (n,) unsigned ``codes``.

    ``bits`` are the source patterns (n,) uint32, of which only the sign is looked at; ``random`` are the random bits
    of each element, (n,) unsigned, under `Rounding.SR`.
    """
    element = numerics.block.element
    added = None if random is None else RandomBits(random, numerics.random_bits)
    if isinstance(element, FixedFormat):
        magnitudes = _fixed_magnitudes(y, element, numerics.rounding, workspace, added)
    else:
        magnitudes = encode_magnitudes(y, element, numerics.rounding, numerics.element_subnormals, workspace, added)
    signed_codes(magnitudes, bits, element, codes)


def _fixed_magnitudes(y: np.ndarray, element: FixedFormat, rounding: Rounding, workspace: Workspace,
                      random: RandomBits | None) -> np.ndarray:
    """Magnitudes of fixed-point codes, saturated: (n,) float32 -> (n,) uint32 in a buffer of ``workspace``."""
    magnitudes, whole, _ = workspace.take(y.size)
    np.minimum(y, np.float32(element.max_value), out=y)
    np.multiply(y, np.float32(2.0 ** element.frac_bits), out=y)
    if rounding in (Rounding.GUARD_HALF_UP, Rounding.RNA):  # the bit below the last place decides in both
        np.multiply(y, np.float32(2), out=y)
        np.copyto(magnitudes, y, casting="unsafe")  # truncates: what is left below is the guard bit
        np.add(magnitudes, np.uint32(1), out=magnitudes)
        return np.right_shift(magnitudes, np.uint32(1), out=magnitudes)
    if rounding in (Rounding.RTZ, Rounding.SR):
        np.copyto(magnitudes, y, casting="unsafe")  # truncates
        if random is not None:
            whole = whole.view(np.float32)
            np.subtract(y, np.trunc(y, out=whole), out=y)
            np.add(magnitudes, carries(y, random), out=magnitudes)
        return magnitudes
    np.add(y, np.float32(2.0 ** 23), out=magnitudes.view(np.float32))  # the machine's addition rounds to even
    return np.bitwise_and(magnitudes, np.uint32(0x7FFFFF), out=magnitudes)


def signed_codes(magnitudes: np.ndarray, bits: np.ndarray, element, codes: np.ndarray) -> None:
    """Give magnitudes (n,) uint32 the signs of ``bits`` (n,) uint32 and write them to ``codes`` (n,) uint8 or uint16."""
    np.copyto(codes, magnitudes, casting="unsafe")
    if isinstance(element, FixedFormat):
        sign = (bits >> np.uint32(31)).astype(codes.dtype)
        np.subtract(codes, sign, out=codes)  # -c is ~(c - 1), and ~ is an exclusive or with all ones
        np.bitwise_xor(codes, np.negative(sign, out=sign), out=codes)
        if element.bits < 8 * codes.itemsize:
            np.bitwise_and(codes, codes.dtype.type((1 << element.bits) - 1), out=codes)
    else:
        sign = (bits >> np.uint32(32 - element.bits)).astype(codes.dtype)
        np.bitwise_and(sign, codes.dtype.type(element.sign_mask), out=sign)
        np.bitwise_or(codes, sign, out=codes)


def code_dtype(element) -> np.dtype:
    """The dtype of right-aligned codes: uint8, or uint16 where they have more than eight bits."""
    return np.dtype(np.uint8 if element.bits <= 8 else np.uint16)


def largest_value(numerics: Numerics) -> float:
    """The largest magnitude that an element can become."""
    element = numerics.block.element
    code = element.max_code if isinstance(element, FixedFormat) else largest_code(element, numerics.rounding)
    return float(element_values(element)[code])


def element_values(element) -> np.ndarray:
    """The value of every code: (2**bits,) float32, from the definition of the format."""
    codes = np.arange(1 << element.bits, dtype=np.int64)
    if isinstance(element, FixedFormat):
        signed = np.where(codes > element.max_code, codes - (1 << element.bits), codes)
        return (signed * 2.0 ** -element.frac_bits).astype(np.float32)
    field = (codes & element.magnitude_mask) >> element.man_bits
    fraction = codes & ((1 << element.man_bits) - 1)
    significand = np.where(field > 0, (1 << element.man_bits) + fraction, fraction)
    values = np.ldexp(significand.astype(np.float64), np.maximum(field, 1) - element.bias - element.man_bits)
    magnitude = codes & element.magnitude_mask
    if element.nan_code is not None:
        values[magnitude > element.max_code] = np.nan
    if element.specials == "ieee":
        values[magnitude == element.signal_inf_code] = np.inf
    values[codes >= element.sign_mask] *= -1
    return values.astype(np.float32)
