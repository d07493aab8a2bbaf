"""Tensor files: `.npy`, `.npz` and `.safetensors`, read in place as memory maps, and written whole or not at all."""

from __future__ import annotations

import contextlib
import errno
import io
import json
import math
import mmap
import os
import struct
import tokenize
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, cast

import numpy as np

from ..host.errors import ToolMissing
from ..host.files import regular, replaced
from ..spec.catalogue import cut

__all__ = ["CONVERTED", "DTYPES", "Contents", "Header", "Stored", "Write", "read", "written"]

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
        first = self.data[start:].ctypes.data - np.frombuffer(self.map, np.uint8).ctypes.data
        page = first // mmap.PAGESIZE * mmap.PAGESIZE
        self.map.madvise(mmap.MADV_DONTNEED, page, first + count * self.data.itemsize - page)


@dataclass(frozen=True, kw_only=True)
class Contents:
    """All tensors of a file by name, in file order, with the file's own remarks."""

    tensors: dict[str, Stored]
    metadata: dict[str, str] = field(default_factory=dict)


def read(path: Path) -> Contents:
    """Open a tensor file without reading its data. Raises ValueError for a damaged or foreign file."""
    if path.suffix not in READERS:
        raise ValueError(f"{path} must be a {', '.join(READERS)} file")
    with open(regular(path), "rb"):  # a forbidden file, in the words of the system
        pass
    contents = READERS[path.suffix](path)
    for name, stored in contents.tensors.items():
        _check_shape(f"{path}: ", name, stored.shape)
    return contents


METADATA = "__metadata__"
"""The key of a .safetensors header that names no tensor."""
MOST_AXES = 64
"""Of a NumPy array."""
MOST_ELEMENTS = 1 << 60
"""So that the bytes of a tensor, with what completes its blocks, are a number of 63 bits."""

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
def _whole(path: Path) -> Iterator[None]:
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


HEADERS = {
    (1, 0): np.lib.format.read_array_header_1_0,
    (2, 0): np.lib.format.read_array_header_2_0,
    (3, 0): np.lib.format.read_array_header_2_0,
}  # 3.0 has names of fields in UTF-8, and numbers have none


def _read_npy(path: Path) -> Contents:
    with _whole(path), open(path, "rb") as file:
        version = np.lib.format.read_magic(file)
        if version not in HEADERS:
            raise ValueError(f"its format version {version[0]}.{version[1]} is unknown")
        shape, in_fortran, dtype = HEADERS[version](file)  # the header is Python, of a kind
        start, size = file.tell(), os.fstat(file.fileno()).st_size
        if dtype.hasobject:
            raise ValueError("it holds Python objects")
        if dtype.subdtype is not None:
            raise ValueError(f"each of its elements is an array, {dtype}")
        if not all(isinstance(length, int) and length >= 0 for length in shape):
            raise ValueError(f"no array has the shape {shape}")
        if (bytes_needed := math.prod(shape) * dtype.itemsize) > size - start:
            raise ValueError(f"its header speaks of {bytes_needed} bytes, and {size - start} follow")
        whole = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        array = np.ndarray(shape, dtype, whole, start, order="F" if in_fortran else "C")
    flat = array.reshape(-1)  # a copy, if it is in Fortran's order
    return Contents(tensors={path.stem: _stored(flat, shape, whole if np.may_share_memory(flat, array) else None)})


def _read_npz(path: Path) -> Contents:
    with _whole(path), open(path, "rb") as file, np.lib.npyio.NpzFile(file) as archive:  # never pickled
        arrays = {name: archive[name] for name in archive.files}
        if others := [name for name, array in arrays.items() if not isinstance(array, np.ndarray)]:
            raise ValueError(f"{others[0]!r} is no array")
        metadata = {name: _text(a) for name, a in arrays.items() if a.dtype.kind == "U" and not a.ndim}
    return Contents(
        tensors={n: _stored(a.reshape(-1), a.shape) for n, a in arrays.items() if n not in metadata}, metadata=metadata
    )


def _text(array: np.ndarray) -> str:
    """A text that is stored as an array without axes. Raises ValueError for numbers beyond Unicode; NumPy does not."""
    return array.astype(array.dtype.newbyteorder("<")).tobytes().decode("utf-32-le", "surrogatepass").rstrip("\0")


def _stored(flat: np.ndarray, shape: tuple[int, ...], map: mmap.mmap | None = None) -> Stored:
    return Stored(dtype=NAMES.get(flat.dtype.newbyteorder("="), str(flat.dtype)), shape=shape, data=flat, map=map)


def _read_safetensors(path: Path) -> Contents:
    try:
        from safetensors import SafetensorError, safe_open
    except ImportError:
        raise ToolMissing("safetensors is missing: pip install 'mxcast[files]'") from None
    with _whole(path), open(path, "rb") as file:
        try:
            with safe_open(path, "np"):  # checks header, offsets and length against each other
                pass
        except SafetensorError as error:
            raise ValueError(error) from None
        start = 8 + int.from_bytes(file.read(8), "little")
        header = json.loads(file.read(start - 8))
        whole = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        metadata = header.pop(METADATA, None) or {}
        data, tensors = np.frombuffer(whole, np.uint8)[start:], {}
        for name, entry in sorted(header.items(), key=lambda item: item[1]["data_offsets"]):
            first, last = entry["data_offsets"]
            raw = data[first:last]
            tensors[name] = Stored(
                dtype=entry["dtype"],
                shape=tuple(entry["shape"]),
                map=whole,
                data=raw.view(DTYPES.get(entry["dtype"], np.dtype(np.uint8))),
            )
    return Contents(tensors=tensors, metadata=metadata)


READERS = {".safetensors": _read_safetensors, ".npy": _read_npy, ".npz": _read_npz}


@contextlib.contextmanager
def written(path: Path, layout: Header, metadata: Mapping[str, str]) -> Iterator[Write]:
    """A function that fills the tensors of a new file; after that the file appears under its name, replacing an older
    one.

    After an exception nothing is left behind, and an older file is untouched. `.npy` holds one tensor and no
    metadata; `.npz` is collected in memory. Raises OSError in the words of the system, naming ``path``.
    """
    for name, (_, shape, _) in layout.items():
        _check_shape("", name, shape)
    with replaced(path) as file:
        if path.suffix == ".npz":
            arrays = {name: np.empty(shape, DTYPES[dtype]) for name, (dtype, shape, _) in layout.items()}
            yield _into_arrays(arrays)
            texts = {key: np.array(text) for key, text in metadata.items()}
            np.savez(file, **cast("dict[str, Any]", arrays | texts))
        else:
            yield _into_file(file, WRITTEN[path.suffix](layout, metadata), layout)


def _check_shape(where: str, name: str, shape: tuple[int, ...]) -> None:
    """Raises ValueError for what no library can hold, which a file without elements may speak of."""
    if len(shape) > MOST_AXES:
        raise ValueError(f"{where}tensor {name!r} has {len(shape)} axes, and {MOST_AXES} are the most")
    if math.prod(length for length in shape if length) > MOST_ELEMENTS:
        raise ValueError(f"{where}tensor {name!r} of shape {shape} is larger than any memory")


def _into_arrays(arrays: Mapping[str, np.ndarray]) -> Write:
    def write(name: str, start: int, numbers: np.ndarray) -> None:
        arrays[name].reshape(-1)[start : start + numbers.size] = numbers.reshape(-1)

    return write


def _into_file(file: BinaryIO, header: bytes, layout: Header) -> Write:
    """Into a file whose data follow the header in the order of the layout.

    Written, not mapped: the system takes several times as long to hand out the pages of a map one by one.
    """
    starts, end = {}, len(header)
    for name, (_, _, count) in layout.items():
        starts[name], end = end, end + count
    file.write(header)
    file.flush()
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(file.fileno(), 0, end)  # a full disk is an error here, before anything is converted
    else:
        file.truncate(end)

    def write(name: str, start: int, numbers: np.ndarray) -> None:
        file.seek(starts[name] + start * numbers.itemsize)
        file.write(np.ascontiguousarray(numbers, numbers.dtype.newbyteorder("<")).data)

    return write


def _npy_header(layout: Header, metadata: Mapping[str, str]) -> bytes:
    ((dtype, shape, _),) = layout.values()
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(header, {"descr": DTYPES[dtype].str, "fortran_order": False, "shape": shape})
    return header.getvalue()


def _safetensors_header(layout: Header, metadata: Mapping[str, str]) -> bytes:
    for name in layout:
        if not _is_text(name):
            raise ValueError(
                f"tensor {name!r} has a name that is not UTF-8, as a .safetensors file needs: "
                "rename the file that it is named after"
            )
        if name == METADATA:
            raise ValueError(f"tensor {name!r} has a name that a .safetensors file keeps for its metadata")
    for key, text in metadata.items():
        if not _is_text(key + text):
            raise ValueError(f"the metadata {key!r} are not UTF-8, as a .safetensors file needs")
    entries: dict[str, object] = {METADATA: dict(metadata)} if metadata else {}
    offset = 0
    for name, (dtype, shape, count) in layout.items():
        entries[name] = {"dtype": dtype, "shape": shape, "data_offsets": (offset, offset + count)}
        offset += count
    header = json.dumps(entries, separators=(",", ":")).encode()
    header += b" " * (-len(header) % 8)  # data start aligned
    return len(header).to_bytes(8, "little") + header


def _is_text(text: str) -> bool:
    """Can it be written as UTF-8? A file name of other bytes cannot."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


WRITTEN: dict[str, Callable[[Header, Mapping[str, str]], bytes]] = {
    ".npy": _npy_header,
    ".safetensors": _safetensors_header,
}
"""What stands before the tensors in files that are written from the front to the end."""
