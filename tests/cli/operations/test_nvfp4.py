"""NVFP4 in `explain`, `compare` and `list`."""

import json

import pytest

from mxcast.sim.nvfp4.encode import Nvfp4EncodeSimulation
from mxcast.spec import NVFP4_DECODERS, NVFP4_ENCODERS, Role, nvfp4_encoding


def test_explain(passes):
    asked = ["explain", "nvfp4", "--profile", "nvfp4_te", "--amax", "10", "--values", "0.1, -0.25, 3.3, nan"]
    text = passes(*asked)
    assert text.startswith("nvfp4 under nvfp4_te: block_size=16 source=fp32 order=te rounding=rne\n")
    assert "tensor  k      S * (1/6)              0x42333333  44.7999992" in text and "byte 113 = 0x71" in text
    found = json.loads(passes(*asked, "--json"))
    assert [step["code"] for step in found["elements"][:4]] == [0, 9, 7, 7] and found["input"]["amax"] == 10
    both = passes("explain", "nvfp4", "--profile", "nvfp4_te_4over6", "--amax", "2688", "--values", "6")
    assert "to 6     scale 0x38, error (mae) 0 *\nto 4     scale 0x3C, error (mae) 0\n" in both
    pattern = ["explain", "nvfp4", "--amax", "0x3F955555", "--values", "0x3F1AAAAB", "--json"]
    number = ["explain", "nvfp4", "--amax", "1.16666662693023681640625", "--values", "0x3F1AAAAB", "--json"]
    assert json.loads(passes(*pattern)) == json.loads(passes(*number))
    assert json.loads(passes("explain", "nvfp4", "--amax", "inf", "--values", "1", "--json"))["input"]["amax"] is None
    random = passes("explain", "nvfp4", "--set", "rounding=sr", "--values", "6 1.2", "--random", "0 0xFF", "--all")
    assert "0xFF" in random and "not shown" not in random


@pytest.mark.parametrize("profile", ["nvfp4_te", "nvfp4_ao", "nvfp4_ao_single"])
def test_a_difference_comes_with_the_command_that_explains_it(profile, passes):
    rules = nvfp4_encoding("nvfp4", profile, source="bf16")
    simulation = Nvfp4EncodeSimulation(rules)
    given = simulation.random(1, 4)
    expected = simulation.golden(given)
    actual = expected.with_arrays({Role.CODES: expected[Role.CODES] ^ 1})
    report = simulation.described("random block 0", given, expected, actual)
    command = report.partition("to explain: mxcast ")[2].split()
    found = json.loads(passes(*command, "--json"))
    assert found["scale"] == expected[Role.SCALE][0, 0] and len(found["block"]) >= 4
    assert [step["code"] for step in found["elements"]] == expected[Role.CODES][0].tolist()


def test_compare(passes, monkeypatch):
    monkeypatch.setattr("mxcast.compare.nvfp4_encode.BINADES", 1)
    monkeypatch.setattr("mxcast.compare.nvfp4_encode.ELEMENT_BINADES", 1)
    monkeypatch.setattr("mxcast.compare.nvfp4_encode.SAMPLES", 100)
    text = passes("compare", "nvfp4_te", "nvfp4_paper", "--format", "nvfp4")
    assert text.startswith(
        "nvfp4: nvfp4_te (A) and nvfp4_paper (B) differ; the comparison covers 8,256 pairs of BF16 numbers"
    )
    commands = [line.split() for line in text.splitlines() if line.startswith("  mxcast explain")]
    scales = [json.loads(passes(*command[1:], "--json"))["scale"] for command in commands]
    assert len(scales) == 2 and scales[0] != scales[1]
    found = json.loads(passes("compare", "nvfp4_te", "nvfp4_paper", "--json"))  # the profiles say the format
    assert found["findings"]["scales"]["differing"] > 0 and not found["equal"]
    equal = passes("compare", "nvfp4_ao", "nvfp4_ao:scale_max=448", "--expect-equal")
    assert equal.startswith("nvfp4: equal on all 8,256 pairs")


def test_list(passes):
    rows = json.loads(passes("list", "two-level", "--json"))["two-level"]
    assert [(row["of"], row["name"]) for row in rows] == [
        *(("encode", name) for name in NVFP4_ENCODERS),
        *(("decode", name) for name in NVFP4_DECODERS),
    ]
    rules = {
        (row["key"], row["value"]) for row in json.loads(passes("list", "two-level-rules", "--json"))["two-level-rules"]
    }
    assert {("order", "te"), ("four_over_six", "mse"), ("convention", "amax"), ("scale_max", "448 or 256")} <= rules


@pytest.mark.parametrize(
    "arguments, sentence",
    [
        (["explain", "nvfp4"], "values are missing: mxcast explain nvfp4"),
        (["explain", "nvfp4", "--amax", "0x41", "--values", "1"], "--amax takes one number, such as 10 or 0x41200000"),
        (["explain", "e4m3", "--amax", "1", "--values", "1"], "--amax is for formats with a scale of the tensor"),
        (["explain", "nvfp4", "--set", "scale_rule=ceil", "--values", "1"], "unknown field 'scale_rule'"),
        (["explain", "nvfp4", "--profile", "ocp", "--values", "1"], "unknown profile 'ocp': known are nvfp4_te"),
        (
            ["explain", "e4m3", "--values", "1", "--set", "latency=3"],
            "latency is a choice of the hardware: mxcast explain",
        ),
        (["compare", "nvfp4_te", "ocp", "--format", "nvfp4"], "unknown profile 'ocp'"),
        (["verify", "nvfp4", "--exhaustive"], "--exhaustive is not for nvfp4: leave it out"),
        (
            ["explain", "nvfp4", "--constants", "1", "--values", "1"],
            "--constants takes two patterns, k and d, or with four_over_six also a, not '1'",
        ),
        (["explain", "e4m3", "--constants", "1,1", "--values", "1"], "--constants is for formats with a scale"),
        (["prove", "nvfp4", "--monolithic"], "nvfp4 is proved in parts only"),
        (["quantize", "in.npy", "out.npz", "--format", "nvfp4,e4m3"], "quantize does not take nvfp4,e4m3 yet"),
        (["emit", "e4m3", "--profile", "nvfp4_ao_single"], "unknown profile 'nvfp4_ao_single': known are ocp, nvidia"),
    ],
)
def test_one_sentence(arguments, sentence, fails):
    assert fails(2, *arguments).startswith(sentence)
