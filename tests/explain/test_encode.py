"""The steps of `explain` lead to the bytes and codes of `quantize`."""

import json
import math
import random
from dataclasses import replace
from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest

from mxcast.explain import explain
from mxcast.explain.encode_steps import ElementStep
from mxcast.explain.scale import offset_and_limit, scale_trace
from mxcast.models import dequantize, quantize
from mxcast.models.exact.scale import shared_exponent
from mxcast.spec import ELEMENTS, Encode, EncodedZero, FixedFormat, Rounding, ScaleRule, Specials, Subnormals, numerics

FORMATS = [*ELEMENTS, "e3m3", "e3m0", "e5m10", "e1m2", "e4m3_ieee", "int2", "int16"]
BLOCKS = 500


def a_block(draw: random.Random) -> tuple[Encode, list[int], list[int] | None]:
    """Rules, patterns near each other in exponent with specials among them, and random bits where the rounding wants
    them.
    """
    rounding = draw.choice(list(Rounding))
    bits = {"random_bits": draw.randint(1, 16)} if rounding is Rounding.SR else {}
    rules = numerics(
        draw.choice(FORMATS),
        rounding=rounding,
        scale_rule=draw.choice(list(ScaleRule)),
        block_size=draw.choice([2, 8]),
        specials=draw.choice(list(Specials)),
        input_subnormals=draw.choice(list(Subnormals)),
        element_subnormals=draw.choice(list(Subnormals)),
        source=draw.choice(["fp32", "bf16", "fp16"]),
        zero=draw.choice(list(EncodedZero)),
        **bits,
    )
    source = rules.source
    top = (1 << source.exp_bits) - 1
    base = draw.choice([1, 3, 9, top // 2, top - 1])
    patterns = []
    for _ in range(rules.block_size):
        field = draw.choices([max(base - draw.randint(0, 9), 0), 0, top], [30, 3, 1])[0]
        fraction = draw.getrandbits(source.man_bits) & -1 << draw.randint(0, source.man_bits)  # often a tie
        patterns.append(draw.getrandbits(1) << source.bits - 1 | field << source.man_bits | fraction)
    return rules, patterns, [draw.getrandbits(rules.random_bits) for _ in patterns] if bits else None


def as_numbers(patterns: list[int], rules: Encode) -> np.ndarray:
    kind = {"fp32": (np.uint32, np.float32), "bf16": (np.uint16, np.uint16), "fp16": (np.uint16, np.float16)}[
        rules.source.name
    ]
    return np.array(patterns, kind[0]).view(kind[1])


@pytest.mark.slow
def test_the_steps_lead_to_what_quantize_gives():
    draw, actions = random.Random(5), set()
    for _ in range(BLOCKS):
        rules, patterns, bits = a_block(draw)
        why = explain(patterns, rules, random=bits)
        x, chosen = as_numbers(patterns, rules), None if bits is None else np.array(bits)
        q = quantize(x, rules, random=chosen)
        assert (why.scale.byte, [step.code for step in why.elements]) == (q.scales[0], q.codes.tolist()), (
            rules,
            patterns,
        )
        with np.errstate(over="ignore"):
            decoded = np.array([step.decoded for step in why.elements]).astype(np.float32)
        np.testing.assert_array_equal(decoded, dequantize(q))
        for step in why.elements:
            check_bits(step, rules)
            actions.add(step.action)
        for rule, step in zip(ScaleRule, why.scale_rules, strict=True):
            other = quantize(x, rules.replace(scale_rule=rule), random=chosen)
            assert (step.rule, step.byte) == (rule, other.scales[0])
            if not step.arithmetic.startswith("specials"):
                assert step.arithmetic.endswith((f" {step.byte}", f"byte {step.byte}")), step.arithmetic
    assert actions == {"exact", "down", "up", "tie down", "tie up", "saturated", "flushed", "zero", "specials"}


def check_bits(step: ElementStep, rules: Encode) -> None:
    """The quotient lies where the code cut off, the guard bit and the sticky bit say, and its code follows from
    them.
    """
    if step.cut is None:
        assert step.action in ("saturated", "flushed", "zero", "specials") and step.guard is step.tail is None
        return
    element, published = rules.block.element, rules.rounding is Rounding.GUARD_HALF_UP
    if published and rules.element_subnormals is Subnormals.FLUSH and step.cut < 1 << getattr(element, "man_bits", 0):
        return  # an exponent field of 0 keeps its fraction unshifted, as published: no grid point
    below = value(step.cut, element)
    place = (
        value(step.cut + 1, element) - below if step.cut < element.max_code else below - value(step.cut - 1, element)
    )
    part = (abs(Fraction(step.quotient)) - below) / place
    assert 0 <= part < 1
    if rules.rounding is Rounding.SR:
        assert step.tail == part * 2**rules.random_bits // 1
        up = step.tail + step.random >= 2**rules.random_bits
    else:
        assert (step.guard, step.sticky) == (part >= Fraction(1, 2), part not in (0, Fraction(1, 2)))
        even, zero = step.guard and (step.sticky or step.cut % 2), step.guard and step.sticky
        up = {"rne": even, "rtz": False, "rnz": zero}.get(rules.rounding, step.guard)
    magnitude = (
        step.code & element.magnitude_mask
        if not isinstance(element, FixedFormat)
        else min(step.code, (1 << element.bits) - step.code)
    )
    if step.action not in ("saturated", "flushed"):
        assert magnitude == step.cut + bool(up) and step.action.endswith("up" if up else ("down", "exact"))
        assert step.action.startswith("tie") == (rules.rounding not in ("rtz", "sr") and part == Fraction(1, 2))


def value(code: int, element) -> Fraction:
    """By the definition of the formats, from their widths alone."""
    if isinstance(element, FixedFormat):
        return Fraction(code, 1 << element.frac_bits)
    field, fraction = divmod(code, 1 << element.man_bits)
    return (bool(field) + Fraction(fraction, 1 << element.man_bits)) * Fraction(2) ** (max(field, 1) - element.bias)


# element, rule, a, arithmetic: the byte by hand from docs/numerics.md
@pytest.mark.parametrize(
    "element, rule, a, arithmetic",
    [
        ("e4m3", "floor", 0x3F800000, "e - emax = 127 - 8 = 119"),
        ("e4m3", "floor", 0x01800000, "e - emax = 3 - 8 = -5, clamped to 0"),
        ("e4m3", "ceil", 0x3FF00000, "e - emax + (m > 0x600000) = 127 - 8 + 1 = 120"),
        ("e4m3", "ceil", 0x007FFFFF, "e - emax = 0 - 8 = -8, clamped to 0"),
        ("int8", "ceil", 0x007F0001, "e - emax + (m > 0x7F0000) = 0 - 0 + 1 = 1"),
        ("int8", "ceil", 0x7F7FFFFF, "e - emax + (m > 0x7E0000) = 254 - 0 + 1 = 255, clamped to 254"),
        ("e4m3", "rceil", 0x3FF00000, "e - emax + (m > 0x600000) = 127 - 8 + 1 = 120"),
        # the one maximum where FP32 arithmetic differs: a / 448 is above 2**-127 by less than half a last place
        ("e4m3", "rceil", 0x04600001, "e - emax + (m > 0x600001) = 8 - 8 + 0 = 0"),
        ("e4m3", "rceil", 0x04600002, "e - emax + (m > 0x600001) = 8 - 8 + 1 = 1"),
        ("e4m3", "linear_nearest", 0x3FA80000, "e - (emax + 1) + (m > 0x27FFFF) = 127 - 9 + 1 = 119"),  # 1.5 * 1.75 / 2
        ("e4m3", "pow2_ceil", 0x3F800001, "e - emax + (m > 0) = 127 - 8 + 1 = 120"),
        ("e4m3", "even", 0x3FF80000, "e - emax + (m > 0x77FFFF) = 127 - 8 + 1 = 120"),
        ("e4m3", "bias_floor", 0x3F800000, "e - bias = 127 - 7 = 120"),
        ("e4m3", "even1", 0x3FE00000, "e - emax + (m > 0x5FFFFF) = 127 - 8 + 1 = 120"),
        ("e4m3", "round_log2", 0x3FA00000, "e - (emax + 1) + (m > 0x1E6454) = 127 - 9 + 1 = 119"),
        ("e4m3", "round_log2", 0x007FFFFF, "e - (emax + 1) = 0 - 9 = -9, clamped to 0"),
        ("e3m0", "round_log2", 0x3FB504F4, "e - emax + (m > 0x3504F3) = 127 - 4 + 1 = 124"),  # 1.41421366
        ("e4m3", "floor", 0x80000000, "a = 0: byte 0"),
    ],
)
def test_the_arithmetic_of_the_scale(element, rule, a, arithmetic):
    assert explain([a], element, scale_rule=rule).scale.arithmetic == arithmetic


@pytest.mark.parametrize("rule", list(ScaleRule))
def test_the_arithmetic_gives_the_byte_on_both_sides_of_each_limit(rule):
    for element in (*ELEMENTS, "e3m0"):
        rules = numerics(element, scale_rule=rule)
        for field in (*range(20), 127, 252, 253, 254):
            _, limit = offset_and_limit(rules.scale_rule, rules.block.element, field)
            for fraction in {0, 1, 0x7FFFFF} | (set() if limit is None else {limit, min(limit + 1, 0x7FFFFF)}):
                pattern = field << 23 | fraction
                amax = rules.source.decode(pattern).magnitude
                assert scale_trace(pattern, rules)[0] == shared_exponent(amax, rules) + 127


def test_the_rules_side_by_side():
    """1.9 and 0.01 as E4M3: under byte 119 the largest is 486.4 and saturates, under 120 it is 243.2 and rounds
    to 240.
    """
    block = np.array([1.9, 0.01], np.float32)
    why, amax = explain(block, "e4m3"), Fraction(float(block[0]))
    exact = {rule: shared_exponent(amax, numerics("e4m3", scale_rule=rule)) + 127 for rule in ScaleRule}
    assert {step.rule: (step.byte, step.saturates, step.saturated) for step in why.scale_rules} == {
        rule: (byte, byte == 119, int(byte == 119)) for rule, byte in exact.items()
    }
    assert {*exact.values()} == {119, 120}
    errors = [Fraction(step.decoded) - Fraction(step.value) for step in why.elements]
    rms = math.sqrt(sum(error**2 for error in errors) / sum(Fraction(step.value) ** 2 for step in why.elements))
    assert why.scale.relative_rms == pytest.approx(rms, rel=1e-12) and why.scale.sqnr_db == pytest.approx(
        -20 * math.log10(rms)
    )
    largest = why.largest
    assert (largest.lane, largest.fp32, largest.exponent_field, largest.fraction) == (0, 0x3FF33333, 127, 0x733333)


def test_the_largest_is_the_first_of_equals_whatever_its_sign():
    why = explain([0x3F800000, 0xC0000000, 0x40000000, 0x7FC00000, 0x3F000000], "e4m3", "te")
    assert (why.largest.lane, why.largest.fp32, why.largest.value) == (1, 0x40000000, 2.0)


@pytest.mark.parametrize(
    "specials, patterns, lane, remarks",
    [
        (
            "nan_block",
            [0x3F800000, 0x7FC00000],
            0,
            ["NaN (lane 1): under nan_block the block has byte 0xFF, and every element is the canonical NaN"],
        ),
        (
            "te",
            [0x7FC00000, 0xFF800000, 0x3F800000],
            2,
            [
                "NaN (lane 0): under te left out of the maximum, and the canonical NaN as element",
                "Inf (lane 1): under te the block has byte 0xFE; the largest number of its sign as element",
            ],
        ),
        (
            "inf_scale",
            [0x7F800000] * 6,
            None,
            [
                "Inf (lanes 0, 1, 2, 3 and 2 more): under inf_scale the block has byte 0xFE, and every element is "
                "its sign and "
                "magnitude 0x78"
            ],
        ),
        (
            "drop",
            [0x7FC00000, 0x7F800000],
            None,
            [
                "NaN (lane 0) and Inf (lane 1): under drop left out of the maximum, then quantized as numbers of "
                "exponent 128"
            ],
        ),
        ("nan_block", [0x3F800000], 0, []),
    ],
)
def test_remarks_on_specials(specials, patterns, lane, remarks):
    why = explain(patterns, "e4m3", specials=specials)
    assert list(why.remarks) == remarks
    assert (why.largest and why.largest.lane) == lane


def test_remarks_on_subnormals():
    why = explain([0x00000001, 0x807FFFFF, 0x00800000], "e4m3", input_subnormals="flush")
    assert why.remarks == ("2 FP32 subnormal inputs taken for zero: input_subnormals flush",)
    assert [step.action for step in why.elements[:3]] == ["flushed", "flushed", "exact"]
    fp16 = explain([0x0001], "e4m3", source="fp16", input_subnormals="flush")  # a normal FP32 number
    assert (fp16.remarks, fp16.classes["subnormal"], fp16.largest.fp32) == ((), 1, 0x33800000)


def test_classes_and_what_is_given():
    why = explain([0x3F800000, 1, 0x80000000, 0xFF800000, 0x7F800001], "e4m3", block_size=8)
    assert why.classes == {"normal": 1, "subnormal": 1, "zero": 4, "inf": 1, "nan": 1} and why.given == 5
    assert [step.kind for step in why.elements[:5]] == ["normal", "subnormal", "zero", "inf", "nan"]


@pytest.mark.parametrize(
    "block",
    [
        np.array([1.5, -2], np.float32),
        np.array([1.5, -2], np.float16),
        np.array([1.5, -2], ml_dtypes.bfloat16),
        np.array([1.5, -2], ">f4"),
        [0x3FC00000, 0xC0000000],
        (0x3FC00000, 0xC0000000),
    ],
)
def test_blocks_as_quantize_takes_them(block):
    assert explain(block, "e4m3").patterns[:2] == ["0x3FC00000", "0xC0000000"]


@pytest.mark.parametrize(
    "source, block, patterns",
    [
        ("bf16", np.array([1.5], ml_dtypes.bfloat16), "0x3FC0"),
        ("bf16", np.array([0x3FC0], np.uint16), "0x3FC0"),
        ("bf16", [0x3FC0], "0x3FC0"),
        ("fp16", np.array([1.5], np.float16), "0x3E00"),
        ("fp16", [0x3E00], "0x3E00"),
    ],
)
def test_blocks_of_16_bit_sources(source, block, patterns):
    why = explain(block, "e4m3", source=source)
    assert (why.patterns[0], why.elements[0].value) == (patterns, 1.5)


def test_the_record_is_json_and_repeats_itself():
    bits = [3, 200]
    why = explain([0x3FF00000, 0x7FC00000, 0xFF800000], "e5m2", "te", rounding="sr", random=bits)
    written = json.loads(json.dumps(why.to_dict(), allow_nan=False))
    again = explain(
        [int(p, 16) for p in written["values"].split(",")], Encode.from_dict(written["numerics"]), random=bits
    )
    assert again.to_dict() == why.to_dict() | {"given": 32, "profile": None}
    assert [step["random"] for step in written["elements"][:1]] == [3] and written["elements"][1]["value"] is None
    assert written["scale"] == written["scale_rules"][list(ScaleRule).index("rceil")]


@pytest.mark.parametrize(
    "block, fields, kind, sentence",
    [
        ([0] * 33, {}, ValueError, "a block has 32 elements, not 33"),
        ([1 << 32], {}, ValueError, "patterns of fp32 must be 0 to 4294967295, not 4294967296"),
        ([-1], {}, ValueError, "patterns of fp32 must be 0 to 4294967295, not -1"),
        ([0x10000], {"source": "bf16"}, ValueError, "patterns of bf16 must be 0 to 65535, not 65536"),
        ([1.5], {}, TypeError, "x must be float32, float16 or bfloat16, not float64"),
        (np.zeros((2, 2), np.float32), {}, ValueError, "a block must have one axis, not 2"),
        ([0], {"scale_rule": "floor,ceil"}, ValueError, "unknown scale_rule 'floor,ceil': did you mean 'rceil'?"),
        ([0], {"random": [1]}, ValueError, "random bits are for the rounding sr, not for rne"),
        ([0], {"rounding": "sr", "random": [256]}, ValueError, "random must be numbers of 8 bits, not 256"),
        (
            [0],
            {"rounding": "sr", "random": [0] * 33},
            ValueError,
            "random must have one number for each element, at most 32, not 33",
        ),
    ],
)
def test_what_cannot_be_explained(block, fields, kind, sentence):
    with pytest.raises(kind) as error:
        explain(block, "e4m3", **fields)
    assert str(error.value) == sentence


@pytest.mark.parametrize(
    "what, planted",
    [
        (
            "rounding_trace",
            lambda trace: lambda *arguments: replace(trace(*arguments), magnitude=trace(*arguments).magnitude ^ 1),
        ),
        ("scale_trace", lambda trace: lambda *arguments: (trace(*arguments)[0] + 1, "2 + 2 = 5")),
        (
            "quantize",
            lambda convert: lambda x, *arguments, **others: convert(x * np.float32(1.25), *arguments, **others),
        ),
    ],
)
def test_a_wrong_step_is_refused(monkeypatch, what, planted):
    """An explanation that does not lead to the bits is a defect, and none is given."""
    from importlib import import_module

    module = import_module("mxcast.explain.encode")
    monkeypatch.setattr(module, what, planted(getattr(module, what)))
    with pytest.raises(AssertionError):
        explain([0x3FF00000, 0x3F880000], "e4m3")
