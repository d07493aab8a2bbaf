"""Bytes of codes and scales in the order of a layout, and back."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from ...spec.catalogue import excerpt
from ...spec.layouts.catalogue import Layout, Packing, Part, ScaleByte, ScaleOrder

DTYPES: dict[str, np.dtype] = {"I8": np.dtype("i1"), "U32": np.dtype("<u4"), "F32": np.dtype("<f4")}
"""Dtypes by their names in safetensors. Libraries store all other types in eight bits."""
BYTE: np.dtype = np.dtype(np.uint8)


def stored_dtype(part: Part) -> np.dtype:
    """The dtype of a stored array. Types of eight bits outside NumPy are bytes."""
    return DTYPES.get(part.dtype, BYTE)


def stored_array(arrays: Mapping[str, np.ndarray], part: Part, name: str, layout: Layout) -> np.ndarray:
    """A stored array of a tensor. Raises TypeError or ValueError if it is missing or has another dtype."""
    whole, dtype = part.of(name), stored_dtype(part)
    if whole not in arrays:
        raise ValueError(f"there is no array {whole!r} of the tensor {name!r}, which the layout {layout.name} requires")
    array = arrays[whole]
    if not isinstance(array, np.ndarray):
        raise TypeError(f"{whole!r} must be a NumPy array, not {excerpt(array)}")
    if array.dtype != dtype:
        raise ValueError(f"{whole!r} must be {dtype.name} in the layout {layout.name}, not {array.dtype}")
    return array


Step = Callable[[np.ndarray], np.ndarray]


def _flat(parts: list[np.ndarray]) -> np.ndarray:
    """Separated codes or bytes in one sequence again."""
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


def padded(array: np.ndarray, multiples: tuple[int, int]) -> np.ndarray:
    """An array with zeros that complete its last two axes to multiples."""
    if multiples == (1, 1):
        return array
    missing = [-length % multiple for length, multiple in zip(array.shape[-2:], multiples)]
    return np.pad(array, [(0, 0)] * (array.ndim - 2) + [(0, more) for more in missing])


def swizzled(scales: np.ndarray) -> np.ndarray:
    """Scales (..., rows, columns) in tiles of 128 x 4 (`ScaleOrder.TILES_128X4`), completed with zeros.

    Returns the bytes in storage order, in the shape (..., rows, columns) of complete tiles.
    """
    tiles = padded(scales, (128, 4))
    *lead, rows, columns = tiles.shape
    ordered = tiles.reshape(*lead, rows // 128, 4, 32, columns // 4, 4)
    return ordered.swapaxes(-4, -2).reshape(tiles.shape)


def unswizzled(stored: np.ndarray, rows: int, columns: int) -> np.ndarray:
    """Scales (..., rows, columns) from their tiles, the inverse of `swizzled`.

    ``stored`` contains the bytes of complete tiles in its last two axes. Raises ValueError for another number of bytes.
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
    return padded(scales, layout.scale_padding)


def _of_lines(stored: np.ndarray, shape: tuple[int, ...], layout: Layout) -> np.ndarray:
    expected = padded(np.empty(shape, BYTE), layout.scale_padding).shape
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
"""Stored scales from scales in the order of the blocks, and back to a shape."""
