"""Files of an exploration: tables for programs, the report for people, a drawing for papers."""

from __future__ import annotations

import csv
import io
import json
import math
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from ...host.files import claimed, write_whole
from ...synth.targets import TARGETS, device_of
from ..accuracy import Loss
from ..engine import Exploration
from ..points import Explored
from ..tensors import SEED
from .drawing import drawing
from .report import report
from .scatter import drawable


def method(found: Exploration) -> dict[str, object]:
    """The method: tools, device, tensors, seeds, and the bias of figures."""
    targets = dict.fromkeys(row.target for row in found.rows)
    placed = [device_of(row.target).description for row in found.rows if row.pnr_seeds]
    seeds = [f"distributions: {SEED}"] if _drawn(found) else []
    seeds += [
        f"place and route: 1 to {seeds}" for seeds in sorted({row.pnr_seeds for row in found.rows if row.pnr_seeds})
    ]
    return {
        "sweep": found.sweep.name,
        "description": found.sweep.description,
        "objectives": list(found.sweep.objectives),
        "tools": found.tools,
        "targets": {name: TARGETS[name].description for name in targets},
        "device": ", ".join(dict.fromkeys(placed)) or None,
        "tensors": [tensor.to_dict() for tensor in found.tensors],
        "remarks": list(_remarks(found, bool(placed))),
        "seeds": seeds,
    }


def _drawn(found: Exploration) -> bool:
    """Are there distributions among the tensors? They do not count for the total."""
    return any(not tensor.counts for tensor in found.tensors)


def _remarks(found: Exploration, placed: bool) -> Iterator[str]:
    """Sentences on the bias of figures that apply to this exploration."""
    yield (
        "LUTs, carries and levels are counted by Yosys after mapping, for whole converters, flattened. They move by a "
        "few per cent between versions."
    )
    if hasty := [name for name in dict.fromkeys(row.target for row in found.rows) if f"{name}-relaxed" in TARGETS]:
        yield (
            f"On {', '.join(hasty)} Yosys maps for a short path before it saves LUTs, so LUTs move with the mapping, "
            f"most of all on ECP5. If only area counts, compare on {', '.join(f'{name}-relaxed' for name in hasty)}."
        )
    if placed:
        yield (
            "Delays are sums over cells without wires. Fmax needs place and route, with the converter between "
            "registers, and scatters by seed: the figure is the median, with its range."
        )
        yield "Blocks a second are one for each cycle at the median Fmax."
    else:
        yield "Nothing was placed and routed: delays are sums over cells without wires."
    apart = ", without the distributions" if _drawn(found) else ""
    yield f"Figures of accuracy are computed by the golden model over the tensors named here{apart}."
    if any(row.accuracy is None for row in found.rows if row.status == "done"):
        yield (
            "A converter with several modes (formats or scale rules that are chosen at run time) has no figures of "
            "accuracy, and no place on a front of them: each mode has the accuracy of a converter with this mode only."
        )
    if len({row.source for row in found.rows}) > 1:
        yield (
            "Sources differ: accuracy is measured against the numbers given (FP32), so the rounding to the source "
            "counts too."
        )
    yield "A proof is on record for exactly the Verilog that was measured."
    yield (
        "The column verilog of the CSV and JSON files is a SHA-256 of that Verilog without its header, with the top "
        "module renamed to converter; the emitted file has another one."
    )


def document(found: Exploration) -> dict[str, object]:
    """The exploration for JSON. An infinite SQNR is null there; its largest error is 0."""
    parts = {
        **method(found),
        "points": [row.to_dict() for row in found.rows],
        "ablation": [entry.to_dict() for entry in found.ablation],
        "left_out": [vars(one) for one in found.left_out],
        "missing": found.missing,
    }
    return {key: _finite(part) for key, part in parts.items()}


def _finite(value: object) -> object:
    """The value with None in place of infinities and NaN, which JSON lacks."""
    if isinstance(value, dict):
        return {key: _finite(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(part) for part in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def write(found: Exploration, folder: Path) -> dict[str, Path]:
    """Write explore.html, .csv, .json, and .svg if some point has a place in it. Returns the files by kind.

    The same exploration gives the same bytes, whatever an earlier one has left in the folder.
    """
    rows, entries = [row.to_dict() for row in found.rows], [entry.to_dict() for entry in found.ablation]
    reasons = Counter(one.reason for one in found.left_out)
    with claimed(folder):  # all files belong to one exploration
        files = {
            "html": write_whole(folder / "explore.html", report(rows, entries, method(found), found.missing, reasons)),
            "csv": write_whole(folder / "explore.csv", _csv(found.rows)),
            "json": write_whole(folder / "explore.json", json.dumps(document(found), indent=1, allow_nan=False) + "\n"),
        }
        drawn = folder / "explore.svg"
        if drawable(rows):
            return files | {"svg": write_whole(drawn, drawing(rows))}
        drawn.unlink(missing_ok=True)
        return files


def _csv(rows: list[Explored]) -> str:
    """One line for each point, with the figures of each tensor in separate columns."""
    names = list(dict.fromkeys(name for row in rows for name in row.accuracy or {}))
    text = io.StringIO()
    plain = [name for name in Explored.__dataclass_fields__ if name not in ("accuracy", "log")]
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(plain + [f"{figure} {name}" for name in names for figure in Loss.__dataclass_fields__])
    for row in rows:
        writer.writerow(
            [getattr(row, name) for name in plain]
            + [(row.accuracy or {}).get(name, {}).get(figure) for name in names for figure in Loss.__dataclass_fields__]
        )
    return text.getvalue()
