"""What is in a file of tensors, of whatever container: shapes, dtypes, data in place, and remarks."""

from __future__ import annotations

import contextlib
import errno
import math
import mmap
import struct
import tokenize
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from ...spec.catalogue import cut

CONVERTED: dict[str, np.dtype] = {"F32": np.dtype("<f4"), "F16": np.dtype("<f2"), "BF16": np.dtype("<u2")}
"""Number types that are quantized, by their name in safetensors; NumPy has no BF16, so its bits."""
DTYPES: dict[str, np.dtype] = {**CONVERTED, "U8": np.dtype("u1"), "U16": np.dtype("<u2")}
NAMES = {
    np.dtype(kind): name
    for kind, name in (
        ("f2", "F16"),
        ("f4", "F32"),
        ("f8", "F64"),
        ("u1", "U8"),
        ("u2", "U16"),
        ("u4", "U32"),
        ("u8", "U64"),
        ("i1", "I8"),
        ("i2", "I16"),
        ("i4", "I32"),
        ("i8", "I64"),
        ("?", "BOOL"),
    )
}
"""Names in safetensors of the number types of NumPy that every version of it has."""

AROUND = 1 << 21
"""Bytes that Linux may map when one of them is read, from a multiple of it in memory on: a huge page."""

Header = Mapping[str, tuple[str, tuple[int, ...], int]]
"""Of a file to be written: dtype, shape and number of bytes by name."""
Write = Callable[[str, int, np.ndarray], None]
"""Puts numbers in any byte order into a tensor of a file to be written, by the tensor's name, from this element on in C
order.
"""


@dataclass(frozen=True, kw_only=True)
class Stored:
    """A tensor in a file; ``data`` is flat, in C order, and bytes for dtypes that nothing here looks into.

    ``map`` is the memory map that it is part of, if it is.
    """

    dtype: str
    shape: tuple[int, ...]
    data: np.ndarray
    map: mmap.mmap | None = None

    def release(self, start: int, count: int) -> None:
        """Give back the memory of elements that have been read; they may be read again. Nothing happens without
        a map.
        """
        if self.map is None or not count or not hasattr(mmap, "MADV_DONTNEED"):
            return
        base = np.frombuffer(self.map, np.uint8).ctypes.data
        first = self.data[start:].ctypes.data
        last = first + count * self.data.itemsize
        first, last = max(first // AROUND * AROUND, base), min(-(-last // AROUND) * AROUND, base + len(self.map))
        self.map.madvise(mmap.MADV_DONTNEED, first - base, last - first)


@dataclass(frozen=True, kw_only=True)
class Contents:
    """All tensors of a file by name, in file order, with the file's own remarks."""

    tensors: dict[str, Stored]
    metadata: dict[str, str] = field(default_factory=dict)


def taken(stored: Stored, shape: tuple[int, ...], box: tuple[slice, ...], dtype: np.dtype | None = None) -> np.ndarray:
    """A copy of a part of an array that has this shape; its pages are given back."""
    data = stored.data if dtype is None else stored.data.view(dtype)
    found = data.reshape(shape)[box].copy()
    if found.size:
        steps = [math.prod(shape[axis + 1 :]) for axis in range(len(shape))]
        first, last = (
            sum(s * step for s, step in zip(place, steps)) for place in zip(*((b.start, b.stop - 1) for b in box))
        )
        size = data.itemsize // stored.data.itemsize
        stored.release(first * size, (last + 1 - first) * size)
    return found


SAID = 200
"""Characters of what a library says of a damaged file; it may repeat all of a header."""

DAMAGE = (
    ValueError,
    TypeError,
    KeyError,
    IndexError,
    AttributeError,
    EOFError,
    OverflowError,
    MemoryError,
    RecursionError,
    NotImplementedError,
    RuntimeError,
    SyntaxError,
    struct.error,
    tokenize.TokenError,
    zlib.error,
    zipfile.BadZipFile,
)
"""What Python and its libraries say of bytes that are no file of the kind."""


@contextlib.contextmanager
def whole(path: Path) -> Iterator[None]:
    """Say of a damaged file that it is one."""
    try:
        yield
    except (*DAMAGE, OSError) as error:
        if isinstance(error, OSError) and error.errno == errno.ENOMEM:
            raise MemoryError from None
        if isinstance(error, OSError) and error.filename is not None:
            raise  # of the system, not of a place in the file where there is none
        said = cut(" ".join(str(error).split()), SAID)
        raise ValueError(
            f"{path} is no {path.suffix} file of numbers, or a damaged one" + (f": {said}" if said else "")
        ) from None
