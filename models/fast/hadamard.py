"""The golden model of the random Hadamard transform: arrays of BF16 numbers, 16 to 128 at a time."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

import numpy as np

from ...spec import BF16, Decode, Hadamard, block_format
from ..arrays.source import as_numbers, require_float_mode
from .decode import rounded_patterns

CHUNK = 1 << 12
"""Blocks at a time."""
BITS = 8
"""Significand bits of BF16."""
BELOW = 53 - BITS
"""Bits of a float64 significand below the ones of BF16."""
NAN = BF16.inf_field | 1 << BF16.man_bits - 1


def rotate(x: object, rules: Hadamard | int | None = None) -> np.ndarray:
    """The random Hadamard transform of every 16 neighbouring numbers along the last axis, or of 32, 64 or 128.

    Parameters
    ----------
    x : array (..., n) of bfloat16, or its patterns as uint16; n is a multiple of the size of the transform
    rules : the transform, such as ``Hadamard(size=32)``, or the signs of a transform of 16 numbers as a number of 16
        bits; the default is the transform of Transformer Engine

    Returns
    -------
    array of uint16
        patterns of bfloat16 (..., n)

    Raises
    ------
    TypeError
        for other dtypes
    ValueError
        for an incomplete block, and for signs of more bits
    RuntimeError
        if this thread flushes subnormal numbers to zero or does not round to nearest

    >>> ones = np.full(16, 0x3F80, np.uint16)
    >>> [hex(int(pattern)) for pattern in rotate(ones, 0)[:2]]
    ['0x4080', '0x0']
    """
    chosen = Hadamard() if rules is None else Hadamard(signs=rules) if isinstance(rules, int) else rules
    return rotated_array(x, chosen.size, partial(_rotated, rules=chosen))


def rotated_array(x: object, size: int, transform: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
    """Apply ``transform``, a function of patterns (n, size), to the blocks of an array. Raises as `rotate`."""
    require_float_mode()
    numbers = as_numbers(x, BF16)
    if numbers.ndim == 0 or numbers.shape[-1] % size:
        raise ValueError(f"the last axis must be a multiple of {size} long, not the shape {numbers.shape}")
    blocks = np.ascontiguousarray(numbers).reshape(-1, size)
    results = np.empty_like(blocks)
    for start in range(0, len(blocks), CHUNK):
        part = slice(start, start + CHUNK)
        results[part] = transform(blocks[part])
    return results.reshape(numbers.shape)


def _rotated(patterns: np.ndarray, rules: Hadamard) -> np.ndarray:
    """Blocks (n, size), in float32 if it contains their sums, otherwise in float64 or in integers."""
    carry, root = rules.size.bit_length() - 1, math.sqrt(rules.size)
    signs = np.array([-1 if rules.signs >> i & 1 else 1 for i in range(rules.size)], np.float32)
    values = (patterns.astype(np.uint32) << np.uint32(16)).view(np.float32)
    fields = np.maximum(patterns >> np.uint16(7) & np.uint16(0xFF), 1).astype(np.int16)
    lowest = np.where(patterns & np.uint16(0x7FFF), fields, np.int16(0xFF)).min(axis=1)
    highest = fields.max(axis=1)
    spread = highest - lowest
    is_rational = root.is_integer()
    in_float32 = (spread <= 24 - BITS - carry) & (highest < 0xFF - carry) & is_rational
    beyond_float64 = (spread > 53 - BITS - carry) & (highest < 0xFF)
    with np.errstate(invalid="ignore", over="ignore"):
        rotated = _narrowed(_butterflies(values * signs) * np.float32(1 / root))
        if (rest := np.flatnonzero(~in_float32)).size:
            quotients = _butterflies(values[rest].astype(np.float64) * signs) / root
            if not is_rational:
                beyond_float64[rest] |= _is_uncertain(quotients).any(axis=1)
            rotated[rest] = _patterns(quotients)
        if (rest := np.flatnonzero(beyond_float64)).size:
            rotated[rest] = _patterns(np.array([_odd_quotients(block, rules) for block in patterns[rest].tolist()]))
    return rotated


def _narrowed(quotients: np.ndarray) -> np.ndarray:
    """Patterns of float32 numbers that do not overflow, to nearest even; a zero is positive."""
    bits = (quotients + np.float32(0)).view(np.uint32)
    half = np.uint32(0x7FFF) + (bits >> np.uint32(16) & np.uint32(1))
    return np.where(np.isnan(quotients), np.uint32(NAN), bits + half >> np.uint32(16)).astype(np.uint16)


def _butterflies(values: np.ndarray) -> np.ndarray:
    """Products (n, size) with the Hadamard matrix, in steps of sums and differences."""
    count, size = values.shape
    for step in range(size.bit_length() - 1):
        pairs = values.reshape(count, -1, 2, 1 << step)
        values = np.stack([pairs[:, :, 0] + pairs[:, :, 1], pairs[:, :, 0] - pairs[:, :, 1]], axis=2)
    return values.reshape(count, size)


def _is_uncertain(quotients: np.ndarray) -> np.ndarray:
    """Could an irrational number and its float64 quotient be on different sides of halfway between two BF16 numbers?

    Quotients are wrong by less than two units in the last place.
    """
    magnitudes = np.abs(quotients)
    low = magnitudes.view(np.uint64) & np.uint64((1 << BELOW) - 1)
    near = np.abs(low.astype(np.int64) - (1 << BELOW - 1)) < 4
    is_subnormal = (magnitudes > 0) & (magnitudes < 2.0**BF16.emin)
    return near | is_subnormal


def _odd_quotients(block: list[int], rules: Hadamard) -> list[float]:
    """Results for a block, rounded toward zero to the bits of float64. The last bit is set if any bit was cut off, so
    rounding to BF16 gives the exact results.
    """
    integers = []  # in units of 2**-133, the smallest BF16 number
    for pattern in block:
        field, fraction = pattern >> 7 & 0xFF, pattern & 0x7F
        integer = (fraction | (0x80 if field else 0)) << max(field - 1, 0)
        integers.append(-integer if pattern >> 15 else integer)
    results = []
    for j in range(rules.size):
        total = sum(-one if rules.is_negative(i, j) else one for i, one in enumerate(integers))
        square = (total**2 << 128) // rules.size  # 64 bits below the unit
        root = math.isqrt(square)
        is_cut = root**2 * rules.size != total**2 << 128
        excess = max(root.bit_length() - 52, 0)
        kept = root >> excess
        kept = kept << 1 | (is_cut or kept << excess != root)
        results.append(math.copysign(math.ldexp(kept, excess - 134 - 64), total))
    return results


def _patterns(values: np.ndarray) -> np.ndarray:
    """Patterns of BF16 (n, 16) of float64 numbers, to nearest even; a zero is positive."""
    finite = np.isfinite(values)
    magnitudes = rounded_patterns(np.where(finite, np.abs(values), 0), BF16_RULES)
    patterns = np.where(finite, magnitudes, BF16.inf_field) | np.where(values < 0, BF16.sign_mask, 0)
    patterns[np.isnan(values)] = NAN
    return patterns.astype(np.uint16)


BF16_RULES = Decode(block=block_format("e2m1"), destination=BF16)
"""The rounding of float64 numbers to BF16."""
