"""What a conversion lost: one small record per tensor, which can be added up chunk by chunk."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from ..spec import FP32, NumberFormat, Numerics
from .amax import block_amax
from .block import MAGNITUDE, Quantized, as_blocks, check_codes
from .element import element_values, largest_value
from .scale import scale_reciprocals, spread
from .source import as_numbers, widen
from .workspace import CHUNK, Workspace, workspace

__all__ = ["Statistics", "error_statistics"]

VANISHING = np.float32(2.0**-40)
"""A block's largest magnitude, in units of its scale, is above this wherever the scale is its own."""
TOP = np.uint32(0x7F000000)
"""Pattern of 2**127. From here on a result may be 2**128, which float32 has not: such pairs are left out."""


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
    """Sums of x**2 and (x - y)**2 over finite pairs: in single precision within a block, in double over all."""

    @property
    def sqnr_db(self) -> float:
        """Signal to quantization noise ratio in decibels; inf without noise, nan without signal."""
        if not self.signal:
            return math.nan
        return 10 * math.log10(self.signal / self.noise) if self.noise else math.inf

    def __add__(self, other: Statistics) -> Statistics:
        sums = {
            name: getattr(self, name) + getattr(other, name)
            for name in ("elements", "blocks", "saturated", "flushed", "nan", "signal", "noise")
        }
        return Statistics(
            **sums, amax_min=min(self.amax_min, other.amax_min), amax_max=max(self.amax_max, other.amax_max)
        )

    def to_dict(self) -> dict[str, float | int | None]:
        """For JSON: infinities and NaN, which JSON lacks, are None."""
        record = {**self.__dict__, "sqnr_db": self.sqnr_db}
        return {k: None if isinstance(v, float) and not math.isfinite(v) else v for k, v in record.items()}


def error_statistics(x: object, q: Quantized) -> Statistics:
    """Statistics of ``q`` as the conversion of ``x``, the array that was quantized, of any dtype that
    `quantize` takes.
    """
    check_codes(q)
    x, size = as_numbers(x, FP32, patterns=True), q.numerics.block_size
    blocks, codes, scales = as_blocks(x, q.axis, size), as_blocks(q.codes, q.axis, size), as_blocks(q.scales, q.axis, 1)
    length = x.shape[q.axis]
    # in the last block of a row the elements beyond the length are padding
    widths = np.full((x.size // max(length, 1), -(-length // size)), size)
    widths[:, -1:] -= -length % size
    space, total = workspace(min(CHUNK, blocks.size), q.numerics), Statistics(elements=x.size, blocks=len(blocks))
    rows = CHUNK // size
    for start in range(0, len(blocks), rows):
        part = slice(start, start + rows)
        numbers = blocks[part].reshape(-1)
        bits = widen(numbers, space.wide[: numbers.size])
        total += _of_chunk(bits, scales[part, 0], codes[part], widths.reshape(-1)[part], q.numerics, space)
    return total


def _of_chunk(
    bits: np.ndarray, scales: np.ndarray, codes: np.ndarray, widths: np.ndarray, numerics: Numerics, space: Workspace
) -> Statistics:
    """What became of (n * size,) FP32 patterns in (n,) scales and (n, size) codes; elements and blocks are not counted.

    Numbers are divided by the scale of their block first, exactly, so that no sum of squares overflows or vanishes.
    Blocks whose scale does not fit their numbers, as where there is NaN or Inf, go another way.
    """
    size, length = numerics.block_size, bits.size
    magnitudes = np.bitwise_and(bits, MAGNITUDE, out=space.magnitudes[:length])
    amax = block_amax(magnitudes, size)
    factors = scale_reciprocals(scales)
    decoded = _decoded(codes, numerics.block.element, space.power[:length].view(np.float32))
    scaled, error = spread(factors, size, space.factors[:length]), space.total[:length].view(np.float32)
    with np.errstate(over="ignore", invalid="ignore"):
        np.multiply(bits.view(np.float32), scaled, out=scaled)
        np.subtract(scaled, decoded, out=error)
        signal, noise = (np.vecdot(x, x) for x in (scaled.reshape(-1, size), error.reshape(-1, size)))
        reach = amax.view(np.float32) * factors
    fits = ((reach > VANISHING) | (amax == 0)) & (amax < TOP) & np.isfinite(noise)
    special = np.flatnonzero(~fits)
    lost = Statistics()
    if special.size:
        lost, amax[special] = _of_special(
            bits.reshape(-1, size)[special], scales[special], codes[special], widths[special], numerics
        )
        signal[special] = noise[special] = 0
        magnitudes.reshape(-1, size)[special] = 0
        scaled.reshape(-1, size)[special] = 0
    flags, others = space.flags[:length], space.narrow.view(bool)[:length]
    saturated = np.count_nonzero(np.greater(np.abs(scaled, out=scaled), np.float32(largest_value(numerics)), out=flags))
    np.logical_and(np.equal(decoded, 0, out=flags), np.not_equal(magnitudes, 0, out=others), out=flags)
    weights = np.ldexp(1.0, 2 * (scales.astype(np.int32) - 127))
    return lost + Statistics(
        saturated=int(saturated),
        flushed=int(np.count_nonzero(flags)),
        signal=float(weights @ signal),
        noise=float(weights @ noise),
        amax_min=float(amax.view(np.float32).min()),
        amax_max=float(amax.view(np.float32).max()),
    )


def _decoded(codes: np.ndarray, element: NumberFormat, values: np.ndarray) -> np.ndarray:
    """Values of codes (n, size), in ``values`` (n * size,) float32."""
    if codes.dtype == np.uint8:  # two at once, as one complex number: a look-up costs the same
        np.take(_pairs(element), codes.reshape(-1).view(np.uint16), out=values.view(np.complex64), mode="clip")
    else:
        np.take(element_values(element), codes.reshape(-1), out=values, mode="clip")
    return values


@lru_cache(maxsize=16)
def _pairs(element: NumberFormat) -> np.ndarray:
    """Values of each two neighbouring codes of up to eight bits, by their bytes read as one number: (65536,)
    complex64.
    """
    codes = np.arange(1 << 16, dtype=np.uint16).view(np.uint8)
    return np.take(element_values(element), codes, mode="clip").view(np.complex64)


def _of_special(
    bits: np.ndarray, scales: np.ndarray, codes: np.ndarray, widths: np.ndarray, numerics: Numerics
) -> tuple[Statistics, np.ndarray]:
    """Statistics of any blocks, and their largest finite magnitudes as patterns: slow, in double precision."""
    with np.errstate(invalid="ignore"):  # signalling NaN
        x, values = (
            bits.view(np.float32).astype(np.float64),
            element_values(numerics.block.element)[codes].astype(np.float64),
        )
    scale = np.where(scales == numerics.block.scale.nan_code, np.nan, np.ldexp(1.0, scales.astype(np.int32) - 127))[
        :, None
    ]
    y = values * scale
    finite = np.isfinite(x)
    magnitude = np.abs(np.where(finite, x, 0))
    good = finite & (np.abs(y) < 2.0**128)
    amax = magnitude.max(axis=1).astype(np.float32)
    return Statistics(
        saturated=int(np.count_nonzero(magnitude > largest_value(numerics) * scale)),
        flushed=int(np.count_nonzero((magnitude > 0) & (y == 0))),
        nan=int(np.count_nonzero(np.isnan(y) & (np.arange(x.shape[1]) < widths[:, None]))),
        signal=float(np.sum(x[good] ** 2)),
        noise=float(np.sum((x[good] - y[good]) ** 2)),
    ), amax.view(np.uint32)
