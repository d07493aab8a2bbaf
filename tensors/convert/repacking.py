"""Files of quantized tensors in the layouts of libraries: no number changes, and no tensor is in memory as a whole."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ...host.files import named
from ...host.unfinished import work_folder
from ...models.arrays.layout_parts import Box
from ...models.arrays.parallel import checked_jobs, in_order
from ...spec import LAYOUTS, BlockFormat, Encode, Nvfp4Encode, layout_named
from ...spec.catalogue import known_name
from ...spec.layouts.scaled import SCALED_LAYOUTS, AnyLayout
from ..containers.containers import written
from ..containers.gguf import without_types
from ..containers.native_types import NATIVE
from ..layouts.experts import Experts, arranged
from ..layouts.library_metadata import remarks
from ..layouts.own_metadata import KEY, widest_first
from ..layouts.scaled_tensor import ScaledTensor
from ..layouts.stored_tensors import StoredTensor
from ..unrecognised.named_arrays import NamedArrays
from .bridging import BridgedTensor, OtherBlock
from .conversions import Conversion, Dequantized, MadeArray, Placed, Repacked, parts_of, put
from .files import SOURCES, QuantizedFile, check_ends, copy, quantize_file
from .not_finite import NotFinite
from .quantized_source import QuantizedSource
from .rescaling import Rescaled

CONTAINERS = (".safetensors", ".gguf", ".onnx")
"""Those that hold layouts of libraries, and become each other."""
Progress = Callable[[int, int], None] | None


@dataclass(frozen=True, kw_only=True)
class RepackedFile:
    """The outcome of `repack_file` and `dequantize_layout`; ``tensors`` are the shapes of their numbers by name,
    ``copied`` the arrays that were left as they are. ``not_finite`` counts results that are NaN or Inf, by the names of
    tensors with such results; codes and scales that are moved are not looked at.
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


def quantize_layout(
    source: Path | str,
    target: Path | str,
    /,
    format: str | BlockFormat | Encode | Nvfp4Encode,
    profile: str | None = None,
    *,
    layout: str,
    unfinished: Path | None = None,
    **options: Any,
) -> QuantizedFile:
    """`files.quantize_file` with its options, to the layout of a library, also in a `.gguf` or `.onnx` file.

    What is quantized is on disk twice for a moment, in a folder beside ``target``. Raises the errors of
    `files.quantize_file` and `repack_file`.
    """
    source, target = Path(source), Path(target)
    check_ends(source, target, dict.fromkeys(SOURCES, CONTAINERS))
    layout = known_name("layout", layout, LAYOUTS)
    if isinstance(format, Encode | Nvfp4Encode):
        layout_named(layout, format.block)  # before the work is done
    with named(target), work_folder(target, unfinished, "codes") as (folder, of_codes):
        made = folder / "codes.safetensors"
        report = quantize_file(source, made, format, profile, unfinished=of_codes, **options)
        opened = QuantizedSource(made, None, None, (), ())
        opened.path = source  # which errors name
        conversion = Repacked(layout, target.suffix)
        converted(opened, target, layout, conversion, options.get("jobs", 1), None, unfinished=unfinished)
    return replace(report, path=target)


def repack_file(
    source: Path | str,
    target: Path | str,
    layout: str,
    *,
    stored_as: str | None = None,
    format: str | BlockFormat | None = None,
    include: Sequence[str] = (),
    exclude: Sequence[str] = (),
    experts: str | None = None,
    block: str | BlockFormat | None = None,
    named: NamedArrays | None = None,
    jobs: int = 1,
    progress: Progress = None,
    unfinished: Path | None = None,
) -> RepackedFile:
    """Write the quantized tensors of a file as a library stores them.

    ``source`` is a `.safetensors` file of `quantize_file`, or has the layout ``stored_as``, with the block format
    ``format`` where that dialect has several. A `.gguf` file has the layout `ggml` and an `.onnx` file `onnx`, and they
    say themselves what is quantized. ``include`` and ``exclude`` are patterns of the names of its arrays of codes; what
    they leave out is copied, as all is that is not quantized. ``experts`` is how gate and up shall be stored
    (`Experts`), as they are unless given; ``block`` another block format, in which the numbers are the same
    (`models.arrays.bridge`), or as ``fp8_e4m3=mxfp8_e4m3`` one for the tensors in another. ``named`` are arrays that
    the user names, for files that no layout explains. ``jobs`` threads share the work.
    ``progress`` is called with the elements done and the elements
    in all. ``unfinished`` is the folder from which `containers.written` resumes.

    Raises ValueError for unknown layouts, files without such tensors and damaged ones, and for what `models.pack`
    refuses; the tensor is named. ``target`` appears whole or not at all.
    """
    layout = known_name("layout", layout, LAYOUTS | SCALED_LAYOUTS)
    opened = QuantizedSource(_checked(source, target), stored_as, format, include, exclude, named=named)
    conversion = Repacked(layout, Path(target).suffix)
    return converted(opened, Path(target), layout, conversion, jobs, progress, experts, block, unfinished)


def dequantize_layout(
    source: Path | str,
    target: Path | str,
    stored_as: str | None,
    *,
    format: str | BlockFormat | None = None,
    profile: str | None = None,
    include: Sequence[str] = (),
    exclude: Sequence[str] = (),
    experts: str | None = None,
    is_transposed: bool = False,
    named: NamedArrays | None = None,
    jobs: int = 1,
    progress: Progress = None,
) -> RepackedFile:
    """Turn the quantized tensors of a file of a library into F32 tensors.

    The parameters are those of `repack_file`; ``profile`` says how scales and codes are read, as `models.dequantize`
    takes it, and ``is_transposed`` swaps the last two axes of tensors of three. Raises its errors.
    """
    opened = QuantizedSource(_checked(source, target), stored_as, format, include, exclude, named=named)
    return converted(opened, Path(target), None, Dequantized(profile, is_transposed), jobs, progress, experts)


def _checked(source: Path | str, target: Path | str) -> Path:
    check_ends(Path(source), Path(target), dict.fromkeys(CONTAINERS, CONTAINERS))
    return Path(source)


def converted(
    source: QuantizedSource,
    target: Path,
    layout: str | None,
    conversion: Conversion[StoredTensor],
    jobs: int,
    progress: Progress,
    experts: str | None = None,
    block: str | BlockFormat | None = None,
    unfinished: Path | None = None,
) -> RepackedFile:
    """Write what becomes of each tensor, part by part. ``unfinished`` is the folder from which `containers.written`
    resumes.
    """
    tensors, copied = {name: source.tensor(name) for name in source.names}, source.copied
    if experts is not None:
        tensors, copied = arranged(tensors, copied, Experts.named("arrangement of experts", experts))
    other = None if block is None else OtherBlock.named(block)
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
    metadata = remarks(metadata, source.layouts, after, codes, copied, target.suffix in NATIVE)
    sizes = {name: math.prod(tensor.codes) for name, tensor in tensors.items()}
    laid_out = widest_first(header)
    if target.suffix != ".gguf":
        laid_out, metadata = without_types(laid_out, metadata)
    with written(target, laid_out, metadata, unfinished) as write:
        copy(copied, write)
        notes = {name: note for name in sizes for array, note in write.whole.items() if array in made[name]}
        left = {name: size for name, size in sizes.items() if name not in notes}
        counts = {name: NotFinite.of_dict(notes[name]) if name in notes else NotFinite() for name in sizes}
        done, total = sum(sizes.values()) - sum(left.values()), sum(sizes.values())
        for name in left:
            for array, (starts, numbers) in of[name].whole(name, tensors[name]).items():
                put(write, array, numbers.shape, starts, numbers)
        parts = ((name, box) for name in left for box in parts_of(tensors[name], of[name]))
        for name, box, found, lost in in_order(made_of, parts, checked_jobs(jobs)):
            for array, (starts, numbers) in found.items():
                put(write, array, made[name][array].written, starts, numbers)
            size = math.prod(one.stop - one.start for one in box)
            left[name], counts[name] = left[name] - size, counts[name] + lost
            if not left[name]:
                write.finish([*made[name]], counts[name].to_dict())
            done += size
            if progress:
                progress(done, total)
    shapes = {name: tensor.shape for name, tensor in tensors.items()}
    wrong = {name: one for name, one in counts.items() if one}
    return RepackedFile(path=target, layout=layout, tensors=shapes, copied=tuple(copied), not_finite=wrong)


def _conversion_of(tensor: StoredTensor, conversion: Conversion[StoredTensor]) -> Conversion[Any]:
    """The conversion of one tensor: FP8 under scales that are numbers is repacked in its own way."""
    if isinstance(conversion, Repacked) and isinstance(tensor, ScaledTensor):
        return Rescaled(conversion.dialect)
    return conversion


def layouts_after(
    source: QuantizedSource, dialect: str, how: Experts | None, block: str | BlockFormat | None
) -> dict[str, AnyLayout]:
    """The layouts that the tensors of a model get by `converted`, without reading their codes. Raises its errors."""
    tensors = {name: source.tensor(name) for name in source.names}
    if how is not None:
        tensors, _ = arranged(tensors, {}, how)
    other = None if block is None else OtherBlock.named(block)
    found: dict[str, AnyLayout] = {}
    for name, tensor in tensors.items():
        with source.naming(name):
            to = other.of(tensor.block) if other else None
            conversion = _conversion_of(tensor, Repacked(dialect, ".safetensors"))
            there = conversion.layout(tensor) if to is None else layout_named(dialect, to)
            found |= {} if there is None else {name: there}
    return found
