"""`--op decode` of `emit`, `verify`, `synth`, `compare` and `explain`."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest


def test_emit_verify_and_synth(passes, tmp_path):
    written = json.loads(passes("emit", "e2m1", "--op", "decode", "--profile", "gpt_oss", "-o", tmp_path, "--json"))
    assert written["name"] == "mxfp4_e2m1_decode_gpt_oss" and written["numerics"]["destination"] == "bf16"
    text = (tmp_path / written["name"] / "rtl" / f"{written['name']}.v").read_text()
    assert "output y[511:0]  32 bf16 numbers, element 0 in the low bits" in text
    found = json.loads(passes("verify", "e2m1", "--op", "decode", "--blocks", 1000, "--json"))
    assert found["passed"] and found["counts"] == {"pairs": 4096, "random": 1000}
    mapped = json.loads(
        passes("synth", "e2m1", "--op", "decode", "--set", "block_size=2", "--target", "lut4", "--json")
    )
    assert mapped["whole"]["luts"] > 0 and set(mapped["stages"]) == {"factor", "element decoder"}


def test_nvfp4_of_scales(passes, tmp_path):
    asked = ["nvfp4", "--op", "decode", "--profile", "nvfp4_ao", "--set", "destination=bf16"]
    written = json.loads(passes("emit", *asked, "-o", tmp_path, "--json"))
    assert written["name"].startswith("nvfp4_decode_") and written["numerics"]["operation"] == "two_level_decode"
    found = json.loads(passes("verify", *asked, "--blocks", 1000, "--json"))
    assert found["passed"] and set(found["counts"]) == {"pairs", "ties", "bits", "random"}


def test_compare(passes):
    text = passes("compare", "ocp", "te", "--op", "decode", "--format", "e2m1")
    assert text.startswith("e2m1: ocp (A) and te (B) differ on 30 of 4,096 pairs of a scale byte and a code, to fp32\n")
    commands = [line.split() for line in text.splitlines() if line.startswith("  mxcast explain")]
    shown = [json.loads(passes(*command[1:], "--json"))["elements"][0]["pattern"] for command in commands[-2:]]
    assert shown == [0x00200000, 0]
    found = json.loads(passes("compare", "ocp", "ggml", "--op", "decode", "--format", "e2m1", "--json"))
    assert {cause: one["differing"] for cause, one in found["causes"].items()} == {"nan": 16, "zero_sign": 255}
    equal = passes("compare", "ocp", "ocp:zero=positive", "--op", "decode", "--format", "int8", "--expect-equal")
    assert equal == "int8: equal on all 65,536 pairs of a scale byte and a code, to fp32\n"
    assert len(json.loads(passes("compare", "ocp", "te", "--op", "decode", "--json"))) == 6


def test_explain(passes):
    asked = ["explain", "e5m2", "--op", "decode", "--profile", "idma", "--scale", "0x7F", "--codes", "0x7B, 1*2 125"]
    text = passes(*asked)
    assert "mxfp8_e5m2 under idma: destination=fp32 scale_reading=signed" in text
    assert "byte 127 = 0x7F: 2^127, the byte in two's complement" in text and "saturated" in text
    found = json.loads(passes(*asked, "--json"))
    assert [step["pattern"] for step in found["elements"]] == [0x7F7FFFFF, 0x77000000, 0x77000000, 0x7FC00000]
    random = passes(*asked, "--set", "rounding=sr", "--set", "destination=bf16", "--random", "0xFF")
    assert "tail + random" in random


def test_a_decoder_that_differs_fails(monkeypatch, passes, capsys):
    """The report has a command that shows what each element should be."""
    from mxcast.cli import main
    from mxcast.hdl.decode import element as element_decoder
    from mxcast.spec import ScaleReading

    monkeypatch.setitem(element_decoder.FLAGS, ScaleReading.E8M0, {})
    assert main(["verify", "e2m1", "--op", "decode", "--blocks", "10", "--stimuli", "pairs"]) == 1
    said = capsys.readouterr().out
    assert "FAILED\n" in said
    command = said.partition("to explain: mxcast ")[2].partition("\n")[0].split()
    assert command[:8] == "explain mxfp4_e2m1 --op decode --profile ocp --scale 0xFF".split()
    assert {step["pattern"] for step in json.loads(passes(*command, "--json"))["elements"]} == {0x7FC00000}


@pytest.mark.parametrize(
    "arguments, sentence",
    [
        (["emit", "e4m3", "--op", "decod"], "unknown operation 'decod': did you mean 'decode'?"),
        (
            ["emit", "e4m3", "--op", "decode", "--profile", "nvidia"],
            "unknown profile 'nvidia': known are ocp, torchao, te, te_e8m0, gpt_oss, ggml, idma; nvidia is of encode",
        ),
        (["emit", "e4m3", "--op", "decode", "--set", "scale_rule=ceil"], "unknown field 'scale_rule'"),
        (["emit", "idma", "--op", "decode"], "'idma' is a profile: mxcast emit e4m3 --op decode --profile idma"),
        (["emit", "nvfp4", "--op", "cast"], "emit --op cast does not take nvfp4 yet"),
        (["verify", "e4m3", "--op", "decode", "--stimuli", "corner"], "stimuli must be one of standard, pairs, random"),
        (["verify", "e4m3", "--op", "decode", "--exhaustive"], "--exhaustive, --tensors and --pad are for encoders"),
        (["prove", "e4m3", "--op", "decode", "--set", "scale_rule=ceil"], "unknown field 'scale_rule'"),
        (["explain", "e4m3", "--op", "decode", "--scale", "1"], "--scale or --codes is missing: mxcast explain e4m3"),
        (["explain", "e4m3", "--op", "decode", "--values", "1"], "--values is not for --op decode"),
        (["explain", "e4m3", "--scale", "1", "--values", "1"], "--scale is not for --op encode"),
        (["explain", "e4m3", "--op", "decode", "--scale", "x", "--codes", "1"], "--scale takes whole numbers, not 'x'"),
        (["explain", "e4m3", "--op", "decode", "--scale", "1", "--codes", "1*0"], "--codes repeats a code 1 to 1024"),
        (["explain", "e4m3", "--op", "decode", "--scale", "1", "--codes", "-1"], "codes of e4m3 must be 0 to 255"),
        (["compare", "ocp", "gpt_oss", "--op", "decode"], "both sides must have the same destination, not fp32 and"),
        (["compare", "ocp", "nvidia", "--op", "decode"], "unknown profile 'nvidia'"),
        (["compare", "ocp", "te", "--op", "decod"], "unknown operation 'decod': did you mean 'decode'?"),
        (
            ["emit", "e4m3,e5m2", "--op", "decode"],
            "only encoders have modes: give --op decode one format, not e4m3,e5m2",
        ),
    ],
)
def test_what_is_refused(fails, arguments, sentence):
    assert fails(2, *arguments).startswith(sentence)


def test_a_pair(tmp_path, passes):
    written = json.loads(passes("emit", "e2m1", "--set", "source=bf16", "--pair", "-o", tmp_path, "--json"))
    encoder, decoder, pair = written
    assert encoder["numerics"]["source"] == decoder["numerics"]["destination"] == "bf16"
    files = {kind: Path(path) for kind, path in pair["files"].items()}
    listed = files["round_trip_filelist"].read_text().split()
    found = [(files["round_trip"].parent / one).resolve() for one in listed]
    assert found == [Path(encoder["files"]["verilog"]), Path(decoder["files"]["verilog"]), files["round_trip"]]
    if shutil.which("iverilog"):
        asked = ["iverilog", "-g2005", "-Wall", "-s", f"{pair['name']}_tb", "-t", "null"]
        done = subprocess.run([*asked, "-f", files["round_trip_icarus"]], capture_output=True, text=True)
        assert (done.returncode, done.stdout + done.stderr) == (0, "")


def test_a_pair_is_of_an_encoder(fails):
    assert fails(2, "emit", "e4m3", "--op", "decode", "--pair").startswith("--pair adds the decoder to an encoder")
    assert fails(2, "emit", "e4m3,e5m2", "--pair").startswith("a pair is of one format")
