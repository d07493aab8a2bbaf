"""Memory for the steps of one chunk, kept from chunk to chunk: fresh memory costs more than the arithmetic on it."""

from __future__ import annotations

import threading

import numpy as np

from ..spec import Kind, NumberFormat, Numerics, Rounding

__all__ = ["CHUNK", "Workspace", "code_dtype", "workspace"]

CHUNK = 256 * 1024
"""Elements at a time: arrays of 1 MiB at most, which the caches hold, and enough to hide what a NumPy call costs and
what threads lose when they hand the interpreter over between two calls.
"""


class Workspace:
    """Arrays of ``size`` elements to write to, named after what they hold first, and two constants.

    The constants are arrays because NumPy takes the minimum or maximum of two arrays three times as fast as that of an
    array and a number.
    """

    def __init__(self, size: int, numerics: Numerics) -> None:
        element = numerics.block.element
        self.size, self.numerics = size, numerics
        self.wide, self.magnitudes, self.power, self.total = (np.empty(size, np.uint32) for _ in range(4))
        self.factors = np.empty(size, np.float32)
        self.narrow, self.flags = np.empty(size, code_dtype(element)), np.empty(size, bool)
        self.limit = np.full(size, _limit(element, numerics.rounding), np.float32)
        self.smallest_normal = np.full(size, (element.emin + 127) << 23, np.uint32)


def _limit(element: NumberFormat, rounding: Rounding) -> float:
    """To what a number may be cut before it is rounded: the largest element; for the FPGA paper's recipe, whose codes
    stop elsewhere, the first number beyond the format.
    """
    if rounding is Rounding.GUARD_HALF_UP and element.kind is Kind.FLOAT:
        return 2.0 ** (element.emax + 1)
    return float(element.max_value)


def code_dtype(element: NumberFormat) -> np.dtype:
    """The dtype of right-aligned codes: uint8, or uint16 where they have more than eight bits."""
    return np.dtype(np.uint8 if element.bits <= 8 else np.uint16)


_kept = threading.local()


def workspace(size: int, numerics: Numerics) -> Workspace:
    """This thread's workspace for at least ``size`` elements: the last one again, if it fits."""
    last = getattr(_kept, "workspace", None)
    if last is None or last.size < size or last.numerics != numerics:
        last = _kept.workspace = Workspace(size, numerics)
    return last
