"""Yosys, as the pyosys wheel in a child process: a crash, or a script that ends without a netlist, is an error here."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from ..hdl.host import ToolError

__all__ = ["run", "yosys_version"]

ADVICE = "pip install 'mxcast[synth]'"
RUNNER = """
import sys
from pyosys import libyosys
design = libyosys.Design()
for command in sys.stdin.read().splitlines():
    libyosys.run_pass(command, design)
"""


def yosys_version() -> str:
    """Version of the pyosys wheel."""
    try:
        return version("pyosys")
    except PackageNotFoundError:
        raise ToolError(f"Yosys is missing: {ADVICE}") from None


def run(commands: list[str], folder: Path, technology: str | None = None) -> tuple[dict, dict]:
    """Run Yosys commands in ``folder``; returns the netlist and the statistics as Yosys writes them in JSON.

    With a ``technology`` the statistics have an estimate of its logic cells.

    The commands are kept as ``script.ys`` and the output as ``yosys.log``.
    """
    yosys_version()
    stat = "stat -json" + (f" -tech {technology}" if technology else "")
    script = [*commands, f"tee -q -o stat.json {stat}", "write_json netlist.json"]
    for stale in ("stat.json", "netlist.json"):
        (folder / stale).unlink(missing_ok=True)
    (folder / "script.ys").write_text("\n".join(script) + "\n")
    with open(folder / "yosys.log", "w") as log:
        done = subprocess.run([sys.executable, "-c", RUNNER], input="\n".join(script), text=True, cwd=folder,
                              stdout=log, stderr=subprocess.STDOUT)
    try:
        if done.returncode:
            raise ValueError
        netlist = json.loads((folder / "netlist.json").read_text())
        statistics = json.loads((folder / "stat.json").read_text())
    except (OSError, ValueError):
        lines = (folder / "yosys.log").read_text().splitlines()
        error = next((line for line in lines if "ERROR" in line or "Error" in line), f"exit status {done.returncode}")
        raise ToolError(f"Yosys wrote no netlist: {error.strip()}") from None
    return netlist, statistics
