"""Encoding by the compiled module."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from ...spec import (
    BF16,
    FP16,
    FP32,
    Encode,
    EncodedZero,
    FixedFormat,
    FloatFormat,
    Negatives,
    NumberFormat,
    Rounding,
    Subnormals,
)
from ..arrays.source import FRACTION
from ..fast.scale import scale_bytes
from . import kernels

# the numbers of the enumerations in kernels.c
SOURCES = {FP32: 0, BF16: 1, FP16: 2}
ROUNDINGS = {Rounding.RNE: 0, Rounding.RNA: 2, Rounding.RNZ: 3, Rounding.RTZ: 4, Rounding.SR: 5}
EVEN_CODE = 1
"""Ties to the even code, in formats without fraction bits."""
ZEROS = {EncodedZero.SIGNED: 0, EncodedZero.POSITIVE: 1, EncodedZero.TAKEN_POSITIVE: 2, EncodedZero.TAKEN_NEGATIVE: 3}
ZERO_OF_PRODUCT = 4
"""A product or quotient that is zero becomes +0."""


class Rules(NamedTuple):
    """The rules of an encoder as `kernels.encode` takes them."""

    numbers: tuple[float, ...]
    """The fields of ``struct encoding`` in kernels.c."""
    scale_bytes: np.ndarray
    """The scale byte of a maximum by its exponent field, (256,) uint8."""
    limits: np.ndarray
    """The largest fraction of a maximum with that byte, (256,) uint32; above it the byte is one more."""


def _format_fields(element: NumberFormat) -> tuple[int, ...] | None:
    """``man_bits``, ``lowest_field``, ``smallest_normal``, ``sign_mask`` and ``mask``, or None for formats that the
    module does not support.
    """
    if element.bits > 8 or not element.signed:
        return None
    mask = (1 << element.bits) - 1
    if isinstance(element, FixedFormat):
        is_supported = element.negatives is Negatives.TWOS_COMPLEMENT
        fields = 0, FP32.bias - element.frac_bits << FP32.man_bits, 0, element.sign_mask, mask
    else:
        assert isinstance(element, FloatFormat)
        is_supported = element.signed_zero
        lowest = element.emin + FP32.bias << FP32.man_bits
        fields = element.man_bits, lowest, 1 << element.man_bits, element.sign_mask, mask
    return fields if is_supported else None


@lru_cache(maxsize=64)
def struct_of(
    numerics: Encode, source: FloatFormat, block_size: int, *, divides: bool = False, zero: int | None = None
) -> tuple[float, ...] | None:
    """The fields of ``struct encoding`` in kernels.c, or None if the module is missing or does not support the rules.

    ``source`` is the format of the array, which may be narrower than the source of the rules. ``divides`` and
    ``zero`` are for NVFP4: a division by the factor in place of a product, and another rule for zeros.
    """
    element, rounding = numerics.block.element, numerics.rounding
    fields = _format_fields(element)
    if kernels is None or fields is None or rounding not in ROUNDINGS or source not in SOURCES:
        return None
    is_fixed = isinstance(element, FixedFormat)
    is_even_code = rounding is Rounding.RNE and not is_fixed and fields[0] == 0
    return (
        SOURCES[source],
        block_size,
        EVEN_CODE if is_even_code else ROUNDINGS[rounding],
        ZEROS[numerics.zero] if zero is None else zero,
        is_fixed,
        numerics.input_subnormals is Subnormals.FLUSH,
        numerics.element_subnormals is Subnormals.FLUSH,
        numerics.random_bits,
        divides,
        *fields,
        float(element.max_value),
        float(1 << numerics.random_bits),
    )


@lru_cache(maxsize=64)
def rules_of(numerics: Encode, source: FloatFormat) -> Rules | None:
    """The rules for the module and an array of a format, or None if it is missing or does not support them."""
    numbers = struct_of(numerics, source, numerics.block_size)
    found = None if numbers is None else _scale_steps(numerics)
    return None if numbers is None or found is None else Rules(numbers, *found)


def _scale_steps(numerics: Encode) -> tuple[np.ndarray, np.ndarray] | None:
    """Scale byte and limit of each exponent field, or None if a rule has two steps in one of them.

    A scale byte never falls as the maximum grows, so bisection finds the step.
    """
    exponents = np.arange(255, dtype=np.uint32) << np.uint32(FP32.man_bits)
    first, last = (scale_bytes(exponents + fraction, numerics) for fraction in (np.uint32(0), FRACTION))
    low, high = np.zeros_like(exponents), np.full_like(exponents, FRACTION)
    while (low < high).any():
        middle = low + (high - low + np.uint32(1)) // np.uint32(2)
        is_first = scale_bytes(exponents + middle, numerics) == first
        low, high = np.where(is_first, middle, low), np.where(is_first, high, middle - np.uint32(1))
    if (last.astype(int) - first > 1).any():
        return None
    return np.append(first, np.uint8(0)), np.append(low, FRACTION)  # the last exponent is Inf and NaN


def encode_blocks(
    blocks: np.ndarray, rules: Rules, scales: np.ndarray, codes: np.ndarray, random: np.ndarray | None
) -> np.ndarray:
    """Encode blocks as `models.quantize_blocks`. Returns the indices of blocks with NaN or Inf, whose results are
    undefined.
    """
    special = np.empty(len(blocks), bool)
    found = kernels.encode(
        rules.numbers, rules.scale_bytes, rules.limits, blocks.view(np.uint8), random, scales, codes, special
    )
    return np.flatnonzero(special) if found else np.empty(0, np.intp)
