"""Conversions of a quantized tensor, part by part: to arrays in the layout of a library, or to float32 numbers."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol, TypeVar

import numpy as np

from ...models import dequantize, pack
from ...models.arrays.layout_parts import Box, boxes, stored_boxes, stored_shapes, units
from ...models.arrays.packing import check_fit
from ...models.arrays.stored_bytes import stored_dtype
from ...models.arrays.tensor_scales import stored_tensor_scale
from ...spec import layout_named
from ...spec.layouts.catalogue import Layout
from ...spec.layouts.scaled import AnyLayout, layouts_of
from ..containers.contents import Write
from ..containers.native_types import native_type
from ..layouts.library_metadata import comfy_description
from ..layouts.scaled_tensor import ScaledTensor
from ..layouts.stored_tensors import StoredTensor
from .not_finite import NotFinite, not_finite

PART = 1 << 20
"""Elements of a part: enough to hide its overhead, few enough for any memory."""

Shape = tuple[int, ...]
Placed = dict[str, tuple[Shape, np.ndarray]]
"""Parts of arrays by name, each with its start."""


@dataclass(frozen=True, kw_only=True)
class MadeArray:
    """A new array: its dtype and shape in the header, and the shape and item size of the bytes that are written."""

    dtype: str
    shape: Shape
    written: Shape
    itemsize: int

    @property
    def nbytes(self) -> int:
        return math.prod(self.written) * self.itemsize


Source = TypeVar("Source", contravariant=True)


class Conversion(Protocol[Source]):
    """Converts parts of a tensor to parts of arrays. All methods raise ValueError if that is impossible."""

    def layout(self, tensor: Source) -> AnyLayout | None:
        """The layout of the converted tensor; None for numbers."""

    def arrays(self, name: str, tensor: Source) -> dict[str, MadeArray]:
        """All arrays of the converted tensor, by name."""

    def whole(self, name: str, tensor: Source) -> Placed:
        """The arrays that are written at once, before the parts."""

    def units(self, tensor: Source) -> Shape:
        """Along each axis of the codes, the edges of a part are multiples of these numbers."""

    def part(self, name: str, tensor: Source, box: Box) -> tuple[Placed, NotFinite]:
        """Convert a part, and count its results that are NaN or Inf."""


class Repacked:
    """Tensors in the layout of a library, in a container with this suffix."""

    def __init__(self, dialect: str, suffix: str) -> None:
        self.dialect, self.suffix = dialect, suffix

    def layout(self, tensor: StoredTensor) -> Layout:
        layouts_of(self.dialect, tensor.block)  # raises for a dialect with FP8 alone
        return layout_named(self.dialect, tensor.block)

    def arrays(self, name: str, tensor: StoredTensor) -> dict[str, MadeArray]:
        layout = self.layout(tensor)
        check_fit(layout, tensor.codes, tensor.axis, tensor.shape)
        native = native_type(self.suffix, layout)
        made = {}
        for part, shape in stored_shapes(layout, tensor.codes).items():
            is_native = native is not None and part is layout.codes
            made[part.of(name)] = MadeArray(
                dtype=native if native is not None and is_native else part.dtype,
                shape=tensor.codes if is_native else shape,
                written=shape,
                itemsize=stored_dtype(part).itemsize,
            )
        for array, (_, data) in self.whole(name, tensor).items():
            dtype = "F32" if data.itemsize == 4 else "U8"
            made[array] = MadeArray(dtype=dtype, shape=data.shape, written=data.shape, itemsize=data.itemsize)
        return made

    def whole(self, name: str, tensor: StoredTensor) -> Placed:
        layout = self.layout(tensor)
        scale, part = stored_tensor_scale(tensor.head(), layout), layout.tensor_scale
        found = comfy_description(layout, name)
        if scale is not None and part is not None:
            found[part.of(name)] = scale
        return {array: ((0,) * data.ndim, data) for array, data in found.items()}

    def units(self, tensor: StoredTensor) -> Shape:
        return units(self.layout(tensor), tensor.codes)

    def part(self, name: str, tensor: StoredTensor, box: Box) -> tuple[Placed, NotFinite]:
        layout = self.layout(tensor)
        first = [one.start for one in box]
        first[layout.axis] //= layout.width
        arrays = pack(tensor.part(box), layout, name=name, first=tuple(first))
        placed = {
            part.of(name): (tuple(one.start for one in place), arrays[part.of(name)])
            for part, place in stored_boxes(layout, box).items()
        }
        return placed, NotFinite()


class Dequantized:
    """Tensors of float32 numbers by the rules of a profile (`models.dequantize`). ``is_transposed`` swaps the last two
    axes of tensors of three axes.
    """

    def __init__(self, profile: str | None, is_transposed: bool = False) -> None:
        self.profile, self.is_transposed = profile, is_transposed

    def layout(self, tensor: StoredTensor) -> None:
        return None

    def arrays(self, name: str, tensor: StoredTensor) -> dict[str, MadeArray]:
        if math.prod(tensor.codes):  # raises for a profile of other formats
            self.part(name, tensor, tuple(slice(0, min(*sizes)) for sizes in zip(tensor.units, tensor.codes)))
        shape = swapped(tensor.shape) if self.is_transposed else tensor.shape
        return {name: MadeArray(dtype="F32", shape=shape, written=shape, itemsize=4)}

    def whole(self, name: str, tensor: StoredTensor) -> Placed:
        return {}

    def units(self, tensor: StoredTensor) -> Shape:
        return (1,) * len(tensor.codes)

    def part(self, name: str, tensor: StoredTensor, box: Box) -> tuple[Placed, NotFinite]:
        starts, q = tuple(one.start for one in box), tensor.part(box)
        profile = None if isinstance(tensor, ScaledTensor) else self.profile  # a product has no rules
        numbers = dequantize(q, profile)
        counts = not_finite(q, numbers)
        if self.is_transposed and numbers.ndim == 3:
            return {name: (swapped(starts), numbers.swapaxes(1, 2))}, counts
        return {name: (starts, numbers)}, counts


def swapped(shape: Shape) -> Shape:
    """A shape of three axes with the last two swapped; any other shape as it is.

    >>> swapped((2, 3, 4)), swapped((3, 4))
    ((2, 4, 3), (3, 4))
    """
    return (shape[0], shape[2], shape[1]) if len(shape) == 3 else shape


def parts_of(tensor: StoredTensor, conversion: Conversion[StoredTensor]) -> Iterator[Box]:
    """Parts of a tensor that are whole parts of its old and of its new arrays."""
    both = tuple(map(math.lcm, tensor.units, conversion.units(tensor)))
    return boxes(tensor.codes, both, PART)


def put(write: Write, name: str, whole: Shape, starts: Shape, part: np.ndarray) -> None:
    """Write a part of an array from ``starts`` on, one contiguous run at a time."""
    axes = len(whole)
    while axes and part.shape[axes - 1] == whole[axes - 1]:
        axes -= 1
    lead = max(axes - 1, 0)  # axes before the last incomplete one
    steps = [math.prod(whole[axis + 1 :]) for axis in range(len(whole))]
    for index in np.ndindex(part.shape[:lead]):
        place = [start + one for start, one in zip(starts, index)] + list(starts[lead:])
        write(name, sum(one * step for one, step in zip(place, steps)), part[index])
