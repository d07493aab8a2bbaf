"""What an exploration leaves in a folder: tables for programs, the report for people, plots for papers."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

from ...hdl.host import write_whole
from ..devices import DEVICES
from ..targets import TARGETS
from .accuracy import Loss
from .explore import Exploration
from .plots import plots
from .points import Explored
from .report import report
from .tensors import SEED

__all__ = ["document", "method", "write"]

REMARKS = (
    "LUTs, carries and levels are Yosys' after mapping: of whole converters, flattened. They move by a few per cent with the version.",
    "Delays are sums over cells without wires; only place and route has an Fmax, in the middle between registers, and it scatters by "
    "seed: a median, with its range.",
    "Blocks a second are one for each cycle at the median Fmax.",
    "Figures of accuracy are the golden model's, over the tensors named here; those of distributions stand by themselves.",
    "A proof is one that is on record for the very Verilog that was measured.",
)


def method(found: Exploration) -> dict[str, object]:
    """How the figures were made: tools, device, tensors, seeds, and what biases them."""
    targets = dict.fromkeys(row.target for row in found.rows)
    placed = [DEVICES[TARGETS[row.target].device].description for row in found.rows if row.pnr_seeds]
    return {"sweep": found.sweep.name, "says": found.sweep.says, "objectives": list(found.sweep.objectives), "tools": found.tools,
            "targets": {name: TARGETS[name].description for name in targets}, "device": ", ".join(dict.fromkeys(placed)) or None,
            "tensors": [tensor.to_dict() for tensor in found.tensors], "remarks": list(REMARKS),
            "seeds": [f"distributions: {SEED}", *(f"place and route: 1 to {seeds}" for seeds in
                                                  sorted({row.pnr_seeds for row in found.rows if row.pnr_seeds}))]}


def document(found: Exploration) -> dict[str, object]:
    """All of it, for JSON."""
    return {**method(found), "points": [row.to_dict() for row in found.rows], "ledger": [entry.to_dict() for entry in found.ledger],
            "left_out": [vars(one) for one in found.left_out], "missing": found.missing}


def write(found: Exploration, folder: Path) -> dict[str, Path]:
    """Write explore.html, .csv, .json and the plots; the same exploration gives the same bytes. Returns the files by kind."""
    rows, entries = [row.to_dict() for row in found.rows], [entry.to_dict() for entry in found.ledger]
    files = {"html": write_whole(folder / "explore.html", report(rows, entries, method(found))),
             "csv": write_whole(folder / "explore.csv", _csv(found.rows)),
             "json": write_whole(folder / "explore.json", json.dumps(document(found), indent=1, allow_nan=False) + "\n")}
    return files | {path.name: path for path in plots(rows, folder, "explore")}


def _csv(rows: list[Explored]) -> str:
    """One line a point; the figures of each tensor in columns of their own."""
    names = list(dict.fromkeys(name for row in rows for name in row.accuracy or {}))
    text = io.StringIO()
    plain = [name for name in Explored.__dataclass_fields__ if name not in ("accuracy", "log")]
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(plain + [f"{figure} {name}" for name in names for figure in Loss.__dataclass_fields__])
    for row in rows:
        writer.writerow([getattr(row, name) for name in plain]
                        + [(row.accuracy or {}).get(name, {}).get(figure) for name in names for figure in Loss.__dataclass_fields__])
    return text.getvalue()
