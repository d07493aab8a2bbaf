"""What a rounding loses on tensors: figures of the golden model, kept by content."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np

from ..host.cache import kept_result, sources
from ..models import dequantize, error_statistics, quantize
from ..models.block_array import as_blocks
from ..models.source import FORMATS, INFINITY, as_numbers, narrow, widen
from ..spec import BF16, FP32, Encode, FloatFormat
from .tensors import Tensor

__all__ = ["Loss", "Sums", "loss"]

CHUNK = 1 << 18
"""Numbers at a time."""
SEED = 1
"""Of the random bits of stochastic rounding."""


@dataclass(frozen=True, kw_only=True)
class Loss:
    """Against the numbers of the tensor, whatever source they are cut to. Shares are of its finite numbers that are not
    zero; a figure that has no meaning is None. Numbers that are ``lost`` are in that figure and in no other.
    """

    sqnr_db: float | None
    """Signal to quantization noise ratio; infinite without noise, None without signal."""
    max_relative_error: float | None
    """Largest abs(y - x) of a block over the block's largest abs(x)."""
    saturated: float | None
    """Share of numbers beyond the largest magnitude that an element of their block can have."""
    flushed: float | None
    """Share of numbers that became zero."""
    lost: float | None
    """Share of numbers that became NaN or infinite, as all of a block with a NaN do under the rules of OCP."""
    mean_bias: float | None
    """(sum abs(y) - sum abs(x)) / sum abs(x): how much larger numbers have become, in the mean."""

    def to_dict(self) -> dict[str, float | None]:
        return asdict(self)


@dataclass(frozen=True, kw_only=True)
class Sums:
    """What figures are made of; those of two parts add up with ``+``."""

    numbers: int = 0
    signal: float = 0.0
    noise: float = 0.0
    largest: float = 0.0
    saturated: int = 0
    flushed: int = 0
    lost: int = 0
    before: float = 0.0
    after: float = 0.0

    def __add__(self, other: Sums) -> Sums:
        sums = {name: value + getattr(other, name) for name, value in asdict(self).items()}
        return Sums(**sums | {"largest": max(self.largest, other.largest)})

    @property
    def loss(self) -> Loss:
        numbers = self.numbers + self.lost
        if not self.numbers:
            return Loss(**dict.fromkeys(Loss.__dataclass_fields__) | {"lost": 1.0 if self.lost else None})
        return Loss(
            sqnr_db=10 * math.log10(self.signal / self.noise) if self.noise else math.inf,
            max_relative_error=self.largest,
            saturated=self.saturated / numbers,
            flushed=self.flushed / numbers,
            lost=self.lost / numbers,
            mean_bias=(self.after - self.before) / self.before,
        )


def loss(numerics: Encode, tensors: Sequence[Tensor]) -> tuple[Loss, dict[str, Loss]]:
    """The figures over the tensors that count, and those of each by its name. Tensors are converted along their last
    axis.
    """
    found = {tensor.name: _sums(numerics, tensor) for tensor in tensors}
    total = sum((found[tensor.name] for tensor in tensors if tensor.counts), Sums())
    return total.loss, {name: sums.loss for name, sums in found.items()}


def _sums(numerics: Encode, tensor: Tensor) -> Sums:
    """The sums of a tensor, which is cut to the source of the numerics first where that is narrower."""

    def compute(_: Path) -> dict[str, float]:
        rows = tensor.values.reshape(-1, tensor.values.shape[-1] if tensor.values.ndim else 1)
        if rows.shape[1] % numerics.block_size == 0:  # blocks lie within rows: the rows do not matter
            rows = rows.reshape(-1, numerics.block_size)
        step = max(CHUNK // max(rows.shape[1], 1), 1)
        random = np.random.default_rng(SEED) if numerics.random_bits else None
        return asdict(
            sum(
                (_of_chunk(rows[start : start + step], numerics, random) for start in range(0, len(rows), step)), Sums()
            )
        )

    key: list[str | bytes] = [
        json.dumps(numerics.to_dict(), sort_keys=True),
        tensor.sha256,
        str(tensor.values.shape),
        str(tensor.values.dtype),
        sources("spec", "models"),
        Path(__file__).read_bytes(),
    ]
    return Sums(**cast("dict[str, Any]", kept_result("losses", key, compute)))


def _nearest(patterns: np.ndarray, source: FloatFormat) -> np.ndarray:
    """Numbers of a narrower source, rounded to nearest even as a cast does, from FP32 patterns."""
    if source == BF16:
        finite = patterns & INFINITY != INFINITY
        patterns = patterns + np.where(
            finite, np.uint32(0x7FFF) + (patterns >> np.uint32(16) & np.uint32(1)), np.uint32(0)
        )
    return narrow(patterns, source)


def _of_chunk(x: np.ndarray, numerics: Encode, random: np.random.Generator | None) -> Sums:
    given = as_numbers(np.ascontiguousarray(x), FP32, patterns=True)
    patterns = widen(given, np.empty(given.shape, np.uint32))
    if numerics.source == FP32:
        taken = patterns.view(np.float32)  # of which every BF16 and FP16 number is one
    else:
        taken = given if FORMATS[given.dtype] == numerics.source else _nearest(patterns, numerics.source)
    q = quantize(taken, numerics, pad=True, random=random)
    found = error_statistics(given, q)
    before = patterns.view(np.float32).astype(np.float64)
    after = dequantize(q).astype(np.float64)
    with np.errstate(invalid="ignore"):  # Inf less Inf, which is left out
        error = after - before
    counted = np.isfinite(before) & (before != 0)
    good = counted & np.isfinite(after)
    errors, sizes = (
        as_blocks(np.where(good, np.abs(values), 0), -1, numerics.block_size).max(axis=1, initial=0)
        for values in (error, before)
    )
    before, after = before[good], after[good]
    return Sums(
        numbers=int(before.size),
        signal=found.signal,
        noise=found.noise,
        saturated=found.saturated,
        flushed=found.flushed,
        lost=int(np.count_nonzero(counted)) - int(before.size),
        largest=float((errors / np.where(sizes, sizes, 1)).max(initial=0)),
        before=float(np.abs(before).sum()),
        after=float(np.abs(after).sum()),
    )
