"""Tensor files of every kind, read in place as memory maps, and written whole or not at all."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from ...host.files import begin, regular, replaced
from ...host.unfinished import Journal, resumable
from .contents import Contents, Header, Write
from .gguf import gguf_header, read_gguf
from .npy import npy_header, npz_arrays, read_npy, read_npz, write_npz
from .onnx_model import check_onnx, read_onnx, write_onnx
from .safetensors import read_safetensors, safetensors_header


def read(path: Path) -> Contents:
    """Open a tensor file without reading its data. Raises ValueError for a damaged or foreign file."""
    if path.suffix not in READERS:
        path.stat()  # raises OSError for a missing file
        raise ValueError(f"{path} must be a {', '.join(READERS)} file")
    with open(regular(path), "rb"):
        pass  # raises OSError without permission
    contents = READERS[path.suffix](path)
    for name, stored in contents.tensors.items():
        _check_shape(f"{path}: ", name, stored.shape)
    return contents


MOST_AXES = 64
"""Axes of a NumPy array."""
MOST_ELEMENTS = 1 << 60
"""Elements of a tensor: its bytes, with complete blocks, are a number of 63 bits."""

READERS = {".safetensors": read_safetensors, ".npy": read_npy, ".npz": read_npz, ".gguf": read_gguf, ".onnx": read_onnx}


class Writer:
    """Fills the tensors of a new file."""

    def __init__(self, write: Write, journal: Journal | None = None) -> None:
        self._write, self._journal = write, journal

    def __call__(self, name: str, start: int, numbers: np.ndarray) -> None:
        self._write(name, start, numbers)

    @property
    def whole(self) -> Mapping[str, Any]:
        """The tensors that an earlier command completed, each with its note."""
        return self._journal.whole if self._journal else {}

    def finish(self, names: Sequence[str], note: object = None) -> None:
        """Record that some tensors are complete, with a note for a command that resumes this one."""
        if self._journal:
            self._journal.finish(names, note)


@contextlib.contextmanager
def written(
    path: Path, layout: Header, metadata: Mapping[str, str], unfinished: Path | None = None
) -> Iterator[Writer]:
    """A block that fills the tensors of a new file, which then replaces an older one of this name.

    After an exception nothing is left behind, and an older file is untouched. Complete tensors stay in the folder
    ``unfinished``, and the next call with the same header resumes after them (`host.unfinished`). A `.npy` file holds
    one tensor and no metadata; `.npz` and `.onnx` files are collected in memory and cannot be resumed. Raises OSError
    with the name ``path``.
    """
    for name, (_, shape, _) in layout.items():
        _check_shape("", name, shape)
    if path.suffix in WRITTEN:
        header, alignment = WRITTEN[path.suffix](layout, metadata)
        starts, size = _places(len(header), alignment, layout)
        if unfinished is not None:
            with resumable(path, unfinished, header, size) as (file, journal):
                yield Writer(_into_file(file, starts), journal)
            return
        with replaced(path) as file:
            begin(file, header, size)
            yield Writer(_into_file(file, starts))
        return
    with replaced(path) as file:
        if path.suffix == ".npz":
            arrays = npz_arrays(layout, metadata)
            yield Writer(_into_bytes({name: array.reshape(-1).view(np.uint8) for name, array in arrays.items()}))
            write_npz(file, arrays, metadata)
        elif path.suffix == ".onnx":
            check_onnx(layout)
            parts = {name: np.zeros(count, np.uint8) for name, (_, _, count) in layout.items()}
            yield Writer(_into_bytes(parts))
            write_onnx(file, layout, parts, metadata)
        else:
            raise ValueError(f"{path} must be a {', '.join(READERS)} file")


def _check_shape(where: str, name: str, shape: tuple[int, ...]) -> None:
    """Raise ValueError for a shape that no library can hold; a tensor without elements may have it."""
    if len(shape) > MOST_AXES:
        raise ValueError(f"{where}tensor {name!r} has {len(shape)} axes, and {MOST_AXES} are the most")
    if math.prod(length for length in shape if length) > MOST_ELEMENTS:
        raise ValueError(f"{where}tensor {name!r} of shape {shape} is larger than any memory")


def _into_bytes(parts: Mapping[str, np.ndarray]) -> Write:
    def write(name: str, start: int, numbers: np.ndarray) -> None:
        data = np.ascontiguousarray(numbers, numbers.dtype.newbyteorder("<")).reshape(-1).view(np.uint8)
        first = start * numbers.itemsize
        parts[name][first : first + data.size] = data

    return write


def _places(start: int, alignment: int, layout: Header) -> tuple[dict[str, int], int]:
    """The start of the data of each tensor, at a multiple of the alignment, and the end of the file."""
    starts = {}
    for name, (_, _, count) in layout.items():
        starts[name], start = start, start + count + -(start + count) % alignment
    return starts, start


def _into_file(file: BinaryIO, starts: Mapping[str, int]) -> Write:
    """Write into a file whose tensors start at these places. A memory map would take several times as long."""

    def write(name: str, start: int, numbers: np.ndarray) -> None:
        file.seek(starts[name] + start * numbers.itemsize)
        file.write(np.ascontiguousarray(numbers, numbers.dtype.newbyteorder("<")).data)

    return write


WRITTEN: dict[str, Callable[[Header, Mapping[str, str]], tuple[bytes, int]]] = {
    ".npy": lambda layout, metadata: (npy_header(layout), 1),
    ".safetensors": lambda layout, metadata: (safetensors_header(layout, metadata), 1),
    ".gguf": gguf_header,
}
"""Writers of headers by suffix: the bytes before the tensors, and the alignment of tensors."""
