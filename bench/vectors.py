"""Make the small set of conformance vectors of each profile and format, confirm it by the Verilog, keep its counts and
digests as records/vectors.json, and write the table of docs/how-to/vectors.md. The sets themselves are not kept.

    python bench/vectors.py [WORD ...] [--render]

With words only the sets are made again whose command has one of them; with ``--render`` only the table is written.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

from parts.pages import filled, table

from mxcast.host.files import write_whole
from mxcast.spec import NVFP4_OPERATIONS, PROFILES_OF
from mxcast.spec.profiles.resolve import operation_of

ROOT = Path(__file__).parent.parent
KEPT = ROOT / "records" / "vectors.json"
PAGE = ROOT / "docs" / "how-to" / "vectors.md"

FORMATS = {
    "encode": ("e5m2", "e4m3", "e3m2", "e2m3", "e2m1", "int8"),
    "decode": ("e5m2", "e4m3", "e3m2", "e2m3", "e2m1", "int8"),
    "cast": ("e5m2", "e4m3", "e3m2", "e2m3", "e2m1", "e8m0", "ue4m3", "ue5m3", "e4m3fnuz", "e5m2fnuz"),
}
UNDER_TWO = ("nvfp4",)


def commands() -> list[str]:
    """The arguments of each set: one for all profiles that have the same rules of a format."""
    found: dict[object, str] = {}
    for op, formats in FORMATS.items():
        for operation, names in ((op, formats), (NVFP4_OPERATIONS.get(op), UNDER_TWO)):
            for profile in PROFILES_OF.get(operation, ()):
                for format in names:
                    try:
                        rules = operation_of(op, format, profile)
                    except ValueError:  # it has no such format
                        continue
                    found.setdefault(rules, f"{format} --op {op} --profile {profile}")
    return list(found.values())


def made(command: str) -> dict:
    """One set, by the command that a user would give."""
    with tempfile.TemporaryDirectory() as folder:
        line = [sys.executable, "-m", "mxcast", "vectors", *command.split(), "--json", "-o", folder]
        manifest = json.loads(subprocess.run(line, check=True, stdout=subprocess.PIPE, text=True).stdout)
    kept = ("operation", "profile", "blocks", "categories", "confirmed")
    return {
        "command": f"mxcast vectors {command}",
        **{key: manifest[key] for key in kept},
        "distinct": {port["name"]: port["distinct"] for port in manifest["ports"]},
        "csv_sha256": manifest["sha256"]["vectors.csv"],
    }


def rendered(page: str, rows: list[dict]) -> str:
    lines = [
        [
            f"`{one['command'].removeprefix('mxcast vectors ').replace(' --op encode', '')}`",
            f"{one['blocks']:,}",
            ", ".join(f"{name} {count}" for name, count in one["categories"].items()),
            ", ".join(f"`{name}` {count:,}" for name, count in one["distinct"].items()),
            "yes" if one["confirmed"] else "no",
            f"`{one['csv_sha256'][:16]}`",
        ]
        for one in rows
    ]
    head = [
        "`mxcast vectors`",
        "blocks",
        "of them",
        "different words",
        "confirmed by the Verilog",
        "SHA-256 of `vectors.csv`",
    ]
    return filled(page, {"vectors": table(head, lines, texts=6)})


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("words", nargs="*")
    parser.add_argument("--render", action="store_true")
    given = parser.parse_args()
    kept = {row["command"]: row for row in json.loads(KEPT.read_text())["sets"]} if KEPT.is_file() else {}
    wanted = commands()
    for command in [] if given.render else wanted:
        if not given.words or any(word in command for word in given.words):
            row = made(command)
            kept[row["command"]] = row
            write_whole(KEPT, json.dumps({"sets": list(kept.values())}, indent=1) + "\n")
            print(f"{row['command']}: {row['blocks']} blocks", flush=True)
    rows = [kept[f"mxcast vectors {command}"] for command in wanted if f"mxcast vectors {command}" in kept]
    write_whole(KEPT, json.dumps({"sets": rows}, indent=1) + "\n")
    write_whole(PAGE, rendered(PAGE.read_text(), rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
