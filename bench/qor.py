"""Measure what converters cost, beside those of others and the bars that are set, and write the tables of
docs/results.md and README.md.

    python bench/qor.py                    what is not on record for the Verilog and the tools of today; hours, if
    nothing is python bench/qor.py --only 'e4m3 xcu'  only the points whose line has all of these words python
    bench/qor.py --list             the points, and which are on record python bench/qor.py --render           only
    write the tables, from records/qor.json

An interrupted run goes on where it was. A point is a job (rules, source, clauses) in a variant (how it is built), a
format and a flow.
"""

import argparse
import json
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import qor_tables
from exhaustive import fingerprint

from mxcast.hdl import ConverterConfig, converter_config
from mxcast.host.files import write_whole
from mxcast.proof import prove
from mxcast.proof.solver import solver_version
from mxcast.spec import BLOCKS
from mxcast.synth import TARGETS, place_and_route, synth
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
"""What is computed, by name: a profile, and fields over it."""
VARIANTS: dict[str, dict[str, object]] = {
    "smallest": {},
    "speed": {"optimize": "speed"},
    "pipelined": {
        "amax": "compare",
        "quantizer": "table",
        "registered_after": "level1,level2,level3,level4,level5,scale,top,distance,chosen",
    },
    "plain": {},
}
"""How it is built, by name: fields of `Microarchitecture`. ``smallest`` is what has the fewest LUTs on the target
(`Target.smallest`), ``plain`` what is emitted unless something else is asked for. None instantiates a primitive of a
vendor.
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
RELAXED = ("gorodecky_sousa", "ocp flush", "ocp")
"""Jobs that are also mapped for area on xcu, as small as they get."""
PLACED = {
    "pipelined": {"ocp flush": FORMATS, "ocp bf16": ("e5m2", "e4m3", "e2m1")},
    "speed": {"ocp flush": ("e5m2", "e4m3", "e2m1")},
}
"""Formats that are placed and routed, by variant and job: a dozen."""
SEEDS = 5


@dataclass(frozen=True)
class Point:
    job: str
    variant: str
    format: str
    flow: str
    """A target of `synth`; ``pnr``: place and route on ECP5; or ``proof``: that of what is measured on xcu."""

    @property
    def label(self) -> dict[str, str]:
        return {"job": self.job, "variant": self.variant, "format": self.format, "flow": self.flow}

    def __str__(self) -> str:
        return " ".join(self.label.values())

    @cached_property
    def config(self) -> ConverterConfig:
        profile, fields = JOBS[self.job]
        ways = (
            TARGETS["xcu" if self.flow == "proof" else self.flow].smallest
            if self.variant == "smallest"
            else VARIANTS[self.variant]
        )
        return converter_config(self.format, profile, **fields, **ways)

    @cached_property
    def identity(self) -> dict[str, object]:
        """What the result depends on."""
        placed = {"nextpnr": nextpnr_version(DEVICES["ecp5"]), "seeds": SEEDS} if self.flow == "pnr" else {}
        if self.flow == "proof":
            placed = {"solver": solver_version("bitwuzla")}
        return {
            "config_id": self.config.config_id,
            "verilog": fingerprint(self.config),
            "yosys": yosys_version(),
            **placed,
        }

    def measure(self) -> dict[str, object]:
        if self.flow == "proof":
            with tempfile.TemporaryDirectory() as folder:
                found = prove(self.config, out=folder)
            return {"status": str(found.status), "way": found.way, "seconds": found.seconds}
        if self.flow == "pnr":
            found = place_and_route(self.config, "ecp5", seeds=SEEDS)
            own = {f"own_{name}": getattr(found.design, name) for name in ("luts", "carries", "ffs")}
            return {
                **own,
                "logic_cells": found.logic_cells,
                "ffs": found.runs[0]["used"].get("TRELLIS_FF", 0),
                "fmax_mhz": found.fmax_mhz,
                "fmax_range_mhz": list(found.fmax_range_mhz),
            }
        whole = synth(self.config, self.flow, stages=False).whole.to_dict()
        return {name: whole[name] for name in ("luts", "carries", "muxes", "ffs", "logic_cells", "levels", "delay_ps")}


def points() -> Iterator[Point]:
    """Everything that is measured, in the order of the tables."""
    for variant in VARIANTS:
        for job in ONLY.get(variant, JOBS):
            relaxed = ("xcu-relaxed",) if variant == "smallest" and job in RELAXED else ()
            yield from (
                Point(job, variant, name, target) for name in FORMATS for target in (*MEASURED[variant], *relaxed)
            )
        for job, formats in PLACED.get(variant, {}).items():
            yield from (Point(job, variant, name, "pnr") for name in formats)


def records() -> list[dict]:
    return json.loads(KEPT.read_text()) if KEPT.exists() else []


def by_point() -> dict[Point, dict]:
    return {Point(*(record[name] for name in ("job", "variant", "format", "flow"))): record for record in records()}


def rendered(page: str) -> str:
    return qor_tables.rendered(page, records())


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", metavar="WORDS", default="")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--render", action="store_true")
    options = parser.parse_args(arguments)
    order = list(points())
    if not options.render:
        for point in (p for p in order if set(options.only.split()) <= set(str(p).split())):
            kept = by_point()
            current = point in kept and all(kept[point][name] == value for name, value in point.identity.items())
            if options.list:
                print(f"{point}{': on record' if current else ''}")
            elif not current:
                found = {**point.label, **point.identity, "result": point.measure()}
                print(point, {name: value for name, value in found["result"].items() if value}, flush=True)
                kept = by_point() | {point: found}  # another run may have written meanwhile
                write_whole(KEPT, json.dumps([kept[p] for p in order if p in kept], indent=1) + "\n")
    if not options.list:
        for path in PAGES:
            path.write_text(rendered(path.read_text()))


if __name__ == "__main__":
    main()
