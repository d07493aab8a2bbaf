"""What the configuration of a model says of its quantized weights: in `config.json`, and of ModelOpt in
`hf_quant_config.json` too.

Of each dialect only the fields are written that say how weights are stored; activations are not quantized.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from ..host.files import parsed_json
from ..spec import LAYOUTS
from ..spec.catalogue import excerpt
from ..spec.layouts import Layout

__all__ = ["CONFIG", "HF_QUANT_CONFIG", "UnknownQuantization", "configured", "stored_as"]

CONFIG, HF_QUANT_CONFIG = "config.json", "hf_quant_config.json"
SECTION = "quantization_config"
Document = dict[str, Any]

COMPRESSED = {
    "mxfp4-pack-quantized": "mxfp4_e2m1",
    "mxfp6-pack-quantized": "mxfp6_e2m3",
    "mxfp8-quantized": "mxfp8_e4m3",
    "nvfp4-pack-quantized": "nvfp4",
}
"""Block formats by their ``format`` in compressed-tensors 0.20.0."""
MODELOPT = {"W4A16_NVFP4": "nvfp4", "NVFP4": "nvfp4", "NVFP4_AWQ": "nvfp4", "MXFP8": "mxfp8_e4m3"}
"""Block formats by their ``quant_algo``; the first one of each is written."""
QUARK = {"fp4": "mxfp4_e2m1", "fp6_e3m2": "mxfp6_e3m2", "fp6_e2m3": "mxfp6_e2m3"}
"""Block formats by the ``dtype`` of weights in AMD Quark."""


class UnknownQuantization(ValueError):
    """A configuration speaks of a quantization that is not known here."""


def stored_as(folder: Path) -> Layout | None:
    """The layout that the configuration of a model speaks of, if it speaks of one.

    Raises ValueError for one that is damaged, for a quantization that no layout here is, and where two documents do not
    agree.
    """
    of_modelopt = folder / HF_QUANT_CONFIG
    section = _document(folder / CONFIG).get(SECTION)
    first = None if section is None else _said(folder / CONFIG, _object(folder / CONFIG, section))
    section = _document(of_modelopt).get("quantization")
    if section is None:
        return first
    second = _said(of_modelopt, {"quant_method": "modelopt"} | _object(of_modelopt, section))
    if first is not None and first != second:
        raise ValueError(f"{folder / CONFIG} speaks of the layout {first.name}, and {HF_QUANT_CONFIG} of {second.name}")
    return second


def _said(path: Path, section: Document) -> Layout:
    """The layout that a section speaks of. Raises ValueError for one that is not known here."""
    method = section.get("quant_method")
    dialect, found = READERS[method](section) if isinstance(method, str) and method in READERS else (None, method)
    if dialect is None or found not in LAYOUTS[dialect]:
        raise UnknownQuantization(f"{path} speaks of a quantization that is not known here: {excerpt(found)}")
    return LAYOUTS[dialect][found]


def _document(path: Path) -> Document:
    if not path.exists():
        return {}
    try:
        return _object(path, parsed_json(path.read_text()))
    except (json.JSONDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ValueError(f"{path} is not JSON: {error}") from None


def _object(path: Path, value: object) -> Document:
    if not isinstance(value, dict):
        raise ValueError(f"{path} must have objects of JSON, not {excerpt(value)}")
    return value


Found = tuple[str | None, Any]
"""A dialect and its block format; None and what was found instead."""


def _known(dialect: str, blocks: dict[str, str], name: object) -> Found:
    return (dialect, blocks[name]) if isinstance(name, str) and name in blocks else (None, name)


def _of_quark(section: Document) -> Found:
    everywhere = section.get("global_quant_config")
    weight = everywhere.get("weight") if isinstance(everywhere, dict) else None
    if not isinstance(weight, dict) or (weight.get("group_size"), weight.get("scale_format")) != (32, "e8m0"):
        return None, weight
    return _known("quark", QUARK, weight.get("dtype"))


READERS: dict[str, Callable[[Document], Found]] = {
    "mxfp4": lambda section: ("gpt_oss", "mxfp4_e2m1"),
    "compressed-tensors": lambda section: _known("compressed_tensors", COMPRESSED, section.get("format")),
    "modelopt": lambda section: _known("modelopt", MODELOPT, section.get("quant_algo")),
    "quark": _of_quark,
}
"""By ``quant_method``."""


def configured(folder: Path, layout: Layout | None, others: Sequence[str]) -> dict[str, Document]:
    """The documents of a model whose weights now have a layout, or are not quantized, by name. ``others`` are the
    modules with weights that are not quantized.
    """
    documents = {CONFIG: _document(folder / CONFIG)}
    documents[CONFIG].pop(SECTION, None)
    if layout is not None and layout.dialect in WRITERS:
        documents[CONFIG][SECTION] = WRITERS[layout.dialect](layout, list(others))
    if layout is not None and layout.dialect == "modelopt":
        about = documents[CONFIG][SECTION]
        documents[HF_QUANT_CONFIG] = {
            "producer": about["producer"],
            "quantization": {
                "quant_algo": about["quant_algo"],
                "kv_cache_quant_algo": None,
                "group_size": layout.width,
                "exclude_modules": list(others),
            },
        }
    return documents


def _name_of(blocks: dict[str, str], layout: Layout) -> str:
    return next(name for name, block in blocks.items() if block == layout.block)


def _for_gpt_oss(layout: Layout, others: list[str]) -> Document:
    return {"quant_method": "mxfp4", "modules_to_not_convert": others}


def _for_compressed_tensors(layout: Layout, others: list[str]) -> Document:
    name, is_two_level = _name_of(COMPRESSED, layout), layout.tensor_scale is not None
    weights = {
        "num_bits": layout.element_bits,
        "type": "float",
        "symmetric": True,
        "dynamic": False,
        "strategy": "tensor_group" if is_two_level else "group",
        "group_size": layout.width,
        "scale_dtype": "torch.float8_e4m3fn" if is_two_level else "torch.uint8",
    }
    return {
        "quant_method": "compressed-tensors",
        "format": name,
        "quantization_status": "compressed",
        "config_groups": {"group_0": {"targets": ["Linear"], "weights": weights, "format": name}},
        "ignore": others,
    }


def _for_modelopt(layout: Layout, others: list[str]) -> Document:
    weights = {"num_bits": layout.element_bits, "type": "float", "dynamic": False, "group_size": layout.width}
    return {
        "quant_method": "modelopt",
        "quant_algo": _name_of(MODELOPT, layout),
        "config_groups": {"group_0": {"targets": ["Linear"], "weights": weights}},
        "ignore": others,
        "producer": {"name": "mxcast", "version": version("mxcast")},
    }


def _for_quark(layout: Layout, others: list[str]) -> Document:
    weight = {
        "dtype": _name_of(QUARK, layout),
        "qscheme": "per_group",
        "group_size": layout.width,
        "ch_axis": layout.axis,
        "scale_format": "e8m0",
        "is_dynamic": False,
    }
    return {"quant_method": "quark", "global_quant_config": {"weight": weight}, "exclude": others}


WRITERS: dict[str, Callable[[Layout, list[str]], Document]] = {
    "gpt_oss": _for_gpt_oss,
    "compressed_tensors": _for_compressed_tensors,
    "modelopt": _for_modelopt,
    "quark": _for_quark,
}
"""The section of each dialect that has one. gpt_oss: transformers, Mxfp4Config; compressed_tensors: compressed-tensors
0.20.0, QuantizationConfig; modelopt and quark: what vLLM reads; 2026-11.
"""
