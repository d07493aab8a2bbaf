"""Descriptions of quantized tensors that libraries need: metadata of the file for torchao, an array for ComfyUI.

Sources: torchao 0.18.0, prototype/safetensors/safetensors_support.py; ComfyUI, comfy/float.py.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Collection, Iterable, Mapping
from functools import lru_cache
from typing import Any

import numpy as np

from ...host.files import parsed_json
from ...spec import E4M3
from ...spec.catalogue import entry
from ...spec.layouts.catalogue import Layout, Part, ScaleOrder
from ...spec.layouts.scaled import AnyLayout, ScaledLayout, layouts_of

TORCHAO = ("torchao", "torchao_swizzled")
NAMES = "tensor_names"
"""The key of torchao's metadata with the names of all tensors. Each name is a key too."""
DTYPES = {"mxfp4_e2m1": "float4_e2m1fn_x2", "mxfp8_e4m3": "float8_e4m3fn", "mxfp8_e5m2": "float8_e5m2"}
"""Names of elements in torch."""
OF_SIX_BITS = {"mxfp6_e2m3": "fp6_e2m3", "mxfp6_e3m2": "fp6_e3m2"}
"""Names in torchao of elements that torch does not have."""
COMFY = Part(name="{module}comfy_quant", dtype="U8")
"""ComfyUI's description of a layer: JSON as bytes."""
SHAPES = "mxcast_shapes"
"""The key of mxcast's metadata with the shapes of tensors whose rows a layout pads."""
LAID_OUT = "mxcast_layouts"
"""The key of mxcast's metadata with the tensors of each layout: several layouts have arrays of the same names and
dtypes."""


def metadata_after(
    metadata: Mapping[str, str],
    before: Mapping[str, AnyLayout],
    after: Mapping[str, AnyLayout],
    shapes: Mapping[str, tuple[int, ...]],
    copied: Collection[str],
    is_native: bool,
) -> dict[str, str]:
    """The metadata of a file after a conversion.

    Parameters
    ----------
    metadata : the metadata before the conversion
    before, after : the layouts of the quantized tensors before and after it
    shapes : the shapes of the codes
    copied : the names of the copied arrays
    is_native : the container has types for quantized tensors
    """
    found = {key: text for key, text in metadata.items() if key not in (SHAPES, LAID_OUT)}
    if after and not is_native:
        names: dict[str, list[str]] = {}
        for name, layout in after.items():
            names.setdefault(layout.full_name, []).append(name)
        found[LAID_OUT] = json.dumps(names)
    laid = {name: layout for name, layout in after.items() if isinstance(layout, Layout)}
    completed = {name: shapes[name] for name, layout in laid.items() if shapes[name][-2:][0] % layout.padding[0]}
    if completed:
        found[SHAPES] = json.dumps(completed)
    known: dict[str, dict[str, object]] = {}
    if any(layout.dialect in TORCHAO for layout in before.values()):
        known = {name: _object(found.pop(name, "")) for name in _names(found.pop(NAMES, ""))}
    theirs = {name: layout for name, layout in laid.items() if layout.dialect in TORCHAO}
    if theirs:
        # torchao takes a tensor for one of a module, so its name must have a dot
        plain = [name for name in copied if "." in name]
        found[NAMES] = json.dumps([*theirs, *plain])
        found |= {name: json.dumps(_entry(layout, known.get(name))) for name, layout in theirs.items()}
        found |= dict.fromkeys(plain, json.dumps({"_type": "Tensor"}))
    return found


def declared_shape(metadata: Mapping[str, str], tensor: str) -> tuple[int, ...] | None:
    """The shape of the codes of a tensor before its rows were padded; None if the file does not declare it."""
    found = _parsed(metadata.get(SHAPES, ""))
    shape = found.get(tensor) if isinstance(found, dict) else None
    if isinstance(shape, list) and all(type(length) is int and length >= 0 for length in shape):
        return tuple(shape)
    return None


def merged(metadata: Iterable[Mapping[str, str]]) -> dict[str, str]:
    """The metadata of several files as one, with the tensors of all of them."""
    found: dict[str, str] = {}
    for one in metadata:
        both = {
            key: (_parsed(found[key]), _parsed(one[key]))
            for key in (NAMES, SHAPES, LAID_OUT)
            if key in found and key in one
        }
        found |= one
        for key, (first, second) in both.items():
            if isinstance(first, list) and isinstance(second, list):
                found[key] = json.dumps([*first, *second])
            elif isinstance(first, dict) and isinstance(second, dict):
                lists = {name: [*first.get(name, []), *second.get(name, [])] for name in {**first, **second}}
                found[key] = json.dumps(lists if key == LAID_OUT else first | second)
    return found


def declared_layouts(metadata: Mapping[str, str]) -> Mapping[str, AnyLayout]:
    """The layouts of the tensors of a file, if mxcast wrote it."""
    return _laid_out(metadata.get(LAID_OUT, ""))


@lru_cache(maxsize=4)
def _laid_out(text: str) -> Mapping[str, AnyLayout]:
    said = _parsed(text)
    found: dict[str, AnyLayout] = {}
    for layout, names in said.items() if isinstance(said, dict) else ():
        with contextlib.suppress(ValueError):  # an unknown layout
            known = layouts_of(layout) if ":" in layout and isinstance(names, list) else []
            found |= {name: one for one in known for name in names if isinstance(name, str)}
    return found


def _parsed(text: str) -> Any:
    """The document in a text of JSON, or None."""
    try:
        return parsed_json(text)
    except (ValueError, RecursionError):
        return None


def _names(text: str) -> list[str]:
    names = _parsed(text)
    return [name for name in names if isinstance(name, str)] if isinstance(names, list) else []


def _object(text: str) -> dict[str, object]:
    found = _parsed(text)
    return found if isinstance(found, dict) and isinstance(found.get("_data"), dict) else {}


def _entry(layout: Layout, known: dict[str, object] | None) -> dict[str, object]:
    """The metadata of torchao for a tensor, as they were before; or else for a tensor of float32 numbers."""
    is_swizzled = layout.order is ScaleOrder.TILES_128X4
    if known:
        return known | {"_data": entry(known, "_data", dict) | {"is_swizzled_scales": is_swizzled}}
    common = {
        "block_size": layout.width,
        "orig_dtype": {"_type": "torch.dtype", "_data": "float32"},
        "act_quant_kwargs": None,
        "is_swizzled_scales": is_swizzled,
    }
    if layout.tensor_scale is not None:
        parts = ["per_tensor_scale", "qdata", "scale"]
        return {"_type": "NVFP4Tensor", "_data": common | {"use_triton_kernel": False}, "_tensor_data_names": parts}
    dtype: object = OF_SIX_BITS.get(layout.block)
    if dtype is None:
        dtype = {"_type": "torch.dtype", "_data": DTYPES[layout.block]}
    of_mx = {"elem_dtype": dtype, "kernel_preference": {"_type": "KernelPreference", "_data": "EMULATED"}}
    return {"_type": "MXTensor", "_data": common | of_mx, "_tensor_data_names": ["qdata", "scale"]}


def comfy_description(layout: AnyLayout, tensor: str) -> dict[str, np.ndarray]:
    """The array `COMFY` of a tensor, by its name; empty for layouts without one."""
    if isinstance(layout, ScaledLayout):
        format = f"float8_{layout.element.name}" + "fn" * (layout.element == E4M3)
    else:
        format = layout.block if layout.tensor_scale is not None else ""
    if layout.dialect != "comfy" or not format:
        return {}
    return {COMFY.of(tensor): np.frombuffer(json.dumps({"format": format}).encode(), np.uint8)}


def comfy_names(tensors: Mapping[str, AnyLayout]) -> set[str]:
    """The names of these arrays for some tensors."""
    return {COMFY.of(tensor) for tensor, layout in tensors.items() if layout.dialect == "comfy"}
