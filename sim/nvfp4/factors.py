"""Input blocks for NVFP4 encoders: each significand that a constant of the elements can have, with the numbers on both
sides of each limit. They reach every factor, and every threshold that hardware computes from one.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import numpy as np

from ...models.arrays.codes import code_values
from ...models.fast.nvfp4_encode import LARGEST, ORDERS
from ...spec import E4M3, FP32, Nvfp4Encode, Order, Role
from ..transactions import Transactions
from .stimuli import AMAX_OF, BOUNDARIES, ONE, STEPS, UNSCALED, last_bit, with_given

CHUNK = 1 << 17
"""Significands of which the blocks are made at a time."""
OF_EACH_SIGNIFICAND = np.arange(1, 2, 2.0**-E4M3.man_bits)
"""Scales from 1 to 2."""
AROUND = np.arange(-2, 3)
"""Last places from a limit, divided by the rounded factor, at which the number next to the limit is searched."""


def factors(rules: Nvfp4Encode) -> Iterator[Transactions]:
    """Blocks for each of 2**23 significands under a scale of 1, or under one of each significand if numbers are divided
    by a quotient of both; without constants, for each scale. Random bits are zeros. 4 over 6 may choose another scale.
    """
    for given in _factors(rules):
        zeros = {Role.RANDOM: np.zeros(given[Role.NUMBERS].shape, np.uint16)} if rules.random_bits else {}
        yield given.with_arrays(zeros)


def _factors(rules: Nvfp4Encode) -> Iterator[Transactions]:
    if rules.block.tensor_scale is None:
        yield under(rules, code_values(rules.block.scale)[1 : rules.scale_format.max_code + 1], np.ones(1, np.float32))
        return
    scales = OF_EACH_SIGNIFICAND if rules.order is Order.COMPRESSED_TENSORS else OF_EACH_SIGNIFICAND[:1]
    for scale, start in product(scales, range(0, 1 << FP32.man_bits, CHUNK)):
        significands = ONE + np.arange(start, start + CHUNK, dtype=np.uint32)
        yield under(rules, np.full(1, scale, np.float32), significands.view(np.float32))


def under(rules: Nvfp4Encode, s: np.ndarray, d: np.ndarray) -> Transactions:
    """Blocks under scales s and constants d, with numbers on both sides of each limit. The last number of each is the
    largest, and has the largest code. If the rounding takes random bits, the limits belong to bits of zeros.
    """
    order, last = ORDERS[rules.order], last_bit(rules)
    limits = STEPS[1:] if rules.random_bits else BOUNDARIES
    # a tie goes to the even code; without a one among random bits, the next element is the first with its code
    is_passed_at = (np.arange(len(limits)) % 2 == 1) | bool(rules.random_bits)
    with np.errstate(over="ignore"):
        factor = order.factor(s, d)[:, None]
    near = UNSCALED[order.scaled](limits, factor).view(np.uint32).astype(np.int64) >> last
    numbers = (near[..., None] + AROUND << last).astype(np.uint32)
    scaled = order.scaled(numbers.view(np.float32), factor[..., None])
    passed = (scaled > limits[:, None]) | (scaled == limits[:, None]) & is_passed_at[:, None]
    above = np.maximum(passed.argmax(axis=2), 1)[..., None]
    beside = np.take_along_axis(numbers, np.concatenate([above - 1, above], axis=2), axis=2).reshape(len(factor), -1)
    largest = UNSCALED[order.scaled](STEPS[-1], factor).view(np.uint32) >> last << last
    largest = np.maximum(largest, beside[:, -1:])
    blocks = np.zeros((len(factor), rules.block_size), np.uint32)
    blocks[:, : beside.shape[1]], blocks[:, -1:] = beside, largest
    has_one = order.scaled is np.divide  # orders that divide numbers have one constant
    return with_given(rules, blocks, d if has_one else constant(rules, s, largest[:, 0].view(np.float32)), d)


def constant(rules: Nvfp4Encode, s: np.ndarray, largest: np.ndarray) -> np.ndarray:
    """The constants under which blocks with these largest magnitudes have the scales s."""
    of_one, of_two = AMAX_OF[rules.order](np.ones(2, np.float32), np.array([1, 2], np.float32))
    with np.errstate(over="ignore"):
        k = of_one * s / largest if of_two < of_one else largest / (of_one * s)
    return np.minimum(k, LARGEST)
