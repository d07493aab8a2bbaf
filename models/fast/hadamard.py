"""The golden model of the random Hadamard transform: arrays of BF16 numbers, 16 at a time."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

import numpy as np

from ...spec import BF16, Decode, Hadamard, block_format
from ..arrays.source import as_numbers, require_subnormals
from .decode import rounded_patterns

CHUNK = 1 << 12
"""Blocks at a time."""
EXACT_IN_FLOAT32, EXACT_IN_FLOAT64 = 12, 41
"""Binades that 16 BF16 numbers can be apart where their sums are exact: of 24 and 53 bits a significand takes 8, and
the carry 4.
"""
OVERFLOWS = 0xFB
"""The exponent field from which on sums of 16 numbers can be beyond float32."""
NAN = BF16.inf_field | 1 << BF16.man_bits - 1


def rotate(x: object, rules: Hadamard | int | None = None) -> np.ndarray:
    """The random Hadamard transform of every 16 neighbouring numbers along the last axis.

    Parameters
    ----------
    x : array (..., n) of bfloat16, or its patterns as uint16; n is a multiple of 16
    rules : the transform, or its signs as a number of 16 bits; those of Transformer Engine unless given

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
        where this thread flushes subnormal numbers to zero

    >>> ones = np.full(16, 0x3F80, np.uint16)
    >>> [hex(int(pattern)) for pattern in rotate(ones, 0)[:2]]
    ['0x4080', '0x0']
    """
    chosen = Hadamard() if rules is None else Hadamard(signs=rules) if isinstance(rules, int) else rules
    return rotated_array(x, partial(_rotated, rules=chosen))


def rotated_array(x: object, transform: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
    """Have ``transform`` make of patterns (n, 16) those of the transformed blocks, for an array as `rotate` takes it,
    and shape its results like the array. Raises what `rotate` raises.
    """
    require_subnormals()
    numbers = as_numbers(x, BF16)
    if numbers.ndim == 0 or numbers.shape[-1] % 16:
        raise ValueError(f"the last axis must be a multiple of 16 long, not the shape {numbers.shape}")
    blocks = np.ascontiguousarray(numbers).reshape(-1, 16)
    results = np.empty_like(blocks)
    for start in range(0, len(blocks), CHUNK):
        part = slice(start, start + CHUNK)
        results[part] = transform(blocks[part])
    return results.reshape(numbers.shape)


def _rotated(patterns: np.ndarray, rules: Hadamard) -> np.ndarray:
    """Blocks (n, 16): float32 where it holds their sums, float64 where that does, and whole numbers for the rest."""
    signs = np.array([-1 if rules.signs >> i & 1 else 1 for i in range(16)], np.float32)
    values = (patterns.astype(np.uint32) << np.uint32(16)).view(np.float32)
    fields = np.maximum(patterns >> np.uint16(7) & np.uint16(0xFF), 1).astype(np.int16)
    lowest = np.where(patterns & np.uint16(0x7FFF), fields, np.int16(0xFF)).min(axis=1)
    highest = fields.max(axis=1)
    spread = highest - lowest
    is_wide = (spread > EXACT_IN_FLOAT32) | (highest >= OVERFLOWS)
    with np.errstate(invalid="ignore", over="ignore"):
        rotated = _narrowed(_butterflies(values * signs))
        for chosen, sums in ((is_wide, _sums), ((spread > EXACT_IN_FLOAT64) & (highest < 0xFF), _wide_sums)):
            rest = np.flatnonzero(chosen)
            if rest.size:
                rotated[rest] = _patterns(sums(patterns[rest], rules) / 4)
    return rotated


def _narrowed(sums: np.ndarray) -> np.ndarray:
    """Patterns of a quarter of float32 sums, to nearest even; a zero is positive. Sums that overflow are not here."""
    bits = (sums * np.float32(0.25) + np.float32(0)).view(np.uint32)
    half = np.uint32(0x7FFF) + (bits >> np.uint32(16) & np.uint32(1))
    return np.where(np.isnan(sums), np.uint32(NAN), bits + half >> np.uint32(16)).astype(np.uint16)


def _sums(patterns: np.ndarray, rules: Hadamard) -> np.ndarray:
    """Sums in float64."""
    values = (patterns.astype(np.uint32) << np.uint32(16)).view(np.float32).astype(np.float64)
    return _butterflies(values * [-1 if rules.signs >> i & 1 else 1 for i in range(16)])


def _butterflies(values: np.ndarray) -> np.ndarray:
    """Products (n, 16) with the Hadamard matrix, in four steps of sums and differences."""
    for half in (1, 2, 4, 8):
        pairs = values.reshape(len(values), -1, 2, half)
        values = np.stack([pairs[:, :, 0] + pairs[:, :, 1], pairs[:, :, 0] - pairs[:, :, 1]], axis=2)
    return values.reshape(len(values), 16)


def _wide_sums(patterns: np.ndarray, rules: Hadamard) -> np.ndarray:
    """Sums of numbers of any binades, cut toward zero to the bits of float64 with a last bit that says whether any was
    cut off: rounded to BF16 they are the exact ones.
    """
    return np.array([_odd_sums(block, rules) for block in patterns.tolist()])


def _odd_sums(block: list[int], rules: Hadamard) -> list[float]:
    integers = []  # in units of 2**-133, the smallest BF16 number
    for pattern in block:
        field, fraction = pattern >> 7 & 0xFF, pattern & 0x7F
        integer = (fraction | (0x80 if field else 0)) << max(field - 1, 0)
        integers.append(-integer if pattern >> 15 else integer)
    sums = []
    for j in range(16):
        total = sum(-one if rules.is_negative(i, j) else one for i, one in enumerate(integers))
        excess = max(abs(total).bit_length() - 52, 0)
        kept = abs(total) >> excess
        kept = kept << 1 | (kept << excess != abs(total))
        sums.append(math.copysign(math.ldexp(kept, excess - 134), total))
    return sums


def _patterns(values: np.ndarray) -> np.ndarray:
    """Patterns of BF16 (n, 16) of float64 numbers, to nearest even; a zero is positive."""
    finite = np.isfinite(values)
    magnitudes = rounded_patterns(np.where(finite, np.abs(values), 0), BF16_RULES)
    patterns = np.where(finite, magnitudes, BF16.inf_field) | np.where(values < 0, BF16.sign_mask, 0)
    patterns[np.isnan(values)] = NAN
    return patterns.astype(np.uint16)


BF16_RULES = Decode(block=block_format("e2m1"), destination=BF16)
"""The rounding of float64 numbers to BF16."""
