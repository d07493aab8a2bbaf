"""Loss of an operation on tensors: figures of the golden model, cached by content."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import cast

import numpy as np

from ..host.cache import kept_result, sources
from ..models import dequantize, error_statistics, quantize
from ..models.arrays.block_layout import as_blocks
from ..models.arrays.codes import code_values
from ..models.arrays.source import DTYPES, FORMATS, INFINITY, MAGNITUDE, as_numbers, narrow, widen
from ..models.fast.cast import cast_patterns, pattern_values
from ..models.fast.decode import decode_blocks
from ..models.fast.nvfp4_encode import quantize_nvfp4
from ..spec import BF16, FP32, Cast, Decode, Encode, FloatFormat, Nvfp4Encode, Operation, casting, numerics
from ..spec.catalogue import constructed
from .tensors import Tensor

CHUNK = 1 << 18
"""Numbers per chunk."""
SEED = 1
"""Seed of the random bits of stochastic rounding."""


@dataclass(frozen=True, kw_only=True)
class Loss:
    """Figures of accuracy.

    Encoders and casts are compared with the numbers of the tensor, before these are rounded to a source. Decoders, and
    casts back to numbers, are compared with the exact values of the codes that OCP's encoder gives for the tensor.
    Shares refer to the finite numbers that are not zero. ``lost`` numbers are excluded from all other figures. A figure
    without a meaning is None.
    """

    sqnr_db: float | None
    """Signal to quantization noise ratio; infinite without noise, None without signal."""
    max_relative_error: float | None
    """Largest abs(y - x) of a block over the block's largest abs(x); for decoders and casts, of single numbers."""
    saturated: float | None
    """Share of numbers beyond the largest magnitude of the result."""
    flushed: float | None
    """Share of numbers that became zero."""
    lost: float | None
    """Share of numbers that became NaN or infinite, as all numbers of a block with a NaN under OCP."""
    mean_bias: float | None
    """(sum abs(y) - sum abs(x)) / sum abs(x): the mean growth of magnitudes."""
    differing: float | None = None
    """Share of numbers whose result has another value, lost ones included; for decoders and casts."""

    def to_dict(self) -> dict[str, float | None]:
        return asdict(self)


@dataclass(frozen=True, kw_only=True)
class Sums:
    """Sums from which figures are computed; ``+`` adds the sums of two parts."""

    numbers: int = 0
    signal: float = 0.0
    noise: float = 0.0
    largest: float = 0.0
    saturated: int = 0
    flushed: int = 0
    lost: int = 0
    before: float = 0.0
    after: float = 0.0
    differing: int = 0

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
            differing=(self.differing + self.lost) / numbers,
        )


def loss(rules: Operation, tensors: Sequence[Tensor]) -> tuple[Loss, dict[str, Loss]]:
    """The figures over the tensors that count, and the figures of each tensor by its name. Tensors are converted along
    their last axis.
    """

    def figures(sums: Sums) -> Loss:
        return replace(sums.loss, differing=None) if isinstance(rules, Encode | Nvfp4Encode) else sums.loss

    found = {tensor.name: _sums(rules, tensor) for tensor in tensors}
    total = sum((found[tensor.name] for tensor in tensors if tensor.counts), Sums())
    return figures(total), {name: figures(sums) for name, sums in found.items()}


def _sums(rules: Operation, tensor: Tensor) -> Sums:
    """The sums of a tensor, which is first rounded to the source of the rules."""

    def compute(_: Path) -> dict[str, float]:
        rows = tensor.values.reshape(-1, tensor.values.shape[-1] if tensor.values.ndim else 1)
        if rows.shape[1] % rules.block_size == 0:  # blocks lie within rows
            rows = rows.reshape(-1, rules.block_size)
        step = max(CHUNK // max(rows.shape[1], 1), 1)
        random = np.random.default_rng(SEED) if rules.random_bits else None
        of_chunk = CHUNKS[rules.name]
        if isinstance(rules, Nvfp4Encode):
            of_chunk = partial(of_chunk, tensor_amax=_largest(rows, rules.source))
        return asdict(
            sum((of_chunk(rows[start : start + step], rules, random) for start in range(0, len(rows), step)), Sums())
        )

    key: list[str | bytes] = [
        json.dumps(rules.to_dict(), sort_keys=True),
        tensor.sha256,
        str(tensor.values.shape),
        str(tensor.values.dtype),
        sources("spec", "models"),
        Path(__file__).read_bytes(),
    ]
    return constructed(Sums, cast("dict[str, object]", kept_result("losses", key, compute)))


def _nearest(patterns: np.ndarray, source: FloatFormat) -> np.ndarray:
    """Numbers of a narrower source from FP32 patterns, rounded to nearest even."""
    if source == BF16:
        finite = patterns & INFINITY != INFINITY
        patterns = patterns + np.where(
            finite, np.uint32(0x7FFF) + (patterns >> np.uint32(16) & np.uint32(1)), np.uint32(0)
        )
    return narrow(patterns, source)


def _taken(x: np.ndarray, source: FloatFormat) -> tuple[np.ndarray, np.ndarray]:
    """Numbers as float32, and rounded to a source."""
    given = as_numbers(np.ascontiguousarray(x), FP32, patterns=True)
    patterns = widen(given, np.empty(given.shape, np.uint32))
    exact = patterns.view(np.float32)
    if source == FP32:
        return exact, exact  # BF16 and FP16 numbers are FP32 numbers
    return exact, given if FORMATS[given.dtype] == source else _nearest(patterns, source)


def _encoded(x: np.ndarray, rules: Encode, random: np.random.Generator | None) -> Sums:
    numbers, taken = _taken(x, rules.source)
    q = quantize(taken, rules, pad=True, random=random)
    found = error_statistics(numbers, q)
    sums = compared(numbers.astype(np.float64), dequantize(q).astype(np.float64), rules.block_size)
    return replace(sums, signal=found.signal, noise=found.noise, saturated=found.saturated, flushed=found.flushed)


def _encoded_nvfp4(x: np.ndarray, rules: Nvfp4Encode, random: np.random.Generator | None, tensor_amax: float) -> Sums:
    numbers, taken = _taken(x, rules.source)
    amax = None if rules.block.tensor_scale is None else tensor_amax
    q = quantize_nvfp4(taken, rules, tensor_amax=amax, pad=True, random=random)
    return compared(numbers.astype(np.float64), dequantize(q).astype(np.float64), rules.block_size)


def _largest(x: np.ndarray, source: FloatFormat) -> float:
    """The largest magnitude of the finite numbers of a source."""
    _, taken = _taken(x, source)
    wide = widen(as_numbers(taken, source), np.empty(taken.shape, np.uint32)) & MAGNITUDE
    return float(wide[wide < INFINITY].max(initial=0).view(np.float32))


def _decoded(x: np.ndarray, rules: Decode, random: np.random.Generator | None) -> Sums:
    q = quantize(_taken(x, FP32)[0], numerics(rules.block), pad=True)
    codes, scales = as_blocks(q.codes, -1, rules.block_size), as_blocks(q.scales, -1, 1)
    factors = code_values(rules.block.scale).astype(np.float64)[scales]
    y = np.empty(codes.shape, DTYPES[rules.destination.name])
    decode_blocks(scales[:, 0], codes, rules, y, _drawn(codes.shape, rules, random))
    before = code_values(rules.block.element).astype(np.float64)[codes] * factors
    return compared(before, _values(y, rules.destination), largest=rules.destination)


def _cast(x: np.ndarray, rules: Cast, random: np.random.Generator | None) -> Sums:
    source = casting(rules.scalar).source if rules.is_back else rules.source
    exact, taken = _taken(x, source)
    patterns, before = np.ascontiguousarray(taken).view(f"u{source.bits // 8}"), exact.astype(np.float64)
    if rules.is_back:
        patterns = _cast_to(patterns, casting(rules.scalar), None)
        before = pattern_values(patterns, rules.source)
    results = _cast_to(patterns, rules, _drawn(patterns.shape, rules, random))
    return compared(before, pattern_values(results, rules.destination), largest=rules.destination)


def _cast_to(patterns: np.ndarray, rules: Cast, random: np.ndarray | None) -> np.ndarray:
    results = np.empty(patterns.shape, f"u{-(-rules.destination.bits // 8)}")
    cast_patterns(patterns, rules, results, random)
    return results


CHUNKS: dict[str, Callable[..., Sums]] = {
    "encode": _encoded,
    "decode": _decoded,
    "cast": _cast,
    "two_level_encode": _encoded_nvfp4,
}
"""The function that sums some rows of a tensor, by operation."""


def _drawn(shape: tuple[int, ...], rules: Operation, random: np.random.Generator | None) -> np.ndarray | None:
    return None if random is None else random.integers(0, 1 << rules.random_bits, shape, np.uint16)


def _values(y: np.ndarray, destination: FloatFormat) -> np.ndarray:
    """The values of numbers; BF16 numbers are patterns."""
    return pattern_values(y.view(f"u{y.itemsize}").reshape(-1), destination).reshape(y.shape)


def compared(before: np.ndarray, after: np.ndarray, size: int = 1, largest: FloatFormat | None = None) -> Sums:
    """The sums of numbers (..., n) and their results, in blocks of ``size`` along the last axis."""
    counted = np.isfinite(before) & (before != 0)
    good = counted & np.isfinite(after)
    with np.errstate(invalid="ignore"):  # Inf - Inf, which is left out
        error = after - before
    errors, sizes = (
        as_blocks(np.where(good, np.abs(values), 0), -1, size).max(axis=1, initial=0) for values in (error, before)
    )
    beyond = (
        0
        if largest is None
        else np.count_nonzero(np.abs(before[counted]) > float(largest.decode(largest.max_code).magnitude))
    )
    before, after, error = before[good], after[good], error[good]
    return Sums(
        numbers=int(before.size),
        signal=float((before**2).sum()),
        noise=float((error**2).sum()),
        saturated=int(beyond),
        flushed=int(np.count_nonzero(after == 0)),
        lost=int(np.count_nonzero(counted)) - int(before.size),
        largest=float((errors / np.where(sizes, sizes, 1)).max(initial=0)),
        before=float(np.abs(before).sum()),
        after=float(np.abs(after).sum()),
        differing=int(np.count_nonzero(error)),
    )
