"""The steps of `explain_cast` lead to the codes of the exact definition and the fast model."""

import importlib
import json
import random
from fractions import Fraction

import numpy as np
import pytest

from mxcast.explain import explain_cast
from mxcast.models.exact.cast import cast_number
from mxcast.spec import CASTS, CastRounding, casting

from ..models.fast.test_cast import cast_all, patterns_of, rules_of


def patterns_for(rules, rng: random.Random, count: int) -> list[int]:
    if rules.is_back:
        return [rng.randrange(1 << rules.source.bits) for _ in range(count)]
    return rng.choices(patterns_of(rules.source.name).tolist(), k=count)


@pytest.mark.parametrize("seed", range(4))
def test_steps_of_random_rules(seed):
    """Formats, sources and rules are drawn; results and everything shown are recomputed."""
    rng = random.Random(seed)
    for _ in range(60):
        rules = rules_of(rng)
        patterns = patterns_for(rules, rng, 12)
        bits = [rng.getrandbits(rules.random_bits) for _ in patterns] if rules.random_bits else None
        found = explain_cast(patterns, rules, random=bits)
        json.dumps(found.to_dict(), allow_nan=False)
        exact = [cast_number(pattern, rules, bits[place] if bits else 0) for place, pattern in enumerate(patterns)]
        fast = cast_all(rules, np.array(patterns, f"u{-(-rules.source.bits // 8)}"), bits and np.array(bits, np.uint16))
        assert [step.code for step in found.numbers] == exact == fast.tolist()
        for step in found.numbers:
            check_step(step, rules)


def check_step(step, rules):
    source, to = rules.source.decode(step.pattern), rules.destination
    if source.kind == "finite":
        assert abs(Fraction(step.value)) == source.magnitude
    below, above = (None if code is None else to.decode(code) for code in (step.below, step.above))
    if below is not None and above is not None:
        assert below.magnitude < source.magnitude < above.magnitude
        below_code, above_code = (code & to.magnitude_mask for code in (step.below, step.above))
        assert above_code - below_code == 1 and (step.action == "saturated" or step.code in (step.below, step.above))
        middle = (below.magnitude + above.magnitude) / 2
        assert step.action.startswith("tie") == (source.magnitude == middle and rules.rounding in ("rne", "rna", "rnz"))
        if step.guard is not None:
            assert step.guard == (source.magnitude >= middle)
            assert step.sticky == (source.magnitude not in (below.magnitude, middle))
    elif below is not None:
        assert (step.below == step.code and source.magnitude == below.magnitude) or source.magnitude > to.max_value
    elif above is not None:
        assert source.magnitude < above.magnitude == to.decode(0).magnitude
    if step.error is not None:
        is_exact = step.action in ("exact", "zero") and not (step.sign_dropped and source.magnitude)
        assert (step.error == 0) == is_exact, step
    if step.tail is not None and step.action in ("exact", "up", "down"):
        assert (step.tail + step.random >= 1 << rules.random_bits) == (step.action == "up")
    assert step.sign_dropped <= (source.negative and not to.signed)


def test_what_happens_to_a_number():
    """By hand: 448 is the largest number of E4M3, 464 the tie above it; 2^-127 is the smallest number of E8M0."""
    shown = {
        ("e4m3", "ocp", 0x3FC80000): ("tie down", 0x3C),
        ("e4m3", "ocp", 0x43E80000): ("tie down", 0x7E),
        ("e4m3", "ocp", 0x43E80001): ("saturated", 0x7E),
        ("e4m3", "ml_dtypes", 0xC3E80001): ("overflow to NaN", 0xFF),
        ("e4m3", "ml_dtypes", 0x7F800000): ("overflow to NaN", 0x7F),
        ("e5m2", "torch", 0x47800000): ("overflow to Inf", 0x7C),
        ("e5m2", "torch", 0xFF800000): ("inf", 0xFC),
        ("e5m2", "ocp", 0x80000000): ("zero", 0x80),
        ("e2m1", "ptx", 0xFFC00000): ("nan to largest", 0x7),
        ("e2m1", "ml_dtypes", 0x7FC00000): ("nan to zero", 0x8),
        ("e8m0", "ocp", 0x00000001): ("underflow to the smallest", 0x00),
        ("e8m0", "gfloat", 0x00000001): ("underflow to NaN", 0xFF),
        ("e8m0", "ml_dtypes", 0x00000000): ("underflow to NaN", 0xFF),
        ("e8m0", "ml_dtypes", 0xBF800000): ("negative to NaN", 0xFF),
        ("e8m0", "ptx", 0x3F800001): ("up", 0x80),
        ("e5m2", "riscv", 0x47800000): ("overflow to Inf", 0x7C),
        ("e4m3fnuz", "torch", 0x80000001): ("down", 0x00),
        ("e4m3fnuz", "torch", 0x43780000): ("overflow to NaN", 0x80),
    }
    for (name, profile, pattern), wanted in shown.items():
        step = explain_cast([pattern], name, profile).numbers[0]
        assert (step.action, step.code) == wanted, (name, profile, hex(pattern))
    assert {profile for _, profile, _ in shown} | {"onnx"} == set(CASTS)


def test_a_sign_that_is_dropped_and_a_number_below_all():
    """The magnitude is 3 * 2^-129, or 1.5 * 2^-128. Its binade is below 2^-127, the smallest number."""
    step = explain_cast([0x80300000], "e8m0", "ptx").numbers[0]
    assert (step.kind, step.value, step.sign_dropped) == ("subnormal", -3 * 2.0**-129, True)
    assert (step.below, step.above, step.guard, step.sticky, step.action, step.code) == (None, 0, 1, 0, "up", 0)


def test_the_way_back():
    """2^17 is beyond FP16; 2^-25 is a tie between 0 and its smallest number, 2^-24."""
    found = explain_cast([0x90, 102, 103, 0xFF], "e8m0", destination="fp16")
    shown = [(step.value, step.action, step.code) for step in found.numbers[:3]]
    assert shown == [(2.0**17, "overflow to Inf", 0x7C00), (2.0**-25, "tie down", 0), (2.0**-24, "exact", 1)]
    assert (found.numbers[3].kind, found.numbers[3].code, found.profile) == ("nan", 0x7E00, "ocp")


@pytest.mark.parametrize("rounding", CastRounding)
def test_wrong_steps_are_refused(rounding, monkeypatch):
    """Every rounding that shows another increment than it makes."""
    module = importlib.import_module("mxcast.explain.rounding")
    right = module.INCREMENTS[rounding]
    monkeypatch.setitem(module.INCREMENTS, rounding, lambda *bits: 1 - right(*bits))
    with pytest.raises(AssertionError, match="do not lead to"):
        explain_cast([0x3FC00001], casting("e8m0", rounding=rounding))


@pytest.mark.parametrize(
    "patterns, more, sentence",
    [
        ([1 << 16], {"source": "bf16"}, "patterns of bf16 must be 0 to 65535, not 65536"),
        ([-1], {}, "patterns of fp32 must be 0 to 4294967295, not -1"),
        ([0], {"random": [1]}, "random bits are for the rounding sr, not for rne"),
        ([0], {"random": [1, 1], "rounding": "sr"}, "random must have one number for each element, at most 1, not 2"),
        ([0], {"random": [256], "rounding": "sr"}, "random must be numbers of 8 bits, not 256"),
    ],
)
def test_what_is_refused(patterns, more, sentence):
    with pytest.raises(ValueError, match=f"^{sentence}"):
        explain_cast(patterns, "e4m3", **more)
