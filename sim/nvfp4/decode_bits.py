"""Scales and tensor scales for NVFP4 decoders whose results depend on single bits: subnormal tensor scales, factors
that are subnormal or give products next to infinity, and `divisions`.
"""

from __future__ import annotations

import numpy as np

from ...models.arrays.codes import code_values
from ...spec import FP32, Convention, FloatFormat, Nvfp4Decode
from .divisions import divisions

SAME_BIT = 16
"""Pairs for each bit."""
BEYOND = 3
"""Places above the subnormal numbers, and below the smallest one, of the first bit of a factor."""
BESIDE = (-1, 0, 1)
"""Last places from a tensor scale whose factor is at a limit."""


def single_bits(rules: Nvfp4Decode, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Scale bytes (n,) and patterns of tensor scales (n,). The last bit of a tensor scale that is set is each bit below
    the first one, once with random bits between them and once alone. Others have factors next to a limit, or are
    `divisions`.
    """
    rng = np.random.default_rng(seed)
    pairs = [_subnormal(rules, rng)]
    for to in dict.fromkeys((FP32, rules.destination)):  # the factor is binary32
        pairs += _of_small_factors(rules, to, rng)
    if rules.convention is Convention.DIVISOR:
        codes, d = divisions(rng)
        pairs.append((codes, d.view(np.uint32)))
    if rules.convention is Convention.AMAX:  # no product is beyond infinity
        pairs.append(_beyond_middles(rules))
    else:
        pairs.append(_of_large_factors(rules, rng))
    codes, g = zip(*pairs, strict=True)
    return np.concatenate(codes), np.concatenate(g).astype(np.uint32)


def _subnormal(rules: Nvfp4Decode, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Every place of the first bit of a subnormal tensor scale, under any scale; large ones are more frequent."""
    first, last = (np.repeat(one, SAME_BIT) for one in np.tril_indices(FP32.man_bits))
    scale = rules.block.scale
    below = rng.integers(0, scale.max_code, first.size) >> rng.integers(0, scale.bits, first.size)
    return scale.max_code - below, _between(first, last, rng)


def _of_small_factors(
    rules: Nvfp4Decode, to: FloatFormat, rng: np.random.Generator
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Every place of the first bit of a factor among the subnormal numbers of a format: with each last bit of the
    tensor scale, and next to the middle of two numbers.
    """
    bits, unit = FP32.man_bits, 2.0 ** (to.emin - to.man_bits)
    place, last = np.indices((to.man_bits + 2 * BEYOND, bits + 1)).reshape(2, -1).repeat(SAME_BIT, axis=1)
    codes = rng.integers(1, rules.block.scale.max_code + 1, place.size)
    fields = _inverted(rules, codes, unit * 2.0 ** (place - BEYOND)) >> bits
    fraction = _between(np.full(place.size, bits), last, rng) & (1 << bits) - 1
    middles = (rng.integers(1 << place, 2 << place) >> BEYOND) + 0.5
    return [
        (codes, np.clip(fields, 1, FP32.inf_field - 1 >> bits) << bits | fraction),
        (codes, _inverted(rules, codes, unit * middles) + rng.choice(BESIDE, place.size)),
    ]


def _of_large_factors(rules: Nvfp4Decode, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Factors whose product with an element reaches infinity, or exceeds it by one bit, each bit of binary32."""
    to = rules.destination
    elements = code_values(rules.block.element)[1 : rules.block.element.max_code + 1].astype(np.float64)
    element, bit = np.indices((len(elements), FP32.man_bits + 1)).reshape(2, -1).repeat(SAME_BIT, axis=1)
    codes = rng.integers(1, rules.block.scale.max_code + 1, element.size)
    beyond = 1 + (np.arange(element.size) % 2) * 2.0 ** (bit - FP32.man_bits - 1)
    wanted = 2.0 ** (to.emax + 1) / elements[element] * beyond
    return codes, _inverted(rules, codes, wanted) + rng.choice(BESIDE, element.size)


def _beyond_middles(rules: Nvfp4Decode) -> tuple[np.ndarray, np.ndarray]:
    """Tensor scales under a scale of 1 whose product with 1 / C exceeds the middle of two subnormal numbers by one bit,
    each bit for which there are some. A modular inverse gives their significands.
    """
    size, unit = FP32.man_bits + 1, FP32.emin - FP32.man_bits
    constant, exponent = np.frexp(np.float32(1) / np.float32(_largest(rules)))
    whole, g = int(np.ldexp(float(constant), size)), []
    for cut in range(size, 2 * size):  # bits of the product that are rounded away
        wanted = (1 << cut - 1) + (1 << np.arange(cut - 1))
        found = np.array([int(one) * pow(whole, -1, 1 << cut) % (1 << cut) for one in wanted])
        significands = found[found >> size - 1 == 1]
        g.append(np.ldexp(significands.astype(np.float64), unit - cut + size - int(exponent)))
    patterns = np.concatenate(g).astype(np.float32).view(np.uint32).astype(np.int64)
    one = int(np.searchsorted(code_values(rules.block.scale)[: rules.block.scale.max_code + 1], 1))
    return np.full(patterns.size, one), patterns


def _largest(rules: Nvfp4Decode) -> float:
    """C, the largest number of a block with a tensor scale of 1."""
    return float(rules.scale_max * rules.block.element.max_value)


def _inverted(rules: Nvfp4Decode, codes: np.ndarray, factor: np.ndarray) -> np.ndarray:
    """Patterns of tensor scales with about these factors."""
    s = code_values(rules.block.scale)[codes]
    g: np.ndarray = s / factor if rules.convention is Convention.DIVISOR else factor / s
    if rules.convention is Convention.AMAX:
        g = g * _largest(rules)
    return np.clip(g, 2.0**-148, float(FP32.max_value)).astype(np.float32).view(np.uint32).astype(np.int64)


def _between(first: np.ndarray, last: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Words whose first and last bits are these; every other word has no bit between them."""
    random = rng.integers(0, 1 << FP32.bits, first.shape) * (np.arange(first.size) % 2)
    return ((random & (1 << first) - 1) >> last | 1) << last | 1 << first
