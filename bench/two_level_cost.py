"""Measure what the forms of an encoder to NVFP4 cost: a lane, and the parts that all lanes share.

python bench/two_level_cost.py            parts, in some minutes
python bench/two_level_cost.py --whole    whole blocks of 16 too, in an hour

Both write records/two_level_cost.json, and print a table. What is measured is kept in the cache.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from mxcast.hdl import TwoLevelForm, two_level_config
from mxcast.host.files import write_whole
from mxcast.synth.synthesis import TOP, TWO_LEVEL_STAGES, cost_of, modules_of
from mxcast.synth.targets import TARGETS
from mxcast.synth.yosys import yosys_version

KEPT = Path(__file__).parent.parent / "records" / "two_level_cost.json"
TARGET = "xcu-nodsp"
SOURCES = ("bf16", "fp32")


def measured(whole: bool) -> list[dict[str, object]]:
    """One row for each source and form, in the order te."""
    rows: list[dict[str, object]] = []
    for source in SOURCES:
        for form in TwoLevelForm:
            text = modules_of(two_level_config("nvfp4", "nvfp4_te", source=source, form=str(form)))
            modules = {name: f"{TOP}_{module}" for name, module in TWO_LEVEL_STAGES.items()}
            parts = {name: module for name, module in modules.items() if f"module {module}(" in text}
            parts |= {"whole": TOP} if whole else {}
            row: dict[str, object] = {"source": source, "form": str(form)}
            for name, module in parts.items():
                found = cost_of(text, module, TARGETS[TARGET])
                row[name] = {"luts": found.luts, "logic_cells": found.logic_cells, "levels": found.levels}
            rows.append(row)
    return rows


def main() -> None:
    rows = measured("--whole" in sys.argv[1:])
    record = {"target": TARGET, "yosys": yosys_version(), "order": "te", "rows": rows}
    write_whole(KEPT, json.dumps(record, indent=2) + "\n")
    names = [name for name in rows[0] if name not in ("source", "form")]
    print("| source | form |", " | ".join(names), "|")
    for row in rows:
        cells = [f"{one['luts']} ({one['logic_cells']})" for one in (row[name] for name in names)]  # type: ignore[index]
        print("|", row["source"], "|", row["form"], "|", " | ".join(cells), "|")


if __name__ == "__main__":
    main()
