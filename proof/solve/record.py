"""Outcomes of proofs of emitted files, in the cache by the content of the Verilog and of the code of the proof."""

from __future__ import annotations

import re

from ...hdl.emission.modules import fingerprint
from ...host.cache import keep_json, kept_json, sources
from ...host.files import sha256

TOP = "converter"
"""The name of the top module in the key of an outcome, so that the name in a file does not matter."""

ANSWERS = {"PASS": "proved", "FAIL": "refuted"}
"""Outcomes that are answers; a time-out is not an answer."""


def keep(verilog: str, name: str, status: str) -> None:
    """Record the outcome of a proof of a file whose top module has this name. An answer stays if a later run finds no
    answer."""
    digest = fingerprint(re.sub(rf"\b{name}(?=_|\b)", TOP, verilog))
    if status in ANSWERS or recorded(digest) not in ANSWERS.values():
        keep_json(KIND, _name(digest), {"status": status})


def recorded(verilog: str) -> str:
    """The recorded outcome for the modules of a Verilog file, by their `fingerprint` under the name ``converter``:
    ``proved``, ``refuted``, ``open`` (asked, without an answer) or ``not on record``.
    """
    found = kept_json(KIND, _name(verilog))
    return ANSWERS.get(found["status"], "open") if isinstance(found, dict) else "not on record"


KIND = "proved"


def _name(digest: str) -> str:
    return sha256(digest, sources("spec", "proof", "sim"))[:32]
