"""The cocotb regression on the simulators, and what it refuses."""

import shutil
import subprocess

import numpy as np
import pytest

from mxcast.hdl import converter_config
from mxcast.sim import test as regress
from mxcast.sim.check.scoreboard import Scoreboard
from mxcast.sim.cocotb import regression
from mxcast.sim.encode.simulation import blocks_of
from mxcast.sim.operations import golden
from mxcast.sim.run import tools
from mxcast.sim.stimuli import corner_cases
from mxcast.spec import Role

from ...configurations import ELEMENTS

needs_icarus = pytest.mark.skipif(
    shutil.which("iverilog") is None, reason="Icarus is optional: apt-get install iverilog"
)


# the quick run has six bits and eight, these with 32 lanes; other sources, random bits and modes follow
@pytest.mark.parametrize(
    "element, size",
    [
        pytest.param("e2m3", 8, marks=pytest.mark.slow),
        pytest.param("int8", 8, marks=pytest.mark.slow),
        *(pytest.param(element, 32, marks=() if element == "e4m3" else pytest.mark.slow) for element in ELEMENTS),
    ],
)
def test_regression_passes_on_verilator(element, size, tmp_path, record_property):
    config = converter_config(
        element, {"e5m2": "nvidia", "e2m3": "gorodecky_sousa"}.get(element, "ocp"), block_size=size
    )
    result = regress(config, out=tmp_path)
    record_property("blocks", result.comparisons)
    assert result.passed, result.report
    assert set(result.tests) == {*corner_cases(config.numerics), "boundary", "random"}
    assert min(result.tests.values()) > 0 and result.comparisons > 2500


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    "formats, rules",
    [
        pytest.param("e5m2", {"scale_rule": "even", "source": "bf16"}, marks=pytest.mark.slow),  # sixteen bits in
        pytest.param("e4m3", {"scale_rule": "rceil", "specials": "te", "source": "fp16"}, marks=pytest.mark.slow),
        ("e2m1", {"rounding": "sr", "random_bits": 5}),  # random bits, cut across bytes
        ("e2m1,int4", {"scale_rule": "floor,ceil"}),  # four modes
    ],
    ids=str,
)
def test_other_ports_pass_on_verilator(formats, rules, tmp_path, record_property):
    config = converter_config(formats, block_size=4, **rules)
    result = regress(config, out=tmp_path, random_blocks=500)
    record_property("blocks", result.comparisons)
    assert result.passed, result.report
    modes = [f" mode {number}" for number in range(len(config.modes))] if config.alternatives else [""]
    assert set(result.tests) == {
        name + mode for mode in modes for name in (*corner_cases(config.numerics), "boundary", "random")
    }
    assert min(result.tests.values()) > 0 and all(result.tests[f"random{mode}"] == 500 for mode in modes)


@needs_icarus
@pytest.mark.parametrize(
    "element, rules",
    [
        pytest.param("e4m3", {"specials": "inf_scale", "block_size": 4}, marks=pytest.mark.slow),
        pytest.param("e4m3", {"specials": "inf_scale"}, marks=pytest.mark.slow),
        pytest.param("e2m1", {"block_size": 8}, marks=pytest.mark.slow),
        pytest.param("int8", {"scale_rule": "ceil", "block_size": 8}, marks=pytest.mark.slow),
        pytest.param("e2m1", {}, marks=pytest.mark.slow),
        pytest.param("int8", {"scale_rule": "ceil"}, marks=pytest.mark.slow),
        ("e3m2,int6", {"rounding": "sr", "random_bits": 3, "source": "fp16", "specials": "te", "block_size": 2}),
    ],
)
def test_the_same_bench_passes_on_icarus(element, rules, tmp_path, record_property):
    """Four states: an unknown bit in an output would be reported."""
    result = regress(converter_config(element, **rules), simulator="icarus", out=tmp_path)
    record_property("blocks", result.comparisons)
    assert result.passed, result.report
    assert result.comparisons > 2500


@pytest.mark.parametrize(
    "simulator", [pytest.param("verilator", marks=pytest.mark.slow), pytest.param("icarus", marks=needs_icarus)]
)
def test_a_waveform_on_request(simulator, tmp_path):
    """Verilator's takes long to compile."""
    config = converter_config("e2m1", block_size=8)
    result = regress(config, simulator=simulator, out=tmp_path, waves=True, random_blocks=10)
    assert result.passed and result.waveform and result.waveform.stat().st_size > 10_000


def test_a_bench_without_outputs_is_a_failure(tmp_path):
    """A design whose outputs never leave X on Icarus, or stay 0 on Verilator, does not pass."""
    dead = tmp_path / "dead.v"
    dead.write_text("module dead(input [255:0] x, output [7:0] scale, output [63:0] p); endmodule\n")
    result = regress(converter_config("e4m3", block_size=8), out=tmp_path, name="dead", verilog=dead, random_blocks=10)
    assert not result.passed


def _compared(config, change=None):
    x = np.linspace(-3, 3, 64, dtype=np.float32).reshape(2, 32)
    given = blocks_of(x.view(np.uint32))
    expected, actual = golden(config.numerics, given), golden(config.numerics, given)
    if change:
        change(actual)
    board = Scoreboard(config, repeat="mxcast verify e4m3 --seed 1")
    board.compare("directed", config.numerics, given, expected, actual)
    return board


def test_scoreboard_refuses_zero_comparisons():
    config = converter_config("e4m3")
    assert not Scoreboard(config).passed and "nothing was compared" in Scoreboard(config).report
    board = _compared(config)
    assert board.passed and board.report == ""
    board.counts["never"] = 0
    assert not board.passed and "never" in board.report


def test_scoreboard_report_says_what_an_engineer_needs():
    def flip(q):
        q[Role.CODES][1, 7] ^= 1
        q[Role.SCALE][0, 0] += 1

    board = _compared(converter_config("e4m3"), flip)
    assert board.mismatched_blocks == 2 and not board.passed
    for part in (
        "directed block 0: scale expected 0x78, got 0x79 (differs)",
        "element 7: input 0x3F",
        "expected 0x",
        "got 0x",
        "to explain: mxcast explain mxfp8_e4m3 --profile ocp --values 0x3D430C31,",
        "to repeat: mxcast verify e4m3 --seed 1",
    ):
        assert part in board.report, board.report


def test_unknown_simulator():
    with pytest.raises(ValueError, match="simulator must be one of verilator, icarus"):
        regress(converter_config("e4m3"), simulator="modelsim")


def test_make_takes_the_compiler_of_cxx(tmp_path, monkeypatch):
    """Verilator's makefiles set CXX and LINK; ours go before them, options and spaces included."""
    monkeypatch.setenv("CXX", "g++ -m64 -DA='b c'")
    (tmp_path / "Makefile").write_text("CXX = other\nLINK = other\nall:\n\t@echo $(CXX)\n\t@echo $(LINK)\n")
    environment = regression.environment_for("verilator")
    done = subprocess.run(
        ["make", "--no-print-directory"], cwd=tmp_path, env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout == f"{shutil.which('g++')} -m64 -DA=b c\n" * 2, done.stderr
    assert tools.simulator_environment()["MAKEFLAGS"] in environment["MAKEFLAGS"]


@needs_icarus
def test_icarus_asks_for_no_compiler(monkeypatch):
    monkeypatch.setenv("CXX", "/nonexistent")
    assert regression.environment_for("icarus")["CXX"] == "/nonexistent"
