"""Block arrays in another block format with the same numbers.

Elements keep their values: each value of E2M1, for instance, is also one of E2M3, E3M2, E4M3 and E5M2. E8M0 scales are
kept, or become powers of two in another scale format under a tensor scale that is also a power of two. FP32 scales must
be powers of two. E4M3 has 2**-9 to 2**8: a block of MXFP4 survives in NVFP4 if and only if it is zero
or NaN, or its scale is within 17 of the largest (the rule of NVIDIA ModelOpt, MXFP4 to NVFP4).
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from math import frexp

import numpy as np

from ...spec import E8M0, FP32, BlockFormat, Convention, NumberFormat
from ...spec.catalogue import excerpt
from ...spec.formats.names import block_format
from .block_array import BlockArray
from .block_codes import check_codes
from .codes import code_values, numbers_of
from .source import code_dtype

NAN = 0xFF
"""The NaN of E8M0."""


def bridge(q: BlockArray, block: str | BlockFormat, *, largest: int | None = None) -> BlockArray:
    """The same numbers in another block format.

    Parameters
    ----------
    q : scales and codes of a format with E8M0 scales, or with FP32 scales that are powers of two
    block : the other format, with blocks of the same size or parts of them: one with E8M0 scales, or one with a tensor
        scale, which becomes a power of two
    largest : the `largest_exponent` of the whole tensor, if the array is part of one

    Returns
    -------
    BlockArray
        with new arrays: the same numbers, signs of zeros and NaN blocks

    Raises
    ------
    TypeError
        for an object that is not a block array
    ValueError
        for formats without a bridge, for an array with a block that does not survive (the message names the first one),
        and if the tensor scale is outside float32

    >>> from mxcast.models import quantize
    >>> q = quantize(np.full((1, 32), 1.5, np.float32), "e2m1")
    >>> np.array_equal(bridge(q, "nvfp4"), q), bridge(q, "nvfp4").tensor_scale == 2.0**-10
    (True, np.True_)
    """
    block = _checked(q, block)
    lost = ~survives(q, block, largest=largest)
    if lost.any():
        place = tuple(int(index) for index in np.argwhere(lost)[0])
        raise ValueError(
            f"block {place} of {q.block.name} has no counterpart in {block.name}, the first of "
            f"{np.count_nonzero(lost)} of {lost.size} blocks: their scale is no power of two or too far below the "
            "largest, or elements have no code"
        )
    q, _ = _with_powers(q)
    width = block.shape[-1]
    scales, tensor_scale = np.repeat(q.scales, q.block.shape[-1] // width, axis=q.axis), None
    codes = _codes(q.block.element, block.element)[q.codes].astype(code_dtype(block.element))
    if q.length is not None:
        kept = -(-q.length // width)
        scales, codes = (a.take(range(n), axis=q.axis) for a, n in ((scales, kept), (codes, kept * width)))
    if block.tensor_scale is not None:
        least, table = _powers(block.scale)
        shift = (_largest(q, largest) or 0) - _largest_power(block.scale)
        places = np.clip(_exponents(scales) - shift - least, 0, len(table) - 1)
        scales = np.where(scales == NAN, np.uint8(block.scale.nan_code or 0), table[places])
        tensor_scale = _tensor_scale(shift, block)
    length = q.length if q.length is not None and q.length % width else None
    return BlockArray(scales=scales, codes=codes, block=block, axis=q.axis, length=length, tensor_scale=tensor_scale)


def survives(q: BlockArray, block: str | BlockFormat, *, largest: int | None = None) -> np.ndarray:
    """Mask of the blocks that have the same numbers in another block format, in the shape of ``q.scales``.

    Parameters and errors are the ones of `bridge`.
    """
    block = _checked(q, block)
    q, has_power = _with_powers(q)
    has_code = _codes(q.block.element, block.element) >= 0
    blocks = _blocks(q)
    found = has_code[blocks].all(axis=-1) & np.moveaxis(has_power, q.axis, -1)
    if block.tensor_scale is not None:
        _, table = _powers(block.scale)
        scales = np.moveaxis(q.scales, q.axis, -1)
        found &= ~_has_scale(q) | (_exponents(scales) > (_largest(q, largest) or 0) - len(table))
    return np.moveaxis(np.asarray(found), -1, q.axis)


def _checked(q: BlockArray, block: str | BlockFormat) -> BlockFormat:
    """The other block format. Raises TypeError or ValueError if no bridge leads to it."""
    if not isinstance(q, BlockArray):
        raise TypeError(f"a bridge takes what quantize returns, not {excerpt(q)}")
    check_codes(q)
    return bridged_block(q.block, block)


def bridged_block(source: BlockFormat, block: str | BlockFormat) -> BlockFormat:
    """The block format at the other end of a bridge. Raises ValueError if no bridge leads to it."""
    block = block_format(block)
    refused = {
        f"a bridge leads from formats with E8M0 or FP32 scales, not from {source.name}": (
            source.scale not in (E8M0, FP32) or source.tensor_scale is not None or source.sub_scale is not None
        ),
        f"a bridge leads to E8M0 scales or to a tensor scale, not to {block.name}": (
            block.sub_scale is not None
            or (block.scale != E8M0 and (block.tensor_scale is None or block.scale.nan_code is None))
        ),
        f"a bridge leads to blocks along one axis that are parts of {source.shape[-1]}, not to {block.shape}": (
            len(source.shape) > 1 or len(block.shape) > 1 or source.shape[-1] % block.shape[-1] != 0
        ),
    }
    for sentence, is_refused in refused.items():
        if is_refused:
            raise ValueError(sentence)
    return block


def _blocks(q: BlockArray) -> np.ndarray:
    """Codes (..., blocks, width), with their blocks along the last axis but one."""
    lines = np.moveaxis(q.codes, q.axis, -1)
    width = q.block.shape[-1]
    return lines.reshape(*lines.shape[:-1], lines.shape[-1] // width, width)


def _with_powers(q: BlockArray) -> tuple[BlockArray, np.ndarray]:
    """The array with E8M0 scales, and the mask of the scales that E8M0 contains: powers of two and NaN.

    Blocks of zeros may have any positive scale.
    """
    if q.block.scale == E8M0:
        return q, np.ones(q.scales.shape, bool)
    factors = numbers_of(FP32, q.scales)
    fractions, exponents = np.frexp(factors)
    codes = exponents.astype(np.int64) - 1 + E8M0.bias
    is_zero = np.moveaxis((code_values(q.block.element)[_blocks(q)] == 0).all(axis=-1), -1, q.axis)
    is_zero = is_zero & (factors > 0) & np.isfinite(factors)
    has_power = (fractions == 0.5) & (codes >= 0) & np.isfinite(factors)
    codes = np.where(has_power, codes, E8M0.bias).astype(np.uint8)
    codes[np.isnan(factors)] = NAN
    found = replace(q, scales=codes, block=replace(q.block, scale=E8M0))
    return found, has_power | is_zero | np.isnan(factors)


def _exponents(scales: np.ndarray) -> np.ndarray:
    return scales.astype(np.int64) - E8M0.bias


def _has_scale(q: BlockArray) -> np.ndarray:
    """Mask of the blocks, along the last axis, that depend on their scale: zeros and NaN do not."""
    is_zero = code_values(q.block.element) == 0
    return ~is_zero[_blocks(q)].all(axis=-1) & (np.moveaxis(q.scales, q.axis, -1) != NAN)


def largest_exponent(q: BlockArray) -> int | None:
    """The largest exponent of the scales that matter to their blocks; None if no scale matters."""
    q, _ = _with_powers(q)
    scales = np.moveaxis(q.scales, q.axis, -1)[_has_scale(q)]
    return int(_exponents(scales).max()) if scales.size else None


def _largest(q: BlockArray, given: int | None) -> int | None:
    return largest_exponent(q) if given is None else given


@lru_cache
def _codes(element: NumberFormat, other: NumberFormat) -> np.ndarray:
    """The code of each value of an element, and of NaN, in another format, or -1; (2**bits,) int32."""
    there: dict[object, int] = {}
    for code in range(1 << other.bits):
        there.setdefault(_number(other, code), code)
    return np.array([there.get(_number(element, code), -1) for code in range(1 << element.bits)], np.int32)


def _number(format: NumberFormat, code: int) -> object:
    number = format.decode(code)
    return number.kind, number.negative, number.magnitude if number.kind == "finite" else 0


@lru_cache
def _powers(scale: NumberFormat) -> tuple[int, np.ndarray]:
    """The exponent of the smallest power of two in a scale format, and the codes from there on."""
    found = {}
    for code, value in enumerate(code_values(scale)):
        if 0 < value < np.inf and frexp(value)[0] == 0.5:
            found[frexp(value)[1] - 1] = code
    least, most = min(found), max(found)
    return least, np.array([found[exponent] for exponent in range(least, most + 1)], np.uint8)


def _largest_power(scale: NumberFormat) -> int:
    least, codes = _powers(scale)
    return least + len(codes) - 1


def _tensor_scale(exponent: int, block: BlockFormat) -> np.ndarray:
    """The tensor scale, float32 (), for the factor 2**exponent.

    Raises ValueError if the tensor scale, or a product that readers compute from it, is outside float32.
    """
    most = float(block.scale.max_value * block.element.max_value)
    scale, product = {  # readers compute the products of `models.fast.nvfp4_decode`
        Convention.MULTIPLIER: (2.0**exponent, 2.0**exponent),
        Convention.DIVISOR: (2.0**-exponent, 2.0**-exponent),
        Convention.AMAX: (most * 2.0**exponent, most * most * 2.0**exponent),
    }[block.convention]
    if product > FP32.max_value:
        raise ValueError(
            f"scales of up to 2**{exponent + _largest_power(block.scale)} have no tensor scale of the convention "
            f"{block.convention} in float32"
        )
    return np.asarray(scale, np.float32)
