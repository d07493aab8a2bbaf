"""Metadata that mxcast writes into a quantized file: the rules, and the original dtype and shape of each tensor."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ...host.files import parsed_json
from ...host.version import VERSION
from ...models.arrays.source import code_dtype
from ...spec import Encode, Nvfp4Encode
from ...spec.catalogue import excerpt
from ..containers.contents import DTYPES, Contents, Header, Stored
from ..convert.tiles import codes_and_scales_shapes

KEY = "mxcast"
"""The key of these metadata in `.safetensors`, and the name of an array in `.npz`."""


def code_name(numerics: Encode | Nvfp4Encode) -> str:
    """The safetensors name of the dtype of codes."""
    return "U8" if code_dtype(numerics.block.element).itemsize == 1 else "U16"


def described(
    numerics: Encode | Nvfp4Encode,
    profile: str | None,
    tensors: Mapping[str, tuple[str, tuple[int, ...]]],
    more: Mapping[str, object] | None = None,
) -> dict[str, str]:
    """The metadata of a quantized file: the rules, and the dtype and shape of each quantized tensor."""
    about = {
        "version": VERSION,
        "profile": profile,
        "numerics": numerics.to_dict(),
        **(more or {}),
        "tensors": {name: {"dtype": dtype, "shape": shape} for name, (dtype, shape) in tensors.items()},
    }
    return {KEY: json.dumps(about)}


class Parts(NamedTuple):
    """The arrays of one quantized tensor in a file."""

    codes: Stored
    scales: Stored
    tensor_scale: np.ndarray | None
    """A float32 scalar array; None for block formats without tensor scale."""


def part_names(name: str, path: Path, numerics: Encode | Nvfp4Encode, count: int) -> tuple[str, ...]:
    """Names of the codes, the scales and the tensor scale of a tensor in a file with ``count`` quantized tensors. A
    `.npz` file with one tensor does not use its name.
    """
    names: tuple[str, ...] = "codes", "scales", "tensor_scale"
    if path.suffix != ".npz" or count != 1:
        names = name, f"{name}.scales", f"{name}.tensor_scale"
    return names if has_tensor_scale(numerics) else names[:2]


def part_layout(shape: tuple[int, ...], numerics: Encode | Nvfp4Encode) -> tuple[tuple[str, tuple[int, ...]], ...]:
    """Dtype and shape of each array in which a tensor is stored."""
    codes, scales = codes_and_scales_shapes(shape, numerics.block_size)
    return (code_name(numerics), codes), ("U8", scales), *([("F32", ())] if has_tensor_scale(numerics) else [])


def has_tensor_scale(numerics: Encode | Nvfp4Encode) -> bool:
    return numerics.block.tensor_scale is not None


def stored_parts(
    path: Path, contents: Contents, numerics: Encode | Nvfp4Encode, shapes: Mapping[str, tuple[int, ...]], name: str
) -> Parts:
    """The parts of a tensor; ``shapes`` has all tensors of the file. Raises ValueError unless they fit the metadata."""
    found = []
    names = part_names(name, path, numerics, len(shapes))
    for part, (dtype, wanted) in zip(names, part_layout(shapes[name], numerics)):
        stored = contents.tensors.get(part)
        if stored is None or stored.dtype != dtype or stored.shape != wanted:
            raise ValueError(f"{path} has no {dtype} tensor {part!r} of shape {wanted}, which its metadata declare")
        found.append(stored)
    tensor_scale = np.array(found[2].data, np.float32).reshape(()) if len(found) > 2 else None
    return Parts(found[0], found[1], tensor_scale)


def about(path: Path, contents: Contents) -> tuple[Encode | Nvfp4Encode, dict[str, tuple[int, ...]]]:
    """Numerics and original shapes by name, from the metadata of a quantized file."""
    if KEY not in contents.metadata:
        raise ValueError(
            f"{path} was not written by mxcast quantize: it has no {KEY!r} metadata; --from names its layout, and "
            "mxcast inspect finds it"
        )
    try:
        found = _object("the document", parsed_json(contents.metadata[KEY]))
        tensors = _object("tensors", found.get("tensors"))
        if not tensors:
            raise ValueError("tensors must name one tensor or more")
        shapes = {
            name: _shape(name, _object(f"tensor {name!r}", tensor).get("shape")) for name, tensor in tensors.items()
        }
        return numerics_of(_object("numerics", found.get("numerics"))), shapes
    except (ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError) as error:
        raise ValueError(f"{path} has damaged {KEY!r} metadata: {error}") from None


def numerics_of(rules: Mapping[str, object]) -> Encode | Nvfp4Encode:
    """The operation that wrote its rules with `to_dict`."""
    return (Nvfp4Encode if rules.get("operation") == Nvfp4Encode.name else Encode).from_dict(rules)


def _object(what: str, value: object) -> dict[str, object]:
    if not isinstance(value, dict):
        raise ValueError(f"{what} must be an object of JSON, not {excerpt(value)}")
    return value


def _shape(name: str, shape: object) -> tuple[int, ...]:
    """The shape of a quantized tensor, which has at least one axis."""
    if not isinstance(shape, list) or not shape or not all(type(length) is int and length >= 0 for length in shape):
        raise ValueError(f"the shape of tensor {name!r} must be a list of whole numbers, not {excerpt(shape)}")
    return tuple(shape)


def layout_of(made: Mapping[str, tuple[str, tuple[int, ...]]], copied: Mapping[str, Stored]) -> Header:
    """The header of a new file with copied tensors and new ones."""
    layout = {name: (stored.dtype, stored.shape, stored.data.nbytes) for name, stored in copied.items()}
    for name, (dtype, shape) in made.items():
        layout[name] = (dtype, shape, math.prod(shape) * DTYPES[dtype].itemsize)
    return widest_first(layout)


def widest_first(header: Header) -> Header:
    """Sort tensors of wide elements first, so that all are aligned."""
    return dict(sorted(header.items(), key=lambda item: -(item[1][2] // max(math.prod(item[1][1]), 1))))
