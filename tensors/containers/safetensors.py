"""`.safetensors`: eight bytes with the length of a header, the header in JSON, and the data of all tensors.

This module makes all checks of the library safetensors 0.8.0. A key that occurs twice is refused, as the description of
the format requires; the library takes the last one.
"""

from __future__ import annotations

import json
import mmap
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Never, TypeGuard

import numpy as np

from ...host.files import parsed_json
from ...spec.catalogue import excerpt
from .contents import DTYPES, Contents, Header, Stored, whole

METADATA = "__metadata__"
"""The key of a header that names no tensor."""
MOST_HEADER = 100_000_000
"""Bytes of the longest header that the library reads."""
NUMBERS = (
    *("U8", "U16", "U32", "U64", "I8", "I16", "I32", "I64", "F16", "BF16", "F32", "F64", "C64"),
    *("F4", "F6_E2M3", "F6_E3M2", "F8_E5M2", "F8_E4M3", "F8_E8M0", "F8_E4M3FNUZ", "F8_E5M2FNUZ"),
)
BITS = {"BOOL": 8} | {name: int(re.findall(r"\d+", name)[0]) for name in NUMBERS}
"""Bits of an element of each dtype. Shapes count elements, even if several share a byte."""


def read_safetensors(path: Path) -> Contents:
    """Open a file. Raises ValueError for a damaged one."""
    with whole(path), open(path, "rb") as file:
        size = os.fstat(file.fileno()).st_size
        length = int.from_bytes(file.read(8), "little")
        start = 8 + length
        if size < 8:
            raise ValueError(f"it has {size} bytes, and the length of its header takes 8")
        if length > MOST_HEADER:
            raise ValueError(f"its header has {length} bytes, and {MOST_HEADER} are the most")
        if start > size:
            raise ValueError(f"its header has {length} bytes, and {size - 8} follow")
        header = _parsed(file.read(length))
        mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    metadata: object = header.pop(METADATA, None) or {}
    with whole(path):
        if not isinstance(metadata, dict) or not all(isinstance(text, str) for text in metadata.values()):
            raise ValueError("its metadata are not texts by name")
        data, tensors = np.frombuffer(mapped, np.uint8)[start:], {}
        end = 0
        for name, entry in sorted(_entries(header), key=lambda item: item[1][2]):
            dtype, shape, (first, last) = entry
            if first != end:
                raise ValueError(f"the data of tensor {excerpt(name)} begin at {first}, and those before end at {end}")
            end = last
            if _elements(shape) * BITS[dtype] != 8 * (last - first):
                raise ValueError(
                    f"tensor {excerpt(name)}, {dtype} of shape {excerpt(shape)}, has data of {last - first} bytes"
                )
            raw = data[first:last]
            tensors[name] = Stored(
                dtype=dtype, shape=shape, map=mapped, data=raw.view(DTYPES.get(dtype, np.dtype(np.uint8)))
            )
        if end != len(data):
            raise ValueError(f"its tensors have {end} bytes, and {len(data)} follow its header")
    return Contents(tensors=tensors, metadata=metadata)


def _parsed(header: bytes) -> dict[str, object]:
    """The object in a header. Raises ValueError for a header that JSON or the library does not accept."""
    try:
        text = header.decode()
        found = parsed_json(text, object_pairs_hook=_without_repetition, parse_constant=_no_number)
    except UnicodeDecodeError as error:
        raise ValueError(f"its header is not UTF-8: {error}") from None
    if not isinstance(found, dict):
        raise ValueError("its header must be an object of JSON")
    if "\\" in text:
        json.dumps(found, ensure_ascii=False).encode()  # raises for half a pair of surrogates
    return found


def _without_repetition(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found: dict[str, object] = {}
    for name, value in pairs:
        if name in found:
            raise TypeError(f"its header has the name {excerpt(name)} twice")
        found[name] = value
    return found


def _no_number(text: str) -> Never:
    raise TypeError(f"its header has {text}, which is not JSON")


def _entries(header: dict[str, object]) -> list[tuple[str, tuple[str, tuple[int, ...], tuple[int, int]]]]:
    """Name, dtype, shape and offsets of each tensor. Raises ValueError for other entries."""
    found = []
    for name, entry in header.items():
        fields: dict[str, object] = entry if isinstance(entry, dict) else {}
        dtype, shape, offsets = fields.get("dtype"), fields.get("shape", ""), fields.get("data_offsets", "")
        if not (isinstance(dtype, str) and _are_sizes(shape) and _are_sizes(offsets) and len(offsets) == 2):
            raise ValueError(
                f"tensor {excerpt(name)} must have a dtype, a shape and data_offsets, not {excerpt(entry)}"
            )
        if dtype not in BITS:
            raise ValueError(f"tensor {excerpt(name)} has the unknown dtype {excerpt(dtype)}")
        found.append((name, (dtype, tuple(shape), (offsets[0], offsets[1]))))
    return found


def _elements(shape: tuple[int, ...]) -> int:
    """Elements of a tensor; some number above 64 bits if there are more."""
    count = 1
    for length in shape:
        if (count := count * length) >> 64:
            break
    return count


def _are_sizes(value: object) -> TypeGuard[list[int]]:
    return isinstance(value, list) and all(type(size) is int and 0 <= size < 1 << 64 for size in value)


def safetensors_header(layout: Header, metadata: Mapping[str, str]) -> bytes:
    """The bytes before the data. Raises ValueError for names and texts that are not UTF-8, and for a header that the
    library would not read.
    """
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
        if dtype not in BITS:
            raise ValueError(f"tensor {name!r} is {dtype}, which a .safetensors file cannot hold")
        entries[name] = {"dtype": dtype, "shape": shape, "data_offsets": (offset, offset + count)}
        offset += count
    header = json.dumps(entries, separators=(",", ":"), ensure_ascii=False).encode()
    header += b" " * (-len(header) % 8)  # data start aligned
    if len(header) > MOST_HEADER:
        raise ValueError(f"a .safetensors file has a header of {MOST_HEADER} bytes at most, not {len(header)}")
    return len(header).to_bytes(8, "little") + header


def _is_text(text: str) -> bool:
    """Can a text be written as UTF-8? A file name of other bytes cannot."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
