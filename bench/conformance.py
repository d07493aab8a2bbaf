"""Identify what public libraries follow, by their adapters, keep the outcomes as records/conformance.json, and write
the table of docs/how-to/identify.md.

    python bench/conformance.py [ADAPTER ...] [--render]

Rows of libraries that are not installed stay as they are; with ``--render`` only the table is written.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from pages import filled, table

import mxcast
from mxcast.conformance.adapters import ADAPTERS, Adapter
from mxcast.conformance.identify import named
from mxcast.host.files import write_whole

ROOT = Path(__file__).parent.parent
KEPT = ROOT / "records" / "conformance.json"
PAGE = ROOT / "docs" / "how-to" / "identify.md"

OPS = {"encode": "encode", "two_level_encode": "encode", "decode": "decode", "cast": "cast"}
"""What --op names, by the name of an operation."""


def row(adapter: Adapter, operation: str, format: str) -> dict:
    """The outcome of ``mxcast identify`` for one of its formats."""
    op = OPS[operation]
    found = mxcast.identify(adapter.name, format, op=op)
    base = None if found.names else next(iter(found.nearest), None)
    return {
        "adapter": adapter.name,
        "library": adapter.distribution,
        "version": adapter.version,
        "operation": operation,
        "format": format,
        "verdict": str(found.verdict),
        "rules": named(found.matches if found.names else found.nearest[:1]),
        "blocks": found.blocks,
        "differing": base.blocks if base else 0,
        "normal": found.normal,
        "differing_normal": base.normal if base else 0,
        "causes": dict(found.causes),
        "remarks": list(found.remarks),
        "witness": found.witness,
    }


def rendered(page: str, rows: list[dict]) -> str:
    head = [
        "library",
        "`mxcast identify`",
        "verdict",
        "rules, or the nearest",
        "where it departs",
        "blocks",
        "of N(0,1)",
    ]
    lines = []
    for one in rows:
        op = "" if OPS[one["operation"]] == "encode" else f" --op {OPS[one['operation']]}"
        causes = "; ".join([f"{text}: {count:,}" for text, count in one["causes"].items()] + one["remarks"])
        lines.append(
            [
                f"{one['library']} {one['version']}",
                f"`{one['adapter']} -f {one['format']}{op}`",
                one["verdict"],
                one["rules"],
                causes or "-",
                f"{one['differing']:,} of {one['blocks']:,}",
                f"{one['differing_normal']:,} of {one['normal']:,}",
            ]
        )
    return filled(page, {"conformance": table(head, lines, texts=5)})


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
    if not asked.render:
        write_whole(KEPT, json.dumps(kept, indent=1) + "\n")
    PAGE.write_text(rendered(PAGE.read_text(), kept))


if __name__ == "__main__":
    main()
