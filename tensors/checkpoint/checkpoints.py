"""Conversion of a model in a folder: shards of tensors, `model.safetensors.index.json` and `config.json`.

One job converts each shard to a shard of the same name (`shard_jobs.py`). A killed command is resumed by the same
command (`unfinished_model.py`). The index is written last: without it, libraries do not read the folder as a model.
"""

from __future__ import annotations

import glob
import json
import shutil
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ...host.cache import sources
from ...host.files import replaced, write_whole
from ...spec import layout_named
from ...spec.layouts.scaled import AnyLayout
from ..configuration.document import CONFIG, HF_QUANT_CONFIG
from ..configuration.reading import groups_in
from ..configuration.writing import configured
from ..containers.containers import READERS, read
from ..convert.bridging import OtherBlock
from ..convert.options import ConvertOptions, Progress, QuantizeOptions
from ..convert.quantized_source import QuantizedSource, arrays_of
from ..convert.repacking import layouts_after
from ..convert.selection import asked_for, check_blocks_of_rows, quantizable
from ..layouts.experts import has_experts
from ..layouts.own_metadata import KEY, about
from ..unrecognised.arrays import check_numbers
from .model_folder import INDEX, Checkpoint
from .shard_jobs import Job, Report, Run
from .unfinished_model import UnfinishedModel

WEIGHTS = (".safetensors", ".bin", ".pt", ".pth", ".gguf", ".onnx", ".npz", ".h5", ".msgpack")
"""Suffixes of other files with weights, which are not copied."""


@dataclass(frozen=True, kw_only=True)
class ConvertedCheckpoint:
    """The outcome: the report of each shard, the shards that an earlier command completed (``kept``), the shards that
    this command resumed, and the files of the model that are not in the new folder (``left_out``).
    """

    path: Path
    layout: str | None
    shards: dict[str, Report]
    kept: tuple[str, ...]
    resumed: tuple[str, ...]
    left_out: tuple[str, ...]

    def to_dict(self) -> dict:
        names = {"kept": self.kept, "resumed": self.resumed, "left_out": self.left_out}
        return {"path": str(self.path), "layout": self.layout, "shards": self.shards, **names}


@dataclass(frozen=True, kw_only=True)
class _Plan:
    """The jobs of a conversion, and the tensors that the configuration of the new model describes."""

    jobs: Sequence[Job]
    layout: str | None
    placed: Mapping[str, AnyLayout]
    """The layouts of the quantized tensors of the new model."""
    arrays: Collection[str]
    """The arrays that are quantized before or after the conversion."""
    numbers: Sequence[str] = ()
    """The tensors that become numbers."""


def quantize_checkpoint(
    source: Path, target: Path, options: QuantizeOptions, *, run: Run, progress: Progress = None
) -> ConvertedCheckpoint:
    """Quantize the tensors of a model in a folder, in the same way as `files.quantize_with` a file. ``run`` runs the
    jobs; no byte depends on it.

    Raises the errors of `files.quantize_with` and `Checkpoint`. ``target`` must be new, or left unfinished by the same
    command.
    """
    opened = Checkpoint(source)
    if opened.is_ours:
        raise ValueError(f"{source} has been quantized by mxcast already")
    if (groups := groups_in(opened.folder)) and groups.layouts:
        words = " or ".join(dict.fromkeys(one.name for one in groups.layouts))
        raise ValueError(f"{source} has weights in the layout {words} already")
    layout = None if options.layout is None else layout_named(options.layout, options.numerics.block)
    if layout is not None:
        check_blocks_of_rows(layout)
    asked = asked_for(opened.contents, options.include, options.exclude)
    chosen = quantizable(opened.folder, opened.contents, options.numerics.block_size, options.pad, asked)
    check_numbers(opened.folder, opened.contents.tensors, chosen)
    jobs = []
    for shard, contents in opened.shards.items():
        names = [name for name in contents.tensors if name in chosen]
        is_transposed = options.is_transposed and any(len(chosen[name].shape) == 3 for name in names)
        own = replace(options, include=_exactly(names), exclude=(), is_transposed=is_transposed)
        jobs.append(_job(opened, target, shard, own if names else None))
    placed = {} if layout is None else dict.fromkeys(chosen, layout)
    return _made(opened, target, _Plan(jobs=jobs, layout=options.layout, placed=placed, arrays=chosen), run, progress)


def convert_checkpoint(
    source: Path, target: Path, options: ConvertOptions, *, run: Run, progress: Progress = None
) -> ConvertedCheckpoint:
    """Convert the quantized tensors of a model in a folder, in the same way as `repacking.convert_file` a file.
    ``stored_as`` and ``format`` are not needed if the configuration declares the layouts. Raises the errors of
    `quantize_checkpoint`.
    """
    opened = Checkpoint(source)
    if options.experts is not None and not has_experts(opened.contents.tensors, options.experts):
        raise ValueError(f"{source} has no experts that can be {options.experts}")
    plan = _plan_of_ours(opened, target, options) if opened.is_ours else _plan_of_layouts(opened, target, options)
    return _made(opened, target, plan, run, progress)


def _plan_of_ours(opened: Checkpoint, target: Path, options: ConvertOptions) -> _Plan:
    """The conversion of a model that mxcast quantized."""
    if options.layout is None and options != ConvertOptions(stored_as=options.stored_as, format=options.format):
        raise ValueError(
            f"{opened.folder} was written by mxcast quantize: it is dequantized as a whole, by its own rules"
        )
    if options.stored_as is not None or options.format is not None:
        raise ValueError(f"{opened.folder} was written by mxcast quantize: it says itself how it is stored")
    asked = asked_for(opened.contents, options.include, options.exclude)
    chosen: dict[str, list[str]] = {}
    blocks = []
    for shard, contents in opened.shards.items():
        chosen[shard] = []
        if KEY in contents.metadata:
            numerics, shapes = about(opened.folder / shard, contents)
            chosen[shard] = [name for name in shapes if name in asked]
            blocks.append(numerics.block)
    if not any(chosen.values()):
        raise ValueError(f"the patterns of names leave no tensor of {opened.folder} to convert")
    jobs = []
    for shard, names in chosen.items():
        own = replace(_for_shard(options, names), include=_exactly(names), exclude=())
        jobs.append(_job(opened, target, shard, own if names else None))
    arrays = {name for names in chosen.values() for name in names}
    placed: dict[str, AnyLayout] = {}
    if options.layout is not None:
        block = blocks[0] if options.block is None else OtherBlock.named(options.block).of(blocks[0]) or blocks[0]
        placed = dict.fromkeys(sorted(arrays), layout_named(options.layout, block))
    return _Plan(jobs=jobs, layout=options.layout, placed=placed, arrays=arrays)


def _plan_of_layouts(opened: Checkpoint, target: Path, options: ConvertOptions) -> _Plan:
    """The conversion of a model in the layouts of a library."""
    found = QuantizedSource(opened.folder, options, opened.contents)
    jobs = [_job(opened, target, shard, _for_shard(options, names)) for shard, names in opened.arrays.items()]
    return _Plan(
        jobs=jobs,
        layout=options.layout,
        placed=found.kept | layouts_after(found, options),
        arrays=set(opened.contents.tensors) - set(found.copied) | arrays_of(found.kept),
        numbers=found.names if options.layout is None else (),
    )


def _for_shard(options: ConvertOptions, names: Sequence[str]) -> ConvertOptions:
    """The options of a shard with these tensors, which may have no experts."""
    return options if options.experts and has_experts(names, options.experts) else replace(options, experts=None)


def _exactly(names: Sequence[str]) -> tuple[str, ...]:
    """Patterns that match these names alone."""
    return tuple(map(glob.escape, names))


def _job(opened: Checkpoint, target: Path, shard: str, options: QuantizeOptions | ConvertOptions | None) -> Job:
    return Job(source=str(opened.folder.resolve()), target=str(target.resolve()), shard=shard, options=options)


def _made(opened: Checkpoint, target: Path, plan: _Plan, run: Run, progress: Progress) -> ConvertedCheckpoint:
    """Run the jobs that are not done, and write the other files."""
    plain = [
        name
        for name, one in opened.contents.tensors.items()
        if name not in plan.arrays and name.endswith(".weight") and len(one.shape) > 1
    ]
    others = [name.removesuffix(".weight") for name in sorted([*plain, *plan.numbers])]
    documents = {
        name: one
        for name, one in configured(opened.folder, plan.placed, others, opened.contents.tensors).items()
        if one
    }
    if target.suffix in READERS:
        raise ValueError(f"what {opened.folder} becomes is a folder, not {target}")
    if target.exists() and target.samefile(opened.folder):
        raise ValueError(f"{opened.folder} and {target} are the same folder")
    copied, left_out = _others(opened, target)
    index = [INDEX] if opened.has_index else []
    unfinished = UnfinishedModel(target, _identity(opened, plan.jobs), [job.shard for job in plan.jobs])
    with unfinished.claimed([*opened.shards, *copied, *documents, *index]):
        known = {job.shard: unfinished.report(job.shard) for job in plan.jobs}
        done = {shard: report for shard, report in known.items() if report is not None}
        kept, waiting = tuple(done), [job for job in plan.jobs if job.shard not in done]
        begun = tuple(job.shard for job in waiting if unfinished.is_begun(job.shard))
        for job, report in run([replace(job, unfinished=str(unfinished.folder(job.shard))) for job in waiting]):
            unfinished.keep(job.shard, report)
            done[job.shard] = report
            if progress:
                progress(len(done), len(plan.jobs))
        for name in copied:
            with replaced(target / name) as file, open(opened.folder / name, "rb") as original:
                shutil.copyfileobj(original, file)
        for name, document in documents.items():
            write_whole(target / name, json.dumps(document, indent=2) + "\n")
        if opened.has_index:
            write_whole(target / INDEX, json.dumps(_index(target, opened), indent=2) + "\n")
    return ConvertedCheckpoint(
        path=target,
        layout=plan.layout,
        shards={shard: done[shard] for shard in sorted(done)},
        kept=kept,
        resumed=begun,
        left_out=left_out,
    )


def _identity(opened: Checkpoint, jobs: Sequence[Job]) -> str:
    """A text of everything that decides a byte: the jobs, the files of the shards, and the code."""
    states = ((shard, (opened.folder / shard).stat()) for shard in opened.shards)
    stamps = [[name, one.st_ino, one.st_size, one.st_mtime_ns, one.st_ctime_ns] for name, one in states]
    return json.dumps([[job.to_dict() for job in jobs], stamps, sources("models", "spec", "tensors")])


def _others(opened: Checkpoint, target: Path) -> tuple[list[str], tuple[str, ...]]:
    """The names of the other files of a model: files that are copied, such as vocabularies, and the rest."""
    made, copied, left_out = {INDEX, CONFIG, HF_QUANT_CONFIG, *opened.shards}, [], []
    for path in sorted(opened.folder.iterdir()):
        if path.name in made or (path.is_dir() and path.resolve() == target.resolve()):
            continue
        if path.is_file() and path.suffix not in WEIGHTS:
            copied.append(path.name)
        else:
            left_out.append(path.name + "/" * path.is_dir())
    return copied, tuple(left_out)


def _index(target: Path, opened: Checkpoint) -> dict[str, object]:
    """The index of the new shards. Raises ValueError for a tensor in two shards."""
    shards, size, found = [*opened.shards], 0, dict[str, str]()
    for shard in shards:
        for name, stored in read(target / shard).tensors.items():
            if name in found:
                raise ValueError(f"{found[name]} and {shard} of {target} both have the tensor {name!r}")
            found[name], size = shard, size + stored.data.nbytes
    return {"metadata": {"total_size": size}, "weight_map": dict(sorted(found.items()))}
