"""Tensors in pieces of whole blocks: rows of the last axis, or parts of one row, never the whole tensor at once."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from ..models import Quantized, Statistics, dequantize, error_statistics, quantize_blocks
from ..spec import Numerics
from .containers import Stored

__all__ = ["codes_and_scales_shapes", "float_blocks", "quantize_tensor", "dequantize_tensor"]

CHUNK = 1 << 18
"""Elements at a time: enough to hide what a piece costs, few enough for the caches."""

Shape = tuple[int, ...]


def codes_and_scales_shapes(shape: Shape, block_size: int) -> tuple[Shape, Shape]:
    """Shapes of the codes and scales of a tensor whose last axis is completed to whole blocks.

    >>> codes_and_scales_shapes((3, 40), 32)
    ((3, 64), (3, 2))
    """
    *leading, last = shape
    blocks = -(-last // block_size)
    return (*leading, blocks * block_size), (*leading, blocks)


def float_blocks(stored: Stored, block_size: int) -> Iterator[np.ndarray]:
    """The float32 blocks (n, block_size) of a tensor, the last of each row completed with zeros."""
    rows = stored.data.reshape(_as_rows(stored.shape, block_size))
    for piece in _pieces(rows.shape, block_size):
        yield _complete(_widened(rows[piece], stored.dtype), block_size)


def quantize_tensor(stored: Stored, numerics: Numerics, codes: np.ndarray, scales: np.ndarray) -> Iterator[Statistics]:
    """Fill the flat arrays ``codes`` and ``scales``; yields the statistics of each piece when it is done."""
    size = numerics.block_size
    rows = stored.data.reshape(_as_rows(stored.shape, size))
    codes_shape, scales_shape = codes_and_scales_shapes(rows.shape, size)
    codes, scales = codes.reshape(codes_shape), scales.reshape(scales_shape)
    for piece in _pieces(rows.shape, size):
        x = _widened(rows[piece], stored.dtype)
        q = _cut(piece, codes, scales, numerics, x.shape[-1])
        quantize_blocks(_complete(x, size), numerics, q.scales.reshape(-1), q.codes.reshape(-1, size))
        yield error_statistics(x, q)


def dequantize_tensor(shape: Shape, numerics: Numerics, codes: np.ndarray, scales: np.ndarray,
                      values: np.ndarray) -> Iterator[int]:
    """Fill the flat float32 array ``values`` of a tensor of this shape; yields the elements of each piece when done."""
    size = numerics.block_size
    values = values.reshape(_as_rows(shape, size))
    codes_shape, scales_shape = codes_and_scales_shapes(values.shape, size)
    codes, scales = codes.reshape(codes_shape), scales.reshape(scales_shape)
    for piece in _pieces(values.shape, size):
        part = values[piece]
        part[...] = dequantize(_cut(piece, codes, scales, numerics, part.shape[-1]))
        yield part.size


def _as_rows(shape: Shape, block_size: int) -> Shape:
    """(rows, columns) such that blocks lie within a row: one row only, where no block of the tensor is incomplete."""
    count, last = math.prod(shape), shape[-1]
    return (1, count) if last % block_size == 0 or not count else (count // last, last)


def _pieces(shape: Shape, block_size: int) -> Iterator[tuple[slice, slice]]:
    """Slices of (rows, columns): some whole rows at a time, or whole blocks of one row.

    Either is contiguous in the tensor, in its codes and in its scales.
    """
    rows, columns = shape
    height, width = max(1, CHUNK // max(columns, 1)), CHUNK // block_size * block_size
    for row in range(0, rows, height):
        for column in range(0, columns, width):
            yield slice(row, min(row + height, rows)), slice(column, min(column + width, columns))


def _cut(piece: tuple[slice, slice], codes: np.ndarray, scales: np.ndarray, numerics: Numerics, length: int) -> Quantized:
    """The blocks of a piece, ``length`` elements of each row being those of the tensor; views, to be filled or read."""
    rows, columns = piece
    first, blocks = columns.start // numerics.block_size, -(-length // numerics.block_size)
    return Quantized(scales=scales[rows, first:first + blocks], numerics=numerics, length=length,
                     codes=codes[rows, columns.start:columns.start + blocks * numerics.block_size])


def _widened(part: np.ndarray, dtype: str) -> np.ndarray:
    """float32 numbers, exactly, in the machine's byte order and alignment."""
    if dtype == "BF16":
        return (part.astype(np.uint32) << np.uint32(16)).view(np.float32)  # the upper half of an FP32
    return np.require(part, np.float32, ["C", "A"])


def _complete(x: np.ndarray, block_size: int) -> np.ndarray:
    """Blocks (n, block_size) of rows (rows, columns), the last of each row completed with zeros."""
    if x.shape[-1] % block_size:
        x = np.pad(x, ((0, 0), (0, -x.shape[-1] % block_size)))
    return x.reshape(-1, block_size)
