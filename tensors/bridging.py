"""Quantized tensors of a file in another block format, with the same numbers, one part at a time."""

from __future__ import annotations

import numpy as np

from ..models import BlockArray, bridge, survives
from ..models.bridge import bridged_block, largest_exponent
from ..models.layout_parts import Box, boxes
from ..spec import BlockFormat
from .conversions import PART
from .scaled import ScaledTensor
from .sources import StoredTensor

__all__ = ["BridgedTensor"]


class BridgedTensor:
    """A tensor under `models.bridge`. It is read twice before its parts are: for the largest of its scales, and for the
    blocks that do not survive.
    """

    def __init__(self, tensor: StoredTensor, block: BlockFormat) -> None:
        """Raises ValueError where formats have no bridge, and for a tensor with blocks that do not survive: the first
        is named, and their number.
        """
        self.tensor, self.block = tensor, bridged_block(tensor.block, block)
        self.axis, self.codes, self.shape = tensor.axis, tensor.codes, tensor.shape
        if isinstance(tensor, ScaledTensor):
            self.codes = tensor.shape  # its last block may be wider than the rest of a row
            if self.shape[-1] % self.block.shape[-1]:
                width = self.block.shape[-1]
                raise ValueError(f"rows of {self.shape[-1]} elements are no whole blocks of {width}")
        parts = list(boxes(self.codes, tensor.units, PART))
        found = [largest for box in parts if (largest := largest_exponent(tensor.part(box))) is not None]
        self.largest = max(found, default=0)
        lost, first = 0, None
        for box in parts:
            places = np.argwhere(~survives(tensor.part(box), self.block, largest=self.largest))
            lost += len(places)
            if len(places) and first is None:
                first = self._block_of(places[0], box)
        if lost:
            raise ValueError(
                f"block {first} of {tensor.block.name} has no counterpart in {self.block.name}, the first of {lost}: "
                "its scale is no power of two or too far below the largest, or an element has no code"
            )

    def _block_of(self, place: np.ndarray, box: Box) -> tuple[int, ...]:
        starts = [one.start for one in box]
        starts[self.axis] //= self.tensor.block.shape[-1]
        return tuple(start + int(index) for start, index in zip(starts, place))

    @property
    def units(self) -> tuple[int, ...]:
        return self.tensor.units

    def head(self) -> BlockArray:
        return bridge(self.tensor.head(), self.block, largest=self.largest)

    def part(self, box: Box) -> BlockArray:
        return bridge(self.tensor.part(box), self.block, largest=self.largest)
