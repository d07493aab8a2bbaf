"""NVFP4 in C against the exact definition and the golden model, in every order and convention."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from mxcast.models.exact.binary32 import Special, Value
from mxcast.models.exact.nvfp4_decode import decode_block
from mxcast.models.exact.nvfp4_encode import encode_block, tensor_constants
from mxcast.sim.stimuli.seeded import random_bits
from mxcast.spec import NVFP4_DECODE_RULES, NVFP4_RULES, SOURCES, DecodedRounding, Nvfp4Decode, Nvfp4Encode, Rounding

from ..models.nvfp4_blocks import AMAXIMA, edges, pairs, random_blocks, ties
from .harness.header import Header
from .harness.model import Model, amax_of

BLOCKS = ("nvfp4", "nvfp4_32", "nvfp4_2d", "fp4_ue5m3")


def encoders() -> list[Nvfp4Encode]:
    """Every combination of rules, sources, block formats and largest scales that can be computed."""
    found = []
    rules = {name: list(rule) for name, rule in NVFP4_RULES.items()}
    rules["rounding"] = [Rounding.RNE, Rounding.SR]
    for block, source, scale_max, *chosen in product(BLOCKS, SOURCES, (0, 256), *rules.values()):
        try:
            found.append(Nvfp4Encode(block=block, source=source, scale_max=scale_max, **dict(zip(rules, chosen))))
        except ValueError:  # rules that do not go together
            continue
    return found


def decoders() -> list[Nvfp4Decode]:
    """The same for decoding."""
    rules = {name: list(rule) for name, rule in NVFP4_DECODE_RULES.items()}
    rules["rounding"] = [DecodedRounding.RNE]
    found = []
    for block, to, scale_max, *chosen in product(BLOCKS, SOURCES, (0, 256), *rules.values()):
        try:
            found.append(Nvfp4Decode(block=block, destination=to, scale_max=scale_max, **dict(zip(rules, chosen))))
        except ValueError:  # UE5M3 has one largest scale
            continue
    return found


def patterns_of(numerics: Nvfp4Encode, x: np.ndarray) -> np.ndarray:
    """Patterns (n, block_size) of the source with the leading bits of FP32 numbers (n, 16)."""
    wide = x.view(np.uint32)
    if numerics.source.name == "fp32":
        narrow = wide
    elif numerics.source.name == "bf16":
        narrow = (wide >> 16).astype(np.uint16)
    else:
        with np.errstate(all="ignore"):
            narrow = x.astype(np.float16).view(np.uint16)
    return np.ascontiguousarray(np.resize(narrow, (len(narrow), numerics.block_size)))


def value_of(pattern: int) -> Value:
    number = float(np.uint32(pattern).view(np.float32))
    if number != number:
        return Special.NAN
    return Special.INF if number == float("inf") else Fraction(number)


AMAX_PATTERNS = [*map(amax_of, AMAXIMA), 0x7FC00000]


def compare_to_exact(header: Header, numerics: Nvfp4Encode, amax: int, x: np.ndarray) -> None:
    random = random_bits(numerics, x.shape, amax & 0xFFFF)
    drawn = [None] * len(x) if random is None else random.tolist()
    scales, codes, constants = header.nvfp4_encode(numerics, amax, x, random)
    a = value_of(amax)
    expected = [encode_block(block, numerics, a, bits) for block, bits in zip(x.tolist(), drawn)]
    assert list(zip(scales.tolist(), codes.tolist())) == expected, (numerics, hex(amax))
    exact = tensor_constants(a, numerics)
    for pattern, value in zip(constants[0].tolist(), (exact.k, exact.d)):
        assert value_of(pattern) == (Special.NAN if value is Special.INVALID else value), (numerics, hex(amax))


@pytest.mark.sampled(2)
@pytest.mark.parametrize("order", NVFP4_RULES["order"])
def test_all_combinations_of_rules_are_as_defined(header: Header, order: str) -> None:
    chosen = [numerics for numerics in encoders() if numerics.order == order]
    assert chosen
    for seed, numerics in enumerate(chosen):
        some = np.concatenate([edges(), random_blocks(16, seed)])[seed % 5 :: 5]
        compare_to_exact(header, numerics, AMAX_PATTERNS[seed % len(AMAX_PATTERNS)], patterns_of(numerics, some))


@pytest.mark.parametrize("order", NVFP4_RULES["order"])
def test_edges_are_as_defined_under_every_largest_magnitude(header: Header, order: str) -> None:
    numerics = Nvfp4Encode(block="nvfp4", order=order)
    for amax in AMAX_PATTERNS:
        compare_to_exact(header, numerics, amax, patterns_of(numerics, np.concatenate([edges(), ties()])))


def compare_to_model(header: Header, numerics: Nvfp4Encode, amax: int, x: np.ndarray) -> None:
    random = random_bits(numerics, x.shape, amax & 0xFFFF)
    found, expected = (one.nvfp4_encode(numerics, amax, x, random) for one in (header, Model()))
    for ours, theirs in zip(found[:2], expected[:2]):
        np.testing.assert_array_equal(ours, theirs, str(numerics))


@pytest.mark.sampled(4)
@pytest.mark.parametrize("numerics", encoders(), ids=lambda n: f"{n.block.name}-{n.source.name}-{n.id}")
def test_many_blocks_are_those_of_the_model(header: Header, numerics: Nvfp4Encode) -> None:
    x = random_blocks(1500, seed=4)
    largest = np.nanmax(np.where(np.isfinite(x), np.abs(x), 0))
    for amax in (amax_of(float(largest)), amax_of(2.5)):
        compare_to_model(header, numerics, amax, patterns_of(numerics, x))


@pytest.mark.parametrize("order", NVFP4_RULES["order"])
def test_scales_of_pairs_of_maxima_are_those_of_the_model(header: Header, order: str) -> None:
    """Every 37th pair of BF16 numbers as largest magnitudes of a tensor and a block."""
    numerics = Nvfp4Encode(block="nvfp4", order=order)
    a, b = (one[::37] for one in pairs())
    for amax in np.unique(a):
        x = np.zeros((int((a == amax).sum()), 16), np.float32)
        x[:, 0] = b[a == amax]
        x[:, 1:] = x[:, :1] * np.linspace(-1, 1, 15, dtype=np.float32)
        compare_to_model(header, numerics, amax_of(float(amax)), x.view(np.uint32))


@pytest.mark.parametrize("block", [block for block in BLOCKS if not block.endswith("2d")])
def test_all_combinations_of_decoding_are_as_defined(header: Header, block: str) -> None:
    """Every code under a share of the scale codes, which are all tried under some rules."""
    chosen = [rules for rules in decoders() if rules.block.name == block]
    for seed, rules in enumerate(chosen):
        rules = rules.replace(block_size=16)
        scales = np.arange(seed % 32, 256, 32).astype(np.uint8)
        codes = np.ascontiguousarray(np.resize(np.arange(16, dtype=np.uint16), (len(scales), rules.block_size)))
        for tensor_scale in (AMAX_PATTERNS[seed % len(AMAX_PATTERNS)], AMAX_PATTERNS[seed * 7 % len(AMAX_PATTERNS)]):
            g = value_of(tensor_scale)
            expected = [decode_block(scale, row, rules, g) for scale, row in zip(scales.tolist(), codes.tolist())]
            found = header.nvfp4_decode(rules, tensor_scale, scales, codes)
            assert found.tolist() == expected, (rules, hex(tensor_scale))


@pytest.mark.parametrize("rules", decoders(), ids=lambda r: f"{r.block.name}-{r.destination.name}-{r.id}")
def test_all_scales_and_codes_are_those_of_the_model(header: Header, rules: Nvfp4Decode) -> None:
    rules = rules if rules.block.name == "nvfp4_2d" else rules.replace(block_size=16)
    scales = np.arange(256, dtype=np.uint8)
    codes = np.ascontiguousarray(np.resize(np.arange(16, dtype=np.uint16), (256, rules.block_size)))
    for tensor_scale in (amax_of(0.37), amax_of(3e38), 1, amax_of(-2.5), 0x80000000):
        found, expected = (one.nvfp4_decode(rules, tensor_scale, scales, codes) for one in (header, Model()))
        np.testing.assert_array_equal(found, expected, str(rules))
