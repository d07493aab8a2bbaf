"""The steps of an NVFP4 block: the example of the specification, and edge cases of every order."""

from __future__ import annotations

import numpy as np
import pytest

from mxcast.explain import explain_nvfp4
from mxcast.spec import NVFP4_ENCODERS, nvfp4_encoding

from ..models.fast.test_nvfp4_encode import WORKED
from ..models.nvfp4_blocks import edges, random_blocks, ties

PATTERNS = WORKED.view(np.uint32).tolist()


def test_the_worked_example():
    """nvfp4.md, D.6."""
    why = explain_nvfp4(PATTERNS, "nvfp4", tensor_amax=10)
    steps = {step.name: step.pattern for step in (*why.tensor, *why.block)}
    assert {name: hex(steps[name]) for name in ("S", "k", "d", "b", "t", "s * d", "f")} == {
        "S": "0x43866666",
        "k": "0x42333333",
        "d": "0x3b73cf3e",
        "b": "0x40533333",
        "t": "0x4313d70a",
        "s * d": "0x3f092493",
        "f": "0x3feeeeee",
    }
    y = [0.18667, -0.46667, 0.93333, -1.4, 1.8667, -2.3333, 2.8, -3.7333, 4.6667, -5.6, 6.16, 0, -0.0, 0.112, -0.037333]
    assert np.allclose([step.y for step in why.elements[:15]], y, rtol=5e-5) and why.scale == 0x71
    assert [step.action for step in why.elements[9:13]] == ["up", "saturated", "zero", "zero"]
    assert why.profile == "nvfp4_te" and why.classes == {"normal": 14, "subnormal": 0, "zero": 2, "inf": 0, "nan": 0}


@pytest.mark.parametrize("profile", NVFP4_ENCODERS)
def test_every_order_is_explained(profile):
    """An explanation whose steps do not lead to the bits is an error."""
    for a in (None, 0.0, 2688.0):
        for block in np.concatenate([edges(), ties(), random_blocks(2, 14)]):
            why = explain_nvfp4(block.view(np.uint32).tolist(), "nvfp4", profile, tensor_amax=a)
            assert why.to_dict()["scale"] == why.scale and len(why.elements) == 16


def test_constants_with_four_over_six():
    """The largest magnitude is one of them."""
    by_amax = explain_nvfp4(PATTERNS, "nvfp4", "nvfp4_te_4over6", tensor_amax=10)
    k, d = (next(step.pattern for step in by_amax.tensor if step.name == name) for name in "kd")
    why = explain_nvfp4(PATTERNS, "nvfp4", "nvfp4_te_4over6", constants=(k, d, 0x41200000))
    assert why.scale == by_amax.scale and [e.code for e in why.elements] == [e.code for e in by_amax.elements]


@pytest.mark.parametrize("order", ["te", "paper", "ao", "modelopt", "compressed_tensors"])
def test_constants_in_place_of_a_largest_magnitude(order):
    """The same block; a decoder that needs the largest magnitude is not shown."""
    by_amax = explain_nvfp4(PATTERNS, "nvfp4", order=order, tensor_amax=10)
    k, d = (next(step.pattern for step in by_amax.tensor if step.name == name) for name in "kd")
    why = explain_nvfp4(PATTERNS, "nvfp4", order=order, constants=(k, d))
    assert why.block == by_amax.block and [(step.name, step.formula) for step in why.tensor] == [
        ("k", "given"),
        ("d", "given"),
    ]
    assert [step.code for step in why.elements] == [step.code for step in by_amax.elements]
    assert (why.to_dict()["elements"][0]["decoded"] is None) == (order in ("te", "paper"))


def test_four_over_six():
    why = explain_nvfp4([0x40C00000], "nvfp4", "nvfp4_te_4over6", tensor_amax=2688)  # a tie: both are exact
    assert [(one.largest_becomes, one.scale, one.error) for one in why.candidates] == [(6, 0x38, 0), (4, 0x3C, 0)]
    assert why.scale == 0x38
    why = explain_nvfp4([0x40C00000, 0x40400000, 0x40900000], "nvfp4", "nvfp4_te_4over6", tensor_amax=2688)
    assert why.scale == 0x3C and why.candidates[1].error == 0  # 6, 3 and 4.5 are 4, 2 and 3 times 1.5


def test_random_bits():
    rules = nvfp4_encoding("nvfp4", rounding="sr", source="bf16")
    why = explain_nvfp4([0x40C0, 0x3E80], rules, tensor_amax=2688, random=[0, 128])
    assert [(step.random, step.code) for step in why.elements[:2]] == [(0, 7), (128, 1)]


@pytest.mark.parametrize(
    "arguments, sentence",
    [
        ({"block": [0] * 17}, "a block has 16 elements, not 17"),
        ({"block": [1 << 32]}, "patterns of fp32 must be 0 to 4294967295, not 4294967296"),
        ({"tensor_amax": -1}, "tensor_amax must be a magnitude, not -1.0"),
        ({"random": [1]}, "random bits are for the rounding sr, not for rne"),
        ({"constants": (1, 1), "tensor_amax": 1}, "constants follow from tensor_amax: give one of them"),
        (
            {"constants": (1, 1 << 31)},
            "constants must be patterns of binary32 without a sign, of k and d, not (1, 2147483648)",
        ),
        ({"constants": (1, 1), "order": "ao_single"}, "the order ao_single has no constants of a tensor"),
        (
            {"constants": (1, 1), "order": "paper", "four_over_six": "mae"},
            "constants must be patterns of binary32 without a sign, of k, d and a, not (1, 1)",
        ),
        ({"rounding": "sr", "random": [256]}, "random must be numbers of 8 bits, not 256"),
        ({"rounding": "sr", "random": [1] * 17}, "random must have one number for each element, at most 16, not 17"),
    ],
)
def test_what_is_refused(arguments, sentence):
    with pytest.raises(ValueError) as refused:
        explain_nvfp4(**{"block": [0], "format": "nvfp4"} | arguments)
    assert str(refused.value) == sentence
