"""The golden model: arrays of numbers to blocks of scales and codes, and back.

Data are worked through in chunks that fit the processor's second-level cache, with buffers that are used again: every
step below is one NumPy call over a chunk, on uint32 or float32.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ..spec import BlockFormat, Numerics, Specials, Subnormals, converter_config
from .amax import INFINITY, block_amax
from .element import element_values, encode, signed_codes
from .rounding import Workspace
from .scale import scale_bytes, scale_reciprocals

__all__ = ["Quantized", "quantize", "quantized", "quantize_blocks", "dequantize"]

BlockFunction = Callable[[np.ndarray, Numerics, np.ndarray, np.ndarray], None]

CHUNK = 32 * 1024
"""Elements at a time: a few 128 KiB buffers, which stay in a second-level cache."""

MAGNITUDE = np.uint32(0x7FFFFFFF)
SMALLEST_NORMAL = np.uint32(0x00800000)


@dataclass(frozen=True, kw_only=True)
class Quantized:
    """Blocks of an array: ``scales`` (..., n / block_size, ...) and ``codes`` (..., n, ...), both uint8.

    Codes are right-aligned; fixed-point codes are the two's complement byte. ``axis`` is the axis that was cut into
    blocks and ``length`` its length before padding.
    """

    scales: np.ndarray
    codes: np.ndarray
    numerics: Numerics
    axis: int = -1
    length: int | None = None


def quantize(x: np.ndarray, format: str | BlockFormat | Numerics, profile: str | None = None, *, axis: int = -1,
             pad: bool = False, **overrides: object) -> Quantized:
    """Quantize a float32 array into blocks along ``axis``.

    ``format`` is a block format by long or short name, or complete `Numerics`; the profile is ``ocp`` unless given;
    ``overrides`` are fields of `Numerics` that replace its rules. The axis must be a multiple of the block size long; with ``pad`` zeros
    complete the last block. Any bit pattern is accepted, NaN payloads and subnormals included.

    Raises TypeError for other dtypes, ValueError for an incomplete block or an unknown name.

    >>> q = quantize(np.linspace(-2, 2, 32, dtype=np.float32), "e2m1")
    >>> q.scales, q.codes[:4]
    (array([126], dtype=uint8), array([14, 14, 13, 13], dtype=uint8))
    """
    rules = converter_config(format, profile, **overrides).numerics
    return quantized(x, rules, quantize_blocks, axis=axis, pad=pad)


def quantized(x: np.ndarray, numerics: Numerics, convert: BlockFunction, *, axis: int = -1, pad: bool = False) -> Quantized:
    """Cut an array into blocks along ``axis``, have ``convert`` fill scales and codes, and shape them like the array.

    ``convert`` has the arguments of `quantize_blocks`; errors are those of `quantize`.
    """
    x = np.asarray(x)
    if x.dtype.newbyteorder("=") != np.float32:
        raise TypeError(f"x must be float32, not {x.dtype}")
    if x.ndim == 0:
        raise ValueError("x must have at least one axis, not be a scalar")
    if not -x.ndim <= axis < x.ndim:
        raise ValueError(f"axis must be one of the {x.ndim} of x, not {axis}")
    size = numerics.block_size
    x = np.moveaxis(x, axis, -1)
    length = x.shape[-1]
    if length % size:
        if not pad:
            raise ValueError(f"axis {axis} must be a multiple of the block size {size} long, not {length} "
                             "(padding with zeros has to be asked for)")
        x = np.concatenate([x, np.zeros((*x.shape[:-1], -length % size), np.float32)], axis=-1)
    blocks = np.ascontiguousarray(x, dtype=np.float32).reshape(-1, size)
    scales, codes = np.empty(len(blocks), np.uint8), np.empty(blocks.shape, np.uint8)
    convert(blocks, numerics, scales, codes)
    scales = scales.reshape(*x.shape[:-1], x.shape[-1] // size)
    return Quantized(scales=np.moveaxis(scales, -1, axis), codes=np.moveaxis(codes.reshape(x.shape), -1, axis),
                     numerics=numerics, axis=axis, length=length)


def quantize_blocks(blocks: np.ndarray, numerics: Numerics, scales: np.ndarray, codes: np.ndarray) -> None:
    """Quantize whole blocks into given arrays: (n, block_size) float32 -> (n,) uint8 and (n, block_size) uint8.

    All three must be C-contiguous; they may be memory maps. Raises TypeError and ValueError where they do not fit.
    """
    check_blocks(blocks, numerics, scales, codes)
    # Some libraries switch the processor to flush-to-zero for the whole process; then float32 is not IEEE 754.
    if np.float32(2.0 ** -149) * np.float32(2) != np.float32(2.0 ** -148):
        raise RuntimeError("this thread flushes subnormal numbers to zero (a library has changed the processor's "
                           "floating-point mode), so exact results are impossible")
    size = numerics.block_size
    rows = CHUNK // size
    workspace = Workspace(CHUNK)
    magnitudes, scaled = np.empty(CHUNK, np.uint32), np.empty(CHUNK, np.float32)
    for start in range(0, len(blocks), rows):
        chunk = blocks[start:start + rows].reshape(-1).view(np.uint32)
        _quantize_chunk(chunk, numerics, workspace, magnitudes[:chunk.size], scaled[:chunk.size],
                        scales[start:start + rows], codes[start:start + rows].reshape(-1))


def check_blocks(blocks: np.ndarray, numerics: Numerics, scales: np.ndarray, codes: np.ndarray) -> None:
    """Raise TypeError or ValueError unless the arrays are what `quantize_blocks` takes."""
    shapes = {"blocks": (blocks, (len(blocks), numerics.block_size), np.float32),
              "scales": (scales, (len(blocks),), np.uint8), "codes": (codes, (len(blocks), numerics.block_size), np.uint8)}
    for name, (array, shape, dtype) in shapes.items():
        if array.dtype != dtype:
            raise TypeError(f"{name} must be {np.dtype(dtype)}, not {array.dtype}")
        if array.shape != shape or not array.flags.c_contiguous:
            raise ValueError(f"{name} must be C-contiguous of shape {shape}, not of shape {array.shape}")


def _quantize_chunk(bits: np.ndarray, numerics: Numerics, workspace: Workspace, magnitudes: np.ndarray,
                    scaled: np.ndarray, scales: np.ndarray, codes: np.ndarray) -> None:
    np.bitwise_and(bits, MAGNITUDE, out=magnitudes)
    if numerics.input_subnormals is Subnormals.FLUSH:
        np.multiply(magnitudes, magnitudes >= SMALLEST_NORMAL, out=magnitudes)
    amax = block_amax(magnitudes, numerics.block_size)
    special = np.flatnonzero(amax >= INFINITY)
    dropped = None
    if special.size:  # rare: work on these blocks alone, then let them pass as blocks of numbers
        rows = magnitudes.reshape(-1, numerics.block_size)[special]
        not_finite = rows >= INFINITY
        if numerics.specials is Specials.DROP:
            dropped = not_finite, rows[not_finite]
        rows[not_finite] = 0
        magnitudes.reshape(-1, numerics.block_size)[special] = rows
        kept_amax, amax[special] = amax[special], rows.max(axis=1)
    np.copyto(scales, scale_bytes(amax, numerics))
    reciprocals = np.repeat(scale_reciprocals(scales), numerics.block_size)
    np.multiply(magnitudes.view(np.float32), reciprocals, out=scaled)
    encode(scaled, bits, numerics, workspace, codes)
    if special.size:
        blocks = codes.reshape(-1, numerics.block_size)
        signs = bits.reshape(-1, numerics.block_size)[special]
        if numerics.specials is Specials.DROP:
            blocks[special] = _with_dropped(blocks[special], signs, *dropped, scales[special], numerics)
        else:
            scales[special], blocks[special] = _special_blocks(kept_amax, signs, numerics)


def _special_blocks(amax: np.ndarray, bits: np.ndarray, numerics: Numerics) -> tuple[np.ndarray, np.ndarray]:
    """Scales and codes of blocks that hold NaN or Inf: (n,) and (n, block_size) uint32 -> (n,), (n, block_size) uint8."""
    element = numerics.block.element
    codes = np.empty(bits.shape, np.uint8)
    if numerics.specials is Specials.NAN_BLOCK:
        codes[:] = element.nan_code or 0
        return np.full(len(bits), 0xFF, np.uint8), codes
    is_nan = amax > INFINITY  # a NaN pattern is above that of Inf, so the maximum tells
    magnitude = np.where(is_nan, np.uint32(element.signal_nan_code), np.uint32(element.signal_inf_code))
    signed_codes(np.repeat(magnitude, numerics.block_size), bits.reshape(-1), element, codes.reshape(-1))
    return np.where(is_nan, 0xFF, 0xFE).astype(np.uint8), codes


def _with_dropped(codes: np.ndarray, bits: np.ndarray, where: np.ndarray, magnitudes: np.ndarray, scales: np.ndarray,
                  numerics: Numerics) -> np.ndarray:
    """``codes`` with those of Inf and NaN inputs, read as numbers of exponent 128, put in at ``where``."""
    exponent = 127.0 - np.repeat(scales, where.sum(axis=1))
    significand = 1 + (magnitudes & np.uint32(0x7FFFFF)) * 2.0 ** -23
    # beyond float32: scaled in double precision, which is exact, and cut to twice what saturates
    y = np.ldexp(significand, (exponent + 128).astype(np.int32))
    y = np.minimum(y, 2.0 ** (numerics.block.element.emax + 2)).astype(np.float32)
    new = np.empty(y.size, np.uint8)
    encode(y, bits[where], numerics, Workspace(y.size), new)
    codes[where] = new
    return codes


def dequantize(q: Quantized) -> np.ndarray:
    """The float32 array that scales and codes stand for, exactly; a block of scale 0xFF is NaN.

    A product beyond the range of float32, which only Inf blocks reach, is Inf. Padding is cut off.

    >>> dequantize(quantize(np.full(32, 1.5, np.float32), "int8"))[0]
    np.float32(1.5)
    """
    element, size = q.numerics.block.element, q.numerics.block_size
    codes, scales = np.moveaxis(q.codes, q.axis, -1), np.moveaxis(q.scales, q.axis, -1)
    if codes.size and int(codes.max()) >> element.bits:
        raise ValueError(f"codes of {element.name} must be below {1 << element.bits}, not {int(codes.max())}")
    if codes.shape != (*scales.shape[:-1], scales.shape[-1] * size):
        raise ValueError(f"codes of shape {q.codes.shape} must have {size} elements for each scale of {q.scales.shape}")
    factors = np.append(np.ldexp(np.float32(1), np.arange(-127, 128)).astype(np.float32), np.float32(np.nan))
    with np.errstate(over="ignore", invalid="ignore"):
        y = np.take(element_values(element), codes).reshape(*scales.shape, size)
        y *= np.take(factors, scales)[..., None]
    length = codes.shape[-1] if q.length is None else q.length
    if not 0 <= codes.shape[-1] - length < max(size, 1):
        raise ValueError(f"length must be that of the axis before its last block of {codes.shape[-1]} was completed, not {length}")
    y = y.reshape(codes.shape)[..., :length]
    return np.moveaxis(y, -1, q.axis)
