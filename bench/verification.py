"""Proofs, mutants, exhaustive and enumerated runs of docs/verification.md and README.md, in one command.

python bench/verification.py                    do what is not on record for today's Verilog (hours, if nothing is),
                                                write the tables
python bench/verification.py --only 'cast ocp'  only what has all of these words
python bench/verification.py --render           only write the tables
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from parts.evidence.checks import CHECKS, PROOFS
from parts.evidence.subjects import Subject, subjects, wanted
from parts.pages import filled, table

from mxcast.host.files import write_whole

ROOT = Path(__file__).parent.parent
RECORDS = ROOT / "records"
PAGES = (ROOT / "docs" / "verification.md", ROOT / "README.md")

FILES = tuple(dict.fromkeys(check.kept for check in CHECKS.values()))
LABELS = ("operation", "target", "profile", "format")
COLUMNS = (*LABELS, *PROOFS, "faults killed", "by the regression", "proved harmless", "mistakes refuted", "all inputs")


def records(kept: str) -> list[dict]:
    path = RECORDS / f"{kept}.json"
    return json.loads(path.read_text()) if path.exists() else []


def labelled(check: str, subject: Subject) -> dict[str, str]:
    return {**subject.label, "config_id": subject.config.config_id, "check": check}


def on_record(check: str, subject: Subject) -> dict | None:
    """The record of today's outcome, or None. Another subject with the same Verilog serves too."""
    today = {"check": check, **CHECKS[check].identity(subject)}
    found = (r for r in records(CHECKS[check].kept) if all(r.get(name) == value for name, value in today.items()))
    return next(({**r, **labelled(check, subject)} for r in found), None)


def keep(kept: str, found: list[dict]) -> None:
    write_whole(RECORDS / f"{kept}.json", json.dumps(found, indent=1) + "\n")


def complete(words: set[str]) -> None:
    """Do what is not on record, of what has all of these words; each outcome is kept as soon as it is there."""
    for name, subject in wanted():
        check = CHECKS[name]
        if words <= {*str(subject).split(), *name.split()} and on_record(name, subject) is None:
            made = {**labelled(name, subject), **check.identity(subject), **check.outcome(subject)}
            print(f"{name}: {subject}: {check.cells(made)}", flush=True)
            keep(check.kept, [*records(check.kept), made])


def sort() -> None:
    """Sort the records by the order of the tables, and drop outdated ones."""
    for kept in FILES:
        today = (on_record(name, subject) for name, subject in wanted() if CHECKS[name].kept == kept)
        keep(kept, [r for r in today if r is not None])


def rows() -> list[dict[str, str]]:
    """A row for each subject of which something in `COLUMNS` is on record, by column."""
    found = {tuple(subject.label.values()): subject.label for subject in subjects()}
    for kept in FILES:
        for r in records(kept):
            found[tuple(r[name] for name in LABELS)] |= CHECKS[r["check"]].cells(r)
    return [row for row in found.values() if len(row.keys() & set(COLUMNS)) > len(LABELS)]


def summary() -> str:
    """The README's table: of each operation, for all targets, how many of those that are asked for passed."""
    lines = []
    for chosen in dict.fromkeys(subject.operation for subject in subjects()):
        asked = [check for check, subject in wanted() if subject.operation == chosen]
        proved, mutated, planted, exhausted, _ = (
            [r for r in records(kept) if r["operation"] == chosen] for kept in FILES
        )
        seconds = [r["seconds"] for r in proved if (r["check"], r["status"]) == ("proved", "PASS")]
        killed, faults = (sum(r[name] for r in mutated) for name in ("killed", "faults"))
        refuted, mistakes = (sum(r[name] for r in [*mutated, *planted]) for name in ("refuted", "mistakes"))
        alike = sum(not r["mismatched_blocks"] for r in exhausted)
        span = "-".join(dict.fromkeys(f"{bound(seconds):.0f}" for bound in (min, max))) if seconds else None
        of = {check: asked.count(check) for check in ("proved", "all inputs")}
        inputs = f"{alike} of {of['all inputs']}" if exhausted else None
        killed_of = f"{killed:,} of {faults:,}" if mutated else None
        refuted_of = f"{refuted:,} of {mistakes:,}" if mistakes else None
        lines.append([chosen, f"{len(seconds)} of {of['proved']}", span, killed_of, refuted_of, inputs])
    return table(["operation", "proved", "seconds", "faults killed", "mistakes refuted", "all inputs"], lines)


def elements() -> str:
    """The table of elements by definition: a row for each operation, target, profile, and source or destination."""
    groups: dict[tuple[str, ...], list[dict]] = {}
    for r in records("enumerated"):
        name, *way = r["format"].split()
        groups.setdefault((r["operation"], r["target"], r["profile"], " ".join(way) or "from fp32"), []).append(
            r | {"format": name}
        )
    lines = [
        [*label, ", ".join(r["format"] for r in rows), *(f"{sum(r[name] for r in rows):,}" for name in COUNTED)]
        for label, rows in groups.items()
    ]
    tools = dict.fromkeys(f"Verilator {r['verilator']}, Amaranth {r['amaranth']}" for r in records("enumerated"))
    head = ["operation", "target", "profile", "numbers", "formats", "inputs", "that differ"]
    return table(head, lines, texts=5) + f"\n{', '.join(tools)}.\n"


COUNTED = ("inputs", "differ")


def versions() -> str:
    proved, mutated = records("proofs"), records("mutants")
    tools = dict.fromkeys(f"{r['solver']} {r['solver_version']}" for r in proved)
    return (
        f"\n{', '.join(tools)}, Yosys {', '.join(dict.fromkeys(r['yosys'] for r in proved))}. "
        f"{mutated[0]['mutants']} mutants each, seed {mutated[0]['seed']}.\n"
    )


def tests() -> str:
    """Last outcome of the tests: `make test`, the slow ones, and the ones that compare with libraries."""
    path = RECORDS / "tests.json"
    kept = json.loads(path.read_text()) if path.exists() else {}
    columns = ("commit", "date", "passed", "failed", "error", "skipped", "minutes", "processors", "python")
    rows = ([chosen, *(run[name] for name in columns)] for chosen, run in kept.items())
    libraries = kept.get("oracles", {}).get("libraries", {})
    named = ", ".join(f"{name} {version}" for name, version in libraries.items())
    return table(["tests", *columns], rows) + (f"\n`oracles` (`make test-oracles`): {named}.\n" if named else "")


def rendered(page: str) -> str:
    """A page with its tables."""
    every = table(COLUMNS, ([row.get(name, "-") for name in COLUMNS] for row in rows()), texts=len(LABELS))
    texts = {"verification": every + versions(), "proofs": summary() + versions(), "tests": tests()}
    return filled(page, texts | {"elements": elements()})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("--only", metavar="WORDS", default="", help="only subjects with all of these words")
    parser.add_argument("--render", action="store_true", help="only write the tables")
    options = parser.parse_args()
    if not options.render:
        complete(set(options.only.split()))
        sort()
    for page in PAGES:
        page.write_text(rendered(page.read_text()))


if __name__ == "__main__":
    main()
