"""`--op decode` of `emit`, `verify` and `synth`."""

import json
from pathlib import Path

import pytest


def test_emit_verify_and_synth(passes, tmp_path):
    written = json.loads(passes("emit", "e2m1", "--op", "decode", "--profile", "gpt_oss", "-o", tmp_path, "--json"))
    assert written["name"] == "mxfp4_e2m1_decode_gpt_oss" and written["numerics"]["destination"] == "bf16"
    text = (tmp_path / written["name"] / "rtl" / f"{written['name']}.v").read_text()
    assert "output y[511:0]  32 bf16 numbers, element 0 in the low bits" in text
    found = json.loads(passes("verify", "e2m1", "--op", "decode", "--blocks", 1000, "--json"))
    assert found["passed"] and found["counts"] == {"pairs": 4096, "random": 1000}
    mapped = json.loads(passes("synth", "e2m1", "--op", "decode", "--set", "block_size=2", "--json"))
    assert mapped["whole"]["luts"] > 0 and set(mapped["stages"]) == {"factor", "element decoder"}


def test_a_decoder_that_differs_fails(monkeypatch, fails, capsys):
    from mxcast.cli import main
    from mxcast.hdl import element_decoder
    from mxcast.spec import ScaleReading

    monkeypatch.setitem(element_decoder.FLAGS, ScaleReading.E8M0, {})
    assert main(["verify", "e2m1", "--op", "decode", "--blocks", "10", "--stimuli", "pairs"]) == 1
    assert "FAILED\n" in capsys.readouterr().out


@pytest.mark.parametrize(
    "arguments, sentence",
    [
        (["emit", "e4m3", "--op", "decod"], "unknown operation 'decod': did you mean 'decode'?"),
        (["emit", "e4m3", "--op", "decode", "--profile", "nvidia"], "unknown profile 'nvidia'"),
        (["emit", "e4m3", "--op", "decode", "--set", "scale_rule=ceil"], "unknown field 'scale_rule'"),
        (["emit", "idma", "--op", "decode"], "'idma' is a profile: mxcast emit e4m3 --op decode --profile idma"),
        (["emit", "nvfp4", "--op", "decode"], "nvfp4 has the scale format ue4m3"),
        (["verify", "e4m3", "--op", "decode", "--stimuli", "corner"], "stimuli must be one of standard, pairs, random"),
        (["verify", "e4m3", "--op", "decode", "--exhaustive"], "--exhaustive, --tensors and --pad are of encoders"),
        (["prove", "e4m3", "--op", "decode", "--set", "scale_rule=ceil"], "unknown field 'scale_rule'"),
        (["emit", "e4m3,e5m2", "--op", "decode"], "unknown format 'e4m3,e5m2'"),
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


def test_a_pair_is_of_an_encoder(fails):
    assert fails(2, "emit", "e4m3", "--op", "decode", "--pair").startswith("--pair is of an encoder")
    assert fails(2, "emit", "e4m3,e5m2", "--pair").startswith("a pair is of one format")
