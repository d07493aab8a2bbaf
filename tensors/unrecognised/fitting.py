"""Layouts that fit an array of codes and its scales, by their names, dtypes and shapes."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from ...models.arrays.stored_bytes import stored_dtype
from ...spec.layouts.catalogue import Layout, ScaleOrder
from ...spec.layouts.scaled import AnyLayout, ScaledLayout, Tile, fitting_tiles, grain_of
from ..containers.contents import Stored


def fitting(
    tensors: Mapping[str, Stored],
    array: str,
    layouts: Sequence[AnyLayout],
    other_dtypes: Collection[str] = (),
    tiles: tuple[Tile, ...] = (),
) -> dict[str, list[AnyLayout]]:
    """The layouts in which an array holds the codes of a tensor, by the name of the tensor.

    Scales of MX formats may also have ``other_dtypes``. If ``tiles`` are given, no other groups and blocks of FP8 fit.
    """
    stored = tensors[array]
    found: dict[str, list[AnyLayout]] = {}
    for layout in layouts:
        if layout.codes.dtype == stored.dtype and (name := layout.codes.tensor_of(array)) is not None:
            if isinstance(layout, ScaledLayout):
                fits: list[AnyLayout] = [*_scaled(tensors, layout, name, stored, tiles)]
            else:
                fits = [layout] * _fits(tensors, layout, name, stored, other_dtypes)
            if fits:
                found.setdefault(name, []).extend(fits)
    return {name: [one for one in fits if _is_usual(one)] or fits for name, fits in found.items()}


def _is_usual(layout: AnyLayout) -> bool:
    """Is the library known to write such scales?"""
    if isinstance(layout, ScaledLayout) and layout.forms and layout.tile is not None:
        return grain_of(layout.tile) in layout.forms
    return True


def _scaled(
    tensors: Mapping[str, Stored], layout: ScaledLayout, name: str, codes: Stored, tiles: tuple[Tile, ...]
) -> Iterator[ScaledLayout]:
    scales = tensors.get(layout.scales.of(name))
    if codes.shape and scales is not None:
        declared = tiles if layout.tile is None else (layout.tile,)
        for tile in fitting_tiles(codes.shape, scales.shape, layout.size, declared):
            if layout.tile in (None, tile) and layout.takes(scales.dtype, tile):
                yield layout.fitted(tile, scales.dtype, codes.shape)


def _fits(
    tensors: Mapping[str, Stored], layout: Layout, name: str, codes: Stored, other_dtypes: Collection[str]
) -> bool:
    """Do the codes and scales of a tensor fit a layout?"""
    shape = scales_shape(layout, codes.shape)
    if shape is None or layout.scales is None:
        return shape is not None
    stored = tensors.get(layout.scales.of(name))
    return stored is not None and stored.shape == shape and stored.dtype in (layout.scales.dtype, *other_dtypes)


def scales_shape(layout: Layout, codes: tuple[int, ...]) -> tuple[int, ...] | None:
    """The shape of the scales of codes of this shape in a layout; () if they share the array of codes, and None if the
    layout has no codes of this shape.
    """
    item = stored_dtype(layout.codes).itemsize
    if layout.has_block_axis:
        return codes[:-1] if len(codes) > 1 and codes[-1] == layout.block_bytes else None
    across = -1 if layout.is_transposed else layout.axis
    is_matrix = layout.order is not ScaleOrder.LINEAR or (layout.padding, layout.scale_padding) != ((1, 1), (1, 1))
    if len(codes) < max(-layout.axis, 1 + is_matrix):
        return None
    together = layout.together * (layout.block_bytes + (layout.scales is None))
    length = codes[across] * item
    if length % together:
        return None
    if layout.scales is None:
        return ()
    if layout.padding != (1, 1) and (
        codes[-2] % layout.padding[0] or length // layout.block_bytes * layout.width % layout.padding[1]
    ):
        return None
    blocks = list(codes)
    blocks[across] = length // together
    if layout.order is ScaleOrder.LINEAR:
        for axis, multiple in zip((-2, -1), layout.scale_padding):
            if multiple > 1:
                blocks[axis] = -(-blocks[axis] // multiple) * multiple
    else:
        for axis, (tile, stored) in zip((-2, -1), zip((128, 4), layout.tile_shape)):
            blocks[axis] = -(-blocks[axis] // tile) * stored
    return tuple(blocks)
