"""Run the sweeps of records/sweeps and keep their figures there; write the ablation, the table and the plot of the
documents.

    python bench/exploration.py                    what is not on record for the Verilog and the tools of today; hours,
                                                   if nothing is
    python bench/exploration.py --only rules-xcu   one of the files
    python bench/exploration.py --nvfp4-accuracy   errors of encoders to NVFP4, a minute
    python bench/exploration.py --minutes 30       stop after that time, with what there is
    python bench/exploration.py --render           only write the files and documents, from what is on record
    python bench/exploration.py --again 20         make 20 points of the files again, drawn at random and with nothing
                                                   on record; 1 if one differs

An interrupted run goes on where it was.
"""

import argparse
import dataclasses
import json
import os
import random
import signal
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from parts import nvfp4_accuracy
from parts.cost import goals
from parts.pages import filled, table

from mxcast.explore import Exploration, Sweep, chosen_sweep, exploration, jobs
from mxcast.explore.ablation import CLAUSES, Entry, ablation
from mxcast.explore.engine import measured
from mxcast.explore.points import Explored
from mxcast.explore.report.drawing import drawing
from mxcast.explore.report.output import document
from mxcast.host.files import sha256, write_whole
from mxcast.proof import recorded

ROOT = Path(__file__).parent.parent
KEPT = ROOT / "records" / "sweeps"
PAGES = (ROOT / "docs" / "results.md", ROOT / "docs" / "guide.md")
ABLATION = ("e4m3", "e2m1")
"""Formats whose ablation docs/guide.md shows."""
PLOTS = ROOT / "docs" / "pictures"
ABLATIONS = {"xcu": "rules-xcu", "ecp5": "rules-ecp5", "ecp5-relaxed": "ablation-ecp5-relaxed", "ice40": "rules-ice40"}
"""Targets whose ablation docs/results.md shows, and the file that it is made from. Of ecp5-relaxed only the ablation's
points are measured. With LUTs of four inputs the rules are compared in the plain form.
"""


def sweeps() -> Iterator[tuple[str, Sweep]]:
    """Each file by its name, and the sweep that it is of."""
    for name in ("architectures", "gates", "decoders", "placed", "placed_decoders", "placed_casts", "placed_nvfp4"):
        yield name, chosen_sweep(KEPT / f"{name}.toml")
    yield "nvfp4", chosen_sweep("nvfp4")
    yield "lanes", chosen_sweep("lanes", target="xcu")
    yield "nvfp4_lanes", chosen_sweep("nvfp4_lanes", target="xcu")
    yield "placed_lanes", chosen_sweep(KEPT / "placed_lanes.toml")
    for target, name in ABLATIONS.items():
        form = {} if target == "xcu" else {"optimize": "plain"}
        rules = chosen_sweep(KEPT / "rules.toml", target=target, **form)
        yield name, rules if name.startswith("rules") else dataclasses.replace(rules, grids=rules.grids[:-1])


RENAMED = {"ways": "architectures", "ledger-ecp5-relaxed": "ablation-ecp5-relaxed"}


def _renamed(name: str) -> str:
    """The name of a file, which may be given by the one that it had."""
    if name in RENAMED:
        print(f"mxcast: {name} is called {RENAMED[name]} now", file=sys.stderr)
    return RENAMED.get(name, name)


def written(found: Exploration) -> str:
    """A file: one line a point, so that a change is a change of a line."""
    parts = document(found)
    points = [
        {key: value for key, value in point.items() if key not in ("log", "emit", "proof")}
        for point in parts.pop("points")
    ]
    lines = ",\n".join(json.dumps(point) for point in points)
    return f'{json.dumps(parts, indent=1)[:-2]},\n "points": [\n{lines}\n]}}\n'


def rows(name: str) -> list[Explored]:
    """The points of a file."""
    path = KEPT / f"{name}.json"
    return [Explored(**point) for point in json.loads(path.read_text())["points"]] if path.exists() else []


class Late(Exception):
    """The time is up."""


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("--only", metavar="NAME", type=_renamed, choices=[name for name, _ in sweeps()])
    parser.add_argument("--minutes", type=int)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--render", action="store_true")
    parser.add_argument("--again", type=int, metavar="COUNT")
    parser.add_argument("--seed", type=int, default=1, help="of the points that --again draws")
    parser.add_argument("--nvfp4-accuracy", action="store_true")
    options = parser.parse_args(arguments)
    if options.nvfp4_accuracy:
        nvfp4_accuracy.keep()
        options.render = True
    if options.again:
        sys.exit(again(options.again, options.seed, options.jobs, options.only))

    def late(*_: object) -> None:
        raise Late

    signal.signal(signal.SIGALRM, late)
    if options.minutes:
        signal.alarm(60 * options.minutes)
    for name, sweep in sweeps():
        if options.only not in (None, name):
            continue
        if not options.render:
            try:
                exploration(
                    sweep,
                    tensors=None,
                    workers=options.jobs,
                    progress=lambda now, name=name: print(name, now, flush=True),
                )
            except Late:
                options.render = True
        found = exploration(sweep, cached=True, proved=recorded)
        if len(found.rows) >= max(1, len(rows(name))):  # the cache may have less
            write_whole(KEPT / f"{name}.json", written(found))
        print(f"{name}: {len(found.rows)} points on record, {found.missing} are not", flush=True)
    signal.alarm(0)
    for path in PAGES:
        path.write_text(rendered(path.read_text()))
    for name, points in plots().items():
        if points:
            write_whole(PLOTS / f"{name}.svg", drawing(points) + digest(points))


def again(count: int, seed: int, workers: int, only: str | None) -> int:
    """Make points of the files again, each by a process of its own and nothing from the cache; 1 if one costs something
    else now.
    """
    kept = {row.id: row for name, _ in sweeps() if only in (None, name) for row in rows(name)}
    points = [point for _, sweep in sweeps() for point in sweep.points()[0] if point.id in kept]
    drawn = random.Random(seed).sample(sorted({point.id: point for point in points}.items()), min(count, len(kept)))
    differing = 0
    with tempfile.TemporaryDirectory() as folder:
        os.environ["MXCAST_CACHE"] = folder
        for number, (point, outcome) in enumerate(jobs.locally([point for _, point in drawn], workers), 1):
            row, now = kept[point.id], measured(outcome.result) if outcome.done else {"error": outcome.error}
            if unlike := {
                name: (getattr(row, name), value) for name, value in now.items() if getattr(row, name) != value
            }:
                differing += 1
                print(f"{point.emit} on {point.target}: {unlike}", flush=True)
            print(f"{number} of {len(drawn)} points made again, {differing} differ", flush=True)
    return int(differing > 0)


def plots() -> dict[str, list[dict]]:
    """Points of each drawing of the documents, by its name."""
    return {"rules": _rules(), "lanes": [row.to_dict() for row in rows("lanes")]}


def _rules() -> list[dict]:
    """Scale rules and roundings on xcu, otherwise standard, built for area."""
    asked = [
        row
        for row in rows("rules-xcu")
        if (row.input_subnormals, row.element_subnormals, row.specials) == ("exact", "exact", "nan_block")
    ]
    least: dict[tuple, Explored] = {}
    for row in asked:
        question = (row.format, row.scale_rule, row.rounding)
        least[question] = min(least.get(question, row), row, key=lambda one: one.luts)
    return [row.to_dict() for row in asked if row in least.values()]


def digest(points: list[dict]) -> str:
    """Digest of the points, in the last line of a drawing."""
    return f"<!-- points: {sha256(json.dumps(points))} -->\n"


def rendered(page: str) -> str:
    """A page with its tables."""
    tables = {"ablation": _ablations(), "ablation: short": _short(), "goals": _goals(), "goals: decoders": _decoders()}
    names = ("placed decoders", "placed casts", "placed nvfp4")
    placed = {name: _placed(rows(name.replace(" ", "_"))) for name in names}
    losses = nvfp4_accuracy.markdown(json.loads(nvfp4_accuracy.KEPT.read_text()))
    nvfp4 = {"nvfp4 orders": _orders(rows("nvfp4")), "nvfp4 accuracy": losses}
    lanes = {"lanes": _lanes("lanes", "format"), "nvfp4 lanes": _lanes("nvfp4_lanes", "source")}
    return filled(page, tables | placed | nvfp4 | lanes | {"placed lanes": _placed(rows("placed_lanes"))})


def _lanes(file: str, key: str) -> str:
    """LUTs by a key of the points and lanes."""
    found = rows(file)
    rates = sorted({row.numbers_per_cycle for row in found})
    luts = {(getattr(row, key), row.numbers_per_cycle): row.luts for row in found}
    lines = ([one, *(luts[one, rate] for rate in rates)] for one in dict.fromkeys(one for one, _ in luts))
    return table(["LUTs on xcu, by numbers in a cycle", *map(str, rates)], lines) if found else ""


def _goals() -> str:
    header = ["target", "optimize", "amax, quantizer, structure", "area", "critical path"]
    return table(header, goals.lines([row for name in goals.FILES for row in rows(name)]), texts=5)


def _decoders() -> str:
    header = ["target", "optimize", "one fraction bit", "two", "three"]
    return table(header, goals.decoder_lines(rows("decoders")), texts=5) if rows("decoders") else ""


def _placed(found: list[Explored]) -> str:
    figures = {
        "numbers_per_cycle": "numbers in a cycle",
        "luts": "LUTs",
        "carries": "carries",
        "ffs": "FFs",
        "fmax_mhz": "Fmax, MHz",
        "fmax_lowest_mhz": "lowest",
        "fmax_highest_mhz": "highest",
        "pnr_seeds": "seeds",
    }
    if len({row.numbers_per_cycle for row in found}) == 1:
        del figures["numbers_per_cycle"]
    header = ["", "registers after", *figures.values()]
    lines = ([row.format, row.registered_after, *(getattr(row, name) for name in figures)] for row in found)
    return table(header, lines, texts=2) if found else ""


def _orders(found: list[Explored]) -> str:
    header = ["order", "rounding", "4 over 6", "form", "LUTs", "levels", "weights: SQNR, dB"]
    names = ("order", "rounding", "four_over_six", "form", "luts", "levels")
    lines = ([*(getattr(row, name) for name in names), f"{row.sqnr_db:.2f}"] for row in found)
    return table(header, lines, texts=4) if found else ""


def _ablations() -> str:
    """For docs/results.md: a table a target, clauses by formats."""
    tables = (
        f"### {target}\n\n{table}\n" for target, name in ABLATIONS.items() if (table := _table(ablation(rows(name))))
    )
    return "".join(tables) or "No sweep of rules is on record yet.\n"


def _short() -> str:
    table = _table([entry for entry in ablation(rows("rules-xcu")) if entry.format.split("_")[-1] in ABLATION])
    return table and (
        "![Scale rules and roundings: LUTs against SQNR, a panel for each format](pictures/rules.svg)\n\n"
        "The picture shows every scale rule and rounding, on real weights. Points up and to the left are better. The "
        "line is the Pareto front.\n\n"
        "A cell of the table compares two converters that differ in one clause, and otherwise follow `ocp`. It lists "
        "the difference in LUTs (and in per cent), in levels of logic, and in SQNR on real weights. The converters are "
        f"the smallest for AMD UltraScale (`xcu`).\n\n{table}"
    )


def _table(entries: list[Entry]) -> str:
    """Clauses by formats: LUTs, per cent of the converter without the clause, levels, and what it buys."""
    by = {(e.clause, e.format): e for e in entries}
    formats = list(dict.fromkeys(e.format for e in entries))
    if not formats:
        return ""

    def cell(e: Entry | None) -> str:
        if e is None:
            return "-"
        bought = "" if e.sqnr_db is None else f", {e.sqnr_db:+.2f} dB"
        return f"{e.luts:+d} ({e.percent:+.1f} %), {e.levels:+d}{bought}"

    head = ["clause", *(name.split("_", 1)[-1] if name != "mxint8" else "int8" for name in formats)]
    rows = (
        [clause, *(cell(by.get((clause, name))) for name in formats)]
        for clause, *_ in CLAUSES
        if any((clause, name) in by for name in formats)
    )
    return table(head, rows)


if __name__ == "__main__":
    main()
