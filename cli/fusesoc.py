"""The generator of FuseSoC: a core that asks for a converter gets it from `mxcast emit`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from ..host.files import write_whole
from ..spec.catalogue import unknown_name
from . import main as command
from .output.streams import complain

CORE = """CAPI=2:
name: mxcast:mx:mxcast_generator:1.0
description: Generator of converters to MX formats and NVFP4
generators:
  mxcast:
    interpreter: python3
    command: mxcast_generator.py
    cache_type: input
    description: Writes a converter with mxcast emit
    usage: |
      Parameters, as in the command mxcast emit:
        format:   e4m3, int8, nvfp4, ... (mxcast list formats)
        profile:  rules by name (mxcast list profiles)
        op:       encode, decode, cast, hadamard or tile
        target:   target of the hardware
        name:     name of the top module
        config:   TOML file, relative to the core
        bus:      bits of the words of AXI4-Stream, 128 or [256, 64]
        registers: true, for registers behind AXI4-Lite
        set:      one mapping of rules and choices of the hardware
"""

SCRIPT = '''"""Writes the converter that a FuseSoC core asks for. `mxcast emit --fusesoc-generator` wrote this file."""

import sys

try:
    from mxcast.cli.fusesoc import generate
except ModuleNotFoundError as error:
    sys.exit(f"mxcast_generator: {sys.executable} has no {error.name}: activate the environment that has mxcast")

sys.exit(generate(sys.argv[1]))
'''

OPTIONS = ("profile", "op", "target", "name", "config", "bus")
"""Parameters that are options of `mxcast emit` with a value."""

REGISTERS = "registers"
"""The parameter that is an option without a value."""


def write_generator(folder: Path) -> list[Path]:
    """Write the core of the generator and its script to a folder, which a user adds to FuseSoC as a library."""
    return [
        write_whole(folder / f"mxcast_generator.{suffix}", text) for suffix, text in (("core", CORE), ("py", SCRIPT))
    ]


def generate(job: str) -> int:
    """Emit the converter of a job file of FuseSoC to the current folder. Returns the exit code of `mxcast emit`."""
    try:
        import yaml
    except ModuleNotFoundError:
        complain("mxcast: PyYAML is missing: pip install '.[fusesoc]' in a checkout of mxcast")
        return 3
    asked = yaml.safe_load(Path(job).read_text(encoding="utf-8"))
    try:
        arguments = emit_arguments(asked["parameters"], Path(asked["files_root"]))
    except ValueError as error:
        complain(f"mxcast: {error}")
        return 2
    return command(arguments)


def emit_arguments(parameters: Mapping[str, object], root: Path) -> list[str]:
    """The arguments of `mxcast` for the parameters of a core in the folder ``root``.

    >>> " ".join(emit_arguments({"format": "e4m3", "profile": "nvidia", "set": {"latency": 4}}, Path("core")))
    'emit e4m3 --profile nvidia --set latency=4 --out .'
    """
    known = ("format", "set", *OPTIONS, REGISTERS)
    for key in parameters:
        if key not in known:
            raise ValueError(unknown_name("parameter", key, known))
    rules = parameters.get("set", {})
    if not isinstance(rules, Mapping):
        raise ValueError(f"set must be a mapping of rules, not {rules!r}")
    arguments = ["emit", *([str(parameters["format"])] if "format" in parameters else [])]
    for option in OPTIONS:
        if option in parameters:
            value = parameters[option]
            arguments += [f"--{option}", str(root / str(value)) if option == "config" else _text(value)]
    if not isinstance(asked := parameters.get(REGISTERS, False), bool):
        raise ValueError(f"{REGISTERS} must be true or false, not {asked!r}")
    arguments += [f"--{REGISTERS}"] * asked
    for key, value in rules.items():
        arguments += ["--set", f"{key}={_text(value)}"]
    return [*arguments, "--out", "."]


def _text(value: object) -> str:
    """A value of YAML as --set takes it: words with commas between them, and true and false in small letters."""
    if isinstance(value, list):
        return ",".join(map(_text, value))
    return str(value).lower() if isinstance(value, bool) else str(value)
