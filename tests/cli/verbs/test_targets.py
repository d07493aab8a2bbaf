"""Target of the hardware: `--target`, and `optimize` with it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mxcast.cli import main
from mxcast.cli.options.hardware import HardwareOptions
from mxcast.cli.options.request import request
from mxcast.hdl import BEST, GENERIC, Goal, Microarchitecture, converter_config, fields_of
from mxcast.synth import TARGETS


def emitted(tmp_path, capsys, *words: str) -> dict:
    """The micro-architecture that the command emits, without defaults."""
    assert main(["emit", "e2m1", "--set", "block_size=2", *words, "-o", str(tmp_path), "--json"]) == 0
    return json.loads(capsys.readouterr().out)["microarchitecture"]


def asked(*assignments: str, target: str | None = None, config: Path | None = None) -> dict:
    """The micro-architecture that options ask for, without defaults."""
    return (
        request("emit {}", HardwareOptions(format="e2m1", set=list(assignments), config=config, target=target))
        .configs[0]
        .to_dict()["microarchitecture"]
    )


XCU = {"amax_key": "reduced", "amax": "carry_chain", "quantizer": "table", "structure": "kept"}


@pytest.mark.parametrize(
    "target, assignments, fields",
    [
        (None, (), {"amax_key": "reduced"}),
        (None, ("target=xcu",), XCU),
        ("XCU", (), XCU),
        ("ecp5", ("target=xcu",), XCU),  # as --set goes over everything
        ("xcu", ("amax=compare",), {k: v for k, v in XCU.items() if k != "amax"}),
        ("xcu", ("rounding=sr",), {k: v for k, v in XCU.items() if k != "quantizer"}),
        ("asic", (), {"amax_key": "reduced", "amax": "bit_by_bit", "quantizer": "gates"}),
        ("asic", ("rounding=sr",), {"amax_key": "reduced", "amax": "bit_by_bit"}),
        ("ecp5", (), {"amax_key": "reduced"}),
        ("ecp5-relaxed", (), {"amax_key": "reduced", "amax": "bit_by_bit", "quantizer": "gates"}),
        ("ice40", (), {"amax_key": "reduced", "quantizer": "gates"}),
        ("xcu", ("optimize=plain",), {"amax_key": "reduced"}),
        (None, ("optimize=speed",), {"amax_key": "reduced", "amax": "radix4", "quantizer": "table"}),
    ],
)
def test_options(target, assignments, fields):
    assert asked(*assignments, target=target) == fields


@pytest.mark.parametrize("words", [("--target", "xcu"), ("--vendor", "vivado")])
def test_emit(words, tmp_path, capsys):
    assert emitted(tmp_path, capsys, *words) == XCU


def test_a_file_says_it_too(tmp_path):
    file = tmp_path / "c.toml"
    file.write_text('[microarchitecture]\ntarget = "xcu"\noptimize = "balanced"\n')
    assert asked(config=file) == XCU | {"amax": "radix4"}
    assert asked(config=file, target="generic") == {"amax_key": "reduced", "amax": "radix4", "quantizer": "table"}


@pytest.mark.parametrize(
    "target, built_for",
    [
        ("lut4", "generic"),
        ("asic", "asic"),
        *(pytest.param(target, "xcu", marks=pytest.mark.slow) for target in ("xcu", "xcu-relaxed")),
    ],
)
def test_synth_says_what_it_has_built(target, built_for, tmp_path, capsys):
    assert main(["synth", "e2m1", "--set", "block_size=2", "--target", target]) == 0
    chosen = converter_config("e2m1", block_size=2, target=built_for).microarchitecture
    form = f"mxfp4_e2m1: amax={chosen.amax}, quantizer={chosen.quantizer}, structure={chosen.structure}"
    assert form in capsys.readouterr().out.splitlines()


@pytest.mark.parametrize("words", [["--target", "spartan"], ["--set", "target=lut6"]])
def test_what_there_is_no_form_for(words, tmp_path, capsys):
    assert main(["emit", "e2m1", *words, "-o", str(tmp_path)]) == 2
    assert "known are generic, xcu, ecp5, ice40, asic" in capsys.readouterr().err


def test_every_target_has_a_form():
    assert {target.optimized_as for target in TARGETS.values()} == set(BEST)
    assert all(set(goals) == set(Goal) - {Goal.PLAIN} for goals in BEST.values())


@pytest.mark.parametrize("target", BEST)
@pytest.mark.parametrize("goal", Goal)
def test_the_fewest_fields_mean_the_same(target, goal):
    """Also with a field that is another, with registers, and for what has no tables."""
    for rules in ({}, {"amax_key": "magnitude"}, {"structure": "kept"}, {"rounding": "sr"}, {"latency": 1}):
        if rules.pop("latency", None):
            rules["registered_after"] = "scale"
        config = converter_config("e4m3", target=target, optimize=goal, **rules)
        fields = fields_of(config.microarchitecture, config.modes)
        kept = {name: value for name, value in rules.items() if name == "rounding"}
        assert converter_config("e4m3", **kept, **fields) == config
        assert len(fields) <= 2 + len(rules)


def test_first_choices_have_no_fields():
    config = converter_config("e4m3")
    assert fields_of(Microarchitecture(), config.modes) == {} and BEST[GENERIC][Goal.AREA] == {}
