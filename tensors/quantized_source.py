"""Which tensors of a file or a model are quantized, and how each is read."""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from operator import itemgetter
from pathlib import Path

from ..spec import BlockFormat
from ..spec.layouts import Layout, layout_named
from ..spec.names import block_format
from ..spec.scaled_layouts import AnyLayout, ScaledLayout, layouts_of
from .containers import Contents, Stored, read
from .files import asked_for
from .fitting import fitting
from .marks import MARKS, beside
from .metadata import KEY, about, part_names
from .native import NATIVE, native_layouts
from .remarks import is_mark, layouts_said
from .scaled import ScaledTensor
from .sources import LaidTensor, OwnTensor, StoredTensor
from .strays import has_dtypes, stray_of
from .tensor_scales import with_stored_scale
from .unrecognised import NOT_READ, unrecognised

__all__ = ["QuantizedSource", "says_layout"]


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
        self.layouts: dict[str, AnyLayout] = {}
        self.is_native = path.suffix in NATIVE
        chosen = asked_for(self.contents, include, exclude)
        if self.own:
            if stored_as is not None or format is not None:
                raise ValueError(f"{path} was written by mxcast quantize: it says itself how it is stored")
            numerics, shapes = self.own
            self.names = [name for name in shapes if name in chosen]
            parts = {part for name in self.names for part in part_names(name, path, numerics, len(shapes))}
        else:
            said = layouts_said(self.contents.metadata)
            if stored_as is None and said:
                found = self._said(chosen, said, format)
            else:
                found = self._recognised(chosen, self._candidates(stored_as, format, bool(include)))
            self.layouts = dict(sorted(found, key=itemgetter(0)))
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
        self, chosen: set[str], said: Mapping[str, AnyLayout], format: str | BlockFormat | None
    ) -> Iterator[tuple[str, AnyLayout]]:
        """The tensors with the layouts that the metadata of mxcast say. Raises ValueError for missing arrays."""
        tensors = self.contents.tensors
        for name, layout in said.items():
            array = layout.codes.of(name)
            of_format = [one.name for one in layouts_of(layout.dialect, format)] if format else [layout.name]
            if array not in chosen or layout.name not in of_format:
                continue
            optional = layout.tensor_scale if isinstance(layout, Layout) and layout.omits_one else None
            for part in layout.parts:
                if part != optional and part.of(name) not in tensors:
                    raise ValueError(f"{self.path} has no {part.of(name)!r}, which its metadata name")
            if isinstance(layout, ScaledLayout):
                fits = fitting(tensors, array, [layout]).get(name, [])
                if len(fits) != 1:
                    words = f"{array!r} of {self.path} and its scales are not {layout.full_name}"
                    raise ValueError(f"{words}, as its metadata say")
                layout = fits[0]
            yield name, layout

    def _candidates(
        self, stored_as: str | None, format: str | BlockFormat | None, has_patterns: bool
    ) -> list[AnyLayout]:
        """The layouts that tensors can have."""
        if self.is_native:
            return [
                *native_layouts(self.path.suffix, stored_as, None if format is None else block_format(format)).values()
            ]
        if stored_as is None:
            raise ValueError(f"{self.path} was not written by mxcast quantize: its layout must be given")
        layouts = layouts_of(stored_as, format)
        is_joined = any(layout.scales is None for layout in layouts)
        if is_joined and len(layouts) > 1:
            layouts = [layout_named(stored_as)]  # which says that the block format must be given
        if is_joined and not has_patterns:
            raise ValueError(
                f"the layout {layouts[0].dialect} has scales and codes in one array, which no name tells from "
                "others: patterns of names must say which are quantized"
            )
        return layouts

    def _recognised(self, chosen: set[str], layouts: Sequence[AnyLayout]) -> Iterator[tuple[str, AnyLayout]]:
        """The tensors with codes of the dtype that a layout has, and with scales beside them. Raises ValueError for
        codes without their scales, and for arrays that several layouts explain.
        """
        tensors = self.contents.tensors
        known = [one for layout in layouts for one in layouts_of(layout.dialect)]
        natives = native_layouts(self.path.suffix, None, None) if self.is_native else {}
        for array in chosen:
            if self.is_native:
                fits = _named(tensors, array, [one for one in layouts if natives.get(tensors[array].dtype) == one])
            elif len(layouts) == 1 and isinstance(layouts[0], Layout):
                own = [one for one in layouts if one.codes.dtype == tensors[array].dtype]
                fits = _named(tensors, array, own)  # shapes that do not fit have a sentence of their own
            else:
                fits = fitting(tensors, array, layouts)
            if not fits:
                if not has_dtypes(tensors, array, known) and (stray := stray_of(tensors, array, known)):
                    raise ValueError(f"{self.path}: {stray}")
                continue
            name, layout = self._only(array, fits)
            if isinstance(layout, Layout):
                with self.naming(name):
                    layout = with_stored_scale(layout, name, tensors)
            yield name, layout

    def _only(self, array: str, fits: Mapping[str, Sequence[AnyLayout]]) -> tuple[str, AnyLayout]:
        """The tensor and the layout that an array of codes has. Raises ValueError if there are several."""
        if len(fits) > 1:
            raise ValueError(f"{self.path}: the array {array!r} may be of the tensor {' or '.join(map(repr, fits))}")
        ((name, layouts),) = fits.items()
        if len({layout.reading for layout in layouts}) > 1:
            words = " or ".join(layout.full_name for layout in layouts)
            raise ValueError(f"tensor {name!r} of {self.path} may have the layout {words}: --from chooses")
        return name, layouts[0]

    def _check_copied(self, parts: Collection[str], chosen: set[str]) -> None:
        """Raise ValueError for an array that looks quantized and would be copied: in a file, unless patterns of names
        leave it out; in a folder always, because the new configuration would not describe it.
        """
        for arrays, words in () if self.own else unrecognised(self.contents.tensors, parts):
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
        every, alike = layouts_of(), dict[str, list[AnyLayout]]()
        for name in self.names:
            layout = self.layouts[name]
            if layout.full_name not in alike:
                alike[layout.full_name] = [layout, *(one for one in every if one.reading == layout.reading)]
            with self.naming(name):
                for mark in (read_mark(self.contents, name) for read_mark in MARKS):
                    if mark is not None and not any(map(mark.allows, alike[layout.full_name])):
                        raise ValueError(f"{mark.text}, which is not the layout {layout.name}")

    def tensor(self, name: str) -> StoredTensor:
        """A tensor. Raises ValueError for a damaged one."""
        if self.own:
            numerics, shapes = self.own
            return OwnTensor(self.file, self.contents, numerics, shapes, name)
        layout = self.layouts[name]
        with self.naming(name):
            if isinstance(layout, ScaledLayout):
                return ScaledTensor(self.contents.tensors, layout, name)
            return LaidTensor(self.path, self.contents, layout, name, self.is_native)

    @contextlib.contextmanager
    def naming(self, name: str) -> Iterator[None]:
        """Make errors of what is done with a tensor name it."""
        try:
            yield
        except ValueError as error:
            raise ValueError(f"tensor {name!r} of {self.path}: {error}") from None


def _named(tensors: Mapping[str, Stored], array: str, layouts: Sequence[AnyLayout]) -> dict[str, list[AnyLayout]]:
    """The layouts that have the name of an array of codes, and scales beside it; by tensor."""
    found: dict[str, list[AnyLayout]] = {}
    for layout in layouts:
        name = layout.codes.tensor_of(array)
        scales = layout.scales and name and layout.scales.of(name)
        if name is not None and (layout.scales is None or (scales in tensors and scales != array)):
            found.setdefault(name, []).append(layout)
    return found
