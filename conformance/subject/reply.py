"""Returned values as scale bytes, codes and patterns of numbers."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...models.arrays.codes import code_values
from ...models.arrays.source import code_dtype
from ...spec import FP32, BlockFormat, NumberFormat
from ...spec.catalogue import excerpt

NIBBLE = 4
"""Bits of a code of which a byte holds two."""


def encoded(made: object, block: BlockFormat, count: int) -> tuple[np.ndarray, np.ndarray] | np.ndarray:
    """Scales (count, 1) and codes (count, block_size) of some blocks, or their numbers as FP32 patterns
    (count, block_size), depending on what was returned.

    Scales and codes are a tuple, of which a third part is ignored, or the attributes ``scales`` and ``codes``. Each is
    an array of integers of any dtype, of the formats of ml_dtypes or PyTorch (``float8_e4m3fn``), or of float32 values.
    A byte may hold two codes of four bits, the first in the low bits. Raises ValueError for anything else.
    """
    parts = _parts(made)
    if parts is None:
        return numbers(made, (count, block.block_size))
    size = count * block.block_size
    if _are_exchanged(parts, block, count):
        raise ValueError(
            f"{size} codes come first and {count} scales second: codes and scales seem to be exchanged, and scales "
            "come first"
        )
    scales, codes = (words(part, format) for part, format in zip(parts, (block.scale, block.element)))
    if block.element.bits == NIBBLE and codes.size * 2 == size:
        codes = np.stack([codes & 15, codes >> NIBBLE], axis=-1)
    for name, array, expected in (("scales", scales, count), ("codes", codes, size)):
        if array.size != expected:
            raise ValueError(f"{expected} {name} are expected of {count} blocks, not {array.size}")
    codes = codes.reshape(count, block.block_size)
    if (codes >= 1 << block.element.bits).any():
        raise ValueError(f"codes of {block.element.name} have {block.element.bits} bits, and one is {codes.max()}")
    return scales.reshape(count, 1), codes


def _are_exchanged(parts: Sequence[object], block: BlockFormat, count: int) -> bool:
    """Whether the sizes fit codes and scales, in this order."""
    try:
        first, second = (_array(part).size for part in parts)
    except (ValueError, TypeError):  # the reader reports it
        return False
    size = count * block.block_size
    packed = size // 2 if block.element.bits == NIBBLE else size
    return block.block_size > 2 and first in (size, packed) and second == count


def _parts(made: object) -> Sequence[object] | None:
    if isinstance(made, tuple | list):
        if len(made) < 2:
            raise ValueError("scales and codes are expected, or one array of numbers")
        return made[:2]
    if hasattr(made, "scales") and hasattr(made, "codes"):
        return made.scales, made.codes
    return None


def words(given: object, format: NumberFormat) -> np.ndarray:
    """Codes of a format in the dtype of `code_dtype`, from an array that `encoded` accepts."""
    array = _array(given)
    to = np.uint8 if format.bits <= NIBBLE * 2 else code_dtype(format)
    if array.dtype.kind in "iu":
        if array.dtype.itemsize == np.dtype(to).itemsize:
            return array.view(to)
        if array.size and not 0 <= int(array.min()) <= int(array.max()) < 1 << np.dtype(to).itemsize * 8:
            raise ValueError(f"codes of {format.name} are between 0 and {(1 << format.bits) - 1}, not {array.max()}")
        return array.astype(to)
    if array.dtype.kind == "f":
        return _codes_of(array, format)
    raise ValueError(f"codes of {format.name} are integers, not {array.dtype}")


def _codes_of(values: np.ndarray, format: NumberFormat) -> np.ndarray:
    """The codes of float values of the format."""
    known = code_values(format)
    patterns, codes = np.unique(known.view(np.uint32), return_index=True)
    given = values.astype(np.float32)
    wanted = given.view(np.uint32)
    if np.isnan(given).any() and np.isnan(known).any():
        wanted = np.where(np.isnan(given), known[np.isnan(known)][:1].view(np.uint32), wanted)
    places = np.minimum(np.searchsorted(patterns, wanted), len(patterns) - 1)
    wrong = (patterns[places] != wanted) | (given != values) & ~np.isnan(given)
    if wrong.any():
        raise ValueError(f"{format.name} has no number {values[wrong].flat[0]:.9g}")
    return codes[places].astype(code_dtype(format))


def numbers(given: object, shape: tuple[int, ...]) -> np.ndarray:
    """Numbers as FP32 patterns. Raises ValueError for another shape, and for numbers that are not FP32."""
    array = _array(given)
    if array.size != np.prod(shape):
        raise ValueError(f"numbers of the shape {shape} are expected, or scales and codes, not {array.shape}")
    if array.dtype == np.uint16:  # patterns of bfloat16
        return (array.astype(np.uint32) << np.uint32(FP32.bits - 16)).reshape(shape)
    if array.dtype.kind != "f":
        raise ValueError(f"numbers are expected, or scales and codes, not {excerpt(array.dtype)}")
    with np.errstate(over="ignore"):
        narrow = array.astype(np.float32)
    if ((narrow != array) & ~np.isnan(array)).any():
        raise ValueError(f"expected FP32, got a number of {array.dtype} that is not FP32")
    return np.ascontiguousarray(narrow).view(np.uint32).reshape(shape)


def _array(given: Any) -> np.ndarray:
    """An array of NumPy's own dtypes; formats of one byte become unsigned codes, bfloat16 patterns."""
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(given, torch.Tensor):
        given = given.detach().cpu().contiguous()
        same = {1: torch.uint8, 2: torch.uint16}.get(given.element_size())
        if given.is_floating_point() and same is not None and given.dtype != torch.float16:
            given = given.view(same)
        elif not given.is_floating_point() and str(given.dtype).startswith("torch.float"):
            given = given.view(torch.uint8)  # torch does not count packed types as numbers
        return given.numpy()
    array = np.ascontiguousarray(given)
    if array.dtype.isbuiltin != 1:  # of ml_dtypes
        return array.view(f"u{array.dtype.itemsize}") if array.dtype.itemsize <= 2 else array
    if array.dtype == object:
        raise ValueError(f"arrays are expected, not {excerpt(given)}")
    return array
