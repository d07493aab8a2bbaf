"""Verilator as a linter."""

from __future__ import annotations

import os
import subprocess

from mxcast.sim.run.tools import verilator_root

COCOTB = ("--cc", "--vpi", "--public-flat-rw", "-Wall", "-Mdir")
"""The options of cocotb's builds, before a folder. Every signal stays visible, so combinational loops through parts of
a vector are reported, which `--lint-only` never does.
"""


def lint(*arguments: object) -> str:
    """The messages of Verilator, without its statistics."""
    root = verilator_root()
    done = subprocess.run(
        [root / "bin" / "verilator_bin", *arguments],
        capture_output=True,
        text=True,
        env={**os.environ, "VERILATOR_ROOT": str(root)},
    )
    said = "".join(line for line in (done.stdout + done.stderr).splitlines(keepends=True) if not line.startswith("- "))
    return said or ("" if done.returncode == 0 else f"exit status {done.returncode}")
