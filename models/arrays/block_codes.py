"""Scales and codes of an array in a block format."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

import numpy as np

from ...spec import BlockFormat
from ...spec.catalogue import excerpt
from .block_layout import axis_last
from .codes import require_range
from .source import require_whole


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class BlockCodes:
    """Scales and codes of an array in a block format, with the shape that they had as numbers.

    Codes are right-aligned in uint8, or in uint16 above eight bits. The arrays are the ones that were given, not
    copies, and can be written to. Two are equal if all codes, scales and fields are.
    """

    scales: np.ndarray
    """Scale codes, (..., n / block_size, ...) unsigned."""
    codes: np.ndarray
    """Element codes, (..., n, ...) unsigned."""
    block: BlockFormat
    axis: int = -1
    """The axis that is cut into blocks."""
    length: int | None = None
    """Length of this axis before zeros completed its last block; None if nothing was added."""
    tensor_scale: np.ndarray | None = None
    """Scale of the tensor, float32 (), or of each line along the axis, (..., 1, ...); None without one."""

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the array of numbers."""
        shape = list(self.codes.shape)
        if self.length is not None:
            shape[self.axis] = self.length
        return tuple(shape)

    @property
    def scale_max(self) -> int | None:
        """Block scale of the block with the largest magnitude of the tensor; None if the encoder is unknown."""
        return None

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        mine, others = (vars(one) | {"axis": one.axis % (one.codes.ndim or 1)} for one in (self, other))
        arrays = ("codes", "scales", "tensor_scale")
        return all(np.array_equal(mine[name], others[name]) for name in arrays) and all(
            mine[field.name] == others[field.name]
            for field in dataclasses.fields(self)
            if field.compare and field.name not in arrays
        )

    def __hash__(self) -> int:
        raise TypeError(f"a {type(self).__name__} has no hash, as its arrays can be written to")

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.shape} {self.block.name}>"


def check_codes(q: BlockCodes) -> None:
    """Raise TypeError or ValueError unless codes and scales belong to the block format, and shapes and length agree."""
    element, size = q.block.element, q.block.shape[-1]
    require_range("codes", q.codes, element.bits, f"codes of {element.name}")
    require_range("scales", q.scales, q.block.scale.bits, "scales")
    require_whole("axis", q.axis)
    if q.codes.ndim != q.scales.ndim or not -q.codes.ndim <= q.axis < q.codes.ndim:
        raise ValueError(
            f"codes and scales must have the same axes and axis must be one of them, not {excerpt(q.axis)} "
            f"for the shapes {q.codes.shape} and {q.scales.shape}"
        )
    codes, scales = (axis_last(array.shape, q.axis) for array in (q.codes, q.scales))
    if codes != (*scales[:-1], scales[-1] * size):
        raise ValueError(f"codes of shape {q.codes.shape} must have {size} elements for each scale of {q.scales.shape}")
    count = codes[-1]
    if q.length is not None:
        require_whole("length", q.length)
    if q.length is not None and not 0 <= count - int(q.length) < size:
        raise ValueError(
            f"length must be the length of the axis before its last block of {count} was completed, "
            f"not {excerpt(q.length)}"
        )
