"""Blocks that hold NaN or Inf: what becomes of their scale and their codes."""

from __future__ import annotations

import numpy as np

from ..spec import Numerics, Specials
from .amax import INFINITY
from .element import encode, give_signs
from .workspace import Workspace

__all__ = ["special_blocks"]


def special_blocks(magnitudes: np.ndarray, bits: np.ndarray, scales: np.ndarray, codes: np.ndarray, numerics: Numerics,
                   random: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    """Scales (n,) uint8 and codes (n, block_size) of blocks that hold NaN or Inf, given those without it.

    ``magnitudes`` and ``bits`` are the patterns without and with sign, (n, block_size) uint32.
    """
    if numerics.specials is Specials.NAN_BLOCK:
        return np.full_like(scales, 0xFF), np.full_like(codes, numerics.block.element.nan_code or 0)
    if numerics.specials is Specials.INF_SCALE:
        return _signal_codes(magnitudes.max(axis=1), bits, codes, numerics)
    if numerics.specials is Specials.TE:
        return scales, _replaced(magnitudes, bits, codes, numerics)
    if numerics.specials is not Specials.DROP:
        raise ValueError(f"no model of the specials {numerics.specials}")
    return scales, _with_dropped(magnitudes, bits, scales, codes, numerics, random)


def _signal_codes(amax: np.ndarray, bits: np.ndarray, codes: np.ndarray, numerics: Numerics) -> tuple[np.ndarray, np.ndarray]:
    element = numerics.block.element
    is_nan = amax > INFINITY  # a NaN pattern is above that of Inf, so the maximum tells
    magnitude = np.where(is_nan, np.uint32(element.signal_nan_code), np.uint32(element.signal_inf_code))
    codes[...] = magnitude[:, None]
    give_signs(codes, bits, element)
    return np.where(is_nan, 0xFF, 0xFE).astype(np.uint8), codes


def _replaced(magnitudes: np.ndarray, bits: np.ndarray, codes: np.ndarray, numerics: Numerics) -> np.ndarray:
    """``codes`` with NaN and Inf inputs put in: NaN without sign, Inf as the largest number of its sign."""
    element = numerics.block.element
    infinite = magnitudes == INFINITY
    largest = np.full(np.count_nonzero(infinite), element.max_code, codes.dtype)
    give_signs(largest, bits[infinite], element)
    codes[infinite] = largest
    codes[magnitudes > INFINITY] = element.max_code if element.nan_code is None else element.nan_code
    return codes


def _with_dropped(magnitudes: np.ndarray, bits: np.ndarray, scales: np.ndarray, codes: np.ndarray, numerics: Numerics,
                  random: np.ndarray | None) -> np.ndarray:
    """``codes`` with those of Inf and NaN inputs, read as numbers of exponent 128, put in."""
    where = magnitudes >= INFINITY
    exponent = 127.0 - np.repeat(scales, where.sum(axis=1))
    significand = 1 + (magnitudes[where] & np.uint32(0x7FFFFF)) * 2.0 ** -23
    # beyond float32: scaled in double precision, which is exact, and cut to what is beyond the format
    y = np.ldexp(significand, (exponent + 128).astype(np.int32))
    y = np.minimum(y, 2.0 ** (numerics.block.element.emax + 2)).astype(np.float32)
    new = np.empty(y.size, codes.dtype)
    encode(y, bits[where], numerics, Workspace(y.size, numerics), new, None if random is None else random[where])
    codes[where] = new
    return codes
