"""Block arrays in the layouts of libraries (`spec.layouts.catalogue`), and back, without arithmetic on numbers."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ...spec import BlockFormat
from ...spec.catalogue import excerpt
from ...spec.formats.names import block_format
from ...spec.layouts.catalogue import Layout, ScaleOrder, ScalePlace, layout_named
from .block_array import BlockArray
from .block_codes import check_codes
from .stored_bytes import BYTE, ORDERS, PACKINGS, SCALE_BYTES, padded, stored_array, stored_dtype
from .tensor_scales import read_tensor_scale, stored_tensor_scale


def pack(
    q: BlockArray, layout: str | Layout, *, name: str = "weight", first: tuple[int, ...] = ()
) -> dict[str, np.ndarray]:
    """The arrays in which a library stores a block array.

    Parameters
    ----------
    q : scales and codes from `quantize` along the axis of the layout: the last one, and for ``te_columnwise`` the last
        but one
    layout : the name of a dialect (`spec.layouts.catalogue.LAYOUTS`) with the block format, or a layout
    name : the name of the tensor; names of the arrays contain it
    first : the index of the first block, if ``q`` is part of a larger array; errors count from there

    Returns
    -------
    dict
        arrays by their names in the dialect; floating-point types outside NumPy are patterns in uint8. A last block
        that was completed with zeros stays complete.

    Raises
    ------
    TypeError
        for an object that is not a block array
    ValueError
        for an unknown dialect or one without the block format, for blocks along another axis, and for arrays that the
        layout cannot store: rows of another length, a scale that readers of the dialect decode to another number, a
        tensor scale outside float32 in the convention of the dialect

    >>> from mxcast.models import quantize
    >>> stored = pack(quantize(np.full((2, 32), 1.5, np.float32), "e2m1"), "ggml", name="blk.0.ffn_up.weight")
    >>> {name: (array.shape, array.dtype.name) for name, array in stored.items()}
    {'blk.0.ffn_up.weight': ((2, 17), 'uint8')}
    """
    if not isinstance(q, BlockArray):
        raise TypeError(f"pack takes what quantize returns, not {excerpt(q)}")
    layout = layout if isinstance(layout, Layout) else layout_named(layout, q.block)
    check_codes(q)
    check_fit(layout, q.codes.shape, q.axis, q.shape)
    _check_scales(q, layout, first)
    tensor_scale = stored_tensor_scale(q, layout)
    codes, scales = (np.moveaxis(a.astype(BYTE, copy=False), layout.axis, -1) for a in (q.codes, q.scales))
    rows, columns = layout.padding
    codes, scales = padded(codes, (rows, columns)), padded(scales, (rows, max(columns // layout.width, 1)))
    packed = PACKINGS[layout.packing][0](codes.reshape(*scales.shape, layout.width))
    scales = SCALE_BYTES[layout.scale_byte][0](scales)
    if layout.scales is None:
        found = {layout.codes: _joined(packed, scales, layout)}
    else:
        if not layout.has_block_axis:
            packed = packed.reshape(*codes.shape[:-1], scales.shape[-1] * layout.block_bytes)
        if not layout.is_transposed:
            packed, scales = (np.moveaxis(a, -1, layout.axis) for a in (packed, scales))
        found = {layout.codes: packed, layout.scales: ORDERS[layout.order][0](scales, layout)}
    if layout.tensor_scale is not None and tensor_scale is not None:
        found[layout.tensor_scale] = tensor_scale
    return {part.of(name): np.asarray(array, order="C").view(stored_dtype(part)) for part, array in found.items()}


def unpack(
    arrays: Mapping[str, np.ndarray],
    layout: str | Layout,
    block: str | BlockFormat | None = None,
    *,
    name: str = "weight",
    shape: tuple[int, ...] | None = None,
) -> BlockArray:
    """The block array in the arrays of a library: the inverse of `pack`.

    Parameters
    ----------
    arrays : arrays by their names in the dialect; others are ignored
    layout : the name of a dialect (`spec.layouts.catalogue.LAYOUTS`), or a layout
    block : the block format; required if the dialect has several
    name : the name of the tensor
    shape : the shape of the array of numbers, if rows or blocks were completed; by default the stored shape

    Returns
    -------
    BlockArray
        with new arrays

    Raises
    ------
    TypeError
        for arrays that are not NumPy arrays
    ValueError
        for an unknown dialect, one without the block format, and arrays that are missing, have another dtype, or have
        shapes that do not fit together

    >>> from mxcast.models import quantize
    >>> q = quantize(np.full((2, 32), 1.5, np.float32), "e2m1")
    >>> np.array_equal(unpack(pack(q, "gpt_oss"), "gpt_oss").codes, q.codes)
    True
    """
    if not isinstance(layout, Layout):
        layout = layout_named(layout, None if block is None else block_format(block))
    packed = stored_array(arrays, layout.codes, name, layout)
    if packed.ndim < 1 + layout.has_block_axis + (layout.axis != -1):
        raise ValueError(f"{layout.codes.of(name)!r} has {packed.ndim} axes, too few for the layout {layout.name}")
    packed = np.ascontiguousarray(packed).view(BYTE)
    if layout.scales is None:
        packed, scales = _separated(packed, layout)
    else:
        if not layout.is_transposed:
            packed = np.moveaxis(packed, layout.axis, -1)
        if not layout.has_block_axis:
            packed = packed.reshape(*packed.shape[:-1], *cut(packed.shape[-1], layout.block_bytes, layout))
        blocks = np.empty(packed.shape[:-1], BYTE)
        if not layout.is_transposed:
            blocks = np.moveaxis(blocks, -1, layout.axis)
        scales = stored_array(arrays, layout.scales, name, layout).view(BYTE)
        scales = ORDERS[layout.order][1](scales, blocks.shape, layout)
        if not layout.is_transposed:
            scales = np.moveaxis(scales, layout.axis, -1)
    if packed.shape[-1] != layout.block_bytes:
        raise ValueError(f"the layout {layout.name} has {layout.block_bytes} bytes a block, not {packed.shape[-1]}")
    *lines, blocks = scales.shape
    codes = PACKINGS[layout.packing][1](packed).reshape(*lines, blocks * layout.width)
    scales = SCALE_BYTES[layout.scale_byte][1](scales)
    codes, scales, length = _cropped(codes, scales, shape, layout)
    codes, scales = (np.ascontiguousarray(np.moveaxis(a, -1, layout.axis)) for a in (codes, scales))
    q = BlockArray(
        scales=scales,
        codes=codes,
        block=layout.block_format,
        axis=layout.axis,
        length=length,
        tensor_scale=read_tensor_scale(arrays, name, scales.shape, layout),
    )
    check_codes(q)
    return q


def stored_blocks(codes: np.ndarray, scales: np.ndarray, layout: Layout) -> np.ndarray:
    """Bytes (n, bytes) of single blocks in a layout, from codes (n, width) and scales (n,), uint8. They include the
    scales if the layout has no array of scales.
    """
    packed = PACKINGS[layout.packing][0](codes)
    if layout.place is ScalePlace.APART:
        return packed
    return _joined(packed[:, None], SCALE_BYTES[layout.scale_byte][0](scales)[:, None], layout)


def check_fit(layout: Layout, codes: tuple[int, ...], axis: int, shape: tuple[int, ...]) -> None:
    """Raise ValueError unless blocks of codes are along the axis of a layout, and the length of rows fits it.

    ``shape`` is the shape of the numbers.
    """
    axis, least = axis % len(codes) - len(codes), -layout.axis
    if layout.order is not ScaleOrder.LINEAR or (layout.padding, layout.scale_padding) != ((1, 1), (1, 1)):
        least = 2
    if axis != layout.axis or len(codes) < least:
        raise ValueError(
            f"the layout {layout.name} is of {least} axes or more with blocks along axis {layout.axis}, and this array "
            f"of shape {shape} has them along axis {axis}"
        )
    count, unit = codes[axis], layout.width * layout.together
    if count % unit:
        raise ValueError(f"the layout {layout.name} has a multiple of {unit} elements in a row, not {count}")


def _check_scales(q: BlockArray, layout: Layout, first: tuple[int, ...]) -> None:
    """Raise ValueError for a scale that readers of a dialect decode to another number.

    For blocks of zeros only NaN matters: they have the same numbers under every other scale.
    """
    others = np.isin(q.scales, layout.reads_otherwise)
    if not others.any():
        return
    nan = [code for code in layout.reads_otherwise if q.block.scale.decode(code).kind == "nan"]
    magnitudes = np.moveaxis(q.codes, q.axis, -1) & q.block.element.sign_mask - 1
    lines = np.moveaxis(q.scales, q.axis, -1).shape
    has_numbers = np.asarray(magnitudes.reshape(*lines, layout.width).any(axis=-1))
    others &= np.isin(q.scales, nan) | np.moveaxis(has_numbers, -1, q.axis)
    if others.any():
        place = tuple(int(index) for index in np.argwhere(others)[0])
        there = tuple(index + start for index, start in zip(place, first or (0,) * len(place)))
        raise ValueError(
            f"readers of the layout {layout.name} decode the scale byte 0x{int(q.scales[place]):02X} of block {there} "
            f"to another number than {q.block.name} defines"
        )


def cut(count: int, size: int, layout: Layout) -> tuple[int, int]:
    """The number of parts of ``size`` bytes in a row of ``count`` bytes, and their size."""
    if count % size:
        raise ValueError(f"the layout {layout.name} has a multiple of {size} bytes in a row, not {count}")
    return count // size, size


def _joined(packed: np.ndarray, scales: np.ndarray, layout: Layout) -> np.ndarray:
    """Scales (..., blocks) and the bytes of blocks (..., blocks, bytes) in one array."""
    *lead, blocks = scales.shape
    groups, count, size = blocks // layout.together, layout.together, layout.block_bytes
    parts = [scales.reshape(*lead, groups, count), packed.reshape(*lead, groups, count * size)]
    if layout.place is ScalePlace.AFTER:
        parts.reverse()
    return np.concatenate(parts, axis=-1).reshape(*lead, blocks * (1 + size))


def _separated(stored: np.ndarray, layout: Layout) -> tuple[np.ndarray, np.ndarray]:
    """The inverse of `_joined`."""
    count, size = layout.together, layout.block_bytes
    *lead, length = stored.shape
    groups = stored.reshape(*lead, *cut(length, count * (1 + size), layout))
    if layout.place is ScalePlace.AFTER:
        groups = np.roll(groups, count, axis=-1)
    scales = groups[..., :count].reshape(*lead, groups.shape[-2] * count)
    return groups[..., count:].reshape(*scales.shape, size), scales


def _cropped(
    codes: np.ndarray, scales: np.ndarray, shape: tuple[int, ...] | None, layout: Layout
) -> tuple[np.ndarray, np.ndarray, int | None]:
    """Codes and scales with blocks along the last axis, without the padding of an array of this shape.

    The third result is the length of this axis if its last block is incomplete, otherwise None.
    """
    if shape is None:
        return codes, scales, None
    lines = [*shape]
    if len(lines) == codes.ndim:
        length = lines.pop(layout.axis)
        blocks = -(-length // layout.width)
        rows, columns = layout.padding
        expected = (*lines[:-1], -(-lines[-1] // rows) * rows) if lines else ()
        if codes.shape == (*expected, -(-blocks * layout.width // columns) * columns):
            part = tuple(slice(size) for size in lines)
            is_whole = length == blocks * layout.width
            return codes[*part, : blocks * layout.width], scales[*part, :blocks], None if is_whole else length
    raise ValueError(f"in {layout.name} an array of shape {tuple(shape)} needs other codes than {codes.shape}")
