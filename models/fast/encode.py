"""The golden model of encoding: arrays of numbers to blocks of scales and codes.

Data are processed in chunks that fit the processor's caches, in reused scratch buffers. Every step is one NumPy call on
a chunk of uint32 or float32, and on the narrow dtype of the codes as soon as the values fit it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Unpack

import numpy as np
from numpy.typing import DTypeLike

from ...spec import (
    FP16,
    FP32,
    BlockFormat,
    Encode,
    EncodedZero,
    EncodeFields,
    FloatFormat,
    NumberFormat,
    Specials,
    Subnormals,
)
from ...spec import numerics as numerics_of
from ..arrays.block_array import Quantized
from ..arrays.block_layout import BlockLayout
from ..arrays.parallel import in_chunks
from ..arrays.scratch_buffers import CHUNK, ScratchBuffers, scratch_buffers
from ..arrays.source import (
    FORMATS,
    INFINITY,
    MAGNITUDE,
    SIGN,
    SMALLEST_NORMAL,
    Random,
    as_numbers,
    code_dtype,
    random_bits,
    rounded_to,
    widen,
)
from ..native import AT_ONCE, made_by_module
from ..native.encode import encode_blocks, rules_of
from .element import encode
from .scale import block_amax, broadcast, scale_bytes, scale_reciprocals
from .special import SPECIALS, SpecialBlocks

TAKEN_FOR = {
    EncodedZero.POSITIVE: np.uint32(0),
    EncodedZero.TAKEN_POSITIVE: np.uint32(0),
    EncodedZero.TAKEN_NEGATIVE: SIGN,
}
"""Bit pattern substituted for zeros, if the rule changes their sign."""

BlockFunction = Callable[[np.ndarray, Encode, np.ndarray, np.ndarray, np.ndarray | None], None]


def quantize(
    x: object,
    format: str | BlockFormat | NumberFormat | Encode,
    profile: str | None = None,
    *,
    axis: int = -1,
    pad: bool = False,
    random: Random = None,
    dtype: DTypeLike | None = None,
    jobs: int = 1,
    **rules: Unpack[EncodeFields],
) -> Quantized:
    """Quantize an array into blocks along an axis.

    Any bit pattern is accepted, NaN payloads and subnormals included. Numbers of 16 bits are widened, which is exact.

    Parameters
    ----------
    x : array (..., n, ...) of float32, float16 or bfloat16 numbers, or anything on the CPU that gives one by DLPack or
        ``__array__``, such as a tensor of PyTorch or JAX. If the source is bf16, uint16 contains its patterns.
    format : a block format by its long or short name, an element format, or complete numerics
    profile : the name of the profile; ``ocp`` by default
    axis : the axis that is cut into blocks; its length is a multiple of the block size
    pad : complete the last block along the axis with zeros
    random : under the rounding ``sr``, the random bits of each element: an array of unsigned integers of the shape of
        ``x``, or a generator, of NumPy or PyTorch, that draws them
    dtype : float32 or float16: round to it first, to nearest as `numpy.asarray` does. float64, integers and lists need
        it, because the result is then rounded twice
    jobs : number of threads that share the blocks; the bits do not depend on it
    rules : fields of `Encode` that override the profile

    Returns
    -------
    Quantized
        ``scales`` (..., n / block_size, ...) uint8, and ``codes`` (..., n, ...) uint8, or uint16 above eight bits

    Raises
    ------
    TypeError
        for other dtypes, masked arrays, and tensors on a GPU or with a gradient
    ValueError
        for an incomplete block, an unknown name, and random bits that the rounding does not take
    RuntimeError
        if this thread flushes subnormal numbers to zero or does not round to nearest

    >>> q = quantize(np.linspace(-2, 2, 32, dtype=np.float32), "e2m1")
    >>> q.scales, q.codes[:4]
    (array([126], dtype=uint8), array([14, 14, 13, 13], dtype=uint8))
    """
    numerics = numerics_of(format, profile, **rules)
    convert = partial(quantize_blocks, jobs=jobs)
    made_by = made_by_module(rules_of(numerics, numerics.source) is not None)
    return quantized(x, numerics, convert, axis=axis, pad=pad, random=random, dtype=dtype, made_by=made_by)


def quantized(
    x: object,
    numerics: Encode,
    convert: BlockFunction,
    *,
    axis: int = -1,
    pad: bool = False,
    random: Random = None,
    dtype: DTypeLike | None = None,
    made_by: str | None = None,
) -> Quantized:
    """Encode an array in blocks along ``axis`` by ``convert``.

    ``convert`` is a function like `quantize_blocks`. Raises as `quantize`.
    """
    numbers = source_numbers(x, numerics.source, dtype)
    bits = random_bits(random, numbers.shape, numerics.random_bits, numerics.rounding)
    layout = BlockLayout(numbers.shape, numerics.block.shape, axis, pad)
    blocks = layout.blocks(numbers)
    scales, codes = np.empty(len(blocks), np.uint8), np.empty(blocks.shape, code_dtype(numerics.block.element))
    convert(blocks, numerics, scales, codes, None if bits is None else layout.blocks(bits))
    return Quantized(
        scales=layout.scales(scales),
        codes=layout.codes(codes),
        numerics=numerics,
        axis=axis,
        length=numbers.shape[axis],
        made_by=made_by,
    )


def source_numbers(x: object, source: FloatFormat, dtype: DTypeLike | None) -> np.ndarray:
    """``x`` as an array of numbers of the source. Raises as `quantize`."""
    given = x if dtype is None else rounded_to(x, dtype)
    rounded = {FP32: "float32", FP16: "float16"}.get(source)
    return as_numbers(given, source, hint=f": dtype='{rounded}' rounds it first" if rounded else "")


def quantize_blocks(
    blocks: np.ndarray,
    numerics: Encode,
    scales: np.ndarray,
    codes: np.ndarray,
    random: np.ndarray | None = None,
    *,
    jobs: int = 1,
) -> None:
    """Quantize whole blocks into given arrays: (n, block_size) numbers -> (n,) uint8 and (n, block_size) codes.

    Numbers are float32, float16 or, as bit patterns of bfloat16, uint16. Codes are uint8, or uint16 above eight bits.
    ``random``, under `Rounding.SR` only, is (n, block_size) uint16. All must be C-contiguous; they may be memory maps.
    ``jobs`` threads share the blocks; the bits do not depend on it. Raises TypeError and ValueError for arrays of other
    dtypes or shapes.
    """
    check_blocks(blocks, numerics, scales, codes, random)

    rules = rules_of(numerics, FORMATS[blocks.dtype])

    def work(part: slice) -> None:
        numbers, bits = blocks[part], None if random is None else random[part]
        if rules is None:
            _quantize_part(numbers, numerics, scales[part], codes[part], bits)
            return
        special = encode_blocks(numbers, rules, scales[part], codes[part], bits)
        for start in range(0, special.size, CHUNK // numerics.block_size):  # rare: blocks with NaN or Inf
            rows = special[start : start + CHUNK // numerics.block_size]
            found = np.empty(len(rows), scales.dtype), np.empty((len(rows), numerics.block_size), codes.dtype)
            _quantize_part(numbers[rows], numerics, *found, None if bits is None else bits[rows])
            scales[part][rows], codes[part][rows] = found

    in_chunks(work, len(blocks), CHUNK // numerics.block_size, jobs, at_once=1 if rules is None else AT_ONCE)


def _quantize_part(
    blocks: np.ndarray, numerics: Encode, scales: np.ndarray, codes: np.ndarray, random: np.ndarray | None
) -> None:
    buffers, numbers = scratch_buffers(min(CHUNK, blocks.size), numerics), blocks.reshape(-1)
    _quantize_chunk(
        widen(numbers, buffers.wide[: numbers.size]),
        numerics,
        buffers,
        scales,
        codes.reshape(-1),
        None if random is None else random.reshape(-1),
    )


def check_blocks(
    blocks: np.ndarray, numerics: Encode, scales: np.ndarray, codes: np.ndarray, random: np.ndarray | None = None
) -> None:
    """Raise TypeError or ValueError unless `quantize_blocks` supports the arrays."""
    as_numbers(blocks, numerics.source, patterns=True)
    shape = (len(blocks), numerics.block_size)
    arrays: dict[str, tuple[np.ndarray, tuple[int, ...], np.dtype]] = {
        "blocks": (blocks, shape, blocks.dtype),
        "scales": (scales, shape[:1], np.dtype(np.uint8)),
        "codes": (codes, shape, code_dtype(numerics.block.element)),
    }
    if (random is None) == (numerics.random_bits > 0):
        raise ValueError("random bits must be given under the rounding sr, and under no other")
    if random is not None:
        arrays["random"] = random, shape, np.dtype(np.uint16)
    for name, (array, wanted, dtype) in arrays.items():
        if array.dtype != dtype or not array.dtype.isnative:
            raise TypeError(f"{name} must be {dtype}, not {array.dtype}")
        if array.shape != wanted or not array.flags.c_contiguous:
            raise ValueError(f"{name} must be C-contiguous of shape {wanted}, not of shape {array.shape}")


def _quantize_chunk(
    bits: np.ndarray,
    numerics: Encode,
    buffers: ScratchBuffers,
    scales: np.ndarray,
    codes: np.ndarray,
    random: np.ndarray | None,
) -> None:
    magnitudes = np.bitwise_and(bits, MAGNITUDE, out=buffers.magnitudes[: bits.size])
    if numerics.input_subnormals is Subnormals.FLUSH:
        np.multiply(magnitudes, magnitudes >= SMALLEST_NORMAL, out=magnitudes)
    if numerics.zero in TAKEN_FOR:
        bits = np.where(magnitudes == 0, TAKEN_FOR[numerics.zero], bits)
    amax = block_amax(magnitudes, numerics.block_size)
    special = np.flatnonzero(amax >= INFINITY)
    if special.size:  # rare: convert their finite numbers, and replace the specials at the end
        rows = magnitudes.reshape(-1, numerics.block_size)[special]
        finite = np.where(rows >= INFINITY, np.uint32(0), rows)
        magnitudes.reshape(-1, numerics.block_size)[special] = finite
        amax[special] = finite.max(axis=1)
    np.copyto(scales, scale_bytes(amax, numerics))
    if special.size and numerics.specials is Specials.TE:
        scales[special[(rows == INFINITY).any(axis=1)]] = numerics.block.scale.max_code
    scaled = magnitudes.view(np.float32)
    np.multiply(
        scaled, broadcast(scale_reciprocals(scales), numerics.block_size, buffers.factors[: bits.size]), out=scaled
    )
    encode(scaled, bits, numerics, buffers, codes, random)
    if special.size:
        signs = bits.reshape(-1, numerics.block_size)[special]
        chosen = None if random is None else random.reshape(-1, numerics.block_size)[special]
        blocks = codes.reshape(-1, numerics.block_size)
        found = SpecialBlocks(rows, signs, scales[special], blocks[special], numerics, chosen)
        scales[special], blocks[special] = SPECIALS[numerics.specials](found)
