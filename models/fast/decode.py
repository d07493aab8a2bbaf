"""The golden model of decoding: arrays of scales and codes to numbers."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, partial
from typing import Unpack

import numpy as np

from ...spec import (
    E8M0,
    FP32,
    BlockFormat,
    Decode,
    DecodedNan,
    DecodedOverflow,
    DecodedRounding,
    DecodedZero,
    DecodeFields,
    FloatFormat,
    Nvfp4DecodeFields,
    ScaleReading,
    Subnormals,
    is_nvfp4,
)
from ...spec.catalogue import constructed, excerpt
from ...spec.formats.block import TILE
from ...spec.profiles.resolve import under
from ..arrays.block_codes import BlockCodes, check_codes
from ..arrays.block_layout import as_blocks, axis_last, axis_to_end, end_to_axis
from ..arrays.codes import code_values, numbers_of
from ..arrays.parallel import in_chunks
from ..arrays.source import DTYPES, Random, random_bits, require_float_mode
from ..native import AT_ONCE, kernels
from ..native import decode as native
from .nan import NANS
from .nvfp4_decode import dequantize_nvfp4

CHUNK = 1 << 16
"""Elements of a chunk. Its arrays fit the second-level cache together with the table of pairs, 512 KiB."""

Decoder = Callable[[np.ndarray, np.ndarray, np.ndarray, np.ndarray | None], None]
"""A function of scale bytes (n,), codes (n, block_size), the array for the numbers, and random bits."""


class DequantizeFields(DecodeFields, Nvfp4DecodeFields, total=False):
    """Fields of the operation that decodes a block format."""


def dequantize(
    q: BlockCodes,
    profile: str | None = None,
    *,
    random: Random = None,
    jobs: int = 1,
    **rules: Unpack[DequantizeFields],
) -> np.ndarray:
    """The numbers of scales and codes: the value of each code times the factor of its block's scale byte, rounded once
    to the destination.

    By default the products are the ones of OCP MX v1.0 in float32, which are exact for all of its formats. Beyond the
    range they become Inf; blocks from `quantize` reach Inf only under `Specials.INF_SCALE`. If the scale is NaN (0xFF),
    the whole block is NaN.

    Parameters
    ----------
    q : scales, codes and block format, from `quantize` or from arrays; the format has one scale per block and blocks
        along one axis
    profile : the name of the decoder's profile (`spec.DECODERS`); ``ocp`` by default
    random : under the rounding ``sr``, the random bits of each element: an array of unsigned integers of the shape of
        the result, or a generator, of NumPy or PyTorch, that draws them
    jobs : number of threads that share the blocks; the bits do not depend on it
    rules : fields of `Decode` that override the profile, such as ``destination``; for NVFP4 and its relatives fields of
        `Nvfp4Decode` (`dequantize_nvfp4`)

    Returns
    -------
    array of float32 or float16, or of uint16 patterns of bfloat16
        (..., n, ...), where ``q.codes`` are (..., n, ...), without the elements that completed the last block

    Raises
    ------
    TypeError
        if q is not a `BlockArray`, or scales or codes are not NumPy arrays of integers
    ValueError
        if scales or codes are outside their format or do not fit each other, for unknown names, for block formats with
        sub-blocks, and for rules with other scales than E8M0
    RuntimeError
        if this thread flushes subnormal numbers to zero or does not round to nearest

    >>> from mxcast.models import quantize
    >>> q = quantize(np.full(32, 1.5, np.float32), "int8")
    >>> dequantize(q)[0], hex(dequantize(q, destination="bf16")[0])
    (np.float32(1.5), '0x3fc0')
    """
    require_float_mode()
    if not isinstance(q, BlockCodes):
        raise TypeError(f"dequantize takes a BlockArray, such as quantize returns, not {excerpt(q)}")
    if is_nvfp4(q.block):
        if random is not None:
            raise ValueError(f"{q.block.name} is decoded without random bits")
        return constructed(dequantize_nvfp4, {"q": q, "profile": profile, "jobs": jobs, **rules})
    is_tiled = isinstance(q.block, BlockFormat) and q.block.shape == TILE
    if is_tiled:  # the scale of a tile is repeated for each of its rows
        rows = BlockCodes(scales=q.scales, codes=q.codes, block=q.block.untiled(), axis=q.axis, length=q.length)
        return dequantize(rows, profile, random=random, jobs=jobs, **rules)
    _check_block(q.block)
    if q.block.scale != E8M0:
        check_codes(q)
        if profile is not None or rules or random is not None:
            raise ValueError(f"{q.block.name} has the scale format {q.block.scale.name}: rules are for E8M0 scales")
        return _in_shape(_products(as_blocks(q.codes, q.axis, q.block.block_size), _flat(q), q.block), q)
    return decoded(q, under(Decode, q.block, profile, rules), partial(decode_blocks, jobs=jobs), random=random)


def decoded(q: BlockCodes, rules: Decode, decode: Callable[..., None], *, random: Random = None) -> np.ndarray:
    """Decode an array with E8M0 scales by ``decode``, a function like `decode_blocks`.

    Raises ValueError if the rules are for another block format.
    """
    if q.block != rules.block:
        raise ValueError(f"the rules decode {rules.block.name}, and the array is {q.block.name}")
    check_codes(q)
    bits = random_bits(random, q.shape, rules.random_bits, rules.rounding)
    codes = as_blocks(q.codes, q.axis, rules.block_size)
    y = np.empty(codes.shape, DTYPES[rules.destination.name])
    decode(_flat(q), codes, rules, y, None if bits is None else as_blocks(bits, q.axis, rules.block_size))
    return _in_shape(y, q)


def _flat(q: BlockCodes) -> np.ndarray:
    """The scale codes in the order of the blocks."""
    return np.ascontiguousarray(axis_to_end(q.scales, q.axis)).reshape(-1)


def _in_shape(blocks: np.ndarray, q: BlockCodes) -> np.ndarray:
    """Blocks (n, size) in the shape of the array, without the elements that completed the last ones."""
    rows = blocks.reshape(axis_last(q.codes.shape, q.axis))
    return end_to_axis(rows if q.length is None else rows[..., : q.length], q.axis)


def _check_block(block: BlockFormat) -> None:
    """Raise TypeError or ValueError for a block format that needs more than scales and codes."""
    if not isinstance(block, BlockFormat):
        raise TypeError(f"the block format of a BlockArray must be a BlockFormat, not {excerpt(block)}")
    refused = {
        f"{block.name} has a scale of the whole tensor, which dequantize does not support yet": block.tensor_scale,
        f"{block.name} has a field for each sub-block, which dequantize does not support yet": block.sub_scale,
        f"{block.name} has blocks of shape {block.shape}: dequantize takes blocks along one axis": block.shape[1:],
    }
    for sentence, is_refused in refused.items():
        if is_refused:
            raise ValueError(sentence)


def _products(codes: np.ndarray, scales: np.ndarray, block: BlockFormat) -> np.ndarray:
    """Element times scale: codes (n, size) and scales (n,) -> (n, size) float32."""
    factors = numbers_of(block.scale, scales)
    with np.errstate(over="ignore", invalid="ignore"):
        y = np.take(code_values(block.element), codes)
        y *= factors[:, None]
    return y


def decode_blocks(
    scales: np.ndarray,
    codes: np.ndarray,
    rules: Decode,
    y: np.ndarray,
    random: np.ndarray | None = None,
    *,
    jobs: int = 1,
) -> None:
    """Decode whole blocks into a given array: (n,) scale bytes and (n, block_size) codes -> (n, block_size) numbers.

    Numbers are float32, float16 or, as bit patterns of bfloat16, uint16; ``random``, under `DecodedRounding.SR` only,
    is (n, block_size) unsigned. ``y`` is C-contiguous. ``jobs`` threads share the blocks.
    """
    decode = _decoder(rules)

    def work(part: slice) -> None:
        decode(scales[part], codes[part], y[part], None if random is None else random[part])

    at_once = AT_ONCE if kernels is not None and _is_product(rules) else 1
    in_chunks(work, len(codes), max(CHUNK // rules.block_size, 1), jobs, at_once=at_once)


@lru_cache(maxsize=16)
def _decoder(rules: Decode) -> Decoder:
    """The fastest of three implementations: float32 products, a table of all pairs, or arithmetic."""
    if _is_product(rules):
        return _by_products(rules)
    return _by_table(rules) if rules.block.element.bits <= 8 and not rules.random_bits else _by_rules(rules)


def _is_product(rules: Decode) -> bool:
    """Is every result the float32 product of an element and a scale?"""
    usual = rules.scale_reading, rules.rounding, rules.overflow, rules.subnormals, rules.nan, rules.zero
    return (
        rules.destination == FP32
        and rules.block.element.bits <= 8
        and rules.block_size % 2 == 0
        and usual
        == (
            ScaleReading.E8M0,
            DecodedRounding.RNE,
            DecodedOverflow.INF,
            Subnormals.EXACT,
            DecodedNan.CANONICAL,
            DecodedZero.SIGNED,
        )
    )


def _by_products(rules: Decode) -> Decoder:
    if kernels is not None:
        tables = native.products(rules)
        return lambda scales, codes, y, random: native.decode_blocks(tables, scales, codes, y)
    pairs = _pairs(code_values(rules.block.element))
    factors = np.repeat(code_values(rules.block.scale)[:, None], rules.block_size, axis=1)  # rows of full length:
    # NumPy multiplies two arrays faster than an array by a column, even if the rows must be copied first

    def decode(scales: np.ndarray, codes: np.ndarray, y: np.ndarray, random: np.ndarray | None) -> None:
        places = np.ascontiguousarray(codes, np.uint8).view(np.uint16).astype(np.intp)
        np.take(pairs, places, out=y.view(np.complex64), mode="clip")
        with np.errstate(over="ignore", invalid="ignore"):
            np.multiply(y, np.take(factors, scales, axis=0), out=y)

    return decode


def _pairs(values: np.ndarray) -> np.ndarray:
    """The values of two neighbouring codes as one complex64, which halves the number of look-ups."""
    values = np.where(np.isnan(values), np.float32(np.nan), values)
    pairs = np.zeros((1 << 16, 2), np.float32)
    first, second = (0, 1) if np.little_endian else (1, 0)
    low, high = np.arange(1 << 16) & 255, np.arange(1 << 16) >> 8
    known = (low < len(values)) & (high < len(values))
    pairs[known, first], pairs[known, second] = values[low[known]], values[high[known]]
    return pairs.view(np.complex64).reshape(-1)


def _by_table(rules: Decode) -> Decoder:
    bits = rules.block.element.bits
    bytes_, codes = np.divmod(np.arange(256 << bits), 1 << bits)
    table = np.empty((256 << bits, 1), DTYPES[rules.destination.name])
    _by_rules(rules)(bytes_, codes[:, None], table, None)

    def decode(scales: np.ndarray, codes: np.ndarray, y: np.ndarray, random: np.ndarray | None) -> None:
        places = scales.astype(np.intp)[:, None] << bits | codes
        np.take(table.reshape(-1), places, out=y, mode="clip")

    return decode


def _by_rules(rules: Decode) -> Decoder:
    """The rules one by one in float64, in which every product is exact."""
    to, factors = rules.destination, READINGS[rules.scale_reading]()
    values = code_values(rules.block.element).astype(np.float64)

    def decode(scales: np.ndarray, codes: np.ndarray, y: np.ndarray, random: np.ndarray | None) -> None:
        elements = values[codes]
        with np.errstate(invalid="ignore"):
            products = elements * factors[scales][:, None]
        sign = np.where(np.signbit(elements), to.sign_mask, 0)
        if rules.zero is DecodedZero.POSITIVE:
            sign[elements == 0] = 0
        finite, is_nan = np.isfinite(products), np.isnan(products)
        patterns = sign | rounded_patterns(np.where(finite, np.abs(products), 0), rules, random)
        patterns[~finite] = sign[~finite] | to.inf_field
        patterns[is_nan] = NANS[rules.nan](np.broadcast_to(codes, patterns.shape)[is_nan], rules.block.element, to)
        np.copyto(y.view(f"u{y.itemsize}"), patterns, casting="unsafe")

    return decode


def _signed_powers() -> np.ndarray:
    return np.ldexp(1.0, np.arange(256, dtype=np.uint8).view(np.int8))


READINGS: dict[ScaleReading, Callable[[], np.ndarray]] = {
    ScaleReading.E8M0: lambda: np.append(np.ldexp(1.0, np.arange(-127, 128)), np.nan),
    ScaleReading.POWER: lambda: np.ldexp(1.0, np.arange(-127, 129)),
    ScaleReading.FIELD: lambda: (np.arange(256, dtype=np.uint32) << 23).view(np.float32).astype(np.float64),
    ScaleReading.SIGNED: _signed_powers,
}
"""The factors of all scale bytes, (256,) float64."""

ROUNDINGS: dict[DecodedRounding, Callable[[np.ndarray, np.ndarray | float], np.ndarray]] = {
    DecodedRounding.RNE: lambda steps, random: np.rint(steps),
    DecodedRounding.RNA: lambda steps, random: np.floor(steps + 0.5),
    DecodedRounding.RTZ: lambda steps, random: np.floor(steps),
    DecodedRounding.SR: lambda steps, random: np.floor(steps + random),
}
"""Whole steps of the destination from magnitudes in steps and random bits as a part of 1, exact in float64."""

OVERFLOWS: dict[DecodedOverflow, Callable[[FloatFormat], int]] = {
    DecodedOverflow.INF: lambda to: to.inf_field,
    DecodedOverflow.SATURATE: lambda to: to.max_code,
}
"""The magnitude pattern beyond the largest number."""


def rounded_patterns(magnitudes: np.ndarray, rules: Decode, random: np.ndarray | None = None) -> np.ndarray:
    """Magnitude patterns of finite float64 magnitudes, rounded to the destination."""
    to = rules.destination
    exponents = np.maximum(np.frexp(magnitudes)[1].astype(np.int64) - 1, to.emin)
    steps = np.ldexp(magnitudes, to.man_bits - exponents)
    part = 0.0 if random is None else random / (1 << rules.random_bits)
    whole = ROUNDINGS[rules.rounding](steps, part).astype(
        np.int64
    )  # includes the leading one, which adds one to the field
    patterns = ((exponents - to.emin) << to.man_bits) + whole
    patterns[patterns > to.max_code] = OVERFLOWS[rules.overflow](to)
    patterns[magnitudes == 0] = 0
    if rules.subnormals is Subnormals.FLUSH:
        patterns[magnitudes < 2.0**to.emin] = 0
    return patterns
