"""Files in the layouts of libraries, made of real weights."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
from safetensors.numpy import load_file

import mxcast.data
from mxcast.models import BlockArray, pack, quantize, quantize_nvfp4
from mxcast.spec import LAYOUTS, BlockFormat
from mxcast.spec.layouts.catalogue import Layout
from mxcast.tensors.containers.containers import written

SAMPLE = load_file(Path(mxcast.data.__file__).parent / "minilm_sample.safetensors")
WEIGHTS = SAMPLE["encoder.layer.3.intermediate.dense.weight.rows0_128"]
"""(128, 384) float32."""
NORM = SAMPLE["encoder.layer.2.output.LayerNorm.weight"]
"""(384,) float32, a weight for each column of these: the normalisation in front, of the layer before."""
NAME = "model.layers.0.mlp.gate_proj.weight"
EVERY = [layout for layouts in LAYOUTS.values() for layout in layouts.values()]
PROFILES = {"multiplier": "nvfp4_ao", "divisor": "nvfp4_compressed_tensors", "amax": "nvfp4_te"}
"""Profiles of NVFP4 by their convention of the tensor scale."""


@cache
def _quantized(block: str, axis: int, convention: str, rows: int, factor: float) -> BlockArray:
    x = WEIGHTS[:rows] * np.float32(factor)
    x = x if axis == -1 else np.ascontiguousarray(x.T)
    if convention == "none":
        return quantize(x, block, axis=axis)
    return quantize_nvfp4(x, block, PROFILES[convention], axis=axis)


def quantized(layout: Layout, *, rows: int = 128, factor: float = 1) -> BlockArray:
    """Some rows of the weights, quantized for a layout. The arrays are shared: do not write to them."""
    return _quantized(layout.block, layout.axis, str(layout.convention), rows, factor)


def with_scales(q: BlockArray, scales: np.ndarray, block: BlockFormat | None = None) -> BlockArray:
    """The same codes with other scales."""
    return BlockArray(codes=q.codes, scales=scales, block=block or q.block, axis=q.axis, tensor_scale=q.tensor_scale)


def stored(layout: Layout, q: BlockArray, name: str = NAME) -> dict[str, np.ndarray]:
    """The arrays of `pack`, even for scales that readers of the layout misread."""
    return pack(q, replace(layout, reads_otherwise=()), name=name)


def write(
    path: Path,
    layout: Layout,
    arrays: Mapping[str, np.ndarray],
    *,
    names: Sequence[str] = (NAME,),
    dtypes: Mapping[str, str] | None = None,
    metadata: Mapping[str, str] | None = None,
    norm: np.ndarray = NORM,
) -> Path:
    """A file of the stored arrays of some tensors, and of the weights of a normalisation.

    ``dtypes`` replace the dtypes of the layout, by the name of the array.
    """
    known = {part.of(name): part.dtype for name in names for part in layout.parts} | dict(dtypes or {})
    tensors = dict(arrays) | {"norm": norm}
    header = {name: (known.get(name, "F32"), data.shape, data.nbytes) for name, data in tensors.items()}
    with written(path, header, metadata or {}) as into:
        for name, data in tensors.items():
            into(name, 0, data)
    return path


ITEMS = {"F32": 4, "F16": 2, "BF16": 2, "I32": 4, "U32": 4, "F64": 8, "I64": 8, "I16": 2}
"""Bytes of the elements that have more than one; F4 has half a byte."""


def filled(dtype: str, *shape: int, byte: int = 0x38) -> tuple[str, tuple[int, ...], np.ndarray]:
    """An array of a dtype and shape, for `write_raw`, with the same byte everywhere: 1 as E4M3, 0x38 = 56."""
    count = math.prod(shape) * ITEMS.get(dtype, 1) // (2 if dtype == "F4" else 1)
    return dtype, shape, np.full(count, byte, np.uint8)


def write_raw(
    path: Path, arrays: Mapping[str, tuple[str, tuple[int, ...], np.ndarray]], metadata: Mapping[str, str] | None = None
) -> Path:
    """A file of arrays, each with its dtype, shape and data."""
    path.parent.mkdir(exist_ok=True, parents=True)
    header = {name: (dtype, shape, data.nbytes) for name, (dtype, shape, data) in arrays.items()}
    with written(path, header, metadata or {}) as into:
        for name, (_, _, data) in arrays.items():
            into(name, 0, np.ascontiguousarray(data).reshape(-1))
    return path
