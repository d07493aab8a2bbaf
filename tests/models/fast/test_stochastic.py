"""Stochastic rounding: the probability and the bias, exhausted over the bits that are cut off (numerics.md, section
C.5).
"""

from itertools import pairwise

import numpy as np
import pytest

from mxcast.models import quantize
from mxcast.models.exact.encode import quantize_block
from mxcast.models.fast.random_source import source_numbers
from mxcast.spec import numerics

TAIL = 20
"""Bits of an FP32 fraction below the three of E4M3."""
ONE = 0x3F800000
LOWER = ONE | 0b101 << TAIL
"""1.625: under the byte of a block whose maximum is 1.0 or a little more, code 0x7D."""


def codes(tails: np.ndarray, random: np.ndarray, bits: int) -> np.ndarray:
    """Codes of numbers 1.625 + tail * 2**-23, four to a block, with their random bits."""
    x = (LOWER | tails.astype(np.uint32)).view(np.float32)
    q = quantize(x, "e4m3", rounding="sr", random_bits=bits, block_size=4, random=random.astype(np.uint16))
    assert (q.scales == 119).all()
    return q.codes


@pytest.mark.parametrize("bits", [1, 2, 3, 4, 5])
def test_probability_and_bias_for_every_tail(bits):
    """Exactly floor(2**n f) of the 2**n random values round up, where f is the part of a step that is cut off.

    So the expected value is below the exact one by less than 2**-n of a step, and by half of this on average.
    """
    tails = np.arange(1 << TAIL)
    ups = np.zeros(1 << TAIL, np.int64)
    for drawn in range(1 << bits):
        rounded = codes(tails, np.full(tails.shape, drawn), bits)
        assert ((rounded == 0x7D) | (rounded == 0x7E)).all()
        ups += rounded == 0x7E
    np.testing.assert_array_equal(ups, tails * 2**bits // 2**TAIL)  # integers: exact
    bias = tails * 2**bits - ups * 2**TAIL  # in steps of 2**-(n + TAIL)
    assert bias.min() == 0 and bias.max() == 2**TAIL - 2**bits < 2**TAIL
    assert 2 * bias.sum() == (1 << TAIL) * (2**TAIL - 2**bits)


@pytest.mark.parametrize("bits", range(1, 17))
def test_the_carry_comes_at_one_random_number(bits):
    """For every tail: the smallest random number that rounds up does, the one below it does not."""
    tails = np.arange(1 << TAIL)
    first = 2**bits - tails * 2**bits // 2**TAIL
    with_carry = first < 2**bits
    assert with_carry.sum() == (1 << TAIL) - (1 << TAIL >> bits)
    rounded = codes(tails, np.minimum(first, 2**bits - 1), bits)
    np.testing.assert_array_equal(rounded, np.where(with_carry, 0x7E, 0x7D))
    np.testing.assert_array_equal(codes(tails, first - 1, bits), 0x7D)


@pytest.mark.parametrize("element", ["e5m2", "e4m3", "e2m1", "int8", "e2m0", "int4"])
def test_subnormal_and_saturated_elements(element):
    """Every random number of 6 bits on numbers in and below the smallest steps, and above the largest element, against
    the exact definition."""
    rules = numerics(element, rounding="sr", random_bits=6).replace(block_size=64)
    compared = 0
    for exponent in range(100, 129):
        for fraction in (0, 1, 0x100000, 0x3FFFFF, 0x400000, 0x680001, 0x7FFFFF):
            block = [0x3F800000 | 0x7FFFFF] + [
                min(exponent << 23 | fraction, 0x3FFFFFFF) | (lane % 2) << 31 for lane in range(63)
            ]
            drawn = list(range(64))
            q = quantize(np.array(block, np.uint32).view(np.float32), rules, random=np.array(drawn))
            assert (int(q.scales[0]), q.codes.tolist()) == quantize_block(block, rules, drawn)
            compared += 64
    assert compared > 10_000


def test_all_zero_random_bits_round_toward_zero():
    x = np.random.default_rng(3).standard_normal((200, 32), dtype=np.float32)
    sr = quantize(x, "e3m2", rounding="sr", random_bits=9, random=np.zeros(x.shape, np.uint16))
    np.testing.assert_array_equal(sr.codes, quantize(x, "e3m2", rounding="rtz").codes)


def test_a_generator_draws_the_bits():
    x = np.random.default_rng(3).standard_normal((50, 32), dtype=np.float32)
    drawn = np.random.default_rng(7).integers(0, 1 << 4, x.shape, np.uint16)
    by_array = quantize(x, "e4m3", rounding="sr", random_bits=4, random=drawn)
    by_generator = quantize(x, "e4m3", rounding="sr", random_bits=4, random=np.random.default_rng(7))
    np.testing.assert_array_equal(by_array.codes, by_generator.codes)
    assert (
        by_array.codes != quantize(x, "e4m3", rounding="sr", random_bits=4, random=np.random.default_rng(8)).codes
    ).any()


@pytest.mark.parametrize(
    "rules, random, message, error",
    [
        ({"rounding": "sr"}, None, "needs random bits", ValueError),
        ({}, np.zeros(32, np.uint16), "random bits are for the rounding sr, not for rne", ValueError),
        ({"rounding": "sr"}, np.zeros(31, np.uint16), "shape of x", ValueError),
        ({"rounding": "sr"}, np.zeros(32), "must be unsigned numbers, not float64", TypeError),
        ({"rounding": "sr", "random_bits": 4}, np.full(32, 16), "numbers of 4 bits, not 16 to 16", ValueError),
        ({"rounding": "sr"}, np.full(32, -1), "numbers of 8 bits, not -1 to -1", ValueError),
    ],
)
def test_wrong_random_bits_get_one_sentence(rules, random, message, error):
    with pytest.raises(error, match=message):
        quantize(np.zeros(32, np.float32), "e4m3", random=random, **rules)


def test_the_source_of_random_bits_is_marsaglias():
    """xorshift32 from state 1, as published: 270369, 67634689, 2647435461, 307599695; ours starts elsewhere."""
    from mxcast.spec.operations.random_source import SHIFTS, initial_states

    state, found = 1, []
    for _ in range(4):
        for shift in SHIFTS:
            state ^= (state << shift if shift > 0 else state >> -shift) % 2**32
        found.append(state)
    assert found == [270369, 67634689, 2647435461, 307599695]
    rules = numerics("e4m3", rounding="sr", random_bits=8)
    blocks = source_numbers(rules, 3, seed=5)
    states = initial_states(256, 5)
    for block in blocks:  # eight generators of four bytes each
        assert block.tolist() == [byte for s in states for byte in s.to_bytes(4, "little")]
        for number, state in enumerate(states):
            for shift in SHIFTS:
                state ^= (state << shift if shift > 0 else state >> -shift) % 2**32
            states[number] = state


def test_states_of_the_source_differ_and_are_never_zero():
    from mxcast.spec.operations.random_source import SPREAD, initial_states

    for seed in (0, 1, (-SPREAD) % 2**32, (-7 * SPREAD) % 2**32):  # the last two would give a state of 0
        states = initial_states(32 * 64, seed)
        assert len(set(states)) == 64 and 0 not in states
        # neighbours have nothing to do with each other: about half of their bits differ, in place or moved by one
        for shift in (0, 1):
            unlike = [((a << shift ^ b) % 2**32).bit_count() for a, b in pairwise(states)]
            assert 14 < np.mean(unlike) < 18 and min(unlike) >= 4
    for width, seed, message in ((0, 0, "width must be"), (32, 1 << 32, "seed must be")):
        with pytest.raises(ValueError, match=message):
            initial_states(width, seed)
