"""The steps of `explain_decoder` lead to the numbers of `dequantize`."""

import json
import math
import random
from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest

from mxcast.explain import explain_decoder
from mxcast.spec import DECODE_RULES, ELEMENTS, Decode, block_format, decoding

FORMATS = [*ELEMENTS, "e4m3_ieee", "e5m10", "int16", "e5m0"]
FLOATS = {"fp32": np.float32, "bf16": ml_dtypes.bfloat16, "fp16": np.float16}


@pytest.mark.parametrize("seed", range(4))
def test_steps_of_random_rules(seed):
    """`explain_decoder` asserts that every step leads to its pattern; here the numbers in it are recomputed."""
    draw = random.Random(seed)
    for _ in range(150):
        chosen = {name: draw.choice(list(rule)) for name, rule in DECODE_RULES.items()}
        destination = draw.choice(list(FLOATS))
        rules = Decode(block=block_format(draw.choice(FORMATS)).resized(4), destination=destination, **chosen)
        codes = [draw.getrandbits(rules.block.element.bits) for _ in range(4)]
        bits = [draw.getrandbits(rules.random_bits) for _ in codes] if rules.random_bits else None
        found = explain_decoder(draw.choice([0, 1, 254, 255, draw.randrange(90, 160)]), codes, rules, random=bits)
        json.dumps(found.to_dict(), allow_nan=False)
        for step in found.elements:
            if math.isfinite(step.element) and math.isfinite(found.factor):
                assert Fraction(step.product) == Fraction(step.element) * Fraction(found.factor)
            if step.error is not None:
                assert (step.error == 0) == (step.action in ("exact", "zero")), step
            if step.action in ("down", "tie down"):
                assert abs(step.result) < abs(step.product), step
            if step.action in ("up", "tie up"):
                assert abs(step.result) > abs(step.product), step
            if step.guard is not None and step.action in ("exact", "up", "down", "tie up", "tie down"):
                assert (step.action == "exact") <= (step.guard == step.sticky == 0)


@pytest.mark.parametrize("destination", FLOATS)
def test_results_are_those_of_numpy_and_ml_dtypes(destination):
    to = FLOATS[destination]
    for byte in (0, 100, 103, 118, 127, 140, 143, 254):
        found = explain_decoder(byte, range(0, 256, 9), decoding("int8", destination=destination))
        with np.errstate(over="ignore"):
            products = np.array([step.product for step in found.elements]).astype(np.float32)
            wanted = products.astype(to).view(np.uint32 if destination == "fp32" else np.uint16)
        assert [step.pattern for step in found.elements] == wanted.tolist()


def test_one_block_by_hand():
    """FP16 has steps of 2^-24 below 2^-14. 1.5 times 2^-24 is a tie, to the even 2 steps; 1.25 lies below it."""
    why = explain_decoder(127 - 24, [0x60, 0x50, 0x40, 0x80], "int8", destination="fp16")
    assert why.meaning == "2^(103 - 127) = 2^-24" and why.factor == 2.0**-24
    shown = [(step.element, step.cut, step.guard, step.sticky, step.action, step.pattern) for step in why.elements]
    assert shown == [
        (1.5, 1, 1, 0, "tie up", 2),
        (1.25, 1, 0, 1, "down", 1),
        (1.0, 1, 0, 0, "exact", 1),
        (-2.0, 2, 0, 0, "exact", 0x8002),
    ]
    assert [step.result_kind for step in why.elements] == ["subnormal"] * 4


@pytest.mark.parametrize(
    "format, profile, byte, meaning, factor",
    [
        ("e2m1", "ocp", 255, "NaN", math.nan),
        ("e2m1", "ggml", 255, "2^(255 - 127) = 2^128", 2.0**128),
        ("e4m3", "te", 0, "FP32 exponent field 0: 0", 0.0),
        ("e4m3", "te", 255, "FP32 exponent field 255: Inf", math.inf),
        ("e4m3", "te", 127, "FP32 exponent field 127: 2^(127 - 127) = 2^0", 1.0),
        ("e5m2", "idma", 255, "2^-1, the byte in two's complement", 0.5),
    ],
)
def test_what_a_byte_means(format, profile, byte, meaning, factor):
    why = explain_decoder(byte, [1], format, profile)
    assert why.meaning == meaning and (why.factor == factor or (math.isnan(factor) and math.isnan(why.factor)))


def test_what_happens_to_an_element():
    actions = {
        ("e5m2", "ocp", 127, 0x7C): "inf",
        ("e5m2", "ocp", 127, 0x7D): "nan",
        ("e5m2", "te", 0, 0x7C): "nan",  # Inf times 0
        ("e5m2", "te", 0, 0x01): "zero",
        ("e5m2", "idma", 0x80, 0x01): "flushed",
        ("e5m2", "idma", 0x7F, 0x7B): "saturated",
        ("int8", "ocp", 254, 0x80): "overflow to Inf",
    }
    for (format, profile, byte, code), action in actions.items():
        assert explain_decoder(byte, [code], format, profile).elements[0].action == action


@pytest.mark.parametrize(
    "byte, codes, more, sentence",
    [
        (256, [0], {}, "scales of e8m0 must be 0 to 255, not 256"),
        (0, [16], {}, "codes of e2m1 must be 0 to 15, not 16"),
        (0, [0] * 33, {}, "a block has 32 elements, not 33"),
        (0, [0], {"random": [1]}, "random bits are for the rounding sr, not for rne"),
        (
            0,
            [0],
            {"random": [1, 1], "rounding": "sr"},
            "random must have one number for each element, at most 1, not 2",
        ),
        (0, [0], {"random": [256], "rounding": "sr"}, "random must be numbers of 8 bits, not 256"),
    ],
)
def test_what_is_refused(byte, codes, more, sentence):
    with pytest.raises(ValueError, match=f"^{sentence}"):
        explain_decoder(byte, codes, "e2m1", **more)
