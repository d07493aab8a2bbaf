"""Quantized tensors in another block format with the same numbers, one part at a time."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...models import BlockArray, bridge, survives
from ...models.arrays.bridge import bridged_block, largest_exponent
from ...models.arrays.layout_parts import Box, boxes
from ...spec import BlockFormat
from ...spec.formats.names import block_format
from ..layouts.scaled_tensor import ScaledTensor
from ..layouts.stored_tensors import StoredTensor
from .conversions import PART


@dataclass(frozen=True)
class OtherBlock:
    """Another block format for all tensors, or for the tensors in one block format."""

    block: BlockFormat
    only: str | None = None

    @classmethod
    def named(cls, text: str) -> OtherBlock:
        """The block format of a name such as ``e4m3``, or of a pair such as ``fp8_e4m3=mxfp8_e4m3``. Raises ValueError
        for unknown names.

        >>> OtherBlock.named("fp8_e4m3=e4m3").only
        'fp8_e4m3'
        """
        only, equals, name = text.rpartition("=")
        only = only if only.startswith("fp8_") or not equals else block_format(only).name
        return cls(block_format(name), only if equals else None)

    def of(self, own: BlockFormat) -> BlockFormat | None:
        """The new block format of tensors in a block format; None if they keep it."""
        return self.block if self.only in (None, own.name) else None


class BridgedTensor:
    """A tensor under `models.arrays.bridge`. It is read twice in advance: for its largest scale, and for the blocks
    without a counterpart.
    """

    def __init__(self, tensor: StoredTensor, block: BlockFormat) -> None:
        """Raises ValueError for formats without a bridge, and for blocks without a counterpart: it names the first, and
        their number.
        """
        self.tensor, self.block = tensor, bridged_block(tensor.block, block)
        self.axis, self.codes, self.shape = tensor.axis, tensor.codes, tensor.shape
        if isinstance(tensor, ScaledTensor):
            self.codes = tensor.shape  # its last block may be wider than the rest of a row
            if self.shape[-1] % self.block.shape[-1]:
                width = self.block.shape[-1]
                raise ValueError(f"rows of {self.shape[-1]} elements must be whole blocks of {width}")
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
                "its scale is not a power of two or too far below the largest, or an element has no code"
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
