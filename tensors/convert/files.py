"""Tensor files to blocks and back, chunk by chunk: files may be larger than memory."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import reduce
from operator import add
from pathlib import Path
from typing import Unpack

import numpy as np

from ...host.files import named
from ...host.unfinished import work_folder
from ...models import Quantized, Statistics
from ...models.arrays.parallel import checked_jobs, in_order
from ...models.arrays.source import FORMATS
from ...spec import FP32, BlockFormat, BlockOperation, Encode, EncodeFields, Nvfp4Encode, layout_named, profile_of
from ...spec import encoding as resolve
from ..containers.containers import read, written
from ..containers.contents import CONVERTED
from ..layouts.own_metadata import KEY, about, described, layout_of, part_layout, part_names, stored_parts
from ..unrecognised.arrays import check_numbers
from .not_finite import NotFinite
from .options import PLAIN, ConvertOptions, Execution, Progress, QuantizeOptions, Remaining
from .selection import (
    CONTAINERS,
    OWN_CONTAINERS,
    SOURCES,
    asked_for,
    check_blocks_of_rows,
    check_ends,
    check_types,
    quantizable,
)
from .tile_conversion import dequantize_tile, largest_magnitude, quantize_tile
from .tiles import Tile, copy, float_blocks, tiles


@dataclass(frozen=True, kw_only=True)
class QuantizedTensor:
    """The report of one tensor; ``shape`` is its shape before padding."""

    name: str
    shape: tuple[int, ...]
    statistics: Statistics

    def to_dict(self) -> dict:
        return {"name": self.name, "shape": self.shape, **self.statistics.to_dict()}


@dataclass(frozen=True, kw_only=True)
class QuantizedFile:
    """The outcome of `quantize_file`; ``copied`` has the names of the copied tensors."""

    path: Path
    numerics: Encode | Nvfp4Encode
    profile: str | None
    tensors: tuple[QuantizedTensor, ...]
    copied: tuple[str, ...]

    @property
    def total(self) -> Statistics:
        return reduce(add, (t.statistics for t in self.tensors), Statistics())

    def to_dict(self) -> dict:
        return {
            "path": str(self.path),
            "profile": self.profile,
            "numerics": self.numerics.to_dict(),
            "tensors": [t.to_dict() for t in self.tensors],
            "total": self.total.to_dict(),
            "copied": self.copied,
        }


@dataclass(frozen=True, kw_only=True)
class DequantizedFile:
    """The outcome of `dequantize_file`: shapes by name, and the names of the copied tensors. ``not_finite`` counts NaN
    and Inf by tensor.
    """

    path: Path
    numerics: Encode | Nvfp4Encode
    tensors: dict[str, tuple[int, ...]]
    copied: tuple[str, ...]
    not_finite: dict[str, NotFinite]

    def to_dict(self) -> dict:
        return {
            "path": str(self.path),
            "numerics": self.numerics.to_dict(),
            "tensors": self.tensors,
            "copied": self.copied,
            "not_finite": {name: one.to_dict() for name, one in self.not_finite.items()},
        }


def quantize_file(
    source: Path | str,
    target: Path | str,
    /,
    format: str | BlockFormat | Encode | Nvfp4Encode,
    profile: str | None = None,
    *,
    layout: str | None = None,
    pad: bool = False,
    jobs: int = 1,
    seed: int = 0,
    include: Sequence[str] = (),
    exclude: Sequence[str] = (),
    progress: Progress = None,
    **fields: Unpack[EncodeFields],
) -> QuantizedFile:
    """Quantize the F32, F16 and BF16 tensors of a file along their last axis; others and scalars are copied.

    `models.quantize` takes the same format, profile and ``fields``; for NVFP4 and its relatives
    `models.quantize_nvfp4`. `QuantizeOptions` and `Execution` describe the other parameters. Raises the errors of
    `quantize_with`.
    """
    numerics = resolve(format, None if isinstance(format, BlockOperation) else profile, **fields)
    options = QuantizeOptions(
        numerics=numerics,
        profile=profile,
        layout=layout,
        pad=pad,
        seed=seed,
        include=tuple(include),
        exclude=tuple(exclude),
    )
    return quantize_with(Path(source), Path(target), options, Execution(jobs=jobs, progress=progress))


def quantize_with(source: Path, target: Path, options: QuantizeOptions, execution: Execution = PLAIN) -> QuantizedFile:
    """Quantize the tensors of a file.

    ``source`` is `.npy`, `.npz` or `.safetensors`, ``target`` `.safetensors` or `.npz`. Codes keep the tensor's name,
    scales are ``name.scales``, a scale of the tensor is ``name.tensor_scale``; a `.npz` with one tensor holds
    ``codes``, ``scales`` and ``tensor_scale``. With a layout of a library ``target`` is `.safetensors`, `.gguf` or
    `.onnx`, and the quantized tensors are on disk twice for a moment, in a folder next to it.

    Raises ValueError for other floating-point types, incomplete blocks, unknown names, patterns that no name matches
    and damaged files. ``target`` appears whole or not at all.
    """
    check_ends(source, target, dict.fromkeys(SOURCES, tuple(dict.fromkeys((*OWN_CONTAINERS, *CONTAINERS)))))
    if options.is_transposed:
        from .transposing import transposed

        with transposed(source, target, options, execution.unfinished) as made:
            return quantize_with(made, target, replace(options, is_transposed=False), execution)
    return (
        _quantized(source, target, options, execution)
        if options.layout is None
        else _laid_out(source, target, options, execution)
    )


def _laid_out(source: Path, target: Path, options: QuantizeOptions, execution: Execution) -> QuantizedFile:
    """Quantize to the layout of a library, through a temporary file in the layout of mxcast."""
    from .quantized_source import QuantizedSource  # half as many modules as all others here
    from .repacking import convert_tensors

    check_ends(source, target, dict.fromkeys(SOURCES, CONTAINERS))
    check_blocks_of_rows(layout_named(str(options.layout), options.numerics.block))  # before the work is done
    with named(target), work_folder(target, execution.unfinished, "codes") as (folder, of_codes):
        made = folder / "codes.safetensors"
        report = _quantized(source, made, options, replace(execution, unfinished=of_codes))
        laid_out = ConvertOptions(layout=options.layout)
        opened = QuantizedSource(made, laid_out)
        opened.path = source  # the name in errors
        convert_tensors(opened, target, laid_out, replace(execution, progress=None))
    return replace(report, path=target)


def _quantized(source: Path, target: Path, options: QuantizeOptions, execution: Execution) -> QuantizedFile:
    """Quantize to the layout of mxcast."""
    jobs, numerics, seed = checked_jobs(execution.jobs), options.numerics, options.seed
    if len(numerics.block.shape) > 1:
        raise ValueError(f"files have blocks along one axis, not {numerics.block.name}")
    check_ends(source, target, dict.fromkeys(SOURCES, OWN_CONTAINERS))
    contents = read(source)
    if KEY in contents.metadata:
        raise ValueError(f"{source} has been quantized by mxcast already")
    size = numerics.block_size
    asked = asked_for(contents, options.include, options.exclude)
    chosen = quantizable(source, contents, size, options.pad, asked)
    check_numbers(source, contents.tensors, chosen)
    shapes = {name: stored.shape for name, stored in chosen.items()}
    for name, stored in chosen.items():
        if numerics.source not in (FP32, FORMATS[CONVERTED[stored.dtype].newbyteorder("=")]):
            raise ValueError(
                f"tensor {name!r} is {stored.dtype}, which the source {numerics.source.name} does not take"
            )
    copied = {name: stored for name, stored in contents.tensors.items() if name not in chosen}
    check_types(source, target, copied)
    description = described(
        numerics,
        profile_of(numerics, options.profile),
        {name: (stored.dtype, stored.shape) for name, stored in chosen.items()},
        {"seed": seed} if numerics.random_bits else {},
    )
    made: dict[str, tuple[str, tuple[int, ...]]] = {}
    parts_of = {name: part_names(name, target, numerics, len(chosen)) for name in chosen}
    for name, parts in parts_of.items():
        others = copied.keys() | parts_of.keys() - {name}
        taken = next((part for part in parts if part in others), None)
        if taken is not None:
            raise ValueError(f"tensor {taken!r} of {source} has the name that the scales of {name!r} need")
        made.update(zip(parts, part_layout(shapes[name], numerics)))
    numbers = {name: number for number, name in enumerate(chosen)}
    with written(target, layout_of(made, copied), contents.metadata | description, execution.unfinished) as write:
        copy(copied, write)
        lost = {name: Statistics(**(write.whole.get(parts[0]) or {})) for name, parts in parts_of.items()}
        complete = [name for name, parts in parts_of.items() if parts[0] in write.whole]
        left = Remaining({name: one.data.size for name, one in chosen.items()}, complete, execution.progress)
        amax = {name: largest_magnitude(chosen[name], numerics) for name in left.sizes}

        def convert(part: tuple[str, Tile]) -> tuple[str, Tile, Quantized, Statistics]:
            name, tile = part
            random = np.random.default_rng([seed, numbers[name], tile.start()]) if numerics.random_bits else None
            return name, tile, *quantize_tile(chosen[name], tile, numerics, random, amax[name])

        tiles_left = ((name, tile) for name in left.sizes for tile in tiles(shapes[name], size))
        for name, tile, q, statistics in in_order(convert, tiles_left, jobs):
            codes, scales, *tensor_scale = parts_of[name]
            write(codes, tile.start(size) * size, q.codes)
            write(scales, tile.start(size), q.scales)
            for one in tensor_scale:  # equal for all tiles
                write(one, 0, np.asarray(q.tensor_scale).reshape(1))
            lost[name] += statistics
            if left.finish(name, statistics.elements):
                write.finish(parts_of[name], asdict(lost[name]))
    reports = [
        QuantizedTensor(name=name, shape=shapes[name], statistics=statistics) for name, statistics in lost.items()
    ]
    return QuantizedFile(
        path=target, numerics=numerics, profile=options.profile, tensors=tuple(reports), copied=tuple(copied)
    )


def dequantize_file(
    source: Path | str, target: Path | str, *, jobs: int = 1, progress: Progress = None, unfinished: Path | None = None
) -> DequantizedFile:
    """Turn a file of `quantize_file` back into F32 tensors under their names, in their shapes.

    `.safetensors` and `.npz` become `.safetensors`; a file with one tensor alone may become `.npy`. Raises ValueError
    for other files. ``target`` appears whole or not at all.
    """
    source, target, jobs = Path(source), Path(target), checked_jobs(jobs)
    check_ends(source, target, dict.fromkeys((".safetensors", ".npz"), (".safetensors", ".npy")))
    contents = read(source)
    numerics, shapes = about(source, contents)
    copied, size = dict(contents.tensors), numerics.block_size
    parts = {name: stored_parts(source, contents, numerics, shapes, name) for name in shapes}
    for name in shapes:
        for part in part_names(name, source, numerics, len(shapes)):
            if copied.pop(part, None) is None:
                raise ValueError(f"tensor {part!r} of {source} belongs to two tensors, as its metadata have it")
    if target.suffix == ".npy" and (len(shapes) != 1 or copied):
        count = len(shapes) + len(copied)
        raise ValueError(f"a .npy file holds one tensor, {source} has {count}: write a .safetensors file")
    check_types(source, target, copied)
    metadata = {key: text for key, text in contents.metadata.items() if key != KEY}
    layout = layout_of({name: ("F32", shape) for name, shape in shapes.items()}, copied)
    with written(target, layout, metadata, unfinished) as write:
        copy(copied, write)
        left = Remaining({name: math.prod(shape) for name, shape in shapes.items()}, write.whole, progress)
        counts = {name: NotFinite.of_dict(write.whole[name]) for name in shapes if name in write.whole}

        def convert(part: tuple[str, Tile]) -> tuple[str, Tile, np.ndarray, NotFinite]:
            name, tile = part
            try:
                return name, tile, *dequantize_tile(parts[name], tile, numerics)
            except ValueError as error:  # codes beyond the format
                raise ValueError(f"tensor {name!r} of {source}: {error}") from None

        tiles_left = ((name, tile) for name in left.sizes for tile in tiles(shapes[name], size))
        for name, tile, values, lost in in_order(convert, tiles_left, jobs):
            write(name, tile.start(), values)
            counts[name] = counts.get(name, NotFinite()) + lost
            if left.finish(name, values.size):
                write.finish([name], counts[name].to_dict())
    wrong = {name: counts[name] for name in shapes if counts.get(name)}
    return DequantizedFile(path=target, numerics=numerics, tensors=shapes, copied=tuple(copied), not_finite=wrong)


def read_blocks(path: Path | str, block_size: int = 32, pad: bool = False) -> Iterator[tuple[str, np.ndarray]]:
    """Name and float32 blocks (n, block_size), chunk by chunk, of the tensors that `quantize_file` converts.

    Raises its errors before the first chunk.
    """
    path = Path(path)
    chosen = quantizable(path, read(path), block_size, pad)
    return ((name, blocks) for name, stored in chosen.items() for blocks in float_blocks(stored, block_size))


def read_tensors(path: Path | str) -> tuple[dict[str, np.ndarray], list[str]]:
    """Memory maps of the tensors that `quantize_file` converts, without empty ones, by name, BF16 as patterns in
    uint16; and the names of the other tensors.
    """
    path = Path(path)
    contents = read(path)
    found = {
        name: stored.data.reshape(stored.shape)
        for name, stored in quantizable(path, contents, 1, True).items()
        if stored.data.size
    }
    return found, [name for name in contents.tensors if name not in found]
