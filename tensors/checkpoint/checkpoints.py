"""Models in a folder: shards of tensors with `model.safetensors.index.json`, and `config.json` beside them.

Each shard becomes a shard of the same name, by a job of its own (`shard_jobs.py`). A command that was killed is resumed
by giving it again (`unfinished_model.py`). The index is written last: without it, no library takes the folder for a
model.
"""

from __future__ import annotations

import glob
import json
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ...host.cache import sources
from ...host.files import replaced, write_whole
from ...spec import LAYOUTS, BlockFormat, Encode, Nvfp4Encode, layout_named
from ...spec.catalogue import known_name
from ...spec.layouts.scaled import SCALED_LAYOUTS, AnyLayout
from ..containers.containers import READERS, read
from ..convert.bridging import OtherBlock
from ..convert.files import asked_for, quantizable
from ..convert.quantized_source import QuantizedSource, arrays_of
from ..convert.repacking import layouts_after
from ..layouts.experts import Experts, has_experts
from ..layouts.own_metadata import KEY, about
from ..unrecognised.arrays import check_numbers
from ..unrecognised.named_arrays import NamedArrays
from .config_writers import configured
from .model_config import CONFIG, HF_QUANT_CONFIG, groups_in
from .model_folder import INDEX, Checkpoint
from .shard_jobs import Job, Run
from .unfinished_model import UnfinishedModel

WEIGHTS = (".safetensors", ".bin", ".pt", ".pth", ".gguf", ".onnx", ".npz", ".h5", ".msgpack")
"""Suffixes of files with weights, which are not copied beside the shards."""
Progress = Callable[[int, int], None] | None


@dataclass(frozen=True, kw_only=True)
class ConvertedCheckpoint:
    """The outcome: the report of each shard, as `QuantizedFile` and `RepackedFile` have it; the names of the shards
    that an earlier command had completed (``kept``), and of those that this one resumed; and the names of the files of
    the model that are not in the new folder (``left_out``).
    """

    path: Path
    layout: str | None
    shards: dict[str, dict]
    kept: tuple[str, ...]
    resumed: tuple[str, ...]
    left_out: tuple[str, ...]

    def to_dict(self) -> dict:
        names = {"kept": self.kept, "resumed": self.resumed, "left_out": self.left_out}
        return {"path": str(self.path), "layout": self.layout, "shards": self.shards, **names}


def quantize_checkpoint(
    source: Path | str,
    target: Path | str,
    numerics: Encode | Nvfp4Encode,
    profile: str | None = None,
    *,
    layout: str | None = None,
    pad: bool = False,
    seed: int = 0,
    include: Sequence[str] = (),
    exclude: Sequence[str] = (),
    is_transposed: bool = False,
    run: Run,
    progress: Progress = None,
) -> ConvertedCheckpoint:
    """Quantize the tensors of a model in a folder, as `files.quantize_file` or, with ``layout``,
    `repacking.quantize_layout` do those of a file. ``run`` says who does the jobs; no byte depends on it.

    Raises their errors, and those of `Checkpoint`. ``target`` must be new, or left unfinished by the same command.
    """
    opened, target = Checkpoint(Path(source)), Path(target)
    of = None if layout is None else layout_named(known_name("layout", layout, LAYOUTS), numerics.block)
    if opened.is_ours:
        raise ValueError(f"{source} has been quantized by mxcast already")
    if (groups := groups_in(opened.folder)) and groups.layouts:
        words = " and ".join(dict.fromkeys(one.name for one in groups.layouts))
        raise ValueError(f"{source} has weights in the layout {words} already")
    chosen = quantizable(
        opened.folder, opened.contents, numerics.block_size, pad, asked_for(opened.contents, include, exclude)
    )
    check_numbers(opened.folder, opened.contents.tensors, chosen)
    jobs = []
    for shard, contents in opened.shards.items():
        names = [name for name in contents.tensors if name in chosen]
        options = {"numerics": numerics.to_dict(), "profile": profile, "pad": pad, "seed": seed, "layout": layout}
        options["is_transposed"] = is_transposed and any(len(chosen[name].shape) == 3 for name in names)
        jobs.append(_job(opened, target, shard, "quantize" if names else "copy", include=_exactly(names), **options))
    placed = {} if of is None else dict.fromkeys(chosen, of)
    return _made(opened, target, jobs, layout, placed, set(chosen), run, progress)


def convert_checkpoint(
    source: Path | str,
    target: Path | str,
    layout: str | None,
    *,
    stored_as: str | None = None,
    format: str | BlockFormat | None = None,
    profile: str | None = None,
    include: Sequence[str] = (),
    exclude: Sequence[str] = (),
    experts: str | None = None,
    block: str | None = None,
    is_transposed: bool = False,
    named: NamedArrays | None = None,
    run: Run,
    progress: Progress = None,
) -> ConvertedCheckpoint:
    """Convert the quantized tensors of a model in a folder, as `repacking.repack_file` does those of a file, or without
    a ``layout`` `repacking.dequantize_layout`. Where its configuration says how they are stored, ``stored_as`` and
    ``format`` are not needed. Raises the errors of `quantize_checkpoint`.
    """
    opened, target = Checkpoint(Path(source)), Path(target)
    layout = None if layout is None else known_name("layout", layout, LAYOUTS | SCALED_LAYOUTS)
    how = None if experts is None else Experts.named("arrangement of experts", experts)
    if how is not None and not has_experts(opened.contents.tensors, how):
        raise ValueError(f"{source} has no experts that can be {how}")
    jobs: list[Job] = []
    numbers: list[str] = []
    if opened.is_ours:
        if layout is None and (profile or include or exclude or experts or is_transposed):
            raise ValueError(f"{source} was written by mxcast quantize: it is dequantized as a whole, by its own rules")
        chosen, blocks = _of_ours(opened, stored_as, format, asked_for(opened.contents, include, exclude))
        for shard, names in chosen.items():
            verb = "copy" if not names else "dequantize" if layout is None else "convert"
            chosen_here = {"include": _exactly(names), "experts": _where(how, names), "block": block}
            jobs.append(_job(opened, target, shard, verb, layout=layout, **chosen_here))
        parts = {name for names in chosen.values() for name in names}
        to = blocks[0] if block is None else OtherBlock.named(block).of(blocks[0]) or blocks[0]
        placed: dict[str, AnyLayout] = {} if layout is None else dict.fromkeys(sorted(parts), layout_named(layout, to))
    else:
        found = QuantizedSource(opened.folder, stored_as, format, include, exclude, opened.contents, named)
        given = format.name if isinstance(format, BlockFormat) else format
        patterns = {"stored_as": stored_as, "format": given, "include": [*include], "exclude": [*exclude]}
        texts = None if named is None else [named.names, named.reads]
        for shard, names in opened.arrays.items():
            where = {"experts": _where(how, names), "is_transposed": is_transposed, "block": block, "named": texts}
            jobs.append(_job(opened, target, shard, "repack", layout=layout, profile=profile, **patterns, **where))
        parts = set(opened.contents.tensors) - set(found.copied) | arrays_of(found.kept)
        placed = found.kept | ({} if layout is None else layouts_after(found, layout, how, block))
        if layout is None:
            numbers = found.names
    return _made(opened, target, jobs, layout, placed, parts, run, progress, numbers)


def _where(how: Experts | None, names: Sequence[str]) -> str | None:
    """How experts are arranged in a shard, which may have none."""
    return str(how) if how is not None and has_experts(names, how) else None


def _of_ours(
    opened: Checkpoint, stored_as: str | None, format: str | BlockFormat | None, asked: set[str]
) -> tuple[dict[str, list[str]], list[BlockFormat]]:
    """The quantized tensors of each shard, and their block formats."""
    if stored_as is not None or format is not None:
        raise ValueError(f"{opened.folder} was written by mxcast quantize: it says itself how it is stored")
    found: dict[str, list[str]] = {}
    blocks = []
    for shard, contents in opened.shards.items():
        found[shard] = []
        if KEY in contents.metadata:
            numerics, shapes = about(opened.folder / shard, contents)
            found[shard] = [name for name in shapes if name in asked]
            blocks.append(numerics.block)
    if not any(found.values()):
        raise ValueError(f"the patterns of names leave no tensor of {opened.folder} to convert")
    return found, blocks


def _exactly(names: Sequence[str]) -> list[str]:
    """Patterns that these names match, and no others."""
    return [glob.escape(name) for name in names]


def _job(opened: Checkpoint, target: Path, shard: str, verb: str, **options: Any) -> Job:
    folders = {"source": str(opened.folder.resolve()), "target": str(target.resolve())}
    return Job(**folders, shard=shard, verb=verb, options=options)


def _made(
    opened: Checkpoint,
    target: Path,
    jobs: Sequence[Job],
    layout: str | None,
    placed: Mapping[str, AnyLayout],
    parts: set[str],
    run: Run,
    progress: Progress,
    numbers: Sequence[str] = (),
) -> ConvertedCheckpoint:
    """Do the jobs that are not done, and write the other files. ``placed`` has the layouts of the tensors that are
    quantized in the new model, ``parts`` the arrays that were quantized or become so, ``numbers`` the tensors that
    become numbers.
    """
    plain = [
        name
        for name, one in opened.contents.tensors.items()
        if name not in parts and name.endswith(".weight") and len(one.shape) > 1
    ]
    others = [name.removesuffix(".weight") for name in sorted([*plain, *numbers])]
    documents = {name: one for name, one in configured(opened.folder, placed, others).items() if one}
    if target.suffix in READERS:
        raise ValueError(f"what {opened.folder} becomes is a folder, not {target}")
    if target.exists() and target.samefile(opened.folder):
        raise ValueError(f"{opened.folder} and {target} are the same folder")
    copied, left_out = _others(opened, target)
    index = [INDEX] if opened.has_index else []
    unfinished = UnfinishedModel(target, _identity(opened, jobs), [job.shard for job in jobs])
    with unfinished.claimed([*opened.shards, *copied, *documents, *index]):
        known = {job.shard: unfinished.report(job.shard) for job in jobs}
        done = {shard: report for shard, report in known.items() if report is not None}
        kept, waiting = tuple(done), [job for job in jobs if job.shard not in done]
        begun = tuple(job.shard for job in waiting if unfinished.is_begun(job.shard))
        for job, report in run([replace(job, unfinished=str(unfinished.folder(job.shard))) for job in waiting]):
            unfinished.keep(job.shard, report)
            done[job.shard] = report
            if progress:
                progress(len(done), len(jobs))
        for name in copied:
            with replaced(target / name) as file, open(opened.folder / name, "rb") as original:
                shutil.copyfileobj(original, file)
        for name, document in documents.items():
            write_whole(target / name, json.dumps(document, indent=2) + "\n")
        if opened.has_index:
            write_whole(target / INDEX, json.dumps(_index(target, opened), indent=2) + "\n")
    return ConvertedCheckpoint(
        path=target,
        layout=layout,
        shards={shard: done[shard] for shard in sorted(done)},
        kept=kept,
        resumed=begun,
        left_out=left_out,
    )


def _identity(opened: Checkpoint, jobs: Sequence[Job]) -> str:
    """A text that changes with all that decides a byte: the jobs, the files of the shards, and the code."""
    states = ((shard, (opened.folder / shard).stat()) for shard in opened.shards)
    stamps = [[name, one.st_ino, one.st_size, one.st_mtime_ns, one.st_ctime_ns] for name, one in states]
    return json.dumps([[job.to_dict() for job in jobs], stamps, sources("models", "spec", "tensors")])


def _others(opened: Checkpoint, target: Path) -> tuple[list[str], tuple[str, ...]]:
    """The names of the other files of a model: those that are copied, as vocabularies and licences, and the others."""
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
    """The index of the new shards. Raises ValueError for a name that two of them have."""
    shards, size, found = [*opened.shards], 0, dict[str, str]()
    for shard in shards:
        for name, stored in read(target / shard).tensors.items():
            if name in found:
                raise ValueError(f"{found[name]} and {shard} of {target} both have the tensor {name!r}")
            found[name], size = shard, size + stored.data.nbytes
    return {"metadata": {"total_size": size}, "weight_map": dict(sorted(found.items()))}
