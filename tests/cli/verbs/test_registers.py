"""Registers as a user asks for them: by places, by a latency, by a clock, on the command line and in a file."""

import json

import pytest

from mxcast.synth import pipeline

SMALL = ["--set", "block_size=2"]


@pytest.fixture(autouse=True)
def measured(monkeypatch):
    """Replace the measured delays of synthesis by 1 ns before each place."""
    monkeypatch.setattr(
        pipeline,
        "sections",
        lambda config, target: (dict.fromkeys(config.stages, 1.0), dict.fromkeys(config.stages, 1)),
    )


def emitted(passes, tmp_path, *arguments) -> dict:
    files = json.loads(passes("emit", *arguments, "-o", tmp_path, "--json"))["files"]
    with open(files["json"]) as file:
        return json.load(file)


def test_places_by_name(passes, tmp_path):
    about = emitted(passes, tmp_path, "e2m1", *SMALL, "--set", "registered_after=output,scale")
    assert (about["latency"], about["microarchitecture"]["registered_after"]) == (2, ["scale", "output"])


def test_places_in_a_file(passes, tmp_path):
    (tmp_path / "a.toml").write_text('format = "e2m1"\n[microarchitecture]\nregistered_after = ["scale", "output"]\n')
    (tmp_path / "b.toml").write_text('format = "e2m1"\n[microarchitecture]\nlatency = 3\ndelays_of = "xcu"\n')
    assert emitted(passes, tmp_path, "-c", tmp_path / "a.toml")["latency"] == 2
    assert emitted(passes, tmp_path, "-c", tmp_path / "b.toml")["latency"] == 3


@pytest.mark.parametrize(
    "constraint, latency", [("latency=4", 4), ("frequency_mhz=210", 1), ("frequency_mhz=500.5", 7)]
)
def test_places_by_a_constraint(passes, tmp_path, constraint, latency):
    """The record contains the places."""
    about = emitted(passes, tmp_path, "e2m1", *SMALL, "--set", constraint)
    assert about["latency"] == latency == len(about["microarchitecture"]["registered_after"])
    assert "frequency_mhz" not in about["microarchitecture"]


def test_emit_says_where(passes, tmp_path):
    said = passes("emit", "e2m1", *SMALL, "--set", "registered_after=scale", "-o", tmp_path)
    assert said.startswith("latency 1 cycles: registered after scale\n")


@pytest.mark.parametrize(
    "sets, sentence",
    [
        (["latency=x"], "latency must be a number of cycles, not 'x'"),
        (["frequency_mhz=fast"], "frequency_mhz must be a number, not 'fast'"),
        (["latency=2", "frequency_mhz=100"], "give either a latency or a frequency"),
        (["latency=2", "registered_after=scale"], "registered_after names the stage boundaries: leave out latency"),
        (["registered_after=scales"], "unknown stage boundary 'scales': did you mean 'scale'?"),
    ],
)
def test_wrong_wishes(fails, tmp_path, sets, sentence):
    assert (
        fails(2, "emit", "e2m1", *SMALL, *(part for one in sets for part in ("--set", one)), "-o", tmp_path) == sentence
    )


def test_a_proof_says_what_it_shows(passes, tmp_path):
    said = passes("prove", "e2m1", *SMALL, "--set", "registered_after=key,scale", "-o", tmp_path)
    assert (
        "checked on the netlist: all registers move with i_ready" in said
        and ", after 2 cycles, equals mxfp4_e2m1 " in said
    )
