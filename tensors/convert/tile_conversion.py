"""Tiles of tensors to codes and scales, and back."""

from __future__ import annotations

import numpy as np

from ...models import Quantized, Statistics, dequantize, error_statistics, quantize_blocks, quantize_nvfp4, tensor_amax
from ...models.arrays.source import code_dtype
from ...spec import BF16, Encode, Nvfp4Encode
from ..containers.contents import Stored
from ..layouts.own_metadata import Parts
from .not_finite import NotFinite, not_finite
from .tiles import CHUNK, Tile, complete, numbers_of


def largest_magnitude(stored: Stored, numerics: Encode | Nvfp4Encode) -> float | None:
    """The largest magnitude of a tensor, as the order finds it; None for block formats without tensor scale."""
    if not isinstance(numerics, Nvfp4Encode) or numerics.block.tensor_scale is None:
        return None
    largest = np.float32(0)
    for start in range(0, stored.data.size, CHUNK):
        part = stored.data[start : start + CHUNK]
        numbers = np.require(part, part.dtype.newbyteorder("="), ["C", "A"])
        largest = np.maximum(largest, tensor_amax(numbers, numerics.order))  # which keeps NaN
        stored.release(start, part.size)
    return float(largest)


def quantize_tile(
    stored: Stored, tile: Tile, numerics: Encode | Nvfp4Encode, random: np.random.Generator | None, amax: float | None
) -> tuple[Quantized, Statistics]:
    """The blocks of a tile, and statistics of the errors; ``random`` draws the bits of stochastic rounding, and
    ``amax`` is the `largest_magnitude` of the tensor.
    """
    x = numbers_of(stored, tile)
    if isinstance(numerics, Nvfp4Encode):
        q = _nvfp4(x, numerics, random, amax)
    else:
        q = _mx(x, numerics, random)
    statistics = error_statistics(x, q)
    stored.release(tile.start(), x.size)
    return q, statistics


def _mx(x: np.ndarray, numerics: Encode, random: np.random.Generator | None) -> Quantized:
    blocks = complete(x, numerics.block_size)
    scales, codes = np.empty(len(blocks), np.uint8), np.empty(blocks.shape, code_dtype(numerics.block.element))
    drawn = None if random is None else random.integers(0, 1 << numerics.random_bits, blocks.shape, np.uint16)
    quantize_blocks(blocks, numerics, scales, codes, drawn)
    return Quantized(
        scales=scales.reshape(len(x), -1), codes=codes.reshape(len(x), -1), numerics=numerics, length=x.shape[1]
    )


def _nvfp4(x: np.ndarray, numerics: Nvfp4Encode, random: np.random.Generator | None, amax: float | None) -> Quantized:
    if x.dtype == np.uint16 and numerics.source != BF16:
        x = (x.astype(np.uint32) << np.uint32(16)).view(np.float32)
    return quantize_nvfp4(x, numerics, tensor_amax=amax, pad=True, random=random)


def dequantize_tile(parts: Parts, tile: Tile, numerics: Encode | Nvfp4Encode) -> tuple[np.ndarray, NotFinite]:
    """The float32 numbers (rows, columns) of a tile, and the counts of NaN and Inf."""
    (rows, columns), size = tile.size, numerics.block_size
    blocks = -(-columns // size)
    first, count = tile.start(size), rows * blocks
    q = Quantized(
        scales=parts.scales.data[first : first + count].reshape(rows, blocks),
        numerics=numerics,
        length=columns,
        codes=parts.codes.data[first * size : (first + count) * size].reshape(rows, blocks * size),
        tensor_scale=parts.tensor_scale,
    )
    values = dequantize(q)
    counts = not_finite(q, values)
    parts.codes.release(first * size, count * size)
    return values, counts
