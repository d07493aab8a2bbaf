"""The designs that folders hold: which configuration was emitted to a folder, and how another one differs from it."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ...host.files import claimed, parsed_json, regular, remove
from ...spec.module_names import identifier
from ...spec.profiles.resolve import profile_of
from ..config.build import config_of
from ..config.command import command_line
from ..config.hardware import HardwareConfig

TAKE_IT = "leave out format and rules to take the one in the folder, or give another name or folder"
"""The way out for a command that checks a design, and never replaces it."""

REPLACE_IT = "give another name or folder, or replace the design by emit with --force"
"""The way out for a command that writes a design."""

MOST = 4
"""Differences between two configurations that a message lists."""

DEFAULT = "the default"
"""Value of a choice of the hardware that a configuration leaves out."""

EVIDENCE = ("proof", "sim", "mutants")
"""Folders with the evidence that commands found about the Verilog in ``rtl/``."""


@dataclass(frozen=True, kw_only=True)
class Design:
    """An emitted design, as its manifest describes it or, without one, the JSON file of its Verilog."""

    folder: Path
    name: str
    config_id: str
    config: HardwareConfig | None
    """None if this version cannot read it."""
    sums: Mapping[str, str]
    """SHA-256 of each file as it was emitted, by its path in the folder."""

    def is_of(self, config: HardwareConfig, name: str) -> bool:
        return (self.config_id, self.name) == (config.config_id, name)

    def __str__(self) -> str:
        return self.config_id if self.config is None else _words(self.config)


def design_in(folder: Path) -> Design | None:
    """The design that was emitted to a folder, or None. Raises OSError and ValueError for a manifest that is there and
    cannot be read.
    """
    for path in (folder / "manifest.json", folder / "rtl" / f"{folder.name}.json"):
        try:
            written = regular(path).read_bytes()
        except (FileNotFoundError, NotADirectoryError):
            continue
        try:
            about = parsed_json(written.decode())
            name, config_id, sums = about["name"], about["config_id"], about.get("sha256", {})
            known = {file: digest for file, digest in sums.items() if isinstance(digest, str) and _is_inside(file)}
        except (ValueError, KeyError, AttributeError, TypeError, RecursionError):
            continue  # damaged: it says nothing
        try:
            config = described(about)
        except ValueError:
            config = None
        if config is not None and config.config_id != config_id:
            config = None
        return Design(folder=folder, name=name, config_id=config_id, config=config, sums=known)
    return None


def _is_inside(file: str) -> bool:
    return not Path(file).is_absolute() and ".." not in Path(file).parts


def design_of(out: Path | str, name: str) -> HardwareConfig:
    """The configuration of the design ``name`` in the folder ``out``. Raises ValueError if it is missing."""
    folder = Path(out) / identifier(name)
    design = design_in(folder)
    if design is None:
        raise ValueError(f"{out} holds no design {name}: give its format, or the folder that it was emitted to")
    if design.config is None or design.name != name:
        raise ValueError(f"{folder} does not say which configuration {name} has: give its format")
    return design.config


def described(about: Mapping[str, Any]) -> HardwareConfig:
    """The configuration in the JSON of an emitted file, with its profile. Raises ValueError if it describes none."""
    try:
        config = config_of(about)
        profiles = {profile_of(mode, about.get("profile")) for mode in config.modes}
    except TypeError as error:
        raise ValueError(str(error)) from None
    return replace(config, profile=profiles.pop() if len(profiles) == 1 else None)


def refuse_another(out: Path | str, name: str, config: HardwareConfig, way_out: str = TAKE_IT) -> None:
    """Raise ValueError if the folder of the design ``name`` holds another configuration. The message names both, and
    ends with the ``way_out``.
    """
    folder = Path(out) / name
    design = design_in(folder)
    if design is not None and not design.is_of(config, name):
        called = "" if design.name == name else f" as {design.name}"
        raise ValueError(
            f"{folder} holds {design}{called}, and {_words(config)} is asked for{_difference(design.config, config)}: "
            f"{way_out}"
        )


def _words(config: HardwareConfig) -> str:
    return f"{command_line(config)} ({config.config_id})"


def _difference(held: HardwareConfig | None, asked: HardwareConfig) -> str:
    """How two configurations differ, as the end of a sentence."""
    if held is None or held.numerics.name != asked.numerics.name:
        return ""
    theirs, ours = _fields(held), _fields(asked)
    keys = [key for key in theirs | ours if theirs.get(key) != ours.get(key)]
    said = [f"{key} {ours.get(key, DEFAULT)} instead of {theirs.get(key, DEFAULT)}" for key in keys[:MOST]]
    more = [f"{len(keys) - MOST} more"] if len(keys) > MOST else []
    return f", with {', '.join([*said, *more])}" if said else ""


def _fields(config: HardwareConfig) -> dict[str, object]:
    """All rules and choices by name; lists as texts."""
    found: dict[str, Any] = config.identity()
    modes = {"modes": len(config.modes)} if config.alternatives else {}
    flat = {**found["numerics"], **found["microarchitecture"], **modes}
    for number, mode in enumerate(found.get("alternatives", []), 1):
        flat |= {f"{key} of mode {number}": value for key, value in mode.items() if value != found["numerics"].get(key)}
    return {key: ",".join(value) or "none" if isinstance(value, list) else value for key, value in flat.items()}


def drop_evidence(folder: Path, name: str) -> None:
    """Remove the evidence of a design that is replaced, so that no PASS is taken for one of another design. Waits for
    commands that work in it.
    """
    for kind in (*(folder / kind for kind in EVIDENCE), *folder.glob(f"{name}-*/proof")):
        if kind.is_dir() and not kind.is_symlink():
            for one in kind.iterdir():
                with claimed(one) if one.is_dir() else contextlib.nullcontext():
                    remove(one)
            kind.rmdir()
