"""Configuration files: TOML with the keys of the dataclasses."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ...host.files import read_toml
from ...spec import BlockFormat, Encode, block_format
from ...spec.catalogue import excerpt, unknown_name
from ...spec.module_names import identifier
from .assignments import RULES

SETS = ("format", "block", "scale_rule", "registered_after")
"""Keys that also take a list of names: modes of a converter, stage boundaries with registers."""

TABLES = "numerics", "microarchitecture"
"""Tables of a file."""


@dataclass(frozen=True, kw_only=True)
class Settings:
    """The content of a configuration file. Several formats or scale rules are one text with commas, as on the command
    line.
    """

    format: str | None = None
    profile: str | None = None
    name: str | None = None
    numerics: dict[str, object] = field(default_factory=dict)
    """Fields of `Encode`."""
    microarchitecture: dict[str, object] = field(default_factory=dict)
    """Fields of the hardware."""


def read_settings(path: Path) -> Settings:
    """The settings in a TOML file; ``block`` in its table ``[numerics]`` is its format.

    Raises ValueError for invalid TOML and for an unknown key, TypeError for a value of the wrong kind.
    """
    document = read_toml(path)
    names = [f.name for f in dataclasses.fields(Settings)]
    chosen: dict[str, Any] = {}
    for key, value in document.items():
        if key in TABLES:
            chosen[key] = _table(path, key, value)
        elif key not in names:
            raise ValueError(f"{path}: {unknown_name('key', key, names)}")
        else:
            chosen[key] = _names(value) if key in SETS else value
            if not isinstance(chosen[key], str):
                raise TypeError(
                    f"{path}: {key} must be a string{' or a list of strings' if key in SETS else ''}, not "
                    f"{excerpt(value)}"
                )
    if "name" in chosen:  # here, because some verbs do not use it
        try:
            identifier(chosen["name"])
        except ValueError as error:
            raise ValueError(f"{path}: {error}") from None
    numerics = chosen.get("numerics", {})
    if (operation := numerics.pop("operation", Encode.name)) != Encode.name:  # the JSON file of a converter contains it
        raise ValueError(f"{path}: a converter encodes: its operation is not {excerpt(operation)}")
    block = numerics.pop("block", None)
    if block is not None and _formats(chosen.setdefault("format", block)) != _formats(block):
        raise ValueError(f"{path} gives the format twice: {chosen['format']} and {block}")
    return Settings(**chosen)


def _table(path: Path, name: str, table: object) -> dict[str, object]:
    if not isinstance(table, dict):
        raise TypeError(f"{path}: {name} must be a table, not {excerpt(table)}")
    known = ("block", "operation", *RULES[Encode.name]) if name == "numerics" else _of_hardware()
    for key, value in table.items():
        if key not in known:
            raise ValueError(f"{path}: {unknown_name(f'key of [{name}]', key, known)}")
        if type(_names(value) if key in SETS else value) not in ((str,) if key in SETS else (str, int)):
            kinds = "a string or a list of strings" if key in SETS else "a string or a whole number"
            raise TypeError(f"{path}: {key} must be {kinds}, not {excerpt(value)}")
    return {key: _names(value) if key in SETS else value for key, value in table.items()}


def _of_hardware() -> tuple[str, ...]:
    from .built import BUILT

    return BUILT[Encode.name]


def _names(value: object) -> object:
    """A list of names as one text with commas; any other value unchanged."""
    return (
        ",".join(value) if isinstance(value, list) and value and all(isinstance(name, str) for name in value) else value
    )


def _formats(names: object) -> list[BlockFormat]:
    return [block_format(name.strip()) for name in str(names).split(",")]
