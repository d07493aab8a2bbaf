"""Tensor files as memory maps: `.npy`, `.npz` and `.safetensors`, read in place and written whole or not at all."""

from __future__ import annotations

import contextlib
import io
import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

__all__ = ["Stored", "Contents", "Layout", "CONVERTED", "DTYPES", "read", "written"]

CONVERTED = {"F32": np.dtype("<f4"), "F16": np.dtype("<f2"), "BF16": np.dtype("<u2")}
"""Number types that are quantized, by their name in safetensors; NumPy has no BF16, so its bits."""
DTYPES = {**CONVERTED, "U8": np.dtype("u1")}
NAMES = {np.dtype("f4"): "F32", np.dtype("f2"): "F16", np.dtype("f8"): "F64"}

Layout = Mapping[str, tuple[str, tuple[int, ...], int]]
"""Of a file to be written: dtype, shape and number of bytes by name."""


@dataclass(frozen=True, kw_only=True)
class Stored:
    """A tensor in a file; ``data`` is flat, in C order, and bytes for dtypes that nothing here looks into."""

    dtype: str
    shape: tuple[int, ...]
    data: np.ndarray


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
    dtype = "U8" if array.dtype == np.uint8 else NAMES.get(array.dtype.newbyteorder("="), str(array.dtype))
    return Stored(dtype=dtype, shape=array.shape, data=array.reshape(-1))


def _read_safetensors(path: Path) -> Contents:
    try:
        from safetensors import SafetensorError, safe_open
    except ImportError:
        from ..hdl.host import ToolError

        raise ToolError("safetensors is missing: pip install 'mxcast[files]'") from None
    try:
        with safe_open(path, "np"):  # checks header, offsets and length against each other
            pass
    except SafetensorError as error:
        raise ValueError(f"{path} is no .safetensors file, or a damaged one: {error}") from None
    with open(path, "rb") as file:
        start = 8 + int.from_bytes(file.read(8), "little")
        header = json.loads(file.read(start - 8))
    metadata = header.pop("__metadata__", None) or {}
    # an empty map is refused by the system
    data = np.memmap(path, np.uint8, "r", offset=start) if path.stat().st_size > start else np.empty(0, np.uint8)
    tensors = {}
    for name, entry in sorted(header.items(), key=lambda item: item[1]["data_offsets"]):
        first, last = entry["data_offsets"]
        raw = data[first:last]
        tensors[name] = Stored(dtype=entry["dtype"], shape=tuple(entry["shape"]),
                               data=raw.view(DTYPES.get(entry["dtype"], np.uint8)))
    return Contents(tensors=tensors, metadata=metadata)


READERS = {".safetensors": _read_safetensors, ".npy": _read_npy, ".npz": _read_npz}


@contextlib.contextmanager
def written(path: Path, layout: Layout, metadata: Mapping[str, str]) -> Iterator[dict[str, np.ndarray]]:
    """Flat arrays by name, to be filled; then the file appears under its name, replacing an older one.

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
                    yield {name: array.reshape(-1) for name, array in arrays.items()}
                    np.savez(file, **arrays, **{key: np.array(text) for key, text in metadata.items()})
                else:
                    header = _npy_header(layout) if path.suffix == ".npy" else _safetensors_header(layout, metadata)
                    yield _mapped(file, header, layout)
            os.replace(temporary, final)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
    except OSError as error:
        if error.filename is None or Path(error.filename) == temporary:
            raise OSError(error.errno, error.strerror, str(path)) from None
        raise


def _mapped(file: io.BufferedWriter, header: bytes, layout: Layout) -> dict[str, np.ndarray]:
    """Arrays within a file whose data follow the header in the order of the layout."""
    file.write(header)
    file.flush()
    size = len(header) + sum(count for _, _, count in layout.values())
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(file.fileno(), 0, size)  # a full disk is an error here, and a fatal signal in a map
    else:
        file.truncate(size)
    data, arrays = np.memmap(file.name, np.uint8, "r+"), {}
    offset = len(header)
    for name, (dtype, _, count) in layout.items():
        arrays[name] = data[offset:offset + count].view(DTYPES.get(dtype, np.uint8))
        offset += count
    return arrays


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
