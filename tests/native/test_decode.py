"""Decoding in C against the exact definition under all combinations of rules, and against the golden model."""

from __future__ import annotations

from itertools import cycle, product

import numpy as np
import pytest

from mxcast.models.exact.decode import decode_block
from mxcast.sim.check.families import every_element
from mxcast.sim.stimuli.seeded import random_bits
from mxcast.spec import DECODE_RULES, ELEMENTS, SOURCES, Decode, DecodedRounding, ScaleReading, block_format

from .harness.header import Header
from .harness.model import Model

FORMATS = [element for elements in every_element().values() for element in elements]
EDGES = [0, 1, 2, 126, 127, 128, 253, 254, 255]
"""Scale bytes at the ends and in the middle of the range."""


def combinations(reading: ScaleReading) -> list[Decode]:
    """Every combination of the other rules to every destination, with formats and random bits in turn."""
    others = {name: list(rule) for name, rule in DECODE_RULES.items() if name != "scale_reading"}
    turns = zip(cycle(FORMATS), cycle(range(1, 17)))
    found = []
    for (destination, *chosen), (element, bits) in zip(product(SOURCES, *others.values()), turns):
        rules = dict(zip(others, chosen))
        drawn = bits if rules["rounding"] is DecodedRounding.SR else 0
        decode = Decode(block=block_format(element), scale_reading=reading, random_bits=drawn, **rules)
        found.append(decode.replace(destination=destination, block_size=8))
    return found


def blocks_of(rules: Decode, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Scale bytes and codes: special codes, the ends of the range, and random ones, under every byte of EDGES and 30
    random ones."""
    element, rng = rules.block.element, np.random.default_rng(seed)
    scales = np.array([*EDGES, *rng.integers(0, 256, 30)], np.uint8)
    codes = rng.integers(0, 1 << element.bits, (len(scales), 8)).astype(np.uint16)
    edges = [0, element.sign_mask, element.max_code, 1, (1 << element.bits) - 1, (1 << element.bits - 1) - 1]
    codes[:, : len(edges)] = edges
    if element.inf_code is not None:
        codes[:, 6] = element.inf_code
    return scales, codes


@pytest.mark.sampled(6)
@pytest.mark.parametrize("reading", ScaleReading)
def test_all_combinations_of_rules_are_as_defined(header: Header, reading: ScaleReading) -> None:
    for seed, rules in enumerate(combinations(reading)):
        scales, codes = blocks_of(rules, seed)
        random = random_bits(rules, codes.shape, seed)
        drawn = [None] * len(codes) if random is None else random.tolist()
        expected = [
            decode_block(scale, block, rules, bits)
            for scale, block, bits in zip(scales.tolist(), codes.tolist(), drawn)
        ]
        assert header.decode(rules, scales, codes, random).tolist() == expected, rules


def compare(header: Header, rules: Decode, scales: np.ndarray, codes: np.ndarray, random: np.ndarray | None) -> None:
    """Assert that the header decodes blocks as the golden model does."""
    found, expected = (one.decode(rules, scales, codes, random) for one in (header, Model()))
    np.testing.assert_array_equal(found, expected, str(rules))


@pytest.mark.parametrize("destination", SOURCES)
@pytest.mark.parametrize("element", ELEMENTS)
def test_all_pairs_of_scale_and_code_are_those_of_the_model(header: Header, element: str, destination: str) -> None:
    """Every scale byte with every code, under every reading and rounding, with the other rules in turn."""
    format = ELEMENTS[element]
    rest = cycle(product(*(rule for name, rule in DECODE_RULES.items() if name not in ("scale_reading", "rounding"))))
    names = [name for name in DECODE_RULES if name not in ("scale_reading", "rounding")]
    scales, codes = (a.astype(t) for a, t in zip(np.indices((256, 1 << format.bits)).reshape(2, -1), ("u1", "u2")))
    for seed, (reading, rounding, others) in enumerate(zip(*zip(*product(ScaleReading, DecodedRounding)), rest)):
        rules = Decode(
            block=block_format(element), scale_reading=reading, rounding=rounding, **dict(zip(names, others))
        )
        rules = rules.replace(destination=destination, block_size=1)
        compare(header, rules, scales, codes[:, None], random_bits(rules, (len(codes), 1), seed))
