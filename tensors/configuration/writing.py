"""Writing the configuration of a model whose weights now have other layouts, or are numbers.

Only fields about stored weights are written, and the old fields about scales of the cache of keys and values.
Activations are not quantized.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from pathlib import Path

from . import compressed_tensors, fp8, gpt_oss, modelopt, quark
from .document import CONFIG, HF_QUANT_CONFIG, SECTIONS, Document, document, places, section_of, texts
from .groups import modules_of
from .placed import Placed, Writer

UNQUANTIZED = ("ignore", "exclude", "exclude_modules", "modules_to_not_convert", "ignored_layers")
"""Keys for lists of modules that are not quantized."""


def configured(
    folder: Path, placed: Placed, others: Sequence[str], tensors: Collection[str] = ()
) -> dict[str, Document]:
    """The documents of a model with these quantized tensors, by file name. ``others`` are the modules with weights that
    are not quantized, and ``tensors`` all tensors of the model.

    Raises ValueError, with the names of the tensors, if no configuration describes them.
    """
    documents, section = {CONFIG: document(folder / CONFIG)}, section_of(folder / CONFIG)
    for place in places(documents[CONFIG]):
        for key in SECTIONS:
            place.pop(key, None)
    kv_cache = section.get("kv_cache_scheme") if isinstance(section, dict) else None
    of_modelopt = document(folder / HF_QUANT_CONFIG).get("quantization", {})
    kv_cache = kv_cache or of_modelopt.get("kv_cache_quant_algo")
    others = [*others, *_absent([section, of_modelopt], tensors)]
    dialects = check_described(placed)
    if "deepseek_v4" not in dialects:
        for place in places(documents[CONFIG]):
            place.pop(fp8.EXPERTS, None)
    for dialect in dialects & WRITERS.keys():
        documents |= WRITERS[dialect](documents[CONFIG], placed, others, kv_cache)
    return documents


def _absent(sections: Sequence[object], tensors: Collection[str]) -> list[str]:
    """Names of modules that sections call unquantized and that have no tensor, such as a head that shares its weights
    with the embedding. Libraries make these modules all the same.
    """
    listed = [texts(key, one.get(key)) for one in sections if isinstance(one, dict) for key in UNQUANTIZED]
    named = dict.fromkeys(name for names in listed for name in names if re.fullmatch(r"[\w.-]+", name))
    there = [module for tensor in tensors for module in modules_of(tensor)] if named else []
    return [name for name in named if not any(f"{module}.".startswith(f"{name}.") for module in there)]


def check_described(placed: Placed) -> set[str]:
    """The dialects of the quantized tensors of a model. Raises ValueError for tensors that need different
    configurations.
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


WRITERS: dict[str, Writer] = {
    "gpt_oss": gpt_oss.write,
    "compressed_tensors": compressed_tensors.write,
    "modelopt": modelopt.write,
    "quark": quark.write,
    "deepseek_v3": fp8.write,
    "deepseek_v4": fp8.write,
    "fp8": fp8.write,
}
"""Writers of the section, by dialect."""
SEVERAL = ("compressed_tensors", "modelopt", "deepseek_v4")
"""Dialects whose configuration describes several layouts."""
MARKED = ("comfy",)
"""Dialects whose files declare which tensors are FP8."""
