"""Encoding in C against the exact definition on small blocks under all combinations of rules, and against the golden
model on large arrays.
"""

from __future__ import annotations

from itertools import cycle, product

import numpy as np
import pytest

from mxcast.models.exact.encode import quantize_block
from mxcast.sim.check.families import every_element
from mxcast.sim.stimuli.boundary import boundary_blocks
from mxcast.sim.stimuli.seeded import random_bits, random_blocks
from mxcast.sim.stimuli.sweep import stratified_blocks
from mxcast.spec import RULES, SOURCES, Encode, Rounding, ScaleRule, block_format

from ..configurations import every_numerics, short_id
from .harness.header import Header
from .harness.model import Model, special_blocks

FORMATS = [element for elements in every_element().values() for element in elements]


def combinations(scale_rule: ScaleRule) -> list[Encode]:
    """Every combination of the other rules, with formats, sources and random bits in turn, in blocks of 4."""
    others = {name: list(rule) for name, rule in RULES.items() if name != "scale_rule"}
    turns = zip(cycle(FORMATS), cycle(SOURCES), cycle(range(1, 17)))
    found = []
    for chosen, (element, source, bits) in zip(product(*others.values()), turns):
        rules = dict(zip(others, chosen))
        drawn = bits if rules["rounding"] is Rounding.SR else 0
        numerics = Encode(block=block_format(element), scale_rule=scale_rule, random_bits=drawn, **rules)
        found.append(numerics.replace(source=source, block_size=4))
    return found


def as_defined(numerics: Encode, x: np.ndarray, random: np.ndarray | None) -> tuple[list[int], list[list[int]]]:
    """Scales and codes by exact fractions."""
    drawn = [None] * len(x) if random is None else random.tolist()
    scales, codes = zip(*(quantize_block(*block) for block in zip(x.tolist(), [numerics] * len(x), drawn)))
    return list(scales), list(codes)


@pytest.mark.sampled(6)
@pytest.mark.parametrize("scale_rule", ScaleRule)
def test_all_combinations_of_rules_are_as_defined(header: Header, scale_rule: ScaleRule) -> None:
    for seed, numerics in enumerate(combinations(scale_rule)):
        x = np.concatenate([special_blocks(numerics), random_blocks(numerics, 5, seed)])
        random = random_bits(numerics, x.shape, seed)
        scales, codes = header.encode(numerics, x, random)
        assert (scales.tolist(), codes.tolist()) == as_defined(numerics, x, random), numerics


def compare(header: Header, numerics: Encode, x: np.ndarray, seed: int = 0) -> None:
    """Assert that the header encodes blocks as the golden model does."""
    random = random_bits(numerics, x.shape, seed)
    found, expected = (one.encode(numerics, x, random) for one in (header, Model()))
    for name, ours, theirs in zip(("scales", "codes"), found, expected):
        places = np.argwhere(ours != theirs)
        assert not len(places), (numerics, name, places[0], x[places[0][0]], ours[tuple(places[0])])


@pytest.mark.sampled(8)
@pytest.mark.parametrize("numerics", every_numerics(), ids=short_id)
@pytest.mark.parametrize("source", SOURCES)
def test_large_arrays_are_those_of_the_model(header: Header, numerics: Encode, source: str) -> None:
    numerics = numerics.replace(source=source)
    compare(header, numerics, boundary_blocks(numerics))
    compare(header, numerics, random_blocks(numerics, 2000, seed=1), seed=1)


@pytest.mark.parametrize("element", FORMATS, ids=lambda element: element.name)
def test_every_element_format_is_that_of_the_model(header: Header, element: object) -> None:
    """Every ExMy with its special codes and every INTn, under scale rules and roundings in turn."""
    turns = list(product(Rounding, ScaleRule))
    rounding, scale_rule = turns[FORMATS.index(element) * 7 % len(turns)]
    numerics = Encode(block=block_format(element), scale_rule=scale_rule, rounding=rounding)
    compare(header, numerics, random_blocks(numerics, 1000, seed=2), seed=2)


def test_a_share_of_all_patterns_at_every_distance(header: Header) -> None:
    numerics = Encode(block=block_format("e4m3"), scale_rule="rceil")
    for x in stratified_blocks(numerics, seed=3, share=4096):
        compare(header, numerics, x)
