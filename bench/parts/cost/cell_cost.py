"""Cost of converters in the standard cells of OSU 0.18 um, of ours and of the paper, in one flow.

The library is the Debian package `qflow-tech-osu018`. Its licence is the GPL, so it is fetched into the cache and is
not in the tree. The Verilog of the paper is fetched from where its authors published it.
"""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

from mxcast.hdl import converter_config
from mxcast.host.cache import kept_folder
from mxcast.host.files import write_whole
from mxcast.spec import BLOCKS
from mxcast.synth.asic.liberty import asic_cells, nand2_area
from mxcast.synth.synthesis import TOP, cost_of, modules_of
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
}
"""Jobs by name: a profile, and fields that override it."""
SHOWN = {"paper": "paper", "ocp flush": "flushed", "ocp": "exact", "nvidia": "exact, ceil"}
LIMITS = {**dict.fromkeys(FORMATS, 1.0), "int8": 1.1}
"""Largest area of ``ocp flush``, as a multiple of the paper's area."""
EXACT = 1.15
"""Largest area of ``ocp``, as a multiple of the area of ``ocp flush``."""
CEIL = 1.12
"""Largest area of ``nvidia``, as a multiple of the area of ``ocp``."""


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

    def add(design: str, name: str, text: str, top: str) -> None:
        cost = cost_of(text, top, target)
        figures = {"area": cost.logic_cells, "nand2": round(cost.logic_cells / gate), "delay_ps": cost.delay_ps}
        found.append({"design": design, "format": name, **figures})
        print(found[-1], flush=True)

    for name in FORMATS:
        files = sorted((paper(given) / f"FP32x32_{name.upper()}_2").glob("*.v"))
        text = "\n".join(file.read_text(errors="replace") for file in files)
        add("paper", name, text, "FP32_INT8" if name == "int8" else "FP32_M5E2")
        for job, (profile, fields) in JOBS.items():
            add(job, name, modules_of(converter_config(name, profile, target="asic", **fields)), TOP)
    return found


def markdown(figures: list[dict]) -> str:
    """A row for each format: areas, their ratios with the limits, and abc's delays."""
    found = {(figure["design"], figure["format"]): figure for figure in figures}
    designs = ("paper", *JOBS)
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
                **{f"ps: {SHOWN[design]}": found[design, name]["delay_ps"] for design in designs},
            }
        )
    return table(list(rows[0]), (list(row.values()) for row in rows))


def _marked(ratio: float, most: float) -> str:
    """A ratio, in bold where it is above its limit."""
    return f"{ratio:.2f}" if ratio <= most else f"**{ratio:.2f}**"


def keep(given: Path | None) -> None:
    write_whole(KEPT, json.dumps({"yosys": yosys_version(), "figures": measured(given)}, indent=1) + "\n")
