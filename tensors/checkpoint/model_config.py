"""The configuration of a model says which of its weights are quantized and how: in `config.json`, and for ModelOpt in
`hf_quant_config.json` too.

It is read group by group (`config_groups.Groups`), and written by `config_writers`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...host.files import parsed_json
from ...spec.catalogue import excerpt
from ...spec.layouts.scaled import AnyLayout, Tile, layouts_of, with_tile
from .config_groups import EVERY, Group, Groups, Targets, wildcards

CONFIG, HF_QUANT_CONFIG = "config.json", "hf_quant_config.json"
SECTION = "quantization_config"
SECTIONS = (SECTION, "compression_config")
"""Keys of the section; compressed-tensors before 0.8 wrote the second one."""
Document = dict[str, Any]

COMPRESSED = {
    "mxfp4-pack-quantized": "mxfp4_e2m1",
    "mxfp6-pack-quantized": "mxfp6_e2m3",
    "mxfp8-quantized": "mxfp8_e4m3",
    "nvfp4-pack-quantized": "nvfp4",
}
"""Block formats by their ``format`` in compressed-tensors 0.20.0."""
SCALED_FORMATS = ("float-quantized", "naive-quantized")
"""Its formats for FP8 under scales that are numbers."""
MODELOPT = {
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
QUARK = {"fp4": "mxfp4_e2m1", "fp6_e3m2": "mxfp6_e3m2", "fp6_e2m3": "mxfp6_e2m3"}
"""Block formats by the ``dtype`` of weights in AMD Quark."""


class UnknownQuantization(ValueError):
    """A configuration has a quantization that is not known here."""


@dataclass(frozen=True)
class Unread:
    """A quantization of some modules that is not read here."""

    found: object


def groups_in(folder: Path) -> Groups | None:
    """The groups of weights in the configuration of a model; None if it says nothing about them.

    Raises ValueError for one that is damaged, for a quantization that is not known here, and where two documents do not
    agree.
    """
    of_modelopt, section = folder / HF_QUANT_CONFIG, section_of(folder / CONFIG)
    about = document(of_modelopt).get("quantization")
    if about is None:
        return _groups(folder / CONFIG, section)
    if isinstance(section, dict) and section.get("quant_algo") == MIXED and "quantized_layers" not in section:
        section = None  # the other document names the layers
    first = _groups(folder / CONFIG, section)
    second = _groups(of_modelopt, {"quant_method": "modelopt"} | _object(of_modelopt, about))
    if first is not None and second is not None and set(first.layouts) != set(second.layouts):
        names = [" and ".join(sorted({layout.full_name for layout in one.layouts})) for one in (first, second)]
        raise ValueError(f"{folder / CONFIG} says {names[0]}, and {HF_QUANT_CONFIG} says {names[1]}")
    return second if first is None else first


def section_of(path: Path) -> object:
    """The section about quantization in a configuration, or None: at its top, or in the configuration of a part of the
    model. Raises ValueError for several.
    """
    config = document(path)
    found = [place[key] for place in places(config) for key in SECTIONS if place.get(key) is not None]
    if len({json.dumps(one, sort_keys=True) for one in found}) > 1:
        raise ValueError(f"{path} has several sections about quantization")
    return found[0] if found else None


def places(config: Document) -> list[Document]:
    """The objects of a configuration that may have the section: itself, and the configurations of its parts."""
    return [config, *(one for key, one in config.items() if isinstance(one, dict) and key not in SECTIONS)]


def _groups(path: Path, section: object) -> Groups | None:
    """The groups of a section. Raises ValueError for one of which nothing is known here."""
    if section is None:
        return None
    section = _object(path, section)
    method = section.get("quant_method")
    reader = METHODS.get(method) if isinstance(method, str) else None
    try:
        found = Unread(method) if reader is None else reader(section)
    except (ValueError, TypeError) as error:
        raise ValueError(f"{path}: {error}") from None
    if isinstance(found, Unread) or (found.groups and not found.layouts):
        words = found.found if isinstance(found, Unread) else found.groups[0].unread
        raise UnknownQuantization(f"{path} has a quantization that is not known here: {excerpt(words)}")
    return found


def document(path: Path) -> Document:
    """The object in a file of JSON; an empty one without the file. Raises ValueError for another file."""
    if not path.exists():
        return {}
    try:
        return _object(path, parsed_json(path.read_text()))
    except (json.JSONDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ValueError(f"{path} is not JSON: {error}") from None


def _object(where: object, value: object) -> Document:
    if not isinstance(value, dict):
        raise ValueError(f"{where} must have objects of JSON, not {excerpt(value)}")
    return value


def _texts(what: str, value: object) -> tuple[str, ...]:
    if value is None:
        return ()
    if not isinstance(value, list) or not all(isinstance(text, str) for text in value):
        raise ValueError(f"{what} must be a list of texts, not {excerpt(value)}")
    return tuple(value)


def _fp8(dialect: str, *tiles: Tile, elements: Iterable[str] = ("fp8_e4m3", "fp8_e5m2")) -> tuple[AnyLayout, ...]:
    """FP8 of a dialect with scales for these tiles; without tiles, for any."""
    layouts = [layouts_of(f"{dialect}:{element}")[0] for element in elements]
    return tuple(with_tile(layout, tile) for layout in layouts for tile in tiles) if tiles else tuple(layouts)


# ---- gpt-oss


def _of_gpt_oss(section: Document) -> Groups:
    group = Group(words="mxfp4", layouts=tuple(layouts_of("gpt_oss")))
    return Groups(groups=(group,), ignored=_skipped(section))


def _skipped(section: Document) -> Targets:
    """Modules that transformers and vLLM do not convert: by a name, its beginning or its end."""
    names = [name for key in ("modules_to_not_convert", "ignored_layers") for name in _texts(key, section.get(key))]
    boundary = r"(?:(?<=\.)|(?=\.|$))"
    return Targets(tuple(f"re:(?:(?:{name}){boundary}|.*(?:^|\\.)(?:{name})$)" for name in names))


# ---- FP8 of DeepSeek, transformers and vLLM


def _of_fp8(section: Document) -> Groups:
    element = f"fp8_{str(section.get('fmt') or 'e4m3').lower()}"
    if element not in ("fp8_e4m3", "fp8_e5m2"):
        raise ValueError(f"fmt must be e4m3 or e5m2, not {excerpt(section['fmt'])}")
    size = section.get("weight_block_size")
    if size is None:
        layouts = [*_fp8("deepseek_v3", (0, 0), elements=[element]), *_fp8("fp8", (0, 0), elements=[element])]
    else:
        tile = _tile("weight_block_size", size)
        layouts = [*_fp8("deepseek_v3", tile, elements=[element]), *_fp8("deepseek_v4", tile, elements=[element])]
        layouts += [*layouts_of("deepseek_v4:mxfp4_e2m1"), *_fp8("fp8", (0, 0), tile, elements=[element])]
    return Groups(groups=(Group(words="fp8", layouts=tuple(layouts)),), ignored=_skipped(section))


def _tile(what: str, size: object) -> Tile:
    if not isinstance(size, list) or len(size) != 2 or not all(type(one) is int and one > 0 for one in size):
        raise ValueError(f"{what} must be two positive whole numbers, not {excerpt(size)}")
    return size[0], size[1]


def _of_fbgemm(section: Document) -> Groups:
    group = Group(words="fbgemm_fp8", layouts=_fp8("fbgemm_fp8", (1, 0), elements=["fp8_e4m3"]))
    return Groups(groups=(group,), ignored=_skipped(section))


# ---- compressed-tensors


def _of_compressed_tensors(section: Document) -> Groups | Unread:
    for key in ("transform_config", "sparsity_config"):
        about = section.get(key)
        if isinstance(about, dict) and (about.get("config_groups") or about.get("format") not in (None, "dense")):
            return Unread({key: about})
    everywhere = section.get("format")
    if not isinstance(section.get("config_groups"), dict):
        return _one(everywhere, _compressed(everywhere, {}), _texts("ignore", section.get("ignore")))
    groups = []
    for name, group in section["config_groups"].items():
        group = {"targets": group} if isinstance(group, list) else _object(f"the group {name!r}", group)
        weights = group.get("weights")
        if weights is None and "weights" in group:
            continue  # activations alone
        own = group.get("format") or (everywhere if everywhere != "mixed-precision" else None)
        layouts = _compressed(own, _object(f"weights of {name!r}", weights or {}))
        if layouts == ():
            continue
        targets = Targets(_texts(f"targets of {name!r}", group.get("targets")) or EVERY)
        groups.append(_group(f"{own or 'a format'} in {name}", layouts, targets))
    return Groups(
        groups=tuple(groups),
        ignored=Targets(_texts("ignore", section.get("ignore"))),
        kv_cache=section.get("kv_cache_scheme"),
    )


def _compressed(format: object, weights: Document) -> tuple[AnyLayout, ...] | Unread:
    """The layouts of a format, or of these weights if it is not given; none for weights that are not quantized."""
    if format == "dense":
        return ()
    if format in COMPRESSED:
        return tuple(layouts_of(f"compressed_tensors:{COMPRESSED[str(format)]}"))
    kind = weights.get("type"), weights.get("num_bits")
    group, strategy = weights.get("group_size"), weights.get("strategy")
    if format is None and kind == ("float", 4):
        block = {16: "nvfp4", 32: "mxfp4_e2m1"}.get(group if type(group) is int else 0)
        return tuple(layouts_of(f"compressed_tensors:{block}")) if block else Unread(weights)
    is_plain = weights.get("symmetric", True) is True and weights.get("actorder") in (None, False, "weight", "static")
    if (format is not None and format not in SCALED_FORMATS) or kind != ("float", 8) or not is_plain:
        return Unread(weights if format in SCALED_FORMATS or format is None else format)
    if strategy is None:
        strategy = "tensor" if group is None else "channel" if group == -1 else "group"
    tiles: dict[str, Tile] = {"tensor": (0, 0), "channel": (1, 0)}
    if strategy == "group":
        tiles["group"] = _tile("group_size", [1, group])
    if strategy == "block":
        tiles["block"] = _tile("block_structure", weights.get("block_structure"))
    if strategy not in tiles:
        return Unread(weights)
    return _fp8("compressed_tensors", tiles[strategy], elements=["fp8_e4m3"])


def _group(words: str, layouts: tuple[AnyLayout, ...] | Unread, targets: Targets) -> Group:
    if isinstance(layouts, Unread):
        return Group(words=words, targets=targets, unread=layouts.found)
    return Group(words=words, targets=targets, layouts=layouts)


def _one(words: object, layouts: tuple[AnyLayout, ...] | Unread, ignored: tuple[str, ...]) -> Groups:
    """One group of all modules."""
    groups = (_group(str(words), layouts, Targets(EVERY)),) if layouts != () else ()
    return Groups(groups=groups, ignored=Targets(ignored))


# ---- ModelOpt


def _of_modelopt(section: Document) -> Groups | Unread:
    section = section | (section["quantization"] if isinstance(section.get("quantization"), dict) else {})
    ignored = wildcards(text for key in ("ignore", "exclude_modules") for text in _texts(key, section.get(key)))
    kv_cache = section.get("kv_cache_scheme") or section.get("kv_cache_quant_algo")
    algorithm = str(section.get("quant_algo")).upper()
    if algorithm != MIXED:
        group = _group(algorithm, _modelopt(algorithm), Targets(EVERY))
        return Groups(groups=(group,), ignored=Targets(ignored), kv_cache=kv_cache)
    layers = _object("quantized_layers", section.get("quantized_layers"))
    of: dict[str, list[str]] = {}
    for name, layer in layers.items():
        of.setdefault(str(_object(f"the layer {name!r}", layer).get("quant_algo")).upper(), []).append(name)
    groups = []
    for algorithm, names in of.items():
        plain = [name for name in names if not {"*", "?", "["} & set(name)]
        patterns = wildcards(set(names) - set(plain), has_subtrees=False)
        groups.append(_group(algorithm, _modelopt(algorithm), Targets((*plain, *patterns))))
    return Groups(groups=tuple(groups), ignored=Targets(ignored), kv_cache=kv_cache)


def _modelopt(algorithm: str) -> tuple[AnyLayout, ...] | Unread:
    block = MODELOPT.get(algorithm)
    return Unread(algorithm) if block is None else tuple(layouts_of(f"modelopt:{block}"))


# ---- Quark


def _of_quark(section: Document) -> Groups:
    groups = []
    for pattern, about in _object("layer_quant_config", section.get("layer_quant_config") or {}).items():
        targets = Targets(wildcards([pattern.removeprefix("re:")], has_subtrees=False))
        layouts = _quark(_object(f"the layer {pattern!r}", about).get("weight"))
        if layouts != ():
            groups.append(_group(f"Quark's layer {pattern!r}", layouts, targets))
    everywhere = section.get("global_quant_config")
    layouts = _quark(everywhere.get("weight") if isinstance(everywhere, dict) else everywhere)
    if layouts != () or not groups:
        groups.append(_group("Quark", layouts if layouts != () else Unread(None), Targets(EVERY)))
    return Groups(groups=tuple(groups), ignored=Targets(wildcards(_texts("exclude", section.get("exclude")))))


def _quark(weight: object) -> tuple[AnyLayout, ...] | Unread:
    if weight is None:
        return ()
    if not isinstance(weight, dict):
        return Unread(weight)
    dtype, scheme = weight.get("dtype"), weight.get("qscheme")
    if dtype in QUARK and (weight.get("group_size"), weight.get("scale_format")) == (32, "e8m0"):
        return tuple(layouts_of(f"quark:{QUARK[str(dtype)]}"))
    tiles: dict[object, Tile] = {"per_tensor": (0, 0), "per_channel": (1, 0)}
    if dtype in ("fp8_e4m3", "fp8_e5m2") and scheme in tiles:
        return _fp8("quark", tiles[scheme], elements=[str(dtype)])
    return Unread(dtype if dtype in QUARK or dtype is None else weight)


METHODS: dict[str, Callable[[Document], Groups | Unread]] = {
    "mxfp4": _of_gpt_oss,
    "fp8": _of_fp8,
    "fbgemm_fp8": _of_fbgemm,
    "compressed-tensors": _of_compressed_tensors,
    "modelopt": _of_modelopt,
    "modelopt_fp4": _of_modelopt,
    "modelopt_mixed": _of_modelopt,
    "quark": _of_quark,
}
"""Readers by ``quant_method``."""
