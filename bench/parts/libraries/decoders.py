"""Decoders of public libraries, compared with ours on every pair of a scale byte and a code.

Rows of libraries that are not installed stay as they are. For iDMA, the environment variable IDMA names a checkout of
its release 0.7.0.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict
from itertools import product
from pathlib import Path

import numpy as np

from mxcast.compare.decode import CAUSES, compare_decoders, decoded_pairs, findings
from mxcast.spec import BLOCKS, DECODERS, block_format, decoding

from ..pages import table
from .library_decoders import LIBRARIES, Library, patterns, version_of

ROOT = Path(__file__).parents[3]
KEPT = ROOT / "records" / "decoders.json"
FORMATS = [block.short_name for block in BLOCKS.values()]
SIZE = 32


def all_pairs(library: Library, format: str, destination: str) -> np.ndarray:
    """Results of a library for every scale byte and code: (256, number of codes) patterns."""
    codes = 1 << block_format(format).element.bits
    row = np.resize(np.arange(codes, dtype=np.uint8), max(codes, SIZE))  # a block takes all 16 codes of E2M1 twice
    blocks = row.size // SIZE
    scales = np.repeat(np.arange(256, dtype=np.uint8), blocks)
    decode = library.make(scales, np.tile(row, 256).reshape(-1, SIZE), format, destination)
    with np.errstate(over="ignore", invalid="ignore"):
        decoded = patterns(decode())
    return decoded.reshape(256, row.size)[:, :codes]


def row(library: Library, format: str, destination: str) -> dict:
    """How a library differs from its profile and from ``ocp``; ``a`` is the library."""
    theirs = all_pairs(library, format, destination)
    against = {}
    for profile in (library.profile, "ocp"):
        rules = decoding(format, profile, destination=destination)
        found = findings(theirs, decoded_pairs(rules), rules.destination)
        against[profile] = {cause: asdict(finding) for cause, finding in found.items()}
    return {
        "library": library.name,
        "versions": version_of(library),
        "format": format,
        "destination": destination,
        "pairs": theirs.size,
        "profile": library.profile,
        "against": against,
    }


def rows_of(library: Library) -> Iterator[dict]:
    for format, destination in product(library.formats, library.destinations):
        yield row(library, format, destination)


def profile_rows() -> list[dict]:
    """How our profiles differ from ``ocp``, in FP32; ``a`` is the profile."""
    found = []
    for profile, format in product(DECODERS, FORMATS):
        if profile != "ocp":
            rules = decoding(format, profile, destination="fp32")
            certificate = compare_decoders(rules, decoding(format, "ocp"))
            counts = {key: certificate.to_dict()[key] for key in ("compared", "causes")}
            found.append({"profile": profile, "format": format, **counts})
    return found


def measure() -> dict:
    kept = json.loads(KEPT.read_text())["libraries"] if KEPT.exists() else []
    rows = []
    for library in LIBRARIES.values():
        try:
            version_of(library)
            rows += rows_of(library)
        except ImportError as missing:
            print(f"{library.name}: {missing}, so its rows stay as they are")
            rows += [one for one in kept if one["library"] == library.name]
    return {"libraries": rows, "profiles": profile_rows()}


def counted(causes: dict) -> str:
    """Differences by cause, with the first pair of the first of them."""
    if not causes:
        return "0"
    total = sum(finding["differing"] for finding in causes.values())
    parts = ", ".join(f"{cause} {finding['differing']:,}" for cause, finding in causes.items())
    return f"{total:,}: {parts}"


def witness(causes: dict, destination: str) -> str:
    """The smallest pair of all causes: byte and code, and the patterns of both sides."""
    if not causes:
        return ""
    first = min((finding["first"] for finding in causes.values()), key=lambda pair: (pair["byte"], pair["code"]))
    digits = 8 if destination == "fp32" else 4
    return f"`{first['byte']:02X} {first['code']:02X}` {first['a']:0{digits}X} / {first['b']:0{digits}X}"


def section(kept: dict) -> str:
    """The section of docs/differences.md."""
    libraries = "".join(
        f"* `{library.name}` (profile `{library.profile}`): {library.function}. Versions: "
        f"{next(one['versions'] for one in kept['libraries'] if one['library'] == library.name)}.\n"
        for library in LIBRARIES.values()
    )
    rows = [
        [
            f"`{one['library']}`",
            one["format"].upper(),
            one["destination"].upper(),
            f"`{one['profile']}`",
            f"{one['pairs']:,}",
            counted(one["against"][one["profile"]]),
            witness(one["against"][one["profile"]], one["destination"]),
            counted(one["against"]["ocp"]),
            witness(one["against"]["ocp"], one["destination"]),
            f"`{one['library']} {one['format']} {one['destination']}`",
        ]
        for one in kept["libraries"]
    ]
    head = ["library", "format", "to", "profile", "pairs", "differ from the profile", "first"]
    head += ["differ from `ocp`", "first", "`python bench/differences.py --decoders ...`"]
    ours = [
        [
            f"`{one['profile']}`",
            one["format"].upper(),
            f"{one['compared']:,}",
            counted(one["causes"]),
            witness(one["causes"], "fp32"),
        ]
        for one in kept["profiles"]
    ]
    causes = "".join(f"* `{cause}`: {meaning}.\n" for cause, meaning in CAUSES.items())
    return f"""
## Decoders of public libraries

This section is written by `python bench/differences.py --decoders` from [decoders.json](../records/decoders.json). The
last cell of a row, behind this command, makes the row again. A decoder reads a scale byte and a code. So the library
and `dequantize` decoded every pair, and the results were compared bit for bit:

{libraries}
A cell counts the pairs that differ, by cause, and gives the first of them: byte and code in hexadecimal, then what the
library gives / what we give. The causes are

{causes}
{table(head, rows, texts=len(head))}
What the rows say:

* `ml_dtypes`: a NaN keeps its sign, not its fraction.
* `gfloat` gives Python's floats, whose only NaN is the canonical one.
* `torchao` to FP32 and BF16: every number follows the profile. NaN do not: to FP32, an element that is NaN under
  byte 255 becomes the NaN of the scale; to BF16, torch's vector code makes every NaN 0xFFFF, and its scalar code, which
  takes what is left over of a row, 0x7FC0 (blocks of 16 show it). No rule depends on a place in memory, so the profile
  keeps the payload.
* `torchao` to FP16: the library rounds the scale to FP16 before it multiplies. So bytes up to 102 make zeros, or NaN of
  E5M2's Inf, and bytes from 143 on make Inf, or NaN of zeros, also where the product is a number of FP16.
* `gpt_oss`: `torch.ldexp` takes byte 255 for 2^128, as the profile does.
* `idma`: numbers go to FP16 by way of FP32; with `subnormals=exact` and `overflow=inf` the profile has all of these
  bits too.

Transformer Engine needs a GPU; its profile was read in the source, where casts are not compiled with `--use_fast_math`,
so that subnormal results stay.

### Decoder profiles against `ocp`, to FP32

The same count between our profiles, profile / `ocp`; `mxcast compare --op decode A B` makes any other comparison.

{table(["profile", "format", "pairs", "differ", "first"], ours, texts=5)}"""


def shown(library: str, format: str | None = None, destination: str | None = None) -> Iterator[dict]:
    """Rows of one library, or of one of its formats and destinations. Raises ValueError if it does not decode them."""
    if library not in LIBRARIES:
        raise ValueError(f"unknown library {library}: known are {', '.join(LIBRARIES)}")
    chosen = LIBRARIES[library]
    formats = [format] if format else chosen.formats
    destinations = [destination] if destination else chosen.destinations
    for pair in product(formats, destinations):
        if pair not in set(product(chosen.formats, chosen.destinations)):
            raise ValueError(f"{library} does not decode {pair[0]} to {pair[1]}")
        yield row(chosen, *pair)
