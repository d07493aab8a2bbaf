"""A text that only one reader reads is simulated more, and the verdict counts the blocks."""

from __future__ import annotations

import numpy as np
import pytest

from mxcast.cli import main
from mxcast.hdl import converter_config, emit, verilog
from mxcast.host.errors import ToolError
from mxcast.proof import prove
from mxcast.proof.foreign.check_rtl import check_rtl
from mxcast.proof.solve import branches, second_leg
from mxcast.proof.solve.argument import Status
from mxcast.proof.solve.counterexample import Counterexample, Simulation
from mxcast.sim.operations import golden
from mxcast.sim.run import tools
from mxcast.spec import Role

CONFIG = converter_config("e2m1", "ocp", block_size=2)
ALONE = """
module top(input [63:0] x, output [7:0] scale, p);
  uwire [7:0] n; assign p = n;
  core c(.x(x), .scale(scale), .p(n));
endmodule
"""
"""read_verilog does not read vectors of the type uwire."""
KINDS = "corner, boundary, distance, random, single bits, sweep"


@pytest.fixture(autouse=True)
def less_search(monkeypatch):
    monkeypatch.setattr(branches, "SECONDS", 1)


@pytest.fixture
def alone(tmp_path):
    file = tmp_path / "top.v"
    file.write_text(verilog(CONFIG, "core") + ALONE)
    return file


def has_icarus() -> bool:
    try:
        return bool(tools.icarus())
    except ToolError:
        return False


def test_a_verdict_counts_the_blocks(alone, capsys):
    assert main(["prove", "e2m1", "--set", "block_size=2", "--rtl", str(alone)]) == 0
    said = capsys.readouterr().out
    assert "as slang alone reads it: read_verilog cannot read it" in said
    on_icarus = "1,800 on Icarus" if has_icarus() else "none on Icarus: it is not installed"
    assert f"; simulated too: 1,800 blocks ({KINDS}) on Verilator, {on_icarus} (bitwuzla" in said


@pytest.mark.slow
def test_check_rtl_counts_them_too(alone):
    check = check_rtl([alone], "top", CONFIG, out=alone.parent, blocks=1000)
    on_icarus = "1,800 on Icarus" if has_icarus() else "none on Icarus: it is not installed"
    assert check.status is Status.PASS and f"({KINDS}) on Verilator, {on_icarus}" in check.second_leg


@pytest.mark.slow
def test_there_is_none_where_both_read_it(tmp_path):
    proof = prove(CONFIG, rtl=emit(CONFIG, tmp_path, "own")["verilog"])
    assert proof.passed and proof.second_leg == ""


def missing() -> str:
    raise ToolError("Icarus is missing")


def test_what_icarus_could_not_do_is_said(monkeypatch):
    monkeypatch.setattr(tools, "icarus", lambda: "iverilog")
    kinds, right = second_leg.stimuli(CONFIG.numerics), lambda mode, blocks: ""
    assert second_leg.on_icarus_in_turn([kinds, kinds], right) == (3600, "", "")
    answers = iter(["", "", None])
    assert second_leg.on_icarus_in_turn([kinds], lambda mode, blocks: next(answers)) == (
        200,
        "it cannot read the text, or takes too long",
        "",
    )
    assert second_leg.on_icarus_in_turn([kinds], right, second_leg.NOT_ASKED) == (0, second_leg.NOT_ASKED, "")
    assert second_leg.on_icarus_in_turn([kinds], lambda mode, blocks: "x") == (0, "", "x")
    monkeypatch.setattr(second_leg, "SECONDS", 0)
    assert second_leg.on_icarus_in_turn([kinds], right) == (0, "0 seconds are over", "")
    monkeypatch.setattr(tools, "icarus", missing)
    assert second_leg.on_icarus_in_turn([kinds], right) == (0, "it is not installed", "")


@pytest.mark.parametrize("simulator", ["Verilator", pytest.param("Icarus", marks=pytest.mark.slow)])
def test_a_difference_is_no_pass(simulator, alone, monkeypatch):
    """Only a block of the second leg shows the difference: a model stands in for a wrong tool."""
    if simulator == "Icarus" and not has_icarus():
        pytest.skip("Icarus is not installed")
    name = {"Verilator": "on_verilator", "Icarus": "on_icarus"}[simulator]
    calls = []
    right = getattr(Simulation, name)

    def wrong(simulation, mode, blocks):
        calls.append(blocks)
        found = right(simulation, mode, blocks)
        if len(calls) < 4:  # the first call is the usual simulation
            return found
        block = blocks.rows(slice(1))
        other = Counterexample(block=block, mode=mode, report="planted", vectors=alone, simulator=simulator)
        return other if simulator == "Verilator" else (True, other)

    monkeypatch.setattr(Simulation, name, wrong)
    proof = prove(CONFIG, rtl=alone)
    assert proof.status is Status.UNKNOWN and len(calls) >= 4
    assert f"slang reads a converter that is right for every block, and {simulator}" in proof.disagreement


def test_stimuli_are_of_every_kind_and_have_the_model_s_results():
    kinds = second_leg.stimuli(CONFIG.numerics)
    assert list(kinds) == KINDS.split(", ") and {len(blocks) for blocks in kinds.values()} == {300}
    for blocks in kinds.values():
        scales = golden(CONFIG.numerics, blocks)[Role.SCALE]
        assert scales.shape == (300, 1) and np.unique(blocks[Role.NUMBERS], axis=0).shape[0] > 30
