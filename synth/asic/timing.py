"""The longest path of a mapped design, and the energy of a block, by OpenSTA: with buffers, and before placement, so
without wires.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import numpy as np

from ...host.errors import ToolError, ToolMissing
from ...host.files import sha256
from ...host.processes import run
from ..targets import LIBRARY, OPENED, Target
from ..yosys import execute
from .activity import simulated
from .liberty import BUFFERING, MAPPING

PROGRAM, OPENSTA_ADVICE = "sta", "apt-get install opensta"
PERIOD = 1000.0
"""Clock period in nanoseconds; a block enters in each. Neither path nor energy depends on it."""
CLOCKS = ("clk", "aclk")
"""Ports of clocks: of valid and ready, and of AXI4-Stream."""
MAPPED, CELLS, COUNTED = "mapped.json", "cells.json", "stat.json"

INSTANCE = re.compile(r"^ +([\d.e+-]+) +([\d.e+-]+) +[\d.e+-]+ +[\d.e+-]+ (\w+)$", re.M)
"""Internal and switching power of a cell in a report."""
VOLTAGE = re.compile(r"\bnom_voltage\s*:\s*\"?([\d.]+)")

SCRIPT = """\
read_liberty {library}
read_verilog mapped.v
link_design {top}
{clock}
set_input_delay 0 -clock clk [all_inputs]
set_output_delay 0 -clock clk [all_outputs]
report_checks -path_delay max -digits 4
set_power_activity -global -activity 1 -duty 0.5
report_power -digits 9
foreach cell [get_cells *] {{ report_power -instances $cell -digits 12 }}
"""

METHOD = repr((SCRIPT, PERIOD, CLOCKS, BUFFERING))
"""Part of the key of kept results, next to the Verilog, the target and the versions of the tools."""

Bits: TypeAlias = "Mapping[str, np.ndarray]"
"""The bits (n, width) of each port, by its name."""


@dataclass(frozen=True)
class Blocks:
    """Blocks one after another, and the right results."""

    given: Bits
    expected: Bits

    @property
    def digest(self) -> str:
        """It differs if any bit does."""
        ports = [*self.given.items(), *self.expected.items()]
        return sha256("".join(f"{name} {np.packbits(bits).tobytes().hex()}" for name, bits in ports))

    def __len__(self) -> int:
        return len(next(iter(self.given.values())))


@dataclass(frozen=True, kw_only=True)
class Timing:
    """The longest path and the energy of a design by OpenSTA."""

    delay_ns: float
    """Between ports and registers, with the setup time of a register."""
    path: tuple[str, ...]
    """The cells on this path, by type."""
    area: float
    """In the units of the Liberty file, with the buffers."""
    energy_pj: float | None
    """Energy of a block inside cells and on nets, without leakage and glitches; None without blocks, or if the
    Liberty file has no voltage and no energies."""
    leakage_nw: float
    voltage: float | None
    """Nominal voltage of the Liberty file, if it says so."""
    opensta: str
    """Version of OpenSTA."""
    blocks: int = 0
    """Blocks by which nets switch."""

    def to_dict(self) -> dict[str, object]:
        return {**vars(self), "path": list(self.path)}


def opensta() -> str:
    """The program of OpenSTA. Raises `ToolMissing` without it."""
    found = shutil.which(PROGRAM)
    if found is None:
        raise ToolMissing(f"OpenSTA is missing: {OPENSTA_ADVICE}")
    return found


def opensta_version() -> str:
    """The version of OpenSTA. Raises `ToolMissing` without it."""
    return run([opensta(), "-version"]).output.split()[0]


def timed(text: str, top: str, target: Target, folder: Path, blocks: Blocks | None = None) -> Timing:
    """Map module ``top`` of a Verilog text to the cells of a target with a Liberty file, with buffers, and ask OpenSTA.

    The nets that ``blocks`` switch give the energy. Script, netlist and reports stay in ``folder``.

    Raises `ToolMissing` without OpenSTA, `ToolError` if a tool fails or the mapped design has other results, and
    ValueError for blocks of a design with registers.
    """
    program = opensta()
    if target.library is None or not target.timed:
        raise ValueError("OpenSTA needs a Liberty file with delays")
    (folder / "converter.v").write_text(text)
    (folder / LIBRARY).write_text(target.library)
    named = ["splitnets", "opt_clean -purge", "rename -enumerate"]
    script = target.script.format(top=top).replace(MAPPING, MAPPING + BUFFERING)
    written = ["write_verilog -noattr -noexpr -simple-lhs mapped.v", f"write_json {MAPPED}"]
    counted = [f"tee -q -o {COUNTED} stat -json -liberty {LIBRARY}"]
    functions = ["design -reset", f"read_liberty -ignore_miss_func {LIBRARY}", f"write_json {CELLS}"]
    execute(["read_verilog converter.v", script, OPENED, *named, *counted, *written, *functions], folder)
    design = json.loads((folder / MAPPED).read_text())["modules"][top]
    rates = None
    if blocks is not None:
        modules = json.loads((folder / CELLS).read_text())["modules"] | {top: design}
        rates = _rates(modules, top, blocks)
    source = next((f" [get_ports {name}]" for name in CLOCKS if name in design["ports"]), "")
    clock = f"create_clock -name clk -period {PERIOD}{source}"
    (folder / "timing.tcl").write_text(SCRIPT.format(library=LIBRARY, top=top, clock=clock))
    done = run([program, "-exit", "timing.tcl"], cwd=folder)
    report = done.output + done.errors
    (folder / "timing.log").write_text(report)
    slack = re.search(r"(-?[\d.]+)\s+slack", report)
    power = re.search(r"^Total((?:\s+[\d.e+-]+){4})", report, re.M)
    said = re.search(r"^Error: (.*)", report, re.M)
    if done.status or said or slack is None or power is None:
        raise ToolError(f"OpenSTA failed: {said[1] if said else 'it reports no path'}", report)
    each = {name: float(one) + float(other) for one, other, name in INSTANCE.findall(report)}
    energy = None
    if rates is not None and any(each.values()):
        energy = round(sum(each[name] * rate for name, rate in rates.items()) * PERIOD * 1e3, 3)
    return Timing(
        delay_ns=round(PERIOD - float(slack[1]), 4),
        area=json.loads((folder / COUNTED).read_text())["design"]["area"],
        path=tuple(dict(re.findall(r"[\^v] (\S+)/\w+ \((\w+)\)$", report, re.M)).values()),
        energy_pj=energy,
        leakage_nw=round(float(power[1].split()[2]) * 1e9, 3),
        voltage=float(voltage[1]) if (voltage := VOLTAGE.search(target.library)) else None,
        opensta=opensta_version(),
        blocks=len(blocks) if blocks else 0,
    )


def _rates(modules: Mapping[str, dict], top: str, blocks: Blocks) -> dict[str, float]:
    """How often the outputs of each cell switch from one block to the next. OpenSTA has the energy for once."""
    known, design = simulated(modules, top, blocks.given), modules[top]
    for name, bits in blocks.expected.items():
        found = np.stack([known[bit] for bit in design["ports"][name]["bits"]], axis=1)
        if not np.array_equal(found, bits):
            raise ToolError(f"the mapped design has another {name} than the golden model")
    rates = {}
    for name, cell in design["cells"].items():
        ports, pins = modules[cell["type"]]["ports"], cell["connections"].items()
        values = [known[bits[0]] for pin, bits in pins if bits and ports[pin]["direction"] == "output"]
        rates[name] = float(np.mean([value[1:] != value[:-1] for value in values]))
    return rates
