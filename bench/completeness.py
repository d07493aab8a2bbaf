"""Compare RTL, model and exact definition for every combination of rules, and keep the counts in
records/completeness.json.

    python bench/completeness.py [PRODUCT ...]             all of it; more than an hour
    python bench/completeness.py PRODUCT --with RULE ...   what rules that are new bring; it joins what is on record
    python bench/completeness.py --render                  only write the table of docs/verification.md

Each line of the table is one product of `mxcast.sim.check.families`. A difference stops the run with its report.
"""

import argparse
import json
import sys
import time
from importlib.metadata import version
from pathlib import Path

from parts.pages import filled, table

from mxcast.sim.check.families import FAMILIES
from mxcast.sim.run.verilator.array import compare_all
from mxcast.spec import RULES, Encode

ROOT = Path(__file__).parent.parent
KEPT = ROOT / "records" / "completeness.json"
PAGE = ROOT / "docs" / "verification.md"
BLOCKS, EXACT_BLOCKS, SEED = 4000, 60, 2026


def has_one_of(wanted: set[str], rules: Encode) -> bool:
    return any(str(getattr(rules, field)) in wanted for field in RULES)


def walk(name: str, wanted: set[str]) -> dict:
    """The counts of one product, or of what it has with one of these rules."""
    start, counts = time.perf_counter(), {"rtl": 0, "exact": 0}
    numerics = builds = mismatched = 0
    for whole in FAMILIES[name]():
        family = [rules for rules in whole if not wanted or has_one_of(wanted, rules)]
        if not family:
            continue
        boards = compare_all(family, blocks=BLOCKS, exact_blocks=EXACT_BLOCKS, seed=SEED)
        for board in boards:
            mismatched += board.mismatched_blocks
            if not board.passed:
                sys.exit(board.report)
            for stimulus in counts:
                counts[stimulus] += board.counts[stimulus]
        numerics, builds = numerics + len(boards), builds + 1
        first = family[0]
        print(
            f"{name}: {numerics} numerics equal ({first.source.name} {first.block.element.name} and its family), "
            f"{time.perf_counter() - start:.0f} s",
            flush=True,
        )
    return {
        "product": name,
        "what": " ".join(FAMILIES[name].__doc__.split()),
        "numerics": numerics,
        "builds": builds,
        "rtl_blocks": counts["rtl"],
        "exact_blocks": counts["exact"],
        "mismatched_blocks": mismatched,
        "seed": SEED,
        "seconds": round(time.perf_counter() - start),
        "verilator": version("verilator"),
        "numpy": version("numpy"),
        "amaranth": version("amaranth"),
    }


SUMS = ("numerics", "builds", "rtl_blocks", "exact_blocks", "mismatched_blocks", "seconds")


def joined(before: dict, more: dict) -> dict:
    """The record, with the counts of a new run added."""
    return more | {name: before[name] + more[name] for name in SUMS}


def rendered(page: str, records: list[dict]) -> str:
    """The page with its table."""
    head = ["product", "combinations", "blocks, RTL = model", "blocks, model = exact", "that differ"]
    figures = ("rtl_blocks", "exact_blocks", "mismatched_blocks")
    rows = ([r["what"].rstrip("."), _of_today(r), *(f"{r[name]:,}" for name in figures)] for r in records)
    return filled(page, {"completeness": table(head, rows)})


def _of_today(record: dict) -> str:
    """Number of combinations on record, and of those that exist today if there are more."""
    today = sum(map(len, FAMILIES[record["product"]]()))
    return f"{record['numerics']:,}" + ("" if record["numerics"] == today else f" of {today:,}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("--render", action="store_true", help="do not compare")
    parser.add_argument("products", nargs="*", default=list(FAMILIES), help="of " + ", ".join(FAMILIES))
    parser.add_argument("--with", dest="wanted", nargs="+", default=[], help="rules that are new")
    asked = parser.parse_args()
    kept = {r["product"]: r for r in json.loads(KEPT.read_text())} if KEPT.exists() else {}
    for product in [] if asked.render else asked.products:
        found = walk(product, set(asked.wanted))
        kept[product] = joined(kept[product], found) if asked.wanted else found
        KEPT.write_text(json.dumps([kept[name] for name in FAMILIES if name in kept], indent=1) + "\n")
    PAGE.write_text(rendered(PAGE.read_text(), json.loads(KEPT.read_text())))
