"""Tensors in tiles of whole blocks: some rows of the last axis, or a part of one row."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from ...models.arrays.source import widen
from ..containers.containers import Writer
from ..containers.contents import Stored

CHUNK = 1 << 18
"""Elements of a tile: enough to hide its overhead, few enough for the caches."""

Shape = tuple[int, ...]


@dataclass(frozen=True, kw_only=True)
class Tile:
    """Part of a tensor of ``shape`` (rows, columns) with blocks within rows. It is contiguous in the tensor, in its
    codes and in its scales.
    """

    shape: tuple[int, int]
    rows: slice
    columns: slice

    @property
    def size(self) -> tuple[int, int]:
        """Rows and columns of the tile itself."""
        return self.rows.stop - self.rows.start, self.columns.stop - self.columns.start

    def start(self, unit: int = 1) -> int:
        """The index of its first element, or of its first group of ``unit`` columns; the last group of a row is
        padded.
        """
        return self.rows.start * -(-self.shape[1] // unit) + self.columns.start // unit


def codes_and_scales_shapes(shape: Shape, block_size: int) -> tuple[Shape, Shape]:
    """Shapes of the codes and scales of a tensor whose last axis is padded to whole blocks.

    >>> codes_and_scales_shapes((3, 40), 32)
    ((3, 64), (3, 2))
    """
    *leading, last = shape
    blocks = -(-last // block_size)
    return (*leading, blocks * block_size), (*leading, blocks)


def tiles(shape: Shape, block_size: int) -> Iterator[Tile]:
    """All tiles of a tensor, in order: whole rows, or whole blocks of one row."""
    count, last = math.prod(shape), shape[-1]
    # one row, if no block of the tensor is incomplete
    rows, columns = (1, count) if last % block_size == 0 or not count else (count // last, last)
    height, width = max(1, CHUNK // max(columns, 1)), CHUNK // block_size * block_size
    for row in range(0, rows, height):
        for column in range(0, columns, width):
            yield Tile(
                shape=(rows, columns),
                rows=slice(row, min(row + height, rows)),
                columns=slice(column, min(column + width, columns)),
            )


def float_blocks(stored: Stored, block_size: int) -> Iterator[np.ndarray]:
    """The float32 blocks (n, block_size) of a tensor; zeros pad the last block of each row."""
    for tile in tiles(stored.shape, block_size):
        numbers = numbers_of(stored, tile)
        yield complete(widen(numbers, np.empty(numbers.shape, np.uint32)).view(np.float32), block_size)


def numbers_of(stored: Stored, tile: Tile) -> np.ndarray:
    """The numbers of a tile (rows, columns) in native byte order, BF16 as patterns."""
    rows, columns = tile.size
    part = stored.data[tile.start() : tile.start() + rows * columns].reshape(rows, columns)
    return np.require(part, part.dtype.newbyteorder("="), ["C", "A"])


def complete(x: np.ndarray, block_size: int) -> np.ndarray:
    """Blocks (n, block_size) of rows (rows, columns); zeros pad the last block of each row."""
    if x.shape[-1] % block_size:
        x = np.pad(x, ((0, 0), (0, -x.shape[-1] % block_size)))
    return x.reshape(-1, block_size)


def copy(copied: Mapping[str, Stored], write: Writer) -> None:
    """Write tensors as they are, chunk by chunk."""
    for name, stored in copied.items():
        if name in write.whole:
            continue
        for start in range(0, stored.data.size, CHUNK):
            part = stored.data[start : start + CHUNK]
            write(name, start, part)
            stored.release(start, part.size)
        write.finish([name])
