"""Counts of the codes and scales of an FP8 tensor with scales that are numbers."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from math import prod

import numpy as np

from ...models.arrays.layout_parts import boxes
from ..containers.contents import taken
from ..layouts.scaled_tensor import ScaledTensor
from .judging import is_plausible
from .tally import CodeCounts

PART, SAMPLE = 1 << 18, 1 << 22
"""Elements of a part, and elements of a sample."""
SMALLEST = float(np.finfo(np.float32).smallest_normal)


class ScaledTally(CodeCounts):
    """Counts of all elements of a tensor, or of a sample. A block is a tile with one scale."""

    def __init__(self, tensor: ScaledTensor, whole: bool) -> None:
        super().__init__(tensor.layout.element)
        self.tensor = tensor
        self._factors = tensor.numbers_of_scales().astype(np.float64)
        self._most = np.full(self._factors.shape, -1.0)
        """The largest magnitude of the elements of each tile; -1 for a tile outside the sample."""
        parts = list(boxes(tensor.shape, self._units(), PART)) if prod(tensor.shape) else []
        picked = len(parts) if whole else min(len(parts), max(SAMPLE * len(parts) // prod(tensor.shape), 1))
        for place in range(picked):
            self._add(parts[place * len(parts) // picked])

    def _units(self) -> tuple[int, ...]:
        """Size of a tile along each axis; 1 where the tile covers the whole axis, and for leading axes."""
        sizes = [size or 1 for size in self.tensor.tile][-len(self.tensor.shape) :]
        return (*(1,) * (len(self.tensor.shape) - len(sizes)), *sizes)

    def _add(self, box: tuple[slice, ...]) -> None:
        codes = taken(self.tensor.stored, self.tensor.shape, box)
        self.codes += np.bincount(codes.reshape(-1), minlength=256)
        magnitudes = np.abs(self._values)[codes]
        magnitudes = magnitudes.reshape((-1, *((1, 1) + magnitudes.shape)[-2:]))
        starts = [one.start for one in ((slice(0, 1),) * 2 + box)[-2:]]
        for axis, (first, size) in enumerate(zip(starts, self.tensor.tile), start=1):
            edges = np.arange(0, magnitudes.shape[axis], size or magnitudes.shape[axis])
            magnitudes = np.maximum.reduceat(magnitudes, edges, axis=axis)
            starts[axis - 1] = first // size if size else 0
        lead = np.arange(prod(self.tensor.shape[:-2])).reshape(self.tensor.shape[:-2])[box[:-2]].reshape(-1)
        matrices = lead if len(self._most) > 1 else np.zeros(1, np.intp)
        if len(self._most) == 1:
            magnitudes = magnitudes.max(axis=0, keepdims=True)
        down, across = (slice(start, start + n) for start, n in zip(starts, magnitudes.shape[1:]))
        there = self._most[matrices, down, across]
        self._most[matrices, down, across] = np.maximum(there, magnitudes)

    @cached_property
    def _products(self) -> np.ndarray:
        """The largest magnitude of each counted tile; NaN for a tile with NaN."""
        seen = self._most != -1
        with np.errstate(invalid="ignore", over="ignore"):
            return np.abs(self._factors[seen]) * self._most[seen]

    @property
    def tiles(self) -> int:
        """The number of all tiles."""
        return self._factors.size

    @property
    def blocks(self) -> int:
        """Counted tiles."""
        return self._products.size

    @property
    def zero_blocks(self) -> int:
        return int(np.count_nonzero(self._products == 0))

    @property
    def nan_blocks(self) -> int:
        return int(np.count_nonzero(np.isnan(self._products)))

    @property
    def largest(self) -> float:
        """The largest finite magnitude."""
        return float(np.max(self._products, where=np.isfinite(self._products), initial=0))

    @cached_property
    def binades(self) -> dict[int, int]:
        """The number of scales in each binade, by its exponent."""
        factors = np.abs(self._factors[np.isfinite(self._factors) & (self._factors != 0)])
        exponents, counts = np.unique(np.frexp(factors)[1] - 1, return_counts=True)
        return dict(zip(exponents.tolist(), counts.tolist()))

    def wrong(self) -> Iterator[tuple[str, dict[str, float]]]:
        """Sentences about scales that no library writes, and about implausible magnitudes, with figures."""
        factors = self._factors
        kinds = {"NaN": np.isnan(factors), "Inf": np.isinf(factors), "negative": factors < 0}
        kinds["0 over elements that are not"] = (factors == 0) & (self._most > 0)
        kinds["subnormal, as if not initialised"] = (factors > 0) & (factors < SMALLEST) & (self._most > 0)
        if found := {kind: int(count) for kind, where in kinds.items() if (count := np.count_nonzero(where))}:
            words = " and ".join(f"{count} {'is' if count == 1 else 'are'} {kind}" for kind, count in found.items())
            yield f"of {factors.size} scales {words}", {kind: float(count) for kind, count in found.items()}
        elif self.largest and not is_plausible(self.largest):
            yield from self._implausible()

    def _implausible(self) -> Iterator[tuple[str, dict[str, float]]]:
        seen = (self._most > 0) & (self._factors != 0)
        with np.errstate(over="ignore"):
            divided = float(np.max(self._most[seen] / np.abs(self._factors[seen]), initial=0))
        other = f", and {divided:.4g} if elements are divided by them" if is_plausible(divided) else ""
        figures = {"amax": self.largest, "amax divided": divided}
        yield f"the largest magnitude is {self.largest:.4g} under these scales{other}", figures
