"""Checks of arguments that several functions take."""

from __future__ import annotations

import numpy as np

from ...spec.catalogue import excerpt


def require_range(name: str, array: object, bits: int, what: str) -> None:
    """Raise TypeError or ValueError unless an array contains unsigned integers of ``bits`` bits."""
    if not isinstance(array, np.ndarray) or isinstance(array, np.ma.MaskedArray) or array.dtype.kind not in "ui":
        kind = array.dtype if type(array) is np.ndarray else type(array).__name__
        raise TypeError(f"{name} must be a NumPy array of whole numbers, not {kind}")
    if not array.size or (array.dtype.kind == "u" and 8 * array.itemsize <= bits):
        return  # the dtype has no other values
    low, high = 0 if array.dtype.kind == "u" else int(array.min()), int(array.max())
    if low < 0 or high >> bits:
        raise ValueError(f"{what} must be 0 to {(1 << bits) - 1}, not {low if low < 0 else high}")


def require_whole(name: str, value: object) -> None:
    """Raise TypeError unless an argument is an integer."""
    if not isinstance(value, int | np.integer) or isinstance(value, bool):
        raise TypeError(f"{name} must be a whole number, not {excerpt(value)}")
