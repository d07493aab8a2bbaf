"""`mxcast explore`: cost and loss of each rule."""

from __future__ import annotations

import contextlib
import os
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from ...spec.catalogue import unknown_name
from ..errors import ExitCode
from ..options.assignments import assignment
from ..options.common import Force
from ..output.output import Output
from ..output.streams import complain
from ..output.text import one_line

if TYPE_CHECKING:
    from ...explore import Exploration, Explored, Lists, Progress
    from ...explore.tensors import Tensor

Several = list[str] | None


def explore(
    output: Output,
    sweep: Annotated[
        str | None,
        typer.Argument(
            metavar="SWEEP",
            show_default="rounding; decoders, casts",
            help="A sweep by name (mxcast list sweeps), or a TOML file of one.",
        ),
    ] = None,
    op: Annotated[
        str | None, typer.Option("--op", metavar="NAME", show_default="the sweep's", help="The operation of the sweep.")
    ] = None,
    format: Annotated[
        Several, typer.Option("-f", "--format", metavar="NAME", show_default="the sweep's", help="Format; repeatable.")
    ] = None,
    profile: Annotated[
        Several, typer.Option("--profile", metavar="NAME", show_default="the sweep's", help="A profile; repeatable.")
    ] = None,
    target: Annotated[
        Several, typer.Option("--target", metavar="NAME", show_default="the sweep's", help="A target; repeatable.")
    ] = None,
    set: Annotated[
        Several,
        typer.Option(
            "--set",
            metavar="KEY=VALUE",
            show_default=False,
            help="A rule or a choice of architecture. Repeat a key for several values.",
        ),
    ] = None,
    pnr: Annotated[bool, typer.Option("--pnr", help="Also place and route, with 3 seeds, for Fmax.")] = False,
    seeds: Annotated[
        int | None, typer.Option("--seeds", min=1, show_default="3", help="Number of seeds for place and route.")
    ] = None,
    tensors: Annotated[
        Path | None,
        typer.Option(
            "--tensors",
            metavar="FILE",
            show_default="weights and distributions that ship",
            help="Tensors on which errors are measured (.npy, .npz, .safetensors).",
        ),
    ] = None,
    objective: Annotated[
        Several,
        typer.Option(
            "--objective",
            metavar="COLUMN",
            show_default="luts, levels, sqnr_db; decoders: differing, casts: max_relative_error",
            help="Column of the Pareto front; repeatable.",
        ),
    ] = None,
    jobs: Annotated[int, typer.Option("-j", "--jobs", min=1, help="Number of processes.")] = 2,
    scheduler: Annotated[
        str | None,
        typer.Option(
            "--scheduler",
            metavar="ADDRESS",
            show_default=False,
            help="Give the jobs to a Dask cluster: tcp://host:8786.",
        ),
    ] = None,
    emit_jobs: Annotated[
        Path | None,
        typer.Option(
            "--emit-jobs",
            metavar="FILE",
            show_default=False,
            help="Write one command for each job, for Slurm arrays or make, and run nothing.",
        ),
    ] = None,
    cached: Annotated[bool, typer.Option("--cached", help="Show cached points, and run nothing.")] = False,
    out: Annotated[Path | None, typer.Option("-o", "--out", metavar="DIR", show_default="build/explore-SWEEP")] = None,
    report: Annotated[bool, typer.Option("--report/--no-report", help="Write report, tables and drawing.")] = True,
    force: Force = False,
) -> None:
    """Sweep rules, architectures and targets. Measure the cost and the error of each point, and recommend one.

    Results are cached: an interrupted sweep resumes. Exit code 1 if a point failed.
    """
    if output.json and str(emit_jobs) == "-":
        raise ValueError("--emit-jobs - prints commands, not JSON: name a file, or leave out --json")
    from ...explore import chosen_sweep, exploration
    from ...explore.report.output import document, write
    from ...explore.sweep import keys_of
    from ...proof import recorded

    lists: dict[str, list | None] = {
        "format": format,
        "profile": profile,
        "target": target,
        "seeds": [seeds or 3] if pnr or seeds else None,
    }
    chosen = chosen_sweep(sweep, op, **cast("Lists", {"format": format} if format else {}))
    keys = keys_of(chosen.operation)
    for key, value in map(assignment, set or ()):
        if key not in keys:
            raise ValueError(unknown_name("key of a sweep", key, keys))
        lists[key] = [*(lists.get(key) or ()), value]
    chosen = chosen.replace(**cast("Lists", {key: values for key, values in lists.items() if values}))
    if objective:
        chosen = chosen.with_objectives(objective)
    if emit_jobs:
        from ...host.files import write_whole

        points, _ = chosen.points()
        text = "".join(point.job + (" --force" if force else "") + "\n" for point in points)
        if str(emit_jobs) == "-":
            print(text, end="")
            return
        if emit_jobs.is_dir():
            raise IsADirectoryError(f"{emit_jobs} is a folder: --emit-jobs names a file")
        write_whole(emit_jobs, text)
        output.say(
            f"wrote {emit_jobs}: {len(points)} jobs, whose results a sweep with the same cache (MXCAST_CACHE) finds"
        )
        output.document({"jobs": str(emit_jobs), "count": len(points)})
        return
    judged = _given(tensors, output) if tensors else None
    folder = out or Path("build") / f"explore-{chosen.name}"
    if report:
        if folder.exists() and not folder.is_dir():
            raise NotADirectoryError(f"{folder} is no folder")
        folder.mkdir(parents=True, exist_ok=True)  # fails before the sweep
        if not os.access(folder, os.W_OK):
            raise PermissionError(f"{folder} cannot be written")
    with _bar(output, chosen.name) as progress, _interrupted(progress) as progress:
        found = exploration(
            chosen,
            tensors=judged,
            workers=jobs,
            scheduler=scheduler,
            force=force,
            cached=cached,
            proved=recorded,
            progress=progress,
        )
    _show(output, found)
    for row in found.failed:
        complain(f"mxcast: {row.emit} on {row.target} failed: {row.error}")
        if output.verbose and row.log:
            complain(row.log)
    files = write(found, folder) if report else {}
    for path in files.values():
        output.say(f"wrote {path}")
    output.document({**document(found), "files": {kind: str(path) for kind, path in files.items()}})
    if found.failed:
        raise typer.Exit(ExitCode.FAILED)


def _given(path: Path, output: Output) -> list[Tensor]:
    """The tensors of a file that points are judged on; arrays of other numbers are named."""
    from ...explore.tensors import given
    from ...tensors.convert.files import read_tensors

    arrays, others = read_tensors(path)
    if not arrays:
        raise ValueError(f"{path} has no numbers")
    if others:
        more = f" and {len(others) - 3} more" if len(others) > 3 else ""
        output.say(
            "not judged on, as they are not arrays of F32, F16 or BF16 numbers: "
            f"{', '.join(map(one_line, others[:3]))}{more} of {path}"
        )
    return given(arrays, source=path.name)


def _show(output: Output, found: Exploration) -> None:
    """Print the front, the ablation, and the recommendation."""
    from ...explore.operations import OPERATIONS
    from ...explore.report.recommendation import recommended

    shown = [
        "target",
        "format",
        "destination",
        *OPERATIONS[found.sweep.operation].rules,
        *OPERATIONS[found.sweep.operation].choices,
        "registered_after",
    ]
    best = [row for row in found.rows if row.pareto]
    objectives = ", ".join(found.sweep.objectives)
    lost = ["lost"] if any(row.lost for row in found.rows) else []
    figures = list(dict.fromkeys([*found.sweep.objectives, *OPERATIONS[found.sweep.operation].objectives, *lost]))
    differing = _differing(shown, found.rows)
    output.table(
        [
            {
                **{name: _short(getattr(row, name)) for name in differing},
                **{name: getattr(row, name) for name in figures},
                "proof": row.proof,
            }
            for row in best
        ],
        f"Pareto front of {objectives}: {len(best)} of {len(found.rows)} points{_alike(found.rows, differing)}",
    )
    if found.rows and not best:
        output.say(f"there is no Pareto front: no point has all of {objectives}")
    differing = _differing(
        ["target", "format", "source", "block_size", "build", "registered_after", "random_bits"], found.ablation
    )
    output.table(
        [
            {
                **{name: _short(getattr(e, name)) for name in differing},
                "clause": e.clause,
                "luts": e.luts,
                "per_cent": e.percent,
                "levels": e.levels,
                "sqnr_db": e.sqnr_db,
                "most_db": e.most_db,
                "on": e.most_on,
            }
            for e in found.ablation
        ],
        "what each clause costs, and buys",
    )
    for one in recommended([row.to_dict() for row in found.rows if row.status == "done"]):
        others = [f"or {'; '.join(one.others)}"] if one.others else []
        output.say("\n  ".join([f"{one.about}: {one.text}", *filter(None, [one.command]), *others]))
    if found.missing:
        output.say(f"{found.missing} of {found.missing + len(found.rows)} points are not on record")
    if found.left_out:
        output.say(f"{len(found.left_out)} combinations cannot be built: {found.left_out[0].reason}")


def _differing(names: list[str], rows: Sequence[object]) -> list[str]:
    """Fields in which rows differ from each other."""
    return [name for name in names if len({getattr(row, name) for row in rows}) > 1]


def _alike(rows: Sequence[Explored], differing: list[str]) -> str:
    """Format and target, if they are the same in all rows."""
    same = [str(_short(getattr(rows[0], name))) for name in ("format", "target") if rows and name not in differing]
    return f" ({', '.join(same)})" if same else ""


def _short(value: object) -> object:
    """The names of formats without the prefix of their blocks, since tables are narrow."""
    return re.sub(r"\bmx(?:fp\d_|(?=int))", "", value) if isinstance(value, str) else value


@contextlib.contextmanager
def _interrupted(progress: Callable | None) -> Iterator[Callable]:
    """Say how many points are kept, if the sweep is interrupted."""
    last = None

    def follow(now: Progress) -> None:
        nonlocal last
        last = now
        if progress:
            progress(now)

    try:
        yield follow
    except KeyboardInterrupt:
        kept = f"{last.done} of {last.total} points are kept" if last else "no point is kept"
        how = "; the same command goes on from there" if last and last.done else ""
        raise KeyboardInterrupt(f"interrupted: {kept}{how}") from None


@contextlib.contextmanager
def _bar(output: Output, name: str) -> Iterator[Callable[[Progress], None] | None]:
    """A callable that draws the progress of the sweep; None without a terminal."""
    if not output.talks or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    with Bar(
        TextColumn(f"exploring {name}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[said]}"),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
    ) as bar:
        task, judging = bar.add_task("", total=None, said=""), False

        def progress(now: Progress) -> None:
            nonlocal judging
            if bar.tasks[task].total is None:  # cached points take no time
                bar.reset(task, total=now.total - now.cached)
            if now.judged and not judging:  # judging a point takes another time than measuring it
                judging = True
                bar.reset(task, total=now.done + now.failed)
            bar.update(
                task,
                completed=now.judged or now.done + now.failed - now.cached,
                said=f"{now.judged} of {now.done + now.failed} judged on tensors"
                if now.judged
                else f"{now.running} running, {now.done} done, {now.failed} failed, {now.cached} cached",
            )

        yield progress
