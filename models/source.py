"""Source numbers as NumPy arrays: which dtype is which format, and exact widening to FP32 patterns."""

from __future__ import annotations

import numpy as np

from ..spec import BF16, FP16, FP32, FloatFormat
from .dlpack import from_dlpack

__all__ = ["FORMATS", "DTYPES", "as_numbers", "widen"]

FORMATS: dict[np.dtype, FloatFormat] = {np.dtype(np.float32): FP32, np.dtype(np.uint16): BF16, np.dtype(np.float16): FP16}
"""The format of an array's dtype. NumPy has no BF16: it travels as its bit patterns."""

DTYPES: dict[str, np.dtype] = {source.name: dtype for dtype, source in FORMATS.items()}

HALF_EXPONENT = np.uint16(0x7C00)


def as_numbers(x: object, source: FloatFormat) -> np.ndarray:
    """``x`` as an array of one of the dtypes of `FORMATS`, in the machine's byte order, and without a copy where it can be.

    ``x`` is an array, or anything on the CPU with ``__dlpack__`` or ``__array__``: a PyTorch tensor, a JAX array. BF16
    becomes its bit patterns. Raises TypeError unless every number of the array's format is one of ``source``, which for
    FP32 are all three formats.
    """
    array = from_dlpack(x) if hasattr(x, "__dlpack__") and not isinstance(x, np.ndarray) else np.asarray(x)
    if array.dtype.name == "bfloat16":
        array = array.view(np.uint16)
    array = array.astype(array.dtype.newbyteorder("="), copy=False)
    if array.dtype not in FORMATS or source not in (FP32, FORMATS[array.dtype]):
        wanted = {FP32: "float32, float16 or bfloat16", BF16: "bfloat16 (or its patterns as uint16)"}.get(source, source.name)
        raise TypeError(f"x must be {wanted}, not {array.dtype}")
    return array


def widen(numbers: np.ndarray, out: np.ndarray) -> np.ndarray:
    """FP32 patterns of numbers of any of the dtypes, exactly: uint32 of the same shape, a view or ``out``."""
    if numbers.dtype == np.float32:
        return numbers.view(np.uint32)
    if numbers.dtype == np.uint16:
        np.copyto(out, numbers)
        return np.left_shift(out, np.uint32(16), out=out)
    patterns = numbers.view(np.uint16)
    if ((patterns & HALF_EXPONENT) == HALF_EXPONENT).any():  # Inf or NaN: NumPy's own conversion, several times slower
        np.copyto(out.view(np.float32), numbers)
        return out
    np.copyto(out.view(np.int32), patterns.view(np.int16))  # the sign fills the upper half
    np.left_shift(out, np.uint32(13), out=out)
    np.bitwise_and(out, np.uint32(0x8FFFFFFF), out=out)
    np.multiply(out.view(np.float32), np.float32(2.0 ** 112), out=out.view(np.float32))  # from the bias 127 to that of FP16
    return out
