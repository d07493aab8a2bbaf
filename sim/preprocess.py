"""Verilog files as one text without include files and macros, which every tool reads alike."""

from __future__ import annotations

import subprocess
from collections.abc import Iterable
from pathlib import Path

from . import tools

__all__ = ["preprocessed"]


def preprocessed(files: Iterable[Path], include: Iterable[Path] = (), define: Iterable[str] = ()) -> str:
    """The files, in their order, through Verilator's preprocessor, with ``SYNTHESIS`` defined.

    ``include`` are folders of include files, ``define`` are macros, NAME or NAME=TEXT. Comments stay, because some of them mean
    something, and so do line directives, so that later messages name the user's files. Raises ValueError with Verilator's
    first message.
    """
    names = [str(file) for file in files]
    for name in names:
        open(name).close()  # an error with its name, if there is none
    command = [str(tools.verilator_root() / "bin" / "verilator_bin"), "-E", "--pp-comments", "-DSYNTHESIS",
               *(f"-I{folder}" for folder in include), *(f"-D{macro}" for macro in define), *names]
    done = subprocess.run(command, capture_output=True, text=True, env=tools.simulator_environment())
    if done.returncode:
        first = next((line for line in done.stderr.splitlines() if line.startswith("%Error")), f"exit status {done.returncode}")
        raise ValueError(f"Verilator cannot read the files: {first}")
    return done.stdout
