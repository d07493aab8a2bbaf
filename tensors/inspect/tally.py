"""What is counted of the codes and scales of a quantized tensor, part by part."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from ...models.arrays.codes import code_values
from ...spec import BlockFormat
from ..layouts.stored_blocks import Portion, StoredBlocks

LONGEST = 1 << 18
"""Lines or elements of a line of which a profile is kept."""


BEYOND = float(np.finfo(np.float32).max)


class Profile:
    """Mean squares by place, of those places that were looked at."""

    def __init__(self, length: int) -> None:
        self._sums, self._counts = np.zeros(length), np.zeros(length)

    def add(self, place: slice, sums: np.ndarray, count: int) -> None:
        self._sums[place] += sums
        self._counts[place] += count

    @property
    def logarithms(self) -> np.ndarray:
        """Of the mean squares; NaN where nothing but zeros was seen."""
        with np.errstate(divide="ignore", invalid="ignore"):
            logarithms = np.log(self._sums / self._counts)
        return np.where(np.isfinite(logarithms), logarithms, np.nan)


class Tally:
    """Counts of a tensor. The scale of the tensor is in none of them."""

    def __init__(self, block: BlockFormat, shape: tuple[int, int, int]) -> None:
        self.block = block
        matrices, lines, blocks = shape
        width = block.shape[-1]
        self.codes = np.zeros(1 << block.element.bits, np.int64)
        """How often each element code is there."""
        self.scales = np.zeros(1 << block.scale.bits, np.int64)
        """How often each scale code is there."""
        self.zero_blocks = self.nan_blocks = self.full_blocks = self.full_when_split = 0
        """Blocks of zeros; with a NaN; with the largest element; the same, were codes split over two blocks."""
        self.nan_scales_of_zeros = self.blocks_beyond = 0
        """Blocks of zeros under a scale that is NaN; blocks with a scale times an element beyond float32."""
        self.largest = 0.0
        """The largest finite magnitude of a scale times an element."""
        self.columns = Profile(blocks * width) if 0 < blocks * width <= LONGEST else None
        """Of the places in a line."""
        self.lines = Profile(lines) if matrices == 1 and 0 < lines <= LONGEST else None
        """Of the lines, where there is one matrix."""

    @property
    def blocks(self) -> int:
        """Those that were looked at."""
        return int(self.scales.sum())

    @property
    def saturated(self) -> int:
        """Elements of the largest finite magnitude."""
        return int(self.codes[np.abs(code_values(self.block.element)) == float(self.block.element.max_value)].sum())

    @property
    def nan_scales(self) -> int:
        """Blocks whose scale is NaN."""
        return int(self.scales[np.isnan(code_values(self.block.scale))].sum())

    @property
    def not_finite_elements(self) -> int:
        """Elements that are NaN or Inf."""
        return int(self.codes[~np.isfinite(code_values(self.block.element))].sum())

    @property
    def codes_used(self) -> int:
        return int(np.count_nonzero(self.codes))

    @property
    def filled_blocks(self) -> int:
        """Those that are not zero."""
        return self.blocks - self.zero_blocks

    @cached_property
    def binades(self) -> dict[int, int]:
        """How many scales are in each binade: 2**i <= |scale| < 2**(i + 1), by i."""
        values = np.abs(code_values(self.block.scale).astype(np.float64))
        found: dict[int, int] = {}
        for code in np.flatnonzero(self.scales):
            if 0 < values[code] < np.inf:
                exponent = int(np.frexp(values[code])[1]) - 1
                found[exponent] = found.get(exponent, 0) + int(self.scales[code])
        return dict(sorted(found.items()))

    def add(self, portion: Portion) -> None:
        q = portion.q
        element, scale, width = q.block.element, q.block.scale, q.block.shape[-1]
        codes, scales = np.moveaxis(q.codes, q.axis, -1), np.moveaxis(q.scales, q.axis, -1)
        self.codes += np.bincount(codes.reshape(-1), minlength=self.codes.size)
        self.scales += np.bincount(scales.reshape(-1), minlength=self.scales.size)
        magnitudes = np.abs(code_values(element))[codes].reshape(*scales.shape, width)
        factors = np.abs(code_values(scale).astype(np.float64))[scales]
        with np.errstate(invalid="ignore"):
            most = magnitudes.max(axis=-1)  # NaN where there is one
            products = most * factors
            self.nan_blocks += int(np.count_nonzero(np.isnan(products) | (np.isinf(factors) & (most == 0))))
            self.zero_blocks += int(np.count_nonzero(products == 0))
            self.nan_scales_of_zeros += int(np.count_nonzero(np.isnan(factors) & (most == 0)))
            self.blocks_beyond += int(np.count_nonzero(np.isfinite(products) & (products > BEYOND)))
            self.full_blocks += int(np.count_nonzero((most == float(element.max_value)) & (factors != 0)))
            self.largest = max(self.largest, float(np.max(products, where=np.isfinite(products), initial=0)))
            squares = np.square(magnitudes)
            squares = np.where(np.isfinite(squares), squares, 0) * np.nan_to_num(factors**2, posinf=0)[..., None]
        squares = squares.reshape(codes.shape)
        along = slice(portion.blocks.start * width, portion.blocks.stop * width)
        if self.columns:
            self.columns.add(along, squares.sum(axis=0), len(squares))
        if self.lines:
            self.lines.add(portion.lines, squares.sum(axis=1), squares.shape[1])
        if element.bits == 4 and not scales.shape[-1] % 2:
            self.full_when_split += _full_when_split(magnitudes, float(element.max_value))


def _full_when_split(magnitudes: np.ndarray, largest: float) -> int:
    """Blocks with the largest element, were the low codes of the bytes of two blocks the first of them, and the high
    codes the second: magnitudes (lines, blocks, width).
    """
    lines, blocks, width = magnitudes.shape
    pairs = magnitudes.reshape(lines, blocks // 2, width, 2)
    return int(np.count_nonzero(pairs.max(axis=2) == largest))


def tallied(stored: StoredBlocks, whole: bool) -> Tally:
    """The counts of a tensor, of all its blocks or of a sample."""
    tally = Tally(stored.layout.block_format, stored.shape)
    for portion in stored.portions(whole):
        tally.add(portion)
    return tally
