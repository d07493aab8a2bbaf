"""The configuration of gpt-oss: transformers 5.24.0, Mxfp4Config, 2026-11."""

from __future__ import annotations

from ...spec.layouts.scaled import layouts_of
from .document import Document, texts
from .groups import Group, Groups, Targets
from .placed import Placed, with_section


def read(section: Document) -> Groups:
    group = Group(words="mxfp4", layouts=tuple(layouts_of("gpt_oss")))
    return Groups(groups=(group,), ignored=not_converted(section))


def not_converted(section: Document) -> Targets:
    """Modules that transformers and vLLM do not convert, by a name, its prefix or its suffix."""
    names = [name for key in ("modules_to_not_convert", "ignored_layers") for name in texts(key, section.get(key))]
    boundary = r"(?:(?<=\.)|(?=\.|$))"
    return Targets(tuple(f"re:(?:(?:{name}){boundary}|.*(?:^|\\.)(?:{name})$)" for name in names))


def write(config: Document, placed: Placed, others: list[str], kv_cache: object) -> dict[str, Document]:
    return with_section(config, {"quant_method": "mxfp4", "modules_to_not_convert": others})
