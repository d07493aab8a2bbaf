"""Casting in C against the exact definition under all combinations of rules, and against the golden model."""

from __future__ import annotations

from itertools import cycle, product

import numpy as np
import pytest

from mxcast.models.exact.cast import cast_number
from mxcast.sim.stimuli.seeded import random_bits
from mxcast.spec import CAST_RULES, CAST_SOURCES, CASTS, SCALARS, SOURCES, Cast, CastRounding, casting

from .harness.header import Header
from .harness.model import Model

PAIRS = [*product(CAST_SOURCES, SCALARS), *product(SCALARS, SOURCES)]
"""Sources and destinations."""
OTHERS = {name: rule for name, rule in CAST_RULES.items() if name != "rounding"}


def combinations(rounding: CastRounding) -> list[Cast]:
    """Every combination of the other rules, with pairs of formats and random bits in turn."""
    pairs, bits = cycle(PAIRS), cycle(range(1, 17))
    return [
        next_cast(pairs, rounding, next(bits) if rounding is CastRounding.SR else 0, dict(zip(OTHERS, chosen)))
        for chosen in product(*OTHERS.values())
    ]


def next_cast(pairs, rounding: CastRounding, drawn: int, rules: dict) -> Cast:
    """The rules between the next formats that go together with them."""
    for _ in PAIRS:
        source, destination = next(pairs)
        try:
            return Cast(source=source, destination=destination, rounding=rounding, random_bits=drawn, **rules)
        except ValueError:  # a format without NaN that must not saturate, or rp with a sign
            continue
    raise AssertionError(f"no formats have {rounding} and {rules}")


def numbers_of(rules: Cast, count: int, seed: int) -> np.ndarray:
    """Patterns of the source, uint64: zeros, NaN, Inf, the ends, numbers around codes of the destination, and any."""
    source, to, rng = rules.source, rules.destination, np.random.default_rng(seed)
    ends = [0, 1, source.max_code, source.max_code - 1, source.inf_field, source.magnitude_mask]
    ends += [source.inf_field + 1 & source.magnitude_mask, source.inf_field | 1 << max(source.man_bits - 1, 0)]
    near = []
    if source.man_bits >= to.man_bits + 2:  # codes of the destination, and the middle of two
        low, high = to.emin - to.man_bits - 2 + source.bias, to.emax + 2 + source.bias
        exponents = rng.integers(max(low, 0), min(high, (1 << source.exp_bits) - 2) + 1, count // 2)
        halves = rng.integers(0, 2 << to.man_bits, count // 2) << source.man_bits - to.man_bits - 1
        steps = rng.integers(-1, 2, count // 2)
        near = np.maximum((exponents << source.man_bits) + halves + steps, 0).tolist()
    anything = rng.integers(0, 1 << source.bits - 1, count - len(near), np.uint64).tolist()
    magnitudes = np.array([*ends, *near, *anything], np.uint64)
    signs = np.array([0, source.sign_mask], np.uint64)
    return np.ascontiguousarray((magnitudes[:, None] | signs).reshape(-1))


@pytest.mark.sampled(2)
@pytest.mark.parametrize("rounding", CastRounding)
def test_all_combinations_of_rules_are_as_defined(header: Header, rounding: CastRounding) -> None:
    for seed, rules in enumerate(combinations(rounding)):
        numbers = numbers_of(rules, 12, seed)
        random = random_bits(rules, numbers.shape, seed)
        drawn = [0] * len(numbers) if random is None else random.tolist()
        expected = [cast_number(number, rules, bits) for number, bits in zip(numbers.tolist(), drawn)]
        assert header.cast(rules, numbers, random).tolist() == expected, rules


@pytest.mark.parametrize("source, destination", PAIRS)
def test_many_numbers_are_those_of_the_model(header: Header, source: str, destination: str) -> None:
    """All patterns of 8 and 16 bits, and many of 32 and 64, under every profile that has the cast."""
    given = {"source": source} if destination in SCALARS else {"destination": destination}
    profiles = []
    for profile in CASTS:
        try:
            profiles.append(casting(destination if destination in SCALARS else source, profile, **given))
        except ValueError:  # a definition without this cast
            continue
    assert profiles
    for rules in profiles:
        is_short = rules.source.bits <= 16
        numbers = np.arange(1 << rules.source.bits, dtype=np.uint64) if is_short else numbers_of(rules, 20000, 5)
        found, expected = (one.cast(rules, numbers) for one in (header, Model()))
        np.testing.assert_array_equal(found, expected, str(rules))
