"""Scales and tensor scales for NVFP4 decoders at ties. A result is exactly halfway between two numbers of the
destination, or a half between two binary32 numbers rounds to that. `ties` solves the operands.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import numpy as np

from ...models.arrays.codes import code_values
from ...models.fast.nvfp4_decode import FACTORS
from ...spec import FP32, Convention, Nvfp4Decode
from ..stimuli.ties import SIGNIFICAND, halves, inverted, odd_part, products

LIMITS, SMALL_LIMITS = 64, 16
"""Numbers halfway between two numbers of the destination, and between two subnormal ones."""
SMALLEST, LARGEST = 64 << FP32.man_bits, 192 << FP32.man_bits
"""Patterns of binary32 between which these numbers are."""
SCALES = 3
"""Scales for each number."""
BESIDE = (-1, 0, 1)
"""Last places from a tensor scale that gives the number."""
PRODUCTS: dict[Convention, Callable[[np.ndarray, np.float32], np.ndarray]] = {
    Convention.MULTIPLIER: lambda product, c: product,
    Convention.AMAX: lambda product, c: product * (np.float32(1) / c),
}
"""The factor of elements, from the product of a scale and a tensor scale."""
THREE = 3
"""The only element, except for powers of two, whose product is rounded."""


def ties(rules: Nvfp4Decode, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Scale bytes (n,) and patterns of tensor scales (n,). Every scale byte if the convention has no tensor scale."""
    rng = np.random.default_rng(seed)
    if rules.convention is Convention.NONE:
        scales = np.arange(1, rules.block.scale.max_code + 1)
        return scales, np.ones(len(scales), np.float32).view(np.uint32)
    pairs = [pair for limit in _limits(rules, rng) for pair in _of_limit(rules, limit, rng)]
    scales, g = np.array(pairs).T
    is_number = (g > 0) & (g <= FP32.max_value)
    return _bytes(rules, scales)[is_number], g[is_number].astype(np.float32).view(np.uint32)


def _limits(rules: Nvfp4Decode, rng: np.random.Generator) -> Iterator[float]:
    """Numbers halfway between two of the destination, also the smallest and the largest; any numbers for FP32."""
    to = rules.destination
    if to == FP32:
        yield from rng.integers(SMALLEST, LARGEST, LIMITS, np.uint32).view(np.float32)
        return
    short, smallest = to.man_bits + 1, to.emin - to.man_bits - 1
    odd = rng.integers(0, 1 << short - 1, (2, LIMITS)) * 2 + 1
    yield from np.ldexp((1 << short) + odd[0], rng.integers(to.emin, to.emax + 1, LIMITS) - short)
    yield from np.ldexp(np.append(odd[1][:SMALL_LIMITS], 1), smallest)
    yield float(np.ldexp((2 << short) - 1, to.emax - short))


def _of_limit(rules: Nvfp4Decode, limit: float, rng: np.random.Generator) -> Iterator[tuple[float, float]]:
    """Scales and tensor scales whose factor, times an element, is at the limit."""
    values, c = code_values(rules.block.scale)[1 : rules.block.scale.max_code + 1], np.float32(_largest(rules))
    factors = np.array([limit, limit / THREE, *(half / THREE for half in halves(limit))])
    for s in rng.choice(values, SCALES):
        g, _ = inverted(partial(_factor, rules, s, c), factors)
        yield from ((float(s), one * (1 + step * 2.0**-FP32.man_bits)) for one in g.tolist() for step in BESIDE)
    if rules.convention in PRODUCTS:
        product, _ = inverted(lambda product: PRODUCTS[rules.convention](product, c), factors[:1])
        for half in halves(product[0]) if product[0] <= FP32.max_value else ():
            for odd, _ in products(half, (rules.scale_format.man_bits + 1, SIGNIFICAND)).tolist():
                s = float(rng.choice([value for value in values if odd_part(value) == odd]))
                yield s, half / s


def _factor(rules: Nvfp4Decode, s: np.ndarray, c: np.float32, g: np.ndarray) -> np.ndarray:
    """The factor of elements under a scale and tensor scales."""
    return FACTORS[rules.convention](s, g, c)


def _largest(rules: Nvfp4Decode) -> float:
    """C, the largest number of a block with a tensor scale of 1."""
    return float(rules.scale_max * rules.block.element.max_value)


def _bytes(rules: Nvfp4Decode, scales: np.ndarray) -> np.ndarray:
    """The codes of positive scales."""
    return np.searchsorted(code_values(rules.block.scale)[: rules.block.scale.max_code + 1], scales)
