"""`mxcast compare`: its output, its cache, and the commands that it prints."""

import importlib
import json
import shlex

import pytest

from mxcast.cli import main
from mxcast.compare import compare
from mxcast.spec import BLOCKS, numerics

BF16 = ("--set", "source=bf16")


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("MXCAST_CACHE", str(tmp_path / "cache"))


def test_equal_profiles(passes):
    out = passes("compare", "ocp", "microxcaling", "--format", "e2m1", *BF16)
    assert out.startswith("e2m1: equal on all 32,640 largest magnitudes, ") and "numbers of bf16" in out
    assert "explain" not in out


def test_different_profiles_with_the_commands_that_show_why(passes):
    """Each command, run, shows the byte of its side and the codes that the table has."""
    out = passes("compare", "samson", "gorodecky_sousa:element_subnormals=exact", "--format", "e3m2")
    assert out.startswith(
        "e3m2: samson (A) and gorodecky_sousa:element_subnormals=exact (B) differ; the comparison covers 32,640 "
    )
    result = json.loads(
        passes("compare", "samson", "gorodecky_sousa:element_subnormals=exact", "--format", "e3m2", "--json")
    )
    commands = [line.strip() for line in out.splitlines() if line.strip().startswith("mxcast explain")]
    findings = [result[part] for part in ("scale", "elements", "specials") if result[part]["differing"]]
    assert len(commands) == 2 * len(findings) >= 4
    outcomes = [finding["first"][side] for finding in findings for side in "ab"]
    for command, outcome in zip(commands, outcomes):
        shown = json.loads(passes(*shlex.split(command)[1:], "--json"))
        assert shown["input"]["values"] == outcome["values"]
        assert shown["scale"]["byte"] == outcome["byte"] and f"{outcome['byte']}: {outcome['codes'][0]:02X}" in out
        assert [element["code"] for element in shown["elements"][: len(outcome["codes"])]] == outcome["codes"]


def test_json_is_the_certificate(passes):
    result = json.loads(passes("compare", "ocp", "te", "--format", "mxfp8_e4m3", "--json", *BF16))
    rules = [numerics("e4m3", profile, source="bf16") for profile in ("ocp", "te")]
    assert result == json.loads(json.dumps(compare(*rules).to_dict()))


@pytest.mark.slow
def test_all_formats_are_a_list(passes):
    results = json.loads(
        passes("compare", "ocp", "ocp:specials=te", "--json", "--set", "source=bf16", "--set", "block_size=4")
    )
    assert [result["a"]["block"] for result in results] == list(BLOCKS)
    assert all(result["b"]["specials"] == "te" and result["b"]["block_size"] == 4 for result in results)
    assert all(result["scale"]["differing"] == 0 < result["specials"]["differing"] for result in results)


def test_any_format_by_name(passes):
    out = passes("compare", "ocp:source=fp16", "ocp", "--format", "e3m3")
    assert out.startswith("e3m3: equal on all 31,744 largest magnitudes")


@pytest.mark.parametrize("sides, code", [(("ocp", "microxcaling"), 0), (("ocp", "nvidia"), 1)])
def test_expect_equal(sides, code, capsys):
    assert main(["compare", *sides, "--format", "e2m1", *BF16, "--expect-equal", "-q"]) == code
    assert capsys.readouterr() == ("", "")
    assert main(["compare", *sides, "--format", "e2m1", *BF16, "-q"]) == 0


def test_results_are_kept_until_forced(passes, monkeypatch):
    command = ("compare", "ocp", "te", "--format", "e2m1", *BF16)
    first = passes(*command)
    calls = []

    def counted(a, b, progress):
        calls.append((a, b))
        return compare(a, b, progress)

    monkeypatch.setattr(importlib.import_module("mxcast.compare"), "compare", counted)
    assert passes(*command) == first and not calls
    assert passes(*command, "--force") == first and len(calls) == 1
    passes(*command[:-1], "source=fp16")
    assert len(calls) == 2


@pytest.mark.parametrize(
    "arguments, sentence",
    [
        (("ocp", "nvidai"), "unknown profile 'nvidai': did you mean 'nvidia'?"),
        (("ocp", "ocp:"), "rules are PROFILE or PROFILE:KEY=VALUE,KEY=VALUE, not 'ocp:'"),
        (("ocp:ceil", "ocp"), "rules are PROFILE or PROFILE:KEY=VALUE,KEY=VALUE, not 'ocp:ceil'"),
        (("ocp:scale_rul=ceil", "ocp"), "unknown field 'scale_rul': did you mean 'scale_rule'?"),
        (("ocp:scale_rule=ceeil", "ocp"), "unknown scale_rule 'ceeil': did you mean 'ceil'?"),
        (("ocp", "te", "--format", "e4m4m"), "unknown format 'e4m4m': did you mean 'e4m3'?"),
        (
            ("ocp:rounding=sr", "ocp"),
            "stochastic rounding (sr) cannot be compared, because its results depend on random bits: choose another "
            "rounding",
        ),
        (
            ("ocp:block_size=16", "ocp", "--format", "e4m3"),
            "both sides must have the same block format, not mxfp8_e4m3 x 16 and mxfp8_e4m3 x 32",
        ),
    ],
)
def test_mistakes(fails, arguments, sentence):
    assert fails(2, "compare", *arguments) == sentence
