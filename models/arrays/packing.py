"""Block arrays as libraries store them (`spec.layouts.catalogue`), and back: bytes are moved, no number is computed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction

import numpy as np

from ...spec import NVFP4_ENCODERS, BlockFormat, Convention, nvfp4_encoding
from ...spec.catalogue import excerpt
from ...spec.formats.names import block_format
from ...spec.layouts.catalogue import Layout, Packing, Part, ScaleByte, ScaleOrder, ScalePlace, layout_named
from .block_array import BlockArray
from .block_codes import check_codes

DTYPES: dict[str, np.dtype] = {"I8": np.dtype("i1"), "U32": np.dtype("<u4"), "F32": np.dtype("<f4")}
"""By the name in safetensors. All others that libraries store are of eight bits."""
BYTE: np.dtype = np.dtype(np.uint8)


def stored_dtype(part: Part) -> np.dtype:
    """Of a stored array; types of eight bits that NumPy has not are bytes."""
    return DTYPES.get(part.dtype, BYTE)


def pack(
    q: BlockArray, layout: str | Layout, *, name: str = "weight", first: tuple[int, ...] = ()
) -> dict[str, np.ndarray]:
    """A block array as a library stores it.

    Parameters
    ----------
    q : scales and codes, as `quantize` returns them, along the axis that the layout has: the last one, and of
        ``te_columnwise`` the last but one
    layout : the name of a dialect (`spec.layouts.catalogue.LAYOUTS`) that has the block format, or a layout
    name : the name of the tensor, from which those of the arrays are made
    first : the place of the first block in a larger array that ``q`` is a part of; errors count from there

    Returns
    -------
    dict
        arrays by name, as the dialect has them; floating-point types that NumPy has not are their patterns in uint8.
        A last block that was completed with zeros stays complete.

    Raises
    ------
    TypeError
        for what is no block array
    ValueError
        for an unknown dialect or one without the block format, for blocks along another axis, and for what the layout
        cannot say: rows of another length, a scale that readers of the dialect take for another number, a tensor
        scale that has no float32 in the convention of the dialect

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
    codes, scales = _padded(codes, (rows, columns)), _padded(scales, (rows, max(columns // layout.width, 1)))
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
    """The block array that a library has stored: the inverse of `pack`.

    Parameters
    ----------
    arrays : by name, as the dialect has them; others are left alone
    layout : the name of a dialect (`spec.layouts.catalogue.LAYOUTS`), or a layout
    block : the block format, which must be given where the dialect has several
    name : the name of the tensor
    shape : the shape of the array of numbers, where rows or blocks were completed; that of what is stored unless given

    Returns
    -------
    BlockArray
        with arrays of its own

    Raises
    ------
    TypeError
        for arrays that are not of NumPy
    ValueError
        for an unknown dialect, one without the block format, and arrays that are missing, of another dtype, or of
        shapes that do not fit together

    >>> from mxcast.models import quantize
    >>> q = quantize(np.full((2, 32), 1.5, np.float32), "e2m1")
    >>> np.array_equal(unpack(pack(q, "gpt_oss"), "gpt_oss").codes, q.codes)
    True
    """
    if not isinstance(layout, Layout):
        layout = layout_named(layout, None if block is None else block_format(block))
    packed = _stored(arrays, layout.codes, name, layout)
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
        scales = _stored(arrays, layout.scales, name, layout).view(BYTE)
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
    """Blocks one by one as a layout has them: codes (n, width) and scales (n,), uint8, to (n, bytes); without the
    scales where these stand apart.
    """
    packed = PACKINGS[layout.packing][0](codes)
    if layout.place is ScalePlace.APART:
        return packed
    return _joined(packed[:, None], SCALE_BYTES[layout.scale_byte][0](scales)[:, None], layout)


def check_fit(layout: Layout, codes: tuple[int, ...], axis: int, shape: tuple[int, ...]) -> None:
    """Raise ValueError unless blocks of codes lie along the axis of a layout, and rows have a length that it can hold;
    ``shape`` is that of the numbers.
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
    """Raise ValueError for a scale that readers of a dialect take for another number; blocks of zeros have the same
    numbers under all but NaN.
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
            f"readers of the layout {layout.name} take the scale byte 0x{int(q.scales[place]):02X} for another number "
            f"than {q.block.name} has for it: that of block {there}"
        )


Step = Callable[[np.ndarray], np.ndarray]


def _flat(parts: list[np.ndarray]) -> np.ndarray:
    """Codes or bytes that were taken apart, one after the other again."""
    *lead, count = parts[0].shape
    return np.stack(parts, axis=-1).reshape(*lead, count * len(parts))


def _low_first(v: np.ndarray) -> np.ndarray:
    return v[..., 0::2] | v[..., 1::2] << 4


def _of_low_first(b: np.ndarray) -> np.ndarray:
    return _flat([b & 15, b >> 4])


def _high_first(v: np.ndarray) -> np.ndarray:
    return v[..., 0::2] << 4 | v[..., 1::2]


def _of_high_first(b: np.ndarray) -> np.ndarray:
    return _flat([b >> 4, b & 15])


def _halves(v: np.ndarray) -> np.ndarray:
    half = v.shape[-1] // 2
    return v[..., :half] | v[..., half:] << 4


def _of_halves(b: np.ndarray) -> np.ndarray:
    return np.concatenate([b & 15, b >> 4], axis=-1)


def _little_endian(v: np.ndarray) -> np.ndarray:
    v0, v1, v2, v3 = (v[..., place::4] for place in range(4))
    return _flat([v0 | v1 << 6, v1 >> 2 | v2 << 4, v2 >> 4 | v3 << 2])


def _of_little_endian(b: np.ndarray) -> np.ndarray:
    b0, b1, b2 = (b[..., place::3] for place in range(3))
    return _flat([b0 & 63, (b0 >> 6 | b1 << 2) & 63, (b1 >> 4 | b2 << 4) & 63, b2 >> 2])


def _high_parts(v: np.ndarray) -> np.ndarray:
    v0, v1, v2, v3 = (v[..., place::4] for place in range(4))
    high = v0 >> 4 << 6 | v1 >> 4 << 4 | v2 >> 4 << 2 | v3 >> 4
    return _flat([high, v0 << 4 | v1 & 15, v2 << 4 | v3 & 15])


def _of_high_parts(b: np.ndarray) -> np.ndarray:
    high, low, last = (b[..., place::3] for place in range(3))
    halves = (low >> 4, low & 15, last >> 4, last & 15)
    return _flat([(high >> shift & 3) << 4 | half for shift, half in zip((6, 4, 2, 0), halves)])


def _same(a: np.ndarray) -> np.ndarray:
    return a


PACKINGS: dict[Packing, tuple[Step, Step]] = {
    Packing.BYTES: (_same, _same),
    Packing.LOW_FIRST: (_low_first, _of_low_first),
    Packing.HIGH_FIRST: (_high_first, _of_high_first),
    Packing.HALVES: (_halves, _of_halves),
    Packing.LITTLE_ENDIAN: (_little_endian, _of_little_endian),
    Packing.HIGH_PARTS: (_high_parts, _of_high_parts),
}
"""Codes of blocks (..., width) uint8 to bytes (..., bytes of a block), and back."""

SCALE_BYTES: dict[ScaleByte, tuple[Step, Step]] = {
    ScaleByte.CODE: (_same, _same),
    ScaleByte.EXPONENT: (lambda codes: codes - np.uint8(127), lambda bytes: bytes + np.uint8(127)),
}
"""Codes of scales to bytes, and back."""


def _padded(array: np.ndarray, multiples: tuple[int, int]) -> np.ndarray:
    """The same with its last two axes completed to multiples with zeros."""
    if multiples == (1, 1):
        return array
    missing = [-length % multiple for length, multiple in zip(array.shape[-2:], multiples)]
    return np.pad(array, [(0, 0)] * (array.ndim - 2) + [(0, more) for more in missing])


def swizzled(scales: np.ndarray) -> np.ndarray:
    """Scales (..., rows, columns) in tiles of 128 x 4 (`ScaleOrder.TILES_128X4`), completed with zeros.

    Returns the bytes in their order, in the shape (..., rows, columns) of complete tiles.
    """
    tiles = _padded(scales, (128, 4))
    *lead, rows, columns = tiles.shape
    ordered = tiles.reshape(*lead, rows // 128, 4, 32, columns // 4, 4)
    return ordered.swapaxes(-4, -2).reshape(tiles.shape)


def unswizzled(stored: np.ndarray, rows: int, columns: int) -> np.ndarray:
    """Scales (..., rows, columns) of their tiles, the inverse of `swizzled`.

    ``stored`` has the bytes of complete tiles in its last two axes. Raises ValueError for another number of them.
    """
    tiles = (-(-rows // 128), -(-columns // 4))
    *lead, down, across = stored.shape
    if down * across != tiles[0] * tiles[1] * 512:
        raise ValueError(
            f"{rows} x {columns} scales have {tiles[0]} x {tiles[1]} tiles of 512 bytes, not {down} x {across} bytes"
        )
    ordered = stored.reshape(*lead, tiles[0], tiles[1], 32, 4, 4)
    return ordered.swapaxes(-4, -2).reshape(*lead, tiles[0] * 128, tiles[1] * 4)[..., :rows, :columns]


def _to_lines(scales: np.ndarray, layout: Layout) -> np.ndarray:
    return _padded(scales, layout.scale_padding)


def _of_lines(stored: np.ndarray, shape: tuple[int, ...], layout: Layout) -> np.ndarray:
    expected = _padded(np.empty(shape, BYTE), layout.scale_padding).shape
    if stored.shape != expected:
        raise ValueError(f"the layout {layout.name} has scales of shape {expected} for these codes, not {stored.shape}")
    return stored if stored.shape == shape else stored[..., : shape[-2], : shape[-1]]


def _to_tiles(scales: np.ndarray, layout: Layout) -> np.ndarray:
    tiles = swizzled(scales)
    *lead, rows, columns = tiles.shape
    down, across = layout.tile_shape
    return tiles.reshape(*lead, rows // 128 * down, columns // 4 * across)


def _of_tiles(stored: np.ndarray, shape: tuple[int, ...], layout: Layout) -> np.ndarray:
    if stored.shape[:-2] != shape[:-2]:
        raise ValueError(f"scales of shape {stored.shape} do not belong to blocks of shape {shape}")
    return unswizzled(stored, *shape[-2:])


ORDERS: dict[ScaleOrder, tuple[Callable[[np.ndarray, Layout], np.ndarray], Callable[..., np.ndarray]]] = {
    ScaleOrder.LINEAR: (_to_lines, _of_lines),
    ScaleOrder.TILES_128X4: (_to_tiles, _of_tiles),
}
"""Scales in the order of the blocks to what is stored of them, and back to a shape."""


def cut(count: int, size: int, layout: Layout) -> tuple[int, int]:
    """How many parts of so many bytes a row has, and their size."""
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


def _stored(arrays: Mapping[str, np.ndarray], part: Part, name: str, layout: Layout) -> np.ndarray:
    """An array of a tensor. Raises TypeError and ValueError for what is not there, or not of the dtype."""
    whole, dtype = part.of(name), stored_dtype(part)
    if whole not in arrays:
        raise ValueError(f"there is no array {whole!r}, which the layout {layout.name} has of the tensor {name!r}")
    array = arrays[whole]
    if not isinstance(array, np.ndarray):
        raise TypeError(f"{whole!r} must be a NumPy array, not {excerpt(array)}")
    if array.dtype != dtype:
        raise ValueError(f"{whole!r} is {array.dtype}, and the layout {layout.name} has {dtype.name} there")
    return array


def _cropped(
    codes: np.ndarray, scales: np.ndarray, shape: tuple[int, ...] | None, layout: Layout
) -> tuple[np.ndarray, np.ndarray, int | None]:
    """Codes and scales, both with their blocks along the last axis, without what completes an array of this shape; and
    the length of this axis, where its last block is not complete.
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
    raise ValueError(f"an array of shape {tuple(shape)} has other codes in the layout {layout.name} than {codes.shape}")


def stored_tensor_scale(q: BlockArray, layout: Layout) -> np.ndarray | None:
    """float32, the tensor scale in the convention of a layout: one, or (experts,) or (experts, 1, 1), where an array of
    three axes has one for each part along the first.

    None where the layout stores none. Raises ValueError for one that has no float32 there, and for other scales of
    parts of a tensor.
    """
    largest = Fraction(q.block.element.max_value)
    most = largest * Fraction(q.block.scale.max_value)
    own = most if q.scale_max is None else q.scale_max * largest
    g = np.asarray(1 if q.tensor_scale is None else q.tensor_scale, np.float32)
    if (q.block.convention, own) != (layout.convention, most):
        convert = np.vectorize(
            lambda one: _converted(one, (q.block.convention, own), (layout.convention, most)), [np.float32]
        )
        g = convert(g) if g.size else g
    if layout.tensor_scale is None:
        if (g != 1).any():
            raise ValueError(f"the layout {layout.name} has no tensor scale, and that of this array is not 1")
        return None
    if layout.omits_one and (g == _of_one(layout)).all():
        return None
    if not g.ndim:
        return g.reshape(layout.tensor_scale_shape)
    parts = g.reshape(len(g), -1)
    if g.ndim != 3 or (parts != parts[:, :1]).any():
        raise ValueError(
            f"the layout {layout.name} has one scale of a tensor, or one for each part along the first of three axes"
        )
    return parts[:, :1].reshape(-1, *([1, 1] if layout.tensor_scale_shape == () else []))


def _converted(g: float, own: tuple[Convention, Fraction], other: tuple[Convention, Fraction]) -> np.float32:
    """A tensor scale in another convention, of the same number; each convention with the largest number of a block, for
    a tensor scale of 1. Raises ValueError where float32 has none.
    """
    found = Fraction(0)
    if 0 < g < np.inf:
        found = scale_in_convention(Fraction(float(g)), own, other)
        rounded = np.float32(float(found))
        if np.isfinite(rounded) and Fraction(float(rounded)) == found:
            return rounded
    profiles = [name for name in NVFP4_ENCODERS if nvfp4_encoding("nvfp4", name).block.convention is other[0]]
    raise ValueError(
        f"the tensor scale {g!s} of the convention {own[0]} is no float32 number in the convention {other[0]}: "
        "quantize the numbers, dequantized first if need be, with a profile that has this convention: "
        f"{', '.join(profiles)}"
    )


def scale_in_convention(g: Fraction, own: tuple[Convention, Fraction], other: tuple[Convention, Fraction]) -> Fraction:
    """A tensor scale above 0 in another convention, of the same number; each convention with the largest number of a
    block, for a tensor scale of 1.
    """
    (convention, most), (wanted, most_there) = own, other
    return _SCALES_OF[wanted](_FACTORS[convention](g, most), most_there)


_FACTORS: dict[Convention, Callable[[Fraction, Fraction], Fraction]] = {
    Convention.MULTIPLIER: lambda g, most: g,
    Convention.DIVISOR: lambda g, most: 1 / g,
    Convention.AMAX: lambda g, most: g / most,
    Convention.NONE: lambda g, most: Fraction(1),
}
"""What a tensor scale multiplies by."""

_SCALES_OF: dict[Convention, Callable[[Fraction, Fraction], Fraction]] = {
    Convention.MULTIPLIER: lambda factor, most: factor,
    Convention.DIVISOR: lambda factor, most: 1 / factor,
    Convention.AMAX: lambda factor, most: factor * most,
    Convention.NONE: lambda factor, most: factor,
}
"""The tensor scale that multiplies by a factor; without one the factor, which must be 1 then."""


def _of_one(layout: Layout) -> np.ndarray:
    """The tensor scale that multiplies by 1: float32 ()."""
    block = block_format(layout.block)
    most = Fraction(block.element.max_value) * Fraction(block.scale.max_value)
    return np.array(float(_SCALES_OF[layout.convention](Fraction(1), most)), np.float32)


def read_tensor_scale(
    arrays: Mapping[str, np.ndarray], name: str, shape: tuple[int, ...], layout: Layout
) -> np.ndarray | None:
    """The tensor scale of an array whose scales have this shape; those of experts for each line."""
    part = layout.tensor_scale
    if part is None:
        return None
    if layout.omits_one and part.of(name) not in arrays:
        return _of_one(layout)
    g = _stored(arrays, part, name, layout)
    if g.size == 1:
        return g.reshape(()).copy()
    if len(shape) != 3 or g.size != shape[0]:
        raise ValueError(f"{part.of(name)!r} has {g.size} tensor scales, and scales have the shape {shape}")
    lines = [*shape]
    lines[layout.axis] = 1
    return np.broadcast_to(g.reshape(-1, 1, 1), lines).copy()
