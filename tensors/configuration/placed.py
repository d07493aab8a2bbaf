"""The quantized tensors that a new configuration describes: layouts by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ...spec.layouts.scaled import AnyLayout
from .document import CONFIG, SECTION, Document

Placed = Mapping[str, AnyLayout]
Writer = Callable[[Document, Placed, list[str], object], dict[str, Document]]
"""Writes the documents of a model from its `config.json`, its quantized tensors, the names of its other modules, and
the scheme of its cache of keys and values. Raises ValueError if the configuration of a library cannot describe them.
"""


def modules(placed: Placed) -> dict[str, list[str]]:
    """The modules of each layout, by its full name."""
    found: dict[str, list[str]] = {}
    for name, layout in placed.items():
        found.setdefault(layout.full_name, []).append(name.removesuffix(".weight"))
    return found


def name_in(table: Mapping[str, str], layout: AnyLayout, tensor: str) -> str:
    """The first name in a table of a library that means the layout of a tensor. Raises ValueError without one."""
    block = layout.full_name.partition(":")[2]
    if names := [name for name, one in table.items() if one == block]:
        return names[0]
    raise ValueError(not_described(layout, tensor))


def not_described(layout: AnyLayout, tensor: str) -> str:
    """The sentence about a tensor that no configuration of its library describes."""
    return f"no configuration of {layout.dialect} describes {tensor!r} {layout.full_name}"


def with_section(config: Document, section: Document) -> dict[str, Document]:
    return {CONFIG: config | {SECTION: section}}
