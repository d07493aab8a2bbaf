"""Contents of a file of tensors of any kind: dtypes, shapes, data in place, and metadata."""

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
"""Number types that are quantized, by their name in safetensors. BF16 numbers are read as their bits."""
DTYPES: dict[str, np.dtype] = {**CONVERTED, "U8": np.dtype("u1"), "U16": np.dtype("<u2")}
NAMES = {np.dtype(bool): "BOOL"} | {
    np.dtype(f"{kind}{size}"): f"{kind.upper()}{8 * size}"
    for kind, sizes in (("f", (2, 4, 8)), ("u", (1, 2, 4, 8)), ("i", (1, 2, 4, 8)))
    for size in sizes
}
"""Names in safetensors of the number types of NumPy that every version of it has."""

AROUND = 1 << 21
"""Bytes of a huge page, which Linux may map as a whole when one of them is read."""

Header = Mapping[str, tuple[str, tuple[int, ...], int]]
"""Dtype, shape and number of bytes of each tensor of a new file."""
Write = Callable[[str, int, np.ndarray], None]
"""Writes numbers of any byte order into the tensor of this name, from this element on in C order."""


@dataclass(frozen=True, kw_only=True)
class Stored:
    """A tensor in a file. ``data`` is flat, in C order; dtypes that are not read here are bytes. ``map`` is its memory
    map, if it has one.
    """

    dtype: str
    shape: tuple[int, ...]
    data: np.ndarray
    map: mmap.mmap | None = None

    def release(self, start: int, count: int) -> None:
        """Return the memory of elements that have been read; they may be read again. No effect without a map."""
        if self.map is None or not count or not hasattr(mmap, "MADV_DONTNEED"):
            return
        base = np.frombuffer(self.map, np.uint8).ctypes.data
        first = self.data[start:].ctypes.data
        last = first + count * self.data.itemsize
        first, last = max(first // AROUND * AROUND, base), min(-(-last // AROUND) * AROUND, base + len(self.map))
        self.map.madvise(mmap.MADV_DONTNEED, first - base, last - first)


@dataclass(frozen=True, kw_only=True)
class Contents:
    """All tensors of a file by name, in file order, and its metadata."""

    tensors: dict[str, Stored]
    metadata: dict[str, str] = field(default_factory=dict)


def taken(stored: Stored, shape: tuple[int, ...], box: tuple[slice, ...], dtype: np.dtype | None = None) -> np.ndarray:
    """A copy of a part of an array of this shape. The memory of the part is returned."""
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
"""Characters of a library's message about a damaged file, which may repeat a whole header."""

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
"""Exceptions of Python and its libraries for bytes that are not a file of the kind."""


@contextlib.contextmanager
def whole(path: Path) -> Iterator[None]:
    """A block whose exceptions become one sentence about a damaged file."""
    try:
        yield
    except (*DAMAGE, OSError) as error:
        if isinstance(error, OSError) and error.errno == errno.ENOMEM:
            raise MemoryError from None
        if isinstance(error, OSError) and error.filename is not None:
            raise  # of the system, not of a seek outside the file
        said = cut(" ".join(str(error).split()), SAID)
        raise ValueError(
            f"{path} is no {path.suffix} file of numbers, or a damaged one" + (f": {said}" if said else "")
        ) from None
