"""Quantized tensors in the layout of mxcast or of a library, read one part at a time."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Protocol

import numpy as np

from ...models import BlockArray, Quantized, unpack
from ...models.arrays.block_codes import check_codes
from ...models.arrays.layout_parts import Box, numbers_shape, stored_boxes, stored_shapes, units
from ...models.arrays.source import code_dtype
from ...models.arrays.stored_bytes import stored_dtype
from ...models.arrays.tensor_scales import read_tensor_scale
from ...spec import BlockFormat, Encode, Nvfp4Encode
from ...spec.layouts.catalogue import Layout, Part, ScaleOrder
from ..containers.contents import Contents, Stored, taken
from .library_metadata import declared_shape
from .own_metadata import stored_parts

Shape = tuple[int, ...]


class StoredTensor(Protocol):
    """A quantized tensor in a file, with blocks along ``axis``. ``codes`` is the shape of the codes, ``shape`` the
    shape of the numbers, without the padding of the last blocks.
    """

    block: BlockFormat
    axis: int
    codes: Shape
    shape: Shape

    @property
    def units(self) -> Shape:
        """Along each axis of the codes, the edges of a part are multiples of these numbers."""

    def head(self) -> BlockArray:
        """An array without elements, with the tensor scale."""

    def part(self, box: Box) -> BlockArray:
        """A copy of a part. Raises ValueError for damaged codes."""


class OwnTensor:
    """A tensor as `quantize_file` stores it."""

    def __init__(
        self, path: Path, contents: Contents, numerics: Encode | Nvfp4Encode, shapes: Mapping[str, Shape], name: str
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
            codes=taken(self.parts.codes, self.codes, box),
            scales=taken(
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
        """``is_native``: the container has a type for the codes, which then have the shape of the numbers. Raises
        ValueError for arrays that do not fit together.
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
        said = declared_shape(contents.metadata, name) or completed
        if (said[:-2], said[-1]) != (completed[:-2], completed[-1]):
            raise ValueError(f"its metadata declare the shape {said}, and its codes have the shape {completed}")
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
            arrays[part.of(self.name)] = taken(stored, shape, place, stored_dtype(part))
        q = unpack(arrays, self.layout, name=self.name)
        if q.codes.shape == (sizes := tuple(one.stop - one.start for one in box)):
            return q
        rows = tuple(map(slice, sizes[:-1]))  # without padding
        return replace(q, codes=q.codes[rows], scales=q.scales[rows])

    def _tensor_scale(self, experts: slice) -> dict[str, np.ndarray]:
        """The tensor scale, or the scales of some experts, by the name of its array; empty without one."""
        part, scale = self.layout.tensor_scale, self.tensor_scale
        if part is None or scale is None:
            return {}
        return {part.of(self.name): scale if scale.size == 1 else scale[experts]}


def _same_bytes(part: Part, stored: Stored, shape: Shape, layout: Layout) -> Shape:
    """The shape of an array in a layout. Raises ValueError for an array of another shape; tiles of scales may have any
    shape with as many bytes, and native codes count elements.
    """
    is_other = part is layout.scales and stored.shape != shape
    may_differ = layout.order is ScaleOrder.TILES_128X4 and stored.shape[:-2] == shape[:-2]
    if (is_other and not may_differ) or stored.data.nbytes != math.prod(shape) * stored_dtype(part).itemsize:
        what = "scales" if part is layout.scales else "codes"
        raise ValueError(f"the layout {layout.name} has {what} of shape {shape} here, not {stored.shape}")
    return shape
