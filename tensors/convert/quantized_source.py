"""The quantized tensors of a file or a model that are converted, and their arrays."""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from ...spec.layouts.scaled import AnyLayout, ScaledLayout, layouts_of
from ..containers.containers import read
from ..containers.contents import Contents
from ..containers.native_types import NATIVE, is_native
from ..layouts.declarations import DECLARATIONS
from ..layouts.library_metadata import comfy_names, declared_layouts
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
    """Does a file declare the layouts of its tensors? Raises the errors of `read`."""
    return path.suffix in NATIVE or (path.suffix == ".safetensors" and bool(declared_layouts(read(path).metadata)))


class QuantizedSource:
    """A file or a model with quantized tensors, in the layout of mxcast or of a library.

    ``names`` lists the converted tensors, ``kept`` the other quantized tensors of a model with their layouts, and
    ``copied`` the arrays of no converted tensor.
    """

    def __init__(self, path: Path, options: ConvertOptions, contents: Contents | None = None) -> None:
        """``contents`` belong to a file that is open already. Raises ValueError for a file without such tensors."""
        self.path, self.contents = path, read(path) if contents is None else contents
        self.file = path
        """The file that is read; ``path`` is its name in errors."""
        self.own = about(path, self.contents) if KEY in self.contents.metadata else None
        self.layouts: dict[str, AnyLayout] = {}
        self.kept: dict[str, AnyLayout] = {}
        self.named: dict[str, AnyLayout] = {}
        """The layouts of the tensors that the user names."""
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
            self._check_declarations()
            parts = arrays_of(self.layouts)
        if given is not None and given.is_model:
            self.kept = given.others(self.contents.tensors.keys() - parts)
        if given is not None and (self.names or (given.is_model and options.stored_as is None)):
            self._check_copied(parts | arrays_of(self.kept), chosen, given)
        if not self.names:
            words = "" if options.stored_as is None else f" in the layout {options.stored_as}"
            raise ValueError(f"{path} has no quantized tensors{words}")
        parts |= comfy_names(self.layouts)
        self.copied = {name: stored for name, stored in self.contents.tensors.items() if name not in parts}

    def _applied(self, named: NamedArrays) -> tuple[Contents, dict[str, AnyLayout]]:
        try:
            return named.applied(self.contents)
        except ValueError as error:
            raise ValueError(f"{self.path}: {error}") from None

    def _check_copied(self, parts: Collection[str], chosen: set[str], given: GivenLayouts) -> None:
        """Raise ValueError for a copied array that looks quantized: in a file unless patterns of names exclude it, in a
        model always, because the new configuration would not describe it.
        """
        for arrays, words in unrecognised(self.contents.tensors, parts):
            groups = given.groups if given.is_model else None
            is_described = groups is not None and groups.of(arrays[0]) is not None
            sentence = f"{self.path}: {words}: {NOT_READ}"
            if not is_described:
                sentence += suggestions(self.contents.tensors, arrays)
            if groups is not None:
                sentence = f"{sentence}; the configuration says {groups.in_words(arrays[0])}"
            if given.is_model:
                raise ValueError(f"{sentence}; a copy would be read as numbers")
            if not chosen.isdisjoint(arrays):
                raise ValueError(f"{sentence}; --exclude with their names copies them as they are")
        known = {name: layout.names(name) for name, layout in self.layouts.items()}
        for name, sentence in more_than_codes(self.contents.tensors, known).items():
            raise ValueError(f"tensor {name!r} of {self.path}: {sentence}; --exclude leaves the tensor out")

    def restrict(self, arrays: Collection[str], metadata: Mapping[str, str]) -> None:
        """Keep the tensors whose codes are among the arrays of a shard, the other arrays of the shard, and its
        metadata.
        """
        self.contents = replace(self.contents, metadata=dict(metadata))
        self.names = [name for name in self.names if self.layouts[name].codes.of(name) in arrays]
        self._check_declarations()
        self.copied = {name: stored for name, stored in self.copied.items() if name in arrays}

    def _check_declarations(self) -> None:
        """Raise ValueError for a tensor with a declaration of another layout in the file."""
        every, alike = layouts_of(), dict[str, list[AnyLayout]]()
        for name in (name for name in self.names if name not in self.named):
            layout = self.layouts[name]
            if layout.full_name not in alike:
                alike[layout.full_name] = [layout, *(one for one in every if one.reading == layout.reading)]
            with self.naming(name):
                for declared in (reader(self.contents, name) for reader in DECLARATIONS):
                    if declared is not None and not any(map(declared.allows, alike[layout.full_name])):
                        raise ValueError(f"{declared.text}, which is not the layout {layout.name}")

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
        """A block whose errors name the tensor."""
        try:
            yield
        except ValueError as error:
            raise ValueError(f"tensor {name!r} of {self.path}: {error}") from None


def arrays_of(layouts: Mapping[str, AnyLayout]) -> set[str]:
    """The names of all arrays of some tensors."""
    return {part for name, layout in layouts.items() for part in layout.names(name)}
