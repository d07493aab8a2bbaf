"""Cost of decoders of 32 lanes to FP32 on xcu, with limits. Takes a few minutes."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

from mxcast.hdl import decoder_config
from mxcast.host.files import write_whole
from mxcast.spec import BLOCKS
from mxcast.synth import synth
from mxcast.synth.yosys import yosys_version

from ..pages import table

ROOT = Path(__file__).parents[3]
KEPT = ROOT / "records" / "decoder_cost.json"

LIMITS: dict[str, dict[str, int]] = {
    "ocp": {"e5m2": 1300, "e4m3": 1180, "e3m2": 795, "e2m3": 780, "e2m1": 600},
    "ocp flush": {"e5m2": 700, "e4m3": 730, "e3m2": 610, "e2m3": 630, "e2m1": 400},
}
"""LUTs at most, by job and format."""
AGAINST_IDMA = 0.25
"""At most this share of the LUTs of iDMA's dequantizer, as a whole, under its rules."""
JOBS: dict[str, tuple[str, dict[str, str]]] = {
    "ocp": ("ocp", {}),
    "ocp flush": ("ocp", {"subnormals": "flush"}),
    "idma": ("idma", {}),
}
"""Jobs by name: a profile, and fields that override it."""


def idma(part: str) -> int:
    """LUTs of a part of iDMA's dequantizer, from records/baselines.toml."""
    (design,) = tomllib.loads((ROOT / "records" / "baselines.toml").read_text())["decoder"]
    return next(figure["luts"] for figure in design["figures"] if figure["part"] == part)


def limit(job: str, name: str) -> float | None:
    """LUTs at most, or None where nothing is asked."""
    return AGAINST_IDMA * idma("whole") if job == "idma" else LIMITS[job].get(name)


def measured() -> list[dict[str, object]]:
    found = []
    for job, (profile, fields) in JOBS.items():
        for name in ["e5m2"] if job == "idma" else [block.short_name for block in BLOCKS.values()]:
            for lane in ("best", "shift"):
                chosen = {"target": "xcu"} if lane == "best" else {"lane": "shift"}
                config = decoder_config(name, profile, **fields, **chosen)
                cost = synth(config, "xcu", stages=False).whole
                found.append({"job": job, "format": name, "lane": lane, "luts": cost.luts, "carries": cost.carries})
    return found


def markdown(figures: list[dict]) -> str:
    """A row for each job: LUTs and carries, also of the shifted lane, and the limit."""
    head = ["job", "format", "LUTs", "carries", "shifted lane: LUTs", "carries", "LUTs at most"]
    rows = []
    for best, shift in zip(figures[::2], figures[1::2]):
        most = limit(best["job"], best["format"])
        cells = [best["job"], best["format"], best["luts"], best["carries"], shift["luts"], shift["carries"]]
        rows.append([*cells, None if most is None else int(most)])
    return table(head, rows, texts=2)


def keep() -> None:
    write_whole(KEPT, json.dumps({"yosys": yosys_version(), "figures": measured()}, indent=1) + "\n")
