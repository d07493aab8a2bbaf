"""The golden model of decoding NVFP4 and its relatives. NumPy's float32 does the binary32 operations."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Unpack

import numpy as np

from ...spec import BF16, FP16, FP32, Convention, FloatFormat, Nvfp4Decode, Nvfp4DecodeFields, nvfp4_decoding
from ...spec.catalogue import excerpt
from ..arrays.block_codes import BlockCodes, check_codes
from ..arrays.block_layout import BlockLayout, shortened
from ..arrays.codes import code_values
from ..arrays.parallel import in_chunks
from ..arrays.source import DTYPES
from .nan import NANS

CHUNK = 1 << 16
"""Elements of a chunk."""

FACTORS: dict[Convention, Callable[[np.ndarray, np.ndarray, np.float32], np.ndarray]] = {
    Convention.MULTIPLIER: lambda s, g, c: s * g,
    Convention.DIVISOR: lambda s, g, c: s / g,
    Convention.AMAX: lambda s, g, c: s * g * (np.float32(1) / c),
    Convention.NONE: lambda s, g, c: s,
}
"""The factor of the elements, from block scale, tensor scale and C."""


def dequantize_nvfp4(
    q: BlockCodes, profile: str | None = None, *, jobs: int = 1, **rules: Unpack[Nvfp4DecodeFields]
) -> np.ndarray:
    """The numbers of a tensor scale, block scales and codes.

    Parameters
    ----------
    q : scales, codes, tensor scale and block format, from `quantize_nvfp4` or from arrays
    profile : the name of the decoder's profile (`spec.NVFP4_DECODERS`); by default the convention of the tensor
        scale decides the order of operations
    jobs : number of threads that share the blocks; the bits do not depend on it
    rules : fields of `Nvfp4Decode` that override the profile, such as ``destination``

    Returns
    -------
    array of float32 or float16, or of uint16 patterns of bfloat16
        (..., n, ...), where ``q.codes`` are (..., n, ...), without the elements that completed the last block

    Raises
    ------
    TypeError
        if q is not a `BlockArray`, or scales or codes are not NumPy arrays of integers
    ValueError
        if scales, codes or tensor scale are outside their format or do not fit each other, for unknown names, and
        for rules of another convention
    RuntimeError
        if this thread flushes subnormal numbers to zero or does not round to nearest

    >>> from mxcast.models import quantize_nvfp4
    >>> q = quantize_nvfp4(np.full(16, 1.5, np.float32), "nvfp4")
    >>> dequantize_nvfp4(q)[0], hex(dequantize_nvfp4(q, destination="bf16")[0])
    (np.float32(1.5), '0x3fc0')
    """
    if not isinstance(q, BlockCodes):
        raise TypeError(f"dequantize takes a BlockArray, such as quantize returns, not {excerpt(q)}")
    found: Nvfp4DecodeFields = {"convention": str(q.block.convention)} if profile is None else {}
    if q.scale_max is not None:
        found["scale_max"] = q.scale_max
    found.update(rules)
    chosen = nvfp4_decoding(q.block, profile, **found)
    return nvfp4_decoded(q, chosen, partial(decode_blocks, jobs=jobs))


def nvfp4_decoded(q: BlockCodes, rules: Nvfp4Decode, decode: Callable[..., None]) -> np.ndarray:
    """Decode an array by ``decode``, a function like `decode_blocks`.

    Raises ValueError if the rules are for another block format.
    """
    if q.block != rules.block:
        raise ValueError(
            f"the rules decode {rules.block.name} with a tensor scale {rules.convention}, and the array is "
            f"{q.block.name} with {q.block.convention}"
        )
    check_codes(q)
    layout = BlockLayout(q.codes.shape, q.block.shape, q.axis, False)
    scales = np.ascontiguousarray(layout.scales_of_blocks(q.scales))
    g = _tensor_scale(q, layout)
    codes = layout.blocks(q.codes)
    y = np.empty(codes.shape, DTYPES[rules.destination.name])
    decode(scales, codes, rules, g, y)
    return np.ascontiguousarray(shortened(layout.codes(y), q.axis, q.length))


def _tensor_scale(q: BlockCodes, layout: BlockLayout) -> np.ndarray:
    """The tensor scale as float32: () or one for each block (n,)."""
    if (q.tensor_scale is None) != (q.block.convention is Convention.NONE):
        needed, given = ("a", "none") if q.tensor_scale is None else ("no", "one")
        raise ValueError(f"{q.block.name} has {needed} tensor scale, and the array has {given}")
    if q.tensor_scale is None:
        return np.array(1, np.float32)
    g = np.asarray(q.tensor_scale)
    of_lines = tuple(1 if i == q.axis % q.codes.ndim else n for i, n in enumerate(q.codes.shape))
    if g.dtype != np.float32 or (g.size != 1 and g.shape != of_lines):
        raise ValueError(f"tensor_scale must be a float32 number, or {of_lines} of them, not {excerpt(q.tensor_scale)}")
    return g.reshape(()) if g.size == 1 else layout.of_lines(g)


def decode_blocks(
    scales: np.ndarray, codes: np.ndarray, rules: Nvfp4Decode, tensor_scale: np.ndarray, y: np.ndarray, *, jobs: int = 1
) -> None:
    """Decode whole blocks into a given array: (n,) scale codes, (n, block_size) codes and a tensor scale, float32 () or
    (n,) -> (n, block_size) numbers, float32, float16 or, as bit patterns of bfloat16, uint16. ``jobs`` threads share
    the blocks.
    """

    def work(part: slice) -> None:
        with np.errstate(all="ignore"):
            g = tensor_scale[part] if tensor_scale.ndim else tensor_scale
            _decode_chunk(scales[part], codes[part], rules, g, y[part])

    in_chunks(work, len(codes), max(CHUNK // rules.block_size, 1), jobs)


def _decode_chunk(
    scales: np.ndarray, codes: np.ndarray, rules: Nvfp4Decode, tensor_scale: np.ndarray, y: np.ndarray
) -> None:
    s = np.take(code_values(rules.block.scale), scales)
    c = np.float32(rules.scale_max * int(rules.block.element.max_value))
    factors = FACTORS[rules.convention](s, tensor_scale, c)
    products = np.take(code_values(rules.block.element), codes)
    products *= factors[:, None]
    np.copyto(y, NARROWED[rules.destination](products))
    if not np.isfinite(factors).all():
        is_nan = np.isnan(products)
        patterns = np.repeat(
            NANS[rules.nan](scales, rules.scale_format, rules.destination)[:, None], codes.shape[1], axis=1
        )
        y.view(f"u{y.itemsize}")[is_nan] = patterns[is_nan]


def _to_bf16(numbers: np.ndarray) -> np.ndarray:
    """Patterns of bfloat16, to nearest, ties to even; undefined for NaN."""
    patterns = numbers.view(np.uint32)
    half = np.uint32(0x7FFF) + (patterns >> np.uint32(16) & np.uint32(1))
    return (patterns + half >> np.uint32(16)).astype(np.uint16)


NARROWED: dict[FloatFormat, Callable[[np.ndarray], np.ndarray]] = {
    FP32: lambda numbers: numbers,
    BF16: _to_bf16,
    FP16: lambda numbers: numbers.astype(np.float16),
}
"""Rounding of float32 numbers to a destination."""
