"""Cost of NVFP4 hardware in the order te: lanes, shared parts, and whole blocks of 16. Takes ten minutes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from mxcast.hdl import Nvfp4Config, Nvfp4DecoderConfig, Nvfp4Form, nvfp4_config, nvfp4_decoder_config
from mxcast.host.files import write_whole
from mxcast.synth.synthesis import STAGES_OF, TOP, cost_of, modules_of
from mxcast.synth.targets import TARGETS
from mxcast.synth.yosys import yosys_version

from ..pages import table

ROOT = Path(__file__).parents[3]
KEPT = ROOT / "records" / "nvfp4_cost.json"
TARGET = "xcu-nodsp"
NUMBERS = ("bf16", "fp32")
LANE = "lane"


def subjects() -> Iterator[tuple[str, str, Nvfp4Config | Nvfp4DecoderConfig]]:
    """Designs to measure: operation, form, and configuration."""
    for numbers in NUMBERS:
        for form in (one for one in Nvfp4Form if one is not Nvfp4Form.CACHE):  # which has registers
            yield "encode", str(form), nvfp4_config("nvfp4", "nvfp4_te", source=numbers, form=str(form))
        stochastic = nvfp4_config("nvfp4", "nvfp4_te", source=numbers, rounding="sr")
        yield "encode", "product, 8 random bits", stochastic
    for numbers in NUMBERS:
        yield "decode", "", nvfp4_decoder_config("nvfp4", "nvfp4_te", destination=numbers)


def measured(shared: bool, whole: bool) -> list[dict[str, object]]:
    rows = []
    for operation, form, config in subjects():
        text = modules_of(config)
        parts = {name: f"{TOP}_{module}" for name, module in STAGES_OF[config.numerics.name].items()}
        parts = {
            name: module
            for name, module in parts.items()
            if f"module {module}(" in text and (shared or operation == "decode" or name == LANE)
        }
        parts |= {"whole": TOP} if whole else {}
        numbers = getattr(config.numerics, config.numerics.NUMBERS).name
        for part, module in parts.items():
            found = cost_of(text, module, TARGETS[TARGET])
            row = {"operation": operation, "numbers": numbers, "form": form, "part": part}
            rows.append({**row, "luts": found.luts, "logic_cells": found.logic_cells, "levels": found.levels})
            print(*rows[-1].values(), flush=True)
    return rows


def _of_product(row: dict[str, object], rows: list[dict[str, object]]) -> str | None:
    """The LUTs of a whole encoder as a multiple of the LUTs of the form product, without random bits."""
    if row["operation"] != "encode" or row["part"] != "whole":
        return None
    same = ("operation", "numbers", "part")
    (product,) = (r for r in rows if r["form"] == Nvfp4Form.PRODUCT and all(r[key] == row[key] for key in same))
    return f"{row['luts'] / product['luts']:.2f}x"


def markdown(record: dict) -> str:
    rows = record["rows"]
    cells = [[*(row[name] or None for name in rows[0]), _of_product(row, rows)] for row in rows if row["luts"]]
    head = ["operation", "numbers", "form", "part", "LUTs", "LCs", "levels", "LUTs of product"]
    return table(head, cells, texts=4) + f"\npyosys {record['yosys']}, `{TARGET}`.\n"


def keep() -> None:
    write_whole(KEPT, json.dumps({"yosys": yosys_version(), "rows": measured(True, True)}, indent=1) + "\n")
