"""Conformance vectors against hardware: the Verilated design of a configuration must give every result."""

from __future__ import annotations

from ...hdl import CONFIGURATIONS, verilog
from ...host.files import sha256
from ...sim.check.scoreboard import Scoreboard
from ...sim.operations import supplied
from ...sim.run.tools import verilator_version
from ...sim.run.verilator.verilated import driver_of
from .vectors import VectorSet


class Disagreement(Exception):
    """The hardware gives other results than the exact model: one of them is wrong."""


def confirmed(vectors: VectorSet) -> dict[str, object]:
    """The design that gives the same results, the simulator, and the number of blocks.

    Raises `Disagreement` if a block differs, `ToolMissing` without Verilator or a C++ compiler, and ValueError for
    rules that hardware does not support.
    """
    config = CONFIGURATIONS[vectors.rules.name].built(vectors.rules)
    text, board = verilog(config, "dut"), Scoreboard(config)
    given = supplied(config, vectors.given).in_mode(0)
    board.compare("vectors", vectors.rules, given, vectors.expected, driver_of(text, "dut", config)(given))
    if not board.passed:
        raise Disagreement(
            f"{board.mismatched_blocks} of {board.blocks} blocks are converted otherwise by the Verilog\n"
            + "\n".join(board.mismatches)
        )
    return {
        "configuration": config.config_id,
        "verilog_sha256": sha256(text),
        "simulator": f"Verilator {verilator_version()}",
        "blocks": board.blocks,
    }
