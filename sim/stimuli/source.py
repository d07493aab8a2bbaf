"""Bit patterns of the source format by their fields, and how deep below a block's maximum numbers still count."""

from __future__ import annotations

from typing import overload

import numpy as np

from ...spec import Encode


def depth(numerics: Encode) -> int:
    """Distance in binades below a block's maximum at which every element is zero.

    From the top of the element format to half its smallest number, one for a scale that is rounded up, and one for
    a value that is rounded up to the next binade; random bits reach as many binades further.
    """
    element = numerics.block.element
    return max(element.emax, element.bias) - element.lowest_exponent + 3 + numerics.random_bits


class Source:
    """Field arithmetic of the source format."""

    def __init__(self, numerics: Encode) -> None:
        self.source = numerics.source
        self.dtype = np.dtype(np.uint32 if self.source.bits > 16 else np.uint16)
        self.special = (1 << self.source.exp_bits) - 1
        self.fraction_mask = (1 << self.source.man_bits) - 1
        self.quiet_nan = self.pattern(self.special, 1 << (self.source.man_bits - 1))
        self.smallest_nan = self.pattern(self.special, 1)
        self.infinity = self.pattern(self.special, 0)
        self.largest = self.infinity - 1
        self.one = self.pattern(self.source.bias, 0)
        self.negative = self.source.sign_mask

    @overload
    def pattern(self, exponent: int, fraction: int) -> int: ...

    @overload
    def pattern(self, exponent: int | np.ndarray, fraction: np.ndarray) -> np.ndarray: ...

    def pattern(self, exponent: int | np.ndarray, fraction: int | np.ndarray) -> int | np.ndarray:
        return (exponent << self.source.man_bits) | fraction
