"""Cost of tile encoders on xcu, next to two encoders and a store that turns a tile of numbers. Takes half an hour."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mxcast.hdl import TileConfig, converter_config, tile_config, verilog
from mxcast.hdl.emission.modules import convert, fingerprint
from mxcast.hdl.tile.store import CodeStore, ColumnStore, Exchange
from mxcast.host.files import write_whole
from mxcast.synth import synth
from mxcast.synth.synthesis import TOP, cost_of
from mxcast.synth.targets import TARGETS
from mxcast.synth.yosys import yosys_version

from ..pages import table

ROOT = Path(__file__).parents[3]
KEPT = ROOT / "records" / "tile_cost.json"

TARGET, SIDE = "xcu", 32
SOURCES = {"bf16": 16, "fp32": 32}
"""Formats of the numbers, and their bits."""
JOBS = [
    *(("e4m3", source, subnormals) for source in SOURCES for subnormals in ("flush", "exact")),
    *(("e5m2", source, subnormals) for source in SOURCES for subnormals in ("flush", "exact")),
    *(("e2m1", source, "exact") for source in SOURCES),
]
"""Format, source, and treatment of subnormal inputs."""


def of_parts(bits: int) -> int:
    """LUTs of a store from which the columns of a tile of numbers leave, whose rows enter."""
    parts = (ColumnStore(SIDE, bits), Exchange(SIDE, bits), CodeStore(SIDE, bits))
    return sum(cost_of(convert(part, TOP), TOP, TARGETS[TARGET]).luts for part in parts)


def measured() -> list[dict[str, object]]:
    stores, found = {source: of_parts(bits) for source, bits in SOURCES.items()}, []
    for element, source, subnormals in JOBS:
        figures: dict[str, object] = {"format": element, "source": source, "subnormals": subnormals}
        for columns in ("in_place", "transposed"):
            config = tile(figures, columns)
            cost = synth(config, TARGET, stages=False).whole
            figures |= {columns: cost.luts, f"{columns}_ram": cost.ram_luts, f"{columns}_registers": cost.ffs}
        encoder = converter_config(element, source=source, input_subnormals=subnormals, target=TARGET)
        figures |= {"encoder": synth(encoder, TARGET, stages=False).whole.luts, "store": stores[source]}
        found.append({**figures, "verilog": fingerprint(verilog(config))})
        print(found[-1], flush=True)
    return found


def tile(row: Mapping[str, Any], columns: str = "transposed") -> TileConfig:
    """The tile encoder of a row."""
    fields = {"source": row["source"], "input_subnormals": row["subnormals"]}
    return tile_config(row["format"], columns=columns, target=TARGET, **fields)


def share(row: dict) -> float:
    """LUTs of a tile encoder for a transposed copy, as a share of two encoders and a store."""
    return row["transposed"] / (2 * row["encoder"] + row["store"])


def markdown(figures: list[dict]) -> str:
    """A row for each job: LUTs, and those as RAM, of both orders of the columns, and of two encoders and a store."""
    head = ["format", "source", "subnormals", "in place: LUTs", "of these RAM", "transposed: LUTs", "of these RAM"]
    rows = [
        [row[name] for name in ("format", "source", "subnormals", "in_place", "in_place_ram", "transposed")]
        + [row["transposed_ram"], 2 * row["encoder"], row["store"], f"{share(row):.2f}"]
        for row in figures
    ]
    return table([*head, "two encoders", "store that turns", "share"], rows, texts=3)


def keep() -> None:
    write_whole(KEPT, json.dumps({"yosys": yosys_version(), "figures": measured()}, indent=1) + "\n")
