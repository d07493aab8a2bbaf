"""The conversion of one shard of a model as a job, in a process of its own or on a worker of a Dask cluster.

The new shard appears whole or not at all. Workers need access to the folders of both models.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...host import cluster, processes
from ...host.errors import ToolError
from ...host.files import named, remove
from ...host.unfinished import work_folder
from ...spec.catalogue import constructed
from ..convert.files import dequantize_file, quantize_with
from ..convert.options import ConvertOptions, Execution, QuantizeOptions
from ..convert.quantized_source import QuantizedSource
from ..convert.repacking import convert_file, convert_tensors
from ..layouts.own_metadata import KEY
from .model_folder import Checkpoint

Report = dict[str, Any]
"""The JSON of `QuantizedFile`, `DequantizedFile` or `ConvertedFile`."""


@dataclass(frozen=True, kw_only=True)
class Job:
    """The conversion of one shard: the folders of both models, and the name of the shard."""

    source: str
    shard: str
    target: str
    options: QuantizeOptions | ConvertOptions | None = None
    """None for a shard that is copied."""
    unfinished: str | None = None
    """The folder from which the job resumes; None if it cannot be resumed."""

    @property
    def folder(self) -> Path | None:
        """The path of ``unfinished``."""
        return None if self.unfinished is None else Path(self.unfinished)

    def to_dict(self) -> dict[str, object]:
        return {**vars(self), "options": None if self.options is None else self.options.to_dict()}

    @classmethod
    def from_dict(cls, given: dict[str, object]) -> Job:
        """The inverse of `to_dict`, from JSON."""
        if not isinstance(options := given["options"], dict):
            return constructed(cls, given)
        kind = QuantizeOptions if "numerics" in options else ConvertOptions
        return constructed(cls, {**given, "options": kind.from_dict(options)})


Run = Callable[[Sequence[Job]], Generator[tuple[Job, Report]]]
"""Runs jobs, and yields each with its report when it ends. Raises the error of a job that fails."""


def locally(count: int) -> Run:
    """Run this many processes at a time on this machine."""

    def run(jobs: Sequence[Job]) -> Generator[tuple[Job, Report]]:
        def answer(job: Job) -> str:
            # -P: no modules of the working folder
            command = [sys.executable, "-P", "-c", f"from {__name__} import main; main()"]
            done = processes.run(command, input=json.dumps(job.to_dict()))
            if not done.output:
                raise ToolError(
                    f"the job of {job.shard} ended with status {done.status} and without a result", done.errors
                )
            return done.output

        with processes.workers(count) as pool:
            for job, said in pool.completed(answer, jobs):
                yield job, _report(said)

    return run


def on_cluster(address: str) -> Run:
    """Run on the workers of the Dask scheduler at an address."""

    def run(jobs: Sequence[Job]) -> Generator[tuple[Job, Report]]:
        asked = {job.shard: job for job in jobs}
        items = {shard: (json.dumps(job.to_dict()),) for shard, job in asked.items()}
        for shard, said, reason in cluster.on_cluster(run_job, items, address) if jobs else ():
            if said is None:
                raise ToolError(f"{shard} is not converted: {reason}")
            yield asked[shard], _report(said)

    return run


def _report(output: str) -> Report:
    """The report of a job from its output. Raises its error."""
    found = json.loads(output.splitlines()[-1])
    if "error" in found:
        raise ValueError(found["error"])
    return found


def run_job(text: str) -> str:
    """Run the job that a text of JSON describes. Returns its report, or its error as a sentence, as JSON."""
    job = Job.from_dict(json.loads(text))
    try:
        return json.dumps(_converted(job, Path(job.source) / job.shard, Path(job.target) / job.shard))
    except (ValueError, TypeError, OSError, MemoryError) as error:
        if job.folder and isinstance(error, ValueError | TypeError):  # the same command would fail again
            for part in job.folder.glob("*"):
                remove(part)
        said = f"{error.filename}: {error.strerror}" if isinstance(error, OSError) and error.filename else str(error)
        return json.dumps({"error": " ".join(said.split()) or type(error).__name__})


def main() -> None:
    """Run the job on standard input, in a process of its own."""
    print(run_job(sys.stdin.read()))


def _converted(job: Job, source: Path, target: Path) -> Report:
    match job.options:
        case None:
            return _copied(job, source, target)
        case QuantizeOptions():
            return quantize_with(source, target, job.options, Execution(unfinished=job.folder)).to_dict()
        case ConvertOptions():
            return _dequantized_or_repacked(job, job.options, source, target)


def _copied(job: Job, source: Path, target: Path) -> Report:
    with named(target), work_folder(target, job.folder, "copied") as (folder, _):
        shutil.copyfile(source, folder / "whole")
        os.replace(folder / "whole", target)
    return {"path": str(target), "tensors": {}, "copied": ["all"]}


def _dequantized_or_repacked(job: Job, options: ConvertOptions, source: Path, target: Path) -> Report:
    """Convert the tensors whose codes are in a shard. Their scales may be in other shards, unless mxcast wrote it."""
    execution = Execution(unfinished=job.folder)
    opened = Checkpoint(Path(job.source))
    contents = opened.shards[job.shard]
    if KEY not in contents.metadata:
        found = QuantizedSource(opened.folder, options, opened.contents)
        found.restrict(opened.arrays[job.shard], contents.metadata)
        return convert_tensors(found, target, options, execution).to_dict()
    if options.layout is None:
        return dequantize_file(source, target, unfinished=job.folder).to_dict()
    return convert_file(source, target, options, execution).to_dict()
