"""Input blocks for NVFP4 encoders whose results depend on single bits: numbers whose products are nearest to a limit,
largest magnitudes that differ in one last place, NaN of one bit, Inf, the bits of subnormal numbers, and `divisions`.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from ...models.arrays.codes import code_values
from ...models.fast.nvfp4_encode import LARGEST, ORDERS, tensor_constants
from ...spec import FP32, Nvfp4Encode, Order
from ..stimuli.ties import SIGNIFICAND
from ..transactions import Transactions
from .divisions import LEAST, divisions
from .factors import constant, under
from .products import MULTIPLYING, products
from .stimuli import (
    BOUNDARIES,
    INF,
    ONE,
    SMALL,
    STEPS,
    any_numbers,
    around,
    beside,
    fitted,
    last_bit,
    marks,
    scale_codes,
    with_given,
    with_patterns,
)

SQUARE = 2 * SIGNIFICAND - 1
"""The exponent of 1 in products of two significands."""
APART = 8
"""Distance between the numbers of a long source that are tried."""
NEAREST = 256
"""Significands for each boundary."""
SMALL_TENSORS = 32
"""Tensors of subnormal numbers for each scale."""
SAME_BIT = 8
"""Blocks for each bit of a subnormal number."""
TRIES = 32
"""Tensors that are drawn until one fits."""

IS_RECIPROCAL = {Order.TE: True, Order.PAPER: True, Order.AO: False, Order.AO_SINGLE: False}
"""Whether the factor of an order that multiplies is a reciprocal; then its divisor is chosen, not the factor."""
UNDERFLOW = 2.0 ** (FP32.lowest_exponent - 1)
"""The largest quotient that is rounded to zero."""
UNDERFLOWS = 512
"""Blocks whose quotient is next to it."""
LARGEST_CONSTANT = 0.999 * 2.0 ** (FP32.emax + 1)
"""Constants below this and their neighbours are finite."""
SMALL_POWERS = 2.0 ** (FP32.emin - np.arange(3))
"""The smallest normal number, and the subnormal powers of two whose reciprocals are finite."""
SMALL_DIVISORS = 128
"""Blocks for each place of a subnormal divisor."""


def nearest(rules: Nvfp4Encode, seed: int) -> Transactions:
    """The blocks of all kinds."""
    rng = np.random.default_rng(seed)
    every = [_maxima(rules, rng), _nans(rules), _ratio_bits(rules, rng)]
    every += [_subnormals(rules, rng), _subnormal_bits(rules, rng)]
    if rules.order in IS_RECIPROCAL:
        every.append(_factors(rules, rng))
    if IS_RECIPROCAL.get(rules.order):
        every += [_small_powers(rules, rng), _zeros(rules)]
    if rules.order in MULTIPLYING:
        every.append(products(rules, rng))
    if rules.order is Order.MODELOPT:  # a quotient of zero has a scale of its own
        every.append(_underflows(rules, rng))
    if rules.order is Order.COMPRESSED_TENSORS:
        codes, d = divisions(rng)
        every += [under(rules, code_values(rules.block.scale)[codes], d), _small_divisors(rules, rng)]
    return Transactions.joined(every)


def _chosen(holds: np.ndarray, *drawn: np.ndarray) -> list[np.ndarray]:
    """The first of the drawn values, (TRIES, n) each, for which it holds, or else the first: (n,) each."""
    rows = (holds.argmax(axis=0), np.arange(holds.shape[1]))
    return [each[rows] for each in drawn]


def _maxima(rules: Nvfp4Encode, rng: np.random.Generator) -> Transactions:
    """For each lane and each bit of a magnitude a block whose largest number is in this lane and ends with this bit.
    All other numbers are the number before it, which would have a smaller scale.
    """
    last = last_bit(rules)
    lane, bit = np.indices((rules.block_size, FP32.bits - 1 - last)).reshape(2, -1)
    bit, shape = (bit + last).astype(np.uint32), (TRIES, lane.size)
    numbers = (any_numbers(rules, shape, rng) >> bit | 1) << bit
    before = numbers - np.uint32(1 << last)
    scales, codes = code_values(rules.block.scale), rng.integers(0, rules.scale_format.max_code, shape)
    tensors = fitted(rules, numbers, np.full(shape, STEPS[-1]), (scales[codes] + scales[codes + 1]) / 2, rng)
    k = tensor_constants(tensors.view(np.float32), rules).k
    with np.errstate(all="ignore"):
        is_seen = scale_codes(rules, numbers, k) > scale_codes(rules, before, k)
    number, other, tensor = _chosen(is_seen, numbers, before, tensors)
    return with_patterns(
        rules, np.where(lane[:, None] == np.arange(rules.block_size), number[:, None], other[:, None]), tensor
    )


def _nans(rules: Nvfp4Encode) -> Transactions:
    """Every lane with each NaN whose fraction is one bit; and alone with patterns that differ from a NaN in one bit,
    such as Inf. NaN is alone too, in tensors whose largest magnitude is one bit.
    """
    lanes, nan = np.arange(rules.block_size), INF | 1 << FP32.man_bits - 1
    bits = np.arange(last_bit(rules), FP32.man_bits, dtype=np.uint32)
    fractions = np.uint32(1) << bits[(np.arange(len(bits))[:, None] + lanes) % len(bits)]
    numbers = np.tile(
        np.uint32(nan) ^ np.uint32(1) << np.arange(FP32.man_bits - 1, FP32.bits - 1, dtype=np.uint32), len(lanes)
    )
    alone = np.where(np.repeat(lanes, FP32.exp_bits + 1)[:, None] == lanes, numbers[:, None], 0)
    tensors = np.where(numbers == INF, ONE, numbers)
    lane, bit = np.indices((len(lanes), FP32.bits - 1)).reshape(2, -1)
    nans = np.where(lane[:, None] == lanes, np.uint32(nan), 0)
    return with_patterns(
        rules,
        np.concatenate([INF | fractions, alone, nans]),
        np.concatenate([np.full(len(bits), ONE), tensors, np.uint32(1) << bit.astype(np.uint32)]),
    )


def _ratio_bits(rules: Nvfp4Encode, rng: np.random.Generator) -> Transactions:
    """Blocks of one number whose ratio to the constant is the middle of two scales plus one bit, for each bit that
    rounding looks at.
    """
    scale = rules.scale_format
    place = np.repeat(np.arange(FP32.man_bits - scale.man_bits - 1), SAME_BIT)
    shape, values = (TRIES, place.size), code_values(scale).astype(np.float32)
    code = rng.integers(1 << scale.man_bits - 1, scale.max_code >> 1, place.size) * 2  # the even one
    t = (((values[code] + values[code + 1]) / 2).view(np.uint32) + (1 << place).astype(np.uint32)).view(np.float32)
    numbers = any_numbers(rules, shape, rng)
    tensors = fitted(rules, numbers, np.full(shape, STEPS[-1]), np.broadcast_to(t, shape).astype(float), rng)
    k = tensor_constants(tensors.view(np.float32), rules).k
    with np.errstate(all="ignore"):
        is_seen = ORDERS[rules.order].ratio(numbers.view(np.float32), k, scale) == t
    number, tensor = _chosen(is_seen, numbers, tensors)
    return with_patterns(rules, number[:, None] * (np.arange(rules.block_size) == 0), tensor)


def _zeros(rules: Nvfp4Encode) -> Transactions:
    """Blocks of zeros under every constant whose significand is all ones."""
    k = np.arange(1, FP32.inf_field >> FP32.man_bits, dtype=np.uint32) << FP32.man_bits | (1 << FP32.man_bits) - 1
    zeros = np.zeros((len(k), rules.block_size), np.uint32)
    return with_given(rules, zeros, k.view(np.float32), np.ones(len(k), np.float32))


def _subnormals(rules: Nvfp4Encode, rng: np.random.Generator) -> Transactions:
    """Blocks between every two scales, in tensors so small that subnormal numbers have scales. Half of the tensors have
    largest magnitudes of any number of bits, so that constants begin with any number of zeros. The others are `fitted`
    to a subnormal number.
    """
    scales = code_values(rules.block.scale)[: rules.scale_format.max_code + 1]
    t = np.repeat((scales[1:] + scales[:-1]) / 2, SMALL_TENSORS)
    last, shape = last_bit(rules), (len(t), rules.block_size - 1)
    tensors = np.maximum(rng.integers(1, SMALL, len(t)) >> rng.integers(0, SMALL.bit_length(), len(t)), 1)
    numbers = np.maximum(rng.integers(1, 1 << FP32.man_bits, len(t)) >> last, 1) << last
    near = fitted(rules, numbers.astype(np.uint32), np.full(len(t), STEPS[-1]), t, rng)
    given = (tensors.astype(np.uint32), near)
    return Transactions.joined([around(rules, t, some, marks(rules, shape, rng), rng) for some in given])


def _subnormal_bits(rules: Nvfp4Encode, rng: np.random.Generator) -> Transactions:
    """Blocks of one subnormal number, for each place of its leading bit and this bit or one below. The block would have
    another scale with another value of this bit, if there is a tensor for which it would.
    """
    last, most = last_bit(rules), rules.scale_format.max_code
    places, below = np.tril_indices(FP32.man_bits)
    leading, bit = (np.tile(one[below >= last], SAME_BIT) for one in (places, below))
    shape = (TRIES, len(bit))
    drawn = rng.integers(1 << FP32.man_bits, 2 << FP32.man_bits, shape) >> FP32.man_bits - leading
    numbers = (drawn >> last << last).astype(np.uint32)
    other = numbers ^ (1 << bit).astype(np.uint32)
    # numbers of few bits have small scales
    codes = rng.integers(0, most, shape) >> rng.integers(0, most.bit_length(), shape)
    scales = code_values(rules.block.scale)
    t, is_free = (scales[codes] + scales[codes + 1]) / 2, IS_RECIPROCAL.get(rules.order, False)
    if is_free:  # a constant that no tensor has shows more bits
        k = beside(constant(rules, t.astype(np.float32), numbers.view(np.float32)), 0, rng).view(np.float32)
        k = np.minimum(k, LARGEST)
    else:
        tensors = fitted(rules, numbers, np.full(shape, STEPS[-1]), t, rng)
        k = tensor_constants(tensors.view(np.float32), rules).k
    with np.errstate(all="ignore"):
        is_seen = scale_codes(rules, numbers, k) != scale_codes(rules, other, k)
    number, given = _chosen(is_seen, numbers, k if is_free else tensors)
    blocks = number[:, None] * (np.arange(rules.block_size) == 0)
    return with_given(rules, blocks, given, np.ones_like(given)) if is_free else with_patterns(rules, blocks, given)


def _underflows(rules: Nvfp4Encode, rng: np.random.Generator) -> Transactions:
    """Blocks of one number whose quotient is at or next to `UNDERFLOW`. A third have the smallest number."""
    last = last_bit(rules)
    drawn = rng.integers(1, 1 << FP32.man_bits, UNDERFLOWS) >> rng.integers(last, FP32.man_bits, UNDERFLOWS)
    drawn[::3] = 1
    numbers = (np.maximum(drawn, 1) << last).astype(np.uint32)
    tensors = fitted(rules, numbers, np.full(UNDERFLOWS, STEPS[-1]), np.full(UNDERFLOWS, UNDERFLOW), rng)
    return with_patterns(rules, numbers[:, None] * (np.arange(rules.block_size) == 0), tensors)


def _small_powers(rules: Nvfp4Encode, rng: np.random.Generator) -> Transactions:
    """Blocks whose divisor s * d is rounded to one of `SMALL_POWERS` or a number next to it."""
    s = code_values(rules.block.scale)[1 : rules.scale_format.max_code + 1]
    s, power = (each.ravel() for each in np.meshgrid(np.repeat(s, SAME_BIT), SMALL_POWERS))
    d = beside(power / s, 0, rng).view(np.float32)
    is_constant = d >= SMALL_POWERS[-1]
    return under(rules, s[is_constant], d[is_constant])


def _small_divisors(rules: Nvfp4Encode, rng: np.random.Generator) -> Transactions:
    """Blocks whose divisor s / d is next to the middle of two subnormal numbers, for each place of its first bit."""
    place, most = np.repeat(np.arange(FP32.man_bits), SMALL_DIVISORS), rules.scale_format.max_code
    middles = (rng.integers(1 << place, 2 << place) + 0.5) * 2 * UNDERFLOW
    codes = np.maximum(rng.integers(1, most + 1, place.size) >> rng.integers(0, most.bit_length(), place.size), 1)
    s = code_values(rules.block.scale)[codes]
    is_constant = s / middles < LARGEST_CONSTANT
    d = beside((s / middles)[is_constant], 0, rng).view(np.float32)
    return under(rules, s[is_constant], d)


def _factors(rules: Nvfp4Encode, rng: np.random.Generator) -> Transactions:
    """A block for each of `_significands`, with numbers next to limits of codes."""
    is_reciprocal = IS_RECIPROCAL[rules.order]
    wanted = _significands(is_reciprocal, last_bit(rules))
    shape = (TRIES, len(wanted))
    values = code_values(rules.block.scale)[1 : rules.scale_format.max_code + 1]
    s, fraction = rng.choice(values, shape), wanted & (1 << FP32.man_bits) - 1
    numbers = (fraction | rng.integers(64, 192, shape) << FP32.man_bits).astype(np.uint32)
    if is_reciprocal:
        tensors = fitted(rules, numbers, np.ones(shape), s, rng)
        made = s * tensor_constants(tensors.view(np.float32), rules).d
    else:
        tensors = fitted(rules, np.full(shape, ONE, np.uint32), numbers.view(np.float32), s, rng)
        made = ORDERS[rules.order].factor(s, tensor_constants(tensors.view(np.float32), rules).d)
    is_made = made.astype(np.float32).view(np.uint32) & (1 << FP32.man_bits) - 1 == fraction
    scale, tensor = _chosen(is_made, s, tensors)
    return around(rules, scale, tensor, marks(rules, (len(wanted), rules.block_size - 1), rng), rng)


@lru_cache
def _significands(is_reciprocal: bool, last: int) -> np.ndarray:
    """Significands of factors, or of divisors with these reciprocals. Their products with numbers of the source come
    nearest to a limit, where rounding reaches the middle of two elements. The patterns of these numbers end with
    ``last`` zeros. Also divisors whose reciprocals are nearest to the middle of two numbers.
    """
    numbers = np.arange(LEAST + (last == 0), 2 * LEAST, max(1 << last, APART))
    factors = np.concatenate([_factors_near(code, numbers) for code in range(4)])  # other boundaries are twice these
    if not is_reciprocal:
        return factors
    divisors = (1 << SQUARE) // factors + np.array([[-1], [0], [1]])
    twice, rest = np.divmod(1 << SQUARE + 1, some := np.arange(LEAST + 1, 2 * LEAST, APART))
    near = _least(some, np.where(twice % 2, rest, some - rest) / some)
    return np.concatenate([divisors[_reciprocal(divisors) == factors], near])


def _reciprocal(divisors: np.ndarray) -> np.ndarray:
    return ((1 << SQUARE + 1) // divisors + 1) // 2


def _factors_near(code: int, numbers: np.ndarray) -> np.ndarray:
    """Significands with the nearest products to the limit between a code and the next."""
    quarters, half = int(np.frexp(BOUNDARIES[code])[0] * 8), LEAST  # half a last place
    limit = (quarters << SQUARE - 2) + (-half if code % 2 else half)  # a tie goes to the even code
    limits = limit >> (limit >= numbers << SIGNIFICAND).astype(int)
    factors = limits // numbers + np.array([[0], [1]])
    return _least(factors.ravel(), abs(factors * numbers - limits).ravel())


def _least(values: np.ndarray, distances: np.ndarray) -> np.ndarray:
    """The values with the smallest distances."""
    return values[np.argpartition(distances, NEAREST - 1)[:NEAREST]]
