"""Source numbers as NumPy arrays: which dtype is which format, and exact widening to FP32 patterns."""

from __future__ import annotations

import numpy as np

from ..spec import BF16, FP16, FP32, FloatFormat

__all__ = ["FORMATS", "DTYPES", "as_numbers", "widen"]

FORMATS: dict[np.dtype, FloatFormat] = {np.dtype(np.float32): FP32, np.dtype(np.uint16): BF16, np.dtype(np.float16): FP16}
"""The format of an array's dtype. NumPy has no BF16: it travels as its bit patterns."""

DTYPES: dict[str, np.dtype] = {source.name: dtype for dtype, source in FORMATS.items()}


def as_numbers(x: object, source: FloatFormat) -> np.ndarray:
    """``x`` as an array of one of the dtypes of `FORMATS`, in the machine's byte order.

    A BF16 array of another library becomes its bit patterns. Raises TypeError unless every number of the array's
    format is one of ``source``, which for FP32 are all three formats.
    """
    array = np.asarray(x)
    if array.dtype.name == "bfloat16":
        array = array.view(np.uint16)
    array = array.astype(array.dtype.newbyteorder("="), copy=False)
    wanted = "float32" if source is FP32 else "bfloat16 (or its patterns as uint16)" if source is BF16 else "float16"
    if array.dtype not in FORMATS or source not in (FP32, FORMATS[array.dtype]):
        raise TypeError(f"x must be {wanted}, not {array.dtype}")
    return array


def widen(numbers: np.ndarray, out: np.ndarray) -> np.ndarray:
    """FP32 patterns of numbers of any of the dtypes, exactly: (n,) -> (n,) uint32, a view or ``out``."""
    if numbers.dtype == np.float32:
        return numbers.view(np.uint32)
    if numbers.dtype == np.uint16:
        np.copyto(out, numbers)
        return np.left_shift(out, np.uint32(16), out=out)
    np.copyto(out.view(np.float32), numbers)
    return out
