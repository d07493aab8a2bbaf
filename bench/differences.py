"""Compare every profile with every other in the six formats, keep the certificates as records/differences.json, and
write docs/differences.md from them.

    python bench/differences.py              compare; about half an hour on one core
    python bench/differences.py --missing    compare only the pairs that are not kept, or of other rules
    python bench/differences.py --render     only write the page from the records
    python bench/differences.py --decoders   compare the decoders of all installed libraries, keep records/decoders.json
    python bench/differences.py --decoders LIBRARY [FORMAT [DESTINATION]]    print the rows of one library

Profiles with the same rules of a format are one row. Each profile is evaluated once per format and compared with all
the others that have it.
"""

import argparse
import json
import time
from collections.abc import Iterator, Sequence
from importlib.metadata import version
from itertools import combinations
from pathlib import Path

from parts.libraries import decoders
from parts.pages import table

from mxcast.compare.encode import certificate
from mxcast.compare.evaluation import Evaluation
from mxcast.compare.input_domain import common_domain
from mxcast.host.version import VERSION
from mxcast.spec import BLOCKS, PROFILES, Encode, numerics
from mxcast.spec.profiles.resolve import like

ROOT = Path(__file__).parent.parent
KEPT = ROOT / "records" / "differences.json"
PAGE = ROOT / "docs" / "differences.md"
FORMATS = [block.short_name for block in BLOCKS.values()]
PARTS = {"scale": "largest magnitudes", "elements": "classes of elements", "specials": "blocks with NaN or Inf"}


EMPTY: dict = {"seconds": 0, "rules": {}, "same": {}, "records": []}


def groups(format: str) -> list[list[str]]:
    """Names of the profiles that have a format, those with the same rules together."""
    same: dict[Encode, list[str]] = {}
    for name in PROFILES:
        rules = like(numerics(format), name)
        if rules is not None:
            same.setdefault(rules, []).append(name)
    return list(same.values())


def rules_of(format: str) -> dict[str, dict]:
    """The rules of the first profile of each group."""
    return {
        names[0]: {k: v for k, v in numerics(format, names[0]).by_name().items() if k != "block"}
        for names in groups(format)
    }


def record(format: str, a: str, b: str, evaluations: dict | None = None) -> dict:
    """The certificate of two profiles; ``evaluations`` caches the evaluations of one format for the next pair."""
    rules = [numerics(format, profile) for profile in (a, b)]
    domain = common_domain(*(one.source for one in rules))
    evaluations = {} if evaluations is None else evaluations
    chosen = [evaluations.setdefault((name, domain.name), Evaluation(one, domain)) for name, one in zip((a, b), rules)]
    found = certificate(*chosen).to_dict()
    return {"format": format, "profiles": [a, b], "numbers": found["numbers"], **{part: found[part] for part in PARTS}}


def measure(kept: dict, formats: Sequence[str] = FORMATS) -> Iterator[dict]:
    """The record, after each format with all its certificates. Certificates of unchanged rules stay."""
    start, seconds = time.perf_counter(), kept["seconds"]
    for format in formats:
        evaluations: dict = {}
        records = []
        for pair in combinations(rules_of(format), 2):
            found = _kept(kept, format, pair)
            records.append(record(format, *pair, evaluations) if found is None else found)
        kept = {
            "mxcast": VERSION,
            "numpy": version("numpy"),
            "seconds": seconds + round(time.perf_counter() - start),
            "rules": kept["rules"] | {format: rules_of(format)},
            "same": kept["same"] | {format: {names[0]: names[1:] for names in groups(format) if names[1:]}},
            "records": [r for r in kept["records"] if r["format"] != format] + records,
        }
        kept["records"].sort(key=lambda r: FORMATS.index(r["format"]))
        print(f"{format}: {time.perf_counter() - start:.0f} s", flush=True)
        yield kept


def _kept(kept: dict, format: str, pair: tuple[str, str]) -> dict | None:
    """The record of a pair whose rules are unchanged."""
    today = rules_of(format)
    if any(kept["rules"].get(format, {}).get(name) != today[name] for name in pair):
        return None
    return next((r for r in kept["records"] if r["format"] == format and r["profiles"] == list(pair)), None)


def finding(results: dict, format: str, a: str, b: str, part: str) -> dict:
    return next(
        r[part] for r in results["records"] if r["format"] == format and sorted(r["profiles"]) == sorted((a, b))
    )


def _share(found: dict) -> str:
    count, of = found["differing"], found["compared"]
    percent = 100 * count / of
    return f"{count:,}" + (" (all)" if count == of else f" ({percent:.1f}%)" if percent >= 0.05 else "")


def _first(found: dict) -> str:
    """The first counterexample: its block, then byte and codes under either profile."""
    if found["first"] is None:
        return ""
    sides = [found["first"][key] for key in "ab"]
    block = max((side["values"] for side in sides), key=len)
    bits = [f"{side['byte']}: " + " ".join(f"{code:02X}" for code in side["codes"]) for side in sides]
    return f" `{block}` {bits[0]} / {bits[1]}"


def _overview(results: dict, format: str) -> str:
    names = list(results["rules"][format])
    rows = [
        [f"`{a}`", *("" if a == b else _share(finding(results, format, a, b, "scale")) for b in names)] for a in names
    ]
    return table(["", *(f"`{name}`" for name in names)], rows, texts=len(names) + 1)


def _format(results: dict, format: str) -> str:
    records = [r for r in results["records"] if r["format"] == format]
    rows = [
        [*(f"`{name}`" for name in r["profiles"]), *(_share(r[part]) + _first(r[part]) for part in PARTS)]
        for r in records
    ]
    same = "; ".join(
        ", ".join(f"`{name}`" for name in (first, *others)) for first, others in results["same"][format].items()
    )
    head = f"\n## {format.upper()}\n\nThe same rules, so equal everywhere: {same}.\n\n"
    return head + table(["A", "B", *PARTS.values()], rows, texts=5)


def rendered(results: dict, of_decoders: dict) -> str:
    """The page, from the results of this script and of `decoders`."""

    def percent(format: str, a: str, b: str) -> str:
        found = finding(results, format, a, b, "scale")
        return f"{100 * found['differing'] / found['compared']:.0f}%"

    flushed = finding(results, "e5m2", "ocp", "gorodecky_sousa", "elements")["differing"]
    known = ""
    for format in FORMATS:
        found = finding(results, format, "nvidia", "torchao_rceil", "scale")
        first, last = (found[which]["a"]["values"] for which in ("first", "last"))
        known += f"| {format.upper()} | {found['differing']} | `{first}` | `{last}` |\n"
    return (
        f"""# Where the profiles differ

This page is written by `python bench/differences.py` from [differences.json](../records/differences.json), which also
has the last counterexamples. `mxcast compare A B` makes any other comparison. mxcast {results["mxcast"]}, NumPy {
            results["numpy"]
        }.

"MXFP8" names a format, not the bytes that a library writes. OCP MX v1.0 fixes the elements and the scale, recommends
one way to choose the scale, and leaves NaN and Inf open. Libraries have chosen differently in three places:

* **The scale.** `ocp` takes the largest exponent of the block and lets the numbers above the largest element
  saturate. `nvidia`, `te` and `torchao_rceil` take the smallest scale under which nothing saturates. `torchao_ceil`
  takes the next power of two. `torchao_even` rounds the largest magnitude to the element's precision first, and
  `compressed_tensors` in E4M3 to one fraction bit. `mlx_round` rounds the logarithm of its ratio to the largest
  element. `gorodecky_sousa` subtracts the bias of the element instead of its largest exponent. In E4M3 `ocp` and
  `nvidia` disagree about the byte of {percent("e4m3", "ocp", "nvidia")} of all FP32 largest magnitudes, `ocp` and
  `torchao_ceil` of {percent("e4m3", "ocp", "torchao_ceil")}. A byte that is one more doubles the step between the
  elements of the whole block; one that is one less saturates its largest numbers.
* **The elements.** Under the same byte most of them round to nearest even. In E2M1 `mlx`, `ggml` and `modelopt` round
  ties toward zero. `gorodecky_sousa` rounds half up on one bit and flushes: in E5M2, where it chooses the same bytes as
  `ocp`, {flushed:,} classes of elements differ. -0 is +0 in some, and in `modelopt`'s E2M1 every zero is -0.
* **NaN and Inf.** `te`, and `modelopt` in E4M3, ignore NaN in the maximum and saturate Inf. `gorodecky_sousa` leaves
  both out of the maximum. The others make the whole block NaN. A NaN that one library reports is a number in another.

Two that are meant to be equal are not quite. `te` and `torchao_rceil` compute NVIDIA's rule in FP32 arithmetic. Against
the exact rule, `nvidia`, the byte is one too small for exactly one largest magnitude of each floating-point format,
where the quotient is subnormal and rounds down to 2^-127. INT8 has 254: the FP32 constant 64/127 is rounded down, so
the product of a number just above 127/64 of a power of two is that power of two. That is fraction 0x7E0001 in each of
254 binades, of which the last is hidden, because both bytes are clamped to 254 there, and 0x007F0001 among the
subnormal numbers.

| format | `nvidia` against `torchao_rceil`: largest magnitudes that differ | first | last |
| --- | --- | --- | --- |
{known}
## How to read the tables

Each pair was compared on everything, without sampling:

* every finite largest magnitude, 2^31 - 2^23 patterns in FP32: is the scale byte the same;
* every class of elements that a block can hold whose byte is the same on both sides: a normal number counts by sign,
  fraction and distance of its exponent field from the byte, on which alone its code depends, an FP32 subnormal number
  by pattern and byte;
* every NaN and Inf pattern, 2^24 with signs, in six blocks each: alone, with the smallest number, with 1, with the
  largest number with a minus sign, with Inf and -1, with NaN and -1.

Classes end with the first distance at which every element is zero on both sides: where the signs of zero differ, those
further down differ too. `samson` takes BF16; it is compared on the BF16 numbers, and its classes are pairs of number
and byte. A cell gives how many differ and the first block that does, by the numbers it begins with, zeros completing
it, with byte and codes under A / B.
`mxcast explain e4m3 --profile nvidia --values 0x04600001` shows such a block step by step.

## Share of largest magnitudes with another byte, E4M3

{_overview(results, "e4m3")}"""
        + "".join(_format(results, format) for format in FORMATS)
        + decoders.section(of_decoders)
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("--render", action="store_true", help="do not compare")
    parser.add_argument("--missing", action="store_true", help="compare only what is not kept")
    parser.add_argument(
        "formats", nargs="*", default=FORMATS, help="with --missing, those that are looked at; all unless given"
    )
    parser.add_argument("--decoders", nargs="*", metavar="NAME", help="compare decoders of libraries")
    asked = parser.parse_args()
    if asked.decoders:
        for row in decoders.shown(*asked.decoders):
            print(json.dumps(row, indent=1))
        return
    if asked.decoders is not None:
        decoders.KEPT.write_text(json.dumps(decoders.measure(), indent=1) + "\n")
    elif not asked.render:
        kept = json.loads(KEPT.read_text()) if asked.missing else EMPTY
        for results in measure(kept, asked.formats):
            KEPT.write_text(json.dumps(results, indent=1) + "\n")
    write_page()


def write_page() -> None:
    kept, of_decoders = (json.loads(path.read_text()) for path in (KEPT, decoders.KEPT))
    PAGE.write_text(rendered(kept, of_decoders))


if __name__ == "__main__":
    main()
