"""Random functions: called with their bits, or judged by their distribution."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from math import exp

import ml_dtypes
import numpy as np
import pytest

import mxcast
from mxcast.conformance.identify.stochastic import independence
from mxcast.conformance.identify.stochastic.fairness import RISK, bound
from mxcast.conformance.identify.stochastic.independence import Independence
from mxcast.testing import assert_follows


def with_bits(format: str, **rules) -> Callable:
    def encode(x, bits):
        assert bits.shape == x.shape and bits.dtype == np.uint16
        q = mxcast.quantize(x, format, random=bits, **rules)
        return q.scales, q.codes

    return encode


def e4m3(rounded: Callable, seed: int = 0, byte: Callable = lambda byte: byte) -> Callable:
    """An encoder of finite numbers to OCP's E4M3 whose elements a function of (|v| - lo) / (hi - lo) and a random
    number in [0, 1) rounds: True is up. Written here, with a table of the elements.
    """
    values = np.arange(127, dtype=np.uint8).view(ml_dtypes.float8_e4m3fn).astype(np.float64)
    rng = np.random.default_rng(seed)

    def encode(x):
        amax = np.abs(x).max(axis=1)
        is_special = ~np.isfinite(amax)
        exponent = np.where(is_special, np.float32(0), amax).view(np.uint32) >> 23
        scales = np.where(is_special, 255, np.maximum(exponent.astype(int) - 8, 0))
        with np.errstate(all="ignore"):
            v = np.minimum(np.abs(np.ldexp(x.astype(np.float64), 127 - scales[:, None])), 448)
        v = np.where(is_special[:, None], 0, v)
        lower = np.searchsorted(values, v, side="right") - 1
        upper = np.minimum(lower + 1, 126)
        step = np.where(upper > lower, values[upper] - values[lower], 1)
        f = np.where(upper > lower, (v - values[lower]) / step, 0)
        codes = np.where((f > 0) & rounded(f, rng.random(x.shape), x), upper, lower)
        codes = np.where(np.signbit(x), codes | 0x80, codes)
        codes = np.where(is_special[:, None], 0x7F, codes)
        return byte(scales).astype(np.uint8), codes.astype(np.uint8)

    return encode


def fair(f, u, x):
    return u < f


def identified(function, format="e4m3", samples=1000, **given):
    return mxcast.identify(function, format, samples=samples, blocks=500, **given)


@pytest.mark.parametrize(
    "format, profile",
    [
        ("e4m3", "nvidia"),
        pytest.param("e2m1", "ocp", marks=pytest.mark.slow),
        pytest.param("int8", "ocp", marks=pytest.mark.slow),
        ("nvfp4", "nvfp4_te"),
    ],
)
def test_a_function_that_takes_random_bits_is_compared_bit_for_bit(format, profile):
    found = mxcast.identify(with_bits(format, profile=profile, rounding="sr"), format, rounding="sr", blocks=500)
    assert profile in found.names, found.sentence
    assert_follows(with_bits(format, profile=profile, rounding="sr"), profile, format=format, rounding="sr", blocks=500)


def test_bits_that_are_used_otherwise_are_found():
    """Faults: only the upper half of the bits is used, or no bits."""
    with pytest.raises(AssertionError, match="with random bits"):
        assert_follows(
            lambda x, bits: with_bits("e4m3", rounding="sr")(x, bits & 0xF0),
            "ocp",
            format="e4m3",
            rounding="sr",
            blocks=500,
        )
    found = mxcast.identify(lambda x, bits: e4m3(lambda f, u, x: f > 0.25)(x), "e4m3", rounding="sr", blocks=500)
    assert found.verdict == "differs"


def test_a_cast_with_random_bits():
    found = mxcast.identify(
        lambda x, bits: mxcast.cast(x, "e5m2", rounding="sr", random=bits), "e5m2", op="cast", rounding="sr", blocks=500
    )
    assert "ocp" in found.names, found.sentence


def test_the_bound_is_hoeffdings():
    """The share of N fair calls leaves the bound t with probability 2 exp(-2 N t^2) at most, for M elements M times
    that.
    """
    for samples, elements in ((10, 1), (1000, 8192)):
        assert 2 * elements * exp(-2 * samples * bound(samples, elements) ** 2) == pytest.approx(RISK)


def test_without_samples_it_is_said_what_can_be_done():
    found = mxcast.identify(e4m3(fair), "e4m3", blocks=500)
    assert found.verdict == "unknown" and "is random" in found.sentence
    assert "rounding=sr" in found.sentence and "samples" in found.sentence


def test_a_fair_function_follows():
    found = identified(e4m3(fair))
    assert found.verdict == "follows" and "1,000 samples" in found.sentence, found.sentence
    assert any(name.startswith("ocp with rounding=sr") for name in found.names)
    assert f"within {bound(1000, 8192):.4f} of the exact probability" in found.remarks[0]
    assert_follows(e4m3(fair), "ocp", format="e4m3", samples=1000, blocks=500)
    with pytest.raises(AssertionError, match="not the rules asked for"):
        assert_follows(e4m3(fair), "nvidia", format="e4m3", samples=1000, blocks=500)


def test_few_random_bits_are_told_from_the_exact_probability():
    found = identified(e4m3(lambda f, u, x: np.floor(f * 4) + np.floor(u * 4) >= 4))
    assert found.verdict == "follows" and "random_bits=2" in found.names[0], found.sentence
    assert "the exact probability does not fit" in found.remarks[1]


BIASED = {
    "both neighbours have the probability 1/2": lambda f, u, x: u < 0.5,
    "is biased toward zero": lambda f, u, x: u < f / 2,
    "is biased away from zero": lambda f, u, x: u < np.sqrt(f),
    "is biased up": lambda f, u, x: np.where(x > 0, u < np.sqrt(f), u < f * f),
    "rounds with other probabilities than the distances": lambda f, u, x: u < 1 - f,
}


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    "said", [pytest.param(said, marks=[] if place < 2 else pytest.mark.slow) for place, said in enumerate(BIASED)]
)
def test_biased_functions_are_called_that(said):
    found = identified(e4m3(BIASED[said]))
    assert found.verdict == "differs" and said in found.sentence and "1,000 samples of 8,192 elements" in found.sentence
    assert "of 1,000 times, expected" in found.witness
    with pytest.raises(AssertionError, match=said):
        assert_follows(e4m3(BIASED[said]), "ocp", format="e4m3", samples=1000, blocks=500)


@pytest.mark.parametrize(
    "said, rounded",
    [
        ("always rounds away from zero", lambda f, u, x: f > 0),
        pytest.param("always rounds up", lambda f, u, x: x > 0, marks=pytest.mark.slow),
        pytest.param("always rounds down", lambda f, u, x: x < 0, marks=pytest.mark.slow),
    ],
)
def test_functions_that_are_not_random_are_judged_too(said, rounded):
    found = identified(e4m3(rounded), samples=20)
    assert found.verdict == "differs" and any(said in remark for remark in found.remarks), found.remarks


def test_toward_zero_is_a_rule_that_is_known():
    assert "ocp with rounding=rtz" in identified(e4m3(lambda f, u, x: f < 0), samples=20).names


def test_results_that_are_no_neighbours():
    function = e4m3(fair)

    def two_up(x):
        scales, codes = function(x)
        return scales, np.where((codes & 0x7F) == 0x30, codes + 2, codes)

    found = identified(two_up)
    assert found.verdict == "differs" and "no neighbours of the exact number" in found.sentence
    assert "times" in found.witness and "became" in found.witness


def test_scales_that_are_random_or_wrong():
    rng = np.random.default_rng(3)
    found = identified(e4m3(fair, byte=lambda byte: byte + rng.integers(0, 2, byte.shape)), samples=20)
    assert found.verdict == "differs" and "has random scales" in found.sentence
    found = identified(e4m3(fair, byte=lambda byte: np.where(byte > 120, byte + 1, byte)), samples=50)
    assert found.verdict == "differs" and "follows no known rules for scales" in found.sentence


@pytest.mark.parametrize("profile", ["nvfp4_te", pytest.param("nvfp4_paper", marks=pytest.mark.slow)])
def test_nvfp4_by_its_distribution(profile):
    rng = np.random.default_rng(0)

    def encode(x):
        q = mxcast.quantize(x, "nvfp4", profile=profile, rounding="sr", random=rng)
        return q.scales, q.codes

    found = identified(encode, "nvfp4", samples=300)
    assert found.verdict == "follows" and any(name.startswith(profile) for name in found.names), found.sentence


def test_numbers_by_their_distribution():
    function = e4m3(fair)

    def encode(x):
        scales, codes = function(x)
        with np.errstate(all="ignore"):
            factor = scales.view(ml_dtypes.float8_e8m0fnu).astype(np.float32)[:, None]
            return codes.view(ml_dtypes.float8_e4m3fn).astype(np.float32) * factor

    found = identified(encode, samples=300)
    assert found.verdict == "follows" and found.names[0].startswith("ocp"), found.sentence


def drawn(draw: Callable, seed: int = 0) -> Callable:
    """A fair encoder whose random numbers are drawn by a function of a generator, the shape and the number of the
    call.
    """
    rng, calls = np.random.default_rng(seed), count()

    def rounded(f, u, x):
        return draw(rng, x.shape, next(calls)) < f

    return e4m3(rounded)


STREAM = np.random.default_rng(1).random(1 << 20)

DEPENDENT = {
    "results 1 lane apart have the correlation 0.": lambda rng, shape, call: rng.random((shape[0], 1)),
    "of one lane 1 block apart have the correlation 0.": lambda rng, shape, call: rng.random((1, shape[1])),
    "results 1 lane apart have the correlation -0.": lambda rng, shape, call: np.stack(
        [half := rng.random((shape[0], shape[1] // 2)), 1 - half], axis=2
    ).reshape(shape),
    "results 1000 elements apart have the correlation 0.": lambda rng, shape, call: np.resize(rng.random(1000), shape),
    "of a call and of the next one, 3 elements earlier, have": lambda rng, shape, call: STREAM[
        3 * call : 3 * call + shape[0] * shape[1]
    ].reshape(shape),
    "results of one element 2 calls apart have the correlation 0.": lambda rng, shape, call: np.where(
        rng.random(shape) < 0.3, np.random.default_rng(call % 2).random(shape), rng.random(shape)
    ),
}
"""Random numbers that are fair for each element, and depend on each other."""


@pytest.mark.parametrize(
    "said", [pytest.param(said, marks=[] if place < 2 else pytest.mark.slow) for place, said in enumerate(DEPENDENT)]
)
def test_results_that_depend_on_each_other_are_found(said):
    """The first is one random number for a whole block, whose lanes round together."""
    found = identified(drawn(DEPENDENT[said]), samples=60)
    assert found.verdict == "differs" and said in found.sentence, found.sentence
    assert "has the right probabilities in 60 samples" in found.sentence


def test_calls_that_repeat_are_found():
    found = identified(drawn(lambda rng, shape, call: np.random.default_rng(call % 7).random(shape)), samples=60)
    assert found.verdict == "differs" and "call 8 has the results of call 1" in found.sentence, found.sentence


def test_independence_is_said_with_its_risk():
    found = identified(drawn(lambda rng, shape, call: np.random.default_rng(call).random(shape)), samples=60)
    assert found.verdict == "follows", found.sentence
    assert "independence was tested" in found.remarks[-1] and "once in 1,000,000 runs" in found.remarks[-1]


def bits(rng: np.random.Generator, calls: int, p: np.ndarray, shared: float = 0.0) -> list[bytes]:
    """Results with the probabilities p; a share of them has the random number of the element before."""
    found = []
    for _ in range(calls):
        u = rng.random(p.size)
        u[1:] = np.where(rng.random(p.size - 1) < shared, u[:-1], u[1:])
        found.append(np.packbits(u < p).tobytes())
    return found


def test_the_bound_holds_and_is_sharp(monkeypatch):
    """At a risk of one half at most half of fair functions fail; a correlation three times the bound is found."""
    rng = np.random.default_rng(2)
    p = rng.uniform(0.25, 0.75, 512)
    fair = [Independence(np.arange(512), p, bits(rng, 40, p), 32).found() for _ in range(20)]
    assert not any(one.text for one in fair) and all(one.is_tested for one in fair)
    share = 3 * fair[0].bound
    assert Independence(np.arange(512), p, bits(rng, 40, p, share), 32).found().text
    monkeypatch.setattr(independence, "RISK", 0.5)
    failed = [bool(Independence(np.arange(512), p, bits(rng, 40, p), 32).found().text) for _ in range(40)]
    assert sum(failed) <= 20


def test_too_little_to_test_is_said():
    p = np.full(20, 0.5)
    found = Independence(np.arange(20), p, bits(np.random.default_rng(0), 40, p), 32).found()
    assert not found.is_tested and "independence not tested: 40 samples of 20 elements" in found.remark(40, 20)
    few = np.full(100, 0.5)
    assert not Independence(np.arange(100), few, bits(np.random.default_rng(0), 2, few), 32).found().is_tested


def test_too_few_samples_and_other_operations_are_refused():
    with pytest.raises(ValueError, match="needs 10 samples or more, not 3"):
        identified(e4m3(fair), samples=3)
    rng = np.random.default_rng(0)
    with pytest.raises(ValueError, match="samples are for encoders and for casts"):
        identified(lambda s, c: rng.random(c.shape).astype(np.float32), op="decode", samples=100)
