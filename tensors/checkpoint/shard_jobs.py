"""One shard of a model after the other: a job, in a process of its own or on the workers of a Dask cluster.

The shard of the new model appears under its name whole or not at all. Workers must see the folders of both models.
"""

from __future__ import annotations

import dataclasses
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
from ...spec import Encode, Nvfp4Encode
from ..convert.conversions import Dequantized, Repacked
from ..convert.files import dequantize_file, quantize_file
from ..convert.quantized_source import QuantizedSource
from ..convert.repacking import converted, quantize_layout, repack_file
from ..convert.transposing import transposed
from ..unrecognised.named_arrays import NamedArrays
from .model_folder import Checkpoint


@dataclass(frozen=True, kw_only=True)
class Job:
    """What becomes of a shard: folders of both models, the name of the shard, a verb of `VERBS`, its options as JSON
    has them, and the folder from which this job resumes; without a folder it cannot be resumed.
    """

    source: str
    shard: str
    target: str
    verb: str
    options: dict[str, Any]
    unfinished: str | None = None

    @property
    def folder(self) -> Path | None:
        """The path of ``unfinished``."""
        return None if self.unfinished is None else Path(self.unfinished)

    def to_dict(self) -> dict[str, Any]:
        return dataclasses.asdict(self)


Run = Callable[[Sequence[Job]], Generator[tuple[Job, dict[str, Any]]]]
"""Does jobs, and gives each with its report, in the order in which they end. Raises the error of one that fails."""


def locally(count: int) -> Run:
    """So many processes at a time on this machine."""

    def run(jobs: Sequence[Job]) -> Generator[tuple[Job, dict[str, Any]]]:
        def answer(job: Job) -> str:
            # -P: this package, whatever modules the folder has where the command was given
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
    """On the workers of the Dask scheduler at an address."""

    def run(jobs: Sequence[Job]) -> Generator[tuple[Job, dict[str, Any]]]:
        asked = {job.shard: job for job in jobs}
        items = {shard: (json.dumps(job.to_dict()),) for shard, job in asked.items()}
        for shard, said, reason in cluster.on_cluster(answered, items, address) if jobs else ():
            if said is None:
                raise ToolError(f"{shard} is not converted: {reason}")
            yield asked[shard], _report(said)

    return run


def _report(said: str) -> dict[str, Any]:
    """The report of a job. Raises its error."""
    found = json.loads(said.splitlines()[-1])
    if "error" in found:
        raise ValueError(found["error"])
    return found


def answered(said: str) -> str:
    """Do the job that a text of JSON describes: its report, or its error as a sentence."""
    job = Job(**json.loads(said))
    try:
        return json.dumps(VERBS[job.verb](job, Path(job.source) / job.shard, Path(job.target) / job.shard))
    except (ValueError, TypeError, OSError, MemoryError) as error:
        if job.folder and isinstance(error, ValueError | TypeError):  # the same command would be refused again
            for part in job.folder.glob("*"):
                remove(part)
        said = f"{error.filename}: {error.strerror}" if isinstance(error, OSError) and error.filename else str(error)
        return json.dumps({"error": " ".join(said.split()) or type(error).__name__})


def main() -> None:
    """The job on standard input, in a process of its own."""
    print(answered(sys.stdin.read()))


def _quantize(job: Job, source: Path, target: Path) -> dict[str, Any]:
    options = dict(job.options)
    rules, layout, profile = (options.pop(name) for name in ("numerics", "layout", "profile"))
    kind = Nvfp4Encode if rules.get("operation") == Nvfp4Encode.name else Encode
    numerics = kind.from_dict(rules)
    options["unfinished"] = job.folder
    if options.pop("is_transposed"):
        with transposed(source, target, options["include"], (), job.folder) as made:
            return _quantized(made, target, numerics, profile, layout, options)
    return _quantized(source, target, numerics, profile, layout, options)


def _quantized(
    source: Path,
    target: Path,
    numerics: Encode | Nvfp4Encode,
    profile: str | None,
    layout: str | None,
    options: dict[str, Any],
) -> dict[str, Any]:
    if layout is None:
        return quantize_file(source, target, numerics, profile, **options).to_dict()
    return quantize_layout(source, target, numerics, profile, layout=layout, **options).to_dict()


def _convert(job: Job, source: Path, target: Path) -> dict[str, Any]:
    options = dict(job.options)
    return repack_file(source, target, options.pop("layout"), unfinished=job.folder, **options).to_dict()


def _dequantize(job: Job, source: Path, target: Path) -> dict[str, Any]:
    return dequantize_file(source, target, unfinished=job.folder).to_dict()


def _repack(job: Job, source: Path, target: Path) -> dict[str, Any]:
    """The tensors whose codes are in a shard; their scales may be in others."""
    opened, options = Checkpoint(Path(job.source)), job.options
    own = options["stored_as"], options["format"], options["include"], options["exclude"]
    named = NamedArrays(*options["named"]) if options["named"] else None
    found = QuantizedSource(opened.folder, *own, opened.contents, named)
    found.restrict(opened.arrays[job.shard], opened.shards[job.shard].metadata)
    layout = options["layout"]
    conversion = (
        Dequantized(options["profile"], options["is_transposed"]) if layout is None else Repacked(layout, target.suffix)
    )
    others = {"experts": options["experts"], "block": options["block"], "unfinished": job.folder}
    return converted(found, target, layout, conversion, 1, None, **others).to_dict()


def _copy(job: Job, source: Path, target: Path) -> dict[str, Any]:
    with named(target), work_folder(target, job.folder, "copied") as (folder, _):
        shutil.copyfile(source, folder / "whole")
        os.replace(folder / "whole", target)
    return {"path": str(target), "tensors": {}, "copied": ["all"]}


VERBS: dict[str, Callable[[Job, Path, Path], dict[str, Any]]] = {
    "quantize": _quantize,
    "convert": _convert,
    "dequantize": _dequantize,
    "repack": _repack,
    "copy": _copy,
}
