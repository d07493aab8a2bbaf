"""The longest path of a mapped design, and the energy of a block, by OpenSTA: before placement, so without wires."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ...host.errors import ToolError, ToolMissing
from ...host.files import sha256
from ...host.processes import run
from ..targets import LIBRARY, OPENED, Target
from ..yosys import execute
from .activity import simulated

PROGRAM, ADVICE = "sta", "apt-get install opensta"
PERIOD = 1000.0
"""Clock period in nanoseconds; a block enters in each. Neither path nor energy depends on it."""
MAPPED, CELLS = "mapped.json", "cells.json"

VOLTAGE = re.compile(r"\bnom_voltage\s*:\s*\"?([\d.]+)")

SCRIPT = """\
read_liberty {library}
read_verilog mapped.v
link_design {top}
{clock}
set_input_delay 0 -clock clk [all_inputs]
set_output_delay 0 -clock clk [all_outputs]
report_checks -path_delay max -digits 4
source activity.tcl
report_power -digits 9
"""


@dataclass(frozen=True, kw_only=True)
class Blocks:
    """Blocks one after another: the bits (n, width) of each port by its name."""

    given: Mapping[str, np.ndarray]
    expected: Mapping[str, np.ndarray]

    @property
    def digest(self) -> str:
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
    energy_pj: float | None
    """Energy of a block inside cells and on nets, without leakage and glitches; None without blocks."""
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
        raise ToolMissing(f"OpenSTA is missing: {ADVICE}")
    return found


def opensta_version() -> str:
    """The version of OpenSTA. Raises `ToolMissing` without it."""
    return run([opensta(), "-version"]).output.split()[0]


def timed(
    text: str,
    top: str,
    target: Target,
    folder: Path,
    blocks: Blocks | None = None,
) -> Timing:
    """Map module ``top`` of a Verilog text to the cells of a target with a Liberty file, and ask OpenSTA.

    The nets that ``blocks`` switch give the energy. Script, netlist and reports stay in ``folder``.

    Raises `ToolMissing` without OpenSTA, `ToolError` if a tool fails or the mapped design has other results, and
    ValueError for blocks of a design with registers.
    """
    program = opensta()
    assert target.library is not None
    (folder / "converter.v").write_text(text)
    (folder / LIBRARY).write_text(target.library)
    named = ["splitnets", "opt_clean -purge", "rename -enumerate"]
    written = ["write_verilog -noattr -noexpr -simple-lhs mapped.v", f"write_json {MAPPED}"]
    functions = ["design -reset", f"read_liberty -ignore_miss_func {LIBRARY}", f"write_json {CELLS}"]
    execute(["read_verilog converter.v", target.script.format(top=top), OPENED, *named, *written, *functions], folder)
    design = json.loads((folder / MAPPED).read_text())["modules"][top]
    lines: list[str] = []
    if blocks is not None:
        modules = json.loads((folder / CELLS).read_text())["modules"] | {top: design}
        lines = _activity(modules, top, blocks)
    (folder / "activity.tcl").write_text("".join(lines))
    source = " [get_ports clk]" if "clk" in design["ports"] else ""
    clock = f"create_clock -name clk -period {PERIOD}{source}"
    (folder / "timing.tcl").write_text(SCRIPT.format(library=LIBRARY, top=top, clock=clock))
    done = run([program, "-exit", "timing.tcl"], cwd=folder)
    report = done.output + done.errors
    (folder / "timing.log").write_text(report)
    slack = re.search(r"(-?[\d.]+)\s+slack", report)
    power = re.search(r"^Total((?:\s+[\d.e+-]+){4})", report, re.M)
    if done.status or "Error" in report or slack is None or power is None:
        said = next((line for line in report.splitlines() if "Error" in line), "it reports no path")
        raise ToolError(f"OpenSTA failed: {said}", report)
    internal, switching, leakage, _ = map(float, power[1].split())
    return Timing(
        delay_ns=round(PERIOD - float(slack[1]), 4),
        path=tuple(re.findall(r"[\^v] \S+/\w+ \((\w+)\)$", report, re.M)),
        energy_pj=round((internal + switching) * PERIOD * 1e3, 3) if blocks else None,
        leakage_nw=round(leakage * 1e9, 3),
        voltage=float(voltage[1]) if (voltage := VOLTAGE.search(target.library)) else None,
        opensta=opensta_version(),
        blocks=len(blocks) if blocks else 0,
    )


def _activity(modules: Mapping[str, dict], top: str, blocks: Blocks) -> list[str]:
    """Commands of OpenSTA that say how often each output of a cell switches in a clock cycle, and how long it is 1."""
    known, design = simulated(modules, top, blocks.given), modules[top]
    for name, bits in blocks.expected.items():
        found = np.stack([known[bit] for bit in design["ports"][name]["bits"]], axis=1)
        if not np.array_equal(found, bits):
            raise ToolError(f"the mapped design has another {name} than the golden model")

    def rates(bit: object) -> str:
        values = known[bit]
        return f"{np.count_nonzero(values[1:] != values[:-1]) / (len(values) - 1):.6g} {values.mean():.6g}"

    lines = [
        f"set_power_activity -input_ports [get_ports {{{name}[{place}]}}] -activity {rate} -duty {duty}\n"
        for name in blocks.given
        for place, bit in enumerate(design["ports"][name]["bits"])
        for rate, duty in [rates(bit).split()]
    ]
    for name, cell in design["cells"].items():
        ports = modules[cell["type"]]["ports"]
        lines += [
            f"::sta::set_power_pin_activity [get_pins {name}/{pin}] {rates(bits[0])}\n"
            for pin, bits in cell["connections"].items()
            if bits and ports[pin]["direction"] == "output"
        ]
    return lines
