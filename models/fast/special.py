"""Scales and codes of blocks with NaN or Inf."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ...spec import E8M0, Encode, Specials, signal_codes
from ..arrays.scratch_buffers import ScratchBuffers
from ..arrays.source import FRACTION, INFINITY
from .element import encode, give_signs


class SpecialBlocks(NamedTuple):
    """Blocks with NaN or Inf. The rules change ``scales`` and ``codes``, which may be overwritten."""

    magnitudes: np.ndarray
    bits: np.ndarray
    """Patterns without and with sign, (n, block_size) uint32."""
    scales: np.ndarray
    codes: np.ndarray
    """Scales (n,) uint8 and codes (n, block_size) of the blocks with zeros in place of NaN and Inf."""
    numerics: Encode
    random: np.ndarray | None


Result = tuple[np.ndarray, np.ndarray]
"""Scales (n,) uint8 and codes (n, block_size)."""


def _nan_block(blocks: SpecialBlocks) -> Result:
    block = blocks.numerics.block
    return np.full_like(blocks.scales, block.scale.nan_code), np.full_like(blocks.codes, block.element.nan_code or 0)


def _inf_scale(blocks: SpecialBlocks) -> Result:
    element, scale = blocks.numerics.block.element, blocks.numerics.block.scale
    is_nan = blocks.magnitudes.max(axis=1) > INFINITY  # NaN patterns are above Inf
    inf, nan = signal_codes(element)
    blocks.codes[...] = np.where(is_nan, np.uint32(nan), np.uint32(inf))[:, None]
    give_signs(blocks.codes, blocks.bits, element)
    scales = np.full_like(blocks.scales, scale.max_code)
    scales[is_nan] = scale.nan_code
    return scales, blocks.codes


def _te(blocks: SpecialBlocks) -> Result:
    """NaN inputs become the positive NaN, Inf inputs the largest number of their sign."""
    element, codes = blocks.numerics.block.element, blocks.codes
    infinite = blocks.magnitudes == INFINITY
    largest = np.full(np.count_nonzero(infinite), element.max_code, codes.dtype)
    give_signs(largest, blocks.bits[infinite], element)
    codes[infinite] = largest
    codes[blocks.magnitudes > INFINITY] = element.max_code if element.nan_code is None else element.nan_code
    return blocks.scales, codes


def _drop(blocks: SpecialBlocks) -> Result:
    """Inf and NaN inputs are encoded as numbers of exponent 128."""
    where, numerics = blocks.magnitudes >= INFINITY, blocks.numerics
    exponent = float(E8M0.bias) - np.repeat(blocks.scales, where.sum(axis=1))
    significand = 1 + (blocks.magnitudes[where] & FRACTION) * 2.0**-23
    # beyond float32: scale exactly in double precision, and limit to a value beyond the format
    y = np.ldexp(significand, (exponent + 128).astype(np.int32))
    y = np.minimum(y, 2.0 ** (numerics.block.element.emax + 2)).astype(np.float32)
    new = np.empty(y.size, blocks.codes.dtype)
    random = None if blocks.random is None else blocks.random[where]
    encode(y, blocks.bits[where], numerics, ScratchBuffers(y.size, numerics), new, random)
    blocks.codes[where] = new
    return blocks.scales, blocks.codes


SPECIALS: dict[Specials, Callable[[SpecialBlocks], Result]] = {
    Specials.NAN_BLOCK: _nan_block,
    Specials.TE: _te,
    Specials.INF_SCALE: _inf_scale,
    Specials.DROP: _drop,
}
