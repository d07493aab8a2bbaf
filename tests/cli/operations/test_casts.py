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
    assert found["passed"] and found["counts"] == {"boundary": 49152 + 20 * 46 + 2 * 24, "random": 1000}
    back = json.loads(passes("verify", "e2m1", "--op", "cast", "--set", "destination=bf16", "--json"))
    assert back["passed"] and back["counts"] == {"all": 16}
    mapped = json.loads(
        passes("synth", "e2m1", "--op", "cast", "--set", "destination=fp16", "--target", "lut4", "--json")
    )
    assert mapped["whole"]["luts"] > 0 and set(mapped["stages"]) == {"number"}


def test_an_instruction_is_a_format(passes):
    name = "cvt.rz.satfinite.ue8m0x2.bf16x2"
    found = json.loads(passes("verify", name, "--op", "cast", "--json"))
    assert found["passed"] and found["counts"] == {"all": 65536} and found["numerics"]["lanes"] == 2


def test_all_formats(passes, tmp_path):
    written = json.loads(passes("emit", "all", "--op", "cast", "-o", tmp_path, "--json"))
    assert [one["numerics"]["destination"] for one in written] == list(SCALARS)
    written = json.loads(passes("emit", "all", "--op", "cast", "--profile", "riscv", "-o", tmp_path, "--json"))
    assert [one["numerics"]["destination"] for one in written] == ["e5m2", "e4m3"]


@pytest.mark.slow
def test_the_regression(passes, tmp_path):
    found = json.loads(passes("test", "e3m2", "--op", "cast", "--set", "registered_after=shifted", "--json"))
    assert found["passed"] and found["comparisons"] > 6000


def test_a_cast_that_differs_fails(monkeypatch, passes, capsys):
    from mxcast.cli import main
    from mxcast.hdl.cast import number as number_cast
    from mxcast.spec import CastRounding

    monkeypatch.setitem(number_cast.ROUNDINGS, CastRounding.RNE, lambda last, below, sticky, random: below)
    assert main(["verify", "e4m3", "--op", "cast", "--set", "source=bf16"]) == 1
    said = capsys.readouterr().out
    assert "FAILED\n" in said and "mxcast verify e4m3 --op cast --profile ocp --set source=bf16 " in said
    command = said.partition("to explain: mxcast ")[2].partition("\n")[0].split()
    assert command[:8] == "explain e4m3 --op cast --profile ocp --set source=bf16".split()
    expected = int(said.partition(", expected 0x")[2][:2], 16)
    assert [step["code"] for step in json.loads(passes(*command, "--json"))["numbers"]] == [expected]


def test_compare(passes):
    text = passes("compare", "ocp", "ml_dtypes", "--op", "cast", "--format", "e4m3")
    assert text.startswith(
        "e4m3: ocp (A) and ml_dtypes (B) differ on 2,008,023,039 of 4,294,967,296 patterns of fp32, to e4m3\n"
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
    assert [one["equal"] for one in every] == [True] * 5 + [False, True]
    assert [one["a"]["destination"] for one in every] == ["e5m2", "e4m3", "e3m2", "e2m3", "e2m1", "e8m0", "ue5m3"]


def test_the_commands_of_a_comparison_show_its_results(passes):
    for fields in ("source=bf16", "destination=fp16"):
        asked = ("compare", "ocp", "ml_dtypes", "--op", "cast", "--format", "e8m0", "--set", fields)
        commands = [line.split() for line in passes(*asked).splitlines() if line.startswith("  mxcast explain")]
        firsts = [one["first"] for one in json.loads(passes(*asked, "--json"))["causes"].values()]
        shown = [json.loads(passes(*command[1:], "--json"))["numbers"][0] for command in commands]
        assert [step["code"] for step in shown] == [one[side] for one in firsts for side in "ab"]
        assert [step["pattern"] for step in shown[::2]] == [one["pattern"] for one in firsts]


def test_explain(passes):
    asked = ("explain", "e4m3", "--op", "cast", "--values", "1.5625, 0xC3E90000, nan*2 0.1")
    text = passes(*asked)
    assert text.startswith("fp32_to_e4m3 under ocp: rounding=rne overflow=saturate nan=all_ones\n")
    assert (
        "0x3C = 1.5 " in text
        and "0x3D = 1.625 " in text
        and "tie down" in text
        and "rounded to fp32: 0.1 to 0x3DCCCCCD" in text
    )
    found = json.loads(passes(*asked, "--json"))
    assert [step["code"] for step in found["numbers"]] == [0x3C, 0xFE, 0x7F, 0x7F, 0x1D]
    back = ("explain", "ue8m0", "--op", "cast", "--set", "destination=fp16", "--codes", "127, 0x90, 103")
    assert [step["code"] for step in json.loads(passes(*back, "--json"))["numbers"]] == [0x3C00, 0x7C00, 1]
    random = ("explain", "e2m1", "--op", "cast", "--set", "rounding=sr", "--values", "1.25", "--random", "0x80")
    assert "0x80 + 0x80" in passes(*random) and "sign dropped" in passes(
        "explain", "cvt.rp.satfinite.ue8m0x2.f32", "--op", "cast", "--values", "-3"
    )


def test_the_lists(passes):
    assert [row["name"] for row in json.loads(passes("list", "casts", "--json"))["casts"]] == list(CASTS)
    assert len(json.loads(passes("list", "instructions", "--json"))["instructions"]) == len(INSTRUCTIONS)
    for section in ("cast-rules", "decoder-rules"):
        keys = {row["key"] for row in json.loads(passes("list", section, "--json"))[section]}
        assert keys >= {"optimize", "registered_after", "latency", "frequency_mhz", "random_bits"}


@pytest.mark.parametrize(
    "arguments, sentence",
    [
        (["emit", "e4m4", "--op", "cast"], "unknown format 'e4m4': known are e5m2, e4m3"),
        (["emit", "e4m3", "--op", "cast", "--profile", "nvidia"], "unknown profile 'nvidia'"),
        (["emit", "e4m3", "--op", "cast", "--set", "scale_rule=ceil"], "unknown field 'scale_rule'"),
        (["emit", "torch", "--op", "cast"], "'torch' is a profile: mxcast emit e4m3 --op cast --profile torch"),
        (["emit", "e2m1", "--op", "cast", "--set", "overflow=inf"], "e2m1 has neither Inf nor NaN"),
        (["emit", "e2m1", "--op", "cast", "--profile", "torch"], "torch has no cast to e2m1"),
        (["emit", "cvt.rp.satfinite.ue8m0x2.f32"], "cvt.rp.satfinite.ue8m0x2.f32 needs --op cast: mxcast emit cvt"),
        (["emit", "UE8M0"], "UE8M0 needs --op cast: mxcast emit UE8M0 --op cast"),
        (["emit", "e4m3,e5m2", "--op", "cast"], "only encoders have modes: give --op cast one format, not e4m3,e5m2"),
        (
            ["emit", "e4m3", "--op", "cast", "--set", "rounding=rs", "--set", "random_bits=0"],
            "random_bits must be 1 to 16, not 0",
        ),
        (["emit", "cvt.rp.e4m3x2.f32", "--op", "cast"], "unknown instruction 'cvt.rp.e4m3x2.f32'"),
        (["emit", "cvt.rp.ue8m0x2.f32", "--op", "cast", "--profile", "ocp"], "an instruction has the profile ptx"),
        (
            ["compare", "ocp", "torch", "--op", "cast", "--format", "e3m2"],
            "torch has no cast to e3m2: it has e4m3, e5m2",
        ),
        (
            ["compare", "riscv:source=fp64", "torch", "--op", "cast", "--set", "destination=fp16"],
            "a cast has one format",
        ),
        (["emit", "e4m3fnuz"], "e4m3fnuz needs --op cast: mxcast emit e4m3fnuz --op cast"),
        (["compare", "ocp", "te", "--format", "ue5m3"], "ue5m3 is a format of single numbers, which casts convert to"),
        (["compare", "ocp", "nvidia", "--op", "cast"], "unknown profile 'nvidia'"),
        (["compare", "ocp", "ptx", "--op", "cast", "--format", "int8"], "unknown format 'int8'"),
        (["compare", "ocp", "ptx:rounding=sr", "--op", "cast"], "stochastic rounding (sr) cannot be compared"),
        (["explain", "e4m3", "--op", "cast"], "a cast from fp32 to e4m3 takes numbers: give --values alone"),
        (["explain", "e4m3", "--op", "cast", "--codes", "1"], "a cast from fp32 to e4m3 takes numbers: give --values"),
        (
            ["explain", "e4m3", "--op", "cast", "--set", "destination=bf16", "--values", "1"],
            "a cast from e4m3 to bf16 takes codes: give --codes alone",
        ),
        (["explain", "e4m3", "--op", "cast", "--values", "1", "--scale", "1"], "--scale is not for --op cast"),
        (["explain", "e4m3", "--op", "cast", "--values", "1*1025"], "--values takes at most 1024 numbers"),
        (["explain", "e4m3", "--op", "cast", "--values", "1", "--random", "1"], "random bits are for the rounding sr"),
        (
            ["explain", "e2m1", "--op", "cast", "--set", "destination=fp32", "--codes", "16"],
            "patterns of e2m1 must be 0 to 15, not 16",
        ),
        (["verify", "e4m3", "--op", "cast", "--stimuli", "corner"], "stimuli must be one of standard, all, boundary"),
        (["verify", "e4m3", "--op", "cast", "--exhaustive"], "--exhaustive, --tensors and --pad are for encoders"),
    ],
)
def test_what_is_refused(fails, arguments, sentence):
    assert fails(2, *arguments).startswith(sentence)
