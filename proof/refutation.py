"""Refutation of the mutants of a specification by the questions of a proof."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from ..hdl import HardwareConfig, verilog
from ..hdl.config.beats import StreamConfig
from ..host.files import claimed
from ..spec import Operation
from .netlist.design import Design
from .operations import provable
from .solve.solver import solve
from .verilog.text import plain

OTHER = {"unsat": "sat", "sat": "unsat"}
"""The answer that refutes, by the expected one."""


@dataclass(frozen=True, kw_only=True)
class Refutation:
    """A mutant, and the question whose answer refutes it, or None if no answer does."""

    mutant: str
    description: str
    by: str | None

    def to_dict(self) -> dict:
        return {"mutant": self.mutant, "says": self.description, "refuted_by": self.by}


def refute(config: HardwareConfig, folder: Path, *, timeout: float = 300) -> list[Refutation]:
    """Ask the questions of a proof of the emitted Verilog with each mutant that applies; Yosys works in ``folder``. The
    specification of a stream is the one of whole blocks.
    """
    if isinstance(config, StreamConfig):
        config = config.at_once
    with claimed(folder):
        return _refuted(config, Design(plain(verilog(config, "dut")), "dut", folder), timeout)


def _refuted(config: HardwareConfig, design: Design, timeout: float) -> list[Refutation]:
    """Only questions that a mutant changes can refute it; the proof asks the others."""
    asked, outcomes = provable(config), []
    right = {question.text for question in asked.composed(config, design, asked.specification)}
    for name, mutant in asked.mutants_of(config).items():

        def specify(rules: Operation, planted: Callable[[object], object] = mutant.planted) -> object:
            return planted(asked.specification(rules))

        changed = (q for q in asked.composed(config, design, specify) if q.text not in right)
        by = (q.name for q in changed if solve(q.text, q.names, timeout=timeout).result == OTHER[q.expected])
        outcomes.append(Refutation(mutant=name, description=mutant.description, by=next(by, None)))
    return outcomes
