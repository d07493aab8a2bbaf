"""Scales and codes of blocks with NaN or Inf."""

from __future__ import annotations

import numpy as np

from ...spec import E8M0, Encode, Specials, signal_codes
from ..arrays.scratch_buffers import ScratchBuffers
from ..arrays.source import FRACTION, INFINITY
from .element import encode, give_signs


def special_blocks(
    magnitudes: np.ndarray,
    bits: np.ndarray,
    scales: np.ndarray,
    codes: np.ndarray,
    numerics: Encode,
    random: np.ndarray | None,
) -> tuple[np.ndarray, np.ndarray]:
    """Scales (n,) uint8 and codes (n, block_size) of blocks with NaN or Inf.

    ``scales`` and ``codes`` belong to the same blocks with zeros in place of NaN and Inf; ``magnitudes`` and ``bits``
    are the patterns without and with sign, (n, block_size) uint32. ``codes`` may be overwritten.
    """
    return SPECIALS[numerics.specials](magnitudes, bits, scales, codes, numerics, random)


def _nan_block(
    magnitudes: np.ndarray,
    bits: np.ndarray,
    scales: np.ndarray,
    codes: np.ndarray,
    numerics: Encode,
    random: np.ndarray | None,
) -> tuple[np.ndarray, np.ndarray]:
    return np.full_like(scales, numerics.block.scale.nan_code), np.full_like(
        codes, numerics.block.element.nan_code or 0
    )


def _inf_scale(
    magnitudes: np.ndarray,
    bits: np.ndarray,
    scales: np.ndarray,
    codes: np.ndarray,
    numerics: Encode,
    random: np.ndarray | None,
) -> tuple[np.ndarray, np.ndarray]:
    element, scale = numerics.block.element, numerics.block.scale
    is_nan = magnitudes.max(axis=1) > INFINITY  # NaN patterns are above Inf
    inf, nan = signal_codes(element)
    codes[...] = np.where(is_nan, np.uint32(nan), np.uint32(inf))[:, None]
    give_signs(codes, bits, element)
    new = np.full_like(scales, scale.max_code)
    new[is_nan] = scale.nan_code
    return new, codes


def _te(
    magnitudes: np.ndarray,
    bits: np.ndarray,
    scales: np.ndarray,
    codes: np.ndarray,
    numerics: Encode,
    random: np.ndarray | None,
) -> tuple[np.ndarray, np.ndarray]:
    """NaN inputs become the positive NaN, Inf inputs the largest number of their sign."""
    element = numerics.block.element
    infinite = magnitudes == INFINITY
    largest = np.full(np.count_nonzero(infinite), element.max_code, codes.dtype)
    give_signs(largest, bits[infinite], element)
    codes[infinite] = largest
    codes[magnitudes > INFINITY] = element.max_code if element.nan_code is None else element.nan_code
    return scales, codes


def _drop(
    magnitudes: np.ndarray,
    bits: np.ndarray,
    scales: np.ndarray,
    codes: np.ndarray,
    numerics: Encode,
    random: np.ndarray | None,
) -> tuple[np.ndarray, np.ndarray]:
    """Inf and NaN inputs are encoded as numbers of exponent 128."""
    where = magnitudes >= INFINITY
    exponent = float(E8M0.bias) - np.repeat(scales, where.sum(axis=1))
    significand = 1 + (magnitudes[where] & FRACTION) * 2.0**-23
    # beyond float32: scale exactly in double precision, and limit to a value beyond the format
    y = np.ldexp(significand, (exponent + 128).astype(np.int32))
    y = np.minimum(y, 2.0 ** (numerics.block.element.emax + 2)).astype(np.float32)
    new = np.empty(y.size, codes.dtype)
    encode(y, bits[where], numerics, ScratchBuffers(y.size, numerics), new, None if random is None else random[where])
    codes[where] = new
    return scales, codes


SPECIALS = {Specials.NAN_BLOCK: _nan_block, Specials.TE: _te, Specials.INF_SCALE: _inf_scale, Specials.DROP: _drop}
