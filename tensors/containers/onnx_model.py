"""`.onnx`: the initializers of an ONNX model, through the package onnx. Nodes are not read.

Two elements of four bits share a byte, the first one low; four elements of six bits share three bytes, little-endian
(``raw_data`` of onnx.proto).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from ...host.errors import ToolMissing
from .contents import DTYPES, Contents, Header, Stored, whole
from .safetensors import BITS

TYPES = {
    "BOOL": "BOOL",
    "F4": "FLOAT4E2M1",
    "F6_E2M3": "FLOAT6E2M3",
    "F6_E3M2": "FLOAT6E3M2",
    "U8": "UINT8",
    "I8": "INT8",
    "F8_E5M2": "FLOAT8E5M2",
    "F8_E4M3": "FLOAT8E4M3FN",
    "F8_E8M0": "FLOAT8E8M0",
    "F8_E4M3FNUZ": "FLOAT8E4M3FNUZ",
    "F8_E5M2FNUZ": "FLOAT8E5M2FNUZ",
    "I16": "INT16",
    "U16": "UINT16",
    "F16": "FLOAT16",
    "BF16": "BFLOAT16",
    "I32": "INT32",
    "U32": "UINT32",
    "F32": "FLOAT",
    "C64": "COMPLEX64",
    "F64": "DOUBLE",
    "I64": "INT64",
    "U64": "UINT64",
}
"""Names of dtypes in ONNX."""
MOST = (1 << 31) - 1
"""Bytes of a message of Protocol Buffers."""


def _onnx() -> Any:
    try:
        import onnx
    except ImportError:
        raise ToolMissing("onnx is missing: pip install '.[files]' in a checkout of mxcast") from None
    return onnx


def read_onnx(path: Path) -> Contents:
    """The initializers of a model, and its metadata_props. All of the file is in memory.

    Raises ValueError for a damaged file, and `ToolMissing` without the package.
    """
    onnx = _onnx()
    names = {getattr(onnx.TensorProto, kind): dtype for dtype, kind in TYPES.items() if hasattr(onnx.TensorProto, kind)}
    tensors: dict[str, Stored] = {}
    with whole(path):
        try:
            model = onnx.load(path)
        except OSError:
            raise
        except Exception as error:  # Protocol Buffers and the checker have no narrower class
            raise ValueError(error) from None
        if not model.HasField("graph"):
            raise ValueError("it has no graph")
        for one in model.graph.initializer:
            if one.name in tensors:
                raise ValueError(f"it has the tensor {one.name!r} twice")
            dtype = names.get(one.data_type)
            if dtype is None:
                kinds = onnx.TensorProto.DataType
                kind = kinds.Name(one.data_type) if one.data_type in kinds.values() else str(one.data_type)
                raise ValueError(f"tensor {one.name!r} is of the type {kind}, which is not read")
            shape = tuple(one.dims)
            data = one.raw_data if one.HasField("raw_data") else _packed(dtype, onnx.numpy_helper.to_array(one))
            if min(shape, default=0) < 0 or len(data) != -(-math.prod(shape) * BITS[dtype] // 8):
                raise ValueError(f"tensor {one.name!r}, {dtype} of shape {shape}, has data of {len(data)} bytes")
            numbers = np.frombuffer(data, DTYPES.get(dtype, np.dtype(np.uint8)))
            tensors[one.name] = Stored(dtype=dtype, shape=shape, data=numbers)
    return Contents(tensors=tensors, metadata={one.key: one.value for one in model.metadata_props})


def _packed(dtype: str, array: np.ndarray) -> bytes:
    """The bytes of an array with one number in each entry."""
    bits = BITS[dtype]
    if bits >= 8:
        return array.astype(array.dtype.newbyteorder("<")).tobytes()
    codes = np.unpackbits(array.reshape(-1, 1).view(np.uint8), axis=1, count=bits, bitorder="little")
    return np.packbits(codes, bitorder="little").tobytes()


def check_onnx(layout: Header) -> None:
    """Raise ValueError for tensors that a model cannot hold, and `ToolMissing` without the package."""
    onnx = _onnx()
    for name, (dtype, _, _) in layout.items():
        if not hasattr(onnx.TensorProto, TYPES.get(dtype, "")):
            raise ValueError(f"tensor {name!r} is {dtype}, which onnx {onnx.__version__} cannot hold")
    if (size := sum(count for _, _, count in layout.values())) > MOST:
        raise ValueError(f"a .onnx file has {MOST} bytes at most, and these tensors have {size}")


def write_onnx(file: BinaryIO, layout: Header, data: Mapping[str, np.ndarray], metadata: Mapping[str, str]) -> None:
    """Write a model without nodes; ``data`` has the bytes of its tensors. Raises ValueError if it is too large."""
    onnx = _onnx()
    graph = onnx.GraphProto(name="tensors")
    for name, (dtype, shape, _) in layout.items():
        kind = getattr(onnx.TensorProto, TYPES[dtype])
        graph.initializer.append(onnx.TensorProto(name=name, dims=shape, data_type=kind, raw_data=data[name].tobytes()))
    model = onnx.helper.make_model(graph, producer_name="mxcast")
    model.metadata_props.extend(onnx.StringStringEntryProto(key=key, value=text) for key, text in metadata.items())
    try:
        file.write(model.SerializeToString(deterministic=True))
    except ValueError as error:  # names and metadata make it larger than its tensors
        raise ValueError(f"a .onnx file has {MOST} bytes at most: {error}") from None
