"""The layouts of the tensors of a file or a model, which the command, the configuration or the metadata name."""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path

from ...spec.formats.names import block_format
from ...spec.layouts.catalogue import Layout, layout_named
from ...spec.layouts.scaled import AnyLayout, ScaledLayout, layouts_of
from ..configuration.groups import Groups
from ..configuration.reading import UnknownQuantization, groups_in
from ..containers.contents import Contents, Stored
from ..containers.native_types import is_native, native_layouts
from ..layouts.declarations import configuration
from ..layouts.library_metadata import declared_layouts
from ..layouts.tensor_scales import with_stored_scale
from ..unrecognised.fitting import fitting
from ..unrecognised.incomplete_tensors import has_dtypes, incompleteness
from .options import ConvertOptions


class GivenLayouts:
    """The given layouts, and the tensors that have them."""

    def __init__(self, path: Path, contents: Contents, options: ConvertOptions, named: Mapping[str, AnyLayout]) -> None:
        """``named`` are the tensors whose layouts the user gives. Raises ValueError for unknown names, and for a
        damaged or unknown configuration that would be needed.
        """
        self.named = named
        self.path, self.tensors = path, contents.tensors
        self.stored_as, self.format = options.stored_as, options.format
        self.declared = {} if options.stored_as is not None else declared_layouts(contents.metadata)
        self.is_native, self.is_model = is_native(path), path.is_dir()
        self.groups = self._groups()
        """Groups of layouts that the configuration of a model declares, or the configuration next to a file."""

    def _groups(self) -> Groups | None:
        if not self.is_model:
            return configuration(self.path)
        try:
            return groups_in(self.path)
        except UnknownQuantization:
            if self.stored_as is None and not self.declared and not self.named:
                raise
            return None

    def among(self, arrays: Collection[str], has_patterns: bool = True) -> dict[str, AnyLayout]:
        """The tensors with codes among these arrays, with their layouts. ``has_patterns``: the user selected the
        arrays.

        Raises ValueError for codes without their scales, for arrays that fit several layouts, and for a layout that
        the configuration contradicts.
        """
        found = {name: layout for name, layout in self.named.items() if layout.codes.of(name) in arrays}
        rest = set(arrays) - {part for name, layout in self.named.items() for part in layout.names(name)}
        if self.declared:
            found |= dict(self._of_metadata(rest))
            rest -= {part for name, layout in self.declared.items() for part in layout.names(name)}
        is_given = self.declared or (self.named and self.stored_as is None and not self.is_native)
        if not is_given or (self.is_model and self.groups):
            found |= dict(self._recognised(rest, self._candidates(has_patterns)))
        return dict(sorted(found.items()))

    def others(self, arrays: Collection[str]) -> dict[str, AnyLayout]:
        """The quantized tensors among arrays that are not converted, of any known block format."""
        every = copy.copy(self)
        every.stored_as, every.format = self.stored_as and self.stored_as.partition(":")[0], None
        with contextlib.suppress(ValueError):
            return every.among(arrays)
        return {}

    def _of_metadata(self, arrays: Collection[str]) -> Iterator[tuple[str, AnyLayout]]:
        """The tensors and layouts in the metadata of mxcast. Raises ValueError for missing arrays."""
        for name, layout in self.declared.items():
            array = layout.codes.of(name)
            of_format = [one.name for one in layouts_of(layout.dialect, self.format)] if self.format else [layout.name]
            if array not in arrays or layout.name not in of_format:
                continue
            optional = layout.tensor_scale if isinstance(layout, Layout) and layout.omits_one else None
            for part in layout.parts:
                if part != optional and part.of(name) not in self.tensors:
                    raise ValueError(f"{self.path} has no {part.of(name)!r}, which its metadata name")
            if isinstance(layout, ScaledLayout):
                fits = fitting(self.tensors, array, [layout]).get(name, [])
                if len(fits) != 1:
                    words = f"{array!r} of {self.path} and its scales are not {layout.full_name}"
                    raise ValueError(f"{words}, as its metadata say")
                layout = fits[0]
            yield name, layout

    def _candidates(self, has_patterns: bool) -> Sequence[AnyLayout]:
        """The layouts that tensors can have."""
        if self.is_native:
            block = None if self.format is None else block_format(self.format)
            return list(native_layouts(self.path.suffix, self.stored_as, block).values())
        if self.stored_as is None:
            if not self.is_model or self.groups is None:
                raise ValueError(f"{self.path} was not written by mxcast quantize: its layout must be given")
            names = self._of_format({layout.dialect for layout in self.groups.layouts})
            return [one for one in dict.fromkeys(self.groups.layouts) if names is None or one.name in names]
        layouts = layouts_of(self.stored_as, self.format)
        is_joined = any(layout.scales is None for layout in layouts)
        if is_joined and len(layouts) > 1:
            layouts = [layout_named(self.stored_as)]  # raises: the block format must be given
        if is_joined and not has_patterns:
            raise ValueError(
                f"the layout {layouts[0].dialect} has scales and codes in one array, which no name tells from "
                "others: patterns of names must say which are quantized"
            )
        return layouts

    def _of_format(self, dialects: Collection[str]) -> set[str] | None:
        """The names of the layouts of some dialects in the block format of the command; None without one."""
        if self.format is None:
            return None
        found: set[str] = set()
        for dialect in dialects:
            with contextlib.suppress(ValueError):  # another dialect has it
                found |= {one.name for one in layouts_of(dialect, self.format)}
        if not found:
            layouts_of(min(dialects, default=""), self.format)  # raises, and lists the formats
        return found

    def _recognised(self, arrays: Collection[str], layouts: Sequence[AnyLayout]) -> Iterator[tuple[str, AnyLayout]]:
        known = [one for dialect in {layout.dialect for layout in layouts} for one in layouts_of(dialect)]
        natives = native_layouts(self.path.suffix, None, None) if self.is_native else {}
        for array, stored in self.tensors.items():
            if array not in arrays:
                continue
            if self.is_native:
                fits = _named(self.tensors, array, [one for one in layouts if natives.get(stored.dtype) == one])
            elif self.stored_as is not None and len(layouts) == 1 and isinstance(layouts[0], Layout):
                own = [one for one in layouts if one.codes.dtype == stored.dtype]
                fits = _named(self.tensors, array, own)  # wrong shapes are refused later
            else:
                fits = fitting(self.tensors, array, layouts, tiles=self.groups.tiles if self.groups else ())
            if fits:
                yield self._only(array, fits)
            elif has_dtypes(self.tensors, array, known):
                continue
            elif sentence := incompleteness(self.tensors, array, known):
                raise ValueError(f"{self.path}: {sentence}")

    def _only(self, array: str, fits: Mapping[str, Sequence[AnyLayout]]) -> tuple[str, AnyLayout]:
        """The tensor and the layout of an array of codes. Raises ValueError if there are several."""
        if len(fits) > 1:
            raise ValueError(f"{self.path}: the array {array!r} may be of the tensor {' or '.join(map(repr, fits))}")
        ((name, layouts),) = fits.items()
        layouts = self._agreed(name, layouts)
        if len({layout.reading for layout in layouts}) > 1:
            words = " or ".join(layout.full_name for layout in layouts)
            raise ValueError(f"tensor {name!r} of {self.path} may have the layout {words}: --from chooses")
        layout = layouts[0]
        if isinstance(layout, Layout):
            try:
                layout = with_stored_scale(layout, name, self.tensors)
            except ValueError as error:
                raise ValueError(f"tensor {name!r} of {self.path}: {error}") from None
        return name, layout

    def _agreed(self, name: str, layouts: Sequence[AnyLayout]) -> Sequence[AnyLayout]:
        """The layouts of a tensor with which the configuration agrees. Raises ValueError if it agrees with none, in a
        model, and next to a file if the layouts of both use these names.
        """
        if self.groups is None or self.is_native:
            return layouts
        group = self.groups.of(name)
        if agreed := [layout for layout in layouts if group is not None and group.allows(layout)]:
            return agreed
        names = {layout.codes.of(name) for layout in layouts}
        own = [] if group is None else [one for one in group.layouts if one.codes.of(name) in names]
        if not self.is_model and not own:
            return layouts
        arrays = " or ".join(dict.fromkeys(layout.full_name for layout in layouts))
        config = f"the configuration {'of' if self.is_model else 'next to'} {self.path}"
        others = "its arrays are" if self.stored_as is None else "the command says"
        raise ValueError(f"tensor {name!r}: {config} says {self.groups.in_words(name)}, and {others} {arrays}")


def _named(tensors: Mapping[str, Stored], array: str, layouts: Sequence[AnyLayout]) -> dict[str, list[AnyLayout]]:
    """The layouts whose names fit an array of codes and its scales, by tensor."""
    found: dict[str, list[AnyLayout]] = {}
    for layout in layouts:
        name = layout.codes.tensor_of(array)
        scales = layout.scales and name and layout.scales.of(name)
        if name is not None and (layout.scales is None or (scales in tensors and scales != array)):
            found.setdefault(name, []).append(layout)
    return found
