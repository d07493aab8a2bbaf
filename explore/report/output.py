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
    """How the figures were made: tools, device, tensors, seeds, and what biases them."""
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
    """Whether distributions are among the tensors: those that do not count for the total."""
    return any(not tensor.counts for tensor in found.tensors)


def _remarks(found: Exploration, placed: bool) -> Iterator[str]:
    """Remarks on how far the figures can be trusted, as far as they apply."""
    yield (
        "LUTs, carries and levels are Yosys' after mapping: of whole converters, flattened. They move by a few per "
        "cent with the "
        "version."
    )
    if hasty := [name for name in dict.fromkeys(row.target for row in found.rows) if f"{name}-relaxed" in TARGETS]:
        yield (
            f"On {', '.join(hasty)} Yosys maps for a short path before it saves LUTs, so that they move with the "
            "mapping too, most of all on "
            f"ECP5. Where area alone counts, compare on {', '.join(f'{name}-relaxed' for name in hasty)}."
        )
    if placed:
        yield (
            "Delays are sums over cells without wires; only place and route has an Fmax, in the middle between "
            "registers, and it "
            "scatters by seed: a median, with its range."
        )
        yield "Blocks a second are one for each cycle at the median Fmax."
    else:
        yield "Nothing was placed and routed: delays are sums over cells without wires."
    apart = "; distributions have figures of their own" if _drawn(found) else ""
    yield f"Figures of accuracy are the golden model's, over the tensors named here{apart}."
    if any(row.accuracy is None for row in found.rows if row.status == "done"):
        yield (
            "A converter with several modes (formats or scale rules that are chosen at run time) has no figures of "
            "accuracy, and so no place on "
            "a front of them. Each mode has the figures of the same converter without the other modes."
        )
    if len({row.source for row in found.rows}) > 1:
        yield (
            "Sources differ: the accuracy of each is against the numbers given (FP32), so that what is lost by "
            "narrowing them to the "
            "source is counted too."
        )
    yield "A proof is one that is on record for the very Verilog that was measured."
    yield (
        "The column verilog of the CSV and JSON files is a SHA-256 of that Verilog without its header, with the top "
        "module renamed to "
        "converter, so it differs from the SHA-256 of the emitted file."
    )


def document(found: Exploration) -> dict[str, object]:
    """All of it, for JSON. What is infinite, as an SQNR without noise, is null there: the largest error is 0 then."""
    parts = {
        **method(found),
        "points": [row.to_dict() for row in found.rows],
        "ablation": [entry.to_dict() for entry in found.ablation],
        "left_out": [vars(one) for one in found.left_out],
        "missing": found.missing,
    }
    return {key: _finite(part) for key, part in parts.items()}


def _finite(value: object) -> object:
    """JSON has no infinities."""
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
    with claimed(folder):  # all files are of one exploration
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
    """One line a point; the figures of each tensor in columns of their own."""
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
