"""Arrays for the steps of one chunk, reused for all chunks: new memory costs more than the arithmetic on it."""

from __future__ import annotations

import threading

import numpy as np

from ...spec import FP32, Encode, Kind, NumberFormat, Rounding
from .source import code_dtype

CHUNK = 256 * 1024
"""Elements of a chunk. Its arrays have at most 1 MiB, which fits the caches. It is large enough to hide the overhead of
NumPy calls and thread switches.
"""


class ScratchBuffers:
    """Arrays of ``size`` elements for the steps, and two arrays of constants.

    Each array is named after its first contents. The constants are arrays because NumPy takes the minimum or maximum
    of two arrays three times as fast as the one of an array and a number.
    """

    def __init__(self, size: int, numerics: Encode) -> None:
        element = numerics.block.element
        self.size, self.numerics = size, numerics
        self.wide, self.magnitudes, self.power, self.total = (np.empty(size, np.uint32) for _ in range(4))
        self.factors = np.empty(size, np.float32)
        self.narrow, self.flags = np.empty(size, code_dtype(element)), np.empty(size, bool)
        self.limit = np.full(size, _limit(element, numerics.rounding), np.float32)
        self.smallest_normal = np.full(size, (element.emin + FP32.bias) << FP32.man_bits, np.uint32)


def _limit(element: NumberFormat, rounding: Rounding) -> float:
    """The limit for magnitudes before rounding: the largest element. `Rounding.GUARD_HALF_UP` saturates at another
    code; its limit is the first power of two beyond the format.
    """
    if rounding is Rounding.GUARD_HALF_UP and element.kind is Kind.FLOAT:
        return 2.0 ** (element.emax + 1)
    return float(element.max_value)


_thread = threading.local()


def scratch_buffers(size: int, numerics: Encode) -> ScratchBuffers:
    """Scratch buffers of this thread for at least ``size`` elements. The last ones are reused if they fit."""
    last = getattr(_thread, "buffers", None)
    if last is None or last.size < size or last.numerics != numerics:
        last = _thread.buffers = ScratchBuffers(size, numerics)
    return last
