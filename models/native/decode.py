"""Decoding by the compiled module."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from ...spec import FP32, BlockFormat, Decode, FixedFormat, FloatFormat, Negatives, NumberFormat
from ..arrays.codes import code_values
from . import kernels

# the numbers of the enumeration in kernels.c
TABLE, FLOATING, FIXED = range(3)

Tables = tuple[tuple[int, ...], np.ndarray, np.ndarray]
"""The fields of ``struct decoding`` in kernels.c, the values of codes and the factors of scale bytes."""


def products(rules: Decode) -> Tables:
    """The format, the value of each code and the factor of each scale byte, each (256,) float32."""
    return *format_and_values(rules.block), code_values(rules.block.scale)


@lru_cache(maxsize=16)
def format_and_values(block: BlockFormat) -> tuple[tuple[int, ...], np.ndarray]:
    """The fields of ``struct decoding`` in kernels.c, and the value of each code, (256,) float32."""
    values = np.zeros(256, np.float32)
    known = code_values(block.element)
    values[: len(known)] = np.where(np.isnan(known), np.float32(np.nan), known)
    kind, *fields = _format_fields(block.element, known)
    return (kind, block.block_size, *fields), values


def _format_fields(element: NumberFormat, values: np.ndarray) -> tuple[int, ...]:
    """``kind``, and the fields from ``man_bits`` on."""
    if isinstance(element, FixedFormat) and element.bits == 8 and element.negatives is Negatives.TWOS_COMPLEMENT:
        return FIXED, 0, 0, FP32.bias - element.frac_bits << FP32.man_bits, 0, 0
    if not isinstance(element, FloatFormat) or not element.signed_zero or element.emin < FP32.emin:
        return TABLE, 0, 0, 0, 0, 0
    is_special = ~np.isfinite(values[: element.sign_mask])
    special = int(is_special.argmax()) if is_special.any() else 255
    lowest = element.emin + FP32.bias << FP32.man_bits
    return FLOATING, element.man_bits, 32 - element.bits, lowest, element.sign_mask - 1, special


def decode_blocks(tables: Tables, scales: np.ndarray, codes: np.ndarray, y: np.ndarray) -> None:
    """Value times factor: (n,) scale bytes and (n, block_size) codes -> (n, block_size) float32."""
    kernels.decode(*tables, np.ascontiguousarray(scales, np.uint8), np.ascontiguousarray(codes, np.uint8), y)
