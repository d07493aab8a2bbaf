"""FP8 tensors with scales that are numbers, read one part at a time as blocks along rows with FP32 scales."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

import numpy as np

from ...models import BlockArray
from ...models.arrays.codes import code_values
from ...models.arrays.layout_parts import Box
from ...models.arrays.source import widen
from ...spec import E8M0
from ...spec.layouts.scaled import ScaledLayout
from ..containers.contents import Stored, taken

Shape = tuple[int, ...]


class ScaledTensor:
    """A tensor whose layout has a tile for each scale (`fitting.fitting`).

    Each row of a part gets the scales of the tiles that it crosses. FP32 represents every scale exactly.
    """

    axis = -1

    def __init__(self, tensors: Mapping[str, Stored], layout: ScaledLayout, name: str) -> None:
        self.layout = layout
        self.stored, self.scales = (tensors[part] for part in layout.names(name))
        self.shape = self.stored.shape
        self.tile = layout.tile or (0, 0)
        self.block = layout.block_format(self.shape[-1])
        """A block is as wide as a tile, or a whole row."""
        *lines, columns = self.shape
        self.codes = (*lines, columns + -columns % self._width)

    @property
    def _width(self) -> int:
        return self.block.shape[-1]

    @property
    def units(self) -> Shape:
        return (*(1,) * (len(self.shape) - 1), self._width)

    @property
    def grid(self) -> Shape:
        """The tiles: matrices or 1, down and across."""
        down, across = (-(-n // size) if size else 1 for n, size in zip(((1, 1) + self.shape)[-2:], self.tile))
        return (-1, down, across) if self.scales.data.size > down * across else (1, down, across)

    def numbers_of_scales(self) -> np.ndarray:
        """All scales as float32, in the shape of the grid."""
        return as_numbers(self.scales.data, self._dtype).reshape(self.grid)

    @property
    def _dtype(self) -> str:
        return self.layout.read_as or self.scales.dtype

    def head(self) -> BlockArray:
        empty = (0,) * len(self.shape)
        return BlockArray(codes=np.zeros(empty, np.uint8), scales=np.zeros(empty, np.uint32), block=self.block)

    def part(self, box: Box) -> BlockArray:
        *lines, last = box
        stop = min(last.stop, self.shape[-1])
        codes = taken(self.stored, self.shape, (*lines, slice(last.start, stop)))
        blocks = -(-(last.stop - last.start) // self._width)
        missing = blocks * self._width - codes.shape[-1]
        return BlockArray(
            codes=np.pad(codes, [*[(0, 0)] * len(lines), (0, missing)]) if missing else codes,
            scales=self._scales(lines, slice(last.start // self._width, last.start // self._width + blocks)),
            block=self.block,
            length=codes.shape[-1] if missing else None,
        )

    def _scales(self, lines: list[slice], blocks: slice) -> np.ndarray:
        """The scales of some blocks of some lines, as patterns of FP32."""
        *leading, _ = self.shape[:-1] or (1,)
        rows, down, across = lines[-1:] or [slice(0, 1)], *self.tile
        stored = self.scales.data.reshape(self.grid)
        matrices = np.arange(prod(leading)).reshape(leading)[tuple(lines[:-1])] * (len(stored) > 1)
        places = (
            matrices[..., None, None],
            (np.arange(rows[0].start, rows[0].stop) // down if down else np.zeros(1, np.intp))[:, None],
            np.arange(blocks.start, blocks.stop) if across else np.zeros(1, np.intp),
        )
        shape = (*(one.stop - one.start for one in lines), blocks.stop - blocks.start)
        found = as_numbers(stored[places], self._dtype)
        return np.broadcast_to(found if lines else found[0], shape).copy().view(np.uint32)


def as_numbers(scales: np.ndarray, dtype: str) -> np.ndarray:
    """Stored scales as float32, which represents them exactly."""
    if dtype == "F8_E8M0":
        return code_values(E8M0)[scales]
    if dtype == "F32":
        return scales.astype(np.float32)
    patterns = scales.astype(scales.dtype.newbyteorder("="))
    return widen(patterns, np.empty(scales.shape, np.uint32)).view(np.float32)
