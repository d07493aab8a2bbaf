"""Records of exhaustive verifications: an interrupted one goes on, and the outcome of a finished one is kept.

A record is a JSON file in `cache_folder()`. Its name is a digest of everything that the outcome depends on, and the
file lists it too, so a record of another design, model or tool is not found.
"""

from __future__ import annotations

import json
import time
from datetime import UTC, datetime
from importlib.metadata import version
from typing import Any

from ...hdl import HardwareConfig
from ...hdl.emission.modules import fingerprint
from ...host.cache import cache_folder, keep_json, kept_json, sources
from ...host.files import sha256
from ..run import tools
from .scoreboard import Scoreboard

INTERVAL = 5.0
"""Seconds between two savings, which is the most that a killed run loses."""

KIND = "exhaustive"
KEPT = ("counts", "mismatched_blocks", "mismatches")
"""Fields of a `Scoreboard` in a record."""


class Record:
    """The outcome so far of comparing a Verilog text with the model on ``total`` blocks.

    `restore` copies it to a scoreboard, `keep` takes it from one, and `save` writes the last state that `keep` took. So
    a block counts only after its comparison, whenever an interruption comes.
    """

    def __init__(self, config: HardwareConfig, verilog: str, *, seed: int, total: int, force: bool = False) -> None:
        self.total, self._profile = total, config.profile  # a name for the rules, not part of them
        self.identity = {
            "format": config.formats,
            "config_id": config.config_id,
            **config.to_dict(),
            "verilog": fingerprint(verilog),
            "sources": sources("spec", "models", "sim"),
            "seed": seed,
            "total_blocks": total,
            "versions": {
                **{name: version(name) for name in ("mxcast", "numpy")},
                "verilator": tools.verilator_version(),
                "compiler": tools.compiler_version(),
            },
        }
        self._name = sha256(json.dumps(self.identity, sort_keys=True))[:32]
        self.path = cache_folder(KIND) / f"{self._name}.json"
        self._state = (None if force else self._read()) or {
            "counts": {},
            "mismatched_blocks": 0,
            "mismatches": [],
            "seconds": 0.0,
        }
        self.kept_blocks = self.blocks
        """Blocks that earlier runs compared."""
        self._start = self._saved = time.monotonic()
        self._before = self.seconds

    @property
    def blocks(self) -> int:
        return sum(self._state["counts"].values())

    @property
    def seconds(self) -> float:
        """Time that the comparison of these blocks took, over all runs."""
        return self._state["seconds"]

    @property
    def is_finished(self) -> bool:
        return self.blocks == self.total

    def restore(self, board: Scoreboard) -> None:
        """Copy the outcome of earlier runs to an empty scoreboard."""
        board.counts, board.mismatches = dict(self._state["counts"]), list(self._state["mismatches"])
        board.mismatched_blocks = self._state["mismatched_blocks"]

    def keep(self, board: Scoreboard) -> None:
        """Take over a scoreboard between two comparisons, and save it now and then."""
        now = time.monotonic()
        self._state = {
            "counts": dict(board.counts),
            "mismatched_blocks": board.mismatched_blocks,
            "mismatches": list(board.mismatches),
            "seconds": round(self._before + now - self._start, 1),
        }
        if now - self._saved >= INTERVAL or self.is_finished:
            self.save()

    def save(self) -> None:
        self._saved = time.monotonic()
        content = {
            **self.identity,
            "profile": self._profile,
            "finished": self.is_finished,
            "blocks": self.blocks,
            **self._state,
            "saved": datetime.now(UTC).isoformat(timespec="seconds"),
        }
        keep_json(KIND, self._name, content)

    def _read(self) -> dict[str, Any] | None:
        """The content of the file, if it is whole and has this identity."""
        content: Any = kept_json(KIND, self._name)
        same = content is not None and all(
            content[key] == value for key, value in json.loads(json.dumps(self.identity)).items()
        )
        return {key: content[key] for key in (*KEPT, "seconds")} if same else None
