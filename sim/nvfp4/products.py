"""Products of a largest magnitude and a constant of a tensor, half a last place from the middle of two scales, or one
bit more or less. Encoders to NVFP4 of the orders that multiply these round them to one scale or the other.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

import numpy as np

from ...models.fast.nvfp4_encode import ORDERS
from ...spec import E4M3, FP32, Nvfp4Encode, Order
from ..stimuli.ties import SIGNIFICAND
from ..transactions import Transactions
from .divisions import END, LEAST
from .stimuli import AMAX_OF, last_bit, with_given

INVERSIONS = 5
"""Steps, each of which doubles the 3 bits of an inverse that are right, up to 64."""
CHUNK = 1 << 16
"""Significands at a time."""
NEAR = np.arange(-2, 3).astype(np.uint32)
"""Last places from 6 * u at which b is searched."""
SCALES = 8
"""Blocks for each product."""
MULTIPLYING = (Order.TE, Order.PAPER, Order.COMPRESSED_TENSORS)
"""The orders whose scale is the product of a constant and a number: b, or b / 6."""

Wanted = tuple[int, int, int]
"""The place of the bit that is set in the middle of two scales, the bits below it, and the two bits from it on.

Products that are rounded to this middle have another scale than those that are rounded up, or down.
"""


def products(rules: Nvfp4Encode, rng: np.random.Generator) -> Transactions:
    """Blocks of one number, for `SCALES` exponents of each product."""
    order, last = ORDERS[rules.order], last_bit(rules)
    # the sixth of a number has all bits, of any source
    numbers, k = np.repeat(_significands(last if rules.order is Order.TE else 0), SCALES, axis=1)
    exponents = rng.integers(-64, 64, numbers.size)
    u = np.ldexp(numbers, exponents - FP32.man_bits).astype(np.float32)
    k = np.ldexp(k, rng.integers(E4M3.emin, E4M3.emax, numbers.size) - exponents - FP32.man_bits).astype(np.float32)
    one = np.ones(1, np.float32)
    b = AMAX_OF[rules.order](u, one).view(np.uint32)[:, None] + NEAR >> last << last
    is_exact = order.ratio(b.view(np.float32), one, E4M3) == u[:, None]
    found = np.flatnonzero(is_exact.any(axis=1))
    b, k = b[found, is_exact.argmax(axis=1)[found]], k[found]
    lanes = rng.integers(0, rules.block_size, found.size)[:, None] == np.arange(rules.block_size)
    return with_given(rules, lanes * b[:, None], k, k if rules.order is Order.COMPRESSED_TENSORS else np.ones_like(k))


@lru_cache
def _significands(last: int) -> np.ndarray:
    """Significands (2, n) of numbers that end with ``last`` zeros, and of constants.

    There is a pair for each of `_wanted` that has one.
    """
    found: dict[Wanted, tuple[int, int]] = {}
    for zeros in range(last, SIGNIFICAND):
        for start in range(LEAST >> zeros | 1, END >> zeros, CHUNK):
            odd = np.arange(start, min(start + CHUNK, END >> zeros), 2).astype(np.uint64)
            inverse = odd.copy()
            for _ in range(INVERSIONS):
                inverse *= np.uint64(2) - odd * inverse
            for wanted in _wanted():
                middle, low, above = wanted
                if wanted in found or low & (1 << zeros) - 1:
                    continue
                k = inverse * np.uint64(low >> zeros) & np.uint64((1 << middle - zeros) - 1)
                at = np.flatnonzero((k >= LEAST) & (k < END))
                made = (odd[at] << np.uint64(zeros)) * k[at]
                size = np.uint64(middle + E4M3.man_bits + 1)
                fits = at[(made >> size == 1) & (made >> np.uint64(middle) & 3 == above)]
                if fits.size:
                    found[wanted] = int(odd[fits[0]]) << zeros, int(k[fits[0]])
    return np.array(list(found.values())).reshape(-1, 2).T


def _wanted() -> Iterator[Wanted]:
    """All products at half a last place from the middle of two scales, or one bit more or less."""
    for middle in (2 * SIGNIFICAND - E4M3.man_bits - 2, 2 * SIGNIFICAND - E4M3.man_bits - 3):
        half = 1 << middle - SIGNIFICAND + E4M3.man_bits + 1
        yield middle, half, 1
        for place in range(half.bit_length() - 1):
            yield middle, half + (1 << place), 1
            yield middle, half - (1 << place), 1
            yield middle, (1 << middle) - half - (1 << place), 2
