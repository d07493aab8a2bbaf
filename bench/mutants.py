"""Calls of `mxcast mutate` for the evidence on record: faults in the Verilog, and mistakes in the specification."""

import hashlib
import tempfile
from pathlib import Path

from evidence import Check, Subject

from mxcast.proof.mutation import SUITE_BLOCKS, mutate
from mxcast.proof.specification.mutants import refute
from mxcast.sim.operations import of

MUTANTS, SEED = 200, 0


def suite(subject: Subject) -> str:
    """SHA-256 of what the cocotb regression drives."""
    rules, digest = subject.config.numerics, hashlib.sha256()
    for blocks in of(rules).regression(SUITE_BLOCKS, SEED).values():
        for array in blocks.arrays.values():
            digest.update(array.tobytes())
    return digest.hexdigest()


def identity(subject: Subject) -> dict:
    return {"verilog": subject.verilog, "suite": suite(subject)}


def outcome(subject: Subject) -> dict:
    with tempfile.TemporaryDirectory() as folder:
        found = mutate(subject.config, MUTANTS, seed=SEED, out=folder).to_dict()
        specification = refute(subject.config, Path(folder, "specification"))
    counts = ("mutants", "killed", "killed_by_suite", "equivalent", "survived", "undecided", "faults", "seed", "yosys")
    return {
        **{name: found[name] for name in counts},
        "mistakes": len(specification),
        "refuted": sum(mutant.by is not None for mutant in specification),
    }


def cells(record: dict) -> dict[str, str]:
    return {
        "faults killed": f"{record['killed']} of {record['faults']}",
        "by the regression": str(record["killed_by_suite"]),
        "proved harmless": str(record["equivalent"]),
        "mistakes refuted": f"{record['refuted']} of {record['mistakes']}",
    }


CHECKS = {"mutants": Check("mutants", identity, outcome, cells)}
