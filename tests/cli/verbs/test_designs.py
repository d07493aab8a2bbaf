"""Commands that check a design read it from the folder and never replace it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import mxcast

SMALL = ["--set", "block_size=2"]


@pytest.fixture
def folder(tmp_path, monkeypatch, passes) -> Path:
    """A folder in which a user has emitted a design of another profile than the usual one."""
    monkeypatch.chdir(tmp_path)
    passes("emit", "e2m1", "--profile", "nvidia", *SMALL, "--name", "mx_encoder", "-o", "build")
    return Path("build/mx_encoder")


def content(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


BOTH = (
    "build/mx_encoder holds mxfp4_e2m1 --profile nvidia --set block_size=2 (dbb2f498), and mxfp4_e2m1 --profile ocp "
    "--set block_size=2 (30b843cd) is asked for, with scale_rule floor instead of ceil: "
)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("force", [[], ["--force"]], ids=["", "force"])
@pytest.mark.parametrize("verb", ["prove", "test", "mutate", "verify"])
def test_a_check_refuses_another_configuration(verb, force, folder, fails):
    before = content(folder)
    said = fails(2, verb, "e2m1", *SMALL, "--name", "mx_encoder", "-o", "build", *force)
    assert said == BOTH + "leave out format and rules to take the one in the folder, or give another name or folder"
    assert content(folder) == before


def test_emit_replaces_another_configuration_by_force_only(folder, fails, passes):
    before = content(folder)
    command = "emit", "e2m1", *SMALL, "--name", "mx_encoder", "-o", "build"
    said = fails(2, *command)
    assert said == BOTH + "give another name or folder, or replace the design by emit with --force"
    assert content(folder) == before
    passes(*command, "--force")
    passes(*command)
    assert json.loads((folder / "manifest.json").read_text())["profile"] == "ocp"


def test_a_pair_is_emitted_whole_or_not_at_all(tmp_path, fails, passes):
    passes("emit", "e2m1", *SMALL, "--op", "decode", "--profile", "te", "--name", "mx_decode", "-o", tmp_path)
    assert "mx_decode holds" in fails(2, "emit", "e2m1", *SMALL, "--pair", "--name", "mx", "-o", tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["mx_decode"]


@pytest.mark.parametrize("named", [["--name", "mx_encoder"], ["mx_encoder"]], ids=["option", "argument"])
def test_without_rules_a_check_takes_the_design_in_the_folder(named, folder, passes):
    before = content(folder / "rtl")
    proof = json.loads(passes("prove", *named, "-o", "build", "--json"))
    assert (proof["status"], proof["profile"], proof["config_id"]) == ("PASS", "nvidia", "dbb2f498")
    assert content(folder / "rtl") == before
    assert (folder / "proof/mx_encoder/proof.json").is_file()


@pytest.mark.slow
def test_synth_and_verify_take_the_design_in_the_folder(folder, passes):
    """synth maps the design in the folder, whatever its target is."""
    before = content(folder)
    for target in ("ecp5", "lut6"):
        found = json.loads(passes("synth", "mx_encoder", "-o", "build", "--target", target, "--json"))
        assert (found["config_id"], found["target"]) == ("dbb2f498", target)
    assert json.loads(passes("verify", "mx_encoder", "--blocks", 10, "--json"))["config_id"] == "dbb2f498"
    assert content(folder) == before


@pytest.mark.parametrize("verb", ["prove", "test", "mutate", "verify", "synth"])
def test_an_edited_design_is_not_checked(verb, folder, fails):
    """A check would not be about the file."""
    path = folder / "rtl/mx_encoder.v"
    path.write_text(path.read_text() + "// mine")
    before = content(folder)
    assert fails(2, verb, "mx_encoder").startswith(f"{path} has been edited since it was emitted")
    assert content(folder) == before


def test_the_evidence_of_a_design_goes_with_it(folder, passes):
    passes("prove", "mx_encoder", "-o", "build")
    passes("emit", "e2m1", *SMALL, "--name", "mx_encoder", "-o", "build", "--force")
    assert {path.name for path in folder.iterdir()} == {"rtl", "manifest.json"}


def test_a_check_of_another_file_leaves_the_design_alone(folder, fails):
    """The log of another file is no evidence for the emitted one."""
    before = content(folder)
    Path("mine.v").write_text("module mx_encoder; assign nothing endmodule\n")
    files = "--rtl", "mine.v", "--name", "mx_encoder", "-o", "build"
    log = "build/mx_encoder-dbb2f498/sim/icarus/log.txt"
    assert log in fails(2, "test", "e2m1", "--profile", "nvidia", *SMALL, "--sim", "icarus", *files)
    assert Path(log).is_file() and content(folder) == before


@pytest.mark.parametrize(
    "arguments, sentence",
    [
        (["prove", "--name", "other", "-o", "build"], "build holds no design other: give its format, or the folder"),
        (["prove", "other", "-o", "build"], "unknown format 'other'"),
        (["prove", "mx_encoder", "-o", "elsewhere"], "unknown format 'mx_encoder'"),
        (["prove", "mx_encoder", "-o", "build", "--name", "other"], "mx_encoder is a design in build, and --name says"),
        (["prove", "mx_encoder", "-o", "build", "--profile", "te"], "unknown format 'mx_encoder'"),
        (["verify", "e2m1", "--name", "other"], "build holds no Verilog of a design other"),
        (["synth", "--name", "other"], "build holds no design other"),
        (["synth", "e2m1", "--name", "mx_encoder"], "is asked for, with block_size 32 instead of 2, scale_rule floor"),
        (["prove", "--name", "mx_encoder", "-o", "build", "--profile", "te"], "a format is missing"),
        (["test", "--name", "../x", "-o", "build"], "name must be a Verilog identifier"),
        (["prove", "x" * 300, "-o", "build"], "unknown format"),
    ],
    ids=lambda value: "" if isinstance(value, str) else " ".join(value)[:50],
)
def test_what_is_no_design(arguments, sentence, folder, fails):
    assert sentence in fails(2, *arguments)


def test_python_does_the_same(folder):
    before = content(folder)
    for call in (mxcast.emit, mxcast.prove):
        with pytest.raises(ValueError, match="is asked for, with scale_rule floor instead of ceil"):
            call("e2m1", out="build", name="mx_encoder", block_size=2)
    assert content(folder) == before
    assert mxcast.prove(out="build", name="mx_encoder").config.profile == "nvidia"
    for wrong in ({"out": "build"}, {"name": "mx_encoder", "profile": "te"}, {"name": "mx_encoder", "rtl": "x.v"}):
        with pytest.raises(ValueError, match="a format is missing"):
            mxcast.prove(**wrong)
    mxcast.emit("e2m1", out="build", name="mx_encoder", block_size=2, force=True)
    assert not (folder / "proof").exists()


AXIS = ("e4m3", "--set", "lanes=8", "--set", "interface=axis")


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("emit", "e4m3", "--registers"), "registers are for encoders with AXI4-Stream: give interface=axis"),
        (("emit", "e4m3", "--op", "decode", "--registers"), "registers are for encoders with AXI4-Stream"),
        (("synth", "e4m3", "--registers"), "registers are for encoders with AXI4-Stream"),
        (
            ("synth", *AXIS, "--registers", "--pnr"),
            "--pnr places a converter without modules around it: leave out --registers and --bus",
        ),
        (("prove", "e4m3", "--block-design"), "a block design connects AXI4-Stream: give interface=axis too"),
        (("emit", "e4m3", "--bus", "64"), "words of a bus need AXI4-Stream: give interface=axis too"),
        (("emit", *AXIS, "--bus", "96"), "a bus has words of 32, 64, 128, 256, 512, 1024 bits, not 96"),
        (("synth", *AXIS, "--bus", "64", "--pnr"), "--pnr places a converter without modules around it"),
        (("emit", "e4m3", "--block-design"), "a block design connects AXI4-Stream: give interface=axis too"),
    ],
    ids=lambda one: " ".join(one) if isinstance(one, tuple) else "",
)
def test_registers_and_block_designs_need_axi(fails, tmp_path, words, sentence):
    out = ("-o", tmp_path / "build") if words[0] == "emit" else ()
    assert fails(2, *words, *out).startswith(sentence)
    assert not list(tmp_path.iterdir())
