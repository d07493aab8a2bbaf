"""nextpnr, as a wheel in a child process: its report is read, and a run without an Fmax is an error."""

from __future__ import annotations

import json
import math
import os
import re
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TypedDict

from ..host.errors import ToolError, ToolMissing
from ..host.processes import run
from .devices import Device

ADVICE = "pip install '.[pnr]' in a checkout of mxcast"
RUNNER = "import sys, {module}; sys.exit({module}.run_{program}(sys.argv[1:]))"


class Routed(TypedDict):
    """Result of one run. ``used`` counts the cells by type, including the wrapper's cells."""

    seed: int
    fmax_mhz: float
    used: dict[str, int]


class DoesNotFit(ValueError):
    """The design is too large for the device; ``log`` is what the program said."""

    def __init__(self, message: str, log: str) -> None:
        super().__init__(message)
        self.log = log


def nextpnr_version(device: Device) -> str:
    """Version of the wheel for a device."""
    try:
        return version(device.package)
    except PackageNotFoundError:
        raise ToolMissing(f"{device.program} is missing: {ADVICE}") from None


def route(device: Device, folder: Path, seed: int) -> Routed:
    """Place and route ``netlist.json`` in ``folder``, where report and log stay.

    Raises `DoesNotFit` if the design is too large for the device, `ToolError` if anything else goes wrong.
    """
    nextpnr_version(device)
    (folder / "report.json").unlink(missing_ok=True)
    (folder / "nextpnr.log").write_text("")
    program = device.program.replace("-", "_")
    # the program sees the folder as its own; a mount that somebody set up elsewhere would hide it
    environment = {name: value for name, value in os.environ.items() if name != "YOWASP_MOUNT"}
    done = run(
        [
            sys.executable,
            "-P",
            "-c",
            RUNNER.format(module=device.package.replace("-", "_"), program=program),
            "--quiet",
            *device.options,
            "--timing-allow-fail",
            "--freq",
            "100",
            "--seed",
            str(seed),
            "--json",
            "netlist.json",
            "--report",
            "report.json",
            "--log",
            "nextpnr.log",
        ],
        cwd=folder,
        environment=environment,
    )
    log = (folder / "nextpnr.log").read_text()
    if too_full := _too_full(log):
        raise DoesNotFit(f"the design between its registers does not fit {device.description}: {too_full}", log)
    if done.status:
        raise ToolError(f"{device.program} stopped: {_first_error(log + done.errors, done.status)}", log + done.errors)
    fmax, used = _read(device, folder / "report.json")
    return {"seed": seed, "fmax_mhz": fmax, "used": used}


def _read(device: Device, path: Path) -> tuple[float, dict[str, int]]:
    """Fmax of the one clock, in MHz, and the cells in use."""
    try:
        report = json.loads(path.read_text())
        (clock,) = report["fmax"].values()
        fmax = float(clock["achieved"])
        used = {cell: count["used"] for cell, count in report["utilization"].items() if count["used"]}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        raise ToolError(f"{device.program} reported no Fmax") from None
    if not (math.isfinite(fmax) and fmax > 0 and used.get(device.logic_cells)):
        raise ToolError(
            f"{device.program} reported no Fmax of a placed design: {fmax:g} MHz, "
            f"{used.get(device.logic_cells, 0)} {device.logic_cells}"
        )
    return round(fmax, 2), used


def _too_full(log: str) -> str | None:
    """The first resource of which more is asked than there is, as 'used of available NAME'."""
    for name, used, available in re.findall(r"^Info:\s+(\w+):\s+(\d+)/\s*(\d+)\s+\d+%", log, flags=re.M):
        if int(used) > int(available):
            return f"{used} of {available} {name}"
    return None


def _first_error(text: str, status: int) -> str:
    return next(
        (line.strip() for line in text.splitlines() if "ERROR" in line or "Error" in line), f"exit status {status}"
    )
