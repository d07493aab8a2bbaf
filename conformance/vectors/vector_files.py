"""Folders of conformance vectors: written, read back, and checked.

A folder has `manifest.json`, all words in `vectors.csv` and again in `vectors.npz`, and `PORT.mem` for each port. The
last has a word for each block as `$readmemh` reads it, the first lane in the low bits.
"""

from __future__ import annotations

import csv
import io
import json
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ...hdl.config.command import command_line
from ...host.files import claimed, parsed_json, regular, sha256, write_whole
from ...host.version import VERSION
from ...sim.transactions import Transactions, packed, word
from ...spec import Operation, Port, operation_of
from ...spec.profiles.resolve import profile_of
from ..identify.expected.exact_results import exact_results
from .vectors import Category, VectorSet, distinct, least_distinct

FORMAT = 1
"""Version of the file format."""
WANTED = {"format": int, "rules": dict, "blocks": int, "categories": dict, "ports": list, "sha256": dict}
"""Keys that a manifest must have, with their types."""
MANIFEST, CSV, NPZ = "manifest.json", "vectors.csv", "vectors.npz"
NAMES = [str(category) for category in Category]


def write(vectors: VectorSet, folder: Path | str, confirmed: Mapping[str, object] | None = None) -> dict[str, Any]:
    """Write a folder, the manifest last, and return the manifest. ``confirmed`` describes the design that gives the
    same results. The bytes of the files depend on the set alone.
    """
    folder, ports = Path(folder), vectors.ports
    contents: dict[str, str | bytes] = {CSV: _csv(vectors), NPZ: _npz(vectors)}
    for port, words in ports:
        contents[f"{port.name}.mem"] = _mem(port, words)
    profile = profile_of(vectors.rules)
    manifest = {
        "format": FORMAT,
        "mxcast": VERSION,
        "operation": vectors.rules.name,
        "profile": profile,
        "rules": vectors.rules.to_dict(),
        "command": f"mxcast vectors {command_line(vectors.rules)} --seed {vectors.seed}"
        + (" --full" if vectors.size == "full" else ""),
        "size": vectors.size,
        "seed": vectors.seed,
        "blocks": len(vectors),
        "categories": vectors.counts,
        "ports": [
            {
                "name": port.name,
                "role": str(port.role),
                "direction": port.direction,
                "bits": port.bits,
                "lanes": port.lanes,
                "distinct": count,
                "file": f"{port.name}.mem",
            }
            for (port, _), count in zip(ports, distinct(ports).values())
        ],
        "expected": "exact rational arithmetic",
        "confirmed": dict(confirmed) if confirmed else None,
        "sha256": {name: sha256(content) for name, content in contents.items()},
    }
    with claimed(folder):
        (folder / MANIFEST).unlink(missing_ok=True)  # an old manifest must not describe new files
        for name, content in contents.items():
            write_whole(folder / name, content)
        write_whole(folder / MANIFEST, json.dumps(manifest, indent=2) + "\n")
    return manifest


def _digits(port: Port) -> int:
    return -(-port.bits // 4)


def columns(port: Port) -> list[str]:
    """The columns of a port in the table: its name, with the number of the lane if it has several."""
    return [port.name] if port.lanes == 1 else [f"{port.name}{lane}" for lane in range(port.lanes)]


def _csv(vectors: VectorSet) -> str:
    text = io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    numbered = [] if vectors.tensors is None else ["tensor"]
    table.writerow(["category", *numbered, *(name for port, _ in vectors.ports for name in columns(port))])
    digits = [_digits(port) for port, _ in vectors.ports for _ in range(port.lanes)]
    words = np.concatenate([words.astype(np.uint64) for _, words in vectors.ports], axis=1).tolist()
    tensors = [] if vectors.tensors is None else [vectors.tensors.tolist()]
    for row, (category, *rest) in enumerate(zip(vectors.categories.tolist(), *tensors)):
        table.writerow([NAMES[category], *rest, *(f"{one:0{count}x}" for one, count in zip(words[row], digits))])
    return text.getvalue()


def _npz(vectors: VectorSet) -> bytes:
    arrays = {port.name: words for port, words in vectors.ports} | {"category": vectors.categories.astype(np.uint8)}
    if vectors.tensors is not None:
        arrays["tensor"] = vectors.tensors.astype(np.uint32)
    file = io.BytesIO()
    np.savez_compressed(file, categories=np.array(NAMES), **arrays)  # type: ignore[arg-type]  # names of ours
    return file.getvalue()


def _mem(port: Port, words: np.ndarray) -> str:
    digits = -(-port.bits * port.lanes // 4)
    return "".join(f"{packed(row, port.bits):0{digits}x}\n" for row in words)


@dataclass(frozen=True)
class Checked:
    """The outcome of `check`."""

    manifest: Mapping[str, object]
    faults: Sequence[str]
    """Faults, in sentences; empty if the set is sound."""

    @property
    def passed(self) -> bool:
        return not self.faults


def check(folder: Path | str) -> Checked:
    """Compare a folder with its manifest, and its results with the exact model under the rules in the manifest.

    It compares digests of all files, counts of blocks, of each category and of the different words of each port, and
    the three forms of the same words. Every result is computed again.

    Raises ValueError for a folder without a manifest of this kind, and OSError if it cannot be read.
    """
    folder = Path(folder)
    manifest = read_manifest(folder)
    rules = operation_of(manifest["rules"])
    faults = [
        f"{name} is not the file that the manifest was made with"
        for name, digest in manifest["sha256"].items()
        if not (folder / name).is_file() or sha256((folder / name).read_bytes()) != digest
    ]
    try:
        table, arrays = _read_csv(folder, rules.ports), _read_npz(folder)
    except (OSError, KeyError, ValueError, zipfile.BadZipFile) as error:
        return Checked(manifest, [*faults, f"the words cannot be read: {error}"])
    return Checked(manifest, [*faults, *_faults(folder, manifest, rules, table, arrays)])


def read_manifest(folder: Path) -> dict[str, Any]:
    """The manifest of a folder. Raises ValueError for another kind of manifest."""
    path = folder / MANIFEST
    if not path.is_file():
        raise ValueError(f"{folder} has no {MANIFEST}: mxcast vectors e4m3 -o FOLDER makes one")
    found = parsed_json(regular(path).read_text())
    if not isinstance(found, dict) or not all(isinstance(found.get(key), kind) for key, kind in WANTED.items()):
        raise ValueError(f"{path} is no manifest of vectors")
    if found["format"] != FORMAT:
        raise ValueError(f"{path} is of format {found['format']}, and this version reads {FORMAT}")
    if not all(isinstance(one, dict) and {"name", "distinct"} <= one.keys() for one in found["ports"]):
        raise ValueError(f"{path} is no manifest of vectors: a port has a name and a count of distinct words")
    if outside := next((name for name in found["sha256"] if Path(name).name != name), None):
        raise ValueError(f"{path} names {outside!r}, which is not a file of its folder")
    return found


def _faults(
    folder: Path,
    manifest: dict[str, Any],
    rules: Operation,
    table: dict[str, np.ndarray],
    arrays: dict[str, np.ndarray],
) -> list[str]:
    ports = [port for port in rules.ports if port.name in table]
    found: list[str] = []
    if absent := [port.name for port in rules.ports if port.role.is_data and port.name not in table]:
        return [f"there is no column of {', '.join(absent)}"]
    rows = len(table["category"])
    if rows != manifest["blocks"] or rows == 0:
        found.append(f"there are {rows} blocks, and the manifest says {manifest['blocks']}")
    counts = {name: int(count) for name in NAMES if (count := (table["category"] == NAMES.index(name)).sum())}
    if counts != manifest["categories"]:
        found.append(f"the categories have {counts} blocks, and the manifest says {manifest['categories']}")
    stated = {one["name"]: one["distinct"] for one in manifest["ports"]}
    for port in ports:
        words = table[port.name]
        if not np.array_equal(arrays.get(port.name, np.empty(0)), words):
            found.append(f"{NPZ} has other words of {port.name} than {CSV}")
        path = folder / f"{port.name}.mem"
        if not path.is_file() or path.read_text() != _mem(port, words):
            found.append(f"{path.name} has other words than {CSV}")
        count = len(np.unique(words))
        if count != stated.get(port.name):
            found.append(f"{port.name} has {count} different words, and the manifest says {stated.get(port.name)}")
        if count < least_distinct(port):
            found.append(f"{port.name} has {count} different words, and a set has at least {least_distinct(port)}")
    given = Transactions({port.role: table[port.name] for port in ports if port.direction == "input"})
    expected = exact_results(rules, given)
    left = Transactions({port.role: table[port.name] for port in ports if port.direction == "output"})
    if wrong := int(expected.differ(left).sum()):
        found.append(f"{wrong} of {rows} blocks differ from the exact model")
    return found


def _read_csv(folder: Path, ports: Sequence[Port]) -> dict[str, np.ndarray]:
    with open(regular(folder / CSV), newline="") as file:
        head, *rows = csv.reader(file)
    by_name = dict(zip(head, zip(*rows, strict=True), strict=True))
    found = {"category": np.array([NAMES.index(name) for name in by_name["category"]])}
    for port in ports:
        if all(name in by_name for name in columns(port)):
            lanes = [[int(one, 16) for one in by_name[name]] for name in columns(port)]
            found[port.name] = np.array(lanes, np.uint64).T.astype(word(port))
    return found


def _read_npz(folder: Path) -> dict[str, np.ndarray]:
    with np.load(regular(folder / NPZ)) as file:
        return {name: file[name] for name in file.files}
