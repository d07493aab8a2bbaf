"""`--op cast` of `emit`, `verify`, `test` and `synth`, and the lists of casts."""

import json

import pytest

from mxcast.spec import CASTS, INSTRUCTIONS, SCALARS


def test_emit_verify_and_synth(passes, tmp_path):
    written = json.loads(passes("emit", "ue8m0", "--op", "cast", "--set", "rounding=rp", "-o", tmp_path, "--json"))
    assert written["name"].startswith("fp32_to_e8m0_cast_") and written["numerics"]["rounding"] == "rp"
    text = (tmp_path / written["name"] / "rtl" / f"{written['name']}.v").read_text()
    assert "input  x[31:0]  1 fp32 numbers of 32 bits" in text and "output p[7:0]  1 e8m0 codes of 8 bits" in text
    found = json.loads(passes("verify", "e4m3", "--op", "cast", "--blocks", 1000, "--json"))
    assert found["passed"] and found["counts"] == {"boundary": 49152, "random": 1000}
    back = json.loads(passes("verify", "e2m1", "--op", "cast", "--set", "destination=bf16", "--json"))
    assert back["passed"] and back["counts"] == {"all": 16}
    mapped = json.loads(passes("synth", "e2m1", "--op", "cast", "--set", "destination=fp16", "--json"))
    assert mapped["whole"]["luts"] > 0 and set(mapped["stages"]) == {"number"}


def test_an_instruction_is_a_format(passes):
    name = "cvt.rz.satfinite.ue8m0x2.bf16x2"
    found = json.loads(passes("verify", name, "--op", "cast", "--json"))
    assert found["passed"] and found["counts"] == {"all": 65536} and found["numerics"]["lanes"] == 2


def test_all_formats(passes, tmp_path):
    written = json.loads(passes("emit", "all", "--op", "cast", "-o", tmp_path, "--json"))
    assert [one["numerics"]["destination"] for one in written] == list(SCALARS)


def test_the_regression(passes, tmp_path):
    found = json.loads(passes("test", "e3m2", "--op", "cast", "--set", "registered_after=shifted", "--json"))
    assert found["passed"] and found["comparisons"] > 6000


def test_a_cast_that_differs_fails(monkeypatch, capsys):
    from mxcast.cli import main
    from mxcast.hdl import number_cast
    from mxcast.spec import CastRounding

    monkeypatch.setitem(number_cast.ROUNDINGS, CastRounding.RNE, lambda last, below, sticky, random: below)
    assert main(["verify", "e4m3", "--op", "cast", "--set", "source=bf16"]) == 1
    said = capsys.readouterr().out
    assert "FAILED\n" in said and "mxcast verify e4m3 --op cast --profile ocp --set source=bf16 " in said


def test_compare(passes):
    text = passes("compare", "ocp", "ml_dtypes", "--op", "cast", "--format", "e4m3")
    assert text.startswith(
        "e4m3: A, ocp, and B, ml_dtypes, differ on 2,008,023,039 of 4,294,967,296 patterns of fp32, to e4m3\n"
    )
    back = passes("compare", "ocp", "torch", "--op", "cast", "--format", "e8m0", "--set", "destination=bf16")
    assert back == "e8m0: equal on all 256 codes of e8m0, to bf16\n"
    asked = ("compare", "ocp", "ocp:rounding=rtz", "--op", "cast", "--format", "e2m1", "--set", "source=fp16", "--json")
    found = json.loads(passes(*asked))
    assert {cause: one["first"]["pattern"] for cause, one in found["causes"].items()} == {
        "underflow": 0x3401,
        "tie": 0x3A00,
        "value": 0x3A01,
    }
    every = json.loads(passes("compare", "ocp", "ptx", "--op", "cast", "--json"))
    assert [one["equal"] for one in every] == [True] * 5 + [False]


def test_the_lists(passes):
    assert [row["name"] for row in json.loads(passes("list", "casts", "--json"))["casts"]] == list(CASTS)
    assert len(json.loads(passes("list", "instructions", "--json"))["instructions"]) == len(INSTRUCTIONS)
    assert "underflow" in passes("list", "cast-rules")


@pytest.mark.parametrize(
    "arguments, sentence",
    [
        (["emit", "e4m4", "--op", "cast"], "unknown format 'e4m4': did you mean 'e4m3'?"),
        (["emit", "e4m3", "--op", "cast", "--profile", "nvidia"], "unknown profile 'nvidia'"),
        (["emit", "e4m3", "--op", "cast", "--set", "scale_rule=ceil"], "unknown field 'scale_rule'"),
        (["emit", "torch", "--op", "cast"], "'torch' is a profile: mxcast emit e4m3 --op cast --profile torch"),
        (["emit", "e2m1", "--op", "cast", "--set", "overflow=inf"], "e2m1 has neither Inf nor NaN"),
        (["emit", "e2m1", "--op", "cast", "--profile", "torch"], "torch has no cast to e2m1"),
        (["emit", "cvt.rp.e4m3x2.f32", "--op", "cast"], "unknown instruction 'cvt.rp.e4m3x2.f32'"),
        (
            ["emit", "cvt.rp.ue8m0x2.f32", "--op", "cast", "--profile", "ocp"],
            "an instruction is one of the profile ptx",
        ),
        (["compare", "ocp", "torch", "--op", "cast"], "torch has no cast to e3m2: it has e4m3, e5m2, e8m0"),
        (["compare", "ocp", "nvidia", "--op", "cast"], "unknown profile 'nvidia'"),
        (["compare", "ocp", "ptx", "--op", "cast", "--format", "int8"], "unknown format 'int8'"),
        (["compare", "ocp", "ptx:rounding=sr", "--op", "cast"], "stochastic rounding (sr) cannot be compared"),
        (["verify", "e4m3", "--op", "cast", "--stimuli", "corner"], "stimuli must be one of standard, all, boundary"),
        (["verify", "e4m3", "--op", "cast", "--exhaustive"], "--exhaustive, --tensors and --pad are of encoders"),
    ],
)
def test_what_is_refused(fails, arguments, sentence):
    assert fails(2, *arguments).startswith(sentence)
