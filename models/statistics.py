"""What a conversion lost: one small record per tensor, which can be added up chunk by chunk."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from .block import Quantized, dequantize
from .element import largest_value

__all__ = ["Statistics", "error_statistics"]


@dataclass(frozen=True, kw_only=True)
class Statistics:
    """Counts and power sums of a conversion; records of two parts of a tensor add up with ``+``."""

    elements: int = 0
    blocks: int = 0
    saturated: int = 0
    """Finite inputs beyond the largest magnitude that an element of their block can have."""
    flushed: int = 0
    """Finite inputs that are not zero and became zero."""
    nan: int = 0
    """Elements that dequantize to NaN."""
    amax_min: float = math.inf
    amax_max: float = 0.0
    """Smallest and largest of the blocks' largest finite magnitudes."""
    signal: float = 0.0
    noise: float = 0.0
    """Sums of x**2 and (x - y)**2 over finite pairs, in double precision."""

    @property
    def sqnr_db(self) -> float:
        """Signal to quantization noise ratio in decibels; inf without noise, nan without signal."""
        if not self.signal:
            return math.nan
        return 10 * math.log10(self.signal / self.noise) if self.noise else math.inf

    def __add__(self, other: Statistics) -> Statistics:
        sums = {name: getattr(self, name) + getattr(other, name)
                for name in ("elements", "blocks", "saturated", "flushed", "nan", "signal", "noise")}
        return Statistics(**sums, amax_min=min(self.amax_min, other.amax_min), amax_max=max(self.amax_max, other.amax_max))

    def to_dict(self) -> dict[str, float | int | None]:
        """For JSON: infinities and NaN, which JSON lacks, are None."""
        record = {**self.__dict__, "sqnr_db": self.sqnr_db}
        return {k: None if isinstance(v, float) and not math.isfinite(v) else v for k, v in record.items()}


def error_statistics(x: np.ndarray, q: Quantized) -> Statistics:
    """Statistics of ``q`` as the conversion of ``x`` (float32, the array that was quantized)."""
    size = q.numerics.block_size
    x, scales = np.moveaxis(np.asarray(x), q.axis, -1), np.moveaxis(q.scales, q.axis, -1)
    y = np.moveaxis(dequantize(q), q.axis, -1)
    finite = np.isfinite(x)
    magnitude = np.abs(np.where(finite, x, 0), dtype=np.float64)
    if q.length is not None and q.length % size:
        widths = [(0, 0)] * (x.ndim - 1) + [(0, -q.length % size)]
        magnitude, finite, y = np.pad(magnitude, widths), np.pad(finite, widths), np.pad(y, widths)
        x = np.pad(x, widths)
    largest = np.ldexp(largest_value(q.numerics), scales.astype(np.int32) - 127)
    blocked = magnitude.reshape(*scales.shape, size)
    amax = blocked.max(axis=-1, initial=0)
    number = scales[..., None] != q.numerics.block.scale.nan_code
    good = finite & np.isfinite(y)
    with np.errstate(invalid="ignore"):  # Inf less Inf
        error = np.where(good, x.astype(np.float64) - y, 0)
    return Statistics(
        elements=q.length * (x.size // x.shape[-1]) if x.size else 0, blocks=scales.size,
        saturated=int(np.count_nonzero((blocked > largest[..., None]) & number)),
        flushed=int(np.count_nonzero((magnitude > 0) & (y == 0))),
        nan=int(np.count_nonzero(np.isnan(y))),
        amax_min=float(amax.min(initial=math.inf)), amax_max=float(amax.max(initial=0)),
        signal=float(np.sum(np.where(good, magnitude, 0) ** 2)), noise=float(np.sum(error ** 2)))
