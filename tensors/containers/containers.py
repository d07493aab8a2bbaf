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
        path.stat()  # a name that is misspelt, in the words of the system
        raise ValueError(f"{path} must be a {', '.join(READERS)} file")
    with open(regular(path), "rb"):  # a forbidden file, in the words of the system
        pass
    contents = READERS[path.suffix](path)
    for name, stored in contents.tensors.items():
        _check_shape(f"{path}: ", name, stored.shape)
    return contents


MOST_AXES = 64
"""Of a NumPy array."""
MOST_ELEMENTS = 1 << 60
"""So that the bytes of a tensor, with what completes its blocks, are a number of 63 bits."""

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

    def finish(self, names: Sequence[str], note: Any = None) -> None:
        """Record that some tensors are complete, with a note for a command that resumes this one."""
        if self._journal:
            self._journal.finish(names, note)


@contextlib.contextmanager
def written(
    path: Path, layout: Header, metadata: Mapping[str, str], unfinished: Path | None = None
) -> Iterator[Writer]:
    """What fills the tensors of a new file; after that the file appears under its name, replacing an older one.

    After an exception nothing is left behind, and an older file is untouched. With ``unfinished``, a folder, complete
    tensors stay there, and the next call with the same header resumes after them (`host.unfinished`). `.npy` holds one
    tensor and no metadata; `.npz` and `.onnx` are collected in memory and cannot be resumed. Raises OSError in the
    words of the system, naming ``path``.
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
    """Raises ValueError for what no library can hold, which a file without elements may speak of."""
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
    """Where the data of each tensor begin, in the order of the layout and each at a multiple of the alignment, and
    where the file ends.
    """
    starts = {}
    for name, (_, _, count) in layout.items():
        starts[name], start = start, start + count + -(start + count) % alignment
    return starts, start


def _into_file(file: BinaryIO, starts: Mapping[str, int]) -> Write:
    """Into a file with the data of tensors at these places.

    Written, not mapped: the system takes several times as long to hand out the pages of a map one by one.
    """

    def write(name: str, start: int, numbers: np.ndarray) -> None:
        file.seek(starts[name] + start * numbers.itemsize)
        file.write(np.ascontiguousarray(numbers, numbers.dtype.newbyteorder("<")).data)

    return write


WRITTEN: dict[str, Callable[[Header, Mapping[str, str]], tuple[bytes, int]]] = {
    ".npy": lambda layout, metadata: (npy_header(layout), 1),
    ".safetensors": lambda layout, metadata: (safetensors_header(layout, metadata), 1),
    ".gguf": gguf_header,
}
"""What stands before the tensors in files that are written from the front to the end, and their alignment."""
