"""Measure the cost of hardware for NVFP4 in the order te: lanes, and the parts that all lanes share.

python bench/nvfp4_cost.py             lanes of encoders and the parts of decoders, in a minute
python bench/nvfp4_cost.py --shared    the shared parts of encoders too
python bench/nvfp4_cost.py --whole     these and whole blocks of 16, in ten minutes
python bench/nvfp4_cost.py --render    only writes the table

It writes records/nvfp4_cost.json, and the table at `<!-- nvfp4 cost -->` of docs/results.md, where that has one.
What is measured is kept in the cache.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pages import filled, table

from mxcast.hdl import Nvfp4Config, Nvfp4DecoderConfig, Nvfp4Form, nvfp4_config, nvfp4_decoder_config
from mxcast.host.files import write_whole
from mxcast.synth.synthesis import STAGES_OF, TOP, cost_of, modules_of
from mxcast.synth.targets import TARGETS
from mxcast.synth.yosys import yosys_version

ROOT = Path(__file__).parent.parent
KEPT, PAGE = ROOT / "records" / "nvfp4_cost.json", ROOT / "docs" / "results.md"
TARGET = "xcu-nodsp"
NUMBERS = ("bf16", "fp32")
LANE = "lane"


def subjects() -> Iterator[tuple[str, str, Nvfp4Config | Nvfp4DecoderConfig]]:
    """Designs to measure: operation, form, and configuration."""
    for numbers in NUMBERS:
        for form in Nvfp4Form:
            yield "encode", str(form), nvfp4_config("nvfp4", "nvfp4_te", source=numbers, form=str(form))
        stochastic = nvfp4_config("nvfp4", "nvfp4_te", source=numbers, rounding="sr")
        yield "encode", "product, 8 random bits", stochastic
    for numbers in NUMBERS:
        yield "decode", "", nvfp4_decoder_config("nvfp4", "nvfp4_te", destination=numbers)


def measured(shared: bool, whole: bool) -> list[dict[str, Any]]:
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


def _of_product(row: dict[str, Any], rows: list[dict[str, Any]]) -> str | None:
    """The LUTs of a whole encoder as a multiple of the LUTs of the form product, without random bits."""
    if row["operation"] != "encode" or row["part"] != "whole":
        return None
    same = ("operation", "numbers", "part")
    (product,) = (r for r in rows if r["form"] == Nvfp4Form.PRODUCT and all(r[key] == row[key] for key in same))
    return f"{row['luts'] / product['luts']:.2f}x"


def rendered(page: str, record: dict) -> str:
    rows = record["rows"]
    cells = [[*(row[name] or None for name in rows[0]), _of_product(row, rows)] for row in rows if row["luts"]]
    head = ["operation", "numbers", "form", "part", "LUTs", "LCs", "levels", "LUTs of product"]
    return filled(page, {"nvfp4 cost": table(head, cells, texts=4) + f"\npyosys {record['yosys']}, `{TARGET}`.\n"})


def main(options: list[str]) -> None:
    if "--render" not in options:
        rows = measured("--shared" in options or "--whole" in options, "--whole" in options)
        write_whole(KEPT, json.dumps({"yosys": yosys_version(), "rows": rows}, indent=1) + "\n")
    PAGE.write_text(rendered(PAGE.read_text(), json.loads(KEPT.read_text())))


if __name__ == "__main__":
    main(sys.argv[1:])
