"""Tensor files: `.npy`, `.npz` and `.safetensors`, read in place as memory maps, and written whole or not at all."""

from __future__ import annotations

import contextlib
import io
import json
import mmap
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from ..host.errors import ToolMissing

__all__ = ["Stored", "Contents", "Layout", "Write", "CONVERTED", "DTYPES", "read", "written"]

CONVERTED = {"F32": np.dtype("<f4"), "F16": np.dtype("<f2"), "BF16": np.dtype("<u2")}
"""Number types that are quantized, by their name in safetensors; NumPy has no BF16, so its bits."""
DTYPES = {**CONVERTED, "U8": np.dtype("u1"), "U16": np.dtype("<u2")}
NAMES = {np.dtype("f4"): "F32", np.dtype("f2"): "F16", np.dtype("f8"): "F64", np.dtype("u1"): "U8", np.dtype("u2"): "U16"}

Layout = Mapping[str, tuple[str, tuple[int, ...], int]]
"""Of a file to be written: dtype, shape and number of bytes by name."""
Write = Callable[[str, int, np.ndarray], None]
"""Puts numbers into a tensor of a file to be written, by the tensor's name, from this element on in C order."""


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
        """Give back the memory of elements that have been read; they may be read again. Nothing happens without a map."""
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
    with open(path, "rb"):  # a missing or forbidden file, in the words of the system
        pass
    return READERS[path.suffix](path)


def _read_npy(path: Path) -> Contents:
    try:
        array = np.lib.format.open_memmap(path, mode="r")
    except (ValueError, EOFError, SyntaxError) as error:  # the header is Python, of a kind
        raise ValueError(f"{path} is no .npy file of numbers, or a damaged one: {error}") from None
    return Contents(tensors={path.stem: _stored(array)})


def _read_npz(path: Path) -> Contents:
    import zipfile

    try:
        with open(path, "rb") as file, np.lib.npyio.NpzFile(file) as archive:  # never pickled
            arrays = {name: archive[name] for name in archive.files}
    except (ValueError, EOFError, zipfile.BadZipFile) as error:
        raise ValueError(f"{path} is no .npz file of numbers, or a damaged one: {error}") from None
    metadata = {name: str(a[()]) for name, a in arrays.items() if a.dtype.kind == "U" and not a.ndim}
    return Contents(tensors={n: _stored(a) for n, a in arrays.items() if n not in metadata}, metadata=metadata)


def _stored(array: np.ndarray) -> Stored:
    flat = array.reshape(-1)  # a copy, if it is in Fortran's order
    return Stored(dtype=NAMES.get(array.dtype.newbyteorder("="), str(array.dtype)), shape=array.shape, data=flat,
                  map=array.base if isinstance(array.base, mmap.mmap) and np.may_share_memory(flat, array) else None)


def _read_safetensors(path: Path) -> Contents:
    try:
        from safetensors import SafetensorError, safe_open
    except ImportError:
        raise ToolMissing("safetensors is missing: pip install 'mxcast[files]'") from None
    try:
        with safe_open(path, "np"):  # checks header, offsets and length against each other
            pass
    except SafetensorError as error:
        raise ValueError(f"{path} is no .safetensors file, or a damaged one: {error}") from None
    with open(path, "rb") as file:
        start = 8 + int.from_bytes(file.read(8), "little")
        header = json.loads(file.read(start - 8))
        whole = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    metadata = header.pop("__metadata__", None) or {}
    data, tensors = np.frombuffer(whole, np.uint8)[start:], {}
    for name, entry in sorted(header.items(), key=lambda item: item[1]["data_offsets"]):
        first, last = entry["data_offsets"]
        raw = data[first:last]
        tensors[name] = Stored(dtype=entry["dtype"], shape=tuple(entry["shape"]), map=whole,
                               data=raw.view(DTYPES.get(entry["dtype"], np.uint8)))
    return Contents(tensors=tensors, metadata=metadata)


READERS = {".safetensors": _read_safetensors, ".npy": _read_npy, ".npz": _read_npz}


@contextlib.contextmanager
def written(path: Path, layout: Layout, metadata: Mapping[str, str]) -> Iterator[Write]:
    """A function that fills the tensors of a new file; after that the file appears under its name, replacing an older one.

    After an exception nothing is left behind, and an older file is untouched. `.npy` holds one tensor and no
    metadata; `.npz` is collected in memory. Raises OSError in the words of the system, naming ``path``.
    """
    final = Path(os.path.realpath(path))  # what a link points to is replaced, not the link
    if final.exists() and not final.is_file():
        raise ValueError(f"{path} exists and is no regular file")
    temporary = final.with_name(f".{final.name}.{os.getpid()}")
    try:
        try:
            with open(temporary, "wb") as file:
                if path.suffix == ".npz":
                    arrays = {name: np.empty(shape, DTYPES[dtype]) for name, (dtype, shape, _) in layout.items()}
                    yield _into_arrays(arrays)
                    np.savez(file, **arrays, **{key: np.array(text) for key, text in metadata.items()})
                else:
                    header = _npy_header(layout) if path.suffix == ".npy" else _safetensors_header(layout, metadata)
                    yield _into_file(file, header, layout)
            os.replace(temporary, final)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
    except OSError as error:
        if error.filename is None or Path(error.filename) == temporary:
            raise OSError(error.errno, error.strerror, str(path)) from None
        raise


def _into_arrays(arrays: Mapping[str, np.ndarray]) -> Write:
    def write(name: str, start: int, numbers: np.ndarray) -> None:
        arrays[name].reshape(-1)[start:start + numbers.size] = numbers.reshape(-1)

    return write


def _into_file(file: io.BufferedWriter, header: bytes, layout: Layout) -> Write:
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
        file.write(np.ascontiguousarray(numbers).data)

    return write


def _npy_header(layout: Layout) -> bytes:
    (dtype, shape, _), = layout.values()
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(header, {"descr": DTYPES[dtype].str, "fortran_order": False, "shape": shape})
    return header.getvalue()


def _safetensors_header(layout: Layout, metadata: Mapping[str, str]) -> bytes:
    entries: dict[str, object] = {"__metadata__": dict(metadata)} if metadata else {}
    offset = 0
    for name, (dtype, shape, count) in layout.items():
        entries[name] = {"dtype": dtype, "shape": shape, "data_offsets": (offset, offset + count)}
        offset += count
    text = json.dumps(entries, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)  # data start aligned
    return len(text).to_bytes(8, "little") + text
