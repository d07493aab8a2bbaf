"""The configuration of AMD Quark, as vLLM reads it, 2026-11."""

from __future__ import annotations

from ...spec.layouts.catalogue import Layout
from ...spec.layouts.scaled import AnyLayout, Tile, layouts_of
from .document import Document, json_object, texts
from .fp8 import ELEMENTS, fp8
from .groups import EVERY, Group, Groups, Targets, Unread, wildcards
from .placed import Placed, name_in, not_described, with_section

DTYPES = {"fp4": "mxfp4_e2m1", "fp6_e3m2": "mxfp6_e3m2", "fp6_e2m3": "mxfp6_e2m3"}
"""Block formats by the ``dtype`` of weights."""


def read(section: Document) -> Groups:
    groups = []
    for pattern, about in json_object("layer_quant_config", section.get("layer_quant_config") or {}).items():
        targets = Targets(wildcards([pattern.removeprefix("re:")], has_subtrees=False))
        layouts = _layouts(json_object(f"the layer {pattern!r}", about).get("weight"))
        if layouts != ():
            groups.append(Group.of(f"Quark's layer {pattern!r}", layouts, targets))
    everywhere = section.get("global_quant_config")
    layouts = _layouts(everywhere.get("weight") if isinstance(everywhere, dict) else everywhere)
    if layouts != () or not groups:
        groups.append(Group.of("Quark", layouts if layouts != () else Unread(None), Targets(EVERY)))
    return Groups(groups=tuple(groups), ignored=Targets(wildcards(texts("exclude", section.get("exclude")))))


def _layouts(weight: object) -> tuple[AnyLayout, ...] | Unread:
    if weight is None:
        return ()
    if not isinstance(weight, dict):
        return Unread(weight)
    dtype, scheme = weight.get("dtype"), weight.get("qscheme")
    if dtype in DTYPES and (weight.get("group_size"), weight.get("scale_format")) == (32, "e8m0"):
        return tuple(layouts_of(f"quark:{DTYPES[str(dtype)]}"))
    tiles: dict[object, Tile] = {"per_tensor": (0, 0), "per_channel": (1, 0)}
    if dtype in ELEMENTS and scheme in tiles:
        return fp8("quark", tiles[scheme], elements=[str(dtype)])
    return Unread(dtype if dtype in DTYPES or dtype is None else weight)


def write(config: Document, placed: Placed, others: list[str], kv_cache: object) -> dict[str, Document]:
    name, layout = next(iter(placed.items()))
    if not isinstance(layout, Layout):
        raise ValueError(not_described(layout, name))
    weight = {
        "dtype": name_in(DTYPES, layout, name),
        "qscheme": "per_group",
        "group_size": layout.width,
        "ch_axis": layout.axis,
        "scale_format": "e8m0",
        "is_dynamic": False,
    }
    return with_section(config, {"quant_method": "quark", "global_quant_config": {"weight": weight}, "exclude": others})
