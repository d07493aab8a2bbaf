"""When which block enters and leaves, for `run.waves`: a file of JSON lines that the bench writes in the simulator."""

from __future__ import annotations

import json
from pathlib import Path

from cocotb.utils import get_sim_time


class Journal:
    """A journal in a file, or none. Times are steps of the simulator, as in its dump.

    ``first`` is the number of the first block, and ``stimulus`` replaces the names of the tests.
    """

    def __init__(self, path: Path | None, first: int = 0, stimulus: str | None = None) -> None:
        self.file = None if path is None else open(path, "w")
        self.first, self.stimulus, self.test = first, stimulus, ""

    def begin(self, test: str) -> None:
        self.test = self.stimulus or test

    @staticmethod
    def now() -> int:
        return int(get_sim_time("step"))

    def note(self, sides: tuple[str, ...], block: int | None, mode: int = 0, time: int | None = None) -> None:
        """A block of the test is at the inputs or outputs from now on, or from ``time`` on; None is a gap."""
        if self.file is not None:
            number = None if block is None else self.first + block
            row = {"test": self.test, "block": number, "mode": mode, "time": self.now() if time is None else time}
            self.file.writelines(json.dumps({"side": side, **row}) + "\n" for side in sides)
            self.file.flush()  # the simulator may end the process without a farewell
