"""Cost of converters in the standard cells of OSU 0.18 um, of ours and of the paper, in one flow.

The library is the Debian package `qflow-tech-osu018`. Its licence is the GPL, so it is fetched into the cache and is
not in the tree. The Verilog of the paper is fetched from where its authors published it.
"""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import numpy as np

from mxcast.hdl import converter_config
from mxcast.host.cache import kept_folder
from mxcast.host.errors import ToolMissing
from mxcast.host.files import write_whole
from mxcast.sim.stimuli.weights import weights_of
from mxcast.spec import BLOCKS
from mxcast.synth.asic.liberty import asic_cells, nand2_area
from mxcast.synth.asic.timing import Blocks, opensta_version
from mxcast.synth.synthesis import TOP, cost_of, modules_of, timing_of
from mxcast.synth.yosys import yosys_version

from ..pages import table

ROOT = Path(__file__).parents[3]
KEPT = ROOT / "records" / "cell_cost.json"
PACKAGE = "qflow-tech-osu018"
LIBRARY = "usr/share/qflow/tech/osu018/osu018_stdcells.lib"
PAPER = "https://github.com/ZeboZebo702/MX-formats"
FORMATS = tuple(block.short_name for block in BLOCKS.values())
JOBS: dict[str, tuple[str, dict[str, str]]] = {
    "ocp flush": ("ocp", {"input_subnormals": "flush"}),
    "ocp": ("ocp", {}),
    "nvidia": ("nvidia", {}),
    "speed": ("ocp", {"input_subnormals": "flush", "optimize": "speed"}),
}
"""Jobs by name: a profile, and fields that override it."""
SHOWN = {
    "paper": "paper",
    "ocp flush": "flushed",
    "ocp": "exact",
    "nvidia": "exact, ceil",
    "speed": "flushed, for speed",
}
LIMITS = {**dict.fromkeys(FORMATS, 1.0), "int8": 1.1}
"""Largest area of ``ocp flush``, as a multiple of the paper's area."""
EXACT = 1.15
"""Largest area of ``ocp``, as a multiple of the area of ``ocp flush``."""
CEIL = 1.12
"""Largest area of ``nvidia``, as a multiple of the area of ``ocp``."""
DELAY = 0.85
"""Largest delay of ``ocp flush`` and of ``speed``, as a multiple of the paper's delay."""


def _fetched(name: str, commands: list[list[str]], advice: str) -> Path:
    """A folder of the cache in which these commands have run. Raises SystemExit with the advice if one fails."""

    def make(folder: Path) -> None:
        for command in commands:
            if subprocess.run(command, cwd=folder, capture_output=True).returncode:
                raise SystemExit(f"qor-asic: {' '.join(command)} failed: {advice}")

    return kept_folder("fetched", [name, json.dumps(commands)], make)


def library() -> Path:
    """The Liberty file, fetched once."""
    unpack = ["sh", "-c", f"dpkg-deb -x {PACKAGE}_*.deb ."]
    advice = "a Debian system and its network are needed; run apt-get update first"
    return _fetched(PACKAGE, [["apt-get", "download", PACKAGE], unpack], advice) / LIBRARY


def paper(folder: Path | None) -> Path:
    """The folder with the Verilog of the paper, fetched once unless given."""
    if folder is None:
        clone = ["git", "clone", "--depth", "1", PAPER, "."]
        folder = _fetched("paper", [clone], "give a clone of it as --paper FOLDER")
    return folder / "FP32_to_MX"


def measured(given: Path | None) -> list[dict[str, object]]:
    target = asic_cells(library())
    assert target.library is not None
    gate = nand2_area(target.library)
    assert gate is not None
    found = []

    def add(design: str, name: str, text: str, top: str, blocks: Blocks) -> None:
        cost, timing = cost_of(text, top, target), timing_of(text, target, blocks, top)
        figures = {"area": cost.logic_cells, "nand2": round(cost.logic_cells / gate)}
        figures |= {name: getattr(timing, name) for name in ("delay_ns", "energy_pj", "voltage", "blocks")}
        figures["buffered_area"] = round(timing.area)
        found.append({"design": design, "format": name, **figures})
        print(found[-1], flush=True)

    for name in FORMATS:
        files = sorted((paper(given) / f"FP32x32_{name.upper()}_2").glob("*.v"))
        text = "\n".join(file.read_text(errors="replace") for file in files)
        x = weights_of(converter_config(name))[0]["x"]
        numbers = {f"V_{lane + 1}": part for lane, part in enumerate(np.split(x, 32, axis=1))}
        add("paper", name, text, "FP32_INT8" if name == "int8" else "FP32_M5E2", Blocks(numbers, {}))
        for job, (profile, fields) in JOBS.items():
            config = converter_config(name, profile, target="asic", **fields)
            add(job, name, modules_of(config), TOP, Blocks(*weights_of(config)))
    return found


def markdown(figures: list[dict]) -> str:
    """A row for each format: areas, and their ratios with the limits."""
    found = {(figure["design"], figure["format"]): figure for figure in figures}
    designs = ("paper", "ocp flush", "ocp", "nvidia")
    rows = []
    for name in FORMATS:
        area = {design: found[design, name]["area"] for design in designs}
        limits = (("ocp flush", "paper", LIMITS[name]), ("ocp", "ocp flush", EXACT), ("nvidia", "ocp", CEIL))
        ratios = [(area[ours] / area[theirs], most) for ours, theirs, most in limits]
        rows.append(
            {
                "format": name,
                **{SHOWN[design]: f"{area[design] / 1000:.1f}" for design in designs},
                "flushed, NAND2": found["ocp flush", name]["nand2"],
                **{
                    f"{label}, at most {'1.0 (INT8 1.1)' if label == 'flushed / paper' else most}": _marked(ratio, most)
                    for label, (ratio, most) in zip(("flushed / paper", "exact / flushed", "ceil / exact"), ratios)
                },
            }
        )
    return table(list(rows[0]), (list(row.values()) for row in rows))


def times(figures: list[dict]) -> str:
    """A row for each format: longest paths in nanoseconds and the energy of a block, as multiples of the paper's."""
    found = {(figure["design"], figure["format"]): figure for figure in figures}
    rows = []
    for name in FORMATS:
        paper_ns, paper_pj = (found["paper", name][figure] for figure in ("delay_ns", "energy_pj"))
        delays = {design: found[design, name]["delay_ns"] for design in JOBS}
        energies = {design: found[design, name]["energy_pj"] for design in JOBS}
        rows.append(
            {
                "format": name,
                "ns: paper": f"{paper_ns:.2f}",
                **{f"ns: {SHOWN[design]}": f"{delay:.2f}" for design, delay in delays.items()},
                **{
                    f"{SHOWN[design]} / paper, at most {DELAY}": _marked(delays[design] / paper_ns, DELAY)
                    for design in ("ocp flush", "speed")
                },
                **{
                    f"energy: {SHOWN[design]} / paper": f"{energy / paper_pj:.2f}"
                    for design, energy in energies.items()
                },
            }
        )
    voltage, blocks = (found["paper", FORMATS[0]][name] for name in ("voltage", "blocks"))
    conditions = f"OpenSTA at {voltage} V, with buffers, before placement; energy of {blocks} blocks of real weights."
    return table(list(rows[0]), (list(row.values()) for row in rows)) + f"\n{conditions}\n"


def _marked(ratio: float, most: float) -> str:
    """A ratio, in bold where it is above its limit."""
    return f"{ratio:.2f}" if ratio <= most else f"**{ratio:.2f}**"


def keep(given: Path | None) -> None:
    try:
        versions = {"yosys": yosys_version(), "opensta": opensta_version()}
    except ToolMissing as error:
        raise SystemExit(f"qor-asic: {error}") from None
    kept = {**versions, "figures": measured(given)}
    write_whole(KEPT, json.dumps(kept, indent=1) + "\n")
