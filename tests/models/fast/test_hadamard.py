"""The random Hadamard transform: the published example, the exact definition, and numbers of all magnitudes."""

from __future__ import annotations

from fractions import Fraction
from math import isqrt

import ml_dtypes
import numpy as np
import pytest

from mxcast.hdl import hadamard_config
from mxcast.models import rotate
from mxcast.models.exact.hadamard import rotate_block
from mxcast.spec import BF16, TRANSFORMER_ENGINE_SIGNS, Hadamard, operation_of


def test_the_published_example():
    """nvfp4.md, D.4."""
    x = np.arange(16).astype(ml_dtypes.bfloat16)
    expected = [-14.5, -7.5, 6.5, -0.5, 6.5, -0.5, -14.5, 8.5, 7.5, 14.5, 0.5, 1.5, 0.5, -2.5, 9.5, -15.5]
    assert rotate(x).view(ml_dtypes.bfloat16).astype(float).tolist() == expected


def test_the_signs_of_transformer_engine():
    signs = [1, 1, 1, -1, 1, -1, -1, -1, -1, -1, -1, 1, -1, 1, -1, -1]  # nvfp4.md, D.4
    assert [-1 if TRANSFORMER_ENGINE_SIGNS >> i & 1 else 1 for i in range(16)] == signs


def test_it_is_the_matrix():
    h = np.array([[1.0]])
    for _ in range(4):
        h = np.block([[h, h], [h, -h]])
    for signs in (0, 0xFFFF, TRANSFORMER_ENGINE_SIGNS, 0x1234):
        rules = Hadamard(signs=signs)
        matrix = np.array([[-1 if rules.is_negative(i, j) else 1 for j in range(16)] for i in range(16)])
        assert np.array_equal(matrix, np.array([-1 if signs >> i & 1 else 1 for i in range(16)])[:, None] * h)
        assert operation_of(rules.to_dict()) == rules


@pytest.mark.parametrize("kind", ["near", "patterns", "wide", "special"])
def test_it_is_the_exact_sum_rounded_once(kind):
    random = np.random.default_rng(17)
    x = random.integers(0, 1 << 16, (60, 16)).astype(np.uint16)
    if kind == "near":
        x = x & 0x80FF | 0x3F00
    if kind == "wide":  # a large number, and numbers that are far below half a step of it
        x = np.where(random.random(x.shape) < 0.7, x & 0x8003, x & 0x807F | 0x4300).astype(np.uint16)
    if kind == "special":
        x[:, 3] = np.resize([0x7F80, 0xFF80, 0x7FC1, 0x7F7F, 0], 60)
        x[::2, 7] = 0xFF80
        x[10:13] = 0x8000
    for signs in (TRANSFORMER_ENGINE_SIGNS, 0):
        expected = [rotate_block(block, Hadamard(signs=signs)) for block in x.tolist()]
        assert rotate(x, signs).tolist() == expected


@pytest.mark.parametrize("size", [32, 64, 128])
@pytest.mark.parametrize("kind", ["near", "patterns", "wide", "special"])
def test_larger_sizes(kind, size):
    random = np.random.default_rng(size)
    x = random.integers(0, 1 << 16, (12, size)).astype(np.uint16)
    if kind == "near":
        x = x & 0x80FF | 0x3F00
    if kind == "wide":
        x = np.where(random.random(x.shape) < 0.7, x & 0x8003, x & 0x807F | 0x4300).astype(np.uint16)
    if kind == "special":
        x[:, 3] = np.resize([0x7F80, 0xFF80, 0x7FC1, 0x7F7F, 0], len(x))
        x[::2, 7] = 0xFF80
        x[10:] &= 0x8001
    rules = Hadamard(size=size, signs=0x5A17)
    expected = [rotate_block(block, rules) for block in x.tolist()]
    assert rotate(x, rules).tolist() == expected


def test_irrational_roots_next_to_ties():
    """One number over sqrt(32) or sqrt(128), for every significand and in subnormals: the nearest BF16 number by
    squares of whole numbers.
    """
    for size in (32, 128):
        x = np.zeros((2 * 128, size), np.uint16)
        x[:128, 0], x[128:, 0] = np.arange(128) + 0x3F80, np.arange(128)
        expected = [nearest_root(BF16.decode(int(pattern)).magnitude ** 2 / size) for pattern in x[:, 0]]
        assert rotate(x, Hadamard(size=size))[:, 0].tolist() == expected


def test_sums_that_are_nearly_ties():
    """Sums of 7 numbers, over sqrt(32) and sqrt(128), of which float64 does not say on which side of a tie they are."""
    for size in (32, 128):
        sums = []
        for half in range(257, 512, 2):
            for bits in range(40, 49):
                total = isqrt(size * half**2 << 2 * (bits - 12))
                sums += [
                    (abs(one**2 - (size * half**2 << 2 * (bits - 12))) / one**2, one) for one in (total, total + 1)
                ]
        hardest = [total for _, total in sorted(sums)[:200]]
        x = np.zeros((len(hardest), size), np.uint16)
        for i in range(7):
            parts = [(total >> 8 * i & 0xFF) * 2.0 ** (8 * i) for total in hardest]
            x[:, i] = np.array(parts).astype(ml_dtypes.bfloat16).view(np.uint16)
        expected = [nearest_root(Fraction(total**2, size)) for total in hardest]
        assert rotate(x, Hadamard(size=size))[:, 0].tolist() == expected


def nearest_root(square: Fraction) -> int:
    """The pattern of the BF16 number that is nearest to a square root, by bisection."""
    low, high = 0, BF16.max_code
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if BF16.decode(middle).magnitude ** 2 <= square else (low, middle - 1)
    halfway = (BF16.decode(low).magnitude + BF16.decode(low + 1).magnitude) / 2
    return low + (halfway**2 < square)


def test_what_is_no_transform():
    with pytest.raises(ValueError, match="^size must be 16, 32, 64 or 128, not 8$"):
        Hadamard(size=8)
    with pytest.raises(ValueError, match="^signs must be a number of 32 bits, not 4294967296$"):
        Hadamard(size=32, signs=1 << 32)
    with pytest.raises(ValueError, match="^hardware transforms 16 numbers, not 32"):
        hadamard_config(Hadamard(size=32))
    assert operation_of(Hadamard(size=64, signs=9).to_dict()) == Hadamard(size=64, signs=9)
    assert Hadamard().by_name() == {"signs": TRANSFORMER_ENGINE_SIGNS} and Hadamard(size=32).signs == 0


def test_ties_far_below_are_seen():
    """256 + 1 is a tie of BF16, which the smallest number breaks."""
    for last, result in ((0, 0x4280), (1, 0x4281), (0x8001, 0x4280)):
        block = [0x4380, 0x3F80] + [0] * 13 + [last]
        assert rotate_block(block, Hadamard(signs=0))[0] == rotate(np.array(block, np.uint16), 0)[0] == result


@pytest.mark.parametrize(
    "x, rules, sentence",
    [
        (np.zeros(17, np.uint16), None, "the last axis must be a multiple of 16 long, not the shape (17,)"),
        (np.zeros(16, np.float32), None, "x must be bfloat16 (or its patterns as uint16), not float32"),
        (np.zeros(16, np.uint16), 1 << 16, "signs must be a number of 16 bits, not 65536"),
    ],
)
def test_what_is_refused(x, rules, sentence):
    with pytest.raises((TypeError, ValueError)) as refused:
        rotate(x, rules)
    assert str(refused.value) == sentence
