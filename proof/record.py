"""What proofs of emitted files have found, kept by content: of the Verilog, and of the code that says what is right and asks."""

from __future__ import annotations

import json
import re

from ..hdl.host import cache_folder, sha256, sources, write_whole
from ..hdl.modules import fingerprint

__all__ = ["keep", "recorded"]

TOP = "converter"
"""The name of the top module in what is kept: that of a file changes nothing."""

ANSWERS = {"PASS": "proved", "FAIL": "refuted"}
"""Outcomes that are answers; a time-out is none."""


def keep(verilog: str, name: str, status: str) -> None:
    """Put the outcome of a proof of a file on record, whose top module has this name. An answer stays when a later run finds none."""
    digest = fingerprint(re.sub(rf"\b{name}(?=_|\b)", TOP, verilog))
    if status in ANSWERS or recorded(digest) not in ANSWERS.values():
        write_whole(_file(digest), json.dumps({"status": status}) + "\n")


def recorded(verilog: str) -> str:
    """What is on record for the modules of a Verilog file, by their `fingerprint` under the name ``converter``: ``proved``,
    ``refuted``, ``open`` (asked, without an answer) or ``not on record``."""
    try:
        status = json.loads(_file(verilog).read_text())["status"]
    except (FileNotFoundError, ValueError, KeyError):
        return "not on record"
    return ANSWERS.get(status, "open")


def _file(digest: str):
    return cache_folder() / "proved" / f"{sha256(digest, sources('spec', 'proof', 'sim'))[:32]}.json"
