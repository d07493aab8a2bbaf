"""The array of a tensor scale, which has several names."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from math import prod

from ...spec import LAYOUTS
from ...spec.layouts.catalogue import Layout
from ..containers.contents import Stored
from ..unrecognised.arrays import OF_ACTIVATIONS


def with_stored_scale(layout: Layout, name: str, tensors: Mapping[str, Stored]) -> Layout:
    """The layout of a tensor, with the name of the array of its tensor scale in a file.

    Raises ValueError if several arrays may be the tensor scale, if the layout has no tensor scale, and if an array has
    an unknown name and the layout would take 1.
    """
    known = [layout] if layout.tensor_scale else LAYOUTS[layout.dialect].values()
    parts = [
        replace(one.tensor_scale, name=other)
        for one in known
        if one.tensor_scale
        for other in (one.tensor_scale.name, *one.other_tensor_scales)
    ]
    there = {part.of(name): part for part in parts if part.of(name) in tensors}
    matrices = prod(tensors[layout.codes.of(name)].shape[:-2])
    if not there:
        if layout.omits_one and (similar := _similar(layout, name, tensors, matrices)):
            names = " or ".join(repr(part.of(name)) for part in parts)
            raise ValueError(f"{similar!r} may be its tensor scale, whose name in {layout.name} is {names}")
        return layout
    if layout.tensor_scale is None:
        raise ValueError(f"{next(iter(there))!r} is a tensor scale, and the layout {layout.name} has none")
    fitting = [part for array, part in there.items() if _fits(tensors[array], matrices)]
    if len(there) > 1 and len(fitting) != 1:
        raise ValueError(f"its tensor scale may be {' or '.join(map(repr, there))}: a file must have one of them")
    return replace(layout, tensor_scale=[*fitting, *there.values()][0])


def _fits(stored: Stored, matrices: int) -> bool:
    """Does an array hold one number, or one for each matrix?"""
    return stored.dtype.startswith(("F", "BF")) and prod(stored.shape) in (1, matrices)


def _similar(layout: Layout, name: str, tensors: Mapping[str, Stored], matrices: int) -> str | None:
    """The name of an array that may be the scale or the largest magnitude of the weights of a tensor, or None."""
    module, dot, leaf = map(re.escape, name.rpartition("."))
    pattern = re.compile(rf"{module}{dot}(?:{leaf}[._])?([^.]*(?:scale|amax)[^.]*)", re.IGNORECASE)
    found = {array: said[1] for array in tensors if (said := pattern.fullmatch(array))}
    others = (array for array in found if array not in layout.names(name) and not OF_ACTIVATIONS.match(found[array]))
    return next((array for array in others if _fits(tensors[array], matrices)), None)
