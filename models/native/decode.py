"""Decoding by the compiled module."""

from __future__ import annotations

import numpy as np

from ...spec import Decode
from ..arrays.codes import code_values
from . import kernels


def products(rules: Decode) -> tuple[np.ndarray, np.ndarray]:
    """The value of each code and the factor of each scale byte, each (256,) float32."""
    values = np.zeros(256, np.float32)
    known = code_values(rules.block.element)
    values[: len(known)] = np.where(np.isnan(known), np.float32(np.nan), known)
    return values, code_values(rules.block.scale)


def decode_blocks(tables: tuple[np.ndarray, np.ndarray], scales: np.ndarray, codes: np.ndarray, y: np.ndarray) -> None:
    """Value times factor: (n,) scale bytes and (n, block_size) codes -> (n, block_size) float32."""
    kernels.decode(*tables, np.ascontiguousarray(scales, np.uint8), np.ascontiguousarray(codes, np.uint8), y)
