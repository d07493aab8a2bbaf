"""The configuration of compressed-tensors 0.20.0, QuantizationConfig, 2026-11."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from ...spec.layouts.catalogue import Layout
from ...spec.layouts.scaled import AnyLayout, Grain, Tile, grain_of, layouts_of
from .document import Document, json_object, texts, tile
from .fp8 import fp8
from .groups import EVERY, Group, Groups, Targets, Unread
from .placed import Placed, modules, name_in, not_described, with_section

FORMATS = {
    "mxfp4-pack-quantized": "mxfp4_e2m1",
    "mxfp6-pack-quantized": "mxfp6_e2m3",
    "mxfp8-quantized": "mxfp8_e4m3",
    "nvfp4-pack-quantized": "nvfp4",
}
"""Block formats by their ``format``."""
FP8_FORMATS = ("float-quantized", "naive-quantized")
"""Formats for FP8 with scales that are numbers."""


def read(section: Document) -> Groups | Unread:
    for key in ("transform_config", "sparsity_config"):
        about = section.get(key)
        if isinstance(about, dict) and (about.get("config_groups") or about.get("format") not in (None, "dense")):
            return Unread({key: about})
    everywhere = section.get("format")
    if not isinstance(section.get("config_groups"), dict):
        layouts = _layouts(everywhere, {})
        every = (Group.of(str(everywhere), layouts, Targets(EVERY)),) if layouts != () else ()
        return Groups(groups=every, ignored=Targets(texts("ignore", section.get("ignore"))))
    groups = []
    for name, group in section["config_groups"].items():
        group = {"targets": group} if isinstance(group, list) else json_object(f"the group {name!r}", group)
        weights = group.get("weights")
        if weights is None and "weights" in group:
            continue  # activations alone
        own = group.get("format") or (everywhere if everywhere != "mixed-precision" else None)
        layouts = _layouts(own, json_object(f"weights of {name!r}", weights or {}))
        if layouts == ():
            continue
        targets = Targets(texts(f"targets of {name!r}", group.get("targets")) or EVERY)
        groups.append(Group.of(f"{own or 'a format'} in {name}", layouts, targets))
    return Groups(
        groups=tuple(groups),
        ignored=Targets(texts("ignore", section.get("ignore"))),
        kv_cache=section.get("kv_cache_scheme"),
    )


def _layouts(format: object, weights: Document) -> tuple[AnyLayout, ...] | Unread:
    """The layouts of a format, or of these weights without one; empty for weights that are not quantized."""
    if format == "dense":
        return ()
    if format in FORMATS:
        return tuple(layouts_of(f"compressed_tensors:{FORMATS[str(format)]}"))
    kind = weights.get("type"), weights.get("num_bits")
    group, strategy = weights.get("group_size"), weights.get("strategy")
    if format is None and kind == ("float", 4):
        block = {16: "nvfp4", 32: "mxfp4_e2m1"}.get(group if type(group) is int else 0)
        return tuple(layouts_of(f"compressed_tensors:{block}")) if block else Unread(weights)
    is_plain = weights.get("symmetric", True) is True and weights.get("actorder") in (None, False, "weight", "static")
    if (format is not None and format not in FP8_FORMATS) or kind != ("float", 8) or not is_plain:
        return Unread(weights if format in FP8_FORMATS or format is None else format)
    if strategy is None:
        strategy = "tensor" if group is None else "channel" if group == -1 else "group"
    tiles: dict[str, Tile] = {"tensor": (0, 0), "channel": (1, 0)}
    if strategy == "group":
        tiles["group"] = tile("group_size", [1, group])
    if strategy == "block":
        tiles["block"] = tile("block_structure", weights.get("block_structure"))
    if strategy not in tiles:
        return Unread(weights)
    return fp8("compressed_tensors", tiles[strategy])


def write(config: Document, placed: Placed, others: list[str], kv_cache: object) -> dict[str, Document]:
    of = modules(placed)
    first = {layout.full_name: layout for layout in placed.values()}
    groups, formats = {}, []
    for number, (full_name, names) in enumerate(of.items()):
        weights, format = _weights(first[full_name], names[0])
        rest = [*others, *(name for other, more in of.items() if other != full_name for name in more)]
        targets = ["Linear"] if len(of) == 1 else _patterns(names, rest)
        groups[f"group_{number}"] = {"targets": targets, "weights": weights, "format": format}
        formats.append(format)
    section: Document = {
        "quant_method": "compressed-tensors",
        "format": formats[0] if len(set(formats)) == 1 else "mixed-precision",
        "quantization_status": "compressed",
        "config_groups": groups,
        "ignore": others,
    }
    if kv_cache:
        section["kv_cache_scheme"] = kv_cache_scheme(kv_cache)
    return with_section(config, section)


def _weights(layout: AnyLayout, name: str) -> tuple[Document, str]:
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
        return weights, name_in(FORMATS, layout, name)
    if layout.element.name != "e4m3" or layout.tile is None:
        raise ValueError(not_described(layout, name))
    grain = grain_of(layout.tile)
    weights["strategy"] = "channel" if grain is Grain.ROW else str(grain)
    if grain is Grain.GROUP:
        weights["group_size"] = layout.tile[1]
    if grain is Grain.BLOCK:
        weights["block_structure"] = list(layout.tile)
    return weights, "float-quantized"


def _patterns(names: Sequence[str], others: Collection[str]) -> list[str]:
    """Targets that match these modules and no others: expressions with any number in place of the numbers."""
    of: dict[str, list[str]] = {}
    for name in names:
        of.setdefault(re.sub(r"\d+", r"\\d+", re.escape(name)), []).append(name)
    taken = {re.sub(r"\d+", r"\\d+", re.escape(name)) for name in others}
    found: list[str] = []
    for pattern, own in of.items():
        found += own if pattern in taken or len(own) == 1 else [f"re:{pattern}$"]
    return found


FP8_CACHE = {"num_bits": 8, "type": "float", "dynamic": False}


def kv_cache_scheme(kv_cache: object) -> object:
    """The entry in `config.json` for the cache of keys and values."""
    return FP8_CACHE if kv_cache == "FP8" else kv_cache
