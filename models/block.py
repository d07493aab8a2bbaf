"""The golden model: arrays of numbers to blocks of scales and codes, and back.

Data are worked through in chunks that fit the processor's caches, in memory that is used again: every step below is one
NumPy call over a chunk, on uint32 or float32, and on the narrow dtype of the codes as soon as they fit it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias

import numpy as np

from ..spec import BlockFormat, NumberFormat, Numerics, Specials, Subnormals
from ..spec import numerics as numerics_of
from ..spec.catalogue import excerpt
from .amax import INFINITY, block_amax
from .element import code_dtype, element_values, encode
from .parallel import checked_jobs, in_order
from .scale import scale_bytes, scale_reciprocals, spread
from .source import as_array, as_numbers, require_subnormals, widen
from .special import special_blocks
from .workspace import CHUNK, Workspace, workspace

__all__ = ["Quantized", "dequantize", "quantize", "quantize_blocks", "quantized"]

BlockFunction = Callable[[np.ndarray, Numerics, np.ndarray, np.ndarray, np.ndarray | None], None]
Random: TypeAlias = "np.ndarray | np.random.Generator | None"  # unevaluated: the import of numpy.random takes its time

MAGNITUDE = np.uint32(0x7FFFFFFF)
SMALLEST_NORMAL = np.uint32(0x00800000)


@dataclass(frozen=True, kw_only=True)
class Quantized:
    """Blocks of an array: ``scales`` (..., n / block_size, ...) uint8 and ``codes`` (..., n, ...).

    Codes are right-aligned in uint8, or in uint16 where they have more than eight bits; fixed-point codes are two's
    complement. ``axis`` is the axis that was cut into blocks and ``length`` its length before padding.
    """

    scales: np.ndarray
    codes: np.ndarray
    numerics: Numerics
    axis: int = -1
    length: int | None = None


def quantize(
    x: object,
    format: str | BlockFormat | NumberFormat | Numerics,
    profile: str | None = None,
    *,
    axis: int = -1,
    pad: bool = False,
    random: Random = None,
    jobs: int = 1,
    **overrides: object,
) -> Quantized:
    """Quantize an array of float32, float16 or bfloat16 numbers into blocks along ``axis``.

    ``x`` is an array, or anything on the CPU that gives one by DLPack or ``__array__``, as PyTorch's and JAX's do.
    ``format`` is a block format by long or short name, an element format, or complete `Numerics`; the profile is
    ``ocp`` unless given; ``overrides`` are fields of `Numerics` that replace its rules. The 16-bit numbers are widened,
    which is exact; where the source is bf16, uint16 is taken for bit patterns. The axis must be a multiple of the block
    size long; with ``pad`` zeros complete the last block. Any bit pattern is accepted, NaN payloads and subnormals
    included. Under the rounding ``sr``, ``random`` gives each element's random bits: an array of unsigned numbers of
    the shape of ``x``, or a generator that draws them. ``jobs`` threads share the blocks, and the bits are the same.

    Raises TypeError for other dtypes and for tensors on a GPU or with a gradient, ValueError for an incomplete block or
    an unknown name.

    >>> q = quantize(np.linspace(-2, 2, 32, dtype=np.float32), "e2m1")
    >>> q.scales, q.codes[:4]
    (array([126], dtype=uint8), array([14, 14, 13, 13], dtype=uint8))
    """
    rules = numerics_of(format, profile, **overrides)
    return quantized(x, rules, partial(quantize_blocks, jobs=jobs), axis=axis, pad=pad, random=random)


def quantized(
    x: object, numerics: Numerics, convert: BlockFunction, *, axis: int = -1, pad: bool = False, random: Random = None
) -> Quantized:
    """Cut an array into blocks along ``axis``, have ``convert`` fill scales and codes, and shape them like the array.

    ``convert`` has the arguments of `quantize_blocks`; errors are those of `quantize`.
    """
    x = as_numbers(x, numerics.source)
    random = _random_bits(random, x.shape, numerics)
    if x.ndim == 0:
        raise ValueError("x must have at least one axis, not be a scalar")
    _require_whole("axis", axis)
    if not -x.ndim <= axis < x.ndim:
        raise ValueError(f"axis must be one of the {x.ndim} of x, not {excerpt(axis)}")
    length, size = x.shape[axis], numerics.block_size
    if length % size and not pad:
        raise ValueError(
            f"axis {axis} must be a multiple of the block size {size} long, not {length} "
            "(padding with zeros has to be asked for)"
        )
    blocks = as_blocks(x, axis, size)
    shape = (*np.moveaxis(x, axis, -1).shape[:-1], -(-length // size))
    scales, codes = np.empty(len(blocks), np.uint8), np.empty(blocks.shape, code_dtype(numerics.block.element))
    convert(blocks, numerics, scales, codes, None if random is None else as_blocks(random, axis, size))
    codes = codes.reshape(*shape[:-1], shape[-1] * size)
    return Quantized(
        scales=np.moveaxis(scales.reshape(shape), -1, axis),
        codes=np.moveaxis(codes, -1, axis),
        numerics=numerics,
        axis=axis,
        length=length,
    )


def as_blocks(x: np.ndarray, axis: int, size: int) -> np.ndarray:
    """Blocks (n, size) along an axis, the last of each row completed with zeros."""
    x = np.moveaxis(x, axis, -1)
    if x.shape[-1] % size:
        x = np.concatenate([x, np.zeros((*x.shape[:-1], -x.shape[-1] % size), x.dtype)], axis=-1)
    return np.ascontiguousarray(x).reshape(-1, size)


def _random_bits(random: Random, shape: tuple[int, ...], numerics: Numerics) -> np.ndarray | None:
    bits = numerics.random_bits
    if bits and random is None:
        raise ValueError("the rounding sr needs random bits: give random= an array or a numpy.random.Generator")
    if not bits and random is not None:
        raise ValueError(f"random bits are for the rounding sr, not for {numerics.rounding}")
    if random is None:
        return None
    if isinstance(random, np.random.Generator):
        return random.integers(0, 1 << bits, shape, np.uint16)
    random = as_array(random, "random")
    if random.dtype.kind not in "ui":
        raise TypeError(f"random must be unsigned numbers, not {random.dtype}")
    if random.shape != shape:
        raise ValueError(f"random must have the shape of x, {shape}, not {random.shape}")
    if random.size and (int(random.min()) < 0 or int(random.max()) >> bits):
        raise ValueError(f"random must be numbers of {bits} bits, not {int(random.min())} to {int(random.max())}")
    return random.astype(np.uint16)


def quantize_blocks(
    blocks: np.ndarray,
    numerics: Numerics,
    scales: np.ndarray,
    codes: np.ndarray,
    random: np.ndarray | None = None,
    *,
    jobs: int = 1,
) -> None:
    """Quantize whole blocks into given arrays: (n, block_size) numbers -> (n,) uint8 and (n, block_size) codes.

    Numbers are float32, float16 or, as bit patterns of bfloat16, uint16; codes uint8 or, above eight bits, uint16;
    ``random``, under `Rounding.SR` only, (n, block_size) uint16. All must be C-contiguous; they may be memory maps.
    ``jobs`` threads share the blocks; the bits do not depend on it. Raises TypeError and ValueError where arguments do
    not fit.
    """
    check_blocks(blocks, numerics, scales, codes, random)
    rows = CHUNK // numerics.block_size
    share = -(-len(blocks) // (rows * checked_jobs(jobs))) * rows or rows

    def work(start: int) -> None:
        part = slice(start, start + share)
        _quantize_part(blocks[part], numerics, scales[part], codes[part], None if random is None else random[part])

    for _ in in_order(work, range(0, len(blocks), share), jobs):
        pass


def _quantize_part(
    blocks: np.ndarray, numerics: Numerics, scales: np.ndarray, codes: np.ndarray, random: np.ndarray | None
) -> None:
    """What one thread does of `quantize_blocks`, a chunk at a time."""
    require_subnormals()
    rows, space = CHUNK // numerics.block_size, workspace(min(CHUNK, blocks.size), numerics)
    for start in range(0, len(blocks), rows):
        part = slice(start, start + rows)
        numbers = blocks[part].reshape(-1)
        bits = widen(numbers, space.wide[: numbers.size])
        _quantize_chunk(
            bits,
            numerics,
            space,
            scales[part],
            codes[part].reshape(-1),
            None if random is None else random[part].reshape(-1),
        )


def check_blocks(
    blocks: np.ndarray, numerics: Numerics, scales: np.ndarray, codes: np.ndarray, random: np.ndarray | None = None
) -> None:
    """Raise TypeError or ValueError unless the arrays are what `quantize_blocks` takes."""
    as_numbers(blocks, numerics.source, patterns=True)
    shape = (len(blocks), numerics.block_size)
    arrays = {
        "blocks": (blocks, shape, blocks.dtype),
        "scales": (scales, shape[:1], np.dtype(np.uint8)),
        "codes": (codes, shape, code_dtype(numerics.block.element)),
    }
    if (random is None) == (numerics.random_bits > 0):
        raise ValueError("random bits must be given under the rounding sr, and under no other")
    if random is not None:
        arrays["random"] = random, shape, np.dtype(np.uint16)
    for name, (array, shape, dtype) in arrays.items():
        if array.dtype != dtype or not array.dtype.isnative:
            raise TypeError(f"{name} must be {dtype}, not {array.dtype}")
        if array.shape != shape or not array.flags.c_contiguous:
            raise ValueError(f"{name} must be C-contiguous of shape {shape}, not of shape {array.shape}")


def _quantize_chunk(
    bits: np.ndarray,
    numerics: Numerics,
    space: Workspace,
    scales: np.ndarray,
    codes: np.ndarray,
    random: np.ndarray | None,
) -> None:
    magnitudes = np.bitwise_and(bits, MAGNITUDE, out=space.magnitudes[: bits.size])
    if numerics.input_subnormals is Subnormals.FLUSH:
        np.multiply(magnitudes, magnitudes >= SMALLEST_NORMAL, out=magnitudes)
    amax = block_amax(magnitudes, numerics.block_size)
    special = np.flatnonzero(amax >= INFINITY)
    if special.size:  # rare: let these blocks pass without what is not finite, then see to them alone
        rows = magnitudes.reshape(-1, numerics.block_size)[special]
        finite = np.where(rows >= INFINITY, np.uint32(0), rows)
        magnitudes.reshape(-1, numerics.block_size)[special] = finite
        amax[special] = finite.max(axis=1)
    np.copyto(scales, scale_bytes(amax, numerics))
    if special.size and numerics.specials is Specials.TE:
        scales[special[(rows == INFINITY).any(axis=1)]] = numerics.block.scale.max_code
    scaled = magnitudes.view(np.float32)
    np.multiply(scaled, spread(scale_reciprocals(scales), numerics.block_size, space.factors[: bits.size]), out=scaled)
    encode(scaled, bits, numerics, space, codes, random)
    if special.size:
        signs = bits.reshape(-1, numerics.block_size)[special]
        chosen = None if random is None else random.reshape(-1, numerics.block_size)[special]
        blocks = codes.reshape(-1, numerics.block_size)
        scales[special], blocks[special] = special_blocks(
            rows, signs, scales[special], blocks[special], numerics, chosen
        )


def dequantize(q: Quantized) -> np.ndarray:
    """The float32 array that scales and codes stand for, exactly; a block of scale 0xFF is NaN.

    A product beyond the range of float32, which only Inf blocks reach, is Inf. Padding is cut off.

    >>> dequantize(quantize(np.full(32, 1.5, np.float32), "int8"))[0]
    np.float32(1.5)
    """
    require_subnormals()
    check_codes(q)
    element, size = q.numerics.block.element, q.numerics.block_size
    codes, scales = np.moveaxis(q.codes, q.axis, -1), np.moveaxis(q.scales, q.axis, -1)
    factors = np.append(np.ldexp(np.float32(1), np.arange(-127, 128)).astype(np.float32), np.float32(np.nan))
    with np.errstate(over="ignore", invalid="ignore"):
        y = np.take(element_values(element), codes).reshape(*scales.shape, size)
        y *= np.take(factors, scales)[..., None]
    y = y.reshape(codes.shape)[..., : q.length]
    return np.moveaxis(y, -1, q.axis)


def check_codes(q: Quantized) -> None:
    """Raise TypeError or ValueError unless codes are those of the format, scales are bytes, and their shapes and the
    length agree.
    """
    if not isinstance(q.numerics, Numerics):
        raise TypeError(f"numerics must be of the class Numerics, not {excerpt(q.numerics)}")
    element, size = q.numerics.block.element, q.numerics.block_size
    _require_range("codes", q.codes, element.bits, f"codes of {element.name}")
    _require_range("scales", q.scales, 8, "scales")
    _require_whole("axis", q.axis)
    if q.codes.ndim != q.scales.ndim or not -q.codes.ndim <= q.axis < q.codes.ndim:
        raise ValueError(
            f"codes and scales must have the same axes and axis must be one of them, not {excerpt(q.axis)} "
            f"for the shapes {q.codes.shape} and {q.scales.shape}"
        )
    codes, scales = np.moveaxis(q.codes, q.axis, -1), np.moveaxis(q.scales, q.axis, -1)
    if codes.shape != (*scales.shape[:-1], scales.shape[-1] * size):
        raise ValueError(f"codes of shape {q.codes.shape} must have {size} elements for each scale of {q.scales.shape}")
    count = codes.shape[-1]
    if q.length is not None:
        _require_whole("length", q.length)
    if q.length is not None and not 0 <= count - q.length < size:
        raise ValueError(
            f"length must be that of the axis before its last block of {count} was completed, not {excerpt(q.length)}"
        )


def _require_range(name: str, array: object, bits: int, what: str) -> None:
    """Raise TypeError or ValueError unless an array holds whole numbers of so many bits."""
    if not isinstance(array, np.ndarray) or isinstance(array, np.ma.MaskedArray) or array.dtype.kind not in "ui":
        kind = array.dtype if type(array) is np.ndarray else type(array).__name__
        raise TypeError(f"{name} must be a NumPy array of whole numbers, not {kind}")
    if not array.size or (
        array.dtype.kind == "u" and 8 * array.itemsize <= bits
    ):  # as `quantize` makes scales: nothing to look at
        return
    low, high = 0 if array.dtype.kind == "u" else int(array.min()), int(array.max())
    if low < 0 or high >> bits:
        raise ValueError(f"{what} must be 0 to {(1 << bits) - 1}, not {low if low < 0 else high}")


def _require_whole(name: str, value: object) -> None:
    if not isinstance(value, int | np.integer) or isinstance(value, bool):
        raise TypeError(f"{name} must be a whole number, not {excerpt(value)}")
