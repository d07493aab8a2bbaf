"""The documents of a model that describe its quantization: `config.json`, and for ModelOpt `hf_quant_config.json`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from ...host.files import parsed_json
from ...spec.catalogue import excerpt
from ...spec.layouts.scaled import Tile

CONFIG, HF_QUANT_CONFIG = "config.json", "hf_quant_config.json"
SECTION = "quantization_config"
SECTIONS = (SECTION, "compression_config")
"""Keys of the section about quantization; compressed-tensors before 0.8 wrote the second one."""
Document = dict[str, Any]
"""An object of JSON."""


def document(path: Path) -> Document:
    """The object in a file of JSON; an empty one without the file. Raises ValueError for any other content."""
    if not path.exists():
        return {}
    try:
        return json_object(path, parsed_json(path.read_text()))
    except (json.JSONDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ValueError(f"{path} is not JSON: {error}") from None


def section_of(path: Path) -> object:
    """The section about quantization in a configuration, at its top or in a part of the model; None without one.

    Raises ValueError for several different sections.
    """
    config = document(path)
    found = [place[key] for place in places(config) for key in SECTIONS if place.get(key) is not None]
    if len({json.dumps(one, sort_keys=True) for one in found}) > 1:
        raise ValueError(f"{path} has several sections about quantization")
    return found[0] if found else None


def places(config: Document) -> list[Document]:
    """The objects of a configuration that may contain the section: itself, and the configurations of its parts."""
    return [config, *(one for key, one in config.items() if isinstance(one, dict) and key not in SECTIONS)]


def json_object(where: object, value: object) -> Document:
    """Raises ValueError if a value is not an object of JSON."""
    if not isinstance(value, dict):
        raise ValueError(f"{where} must have objects of JSON, not {excerpt(value)}")
    return value


def texts(key: str, value: object) -> tuple[str, ...]:
    """Raises ValueError if a value is neither a list of texts nor None."""
    if value is None:
        return ()
    if not isinstance(value, list) or not all(isinstance(text, str) for text in value):
        raise ValueError(f"{key} must be a list of texts, not {excerpt(value)}")
    return tuple(value)


def tile(key: str, size: object) -> Tile:
    """Rows and columns of a tile. Raises ValueError if a value is not a list of two positive integers."""
    if not isinstance(size, list) or len(size) != 2 or not all(type(one) is int and one > 0 for one in size):
        raise ValueError(f"{key} must be two positive whole numbers, not {excerpt(size)}")
    return size[0], size[1]
