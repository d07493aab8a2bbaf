"""Yosys, as the pyosys wheel in a child process. A crash and a script without a netlist are errors."""

from __future__ import annotations

import json
import re
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from ..host.errors import ToolError, ToolMissing
from ..host.processes import python
from ..host.processes import run as run_child

ADVICE = "pip install '.[synth]' in a checkout of mxcast"
UNCHECKED = "scratchpad -set abc9.verify false"
"""Turns off abc9's check of its own result, which takes half an hour with multipliers. `prove --netlist` checks a
netlist.
"""
RUNNER = """
import _thread, sys  # threading takes as long to import as Python to start
from pyosys import libyosys
failed, ended = [], _thread.allocate_lock()
def work():
    try:
        design = libyosys.Design()
        for command in sys.stdin.read().splitlines():
            libyosys.run_pass(command, design)
    except BaseException:
        import traceback
        traceback.print_exc()
        failed.append(True)
def thread():
    work()
    ended.release()
ended.acquire()
try:  # Yosys calls itself for each level of what is nested
    _thread.stack_size(1 << 28)
    _thread.start_new_thread(thread, ())
except (ValueError, RuntimeError):  # there is not so much memory
    thread()
ended.acquire()
sys.exit(bool(failed))
"""

PYTHON = re.compile(r"\w*(?:Error|Exception): (.*)")
"""An exception of C++ that reached the interpreter around Yosys."""

PROBLEMS = ("driver", "logic loop")
"""Words in the warnings of Yosys' ``check``."""


def yosys_version() -> str:
    """Version of the pyosys wheel."""
    try:
        return version("pyosys")
    except PackageNotFoundError:
        raise ToolMissing(f"Yosys is missing: {ADVICE}") from None


def execute(commands: list[str], folder: Path) -> None:
    """Run Yosys commands in ``folder``, which keeps them as ``script.ys`` and the output as ``yosys.log``.

    Raises `ToolError` with the first error of the log. A script that stops early may raise nothing: check that its
    output files exist.
    """
    yosys_version()
    (folder / "script.ys").write_text("\n".join(commands) + "\n")
    with open(folder / "yosys.log", "wb") as log:
        done = run_child(python(RUNNER), input="\n".join(commands), cwd=folder, log=log)
    if done.status:
        raise ToolError(f"Yosys stopped: {_first_error(folder, done.status)}", _log(folder))


def _log(folder: Path) -> str:
    return (folder / "yosys.log").read_text(errors="replace")


def _first_error(folder: Path, status: int) -> str:
    lines = _log(folder).splitlines()
    place = next((number for number, line in enumerate(lines) if "ERROR" in line or "Error" in line), None)
    if place is None:
        return f"exit status {status}"
    found = lines[place].strip()
    if raised := PYTHON.fullmatch(found):  # without a message of Yosys
        command = next((line for line in reversed(lines[:place]) if line.startswith("-- Running command")), "")
        return f"its command {command[20:-4].split(' ')[0]} failed inside ({raised[1]})"
    if "see details above" in found:  # slang's lines begin with a tab
        details = [line.strip() for line in lines[:place] if line.startswith("\t")]
        return f"slang failed inside ({' '.join(details[-6:])})"
    if "'check -assert'" in found:  # it counts the problems, which are warnings above it
        found = next(
            (
                line.removeprefix("Warning: ").strip(": ")
                for line in lines[:place]
                if line.startswith("Warning:") and any(words in line for words in PROBLEMS)
            ),
            found,
        )
    return found


def run(commands: list[str], folder: Path, estimate: str | None = None) -> tuple[dict, dict]:
    """Run Yosys commands in ``folder``; returns the netlist and the statistics as Yosys writes them in JSON.

    With the option ``estimate`` the statistics have an estimate of logic cells or of an area.
    """
    yosys_version()  # a missing Yosys is another error
    stat = "stat -json" + (f" {estimate}" if estimate else "")
    for stale in ("stat.json", "netlist.json"):
        (folder / stale).unlink(missing_ok=True)
    try:
        execute([UNCHECKED, *commands, f"tee -q -o stat.json {stat}", "write_json netlist.json"], folder)
        netlist = json.loads((folder / "netlist.json").read_text())
        statistics = json.loads((folder / "stat.json").read_text())
    except (OSError, ValueError):
        raise ToolError(f"Yosys wrote no netlist: {_first_error(folder, 0)}", _log(folder)) from None
    except ToolError as error:
        raise ToolError(f"Yosys wrote no netlist: {str(error).removeprefix('Yosys stopped: ')}", error.log) from None
    return netlist, statistics
