"""Try an encoder on a set of `mxcast vectors`, with plain Python: python read_vectors.py FOLDER/vectors.csv"""

import csv
import sys
from collections import Counter


def encode(x: list[int]) -> tuple[int, list[int]]:
    """FP32 patterns to a scale byte and codes: put your encoder here. This one returns zeros."""
    return 0, [0] * len(x)


def main(path: str) -> int:
    wrong, blocks = Counter(), 0
    with open(path, newline="") as file:
        for row in csv.DictReader(file):
            x, codes = ([int(row[f"{port}{lane}"], 16) for lane in range(32)] for port in "xp")
            blocks += 1
            wrong[row["category"]] += encode(x) != (int(row["scale"], 16), codes)
    print(f"{wrong.total()} of {blocks} blocks differ: {dict(wrong)}")
    return 1 if wrong.total() or not blocks else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
