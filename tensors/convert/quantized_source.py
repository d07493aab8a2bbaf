"""Which tensors of a file or a model are converted, and how each is read."""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from ...spec.layouts.scaled import AnyLayout, ScaledLayout, layouts_of
from ..containers.containers import read
from ..containers.contents import Contents
from ..containers.native_types import NATIVE, is_native
from ..layouts.declarations import MARKS
from ..layouts.library_metadata import layouts_said, marks_of
from ..layouts.own_metadata import KEY, about, part_names
from ..layouts.scaled_tensor import ScaledTensor
from ..layouts.stored_tensors import LaidTensor, OwnTensor, StoredTensor
from ..unrecognised.arrays import NOT_READ, more_than_codes, unrecognised
from ..unrecognised.named_arrays import NamedArrays
from ..unrecognised.suggestions import suggestions
from .given_layouts import GivenLayouts
from .options import ConvertOptions
from .selection import asked_for


def says_layout(path: Path) -> bool:
    """Does a file say itself in which layouts of libraries its tensors are? Raises the errors of `read`."""
    return path.suffix in NATIVE or (path.suffix == ".safetensors" and bool(layouts_said(read(path).metadata)))


class QuantizedSource:
    """A file or a model with quantized tensors, of `quantize_file` or in the layout of a library.

    ``names`` lists the tensors that are converted, ``kept`` the quantized tensors of a model that are not, with their
    layouts, and ``copied`` the arrays that belong to no converted tensor.
    """

    def __init__(self, path: Path, options: ConvertOptions, contents: Contents | None = None) -> None:
        """``contents`` are those of a file that is open. Raises ValueError for a file without such tensors."""
        self.path, self.contents = path, read(path) if contents is None else contents
        self.file = path
        """The file that is read; errors name ``path``."""
        self.own = about(path, self.contents) if KEY in self.contents.metadata else None
        self.layouts: dict[str, AnyLayout] = {}
        self.kept: dict[str, AnyLayout] = {}
        self.named: dict[str, AnyLayout] = {}
        """The tensors whose layouts the user gives."""
        chosen, given = asked_for(self.contents, options.include, options.exclude), None
        if self.own:
            if options.stored_as is not None or options.format is not None:
                raise ValueError(f"{path} was written by mxcast quantize: it says itself how it is stored")
            numerics, shapes = self.own
            self.names = [name for name in shapes if name in chosen]
            parts = {part for name in self.names for part in part_names(name, path, numerics, len(shapes))}
        else:
            if options.named is not None:
                self.contents, self.named = self._applied(options.named)
            given = GivenLayouts(path, self.contents, options, self.named)
            self.layouts = given.among(chosen, bool(options.include))
            self.names = list(self.layouts)
            self._check_marks()
            parts = arrays_of(self.layouts)
        if given is not None and given.is_model:
            self.kept = given.others(self.contents.tensors.keys() - parts)
        if given is not None and (self.names or (given.is_model and options.stored_as is None)):
            self._check_copied(parts | arrays_of(self.kept), chosen, given)
        if not self.names:
            words = "" if options.stored_as is None else f" in the layout {options.stored_as}"
            raise ValueError(f"{path} has no quantized tensors{words}")
        parts |= marks_of(self.layouts)
        self.copied = {name: stored for name, stored in self.contents.tensors.items() if name not in parts}

    def _applied(self, named: NamedArrays) -> tuple[Contents, dict[str, AnyLayout]]:
        try:
            return named.applied(self.contents)
        except ValueError as error:
            raise ValueError(f"{self.path}: {error}") from None

    def _check_copied(self, parts: Collection[str], chosen: set[str], given: GivenLayouts) -> None:
        """Raise ValueError for an array that looks quantized and would be copied: in a file, unless patterns of names
        leave it out; in a model always, because the new configuration would not describe it.
        """
        for arrays, words in unrecognised(self.contents.tensors, parts):
            sentence = f"{self.path}: {words}: {NOT_READ}{suggestions(self.contents.tensors, arrays)}"
            if given.is_model:
                if given.groups is not None:
                    sentence = f"{sentence}; the configuration says {given.groups.in_words(arrays[0])}"
                raise ValueError(f"{sentence}; a copy would be read as numbers")
            if not chosen.isdisjoint(arrays):
                raise ValueError(f"{sentence}; --exclude with their names copies them as they are")
        known = {name: layout.names(name) for name, layout in self.layouts.items()}
        for name, sentence in more_than_codes(self.contents.tensors, known).items():
            raise ValueError(f"tensor {name!r} of {self.path}: {sentence}; --exclude leaves the tensor out")

    def restrict(self, arrays: Collection[str], metadata: Mapping[str, str]) -> None:
        """Leave out the tensors whose codes are not among the arrays of a shard, and the other arrays that are not; the
        metadata are those of the shard.
        """
        self.contents = replace(self.contents, metadata=dict(metadata))
        self.names = [name for name in self.names if self.layouts[name].codes.of(name) in arrays]
        self._check_marks()
        self.copied = {name: stored for name, stored in self.copied.items() if name in arrays}

    def _check_marks(self) -> None:
        """Raise ValueError for a tensor of which its library says in the file that it has another layout."""
        every, alike = layouts_of(), dict[str, list[AnyLayout]]()
        for name in (name for name in self.names if name not in self.named):
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
            return LaidTensor(self.path, self.contents, layout, name, is_native(self.path) and name not in self.named)

    @contextlib.contextmanager
    def naming(self, name: str) -> Iterator[None]:
        """Make errors of what is done with a tensor name it."""
        try:
            yield
        except ValueError as error:
            raise ValueError(f"tensor {name!r} of {self.path}: {error}") from None


def arrays_of(layouts: Mapping[str, AnyLayout]) -> set[str]:
    """The names of all arrays of some tensors."""
    return {part for name, layout in layouts.items() for part in layout.names(name)}
