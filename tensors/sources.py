"""Quantized tensors of a file, of `quantize_file` or in the layout of a library, read one part at a time."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Protocol

import numpy as np

from ..models import BlockArray, Quantized, unpack
from ..models.block_array import check_codes, code_dtype
from ..models.layout_parts import Box, numbers_shape, stored_boxes, stored_shapes, units
from ..models.packing import read_tensor_scale, stored_dtype
from ..spec import LAYOUTS, BlockFormat, Encode, TwoLevelEncode, layout_named
from ..spec.layouts import Layout, Part, ScaleOrder
from ..spec.names import block_format
from .containers import Contents, Stored, read
from .files import asked_for
from .marks import MARKS, beside
from .metadata import KEY, about, part_names, stored_parts
from .native import NATIVE, native_layouts
from .remarks import is_mark, layouts_said, shape_before
from .strays import has_dtypes, stray_of
from .tensor_scales import with_stored_scale
from .unrecognised import NOT_READ, unrecognised

__all__ = ["LaidTensor", "QuantizedSource", "StoredTensor", "says_layout"]

Shape = tuple[int, ...]


class StoredTensor(Protocol):
    """A quantized tensor in a file, with blocks along ``axis``; its codes have the shape ``codes``, the numbers without
    what completes the last blocks ``shape``.
    """

    block: BlockFormat
    axis: int
    codes: Shape
    shape: Shape

    @property
    def units(self) -> Shape:
        """What the edges of a part are multiples of, along each axis of the codes."""

    def head(self) -> BlockArray:
        """An array without elements, with the scale of the whole tensor."""

    def part(self, box: Box) -> BlockArray:
        """A part of the codes, with arrays of its own. Raises ValueError for damaged ones."""


class OwnTensor:
    """A tensor as `quantize_file` stores it."""

    def __init__(
        self, path: Path, contents: Contents, numerics: Encode | TwoLevelEncode, shapes: Mapping[str, Shape], name: str
    ) -> None:
        self.parts, self.numerics = stored_parts(path, contents, numerics, shapes, name), numerics
        self.block, self.axis, self.codes, self.shape = numerics.block, -1, self.parts.codes.shape, shapes[name]

    @property
    def units(self) -> Shape:
        return (*[1] * (len(self.codes) - 1), self.block.shape[-1])

    def head(self) -> BlockArray:
        empty = np.zeros((0,) * len(self.shape), np.uint8)
        return Quantized(
            codes=empty.astype(code_dtype(self.block.element)),
            scales=empty,
            numerics=self.numerics,
            tensor_scale=self.parts.tensor_scale,
        )

    def part(self, box: Box) -> BlockArray:
        *lines, last = box
        width = self.block.shape[-1]
        length = min(last.stop, self.shape[-1]) - last.start
        q = Quantized(
            codes=_taken(self.parts.codes, self.codes, box),
            scales=_taken(
                self.parts.scales, self.parts.scales.shape, (*lines, slice(last.start // width, last.stop // width))
            ),
            numerics=self.numerics,
            length=None if length == last.stop - last.start else length,
            tensor_scale=self.parts.tensor_scale,
        )
        check_codes(q)
        return q


class LaidTensor:
    """A tensor in the layout of a library."""

    def __init__(self, path: Path, contents: Contents, layout: Layout, name: str, is_native: bool) -> None:
        """Raises ValueError for arrays that do not fit together. ``is_native`` says that the container has a type for
        the codes, which then have the shape of the numbers.
        """
        self.name, self.layout, self.block, self.axis = name, layout, layout.block_format, layout.axis
        found = {part: contents.tensors[part.of(name)] for part in layout.parts if part.of(name) in contents.tensors}
        for part, stored in found.items():
            if stored.dtype != part.dtype and not (is_native and part is layout.codes):
                raise ValueError(
                    f"{part.of(name)!r} of {path} is {stored.dtype}, and the layout {layout.name} has {part.dtype} "
                    "there"
                )
        shape = found[layout.codes].shape
        if not shape:
            raise ValueError("its codes have no axis")
        completed = shape if is_native else numbers_shape(layout, shape)
        said = shape_before(contents.metadata, name) or completed
        if (said[:-2], said[-1]) != (completed[:-2], completed[-1]):
            raise ValueError(f"its metadata speak of the shape {said}, and its codes are those of {completed}")
        self.codes = self.shape = said
        shapes = stored_shapes(layout, self.codes)
        self.stored = {part: (found[part], _same_bytes(part, found[part], shapes[part], layout)) for part in shapes}
        scale = layout.tensor_scale
        self.tensor_scale = found[scale].data.view(stored_dtype(scale)) if scale in found else None
        self.head()

    @property
    def units(self) -> Shape:
        return units(self.layout, self.codes)

    def head(self) -> BlockArray:
        experts = (self.codes[0], 1, 1) if len(self.codes) == 3 else self.codes
        empty = np.zeros((0,) * len(self.codes), np.uint8)
        scale = read_tensor_scale(self._tensor_scale(slice(None)), self.name, experts, self.layout)
        return BlockArray(codes=empty, scales=empty, block=self.block, axis=self.axis, tensor_scale=scale)

    def part(self, box: Box) -> BlockArray:
        arrays = self._tensor_scale(box[0])
        for part, place in stored_boxes(self.layout, box).items():
            stored, shape = self.stored[part]
            arrays[part.of(self.name)] = _taken(stored, shape, place, stored_dtype(part))
        q = unpack(arrays, self.layout, name=self.name)
        if q.codes.shape == (sizes := tuple(one.stop - one.start for one in box)):
            return q
        rows = tuple(map(slice, sizes[:-1]))  # without those that complete it
        return replace(q, codes=q.codes[rows], scales=q.scales[rows])

    def _tensor_scale(self, experts: slice) -> dict[str, np.ndarray]:
        """The scale of the tensor, or those of some experts, by the name of its array, where there is one."""
        part, scale = self.layout.tensor_scale, self.tensor_scale
        if part is None or scale is None:
            return {}
        return {part.of(self.name): scale if scale.size == 1 else scale[experts]}


def _same_bytes(part: Part, stored: Stored, shape: Shape, layout: Layout) -> Shape:
    """The shape that a layout has of an array. Raises ValueError for an array of another one; tiles of scales may have
    any with as many bytes, and the native codes of a container count elements.
    """
    is_other = part is layout.scales and stored.shape != shape
    may_differ = layout.order is ScaleOrder.TILES_128X4 and stored.shape[:-2] == shape[:-2]
    if (is_other and not may_differ) or stored.data.nbytes != math.prod(shape) * stored_dtype(part).itemsize:
        what = "scales" if part is layout.scales else "codes"
        raise ValueError(f"the layout {layout.name} has {what} of shape {shape} here, not {stored.shape}")
    return shape


def _taken(stored: Stored, shape: Shape, box: Box, dtype: np.dtype | None = None) -> np.ndarray:
    """A copy of a part of an array that has this shape; its pages are given back."""
    data = stored.data if dtype is None else stored.data.view(dtype)
    found = data.reshape(shape)[box].copy()
    if found.size:
        steps = [math.prod(shape[axis + 1 :]) for axis in range(len(shape))]
        first, last = (
            sum(s * step for s, step in zip(place, steps)) for place in zip(*((b.start, b.stop - 1) for b in box))
        )
        size = data.itemsize // stored.data.itemsize
        stored.release(first * size, (last + 1 - first) * size)
    return found


def says_layout(path: Path) -> bool:
    """Does a file say itself in which layouts of libraries its tensors are? Raises the errors of `read`."""
    return path.suffix in NATIVE or (path.suffix == ".safetensors" and bool(layouts_said(read(path).metadata)))


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
        contents: Contents | None = None,
    ) -> None:
        """Raises ValueError for a file without such tensors; the parameters are those of `repack_file`, and
        ``contents`` what is in the file, where it is open.
        """
        self.path, self.contents = path, read(path) if contents is None else contents
        self.file = path
        """The file that is read; errors name ``path``."""
        self.own = about(path, self.contents) if KEY in self.contents.metadata else None
        self.layouts: dict[str, Layout] = {}
        self.is_native = path.suffix in NATIVE
        chosen = asked_for(self.contents, include, exclude)
        if self.own:
            if stored_as is not None or format is not None:
                raise ValueError(f"{path} was written by mxcast quantize: it says itself how it is stored")
            numerics, shapes = self.own
            self.names = [name for name in shapes if name in chosen]
            parts = {part for name in self.names for part in part_names(name, path, numerics, len(shapes))}
        else:
            block, said = None if format is None else block_format(format), layouts_said(self.contents.metadata)
            if stored_as is None and said:
                self.layouts = dict(sorted(self._said(chosen, said, block)))
            else:
                candidates = self._candidates(stored_as, block, bool(include))
                self.layouts = dict(sorted(self._recognised(chosen, candidates)))
            self.names = list(self.layouts)
            self._check_marks()
            parts = {part for name, layout in self.layouts.items() for part in layout.names(name)}
        if not self.names:
            raise ValueError(
                f"{path} has no quantized tensors" + (f" in the layout {stored_as}" if stored_as is not None else "")
            )
        self.copied = {
            name: stored
            for name, stored in self.contents.tensors.items()
            if name not in parts and not is_mark(name, self.layouts)
        }
        self._check_copied(parts, chosen)

    def _said(
        self, chosen: set[str], said: Mapping[str, Layout], block: BlockFormat | None
    ) -> Iterator[tuple[str, Layout]]:
        """The tensors with the layouts that the metadata of mxcast say. Raises ValueError for missing arrays."""
        for name, layout in said.items():
            if layout.codes.of(name) not in chosen or (block and layout != layout_named(layout.dialect, block)):
                continue
            optional = layout.tensor_scale if layout.omits_one else None
            for part in layout.parts:
                if part != optional and part.of(name) not in self.contents.tensors:
                    raise ValueError(f"{self.path} has no {part.of(name)!r}, which its metadata name")
            yield name, layout

    def _candidates(self, stored_as: str | None, block: BlockFormat | None, has_patterns: bool) -> dict[str, Layout]:
        """The layouts that tensors can have, by the dtype of their codes."""
        if self.is_native:
            return native_layouts(self.path.suffix, stored_as, block)
        if stored_as is None:
            raise ValueError(f"{self.path} was not written by mxcast quantize: its layout must be given")
        layout = layout_named(stored_as, block)
        if layout.scales is None and not has_patterns:
            raise ValueError(
                f"the layout {layout.dialect} has scales and codes in one array, which no name tells from "
                "others: patterns of names must say which are quantized"
            )
        return {layout.codes.dtype: layout}

    def _recognised(self, chosen: set[str], candidates: dict[str, Layout]) -> Iterator[tuple[str, Layout]]:
        """The tensors with codes of the dtype that a layout has, and with scales beside them. Raises ValueError for
        codes without their scales.
        """
        tensors = self.contents.tensors
        for array in chosen:
            layout = candidates.get(tensors[array].dtype)
            if layout is not None and (name := layout.codes.tensor_of(array)) is not None:
                scales = layout.scales and layout.scales.of(name)
                if scales is None or (scales in tensors and scales != array):
                    with self.naming(name):
                        yield name, with_stored_scale(layout, name, tensors)
                    continue
            known = [one for layout in candidates.values() for one in LAYOUTS[layout.dialect].values()]
            if not has_dtypes(tensors, array, known) and (stray := stray_of(tensors, array, known)):
                raise ValueError(f"{self.path}: {stray}")

    def _check_copied(self, parts: Collection[str], chosen: set[str]) -> None:
        """Raise ValueError for an array that looks quantized and would be copied: in a file, unless patterns of names
        leave it out; in a folder always, because the new configuration would not describe it.
        """
        for arrays, words in unrecognised(self.contents.tensors, parts):
            sentence = f"{self.path}: {words}: {NOT_READ}"
            if self.path.is_dir():
                raise ValueError(f"{sentence}; a copy would be read as numbers")
            if not chosen.isdisjoint(arrays):
                raise ValueError(f"{sentence}; --exclude with their names copies them as they are")

    def restrict(self, arrays: Collection[str], metadata: Mapping[str, str]) -> None:
        """Leave out the tensors whose codes are not among the arrays of a shard, and the other arrays that are not; the
        metadata are those of the shard.
        """
        self.contents = replace(self.contents, metadata=dict(metadata))
        self.names = [name for name in self.names if self.layouts[name].codes.of(name) in arrays]
        self._check_marks()
        self.copied = {name: stored for name, stored in self.copied.items() if name in arrays}

    def _check_marks(self) -> None:
        """Raise ValueError for a tensor of which its library says in the file that it has another layout, or the
        configuration beside the file, where arrays of both have these names.
        """
        said = None if self.path.is_dir() else beside(self.path)
        for layout in {layout.name: layout for layout in self.layouts.values()}.values():
            same = said and [part.name for part in said.parts] == [part.name for part in layout.parts]
            if said and same and said.reading != layout.reading:
                raise ValueError(
                    f"the configuration beside {self.path} speaks of the layout {said.name}, and the command of "
                    f"{layout.name}"
                )
        every, alike = [one for layouts in LAYOUTS.values() for one in layouts.values()], dict[str, list[Layout]]()
        for name in self.names:
            layout = self.layouts[name]
            if layout.name not in alike:
                alike[layout.name] = [layout, *(one for one in every if one.reading == layout.reading)]
            with self.naming(name):
                for mark in (read_mark(self.contents, name) for read_mark in MARKS):
                    if mark is not None and not any(map(mark.allows, alike[layout.name])):
                        raise ValueError(f"{mark.text}, which is not the layout {layout.name}")

    def tensor(self, name: str) -> StoredTensor:
        """A tensor. Raises ValueError for a damaged one."""
        if self.own:
            numerics, shapes = self.own
            return OwnTensor(self.file, self.contents, numerics, shapes, name)
        with self.naming(name):
            return LaidTensor(self.path, self.contents, self.layouts[name], name, self.is_native)

    @contextlib.contextmanager
    def naming(self, name: str) -> Iterator[None]:
        """Make errors of what is done with a tensor name it."""
        try:
            yield
        except ValueError as error:
            raise ValueError(f"tensor {name!r} of {self.path}: {error}") from None
