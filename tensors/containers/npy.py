"""`.npy` and `.npz`, the files of NumPy."""

from __future__ import annotations

import io
import math
import mmap
import os
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import BinaryIO

import numpy as np

from .contents import DTYPES, NAMES, Contents, Header, Stored, whole

HEADERS = {
    (1, 0): np.lib.format.read_array_header_1_0,
    (2, 0): np.lib.format.read_array_header_2_0,
    (3, 0): np.lib.format.read_array_header_2_0,
}  # 3.0 differs in the names of fields, and numbers have no fields

LAST_RECORD = 22
"""Bytes of the last record of a zip file, without the comment after it."""


def read_npy(path: Path) -> Contents:
    with whole(path), open(path, "rb") as file:
        version = np.lib.format.read_magic(file)
        if version not in HEADERS:
            raise ValueError(f"its format version {version[0]}.{version[1]} is unknown")
        shape, in_fortran, dtype = HEADERS[version](file)  # the header is a Python literal
        start, size = file.tell(), os.fstat(file.fileno()).st_size
        if dtype.hasobject:
            raise ValueError("it holds Python objects")
        if dtype.subdtype is not None:
            raise ValueError(f"each of its elements is an array, {dtype}")
        if not all(isinstance(length, int) and length >= 0 for length in shape):
            raise ValueError(f"no array has the shape {shape}")
        if (bytes_needed := math.prod(shape) * dtype.itemsize) > size - start:
            raise ValueError(f"its header declares {bytes_needed} bytes, and {size - start} follow")
        if bytes_needed < size - start:
            raise ValueError(
                f"it ends at byte {start + bytes_needed}, and more follow: a file with several arrays must be .npz"
            )
        mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        array = np.ndarray(shape, dtype, mapped, start, order="F" if in_fortran else "C")
    flat = array.reshape(-1)  # a copy in Fortran order
    return Contents(tensors={path.stem: _stored(flat, shape, mapped if np.may_share_memory(flat, array) else None)})


def read_npz(path: Path) -> Contents:
    arrays: dict[str, np.ndarray] = {}
    with whole(path), open(path, "rb") as file, zipfile.ZipFile(file) as archive:
        file.seek(-LAST_RECORD - len(archive.comment), os.SEEK_END)
        if not file.read(LAST_RECORD).startswith(b"PK\5\6"):
            raise ValueError("bytes follow after its end")
        for member in archive.infolist():
            name = member.filename.removesuffix(".npy")
            if name == member.filename:
                raise ValueError(f"{name!r} is not an array")
            if name in arrays:
                raise ValueError(f"it has two arrays {name!r}")
            with archive.open(member) as one:
                arrays[name] = np.lib.format.read_array(one, allow_pickle=False)
                if one.read(1):
                    raise ValueError(f"bytes follow after the array {name!r}")
        metadata = {name: _text(a) for name, a in arrays.items() if a.dtype.kind == "U" and not a.ndim}
    return Contents(
        tensors={n: _stored(a.reshape(-1), a.shape) for n, a in arrays.items() if n not in metadata}, metadata=metadata
    )


def _text(array: np.ndarray) -> str:
    """A text that is stored as an array without axes. Raises ValueError for numbers beyond Unicode; NumPy does not."""
    return array.astype(array.dtype.newbyteorder("<")).tobytes().decode("utf-32-le", "surrogatepass").rstrip("\0")


def _stored(flat: np.ndarray, shape: tuple[int, ...], map: mmap.mmap | None = None) -> Stored:
    return Stored(dtype=NAMES.get(flat.dtype.newbyteorder("="), str(flat.dtype)), shape=shape, data=flat, map=map)


def npy_header(layout: Header) -> bytes:
    ((dtype, shape, _),) = layout.values()
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(header, {"descr": DTYPES[dtype].str, "fortran_order": False, "shape": shape})
    return header.getvalue()


def npz_arrays(layout: Header, metadata: Mapping[str, str]) -> dict[str, np.ndarray]:
    """Little-endian arrays for the tensors of a `.npz` file. Raises ValueError for a name that metadata use too."""
    if taken := sorted(layout.keys() & metadata.keys()):
        raise ValueError(f"tensor {taken[0]!r} has the name of metadata of the file")
    dtypes = {name: dtype.newbyteorder("<") for dtype, name in NAMES.items()} | DTYPES
    return {name: np.empty(shape, dtypes[dtype]) for name, (dtype, shape, _) in layout.items()}


def write_npz(file: BinaryIO, arrays: Mapping[str, np.ndarray], metadata: Mapping[str, str]) -> None:
    """Write a `.npz` file; `np.savez` does not take every name."""
    texts = {key: np.array(text) for key, text in metadata.items()}
    with zipfile.ZipFile(file, "w") as archive:
        for name, array in {**arrays, **texts}.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as one:
                np.lib.format.write_array(one, array, allow_pickle=False)
