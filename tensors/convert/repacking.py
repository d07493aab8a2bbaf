"""Conversion of quantized files to another layout or to numbers. No tensor is in memory as a whole."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ...models.arrays.layout_parts import Box
from ...models.arrays.parallel import checked_jobs, in_order
from ...spec import layout_named
from ...spec.layouts.scaled import AnyLayout
from ..containers.containers import written
from ..containers.gguf import without_types
from ..containers.native_types import NATIVE
from ..layouts.experts import arranged
from ..layouts.library_metadata import metadata_after
from ..layouts.own_metadata import KEY, widest_first
from ..layouts.scaled_tensor import ScaledTensor
from ..layouts.stored_tensors import StoredTensor
from .bridging import BridgedTensor, OtherBlock
from .conversions import Conversion, Dequantized, MadeArray, Placed, Repacked, parts_of, put
from .not_finite import NotFinite
from .options import PLAIN, ConvertOptions, Execution, Remaining
from .quantized_source import QuantizedSource
from .rescaling import Rescaled
from .selection import CONTAINERS, check_ends
from .tiles import copy


@dataclass(frozen=True, kw_only=True)
class ConvertedFile:
    """The outcome of `convert_file`: the shapes of the converted tensors by name, and the names of the arrays that were
    copied. ``not_finite`` counts NaN and Inf of dequantized tensors, by name.
    """

    path: Path
    layout: str | None
    tensors: dict[str, tuple[int, ...]]
    copied: tuple[str, ...]
    not_finite: dict[str, NotFinite] = field(default_factory=dict)

    def to_dict(self) -> dict:
        counts = {name: one.to_dict() for name, one in self.not_finite.items()}
        known = {"path": str(self.path), "layout": self.layout, "tensors": self.tensors, "copied": self.copied}
        return known | ({"not_finite": counts} if self.layout is None else {})


def convert_file(source: Path, target: Path, options: ConvertOptions, execution: Execution = PLAIN) -> ConvertedFile:
    """Write the quantized tensors of a `.safetensors`, `.gguf` or `.onnx` file as a library stores them, or as numbers.

    A `.gguf` file has the layout `ggml` and an `.onnx` file `onnx`; their types, and the metadata of a `.safetensors`
    file of mxcast, declare which tensors are quantized. All other arrays are copied.

    Raises ValueError for unknown layouts, for damaged files and files without such tensors, and the errors of
    `models.pack` with the name of the tensor. ``target`` appears whole or not at all.
    """
    check_ends(source, target, dict.fromkeys(CONTAINERS, CONTAINERS))
    return convert_tensors(QuantizedSource(source, options), target, options, execution)


def convert_tensors(
    source: QuantizedSource, target: Path, options: ConvertOptions, execution: Execution
) -> ConvertedFile:
    """Convert each tensor part by part; no tensor is in memory as a whole."""
    conversion: Conversion[StoredTensor]
    if options.layout is None:
        conversion = Dequantized(options.profile, options.is_transposed)
    else:
        conversion = Repacked(options.layout, target.suffix)
    tensors, copied = {name: source.tensor(name) for name in source.names}, source.copied
    if options.experts is not None:
        tensors, copied = arranged(tensors, copied, options.experts)
    other = None if options.block is None else OtherBlock.named(options.block)
    for name, tensor in tensors.items():
        if other is not None and (to := other.of(tensor.block)) is not None:
            with source.naming(name):
                tensors[name] = BridgedTensor(tensor, to)
    header = {name: (stored.dtype, stored.shape, stored.data.nbytes) for name, stored in copied.items()}
    made: dict[str, dict[str, MadeArray]] = {}
    of = {name: _conversion_of(tensor, conversion) for name, tensor in tensors.items()}
    for name, tensor in tensors.items():
        with source.naming(name):
            made[name] = of[name].arrays(name, tensor)
        for array, one in made[name].items():
            if array in header:
                raise ValueError(f"{source.path} has another tensor of the name {array!r}, which {name!r} becomes")
            header[array] = one.dtype, one.shape, one.nbytes

    def made_of(part: tuple[str, Box]) -> tuple[str, Box, Placed, NotFinite]:
        name, box = part
        with source.naming(name):
            return name, box, *of[name].part(name, tensors[name], box)

    metadata = {key: text for key, text in source.contents.metadata.items() if key != KEY}
    after = {name: there for name, tensor in tensors.items() if (there := of[name].layout(tensor)) is not None}
    codes = {name: tensor.codes for name, tensor in tensors.items()}
    metadata = metadata_after(metadata, source.layouts, after, codes, copied, target.suffix in NATIVE)
    sizes = {name: math.prod(tensor.codes) for name, tensor in tensors.items()}
    laid_out = widest_first(header)
    if target.suffix != ".gguf":
        laid_out, metadata = without_types(laid_out, metadata)
    with written(target, laid_out, metadata, execution.unfinished) as write:
        copy(copied, write)
        notes = {name: note for name in sizes for array, note in write.whole.items() if array in made[name]}
        left = Remaining(sizes, notes, execution.progress)
        counts = {name: NotFinite.of_dict(notes[name]) if name in notes else NotFinite() for name in sizes}
        for name in left.sizes:
            for array, (starts, numbers) in of[name].whole(name, tensors[name]).items():
                put(write, array, numbers.shape, starts, numbers)
        parts = ((name, box) for name in left.sizes for box in parts_of(tensors[name], of[name]))
        for name, box, found, lost in in_order(made_of, parts, checked_jobs(execution.jobs)):
            for array, (starts, numbers) in found.items():
                put(write, array, made[name][array].written, starts, numbers)
            counts[name] += lost
            if left.finish(name, math.prod(one.stop - one.start for one in box)):
                write.finish([*made[name]], counts[name].to_dict())
    shapes = {name: tensor.shape for name, tensor in tensors.items()}
    wrong = {name: one for name, one in counts.items() if one}
    return ConvertedFile(path=target, layout=options.layout, tensors=shapes, copied=tuple(copied), not_finite=wrong)


def _conversion_of(tensor: StoredTensor, conversion: Conversion[StoredTensor]) -> Conversion[Any]:
    """The conversion of one tensor: FP8 with scales that are numbers is repacked by `Rescaled`."""
    if isinstance(conversion, Repacked) and isinstance(tensor, ScaledTensor):
        return Rescaled(conversion.dialect)
    return conversion


def layouts_after(source: QuantizedSource, options: ConvertOptions) -> dict[str, AnyLayout]:
    """The layouts of the tensors of a model after `convert_tensors`, without reading their codes. Raises its errors."""
    if options.layout is None:
        return {}
    tensors = {name: source.tensor(name) for name in source.names}
    if options.experts is not None:
        tensors, _ = arranged(tensors, {}, options.experts)
    other = None if options.block is None else OtherBlock.named(options.block)
    found: dict[str, AnyLayout] = {}
    for name, tensor in tensors.items():
        with source.naming(name):
            to = other.of(tensor.block) if other else None
            conversion = _conversion_of(tensor, Repacked(options.layout, ".safetensors"))
            there = conversion.layout(tensor) if to is None else layout_named(options.layout, to)
            found |= {} if there is None else {name: there}
    return found
