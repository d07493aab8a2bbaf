"""Counts of the codes and scales of a quantized tensor, part by part."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from ...models.arrays.codes import code_values
from ...spec import BlockFormat, NumberFormat
from ..layouts.stored_blocks import BlockRange, StoredBlocks

LONGEST = 1 << 18
"""Length of the longest profile."""
BEYOND = float(np.finfo(np.float32).max)
"""The largest float32 number."""


class Profile:
    """Mean squares by place."""

    def __init__(self, length: int) -> None:
        self._sums, self._counts = np.zeros(length), np.zeros(length)

    def add(self, place: slice, sums: np.ndarray, count: int) -> None:
        self._sums[place] += sums
        self._counts[place] += count

    @property
    def logarithms(self) -> np.ndarray:
        """Logarithms of the mean squares; NaN for places with zeros alone."""
        with np.errstate(divide="ignore", invalid="ignore"):
            logarithms = np.log(self._sums / self._counts)
        return np.where(np.isfinite(logarithms), logarithms, np.nan)


class CodeCounts:
    """The number of each element code of a tensor."""

    def __init__(self, element: NumberFormat) -> None:
        self._values = code_values(element)
        self._largest = float(element.max_value)
        self.codes = np.zeros(1 << element.bits, np.int64)

    @property
    def saturated(self) -> int:
        """Elements of the largest finite magnitude."""
        return int(self.codes[np.abs(self._values) == self._largest].sum())

    @property
    def not_finite_elements(self) -> int:
        """Elements that are NaN or Inf."""
        return int(self.codes[~np.isfinite(self._values)].sum())

    @property
    def codes_used(self) -> int:
        return int(np.count_nonzero(self.codes))


class Tally(CodeCounts):
    """Counts of a tensor, without its tensor scale."""

    def __init__(self, block: BlockFormat, shape: tuple[int, int, int]) -> None:
        super().__init__(block.element)
        self.block = block
        matrices, lines, blocks = shape
        width = block.shape[-1]
        self.scales = np.zeros(1 << block.scale.bits, np.int64)
        """The number of each scale code."""
        self.zero_blocks = self.nan_blocks = self.full_blocks = self.full_when_split = 0
        """Blocks of zeros, blocks with NaN, blocks with the largest element, and the same count for split codes."""
        self.nan_scales_of_zeros = self.blocks_beyond = 0
        """Blocks of zeros under a NaN scale, and blocks with a product of scale and element beyond float32."""
        self.largest = 0.0
        """The largest finite product of a scale and the magnitude of an element."""
        self.columns = Profile(blocks * width) if 0 < blocks * width <= LONGEST else None
        """The profile along a line."""
        self.lines = Profile(lines) if matrices == 1 and 0 < lines <= LONGEST else None
        """The profile of the lines of a single matrix."""

    @property
    def blocks(self) -> int:
        """Number of blocks counted."""
        return int(self.scales.sum())

    @property
    def nan_scales(self) -> int:
        """Blocks whose scale is NaN."""
        return int(self.scales[np.isnan(code_values(self.block.scale))].sum())

    @property
    def filled_blocks(self) -> int:
        """Blocks that are not zero."""
        return self.blocks - self.zero_blocks

    @cached_property
    def binades(self) -> dict[int, int]:
        """The number of scales with 2**i <= |scale| < 2**(i + 1), by i."""
        values = np.abs(code_values(self.block.scale).astype(np.float64))
        found: dict[int, int] = {}
        for code in np.flatnonzero(self.scales):
            if 0 < values[code] < np.inf:
                exponent = int(np.frexp(values[code])[1]) - 1
                found[exponent] = found.get(exponent, 0) + int(self.scales[code])
        return dict(sorted(found.items()))

    def add(self, part: BlockRange) -> None:
        q = part.q
        element, scale, width = q.block.element, q.block.scale, q.block.shape[-1]
        codes, scales = np.moveaxis(q.codes, q.axis, -1), np.moveaxis(q.scales, q.axis, -1)
        self.codes += np.bincount(codes.reshape(-1), minlength=self.codes.size)
        self.scales += np.bincount(scales.reshape(-1), minlength=self.scales.size)
        magnitudes = np.abs(code_values(element))[codes].reshape(*scales.shape, width)
        factors = np.abs(code_values(scale).astype(np.float64))[scales]
        with np.errstate(invalid="ignore"):
            most = magnitudes.max(axis=-1)  # NaN if the block contains one
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
        along = slice(part.blocks.start * width, part.blocks.stop * width)
        if self.columns:
            self.columns.add(along, squares.sum(axis=0), len(squares))
        if self.lines:
            self.lines.add(part.lines, squares.sum(axis=1), squares.shape[1])
        if element.bits == 4 and not scales.shape[-1] % 2:
            self.full_when_split += _full_when_split(magnitudes, float(element.max_value))


def _full_when_split(magnitudes: np.ndarray, largest: float) -> int:
    """The number of blocks with the largest element if the low codes of the bytes of two blocks are the first block,
    and the high codes the second. Magnitudes are (lines, blocks, width).
    """
    lines, blocks, width = magnitudes.shape
    pairs = magnitudes.reshape(lines, blocks // 2, width, 2)
    return int(np.count_nonzero(pairs.max(axis=2) == largest))


def tallied(stored: StoredBlocks, whole: bool) -> Tally:
    """The counts of all blocks of a tensor, or of a sample."""
    tally = Tally(stored.layout.block_format, stored.shape)
    for part in stored.parts(whole):
        tally.add(part)
    return tally
