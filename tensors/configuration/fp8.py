"""The configuration of FP8 with scales that are numbers: DeepSeek-V3 and V4, transformers and vLLM.

transformers 5.24.0, FineGrainedFP8Config, 2026-11.
"""

from __future__ import annotations

from collections.abc import Iterable

from ...spec.catalogue import excerpt
from ...spec.layouts.scaled import AnyLayout, ScaledLayout, Tile, layouts_of, with_tile
from .document import Document, tile
from .gpt_oss import not_converted
from .groups import Group, Groups
from .placed import Placed, modules, with_section

ELEMENTS = ("fp8_e4m3", "fp8_e5m2")
EXPERTS = "expert_dtype"
"""The dtype of experts in the configuration of DeepSeek-V4, outside the section."""


def fp8(dialect: str, *tiles: Tile, elements: Iterable[str] = ELEMENTS) -> tuple[AnyLayout, ...]:
    """FP8 layouts of a dialect with scales for these tiles, or without tiles for any tile."""
    layouts = [layouts_of(f"{dialect}:{element}")[0] for element in elements]
    return tuple(with_tile(layout, tile) for layout in layouts for tile in tiles) if tiles else tuple(layouts)


def read(section: Document) -> Groups:
    element = f"fp8_{str(section.get('fmt') or 'e4m3').lower()}"
    if element not in ELEMENTS:
        raise ValueError(f"fmt must be e4m3 or e5m2, not {excerpt(section['fmt'])}")
    size = section.get("weight_block_size")
    if size is None:
        layouts = [*fp8("deepseek_v3", (0, 0), elements=[element]), *fp8("fp8", (0, 0), elements=[element])]
    else:
        block = tile("weight_block_size", size)
        layouts = [*fp8("deepseek_v3", block, elements=[element]), *fp8("deepseek_v4", block, elements=[element])]
        layouts += [*layouts_of("deepseek_v4:mxfp4_e2m1"), *fp8("fp8", (0, 0), block, elements=[element])]
    return Groups(groups=(Group(words="fp8", layouts=tuple(layouts)),), ignored=not_converted(section))


def read_fbgemm(section: Document) -> Groups:
    group = Group(words="fbgemm_fp8", layouts=fp8("fbgemm_fp8", (1, 0), elements=["fp8_e4m3"]))
    return Groups(groups=(group,), ignored=not_converted(section))


def write(config: Document, placed: Placed, others: list[str], kv_cache: object) -> dict[str, Document]:
    scaled = {name: layout for name, layout in placed.items() if isinstance(layout, ScaledLayout)}
    elements, sizes = {one.element.name for one in scaled.values()}, {one.tile for one in scaled.values()}
    if len(elements) > 1 or len(sizes) > 1:
        names = " and ".join(f"{name!r} {layout}" for layout, (name, *_) in modules(scaled).items())
        raise ValueError(f"one configuration of {next(iter(placed.values())).dialect} does not describe {names}")
    section: Document = {"quant_method": "fp8", "fmt": (elements or {"e4m3"}).pop(), "activation_scheme": "dynamic"}
    size = sizes.pop() if sizes else (128, 128)
    if size and all(size):
        section["weight_block_size"] = list(size)
    if any(layout.dialect == "deepseek_v4" for layout in placed.values()):
        section["scale_fmt"] = "ue8m0"
    if len(scaled) < len(placed):
        section[EXPERTS] = "fp4"
    return with_section(config, section | {"modules_to_not_convert": others})
