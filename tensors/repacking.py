"""Files of quantized tensors in the layouts of libraries, one tensor in memory at a time; no number changes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from ..models import BlockArray, dequantize, pack, unpack
from ..models.packing import stored_dtype
from ..spec import LAYOUTS, BlockFormat, Encode, TwoLevelEncode, layout_named
from ..spec.catalogue import known_name
from ..spec.names import block_format
from .containers import read, written
from .files import QuantizedFile, asked_for, check_ends, copy, quantize_file
from .metadata import KEY, about, part_names, widest_first
from .saved import quantized

__all__ = ["QuantizedSource", "RepackedFile", "dequantize_layout", "quantize_layout", "repack_file"]

SAFETENSORS: dict[str, tuple[str, ...]] = {".safetensors": (".safetensors",)}
Progress = Callable[[int, int], None] | None
Arrays = dict[str, tuple[str, np.ndarray]]
"""What is written of a tensor: dtype, by its name in safetensors, and data, by the name of the array."""


@dataclass(frozen=True, kw_only=True)
class RepackedFile:
    """The outcome of `repack_file` and `dequantize_layout`; ``tensors`` are the shapes of their numbers by name,
    ``copied`` the arrays that were left as they are.
    """

    path: Path
    layout: str | None
    tensors: dict[str, tuple[int, ...]]
    copied: tuple[str, ...]

    def to_dict(self) -> dict:
        return {"path": str(self.path), "layout": self.layout, "tensors": self.tensors, "copied": self.copied}


class QuantizedSource:
    """A file of quantized tensors, of `quantize_file` or in the layout of a library.

    ``names`` are those of the tensors, ``copied`` the arrays that belong to none.
    """

    def __init__(
        self,
        path: Path,
        stored_as: str | None,
        format: str | BlockFormat | None,
        include: Sequence[str],
        exclude: Sequence[str],
    ) -> None:
        """Raises ValueError for a file without such tensors; the parameters are those of `repack_file`."""
        self.path, self.contents = path, read(path)
        self.own = about(path, self.contents) if KEY in self.contents.metadata else None
        chosen = asked_for(self.contents, include, exclude)
        if self.own:
            if stored_as is not None or format is not None:
                raise ValueError(f"{path} was written by mxcast quantize: it says itself how it is stored")
            numerics, shapes = self.own
            self.names = [name for name in shapes if name in chosen]
            parts = {part for name in self.names for part in part_names(name, path, numerics)}
        else:
            if stored_as is None:
                raise ValueError(f"{path} was not written by mxcast quantize: its layout must be given")
            self.layout = layout_named(stored_as, None if format is None else block_format(format))
            if self.layout.scales is None and not include:
                raise ValueError(
                    f"the layout {self.layout.dialect} has scales and codes in one array, which no name tells from "
                    "others: patterns of names must say which are quantized"
                )
            self.names = sorted(self._recognised(chosen))
            parts = {part for name in self.names for part in self.layout.names(name)}
        if not self.names:
            raise ValueError(f"{path} has no quantized tensors" + ("" if self.own else f" in the layout {stored_as}"))
        self.copied = {name: stored for name, stored in self.contents.tensors.items() if name not in parts}

    def _recognised(self, chosen: set[str]) -> Iterator[str]:
        """The tensors with codes of the dtype that the layout has, and with scales beside them."""
        tensors, layout = self.contents.tensors, self.layout
        for array in chosen:
            name = layout.codes.tensor_of(array)
            if name is not None and tensors[array].dtype == layout.codes.dtype:
                scales = layout.scales and layout.scales.of(name)
                if scales is None or (scales in tensors and scales != array):
                    yield name

    def array(self, name: str) -> BlockArray:
        """A tensor. Raises ValueError for a damaged one."""
        if self.own:
            numerics, shapes = self.own
            return quantized(self.path, self.contents, numerics, name, shapes[name])
        arrays = {}
        for part in self.layout.parts:
            stored = self.contents.tensors.get(part.of(name))
            if stored is not None:
                if stored.dtype != part.dtype:
                    raise ValueError(
                        f"{part.of(name)!r} of {self.path} is {stored.dtype}, and the layout {self.layout.name} has "
                        f"{part.dtype} there"
                    )
                arrays[part.of(name)] = stored.data.view(stored_dtype(part)).reshape(stored.shape)
        try:
            return unpack(arrays, self.layout, name=name)
        except ValueError as error:
            raise ValueError(f"tensor {name!r} of {self.path}: {error}") from None


def quantize_layout(
    source: Path | str,
    target: Path | str,
    /,
    format: str | BlockFormat | Encode | TwoLevelEncode,
    profile: str | None = None,
    *,
    layout: str,
    **options: Any,
) -> QuantizedFile:
    """`files.quantize_file` of a `.safetensors` file, with its options, to the layout of a library.

    What is quantized is on disk twice for a moment, in a folder beside ``target``. Raises the errors of
    `files.quantize_file` and `repack_file`.
    """
    source, target = _checked(source, target), Path(target)
    layout = known_name("layout", layout, LAYOUTS)
    if isinstance(format, Encode | TwoLevelEncode):
        layout_named(layout, format.block)  # before the work is done
    with TemporaryDirectory(dir=target.parent, prefix=f".{target.name[:100]}.") as folder:
        made = Path(folder) / "codes.safetensors"
        report = quantize_file(source, made, format, profile, **options)
        opened = QuantizedSource(made, None, None, (), ())
        opened.path = source  # which errors name
        _converted(opened, target, layout, _packer(layout), None)
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
    progress: Progress = None,
) -> RepackedFile:
    """Write the quantized tensors of a `.safetensors` file as a library stores them.

    ``source`` is a file of `quantize_file`, or has the layout ``stored_as``, with the block format ``format`` where
    that dialect has several. ``include`` and ``exclude`` are patterns of the names of its arrays of codes; what they
    leave out is copied, as all is that is not quantized. ``progress`` is called with the tensors done and those in all.

    Raises ValueError for unknown layouts, files without such tensors and damaged ones, and for what `models.pack`
    refuses; the tensor is named. ``target`` appears whole or not at all.
    """
    layout = known_name("layout", layout, LAYOUTS)
    opened = QuantizedSource(_checked(source, target), stored_as, format, include, exclude)
    return _converted(opened, Path(target), layout, _packer(layout), progress)


def _packer(layout: str) -> Callable[[str, BlockArray], Arrays]:
    """What writes a tensor in a layout."""

    def packed(name: str, q: BlockArray) -> Arrays:
        there = layout_named(layout, q.block)
        dtypes = {part.of(name): part.dtype for part in there.parts}
        return {part: (dtypes[part], data) for part, data in pack(q, there, name=name).items()}

    return packed


def dequantize_layout(
    source: Path | str,
    target: Path | str,
    stored_as: str,
    *,
    format: str | BlockFormat | None = None,
    profile: str | None = None,
    include: Sequence[str] = (),
    exclude: Sequence[str] = (),
    progress: Progress = None,
) -> RepackedFile:
    """Turn the quantized tensors of a `.safetensors` file of a library into F32 tensors.

    The parameters are those of `repack_file`; ``profile`` says how scales and codes are read, as `models.dequantize`
    takes it. Raises its errors.
    """
    opened = QuantizedSource(_checked(source, target), stored_as, format, include, exclude)
    return _converted(opened, Path(target), None, lambda name, q: {name: ("F32", dequantize(q, profile))}, progress)


def _checked(source: Path | str, target: Path | str) -> Path:
    check_ends(Path(source), Path(target), SAFETENSORS)
    return Path(source)


def _converted(
    source: QuantizedSource,
    target: Path,
    layout: str | None,
    made: Callable[[str, BlockArray], Arrays],
    progress: Progress,
) -> RepackedFile:
    """Write what becomes of each tensor. All are converted twice: the header of a file says what follows, and nothing
    is written of a file that has a tensor which cannot be.
    """

    def arrays() -> Iterator[tuple[str, BlockArray, Arrays]]:
        for name in source.names:
            q = source.array(name)
            try:
                yield name, q, made(name, q)
            except ValueError as error:
                raise ValueError(f"tensor {name!r} of {source.path}: {error}") from None

    header: dict[str, tuple[str, tuple[int, ...], int]] = {
        name: (stored.dtype, stored.shape, stored.data.nbytes) for name, stored in source.copied.items()
    }
    shapes = {}
    for name, q, found in arrays():
        shapes[name] = q.shape
        for part, (dtype, data) in found.items():
            if part in header:
                raise ValueError(f"{source.path} has another tensor of the name {part!r}, which {name!r} becomes")
            header[part] = dtype, data.shape, data.nbytes
    metadata = {key: text for key, text in source.contents.metadata.items() if key != KEY}
    with written(target, widest_first(header), metadata) as write:
        copy(source.copied, write)
        for done, (_, _, found) in enumerate(arrays(), start=1):
            for part, (_, data) in found.items():
                write(part, 0, data)
            if progress:
                progress(done, len(source.names))
    return RepackedFile(path=target, layout=layout, tensors=shapes, copied=tuple(source.copied))
