"""Right-aligned codes of a number format in arrays, and their values."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from ...spec import FP32, NumberFormat


@lru_cache(maxsize=64)
def code_values(format: NumberFormat) -> np.ndarray:
    """The value of every code: (2**bits,) float32, read-only, from the definition of the format.

    Raises ValueError for codes of more than 16 bits, and for values outside float32.
    """
    if format.bits > 16:
        raise ValueError(f"a table of values is for codes of at most 16 bits, not for {format.name}")
    exact = np.empty(1 << format.bits, np.float64)
    for code in range(exact.size):
        number = format.decode(code)
        magnitude = float(number.magnitude if number.kind == "finite" else number.kind)
        exact[code] = -magnitude if number.negative else magnitude
    with np.errstate(over="ignore"):
        values = exact.astype(np.float32)
    if not np.array_equal(values, exact, equal_nan=True):
        raise ValueError(f"{format.name} has values outside float32")
    values.flags.writeable = False
    return values


def numbers_of(format: NumberFormat, codes: np.ndarray) -> np.ndarray:
    """The values of codes, float32; codes of FP32 are its bit patterns."""
    if format == FP32:
        return np.ascontiguousarray(codes, np.uint32).view(np.float32)
    return code_values(format)[codes]


def require_range(name: str, array: object, bits: int, what: str) -> None:
    """Raise TypeError or ValueError unless an array contains unsigned integers of ``bits`` bits."""
    is_masked = type(array) is not np.ndarray and isinstance(array, np.ma.MaskedArray)
    if not isinstance(array, np.ndarray) or is_masked or array.dtype.kind not in "ui":
        kind = array.dtype if type(array) is np.ndarray else type(array).__name__
        raise TypeError(f"{name} must be a NumPy array of whole numbers, not {kind}")
    if not array.size or (array.dtype.kind == "u" and 8 * array.itemsize <= bits):
        return  # the dtype has no other values
    low, high = 0 if array.dtype.kind == "u" else int(array.min()), int(array.max())
    if low < 0 or high >> bits:
        raise ValueError(f"{what} must be 0 to {(1 << bits) - 1}, not {low if low < 0 else high}")
