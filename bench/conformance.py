"""Identify what public libraries follow, by their adapters, keep the outcomes as records/conformance.json, and write
the tables of docs/how-to/identify.md. What is said of libraries elsewhere (`facts`) is compared with what they do, and
kept as records/conformance_facts.json.

    python bench/conformance.py [ADAPTER ...] [--render]

Rows of libraries that are not installed stay as they are; with ``--render`` only the tables are written. microxcaling
is a checkout on PYTHONPATH, and MXCAST_TE_REFERENCE names Transformer Engine's file.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from parts.libraries.facts import FACTS, checked
from parts.pages import filled, table

import mxcast
from mxcast.conformance.adapters import ADAPTERS, Adapter
from mxcast.conformance.identify.outcome import named
from mxcast.host.files import write_whole

ROOT = Path(__file__).parent.parent
KEPT = ROOT / "records" / "conformance.json"
KEPT_FACTS = ROOT / "records" / "conformance_facts.json"
PAGE = ROOT / "docs" / "how-to" / "identify.md"

OPS = {"encode": "encode", "two_level_encode": "encode", "decode": "decode", "cast": "cast"}
"""Value of --op by the name of an operation."""


def row(adapter: Adapter, operation: str, format: str) -> dict:
    """The outcome of ``mxcast identify`` for one of its formats."""
    op = OPS[operation]
    found = mxcast.identify(adapter.name, format, op=op)
    base = None if found.matches else next(iter(found.nearest), None)
    return {
        "adapter": adapter.name,
        "library": adapter.distribution,
        "version": adapter.version,
        "operation": operation,
        "format": format,
        "verdict": str(found.verdict),
        "rules": " or ".join(found.pair) if found.pair else named(found.matches or found.nearest[:1]),
        "blocks": found.blocks,
        "differing": base.blocks if base else 0,
        "normal": found.normal,
        "differing_normal": base.normal if base else 0,
        "causes": dict(found.causes),
        "remarks": list(found.remarks),
        "witness": found.witness,
    }


LONGEST = 200
"""Characters of a witness that the table has; the command shows all of it."""


def shown(witness: str) -> str:
    """The smallest block in a cell: without the command that explains it, whose numbers it has."""
    *lines, command = witness.split("\n") if witness else [""]
    text = "<br>".join(line.strip() for line in lines).replace("the smallest block: ", "").replace("|", "\\|")
    numbers = command.partition(" --values ")[2] or command.partition(" --profile ")[2].partition(" ")[2]
    found = f"{text} `{numbers}`" if numbers and len(text) + len(numbers) < LONGEST else text
    return found if len(found) <= LONGEST else found[: LONGEST - 4].rpartition("<br>")[0] + " ..."


def rendered(page: str, rows: list[dict], facts: list[dict]) -> str:
    head = [
        "library",
        "`mxcast identify`",
        "verdict",
        "rules, or the nearest",
        "where it departs",
        "smallest block",
        "blocks",
        "of N(0,1)",
    ]
    lines = []
    for one in rows:
        op = "" if OPS[one["operation"]] == "encode" else f" --op {OPS[one['operation']]}"
        causes = "<br>".join([f"{text}: {count:,}" for text, count in one["causes"].items()] + one["remarks"])
        lines.append(
            [
                f"{one['library']} {one['version']}",
                f"`{one['adapter']} -f {one['format']}{op}`",
                one["verdict"],
                one["rules"],
                causes or "-",
                shown(one["witness"]) or "-",
                f"{one['differing']:,} of {one['blocks']:,}",
                f"{one['differing_normal']:,} of {one['normal']:,}",
            ]
        )
    wrong = [one for one in facts if not one["holds"]]
    told = f"{len(facts) - len(wrong)} of {len(facts)} hold"
    said = [
        [
            f"{one['adapter']} {one['version']}",
            f"{one['format']} {one['op']}",
            f"{one['section']}: {one['fact']}",
            f"`{one['given']}`",
            one["expected"],
            one["got"] if not one["holds"] else "the same",
        ]
        for one in facts
    ]
    columns = ["library", "format", "said", "block", "expected", "a run gives"]
    texts = {
        "conformance": table(head, lines, texts=6),
        "facts held": f"{told}" + ("." if not wrong else "; the others are marked in the last column.") + "\n",
        "facts": table(columns, said, texts=6),
    }
    return filled(page, texts)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("adapters", nargs="*", metavar="ADAPTER")
    parser.add_argument("--render", action="store_true")
    asked = parser.parse_args()
    kept = json.loads(KEPT.read_text()) if KEPT.exists() else []
    for adapter in [] if asked.render else [ADAPTERS[name] for name in asked.adapters or ADAPTERS]:
        if adapter.version is None:
            print(f"{adapter.name}: not installed, its rows stay", file=sys.stderr)
            continue
        made = [row(adapter, op, format) for op, formats in adapter.operations.items() for format in formats]
        kept = [one for one in kept if one["adapter"] != adapter.name] + made
        for one in made:
            print(f"{one['adapter']:14} {one['operation']:16} {one['format']:5} {one['verdict']:8} {one['rules']}")
    order = {name: place for place, name in enumerate(ADAPTERS)}
    kept.sort(key=lambda one: order[one["adapter"]])
    facts = json.loads(KEPT_FACTS.read_text()) if KEPT_FACTS.exists() else []
    if not asked.render:
        write_whole(KEPT, json.dumps(kept, indent=1) + "\n")
        facts = compared(facts, asked.adapters or list(ADAPTERS))
        write_whole(KEPT_FACTS, json.dumps(facts, indent=1) + "\n")
    PAGE.write_text(rendered(PAGE.read_text(), kept, facts))


def compared(known: list[dict], adapters: list[str]) -> list[dict]:
    """All facts with the results of runs, which are repeated for these libraries if they are installed."""
    before = {_key(one): one for one in known}
    found = []
    for fact in FACTS:
        key = fact.adapter, fact.format, fact.op, fact.section, fact.text
        if fact.adapter in adapters and ADAPTERS[fact.adapter].version is not None:
            found.append(checked(fact))
        elif key in before:
            found.append(before[key])
    return found


def _key(one: dict) -> tuple[str, ...]:
    return one["adapter"], one["format"], one["op"], one["section"], one["fact"]


if __name__ == "__main__":
    main()
