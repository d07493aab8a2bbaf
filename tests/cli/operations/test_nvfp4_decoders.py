"""`mxcast explain` and `mxcast compare` of decoders of NVFP4."""

from __future__ import annotations

import json
import re
import shlex

import pytest

from mxcast.cli import main


def test_explain(capsys):
    asked = ["explain", "nvfp4", "--op", "decode", "--profile", "nvfp4_ao", "--scale", "0x38", "--codes", "2, 0xF"]
    assert main([*asked, "--tensor-scale", "0.5"]) == 0
    assert "s * g" in (said := capsys.readouterr().out) and "3F000000" in said and "C0400000" in said
    assert main([*asked, "--tensor-scale", "0x3F000000", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert [step["pattern"] for step in document["elements"]] == [0x3F000000, 0xC0400000]


def test_compare_and_its_commands(capsys):
    asked = ["compare", "nvfp4_te", "nvfp4_ao", "--format", "nvfp4", "--op", "decode"]
    assert main([*asked, "--set", "destination=fp32"]) == 0
    said = capsys.readouterr().out
    commands = re.findall(r"^  (mxcast explain .*)$", said, re.M)
    results = re.findall(r"0x[0-9A-F]{2} +0x[0-9A-F] +([0-9A-F]{8}) +([0-9A-F]{8})", said)
    assert len(commands) == 2 * len(results) > 2
    for command, bits in zip(commands, (one for pair in results for one in pair)):
        assert main(shlex.split(command)[1:]) == 0
        assert bits in capsys.readouterr().out
    assert main([*asked, "--set", "destination=fp32", "--expect-equal", "-q"]) == 1
    assert main(["compare", "nvfp4_ao", "nvfp4_ao", "--format", "nvfp4", "--op", "decode", "--expect-equal"]) == 0


@pytest.mark.parametrize(
    "arguments, sentence",
    [
        (["--scale", "1"], "--scale or --codes is missing: mxcast explain nvfp4 --op decode"),
        (["--scale", "1", "--codes", "2"], "the convention amax takes a tensor scale, and none was given"),
        (["--scale", "1", "--codes", "2", "--tensor-scale", "x"], "'x'"),
        (["--scale", "1", "--codes", "2", "--tensor-scale", "1,2"], "--tensor-scale takes one number"),
        (["--scale", "999", "--codes", "2", "--tensor-scale", "1"], "scales of e4m3 must be 0 to 255, not 999"),
    ],
)
def test_one_sentence(arguments, sentence, capsys):
    assert main(["explain", "nvfp4", "--op", "decode", *arguments]) == 2
    said = capsys.readouterr().err
    assert sentence in said and said.count("\n") == 1


def test_the_option_is_of_decoders_with_a_tensor_scale(capsys):
    for arguments in (["e4m3", "--values", "1"], ["e4m3", "--op", "decode", "--scale", "1", "--codes", "1"]):
        assert main(["explain", *arguments, "--tensor-scale", "1"]) == 2
        assert "--tensor-scale is" in capsys.readouterr().err
