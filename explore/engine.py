"""Exploration: measures the points of a sweep, judges them on tensors, and compares them."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Unpack

import numpy as np

from ..spec import Encode, Nvfp4Encode, Role, is_nvfp4
from ..spec.catalogue import excerpt, known_name, unknown_name
from . import jobs
from .ablation import Entry, ablation
from .accuracy import loss
from .cluster import on_cluster
from .operations import OPERATIONS
from .pareto import front
from .points import Explored, Point, described
from .sweep import SWEEPS, LeftOut, Lists, Sweep, read_sweep
from .tensors import Tensor, given, standard


@dataclass(frozen=True, kw_only=True)
class Progress:
    """Progress of a sweep."""

    total: int
    cached: int
    done: int
    failed: int
    running: int
    judged: int = 0
    """Points whose accuracy is known; points are judged after all of them are measured."""


OF_PLACED = ("fmax_mhz", "fmax_lowest_mhz", "fmax_highest_mhz", "pnr_luts", "pnr_seeds", "blocks_per_s", "gbytes_per_s")
"""Figures that need place and route."""
Tell = Callable[[Progress], None]
Proved = Callable[[str], str]
"""The record of a proof, by the fingerprint of the Verilog."""


@dataclass(frozen=True, kw_only=True)
class Exploration:
    """A sweep and its results."""

    sweep: Sweep
    rows: list[Explored]
    """In the order of the sweep."""
    left_out: list[LeftOut]
    missing: int
    """Number of points that are not on record, if nothing is computed."""
    tensors: list[Tensor]
    tools: dict[str, str]

    @property
    def failed(self) -> list[Explored]:
        return [row for row in self.rows if row.status == "failed"]

    @property
    def ablation(self) -> list[Entry]:
        return ablation(self.rows)


def explore(
    sweep: str | Path | Sweep | None = None,
    *,
    op: str | None = None,
    tensors: Mapping[str, np.ndarray] | None = None,
    jobs: int = 2,
    scheduler: str | None = None,
    force: bool = False,
    cached: bool = False,
    proved: Proved | None = None,
    progress: Tell | None = None,
    **lists: Unpack[Lists],
) -> list[Explored]:
    """Measure every point of a sweep: the cost of its hardware, and its loss on tensors.

    Results are cached by the Verilog, the scripts and the versions of the tools. They are rows of a table:
    ``pandas.DataFrame(explore("formats"))``.

    Parameters
    ----------
    sweep : the name of one of `SWEEPS`, a TOML file or a `Sweep`; by default the usual sweep of the operation
    op : the operation of the sweep, if the sweep does not define it
    tensors : arrays by name, in place of the weights and distributions that ship with the package
    jobs : number of processes
    scheduler : address of a Dask scheduler, whose workers run the jobs
    force : measure again, and ignore the cache
    cached : measure nothing, and leave out points that are not on record
    proved : the record of a proof by the fingerprint of the Verilog, as `mxcast.proof.recorded`
    progress : is called with the `Progress` of the sweep
    lists : replace the values of the sweep's keys, one value or a list each: ``format="e4m3,e5m2"`` is one converter
        with two formats, ``format=["e4m3", "e5m2"]`` are two converters

    Returns
    -------
    list of Explored
        one row for each point, in the order of the sweep; the row of a failed point contains its error

    Raises
    ------
    ValueError
        for unknown names
    ToolError
        if a tool is missing
    """
    return exploration(
        chosen_sweep(sweep, op, **lists),
        tensors=None if tensors is None else given(tensors),
        workers=jobs,
        scheduler=scheduler,
        force=force,
        cached=cached,
        proved=proved,
        progress=progress,
    ).rows


def chosen_sweep(sweep: str | Path | Sweep | None = None, op: str | None = None, **lists: Unpack[Lists]) -> Sweep:
    """A sweep by its name or file, with these lists in place of its own. Raises ValueError if the sweep has another
    operation; the sweep ``point`` takes any. NVFP4 is an operation of its own.
    """
    if op is not None:
        op = known_name("operation", op, OPERATIONS)
    formats = lists.get("format", ())
    formats = [formats] if isinstance(formats, str) else list(formats)
    if any(map(is_nvfp4, formats)):
        if op not in (None, Encode.name, Nvfp4Encode.name) or not all(map(is_nvfp4, formats)):
            raise ValueError(
                f"sweeps with {', '.join(filter(is_nvfp4, formats))} are for encoders to these formats only"
            )
        op = Nvfp4Encode.name
    if sweep is None:
        sweep = OPERATIONS[op or Encode.name].sweep
    if not isinstance(sweep, Sweep):
        if not isinstance(sweep, (str, Path)):
            raise TypeError(f"a sweep is a name, a file or a Sweep, not {excerpt(sweep)}")
        if str(sweep).lower() in SWEEPS:
            sweep = SWEEPS[str(sweep).lower()]
        elif isinstance(sweep, Path) or str(sweep).endswith(".toml") or Path(sweep).is_file():
            sweep = read_sweep(Path(sweep))
        else:
            raise ValueError(unknown_name("sweep", sweep, [*SWEEPS, "FILE.toml"]))
    if op is not None and sweep == SWEEPS["point"]:
        sweep = dataclasses.replace(sweep, operation=op, objectives=())
    if op not in (None, sweep.operation):
        raise ValueError(f"the sweep {sweep.name} has the operation {sweep.operation}, not {op}")
    return sweep.replace(**lists)


def exploration(
    sweep: Sweep,
    *,
    tensors: Sequence[Tensor] | None = None,
    workers: int = 2,
    scheduler: str | None = None,
    force: bool = False,
    cached: bool = False,
    proved: Proved | None = None,
    progress: Tell | None = None,
) -> Exploration:
    """`explore`, with the sweep, the tensors and the tools."""
    points, left_out = sweep.points()
    if workers < 1:
        raise ValueError(f"jobs must be at least 1, not {workers}")
    if (unplaced := [name for name in sweep.objectives if name in OF_PLACED]) and not any(
        point.seeds for point in points
    ):
        raise ValueError(f"{unplaced[0]} needs place and route: give seeds (--pnr)")
    tools = jobs.tools(points)
    tensors = standard() if tensors is None else list(tensors)
    tell = progress or (lambda now: None)
    results, answered = _answered(points, 0 if cached else workers, scheduler, force, tell)
    rows = []
    for point in points:
        if point.id in results:
            rows.append(_row(point, results[point.id], tensors, proved))
            tell(dataclasses.replace(answered, judged=len(rows)))
    best = front(rows, sweep.objectives)
    return Exploration(
        sweep=sweep,
        rows=[dataclasses.replace(row, pareto=row.id in best) for row in rows],
        left_out=left_out,
        missing=len(points) - len(rows),
        tensors=tensors,
        tools=tools,
    )


def _answered(
    points: Sequence[Point], workers: int, scheduler: str | None, force: bool, progress: Tell
) -> tuple[dict[str, jobs.Outcome], Progress]:
    """The outcome of each point by its id, and the last progress. Without workers, only points on record have one."""
    kept = {} if force and workers else jobs.on_record(points, max(workers, 1))
    found = {id: jobs.Outcome(result=result) for id, result in kept.items()}
    cached, waiting = len(found), [point for point in points if workers and point.id not in found]
    ended: Generator[tuple[Point, jobs.Outcome]] = (
        on_cluster(waiting, scheduler, force)
        if scheduler and waiting
        else jobs.locally(waiting, max(workers, 1), force)
    )

    def tell() -> Progress:
        failed = sum(not outcome.done for outcome in found.values())
        left = len(points) - len(found)
        now = Progress(
            total=len(points),
            cached=cached,
            done=len(found) - failed,
            failed=failed,
            running=left if scheduler else min(workers, left),
        )
        progress(now)
        return now

    now = tell()
    with closing(ended):  # ends its jobs, also after an interrupt
        for point, outcome in ended:
            found[point.id] = outcome
            now = tell()
    return found, now


def _row(point: Point, outcome: jobs.Outcome, tensors: Sequence[Tensor], proved: Proved | None) -> Explored:
    said = described(point)
    if outcome.result is None:
        return Explored(**said, status="failed", error=outcome.error, log=outcome.log, proof=None)
    cost, numerics = measured(outcome.result), point.config.numerics
    if "fmax_mhz" in cost:
        blocks = cost["fmax_mhz"] * 1e6 / point.config.beats
        cost |= {
            "blocks_per_s": blocks,
            "gbytes_per_s": round(
                blocks * sum(port.width for port in numerics.ports if port.role is Role.NUMBERS) / 8 / 1e9, 3
            ),
        }
    if not point.config.alternatives:  # each mode loses something else
        total, each = loss(numerics, tensors)
        cost |= {**total.to_dict(), "accuracy": {name: one.to_dict() for name, one in each.items()}}
    return Explored(**said, **cost, status="done", proof="not asked" if proved is None else proved(cost["verilog"]))


def measured(result: Mapping) -> dict[str, Any]:
    """The result of a job as fields of `Explored`."""
    found: dict[str, Any] = {"verilog": result["verilog"]}
    found |= {
        name: result["whole"][name] for name in ("luts", "carries", "muxes", "ffs", "logic_cells", "levels", "delay_ps")
    }
    if placed := result.get("placed"):
        found |= {
            "pnr_seeds": placed["seeds"],
            "pnr_luts": placed["luts"],
            **{name: placed[name] for name in ("fmax_mhz", "fmax_lowest_mhz", "fmax_highest_mhz")},
        }
    return found
