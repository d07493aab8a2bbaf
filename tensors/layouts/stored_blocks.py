"""Blocks of a quantized tensor in parts of bounded size, and rows of tiles of scales."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from math import prod

import numpy as np

from ...models import BlockArray, unpack
from ...models.arrays.codes import code_values
from ...models.arrays.stored_bytes import stored_dtype
from ...spec.layouts.catalogue import Layout, Part, ScaleOrder
from ..containers.contents import Stored

LINES, BLOCKS = 128, 1024
"""Lines, and blocks of a line, in a part: whole tiles of scales, and at most 4 MB of codes."""
SAMPLE = 1 << 17
"""Blocks of a tensor in a sample: a hundredth of a second for each million elements, and more than every statistic here
needs."""
LONGEST, MOST_MATRICES, OF_A_LINE = 1 << 16, 4, 32
"""Lines of a matrix, matrices, and blocks of a line for a comparison of all lines."""
MOST_TILES = 4
"""Rows of tiles of a tensor in a sample."""
MOST_BYTES = 1 << 26
"""Bytes of a row of tiles."""


@dataclass(frozen=True, kw_only=True)
class BlockRange:
    """A range of lines and a range of their blocks; ``matrix`` counts the matrices of all leading axes."""

    matrix: int
    lines: slice
    blocks: slice
    q: BlockArray
    """Codes (lines, elements) with the tensor scale 1."""


class StoredBlocks:
    """The blocks of one tensor in the arrays of a file, as matrices of lines that blocks lie along."""

    def __init__(self, arrays: Mapping[str, Stored], layout: Layout, name: str) -> None:
        self.layout, self.name = layout, name
        self._codes = _matrices(arrays, layout.codes, name, 2 + layout.has_block_axis)
        self._scales = None if layout.scales is None else _matrices(arrays, layout.scales, name, 2)
        self._stored = tuple(arrays.values())
        self.tensor_scale: np.ndarray | None = None
        """The tensor scales, (1,) or one for each matrix; None without an array of this dtype."""
        self.tensor_scales = 0
        """The number of stored tensor scales."""
        part = layout.tensor_scale
        stored = None if part is None else arrays.get(part.of(name))
        if part is not None and stored is not None and stored.dtype == part.dtype:
            self.tensor_scales = stored.data.size
            with np.errstate(invalid="ignore"):  # signalling NaN
                self.tensor_scale = stored.data[: max(self.shape[0], 1)].astype(np.float64)

    @property
    def _along(self) -> int:
        """The axis of the stored codes that blocks lie along."""
        return -1 if self.layout.is_transposed else self.layout.axis

    @cached_property
    def shape(self) -> tuple[int, int, int]:
        """Matrices, lines of each, and blocks of a line."""
        matrices, *shape = self._codes.shape
        if self.layout.has_block_axis:
            return matrices, shape[0], shape[1]
        rest = list(shape)
        length = rest.pop(self._along) * self._codes.itemsize
        return matrices, rest[0], length // (self.layout.block_bytes + (self.layout.scales is None))

    @property
    def count(self) -> int:
        return prod(self.shape)

    def parts(self, whole: bool) -> Iterator[BlockRange]:
        """All parts of the tensor, or parts at even distances with about `SAMPLE` blocks. The memory of each is
        returned.
        """
        matrices, lines, blocks = self.shape
        if not self.count:
            return
        down, across = -(-lines // LINES), -(-blocks // BLOCKS)
        total, size = matrices * down * across, min(lines, LINES) * min(blocks, BLOCKS)
        picked = total if whole else min(total, max(SAMPLE // size, 1))
        for place in range(picked):
            rest, column = divmod(place * total // picked, across)
            matrix, row = divmod(rest, down)
            yield self._range(
                matrix,
                slice(row * LINES, min((row + 1) * LINES, lines)),
                slice(column * BLOCKS, min((column + 1) * BLOCKS, blocks)),
            )
            for stored in self._stored:
                stored.release(0, stored.data.size)

    def nan_scales(self) -> int | None:
        """The number of stored scales that are NaN; None if scales and codes share an array."""
        if self._scales is None:
            return None
        codes, count = np.flatnonzero(np.isnan(code_values(self.layout.block_format.scale))), 0
        for matrix in self._scales:
            for rows in range(0, len(matrix), LINES):
                part = matrix[rows : rows + LINES].view(np.uint8)
                count += sum(int(np.count_nonzero(part == code)) for code in codes)
        for stored in self._stored:
            stored.release(0, stored.data.size)
        return count

    def _range(self, matrix: int, lines: slice, blocks: slice) -> BlockRange:
        layout = self.layout
        arrays = {layout.codes.of(self.name): self._codes[matrix][self._codes_place(lines, blocks)]}
        if layout.scales is not None and self._scales is not None:
            arrays[layout.scales.of(self.name)] = self._scales_of(self._scales[matrix], lines, blocks)
        if layout.tensor_scale is not None:
            arrays[layout.tensor_scale.of(self.name)] = np.ones(1, np.float32)
        return BlockRange(matrix=matrix, lines=lines, blocks=blocks, q=unpack(arrays, layout, name=self.name))

    def _codes_place(self, lines: slice, blocks: slice) -> tuple[slice, slice]:
        if self.layout.has_block_axis:
            return lines, blocks
        size = self.layout.block_bytes + (self.layout.scales is None)
        along = slice(blocks.start * size // self._codes.itemsize, blocks.stop * size // self._codes.itemsize)
        return (lines, along) if self._along == -1 else (along, lines)

    def _scales_of(self, scales: np.ndarray, lines: slice, blocks: slice) -> np.ndarray:
        """The stored scales of some blocks, with the padding after the last ones."""
        _, rows, columns = self.shape
        if self.layout.order is not ScaleOrder.LINEAR:
            tiles = self._tiles(scales)[
                lines.start // 128 : -(-lines.stop // 128), blocks.start // 4 : -(-blocks.stop // 4)
            ]
            return tiles.reshape(tiles.shape[0] * 128, tiles.shape[1] * 4)
        lines, blocks = (
            slice(one.start, None if one.stop == last else one.stop) for one, last in ((lines, rows), (blocks, columns))
        )
        return scales[(lines, blocks) if self._along == -1 else (blocks, lines)]

    def _tiles(self, scales: np.ndarray) -> np.ndarray:
        """(rows of tiles, tiles, 512) of one matrix."""
        _, rows, columns = self.shape
        return scales.reshape(-(-rows // 128), -(-columns // 4), 512)

    def rows_of_tiles(self) -> Iterator[np.ndarray]:
        """At most `MOST_TILES` stored rows of tiles without padding: the scales of 128 lines, (128, blocks). Nothing if
        scales share the array of codes or lie along another axis.
        """
        matrices, lines, blocks = self.shape
        down = lines // 128
        if self._scales is None or self._along != -1 or blocks % 4 or not 0 < 128 * blocks <= MOST_BYTES:
            return
        total = matrices * down
        for place in range(picked := min(total, MOST_TILES)):
            matrix, row = divmod(place * total // picked, down)
            scales = self._scales[matrix]
            if self.layout.order is not ScaleOrder.LINEAR:
                scales = scales.reshape(-1, blocks)
            yield scales[row * 128 : row * 128 + 128, :blocks]

    def lines(self) -> Iterator[BlockArray]:
        """All lines of at most `MOST_MATRICES` matrices at even distances, with their first `OF_A_LINE` blocks."""
        matrices, lines, blocks = self.shape
        for place in range(picked := min(matrices, MOST_MATRICES) if self.count and lines <= LONGEST else 0):
            matrix, first = place * matrices // picked, slice(0, min(blocks, OF_A_LINE))
            yield self._range(matrix, slice(0, lines), first).q
            for stored in self._stored:
                stored.release(0, stored.data.size)

    def ends(self) -> Iterator[tuple[np.ndarray, int, int]]:
        """The last row and the last column of tiles (rows of tiles, tiles, 512), which alone contain padding, each with
        the numbers of its lines and blocks; in the first `MOST_TILES` matrices.
        """
        matrices, lines, blocks = self.shape
        if self._scales is None or self.layout.order is ScaleOrder.LINEAR or not self.count:
            return
        for matrix in range(min(matrices, MOST_TILES)):
            tiles = self._tiles(self._scales[matrix])
            if lines % 128 and tiles[-1].size <= MOST_BYTES:
                yield tiles[-1:], lines % 128, blocks
            if blocks % 4 and lines >= 128 and tiles[:, -1].size <= MOST_BYTES:
                yield tiles[: lines // 128, -1:], lines // 128 * 128, blocks % 4


def _matrices(arrays: Mapping[str, Stored], part: Part, name: str, axes: int) -> np.ndarray:
    """A stored array whose leading axes are one; ``axes`` axes follow it."""
    stored = arrays[part.of(name)]
    shape = (1,) * (axes - len(stored.shape)) + stored.shape
    lead, rest = shape[: len(shape) - axes], shape[len(shape) - axes :]
    return stored.data.view(stored_dtype(part)).reshape(prod(lead), *rest)
