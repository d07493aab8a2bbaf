"""Blocks for NVFP4 encoders at ties. The ratio t of a largest magnitude is exactly halfway between two scales, or a
half between two binary32 numbers rounds to that. In the same way the scaled number y is halfway between two elements.
`ties` solves the operands.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from ...models.arrays.codes import code_values
from ...models.arrays.source import narrow, widen
from ...models.fast.nvfp4_encode import ORDERS, tensor_constants
from ...spec import E2M1, FP32, FourOverSix, Nvfp4Encode, Order
from ..stimuli.ties import SIGNIFICAND, SMALLEST, divided_by, halves, inverted, odd_part, products, quotients, shifted
from .stimuli import AMAX_OF, BOUNDARIES, STEPS, UNSCALED, beside, last_bit, marks, scale_codes

SIX = np.float32(6)
OF_HALF, NEAREST = 3, 1
"""Solutions that are kept for each half, and quotients on each side of a half."""
MARKS = 16
"""Numbers at which random bits decide."""
DRAWN = 48
"""Tensors of any magnitude under a source of 32 bits."""
SMALL = 64
"""Numbers whose quotient by a constant is halfway between two subnormal numbers."""
DIVIDED = 1 << 16
"""Quotients of which those are kept that have t on either side of a limit: few from 16-bit sources."""
WINDOW = 4
"""Last places of binary32 from a limit: no order of the operations is further from another."""
TINY = 2.0**-114
"""About the smallest magnitude of a tensor whose constants are normal numbers under the orders of hardware."""
EXPONENTS, OF_TINY, OF_FP16 = (-64, 120), (-113, -64), (11, 15)
"""Exponents of the largest magnitudes of tensors: usual ones, one in four, and FP16."""
COPIES = 4
"""Lanes that have the same number, with other signs and random bits."""


@dataclass(frozen=True, kw_only=True)
class Operands:
    """The last operation of t: its operands and its kind."""

    block: Callable[[np.ndarray], np.ndarray] = lambda b: b
    """The operand that depends on the largest magnitude b of a block."""
    tensor: Callable[[np.ndarray], np.ndarray] = lambda k: k
    """The operand that depends on the constant k of a tensor."""
    is_product: bool
    """Whether t is a product, not a quotient."""

    @property
    def is_sixth(self) -> bool:
        """Whether b is divided by 6 first."""
        return bool(self.block(np.array(SIX)) == 1)


OPERANDS: dict[Order, Operands] = {
    Order.TE: Operands(is_product=True),
    Order.PAPER: Operands(block=lambda b: b / SIX, is_product=True),
    Order.AO: Operands(block=lambda b: b / SIX, is_product=False),
    Order.AO_SINGLE: Operands(block=lambda b: b / SIX, is_product=False),
    Order.MODELOPT: Operands(tensor=lambda k: SIX * k, is_product=False),
    Order.COMPRESSED_TENSORS: Operands(block=lambda b: b / SIX, is_product=True),
}


@dataclass(frozen=True)
class Tied:
    """Blocks (n, block_size) of source patterns, in tensors of these largest magnitudes (n,), patterns of binary32."""

    patterns: np.ndarray
    a: np.ndarray

    def rows(self, chosen: np.ndarray) -> Tied:
        return Tied(self.patterns[chosen], self.a[chosen])


def ties(rules: Nvfp4Encode, seed: int) -> Tied:
    """Blocks at ties. From a 16-bit source the largest magnitudes of tensors have every significand, each with the
    largest magnitudes of blocks that come within `WINDOW` of a limit, in one binade.
    """
    rng = np.random.default_rng(seed)
    parts = [_solved_scales(rules, rng), _near(rules, rng), _subnormal(rules, rng), _solved_elements(rules, rng)]
    every = np.concatenate(parts, axis=1).astype(np.float32)
    return _blocks(rules, every[:, np.isfinite(every[1])], rng)  # Inf is beyond the range of the source


def of_source(rules: Nvfp4Encode, numbers: np.ndarray) -> np.ndarray:
    """(n,) whether binary32 numbers are numbers of the source."""
    return _nearest(rules, numbers) == numbers


def _nearest(rules: Nvfp4Encode, numbers: np.ndarray) -> np.ndarray:
    """The nearest numbers of the source, as binary32 numbers."""
    half = np.uint32(1 << last_bit(rules) >> 1)
    with np.errstate(over="ignore"):
        cut = narrow(np.asarray(numbers, np.float32).view(np.uint32) + half, rules.source)
    return widen(cut, np.empty(cut.shape, np.uint32)).view(np.float32)


def _limits(rules: Nvfp4Encode, rng: np.random.Generator) -> list[float]:
    """Numbers halfway between two scales, one for each odd part, without those that the order clamps."""
    values = code_values(rules.block.scale)[: rules.scale_format.max_code + 1]
    middles = rng.permutation((values[1:] + values[:-1]) / 2)
    one = np.ones_like(middles)
    ratios = ORDERS[rules.order].ratio(AMAX_OF[rules.order](middles, one), one, rules.scale_format)
    return list({odd_part(middle): float(middle) for middle in middles[np.isclose(ratios, middles)]}.values())


def _magnitudes(rules: Nvfp4Encode, numbers: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Largest magnitudes of tensors: numbers times powers of two."""
    is_wide = rules.source.exp_bits == FP32.exp_bits
    exponents = rng.integers(*(EXPONENTS if is_wide else OF_FP16), len(numbers))
    if is_wide:
        exponents[::4] = rng.integers(*OF_TINY, len(exponents[::4]))
    return np.ldexp(np.frexp(numbers)[0], exponents).astype(np.float32)


def _parts(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """(4, n) largest magnitudes of tensors and of blocks. The number of some lanes, and the scale under which it is at
    a tie, are NaN.
    """
    return np.stack([a, b, *np.full((2, len(a)), np.nan)])


def _solved_scales(rules: Nvfp4Encode, rng: np.random.Generator) -> np.ndarray:
    """t is a half between two binary32 numbers that rounds to halfway between two scales."""
    if rules.block.tensor_scale is None:  # b / 6 is never a half
        return _parts(*np.empty((2, 0), np.float32))
    operands, found = OPERANDS[rules.order], []
    bits = (SIGNIFICAND if operands.is_sixth else rules.source.man_bits + 1, SIGNIFICAND)
    for half in [half for limit in _limits(rules, rng) for half in halves(limit)]:
        u, v = (products(half, bits) if operands.is_product else quotients(half, NEAREST)).T.astype(np.float64)
        a, has_a = inverted(lambda a: operands.tensor(tensor_constants(a, rules).k), v)
        b, has_b = inverted(operands.block, u)
        a = _magnitudes(rules, a, rng)
        b = shifted(b, AMAX_OF[rules.order](np.full(len(b), half, np.float32), tensor_constants(a, rules).k))
        found.append(np.stack([a, b])[:, has_a & has_b & of_source(rules, b)][:, :OF_HALF])
    return _parts(*np.concatenate(found, axis=1))


def _near(rules: Nvfp4Encode, rng: np.random.Generator) -> np.ndarray:
    """Largest magnitudes of blocks, for each tensor: the nearest to each limit, and to each significand of a scale.

    If the source is FP32, they are also moved by a few last places.
    """
    limits = _limits(rules, rng)
    if rules.four_over_six is not FourOverSix.OFF:  # 1.5 times t is at a limit, or rounds to one
        limits += [half / 1.5 for limit in limits for half in halves(limit)]
    scale = rules.scale_format
    code = rng.integers(2, scale.max_code >> scale.man_bits, 1 << scale.man_bits) << scale.man_bits
    scales = code_values(scale)[code + np.arange(1 << scale.man_bits)]
    is_short = rules.source.bits < FP32.bits
    count = 1 << rules.source.man_bits if is_short and rules.block.tensor_scale is not None else DRAWN
    significands = 0.5 + (np.arange(count) / count / 2 if is_short else rng.random(count) / 2)
    tensors = _magnitudes(rules, significands.astype(np.float32), rng)
    a, t = (grid.ravel() for grid in np.meshgrid(tensors, np.array([*limits, *scales], np.float32), indexing="ij"))
    is_limit = np.tile(np.arange(len(limits) + len(scales)) < len(limits), len(tensors))
    k = tensor_constants(a, rules).k
    b = _nearest(rules, AMAX_OF[rules.order](t, k))
    if not is_short:
        b = beside(b, 0, rng).view(np.float32)
        return _parts(a, b)
    with np.errstate(all="ignore"):
        ratio = ORDERS[rules.order].ratio(b, k, rules.scale_format)
    is_near = abs(ratio / t - 1) <= WINDOW * 2.0**-FP32.man_bits
    return _parts(*np.stack([a, b])[:, is_near | ~is_limit])


def _subnormal(rules: Nvfp4Encode, rng: np.random.Generator) -> np.ndarray:
    """b / 6, or the constant of a tensor, is halfway between two subnormal numbers, and t is at a limit except for that
    rounding.
    """
    if rules.source.exp_bits < FP32.exp_bits or rules.block.tensor_scale is None:
        return _parts(*np.empty((2, 0), np.float32))
    limits = np.array(_limits(rules, rng))
    largest, found = float(E2M1.max_value) * rules.scale_max, []
    if OPERANDS[rules.order].is_sixth:
        b = divided_by(6, SMALL * 64, rng)
        a = b / rng.choice(limits, len(b)) * (largest / 6)
        found.append(np.stack([a, b])[:, (a >= TINY) & of_source(rules, b)][:, :SMALL])
    if rules.order in (Order.AO, Order.MODELOPT):
        a = divided_by(int(largest), DIVIDED, rng)
        limit = rng.choice(limits, len(a))
        b = _nearest(rules, a / largest * 6 * limit)
        distance = np.abs(b.astype(np.float64) / limit / 6 - a.astype(np.float64) / largest)
        is_between = distance < SMALLEST / 2  # t is on either side of the limit, as the constant is rounded
        found.append(np.stack([a, b])[:, is_between][:, :SMALL])
    return _parts(*np.concatenate([np.empty((2, 0)), *found], axis=1).astype(np.float32))


def _solved_elements(rules: Nvfp4Encode, rng: np.random.Generator) -> np.ndarray:
    """y is a half between two binary32 numbers that rounds to halfway between two elements, or to a mark of random
    bits.
    """
    if rules.block.tensor_scale is None:  # no factor 1 / s divides a half
        return _parts(*np.empty((2, 0), np.float32))
    order, scale = ORDERS[rules.order], rules.scale_format
    limits = {odd_part(mark): float(mark) for mark in _marks(rules, rng)}
    scales = code_values(scale)[(4 << scale.man_bits) + np.arange(1 << scale.man_bits)]
    is_product, found = order.scaled is np.multiply, []
    for half in [half for limit in limits.values() for half in halves(limit)]:
        pairs = products(half, (rules.source.man_bits + 1, SIGNIFICAND)) if is_product else quotients(half, NEAREST)
        x, f = rng.permutation(pairs)[:OF_HALF].T.astype(np.float64)
        for s in scales:
            with np.errstate(all="ignore"):
                a, has_a = inverted(partial(_factor, rules, s), f)
                a = _magnitudes(rules, a, rng)
                constants = tensor_constants(a, rules)
                factor = order.factor(s, constants.d)
            x = shifted(x.astype(np.float32), UNSCALED[order.scaled](half, factor))
            for t in (s,) if rules.four_over_six is FourOverSix.OFF else (s, s / np.float32(1.5)):
                b = _nearest(rules, AMAX_OF[rules.order](np.full(len(a), t, np.float32), constants.k))
                found.append(np.stack([a, b, x, np.full(len(a), s)])[:, has_a & of_source(rules, x)])
    return np.concatenate(found, axis=1)


def _factor(rules: Nvfp4Encode, s: np.ndarray, a: np.ndarray) -> np.ndarray:
    """The factor of elements under a scale, in tensors of largest magnitudes."""
    return ORDERS[rules.order].factor(s, tensor_constants(a, rules).d)


def _marks(rules: Nvfp4Encode, rng: np.random.Generator) -> np.ndarray:
    return marks(rules, (MARKS,), rng) if rules.random_bits else BOUNDARIES


def _blocks(rules: Nvfp4Encode, parts: np.ndarray, rng: np.random.Generator) -> Tied:
    """Blocks of these largest magnitudes, with other numbers at and next to the limits of elements."""
    (a, b, x, s), size, order = parts, rules.block_size, ORDERS[rules.order]
    constants = tensor_constants(a, rules).each(lambda one: np.broadcast_to(one, a.shape))
    with np.errstate(all="ignore"):
        scales = code_values(rules.block.scale)[scale_codes(rules, b.view(np.uint32), constants.k)]
        factor = order.factor(scales, constants.d)[:, None]
        y = marks(rules, (len(a), size - 1), rng)
        y[:, : len(BOUNDARIES)] = BOUNDARIES
        numbers = _nearest(rules, UNSCALED[order.scaled](y, factor))
    others = numbers[:, len(BOUNDARIES) :]
    numbers[:, len(BOUNDARIES) :] = beside(others, last_bit(rules), rng).view(np.float32)
    if rules.four_over_six is not FourOverSix.OFF:  # steps under the scale s, which then has the smaller error
        with np.errstate(all="ignore"):
            own = order.factor(s, constants.d)[:, None]
            steps = _nearest(rules, UNSCALED[order.scaled](rng.choice(STEPS, y.shape), own))
        numbers = np.where(np.isnan(s)[:, None], numbers, steps)
    numbers[:, -COPIES:] = np.where(np.isnan(x)[:, None], numbers[:, -COPIES:], x[:, None])
    whole = np.concatenate([b[:, None], np.minimum(numbers, b[:, None])], axis=1).view(np.uint32)
    whole |= rng.integers(0, 2, whole.shape, np.uint32) << np.uint32(31)
    rng.permuted(whole, axis=1, out=whole)
    patterns = narrow(whole, rules.source) if rules.source != FP32 else whole
    return Tied(patterns.view(f"u{rules.source.bits // 8}"), a.view(np.uint32))
