"""From source numbers and the scale of their block to element codes."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from ..spec import ElementFormat, FixedFormat, Numerics, Rounding
from .rounding import RandomBits, carries, encode_magnitudes, largest_code
from .workspace import Workspace, code_dtype

__all__ = ["encode", "give_signs", "code_dtype", "element_values", "largest_value"]


def encode(y: np.ndarray, bits: np.ndarray, numerics: Numerics, workspace: Workspace, codes: np.ndarray,
           random: np.ndarray | None = None) -> None:
    """Write the codes of scaled magnitudes: (n,) float32 ``y``, overwritten -> (n,) unsigned ``codes``.

    ``bits`` are the source patterns (n,) uint32, of which only the sign is looked at; ``random`` are the random bits
    of each element, (n,) unsigned, under `Rounding.SR`.
    """
    element = numerics.block.element
    added = None if random is None else RandomBits(random, numerics.random_bits)
    np.minimum(y, workspace.limit[:y.size], out=y)
    if isinstance(element, FixedFormat):
        _fixed_magnitudes(y, element, numerics.rounding, workspace, codes, added)
    else:
        encode_magnitudes(y, element, numerics.rounding, numerics.element_subnormals, workspace, codes, added)
    give_signs(codes, bits, element, workspace.flags[:y.size])


def _fixed_magnitudes(y: np.ndarray, element: FixedFormat, rounding: Rounding, workspace: Workspace, codes: np.ndarray,
                      random: RandomBits | None) -> None:
    """Write the magnitudes of fixed-point codes: (n,) float32, not above the largest -> (n,) ``codes``."""
    total = workspace.total[:y.size]
    sum = total.view(np.float32)
    np.multiply(y, np.float32(2.0 ** element.frac_bits), out=y)
    if rounding is Rounding.RNE:
        np.add(y, np.float32(2.0 ** 23), out=sum)  # the machine's addition rounds to even
        np.copyto(codes, total, casting="unsafe")
    elif rounding in (Rounding.GUARD_HALF_UP, Rounding.RNA):  # the bit below the last place decides in both
        np.multiply(y, np.float32(2), out=y)
        np.copyto(total, y, casting="unsafe")  # truncates: what is left below is the guard bit
        np.add(total, np.uint32(1), out=total)
        np.copyto(codes, np.right_shift(total, np.uint32(1), out=total), casting="unsafe")
    elif rounding not in (Rounding.RTZ, Rounding.SR):
        raise ValueError(f"no model of the rounding {rounding}")
    else:
        np.copyto(codes, np.trunc(y, out=sum), casting="unsafe")
        if random is not None:
            np.subtract(y, sum, out=y)
            np.add(codes, carries(y, random), out=codes)


def give_signs(codes: np.ndarray, bits: np.ndarray, element: ElementFormat, flags: np.ndarray | None = None) -> None:
    """Turn magnitudes into codes, in place, by the signs of ``bits``: (n,) uint8 or uint16 and (n,) uint32.

    ``flags`` (n,) bool is written to, if given, instead of fresh memory.
    """
    negative = np.less(bits.view(np.int32), np.int32(0), out=flags).view(np.uint8).astype(codes.dtype, copy=False)
    if isinstance(element, FixedFormat):
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
    code = element.max_code if isinstance(element, FixedFormat) else largest_code(element, numerics.rounding)
    return float(element_values(element)[code])


@lru_cache(maxsize=64)
def element_values(element: ElementFormat) -> np.ndarray:
    """The value of every code: (2**bits,) float32, read-only, from the definition of the format."""
    codes = np.arange(1 << element.bits, dtype=np.int64)
    if isinstance(element, FixedFormat):
        signed = np.where(codes > element.max_code, codes - (1 << element.bits), codes)
        return _read_only(signed * 2.0 ** -element.frac_bits)
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
    return _read_only(values)


def _read_only(values: np.ndarray) -> np.ndarray:
    values = values.astype(np.float32)
    values.flags.writeable = False
    return values
