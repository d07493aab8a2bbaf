"""`compare_casts` counts what the exact definition counts, and each difference has the cause that fits its number."""

import random
from bisect import bisect_right
from fractions import Fraction
from functools import cache

import numpy as np
import pytest

from mxcast.compare import compare_casts
from mxcast.models.exact.cast import cast_number
from mxcast.models.fast.cast import cast_patterns, representatives
from mxcast.spec import FP32, Cast, CastNegative, FloatFormat, casting

from ..models.fast.test_cast import rules_of


def cause_of(pattern: int, a: Cast, b: Cast) -> str:
    """The cause by rational arithmetic, from the numbers of the destination themselves."""
    number, to = a.source.decode(pattern), a.destination
    if number.kind == "nan":
        return "nan"
    if number.negative and not to.signed and CastNegative.NAN in (a.negative, b.negative):
        return "negative"
    if number.kind == "inf":
        return "inf"
    if number.magnitude == 0:
        return "zero"
    numbers = positive(to)
    if number.magnitude > numbers[-1]:
        return "overflow"
    if number.magnitude < numbers[0]:
        return "underflow"
    above = bisect_right(numbers, number.magnitude)
    middle = sum(numbers[above - 1 : above + 1], Fraction()) / 2
    return "tie" if number.magnitude == middle else "value"


@cache
def positive(to: FloatFormat) -> list[Fraction]:
    """The positive numbers of a format, ascending."""
    return [number for code in range(to.max_code + 1) if (number := to.decode(code).magnitude)]


PAIRS = [
    pytest.param("e8m0", "ocp", "gfloat", {"source": "bf16"}, marks=pytest.mark.slow),
    pytest.param("e8m0", "ml_dtypes", "torch", {"source": "fp16"}, marks=pytest.mark.slow),
    pytest.param("e5m2", "ocp", "torch", {"source": "bf16"}, marks=pytest.mark.slow),
    ("e2m1", "ocp", "ocp", {"source": "fp16"}),
    ("e8m0", "onnx", "gfloat", {"source": "fp16"}),
    ("e4m3", "ocp", "ptx", {"destination": "bf16"}),
    ("e8m0", "ocp", "ml_dtypes", {"destination": "fp16"}),
]


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name, of_a, of_b, fields", PAIRS)
def test_counts_are_those_of_the_exact_definition(name, of_a, of_b, fields):
    """On all patterns of 16 bits, or all codes."""
    a, b = casting(name, of_a, **fields), casting(name, of_b, **fields)
    if a == b:
        b = b.replace(rounding="rtz")
    counts: dict[str, int] = {}
    firsts: dict[str, tuple[int, int, int]] = {}
    for pattern in range(1 << a.source.bits):
        by_a, by_b = cast_number(pattern, a), cast_number(pattern, b)
        if by_a != by_b:
            cause = cause_of(pattern, a, b)
            counts[cause] = counts.get(cause, 0) + 1
            firsts.setdefault(cause, (pattern, by_a, by_b))
    found = compare_casts(a, b)
    assert {cause: one.differing for cause, one in found.causes.items()} == counts
    assert {cause: (f.first.pattern, f.first.a, f.first.b) for cause, f in found.causes.items()} == firsts
    assert found.compared == 1 << a.source.bits and found.differing == sum(counts.values())
    assert found.equal == (not counts)


def test_a_count_by_hand():
    """E4M3 rounds everything above 464 beyond 448: the FP32 patterns after 0x43E80000 up to 0x7F7FFFFF, of both signs.
    NaN of ml_dtypes keeps its sign, so the 2^23 - 1 negative ones differ.
    """
    found = compare_casts(casting("e4m3"), casting("e4m3", "ml_dtypes"))
    counts = {cause: one.differing for cause, one in found.causes.items()}
    assert counts == {"nan": 2**23 - 1, "inf": 2, "overflow": 2 * (0x7F7FFFFF - 0x43E80000)}
    assert found.compared == 2**32 and found.causes["overflow"].first.pattern == 0x43E80001


def test_a_representative_has_the_result_of_its_class():
    """By the exact definition, for random rules and FP32 patterns."""
    patterns, counts = representatives(FP32)
    assert int(counts.sum()) == 2**32 and bool((np.diff(patterns) > 0).all())
    rng = random.Random(5)
    for _ in range(40):
        rules = rules_of(rng).replace(rounding="rne")
        if rules.source != FP32:
            continue
        for _ in range(60):
            place = rng.randrange(len(patterns))
            smallest, one = int(patterns[place]), int(patterns[place]) + rng.randrange(int(counts[place]))
            assert cast_number(one, rules) == cast_number(smallest, rules), (rules.by_name(), hex(one))
            assert cause_of(one, rules, rules) == cause_of(smallest, rules, rules)


@pytest.mark.slow
@pytest.mark.parametrize("name, of_a, of_b", [("e4m3", "ocp", "ml_dtypes"), ("e8m0", "ocp", "gfloat")])
def test_all_patterns_of_fp32_one_by_one(name, of_a, of_b):
    a, b = casting(name, of_a), casting(name, of_b)
    differing, step = 0, 1 << 24
    results = [np.empty(step, np.uint8) for _ in range(2)]
    for start in range(0, 1 << 32, step):
        patterns = np.arange(start, start + step, dtype=np.uint32)
        for rules, codes in zip((a, b), results):
            cast_patterns(patterns, rules, codes)
        differing += int(np.count_nonzero(results[0] != results[1]))
    assert differing == compare_casts(a, b).differing


@pytest.mark.parametrize(
    "a, b, sentence",
    [
        (casting("e4m3"), casting("e4m3", source="bf16"), "both sides must have the same source, not fp32 and bf16"),
        (casting("e4m3"), casting("e5m2"), "both sides must have the same destination, not e4m3 and e5m2"),
        (casting("e4m3"), casting("e4m3", rounding="sr"), "stochastic rounding (sr) cannot be compared, because its"),
    ],
)
def test_what_is_refused(a, b, sentence):
    with pytest.raises(ValueError) as error:
        compare_casts(a, b)
    assert str(error.value).startswith(sentence)
