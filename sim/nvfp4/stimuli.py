"""Input blocks worth trying for NVFP4 encoders, each with the constants of a tensor.

A block and the largest magnitude of its tensor are drawn apart, so blocks may exceed that magnitude.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ...models.arrays.codes import code_values
from ...models.arrays.source import narrow
from ...models.fast.nvfp4_encode import ORDERS, nearest_codes, tensor_constants
from ...spec import E2M1, FP32, FourOverSix, Nvfp4Encode, Order, Role
from ..transactions import Transactions

NAN, INF, SIGN, LARGEST, ONE = 0x7FC00000, 0x7F800000, 0x80000000, 0x7F7FFFFF, 0x3F800000
SMALLEST_NORMAL = 0x00800000

TENSORS = (0, 1, 0x000FFFFF, 0x006CE3EE, *range(SMALLEST_NORMAL, LARGEST, 0x04D5A5A5), 0x45280000, LARGEST, INF)
"""Largest magnitudes of tensors, as patterns: zero, subnormal numbers, all exponents, 2688, and Inf."""

SMALL = 0x06000000
"""2**-115."""

NEAR = (-3, -2, -1, 0, 0, 0, 1, 2, 3)
"""Last places from a boundary; those that repeat are drawn more often."""

CARRY_TENSORS = 1 << 18
"""Tensors in which `carries` searches blocks."""
CARRIES = 256

FINEST = (0, 0x00000001, 0x00000002, 0x000FFFFF, 0x00400000, 0x007FFFFF, SMALLEST_NORMAL, SMALLEST_NORMAL + 1)

BOUNDARIES = np.array([0.25, 0.75, 1.25, 1.75, 2.5, 3.5, 5], np.float32)
"""Halfway between two elements."""

STEPS = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6], np.float32)
"""The elements."""

ERRORS_OF_FOUR = np.array([0.5, 1, 2], np.float32)
"""Numbers 0.25 from their elements under a scale 1.5 times as large, in units of the smaller scale."""

ERRORS_OF_SIX = np.array([0.75, 2.25], np.float32)
"""Numbers 0.25 from their elements under the smaller scale."""

AMAX_OF: dict[Order, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    Order.TE: lambda t, k: t / k,
    Order.PAPER: lambda t, k: t / k * np.float32(6),
    Order.AO: lambda t, k: t * np.float32(6) * k,
    Order.AO_SINGLE: lambda t, k: t * np.float32(6) * k,
    Order.MODELOPT: lambda t, k: t * np.float32(6) * k,
    Order.COMPRESSED_TENSORS: lambda t, k: t / k * np.float32(6),
}
"""The approximate largest magnitude of a block whose scale is rounded from t."""


UNSCALED: dict[np.ufunc, np.ufunc] = {np.multiply: np.divide, np.divide: np.multiply}
"""The operation that undoes the scaling of numbers."""


def with_patterns(rules: Nvfp4Encode, patterns: np.ndarray, a: np.ndarray) -> Transactions:
    """`with_constants` for blocks of binary32 patterns, which are rounded to the source."""
    return with_constants(rules, _narrowed(rules, patterns), a)


def with_constants(rules: Nvfp4Encode, patterns: np.ndarray, a: np.ndarray) -> Transactions:
    """Blocks (n, block_size) of source patterns, in tensors whose largest magnitudes are the binary32 patterns (n,)."""
    found = {Role.NUMBERS: patterns}
    if rules.block.tensor_scale is not None:
        constants = tensor_constants(a.astype(np.uint32).view(np.float32), rules)
        found[Role.SCALE_CONSTANT] = constants.k.view(np.uint32)[:, None]
        found[Role.ELEMENT_CONSTANT] = constants.d.view(np.uint32)[:, None]
    if rules.four_over_six is not FourOverSix.OFF:
        found[Role.TENSOR_AMAX] = a.astype(np.uint32)[:, None]
    return Transactions(found)


def with_given(rules: Nvfp4Encode, patterns: np.ndarray, k: np.ndarray, d: np.ndarray) -> Transactions:
    """Blocks of binary32 patterns that the source has, under these constants."""
    constants = {Role.SCALE_CONSTANT: k, Role.ELEMENT_CONSTANT: d}
    if rules.four_over_six is not FourOverSix.OFF:
        constants[Role.TENSOR_AMAX] = d * np.float32(float(E2M1.max_value) * rules.scale_max)
    has = {port.role for port in rules.ports}
    words = {role: one.view(np.uint32)[:, None] for role, one in constants.items() if role in has}
    numbers = patterns >> np.uint32(FP32.bits - rules.source.bits)
    return Transactions({Role.NUMBERS: numbers.astype(f"u{rules.source.bits // 8}"), **words})


def _narrowed(rules: Nvfp4Encode, patterns: np.ndarray) -> np.ndarray:
    """Source patterns of binary32 patterns, rounded if necessary; NaN stays NaN."""
    source, numbers = rules.source, patterns.astype(np.uint32)
    if source == FP32:
        return numbers
    is_nan = (numbers & ~np.uint32(SIGN)) > INF
    cut = numbers >> np.uint32(FP32.bits - source.bits)
    return np.where(is_nan, cut, narrow(numbers, source)).astype(f"u{source.bits // 8}")


def _tensors(rules: Nvfp4Encode) -> np.ndarray:
    return np.array([*TENSORS, *([] if ORDERS[rules.order].ignores_nan else [NAN])], np.uint32)


def _any_tensors(rules: Nvfp4Encode, count: int, rng: np.random.Generator) -> np.ndarray:
    """Patterns of largest magnitudes of any exponent; one in 16 is of `TENSORS`, and one in 8 is so small that
    subnormal numbers have scales.
    """
    kind = rng.integers(0, 16, count)
    return np.select(
        [kind == 0, kind < 3],
        [rng.choice(_tensors(rules), count), rng.integers(1, SMALL, count, np.int64)],
        rng.integers(1, LARGEST, count, np.int64),
    ).astype(np.uint32)


def corners(rules: Nvfp4Encode) -> Transactions:
    """Zeros, NaN and Inf of both signs, subnormal and largest numbers, and wide ranges, each in every tensor of
    `TENSORS`.
    """
    size = rules.block_size
    ramp = [ONE + (i << 21) for i in range(size)]
    rows = [
        [0] * size,
        [SIGN] * size,
        [NAN] * size,
        [NAN, NAN | SIGN, *ramp[2:]],
        [INF + 0x10000, *ramp[1:]],
        [INF, *ramp[1:]],
        [INF | SIGN, SIGN, 0, *ramp[3:]],
        [INF, NAN, *ramp[2:]],
        [LARGEST] * size,
        [LARGEST | SIGN, *([1] * (size - 1))],
        [LARGEST, *ramp[1:]],
        [0x7F7F0000, 0x00010000, *ramp[2:]],
        (list(FINEST) * size)[:size],
        [pattern | SIGN for pattern in (list(FINEST) * size)[:size]],
        *([0] * lane + [ONE] + [0] * (size - 1 - lane) for lane in range(size)),
        [i * 0x07800000 // (size // 16) for i in range(size)],
        [SIGN | i * 0x07800000 // (size // 16) for i in range(size)],
        *([(i + base) << 19 for i in range(size)] for base in range(0, 64, 16)),
    ]
    tensors = _tensors(rules)
    patterns = np.tile(np.array(rows, np.uint32), (len(tensors), 1))
    return with_patterns(rules, patterns, np.repeat(tensors, len(rows)))


def boundary(rules: Nvfp4Encode, blocks: int, seed: int) -> Transactions:
    """Blocks whose largest magnitude is at or next to a boundary of scales, with numbers at or next to boundaries of
    elements. Half of the blocks are in tensors that are `fitted` to one of these, because a 16-bit source seldom comes
    so near to a boundary.
    """
    rng = np.random.default_rng(seed)
    scales = code_values(rules.block.scale)
    codes = rng.integers(0, rules.scale_format.max_code, blocks)
    scaled = marks(rules, (blocks, rules.block_size - 1), rng)
    t = np.where(rng.integers(0, 4, blocks) == 0, scales[codes], (scales[codes] + scales[codes + 1]) / 2)
    is_of_scale = rng.integers(0, 2, blocks) == 0
    y, s = np.where(is_of_scale, STEPS[-1], scaled[:, 0]), np.where(is_of_scale, t, scales[codes])
    tensors = np.where(
        rng.integers(0, 2, blocks) == 0,
        _any_tensors(rules, blocks, rng),
        fitted(rules, any_numbers(rules, blocks, rng), y, s, rng),
    )
    return around(rules, t, tensors, scaled, rng)


def around(
    rules: Nvfp4Encode, t: np.ndarray, tensors: np.ndarray, scaled: np.ndarray, rng: np.random.Generator
) -> Transactions:
    """Blocks in tensors of largest magnitudes (n,). One number gives a scale that is rounded from about t (n,), and the
    others are about ``scaled`` (n, block_size - 1) under it.
    """
    order, scales, last = ORDERS[rules.order], code_values(rules.block.scale), last_bit(rules)
    constants = tensor_constants(tensors.view(np.float32), rules).each(lambda one: np.broadcast_to(one, t.shape))
    with np.errstate(all="ignore"):
        b = beside(AMAX_OF[rules.order](t.astype(np.float32), constants.k), last, rng)
        factor = order.factor(scales[scale_codes(rules, b, constants.k)], constants.d)
        numbers = beside(UNSCALED[order.scaled](scaled, factor[:, None]), last, rng)
    shape = (len(t), rules.block_size)
    signs = rng.integers(0, 2, shape, np.uint32) << np.uint32(31)
    patterns = np.concatenate([b[:, None], numbers], axis=1) | signs
    lanes = rng.permuted(np.tile(np.arange(rules.block_size), (len(t), 1)), axis=1)
    return with_patterns(rules, np.take_along_axis(patterns, lanes, axis=1), tensors)


def scale_codes(rules: Nvfp4Encode, b: np.ndarray, k: np.ndarray) -> np.ndarray:
    """Scale codes of blocks whose largest magnitudes are these patterns of binary32."""
    ratio = ORDERS[rules.order].ratio(b.view(np.float32), k, rules.scale_format)
    return nearest_codes(ratio, rules.scale_format)


def last_bit(rules: Nvfp4Encode) -> int:
    """The place of the last bit of a binary32 pattern that the source keeps."""
    return FP32.man_bits - rules.source.man_bits


def any_numbers(rules: Nvfp4Encode, shape: int | tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
    """Binary32 patterns of positive normal numbers of the source."""
    last = last_bit(rules)
    return (rng.integers(SMALLEST_NORMAL, LARGEST, shape) >> last << last).astype(np.uint32)


def fitted(
    rules: Nvfp4Encode, numbers: np.ndarray, y: np.ndarray, s: np.ndarray, rng: np.random.Generator
) -> np.ndarray:
    """Patterns of largest magnitudes of tensors in which numbers, as patterns of binary32, are scaled to about y under
    the scales s; only last bits of binary32 differ.
    """
    largest = float(E2M1.max_value) * rules.scale_max
    with np.errstate(all="ignore"):
        a = largest * numbers.view(np.float32).astype(float) / (y * s)
        return np.clip(beside(a, 0, rng), 1, LARGEST).astype(np.uint32)


def ties(rules: Nvfp4Encode, blocks: int, seed: int) -> Transactions:
    """Blocks for `FourOverSix` in which both candidates have equal errors except for roundings. In a third the errors
    are exactly equal, and in the others numbers are moved by `NEAR` last places.
    """
    rng, last = np.random.default_rng(seed), last_bit(rules)
    a = rng.integers(SMALLEST_NORMAL << 2, LARGEST >> 1, blocks).astype(np.uint32)
    a[::3] = np.float32(rules.scale_max * 6).view(np.uint32)
    scales = code_values(rules.block.scale)[rng.integers(1, 13, blocks) * 8 + rng.choice([0, 2, 4], blocks)]
    half = rules.block_size // 2 - 1
    units = np.concatenate(
        [
            np.full((blocks, 2), 6, np.float32),
            rng.choice(ERRORS_OF_FOUR, (blocks, half)),
            rng.choice(ERRORS_OF_SIX, (blocks, half)),
        ],
        axis=1,
    )
    of_one = scales * (a.view(np.float32).astype(np.float64) / (rules.scale_max * 6))
    patterns = (units * of_one[:, None]).astype(np.float32).view(np.uint32)
    patterns[1::3] = beside(patterns[1::3].view(np.float32), last, rng)
    patterns[2::3] = beside(patterns[2::3].view(np.float32), last, rng)
    patterns |= rng.integers(0, 2, patterns.shape, np.uint32) << np.uint32(31)
    return with_patterns(rules, rng.permuted(patterns, axis=1), a)


def marks(rules: Nvfp4Encode, shape: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
    """Scaled numbers at which codes change, for random bits at which they change. Marks of random bits of all zeros and
    of all ones are drawn more often.
    """
    if not rules.random_bits:
        return rng.choice(BOUNDARIES, shape)
    code, parts = rng.integers(0, len(STEPS) - 1, shape), 1 << rules.random_bits
    part = np.where(rng.integers(0, 2, shape), rng.integers(1, parts + 1, shape), rng.choice([1, parts], shape))
    return (STEPS[code] + np.diff(STEPS)[code] * part / parts).astype(np.float32)


def carries(rules: Nvfp4Encode, seed: int) -> Transactions:
    """At most `CARRIES` blocks of one number whose product with the factor is rounded up to a mark of random bits of
    all zeros or of all ones. Without the carry of that rounding a code is one less.

    BF16 has few such numbers, about one for 2**17 marks of a factor.
    """
    rng, order, marks = np.random.default_rng(seed), ORDERS[rules.order], _extreme_marks(rules)
    tensors = _any_tensors(rules, CARRY_TENSORS, rng)
    constants = tensor_constants(tensors.view(np.float32), rules)
    scales = code_values(rules.block.scale)
    with np.errstate(all="ignore"):
        t = rng.choice(scales[1 : rules.scale_format.max_code + 1], CARRY_TENSORS).astype(np.float32)
        b = _narrowed(rules, AMAX_OF[rules.order](t, constants.k).view(np.uint32))
        ratio = order.ratio(_numbers(rules, b), constants.k, rules.scale_format)
        factor = order.factor(scales[nearest_codes(ratio, rules.scale_format)], constants.d)[:, None]
        x = _narrowed(rules, (marks / factor).view(np.uint32))
        product = _numbers(rules, x).astype(np.float64) * factor  # exact: 48 bits at most
        carries = (product < marks) & (product.astype(np.float32) == marks) & (x < b[:, None])
    tensor, mark = (found[:CARRIES] for found in np.nonzero(carries))
    patterns = np.repeat(x[tensor, mark][:, None], rules.block_size, axis=1)
    patterns[:, 0] = b[tensor]
    return with_constants(rules, patterns, tensors[tensor])


def _extreme_marks(rules: Nvfp4Encode) -> np.ndarray:
    """Scaled numbers from which random bits of all zeros, or of all ones, give the next code."""
    return np.concatenate([STEPS[1:-1], STEPS[:-1] + np.diff(STEPS) / (1 << rules.random_bits)]).astype(np.float32)


def _numbers(rules: Nvfp4Encode, patterns: np.ndarray) -> np.ndarray:
    """Patterns of the source as binary32 numbers."""
    return (patterns.astype(np.uint32) << np.uint32(FP32.bits - rules.source.bits)).view(np.float32)


def beside(values: np.ndarray, last: int, rng: np.random.Generator) -> np.ndarray:
    """Patterns of binary32 `NEAR` these magnitudes, where ``last`` is the number of their last bit."""
    patterns = np.ascontiguousarray(values, np.float32).view(np.uint32).astype(np.int64) & ~SIGN
    nearest = (patterns + (1 << last >> 1)) >> last
    return np.clip((nearest + rng.choice(NEAR, patterns.shape)) << last, 0, INF).astype(np.uint32)


def random(rules: Nvfp4Encode, blocks: int, seed: int) -> Transactions:
    """A third is `normal`, a third `boundary`, and a third any patterns in any tensor."""
    share = -(-blocks // 3)
    rng = np.random.default_rng(seed)
    anything = rng.integers(0, 1 << 32, (share, rules.block_size), np.uint32)
    parts = [
        normal(rules, share, seed),
        boundary(rules, share, seed),
        with_patterns(rules, anything, _any_tensors(rules, share, rng)),
    ]
    return Transactions.joined(parts).rows(slice(blocks))


def normal(rules: Nvfp4Encode, blocks: int, seed: int) -> Transactions:
    """Blocks of N(0,1) times powers of two up to 1, in tensors with largest magnitudes from 4 to 5."""
    rng = np.random.default_rng(seed)
    numbers = rng.standard_normal((blocks, rules.block_size), np.float32)
    numbers *= np.exp2(-rng.integers(0, 6, (blocks, 1))).astype(np.float32)
    a = (4 + rng.random(blocks, np.float32)).view(np.uint32)
    return with_patterns(rules, numbers.view(np.uint32), a)
