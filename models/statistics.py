"""Errors of a conversion: counts and sums of a tensor, which add up chunk by chunk."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from ..spec import E8M0, FP32, Encode, NumberFormat
from ..spec.catalogue import excerpt
from .arrays.block_array import Quantized
from .arrays.block_codes import check_codes
from .arrays.block_layout import BlockLayout, as_blocks, shortened
from .arrays.codes import code_values
from .arrays.scratch_buffers import CHUNK, ScratchBuffers, scratch_buffers
from .arrays.source import MAGNITUDE, as_numbers, widen
from .fast.element import largest_value
from .fast.scale import RECIPROCALS, block_amax, broadcast
from .native import kernels
from .native.decode import format_and_values

VANISHING = np.float32(2.0**-40)
"""Lower bound for a block's largest magnitude in units of its scale, if the scale fits the block."""
TOP = np.uint32(0x7F000000)
"""Pattern of 2**127. Numbers from here on may be rounded to 2**128, which float32 does not have."""

PAIRS = 1 << 14
"""Pairs of numbers and results per step. The system would have to provide the memory of larger arrays for each step."""


@dataclass(frozen=True, kw_only=True)
class Statistics:
    """Counts and power sums of a conversion. The statistics of two parts of a tensor add up with ``+``."""

    elements: int = 0
    blocks: int = 0
    saturated: int = 0
    """Finite inputs beyond the largest magnitude that an element of their block can have."""
    flushed: int = 0
    """Finite inputs other than zero that became zero."""
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
        fields = {**self.__dict__, "sqnr_db": self.sqnr_db}
        return {k: None if isinstance(v, float) and not math.isfinite(v) else v for k, v in fields.items()}


def error_statistics(x: object, q: Quantized) -> Statistics:
    """The errors of the conversion of ``x`` to ``q``.

    Parameters
    ----------
    x : the array (..., n, ...) that was quantized, of any dtype that `quantize` supports
    q : the result of `quantize`

    Returns
    -------
    Statistics
        counts of elements and blocks, the range of the blocks' largest magnitudes, and the sums for the signal to
        quantization noise ratio. The sums leave out pairs with a number that is not finite

    Raises
    ------
    TypeError
        for other dtypes, and if q is not `Quantized` or its scales or codes are not NumPy arrays of integers
    ValueError
        if scales or codes are outside their format or do not fit each other
    """
    if not isinstance(q, Quantized):
        raise TypeError(f"statistics are of Quantized blocks, with their numerics, not of {excerpt(q)}")
    check_codes(q)
    if not isinstance(q.numerics, Encode):
        return _nvfp4(as_numbers(x, FP32, patterns=True), q)
    numbers, size = as_numbers(x, FP32, patterns=True), q.numerics.block_size
    blocks, codes, scales = (
        as_blocks(numbers, q.axis, size),
        as_blocks(q.codes, q.axis, size),
        as_blocks(q.scales, q.axis, 1).reshape(-1),
    )
    buffers = scratch_buffers(min(CHUNK, blocks.size), q.numerics)
    measure = _by_module if kernels is not None and codes.dtype == np.uint8 else _by_numpy
    total = Statistics(elements=numbers.size, blocks=len(blocks))
    rows, length = CHUNK // size, numbers.shape[q.axis]
    for start in range(0, len(blocks), rows):
        part = slice(start, start + rows)
        chunk = blocks[part].reshape(-1)
        bits = widen(chunk, buffers.wide[: chunk.size])
        errors, is_special = measure(bits, scales[part], np.ascontiguousarray(codes[part]), q.numerics, buffers)
        total += errors
        if is_special.any():
            special = np.flatnonzero(is_special)
            is_last = (special + start + 1) % -(-length // size) == 0
            widths = size - np.where(is_last, -length % size, 0)  # the last block of a row is completed
            total += _special_statistics(
                bits.reshape(-1, size)[special], scales[part][special], codes[part][special], widths, q.numerics
            )
    return total


def _by_module(
    bits: np.ndarray, scales: np.ndarray, codes: np.ndarray, numerics: Encode, buffers: ScratchBuffers
) -> tuple[Statistics, np.ndarray]:
    """Statistics of (n * size,) FP32 patterns, given (n,) scales and (n, size) codes, without counts of elements and
    blocks; and which blocks are left out, since their scale does not fit their numbers, or a number is not finite.

    Numbers are first divided by the scale of their block, which is exact, so that no sum of squares overflows or
    underflows.
    """
    is_special = np.empty(len(scales), bool)
    format, values = format_and_values(numerics.block)
    signal, noise, saturated, flushed, smallest, largest = kernels.errors(
        format, values, bits, np.ascontiguousarray(scales), codes, RECIPROCALS, largest_value(numerics), is_special
    )
    return Statistics(
        saturated=saturated, flushed=flushed, signal=signal, noise=noise, amax_min=smallest, amax_max=largest
    ), is_special


def _by_numpy(
    bits: np.ndarray, scales: np.ndarray, codes: np.ndarray, numerics: Encode, buffers: ScratchBuffers
) -> tuple[Statistics, np.ndarray]:
    """`_by_module` without it."""
    size, length = numerics.block_size, bits.size
    factors = RECIPROCALS[scales]
    magnitudes = np.bitwise_and(bits, MAGNITUDE, out=buffers.magnitudes[:length])
    amax = block_amax(magnitudes, size)
    decoded = _decoded(codes, numerics.block.element, buffers.power[:length].view(np.float32))
    scaled, error = broadcast(factors, size, buffers.factors[:length]), buffers.total[:length].view(np.float32)
    with np.errstate(over="ignore", invalid="ignore"):
        np.multiply(bits.view(np.float32), scaled, out=scaled)
        np.subtract(scaled, decoded, out=error)
        signal, noise = (np.vecdot(x, x) for x in (scaled.reshape(-1, size), error.reshape(-1, size)))
        fits = ((amax.view(np.float32) * factors > VANISHING) | (amax == 0)) & (amax < TOP) & np.isfinite(noise)
    flags, nonzero = buffers.flags[:length], buffers.narrow.view(bool)[:length]
    np.greater(np.abs(scaled, out=scaled), np.float32(largest_value(numerics)), out=flags)
    saturated = np.count_nonzero(flags.reshape(-1, size)[fits])
    np.logical_and(np.equal(decoded, 0, out=flags), np.not_equal(magnitudes, 0, out=nonzero), out=flags)
    weights, used = np.ldexp(1.0, 2 * (scales[fits].astype(np.int32) - E8M0.bias)), amax[fits].view(np.float32)
    return Statistics(
        saturated=int(saturated),
        flushed=int(np.count_nonzero(flags.reshape(-1, size)[fits])),
        signal=float(weights @ signal[fits]),
        noise=float(weights @ noise[fits]),
        amax_min=float(used.min(initial=np.inf)),
        amax_max=float(used.max(initial=0)),
    ), ~fits


def _decoded(codes: np.ndarray, element: NumberFormat, values: np.ndarray) -> np.ndarray:
    """Values of codes (n, size), in ``values`` (n * size,) float32."""
    if codes.dtype == np.uint8:  # two codes per look-up, as one complex number
        np.take(_pairs(element), codes.reshape(-1).view(np.uint16), out=values.view(np.complex64), mode="clip")
    else:
        np.take(code_values(element), codes.reshape(-1), out=values, mode="clip")
    return values


@lru_cache(maxsize=16)
def _pairs(element: NumberFormat) -> np.ndarray:
    """Values of pairs of codes of up to eight bits, indexed by their bytes as one number: (65536,) complex64."""
    codes = np.arange(1 << 16, dtype=np.uint16).view(np.uint8)
    return np.take(code_values(element), codes, mode="clip").view(np.complex64)


def _nvfp4(numbers: np.ndarray, q: Quantized) -> Statistics:
    """Statistics of blocks under a scale of the tensor, in double precision."""
    given = np.ascontiguousarray(numbers)
    bits = widen(given, np.empty(given.shape, np.uint32))
    x, y = bits.view(np.float32).reshape(-1), np.ascontiguousarray(q.dequantize()).reshape(-1)
    codes = np.ascontiguousarray(shortened(q.codes, q.axis, given.shape[q.axis])).reshape(-1)
    is_largest = np.abs(code_values(q.block.element)) == np.float32(q.block.element.max_value)
    total = Statistics(elements=x.size)
    for start in range(0, x.size, PAIRS):
        part = slice(start, start + PAIRS)
        total += _of_pairs(x[part], y[part], is_largest[codes[part]])
    magnitudes = np.bitwise_and(bits, MAGNITUDE)
    magnitudes[magnitudes >= FP32.inf_field] = 0
    completed = [(0, whole - used) for whole, used in zip(q.codes.shape, given.shape)]
    if any(more for _, more in completed):
        magnitudes = np.pad(magnitudes, completed)
    blocks = BlockLayout(q.codes.shape, q.block.shape, q.axis, False).blocks(magnitudes)
    amax = block_amax(blocks.reshape(-1), blocks.shape[1]).view(np.float32)
    smallest, largest = float(amax.min(initial=np.inf)), float(amax.max(initial=0))
    return total + Statistics(blocks=amax.size, amax_min=smallest, amax_max=largest)


def _of_pairs(x: np.ndarray, y: np.ndarray, is_largest: np.ndarray) -> Statistics:
    """Statistics of numbers and results, without the counts of blocks."""
    with np.errstate(invalid="ignore"):  # signalling NaN; Inf - Inf
        wide = x.astype(np.float64)
        error = wide - y
        signal, noise = float(np.square(wide).sum()), float(np.square(error).sum())
        nan = 0
        if not np.isfinite(signal) or not np.isfinite(noise):
            nan = int(np.count_nonzero(np.isnan(y)))
            good = np.isfinite(x) & np.isfinite(y)
            x, y, is_largest, wide, error = (array[good] for array in (x, y, is_largest, wide, error))
            signal, noise = float(np.square(wide).sum()), float(np.square(error).sum())
    return Statistics(
        saturated=int(np.count_nonzero(is_largest & (np.abs(x) > np.abs(y)))),
        flushed=int(np.count_nonzero((x != 0) & (y == 0))),
        nan=nan,
        signal=signal,
        noise=noise,
    )


def _special_statistics(
    bits: np.ndarray, scales: np.ndarray, codes: np.ndarray, widths: np.ndarray, numerics: Encode
) -> Statistics:
    """Statistics of any blocks in slow double precision."""
    with np.errstate(invalid="ignore"):  # signalling NaN
        x, values = (
            bits.view(np.float32).astype(np.float64),
            code_values(numerics.block.element)[codes].astype(np.float64),
        )
    scale = code_values(numerics.block.scale)[scales].astype(np.float64)[:, None]
    y = values * scale
    finite = np.isfinite(x)
    magnitude = np.abs(np.where(finite, x, 0))
    good = finite & (np.abs(y) < 2.0**128)
    amax = magnitude.max(axis=1)
    return Statistics(
        saturated=int(np.count_nonzero(magnitude > largest_value(numerics) * scale)),
        flushed=int(np.count_nonzero((magnitude > 0) & (y == 0))),
        nan=int(np.count_nonzero(np.isnan(y) & (np.arange(x.shape[1]) < widths[:, None]))),
        signal=float(np.sum(x[good] ** 2)),
        noise=float(np.sum((x[good] - y[good]) ** 2)),
        amax_min=float(amax.min()),
        amax_max=float(amax.max()),
    )
