"""Calls of `mxcast prove` for the evidence on record. Times are processor seconds of the solver for all readers."""

import tempfile
from functools import partial

from evidence import Check, Subject

from mxcast.proof import prove
from mxcast.proof.verilog.readers import readers
from mxcast.synth.yosys import yosys_version

OPTIONS = {
    "proved": {},
    "netlist xcu": {"netlist": "xcu"},
    "netlist ecp5": {"netlist": "ecp5"},
    "at once": {"whole": True},
    "by z3": {"solver": "z3"},
}
"""Options of `prove` by the name of the check."""


def identity(options: dict, subject: Subject) -> dict:
    """With all readers where no other option is given; second opinions may be of one."""
    return {"verilog": subject.verilog, **({} if options else {"readers": list(readers())})}


def outcome(options: dict, subject: Subject) -> dict:
    with tempfile.TemporaryDirectory() as folder:
        proof = prove(subject.config, out=folder, timeout=1800, force=True, **options)
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


def cells(name: str, record: dict) -> dict[str, str]:
    seconds = record["seconds"]
    passed = f"{seconds:.0f} s" if seconds >= 1 else f"{seconds:.1f} s"
    return {name: passed if record["status"] == "PASS" else record["status"]}


CHECKS = {
    name: Check("proofs", partial(identity, options), partial(outcome, options), partial(cells, name))
    for name, options in OPTIONS.items()
}
