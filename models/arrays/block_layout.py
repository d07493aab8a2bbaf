"""Arrays cut into blocks of one or two axes, and the way back from blocks to the shape of the array."""

from __future__ import annotations

from math import prod

import numpy as np

from ...spec.catalogue import excerpt
from .source import require_whole


class BlockLayout:
    """The blocks of an array of numbers.

    Blocks of one axis are along any axis. Blocks of two axes are along the last two; in the result the scale of such a
    block is repeated for each of its rows, as Transformer Engine stores it.
    """

    def __init__(self, shape: tuple[int, ...], block: tuple[int, ...], axis: int, pad: bool) -> None:
        """Raises TypeError and ValueError unless an array of this shape can be cut into blocks."""
        if not shape:
            raise ValueError("x must have at least one axis, not be a scalar")
        if len(shape) < len(block):
            raise ValueError(f"x must have at least {len(block)} axes for blocks of {block}, not the shape {shape}")
        require_whole("axis", axis)
        if not -len(shape) <= axis < len(shape):
            raise ValueError(f"axis must be one of the {len(shape)} of x, not {excerpt(axis)}")
        self.shape, self.block, self.axis = shape, block, axis
        self.rows, self.columns = block if len(block) == 2 else (1, block[0])
        if self.rows > 1 and (pad or axis % len(shape) != len(shape) - 1):
            raise ValueError("blocks of two axes lie along the last two axes, which are not completed with zeros")
        for length, size, place in [(shape[axis], self.columns, axis), (shape[-len(block)], self.rows, -2)]:
            if length % size and not pad:
                raise ValueError(
                    f"the length of axis {place} must be a multiple of the block size {size}, not {length}, "
                    "unless it is padded with zeros"
                )
        self.lines = axis_last(shape, axis)[:-1]
        """The shape without the axis."""
        self.groups = prod(self.lines) // self.rows
        """Lines, or groups of lines under the same scales."""
        self.blocks_in_line = -(-shape[axis] // self.columns)

    def blocks(self, x: np.ndarray) -> np.ndarray:
        """Blocks (n, elements of a block) of an array of this shape."""
        if self.rows == 1:
            return as_blocks(x, self.axis, self.columns)
        tiles = x.reshape(self.groups, self.rows, self.blocks_in_line, self.columns).swapaxes(1, 2)
        return np.ascontiguousarray(tiles).reshape(-1, self.rows * self.columns)

    def of_lines(self, values: np.ndarray) -> np.ndarray:
        """The value (n,) of each block's line, from values (..., 1, ...)."""
        return np.repeat(axis_to_end(values, self.axis).reshape(-1), self.blocks_in_line)

    def scales_of_blocks(self, scales: np.ndarray) -> np.ndarray:
        """The scale (n,) of each block: the inverse of `scales`."""
        lines = axis_to_end(scales, self.axis)
        return lines.reshape(-1, self.rows, self.blocks_in_line)[:, 0].reshape(-1)

    def codes(self, codes: np.ndarray) -> np.ndarray:
        """Codes (n, elements of a block) along the axis, with complete blocks."""
        return end_to_axis(self._lines(codes, self.columns), self.axis)

    def scales(self, scales: np.ndarray) -> np.ndarray:
        """Scales (n,) along the axis."""
        rows = scales if self.rows == 1 else np.repeat(scales[:, None], self.rows, axis=1)
        return end_to_axis(self._lines(rows, 1), self.axis)

    def _lines(self, parts: np.ndarray, width: int) -> np.ndarray:
        """Blocks (n, rows * width), joined to lines in which neighbouring blocks follow each other."""
        tiles = parts
        if self.rows > 1:
            tiles = parts.reshape(self.groups, self.blocks_in_line, self.rows, width).swapaxes(1, 2)
        return tiles.reshape(*self.lines, self.blocks_in_line * width)


def axis_last(shape: tuple[int, ...], axis: int) -> tuple[int, ...]:
    """A shape with one axis moved to the end, like `np.moveaxis`, but ten times faster."""
    rest = list(shape)
    count = rest.pop(axis)
    return *rest, count


def axis_to_end(x: np.ndarray, axis: int) -> np.ndarray:
    """`np.moveaxis` to the last place, which is ten times faster if the axis is there."""
    return x if axis in (-1, x.ndim - 1) else np.moveaxis(x, axis, -1)


def end_to_axis(x: np.ndarray, axis: int) -> np.ndarray:
    """The inverse of `axis_to_end`."""
    return x if axis in (-1, x.ndim - 1) else np.moveaxis(x, -1, axis)


def as_blocks(x: np.ndarray, axis: int, size: int) -> np.ndarray:
    """Blocks (n, size) along an axis. Zeros complete the last block of each row."""
    x = axis_to_end(x, axis)
    if x.shape[-1] % size:
        x = np.concatenate([x, np.zeros((*x.shape[:-1], -x.shape[-1] % size), x.dtype)], axis=-1)
    return np.ascontiguousarray(x).reshape(-1, size)


def shortened(x: np.ndarray, axis: int, length: int | None) -> np.ndarray:
    """An array without the elements from ``length`` on along an axis; unchanged if ``length`` is None."""
    return end_to_axis(axis_to_end(x, axis)[..., :length], axis)
