"""Try a converter on a set of `mxcast vectors`, with plain Python: python read_vectors.py FOLDER"""

import csv
import json
import sys
from collections import Counter
from pathlib import Path


def convert(given: dict[str, list[int]], leaving: dict[str, int]) -> dict[str, list[int]]:
    """Replace this by your converter: from the words of each input port, such as x of an encoder (FP32 patterns), to
    as many words of each output port as it has lanes, such as scale and p. This one returns zeros.
    """
    return {name: [0] * lanes for name, lanes in leaving.items()}


def words(row: dict[str, str], name: str, lanes: int) -> list[int]:
    return [int(row[f"{name}{lane}" if lanes > 1 else name], 16) for lane in range(lanes)]


def main(folder: str) -> int:
    ports = json.loads(Path(folder, "manifest.json").read_text())["ports"]
    lanes = {side: {p["name"]: p["lanes"] for p in ports if p["direction"] == side} for side in ("input", "output")}
    wrong, blocks = Counter(), 0
    with open(Path(folder, "vectors.csv"), newline="") as file:
        for row in csv.DictReader(file):
            entering, leaving = ({name: words(row, name, n) for name, n in side.items()} for side in lanes.values())
            blocks += 1
            wrong[row["category"]] += convert(entering, lanes["output"]) != leaving
    print(f"{wrong.total()} of {blocks} blocks differ: {dict(wrong)}")
    return 1 if wrong.total() or not blocks else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
