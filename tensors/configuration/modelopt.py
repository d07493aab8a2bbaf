"""The configuration of ModelOpt, as vLLM reads it, 2026-11."""

from __future__ import annotations

from collections.abc import Iterable

from ...host.version import VERSION
from ...spec.layouts.catalogue import Layout
from ...spec.layouts.scaled import AnyLayout, layouts_of, tile_named
from .compressed_tensors import kv_cache_scheme
from .document import HF_QUANT_CONFIG, Document, json_object, texts
from .fp8 import fp8
from .groups import EVERY, Group, Groups, Targets, Unread, wildcards
from .placed import Placed, modules, name_in, with_section

ALGORITHMS = {
    "W4A16_NVFP4": "nvfp4",
    "NVFP4": "nvfp4",
    "NVFP4_AWQ": "nvfp4",
    "W4A8_NVFP4_FP8": "nvfp4",
    "MXFP8": "mxfp8_e4m3",
    "FP8": "fp8_e4m3:tensor",
    "FP8_PER_CHANNEL_PER_TOKEN": "fp8_e4m3:row",
    "FP8_PC_PT": "fp8_e4m3:row",
    "FP8_PB_WO": "fp8_e4m3:128x128",
    "FP8_PB_REAL": "fp8_e4m3:128x128",
}
"""Block formats by their ``quant_algo``; the first one of each is written."""
MIXED = "MIXED_PRECISION"
"""ModelOpt's ``quant_algo`` of a model whose layers have their own."""


def read(section: Document) -> Groups:
    section = section | (section["quantization"] if isinstance(section.get("quantization"), dict) else {})
    ignored = wildcards(text for key in ("ignore", "exclude_modules") for text in texts(key, section.get(key)))
    algorithm = str(section.get("quant_algo")).upper()
    if algorithm != MIXED:
        groups = [Group.of(algorithm, _layouts(algorithm), Targets(EVERY))]
    elif section.get("quantized_layers") is None and "config_groups" in section:
        groups = _config_groups(section)
    else:
        groups = _quantized_layers(section)
    kv_cache = section.get("kv_cache_scheme") or section.get("kv_cache_quant_algo")
    return Groups(groups=tuple(groups), ignored=Targets(ignored), kv_cache=kv_cache)


def _layouts(algorithm: str) -> tuple[AnyLayout, ...] | Unread:
    block = ALGORITHMS.get(algorithm)
    if block is None:
        return Unread(algorithm)
    _, is_fp8, tile = block.partition("fp8_e4m3:")
    return fp8("modelopt", tile_named(tile)) if is_fp8 else tuple(layouts_of(f"modelopt:{block}"))


def _quantized_layers(section: Document) -> list[Group]:
    """The algorithm of each layer."""
    of: dict[str, list[str]] = {}
    for name, layer in json_object("quantized_layers", section.get("quantized_layers")).items():
        of.setdefault(str(json_object(f"the layer {name!r}", layer).get("quant_algo")).upper(), []).append(name)
    return [Group.of(algorithm, _layouts(algorithm), _targets(names)) for algorithm, names in of.items()]


def _config_groups(section: Document) -> list[Group]:
    """Groups of layers in the form of compressed-tensors; few of them name their algorithm."""
    groups = []
    for name, group in json_object("config_groups", section["config_groups"]).items():
        group = json_object(f"the group {name!r}", group)
        if "weights" in group:
            layouts = _layouts_of_weights(json_object(f"weights of {name!r}", group["weights"]))
        else:
            layouts = _layouts(str(group.get("quant_algo")).upper())
        targets = texts(f"targets of {name!r}", group.get("targets"))
        groups.append(Group.of(name, layouts, _targets(targets or EVERY)))
    return groups


def _layouts_of_weights(weights: Document) -> tuple[AnyLayout, ...] | Unread:
    kind = [weights.get(key) for key in ("type", "num_bits", "group_size", "strategy")]
    if kind == ["float", 8, None, None]:
        return fp8("modelopt", (0, 0))
    if kind == ["float", 8, None, "channel"]:
        return fp8("modelopt", (1, 0))
    if kind == ["float", 8, 32, None]:
        return tuple(layouts_of("modelopt:mxfp8_e4m3"))
    return tuple(layouts_of("modelopt:nvfp4")) if kind == ["float", 4, 16, None] else Unread(weights)


def _targets(names: Iterable[str]) -> Targets:
    """Targets for names of layers, which may be patterns."""
    patterns = {name for name in names if {"*", "?", "["} & set(name)}
    plain = [name for name in names if name not in patterns]
    return Targets((*plain, *wildcards(patterns, has_subtrees=False)))


def write(config: Document, placed: Placed, others: list[str], kv_cache: object) -> dict[str, Document]:
    of = modules(placed)
    first = {layout.full_name: layout for layout in placed.values()}
    algorithms = {full_name: name_in(ALGORITHMS, first[full_name], names[0]) for full_name, names in of.items()}
    groups: Document = {}
    layers: dict[str, Document] = {}
    for number, (full_name, names) in enumerate(of.items()):
        layout = first[full_name]
        weights: Document = {"num_bits": 8, "type": "float", "dynamic": False}
        if isinstance(layout, Layout):
            weights |= {"num_bits": layout.element_bits, "group_size": layout.width}
        targets = ["Linear"] if len(of) == 1 else sorted(names)
        groups[f"group_{number}"] = {"targets": targets, "weights": weights}
        size = {"group_size": layout.width} if isinstance(layout, Layout) else {}
        layers |= {name: {"quant_algo": algorithms[full_name]} | size for name in names}
    algorithm, *more = algorithms.values()
    mixed = {"quant_algo": MIXED, "quantized_layers": layers} if more else {"quant_algo": algorithm}
    producer = {"name": "mxcast", "version": VERSION}
    section: Document = {
        "quant_method": "modelopt",
        **mixed,
        "config_groups": groups,
        "ignore": others,
        "producer": producer,
    }
    if kv_cache:
        section["kv_cache_scheme"] = kv_cache_scheme(kv_cache)
    widths = [layout.width for layout in first.values() if isinstance(layout, Layout)]
    quantization = {
        "quant_algo": mixed["quant_algo"],
        "kv_cache_quant_algo": _algorithm(kv_cache),
        **({"group_size": widths[0]} if widths and not more else {}),
        "exclude_modules": others,
        **({"quantized_layers": layers} if more else {}),
    }
    return with_section(config, section) | {HF_QUANT_CONFIG: {"producer": producer, "quantization": quantization}}


def _algorithm(kv_cache: object) -> object:
    """The entry in `hf_quant_config.json` for the cache of keys and values."""
    is_fp8 = isinstance(kv_cache, dict) and (kv_cache.get("num_bits"), kv_cache.get("type")) == (8, "float")
    return "FP8" if is_fp8 else kv_cache or None
