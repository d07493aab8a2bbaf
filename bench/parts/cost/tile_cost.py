"""Cost of tile encoders on xcu, next to two encoders and a store that turns a tile of numbers. Takes 40 minutes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from mxcast.hdl import HardwareConfig, configuration, verilog
from mxcast.hdl.emission.modules import convert, fingerprint
from mxcast.hdl.tile.store import CodeStore, ColumnStore, Exchange
from mxcast.host.files import write_whole
from mxcast.spec import is_nvfp4
from mxcast.synth import synth
from mxcast.synth.synthesis import TOP, cost_of
from mxcast.synth.targets import TARGETS
from mxcast.synth.yosys import yosys_version

from ..pages import table

ROOT = Path(__file__).parents[3]
KEPT = ROOT / "records" / "tile_cost.json"

TARGET = "xcu"
SOURCES = {"bf16": 16, "fp32": 32}
"""Formats of the numbers, and their bits."""
JOBS = [
    *(("e4m3", source, subnormals) for source in SOURCES for subnormals in ("flush", "exact")),
    *(("e5m2", source, subnormals) for source in SOURCES for subnormals in ("flush", "exact")),
    *(("e2m1", source, "exact") for source in SOURCES),
    *(("nvfp4", source, "exact") for source in SOURCES),
]
"""Format, source, and treatment of subnormal inputs, which NVFP4 keeps."""


@cache
def of_parts(side: int, bits: int) -> int:
    """LUTs of a store from which the columns of a tile of numbers leave, whose rows enter."""
    parts = (ColumnStore(side, bits), Exchange(side, bits), CodeStore(side, bits))
    return sum(cost_of(convert(part, TOP), TOP, TARGETS[TARGET]).luts for part in parts)


def measured(job: tuple[str, str, str]) -> dict[str, object]:
    """The figures of a job."""
    figures: dict[str, object] = dict(zip(("format", "source", "subnormals"), job))
    for columns in ("in_place", "transposed"):
        config = built("tile", *job, columns=columns)
        cost = synth(config, TARGET, stages=False).whole
        figures |= {columns: cost.luts, f"{columns}_ram": cost.ram_luts, f"{columns}_registers": cost.ffs}
    encoder = synth(built("encode", *job), TARGET, stages=False).whole.luts
    figures |= {"encoder": encoder, "store": of_parts(config.beats, SOURCES[job[1]])}
    return {**figures, "verilog": fingerprint(verilog(config))}


def tile(row: Mapping[str, Any]) -> HardwareConfig:
    """The tile encoder of a row."""
    return built("tile", row["format"], row["source"], row["subnormals"])


def built(op: str, format: str, source: str, subnormals: str, **fields: str) -> HardwareConfig:
    """The hardware of a job."""
    rules = fields if is_nvfp4(format) else {"input_subnormals": subnormals, **fields}
    return configuration(op, format, source=source, target=TARGET, **rules)


def share(row: dict) -> float:
    """LUTs of a tile encoder for a transposed copy, as a share of two encoders and a store."""
    return row["transposed"] / (2 * row["encoder"] + row["store"])


def markdown(figures: list[dict]) -> str:
    """A row for each job: LUTs, and those as RAM, of both orders of the columns, and of two encoders and a store."""
    head = ["format", "source", "subnormals", "in place: LUTs", "of these RAM", "transposed: LUTs", "of these RAM"]
    rows = [
        [row.get(name, "-") for name in ("format", "source", "subnormals", "in_place", "in_place_ram", "transposed")]
        + [row["transposed_ram"], 2 * row["encoder"], row["store"], f"{share(row):.2f}"]
        for row in figures
    ]
    return table([*head, "two encoders", "store that turns", "share"], rows, texts=3)


def keep(only: str) -> None:
    """Measure all jobs, or the jobs of one format. Other figures stay on record."""
    known = json.loads(KEPT.read_text())["figures"] if only else []
    found = [row for row in known if row["format"] != only]
    for job in JOBS:
        if only in ("", job[0]):
            found.append(measured(job))
            print(found[-1], flush=True)
    found.sort(key=lambda row: JOBS.index((row["format"], row["source"], row["subnormals"])))
    write_whole(KEPT, json.dumps({"yosys": yosys_version(), "figures": found}, indent=1) + "\n")
