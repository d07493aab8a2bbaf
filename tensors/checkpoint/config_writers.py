"""The configuration of a model whose weights now have other layouts, or are numbers.

Only the fields are written that say how weights are stored, and what the old configuration says about the scales of the
cache of keys and values; activations are not quantized.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path

from ...spec.layouts.catalogue import Layout
from ...spec.layouts.scaled import AnyLayout, Grain, ScaledLayout, grain_of
from .model_config import (
    COMPRESSED,
    CONFIG,
    HF_QUANT_CONFIG,
    MIXED,
    MODELOPT,
    QUARK,
    SECTION,
    SECTIONS,
    Document,
    document,
    places,
    section_of,
)

Places = Mapping[str, AnyLayout]
"""The layouts of the quantized tensors of a model, by their names."""
EXPERTS = "expert_dtype"
"""The dtype of experts in the configuration of DeepSeek-V4, outside the section."""


def configured(folder: Path, placed: Places, others: Sequence[str]) -> dict[str, Document]:
    """The documents of a model whose quantized tensors now have these layouts, by name; those without a layout are
    numbers. ``others`` are the modules with weights that are not quantized.

    Raises ValueError where no configuration says all of it; the tensors are named.
    """
    documents, section = {CONFIG: document(folder / CONFIG)}, section_of(folder / CONFIG)
    for place in places(documents[CONFIG]):
        for key in SECTIONS:
            place.pop(key, None)
    kv_cache = section.get("kv_cache_scheme") if isinstance(section, dict) else None
    kv_cache = kv_cache or document(folder / HF_QUANT_CONFIG).get("quantization", {}).get("kv_cache_quant_algo")
    dialects = check_described(placed)
    if "deepseek_v4" not in dialects:
        for place in places(documents[CONFIG]):
            place.pop(EXPERTS, None)
    for dialect in dialects & WRITERS.keys():
        documents |= WRITERS[dialect](documents[CONFIG], placed, list(others), kv_cache)
    return documents


def check_described(placed: Places) -> set[str]:
    """The dialects of the quantized tensors of a model. Raises ValueError for tensors that no configuration describes
    together.
    """
    of: dict[str, dict[str, str]] = {}
    for name, layout in placed.items():
        of.setdefault(layout.dialect, {}).setdefault(layout.full_name, name)
    if len(of) > 1:
        names = " and ".join(f"{name!r} {layout}" for one in of.values() for layout, name in one.items())
        raise ValueError(f"no configuration describes {names}: convert all of them, or dequantize")
    for dialect, layouts in of.items():
        scaled = {layout: name for layout, name in layouts.items() if ":fp8_" in layout}
        if scaled and dialect not in (*WRITERS, *MARKED):
            words = " and ".join(f"{name!r} {layout}" for layout, name in scaled.items())
            raise ValueError(f"no configuration describes {words}: choose another layout, or dequantize")
        if len(layouts) > 1 and dialect in WRITERS and dialect not in SEVERAL:
            names = " and ".join(f"{name!r} {layout}" for layout, name in layouts.items())
            raise ValueError(f"no configuration of {dialect} describes {names}: choose another layout, or dequantize")
    return set(of)


def _modules(placed: Places) -> dict[str, list[str]]:
    """The modules of each layout, by its full name."""
    found: dict[str, list[str]] = {}
    for name, layout in placed.items():
        found.setdefault(layout.full_name, []).append(name.removesuffix(".weight"))
    return found


def _names_in(table: Mapping[str, str], layout: AnyLayout) -> list[str]:
    """The names in a table that mean a layout."""
    block = layout.full_name.partition(":")[2]
    return [name for name, one in table.items() if one == block]


def _name_in(table: Mapping[str, str], layout: AnyLayout, name: str) -> str:
    """The first name in a table that means the layout of a tensor. Raises ValueError without one."""
    if names := _names_in(table, layout):
        return names[0]
    raise ValueError(f"no configuration of {layout.dialect} describes {name!r} {layout.full_name}")


def _section(config: Document, section: Document) -> dict[str, Document]:
    return {CONFIG: config | {SECTION: section}}


def _for_gpt_oss(config: Document, placed: Places, others: list[str], kv_cache: object) -> dict[str, Document]:
    return _section(config, {"quant_method": "mxfp4", "modules_to_not_convert": others})


def _for_quark(config: Document, placed: Places, others: list[str], kv_cache: object) -> dict[str, Document]:
    name, layout = next(iter(placed.items()))
    if not isinstance(layout, Layout):
        raise ValueError(f"no configuration of quark describes {name!r} {layout.full_name}")
    weight = {
        "dtype": _name_in(QUARK, layout, name),
        "qscheme": "per_group",
        "group_size": layout.width,
        "ch_axis": layout.axis,
        "scale_format": "e8m0",
        "is_dynamic": False,
    }
    return _section(config, {"quant_method": "quark", "global_quant_config": {"weight": weight}, "exclude": others})


def _for_fp8(config: Document, placed: Places, others: list[str], kv_cache: object) -> dict[str, Document]:
    """DeepSeek-V3 and V4, and FP8 with a scale for each tensor."""
    scaled = {name: layout for name, layout in placed.items() if isinstance(layout, ScaledLayout)}
    elements, sizes = {one.element.name for one in scaled.values()}, {one.tile for one in scaled.values()}
    if len(elements) > 1 or len(sizes) > 1:
        names = " and ".join(f"{name!r} {layout}" for layout, (name, *_) in _modules(scaled).items())
        raise ValueError(f"one configuration of {next(iter(placed.values())).dialect} does not describe {names}")
    section: Document = {"quant_method": "fp8", "fmt": (elements or {"e4m3"}).pop(), "activation_scheme": "dynamic"}
    size = sizes.pop() if sizes else (128, 128)
    if size and all(size):
        section["weight_block_size"] = list(size)
    if any(layout.dialect == "deepseek_v4" for layout in placed.values()):
        section["scale_fmt"] = "ue8m0"
    if len(scaled) < len(placed):
        section[EXPERTS] = "fp4"
    return _section(config, section | {"modules_to_not_convert": others})


def _for_compressed_tensors(
    config: Document, placed: Places, others: list[str], kv_cache: object
) -> dict[str, Document]:
    modules = _modules(placed)
    first = {layout.full_name: layout for layout in placed.values()}
    groups, formats = {}, []
    for number, (full_name, names) in enumerate(modules.items()):
        weights, format = _compressed(first[full_name], names[0])
        rest = [*others, *(name for other, more in modules.items() if other != full_name for name in more)]
        targets = ["Linear"] if len(modules) == 1 else _patterns(names, rest)
        groups[f"group_{number}"] = {"targets": targets, "weights": weights, "format": format}
        formats.append(format)
    section = {
        "quant_method": "compressed-tensors",
        "format": formats[0] if len(set(formats)) == 1 else "mixed-precision",
        "quantization_status": "compressed",
        "config_groups": groups,
        "ignore": others,
    }
    return _section(config, section | ({"kv_cache_scheme": _scheme(kv_cache)} if kv_cache else {}))


def _compressed(layout: AnyLayout, name: str) -> tuple[Document, str]:
    """The weights of a group, and its format."""
    weights: Document = {"num_bits": 8, "type": "float", "symmetric": True, "dynamic": False}
    if isinstance(layout, Layout):
        is_nvfp4 = layout.tensor_scale is not None
        weights |= {
            "num_bits": layout.element_bits,
            "strategy": "tensor_group" if is_nvfp4 else "group",
            "group_size": layout.width,
            "scale_dtype": "torch.float8_e4m3fn" if is_nvfp4 else "torch.uint8",
        }
        return weights, _name_in(COMPRESSED, layout, name)
    if layout.element.name != "e4m3" or layout.tile is None:
        raise ValueError(f"no configuration of compressed-tensors describes {name!r} {layout.full_name}")
    grain = grain_of(layout.tile)
    weights["strategy"] = "channel" if grain is Grain.ROW else str(grain)
    if grain is Grain.GROUP:
        weights["group_size"] = layout.tile[1]
    if grain is Grain.BLOCK:
        weights["block_structure"] = list(layout.tile)
    return weights, "float-quantized"


def _patterns(names: Sequence[str], others: Collection[str]) -> list[str]:
    """Targets for these modules and for none of the others: expressions with any number in the place of numbers."""
    of: dict[str, list[str]] = {}
    for name in names:
        of.setdefault(re.sub(r"\d+", r"\\d+", re.escape(name)), []).append(name)
    taken = {re.sub(r"\d+", r"\\d+", re.escape(name)) for name in others}
    found: list[str] = []
    for pattern, own in of.items():
        found += own if pattern in taken or len(own) == 1 else [f"re:{pattern}$"]
    return found


def _for_modelopt(config: Document, placed: Places, others: list[str], kv_cache: object) -> dict[str, Document]:
    modules = _modules(placed)
    first = {layout.full_name: layout for layout in placed.values()}
    algorithms = {full_name: _name_in(MODELOPT, first[full_name], names[0]) for full_name, names in modules.items()}
    groups: Document = {}
    layers: dict[str, Document] = {}
    for number, (full_name, names) in enumerate(modules.items()):
        layout = first[full_name]
        weights: Document = {"num_bits": 8, "type": "float", "dynamic": False}
        if isinstance(layout, Layout):
            weights |= {"num_bits": layout.element_bits, "group_size": layout.width}
        targets = ["Linear"] if len(modules) == 1 else sorted(names)
        groups[f"group_{number}"] = {"targets": targets, "weights": weights}
        size = {"group_size": layout.width} if isinstance(layout, Layout) else {}
        layers |= {name: {"quant_algo": algorithms[full_name]} | size for name in names}
    algorithm, *more = algorithms.values()
    mixed = {"quant_algo": MIXED, "quantized_layers": layers} if more else {"quant_algo": algorithm}
    producer = {"name": "mxcast", "version": version("mxcast")}
    section: Document = {
        "quant_method": "modelopt",
        **mixed,
        "config_groups": groups,
        "ignore": others,
        "producer": producer,
    }
    if kv_cache:
        section["kv_cache_scheme"] = _scheme(kv_cache)
    widths = [layout.width for layout in first.values() if isinstance(layout, Layout)]
    quantization = {
        "quant_algo": mixed["quant_algo"],
        "kv_cache_quant_algo": _algorithm(kv_cache),
        **({"group_size": widths[0]} if widths and not more else {}),
        "exclude_modules": others,
        **({"quantized_layers": layers} if more else {}),
    }
    return _section(config, section) | {HF_QUANT_CONFIG: {"producer": producer, "quantization": quantization}}


FP8_CACHE = {"num_bits": 8, "type": "float", "dynamic": False}


def _scheme(kv_cache: object) -> object:
    """The entry in `config.json` for the cache of keys and values."""
    return FP8_CACHE if kv_cache == "FP8" else kv_cache


def _algorithm(kv_cache: object) -> object:
    """The entry in `hf_quant_config.json` for it."""
    is_fp8 = isinstance(kv_cache, dict) and (kv_cache.get("num_bits"), kv_cache.get("type")) == (8, "float")
    return "FP8" if is_fp8 else kv_cache or None


Writer = Callable[[Document, Places, list[str], object], dict[str, Document]]
WRITERS: dict[str, Writer] = {
    "gpt_oss": _for_gpt_oss,
    "compressed_tensors": _for_compressed_tensors,
    "modelopt": _for_modelopt,
    "quark": _for_quark,
    "deepseek_v3": _for_fp8,
    "deepseek_v4": _for_fp8,
    "fp8": _for_fp8,
}
"""The documents of each dialect that has a section. gpt_oss and FP8: transformers 5.24.0, Mxfp4Config and
FineGrainedFP8Config; compressed_tensors: compressed-tensors 0.20.0, QuantizationConfig; modelopt and quark: what vLLM
reads; 2026-11.
"""
SEVERAL = ("compressed_tensors", "modelopt", "deepseek_v4")
"""Dialects whose configuration describes several layouts."""
MARKED = ("comfy",)
"""Dialects whose files say themselves which tensors are FP8."""
