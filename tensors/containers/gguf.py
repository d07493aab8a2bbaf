"""`.gguf`, the files of ggml: key-values, descriptions of tensors, and their data, each at a multiple of an alignment.

The format is described in ggml's docs/gguf.md, versions 2 and 3, little-endian. Types and their sizes come from the
package gguf 0.19.0, with which the tests compare files. That package trusts the lengths in a damaged file; here every
length is checked first.

Key-values become metadata: ``gguf.KEY`` is JSON, a type and a value. Metadata without this prefix become the text
``safetensors.KEY`` of a .gguf file.
"""

from __future__ import annotations

import json
import math
import mmap
import os
import struct
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ...host.files import parsed_json
from ...spec.catalogue import excerpt
from .contents import DTYPES, Contents, Header, Stored, whole

MAGIC, VERSIONS = b"GGUF", (2, 3)
ALIGNMENT, ALIGNMENT_KEY = 32, "general.alignment"
MOST_AXES = 4
MOST_NAME = 63
"""Bytes of the name of a tensor: ggml has 64 with the zero after it (GGML_MAX_NAME)."""

PLAIN = {
    "F32": (0, 4),
    "F16": (1, 2),
    "BF16": (30, 2),
    "F64": (28, 8),
    "I8": (24, 1),
    "I16": (25, 2),
    "I32": (26, 4),
    "I64": (27, 8),
}
BLOCKS = {
    "Q4_0": (2, 32, 18), "Q4_1": (3, 32, 20), "Q5_0": (6, 32, 22), "Q5_1": (7, 32, 24), "Q8_0": (8, 32, 34),
    "Q2_K": (10, 256, 84), "Q3_K": (11, 256, 110), "Q4_K": (12, 256, 144), "Q5_K": (13, 256, 176),
    "Q6_K": (14, 256, 210), "IQ2_XXS": (16, 256, 66), "IQ2_XS": (17, 256, 74), "IQ3_XXS": (18, 256, 98),
    "IQ1_S": (19, 256, 50), "IQ4_NL": (20, 32, 18), "IQ3_S": (21, 256, 110), "IQ2_S": (22, 256, 82),
    "IQ4_XS": (23, 256, 136), "IQ1_M": (29, 256, 56), "TQ1_0": (34, 256, 54), "TQ2_0": (35, 256, 66),
    "MXFP4": (39, 32, 17), "NVFP4": (40, 64, 36),
}  # fmt: skip
TYPES: dict[str, tuple[int, int, int]] = {name: (code, 1, size) for name, (code, size) in PLAIN.items()} | BLOCKS
"""Number of each type, elements of a block along the last axis, and its bytes."""
NAMES = {code: name for name, (code, _, _) in TYPES.items()}

SCALARS = {
    "UINT8": (0, "<B"),
    "INT8": (1, "<b"),
    "UINT16": (2, "<H"),
    "INT16": (3, "<h"),
    "UINT32": (4, "<I"),
    "INT32": (5, "<i"),
    "FLOAT32": (6, "<f"),
    "UINT64": (10, "<Q"),
    "INT64": (11, "<q"),
    "FLOAT64": (12, "<d"),
}
"""Number of each type of values, and its `struct` format."""
BOOL, STRING, ARRAY = "BOOL", "STRING", "ARRAY"
VALUES = {name: code for name, (code, _) in SCALARS.items()} | {BOOL: 7, STRING: 8, ARRAY: 9}
VALUE_NAMES = {code: name for name, code in VALUES.items()}

OURS, OTHERS = "gguf.", "safetensors."
TYPES_KEY = "ggml_types"
"""Metadata key, in containers other than GGUF, of the ggml types of byte arrays."""


class _Reader:
    """Reads values of a file one after the other. Raises ValueError at its end."""

    def __init__(self, data: np.ndarray) -> None:
        self.data, self.place = data, 0

    def bytes(self, count: int) -> bytes:
        if count > len(self.data) - self.place:
            raise ValueError(f"it ends at byte {len(self.data)}, in the middle of its header")
        self.place += count
        return self.data[self.place - count : self.place].tobytes()

    def number(self, form: str) -> int:
        (found,) = struct.unpack(form, self.bytes(struct.calcsize(form)))
        return int(found)

    def text(self) -> str:
        return self.bytes(self.number("<Q")).decode("utf-8", "surrogateescape")

    def type(self) -> str:
        code = self.number("<I")
        if code not in VALUE_NAMES:
            raise ValueError(f"it has a value of the unknown type {code}")
        return VALUE_NAMES[code]

    def values(self, kind: str, count: int) -> Sequence[object]:
        """This many values of a type, for JSON."""
        if kind == STRING:
            return [self.text() for _ in range(count)]
        if kind == ARRAY:
            raise ValueError("it has an array of arrays")
        form = "<B" if kind == BOOL else SCALARS[kind][1]
        found = np.frombuffer(self.bytes(count * struct.calcsize(form)), form).tolist()
        if kind == BOOL:
            if not all(value in (0, 1) for value in found):
                raise ValueError("it has a truth value that is neither 0 nor 1")
            return list(map(bool, found))
        return [_written(value, form) for value in found]

    def value(self) -> list[object]:
        """Type and value for JSON, with the type of the elements of an array."""
        kind = self.type()
        if kind == ARRAY:
            of = self.type()
            return [kind, of, self.values(of, self.number("<Q"))]
        return [kind, *self.values(kind, 1)]


def _written(value: float, form: str) -> float | str:
    """A number for JSON, or the bits of NaN and Inf."""
    if isinstance(value, float) and not math.isfinite(value):
        return struct.pack(form.replace("<", ">"), value).hex()
    return value


def read_gguf(path: Path) -> Contents:
    """Open a file. A tensor of blocks has the name of its ggml type as dtype, the shape of its numbers, and bytes.

    Raises ValueError for a damaged file, and for unknown types.
    """
    with whole(path), open(path, "rb") as file:
        if not os.fstat(file.fileno()).st_size:
            raise ValueError("it is empty")
        mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        data = np.frombuffer(mapped, np.uint8)
        reader = _Reader(data)
        if reader.bytes(4) != MAGIC:
            raise ValueError("it does not begin with GGUF")
        version, tensors, pairs = (reader.number(form) for form in ("<I", "<Q", "<Q"))
        if version not in VERSIONS:
            raise ValueError(f"its version {version} must be one of {', '.join(map(str, VERSIONS))}")
        metadata: dict[str, str] = {}
        alignment = ALIGNMENT
        for _ in range(pairs):
            key, value = reader.text(), reader.value()
            name = key.removeprefix(OTHERS) if _is_metadata(key, value) else OURS + key
            if name in metadata:
                raise ValueError(f"it has the key {excerpt(key)} twice")
            metadata[name] = str(value[1]) if _is_metadata(key, value) else json.dumps(value)
            if key == ALIGNMENT_KEY:
                alignment = _alignment(value)
        entries = [_entry(reader) for _ in range(tensors)]
        start = end = reader.place + -reader.place % alignment
        found: dict[str, Stored] = {}
        for name, dtype, shape, size, offset in sorted(entries, key=lambda entry: entry[-1]):
            first = start + offset
            if name in found:
                raise ValueError(f"it has the tensor {excerpt(name)} twice")
            if first != end or first + size > len(data):
                raise ValueError(f"the data of tensor {excerpt(name)} are not where a tensor can be")
            raw = data[first : first + size].view(DTYPES.get(dtype, np.dtype(np.uint8)))
            end = first + size + -size % alignment
            found[name] = Stored(dtype=dtype, shape=shape, data=raw, map=mapped)
        if len(data) > end:
            raise ValueError(f"it ends at byte {end}, and {len(data) - end} bytes follow")
    return Contents(tensors=found, metadata=metadata)


def _is_metadata(key: str, value: list[object]) -> bool:
    """Is this an entry of the metadata of another container?"""
    return key.startswith(OTHERS) and value[0] == STRING


def _alignment(value: Sequence[object]) -> int:
    kind, bytes_ = value[:2]
    if kind != "UINT32" or not isinstance(bytes_, int) or bytes_.bit_count() != 1:
        raise ValueError(f"its alignment must be a power of two, not {excerpt(bytes_)}")
    return bytes_


def _entry(reader: _Reader) -> tuple[str, str, tuple[int, ...], int, int]:
    """Name, dtype, shape, bytes and offset of a tensor."""
    name, axes = reader.text(), reader.number("<I")
    if axes > MOST_AXES:
        raise ValueError(f"tensor {excerpt(name)} has {axes} axes, and {MOST_AXES} are the most")
    shape = tuple(reader.number("<Q") for _ in range(axes))[::-1]  # the last axis first
    code, offset = reader.number("<I"), reader.number("<Q")
    if code not in NAMES:
        raise ValueError(f"tensor {excerpt(name)} is of the type {code}, which is not known")
    return name, NAMES[code], shape, _size(name, NAMES[code], shape), offset


def _size(name: str, dtype: str, shape: tuple[int, ...]) -> int:
    """The bytes of a tensor. Raises ValueError for a row that is not made of whole blocks."""
    _, count, size = TYPES[dtype]
    if count > 1 and (not shape or shape[-1] % count):
        raise ValueError(
            f"tensor {excerpt(name)} of shape {shape} has no rows of whole blocks of {dtype}, {count} each"
        )
    return math.prod(shape) // count * size


def gguf_header(layout: Header, metadata: Mapping[str, str]) -> tuple[bytes, int]:
    """The bytes before the data, and the alignment of tensors. Raises ValueError for tensors that do not fit."""
    pairs = {
        key.removeprefix(OURS) if key.startswith(OURS) else OTHERS + key: text
        for key, text in metadata.items()
        if key != TYPES_KEY
    }
    types = _noted(metadata)
    values = {key: _value(key, text) if OURS + key in metadata else [STRING, text] for key, text in pairs.items()}
    alignment = _alignment(values[ALIGNMENT_KEY]) if ALIGNMENT_KEY in values else ALIGNMENT
    parts = [MAGIC, struct.pack("<IQQ", VERSIONS[-1], len(layout), len(values))]
    parts += [_text(key) + _packed(key, value) for key, value in values.items()]
    offset = 0
    for name, (dtype, shape, size) in layout.items():
        if dtype == "U8" and name in types:
            dtype = types[name]
            _, count, of_block = TYPES[dtype]
            shape = (*shape[:-1], shape[-1] // of_block * count)
        if dtype not in TYPES:
            raise ValueError(f"tensor {excerpt(name)} is {dtype}, which a .gguf file cannot hold")
        if len(shape) > MOST_AXES or len(_text(name)) > 8 + MOST_NAME:
            raise ValueError(
                f"tensor {excerpt(name)} has {len(shape)} axes and a name of {len(_text(name)) - 8} bytes, and a .gguf "
                f"file has {MOST_AXES} and {MOST_NAME} at most"
            )
        if _size(name, dtype, shape) != size:
            raise ValueError(f"tensor {excerpt(name)} of shape {shape} has other than {size} bytes as {dtype}")
        parts.append(_text(name) + struct.pack(f"<I{len(shape)}QIQ", len(shape), *shape[::-1], TYPES[dtype][0], offset))
        offset += size + -size % alignment
    header = b"".join(parts)
    return header + bytes(-len(header) % alignment), alignment


def _noted(metadata: Mapping[str, str]) -> dict[str, str]:
    """The types of arrays of bytes, which `without_types` wrote."""
    types = parsed_json(metadata[TYPES_KEY]) if TYPES_KEY in metadata else {}
    if not isinstance(types, dict) or not all(isinstance(dtype, str) and dtype in BLOCKS for dtype in types.values()):
        raise ValueError(f"the metadata {TYPES_KEY!r} must be types of ggml by name, not {excerpt(types)}")
    return types


def _value(key: str, text: str) -> list[object]:
    """Type and value of a key. Raises ValueError for texts that `read_gguf` does not write."""
    try:
        value = parsed_json(text)
        if isinstance(value, list) and len(value) == (3 if value[:1] == [ARRAY] else 2):
            _packed(key, value)
            return value
    except (ValueError, TypeError, KeyError, struct.error, OverflowError, AttributeError, RecursionError):
        pass
    raise ValueError(f"the metadata {OURS + key!r} must be a type and a value of ggml, not {excerpt(text)}")


def _packed(key: str, value: list[Any]) -> bytes:
    """The bytes of a value and its type in a file."""
    kind, *rest = value
    if kind == ARRAY:
        of, elements = rest
        head = struct.pack("<IIQ", VALUES[ARRAY], VALUES[of], len(elements))
        return head + b"".join(_one(of, element) for element in elements)
    return struct.pack("<I", VALUES[kind]) + _one(kind, rest[0])


def _one(kind: str, value: Any) -> bytes:
    if kind == STRING:
        return _text(value)
    if kind == BOOL:
        return struct.pack("<?", {True: True, False: False}[value])
    form = SCALARS[kind][1]
    if form in ("<f", "<d") and isinstance(value, str):
        found = bytes.fromhex(value)[::-1]
        if len(found) != struct.calcsize(form):
            raise ValueError(f"{value} are not the bits of a {kind}")
        return found
    return struct.pack(form, value)


def _text(text: str) -> bytes:
    data = text.encode("utf-8", "surrogateescape")
    return struct.pack("<Q", len(data)) + data


def without_types(layout: Header, metadata: Mapping[str, str]) -> tuple[Header, dict[str, str]]:
    """Tensors and metadata for a container without ggml types: arrays of bytes, and their types in the metadata."""
    found, types = dict(layout), {}
    for name, (dtype, shape, size) in layout.items():
        if dtype in BLOCKS:
            _, count, of_block = BLOCKS[dtype]
            found[name], types[name] = ("U8", (*shape[:-1], shape[-1] // count * of_block), size), dtype
    others = {key: text for key, text in metadata.items() if key != TYPES_KEY}
    noted = {name: dtype for name, dtype in _noted(metadata).items() if found.get(name, ("",))[0] == "U8"} | types
    return found, others | ({TYPES_KEY: json.dumps(noted)} if noted else {})
