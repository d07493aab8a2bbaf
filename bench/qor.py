"""Measure the cost of converters, next to other projects and to limits, and write the tables of
docs/results.md and README.md.

    python bench/qor.py                    what is not on record for the Verilog and the tools of today; hours, if
                                           nothing is
    python bench/qor.py --only 'e4m3 xcu'  only the lines that have all of these words
    python bench/qor.py --list             the lines, and which are on record
    python bench/qor.py --part decoders    decoders, tiles or hadamard; nvfp4: hardware of NVFP4 in parts; cells:
                                           standard cells, for which --paper is a clone of the paper's Verilog
                                           (otherwise it is fetched)
    python bench/qor.py --render           only write the tables, from the records

A line is a task (rules, source, clauses) in a variant (how it is built), a format and a flow. A job of
`mxcast.explore` measures its figures, so an interrupted run resumes.
"""

import argparse
import json
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from parts.cost import cell_cost, decoder_cost, hadamard_cost, nvfp4_cost, qor_tables, tile_cost
from parts.pages import filled

from mxcast.explore import Point, jobs, point_of
from mxcast.host.files import write_whole
from mxcast.proof import prove
from mxcast.proof.solve.solver import solver_version
from mxcast.spec import BLOCKS
from mxcast.synth.devices import DEVICES
from mxcast.synth.nextpnr import nextpnr_version
from mxcast.synth.yosys import yosys_version

ROOT = Path(__file__).parent.parent
KEPT = ROOT / "records" / "qor.json"
PAGES = (ROOT / "docs" / "results.md", ROOT / "README.md")

FORMATS = tuple(block.short_name for block in BLOCKS.values())
JOBS: dict[str, tuple[str, dict[str, str]]] = {
    "gorodecky_sousa": ("gorodecky_sousa", {"input_subnormals": "flush"}),  # the paper does not normalise
    "ocp flush": ("ocp", {"input_subnormals": "flush"}),
    "ocp": ("ocp", {}),
    "nvidia": ("nvidia", {}),
    "nvidia flush": ("nvidia", {"input_subnormals": "flush"}),
    "ocp flush drop": ("ocp", {"input_subnormals": "flush", "specials": "drop"}),
    "gorodecky_sousa bf16": ("gorodecky_sousa", {"source": "bf16", "input_subnormals": "flush"}),
    "ocp bf16": ("ocp", {"source": "bf16"}),
    "nvidia bf16": ("nvidia", {"source": "bf16"}),
}
"""Jobs by name: a profile, and fields that override it."""
VARIANTS: dict[str, dict[str, object]] = {
    "smallest": {"optimize": "area"},
    "speed": {"optimize": "speed"},
    "pipelined": {
        "optimize": "plain",
        "quantizer": "table",
        "registered_after": "level1,level2,level3,level4,level5,scale,top,distance,chosen",
    },
    "plain": {"optimize": "plain"},
}
"""How it is built, by name: fields of `Microarchitecture`. ``smallest`` is what the target gets unless something else
is asked for. None instantiates a primitive of a vendor.
"""
MEASURED = {
    "smallest": ("proof", "xcu", "ecp5", "ice40", "lut6"),
    "plain": ("xcu",),
    "speed": ("xcu", "ecp5"),
    "pipelined": ("xcu",),
}
"""Flows of each variant."""
ONLY = {"plain": ("ocp", "ocp flush"), "speed": ("ocp flush",), "pipelined": ("ocp flush", "ocp bf16")}
"""Jobs of the variants that do not have all."""
RELAXED = {"xcu-relaxed": ("gorodecky_sousa", "ocp flush", "ocp"), "ecp5-relaxed": ("ocp flush", "ocp", "nvidia")}
"""Jobs that are also mapped for area, as small as they get, by flow."""
PLACED = {
    "pipelined": {"ocp flush": FORMATS, "ocp bf16": ("e5m2", "e4m3", "e2m1")},
    "speed": {"ocp flush": ("e5m2", "e4m3", "e2m1")},
}
"""Formats that are placed and routed, by variant and job: a dozen."""
SEEDS = 5


@dataclass(frozen=True)
class Line:
    """A line of the tables, by the names in the records."""

    job: str
    variant: str
    format: str
    flow: str
    """A target of `synth`, ``pnr`` for place and route on ECP5, or ``proof`` for the proof of the design for xcu."""

    @property
    def label(self) -> dict[str, str]:
        return {"job": self.job, "variant": self.variant, "format": self.format, "flow": self.flow}

    def __str__(self) -> str:
        return " ".join(self.label.values())

    @cached_property
    def point(self) -> Point:
        """What is measured."""
        profile, fields = JOBS[self.job]
        where = {"pnr": {"target": "ecp5", "seeds": SEEDS}, "proof": {"target": "xcu"}}
        flow = where.get(self.flow, {"target": self.flow})
        return point_of({"format": self.format, "profile": profile, **fields, **VARIANTS[self.variant], **flow})

    @cached_property
    def identity(self) -> dict[str, object]:
        """Values on which the figures depend."""
        config = self.point.config
        placed = {"nextpnr": nextpnr_version(DEVICES["ecp5"]), "seeds": SEEDS} if self.flow == "pnr" else {}
        if self.flow == "proof":
            placed = {"solver": solver_version("bitwuzla")}
        return {"config_id": config.config_id, "verilog": jobs.emitted(config), "yosys": yosys_version(), **placed}

    def proved(self) -> dict[str, object]:
        with tempfile.TemporaryDirectory() as folder:
            found = prove(self.point.config, out=folder)
        return {"status": str(found.status), "method": found.method, "seconds": found.seconds}

    def figures(self, result: dict) -> dict[str, object]:
        """Figures in the result of a job."""
        if self.flow == "pnr":
            placed = result["placed"]
            return {
                **{f"own_{name}": placed[name] for name in ("luts", "carries", "ffs")},
                "logic_cells": placed["logic_cells"],
                "ffs": placed["used"].get("TRELLIS_FF", 0),
                "fmax_mhz": placed["fmax_mhz"],
                "fmax_range_mhz": [placed["fmax_lowest_mhz"], placed["fmax_highest_mhz"]],
            }
        measured = ("luts", "carries", "muxes", "ffs", "logic_cells", "levels", "delay_ps")
        return {name: result["whole"][name] for name in measured}


def lines() -> Iterator[Line]:
    """Everything that is measured, in the order of the tables."""
    for variant in VARIANTS:
        for job in ONLY.get(variant, JOBS):
            relaxed = [flow for flow, some in RELAXED.items() if variant == "smallest" and job in some]
            yield from (
                Line(job, variant, name, target) for name in FORMATS for target in (*MEASURED[variant], *relaxed)
            )
        for job, formats in PLACED.get(variant, {}).items():
            yield from (Line(job, variant, name, "pnr") for name in formats)


def records() -> list[dict]:
    return json.loads(KEPT.read_text()) if KEPT.exists() else []


def by_line() -> dict[Line, dict]:
    return {Line(*(record[name] for name in ("job", "variant", "format", "flow"))): record for record in records()}


def is_current(line: Line) -> bool:
    """Whether the record of a line is of the Verilog and the tools of today."""
    kept = by_line().get(line, {})
    return all(kept.get(name) == value for name, value in line.identity.items())


def measured(asked: list[Line]) -> Iterator[tuple[Line, dict]]:
    """The figures of these lines, as jobs end; then the proofs."""
    by_point: dict[str, list[Line]] = {}
    for line in asked:
        if line.flow != "proof":
            by_point.setdefault(line.point.id, []).append(line)
    for point, check in jobs.locally([alike[0].point for alike in by_point.values()]):
        for line in by_point[point.id]:
            if check.result is None:
                raise SystemExit(f"{line}: {check.error}")
            yield line, line.figures(check.result)
    yield from ((line, line.proved()) for line in asked if line.flow == "proof")


def rendered(page: str) -> str:
    parts = (decoder_cost, nvfp4_cost, tile_cost, hadamard_cost, cell_cost)
    decoders, nvfp4, tiles, transforms, cells = (json.loads(part.KEPT.read_text()) for part in parts)
    texts = {
        "decoder cost": decoder_cost.markdown(decoders["figures"]),
        "nvfp4 cost": nvfp4_cost.markdown(nvfp4),
        "tile cost": tile_cost.markdown(tiles["figures"]),
        "hadamard cost": hadamard_cost.markdown(transforms["figures"]),
        "cell cost": cell_cost.markdown(cells["figures"]),
        "cell times": cell_cost.times(cells["figures"]),
    }
    return filled(qor_tables.rendered(page, records(), cells["figures"]), texts)


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("--only", metavar="WORDS", default="")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--render", action="store_true")
    parser.add_argument("--part", choices=["decoders", "nvfp4", "tiles", "hadamard", "cells"])
    parser.add_argument("--paper", metavar="FOLDER", type=Path)
    options = parser.parse_args(arguments)
    order = list(lines())
    asked = [line for line in order if set(options.only.split()) <= set(str(line).split())]
    if options.list:
        for line in asked:
            print(f"{line}{': on record' if is_current(line) else ''}")
        return
    if options.part == "cells":
        cell_cost.keep(options.paper)
    elif options.part == "tiles":
        tile_cost.keep(options.only)
    elif options.part:
        {"decoders": decoder_cost, "nvfp4": nvfp4_cost, "hadamard": hadamard_cost}[options.part].keep()
    elif not options.render:
        for line, figures in measured([line for line in asked if not is_current(line)]):
            print(line, {name: value for name, value in figures.items() if value}, flush=True)
            kept = by_line() | {
                line: {**line.label, **line.identity, "result": figures}
            }  # another run may have written
            write_whole(KEPT, json.dumps([kept[one] for one in order if one in kept], indent=1) + "\n")
    for path in PAGES:
        path.write_text(rendered(path.read_text()))


if __name__ == "__main__":
    main()
