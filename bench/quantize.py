"""Speed of the golden model on one core, next to other libraries, measured in the same run.

    python bench/quantize.py [--mib 64] [--rounds 5] [--profile ocp] [--json]

Baselines, each compared with ours bit for bit before anything is timed (where the profile is ocp):

- ml_dtypes: what one would write with it. The shared exponent by integer operations on the bits, an exact
  multiplication by a power of two, a clamp and the library's cast, in chunks that fit the caches. It has no INT8
  element of this kind, so there the baseline is NumPy's ``rint``.
- torchao, where installed: ``to_mx`` on the whole tensor, one thread, eager (release 0.18 does not compile for a CPU).
  It has no INT8, and packs two FP4 codes into a byte.
- microxcaling, where installed: ``_quantize_mx``, which gives numbers instead of codes. It has all six.

The ratio compares with the fastest of these. ``torchao_parts`` is shown apart: the same ``to_mx`` on parts of 2 MiB,
for which the operating system need not provide fresh memory in each step.
"""

import argparse
import json
import os
import platform
import time
from collections.abc import Callable
from importlib.metadata import version

import ml_dtypes
import numpy as np
from libraries import ASIDE, baselines, versions

from mxcast.models import Quantized, dequantize, quantize
from mxcast.spec import BLOCKS, BlockFormat, numerics


def check(name: str, got: tuple[np.ndarray, ...], ours: Quantized) -> None:
    """Stop unless a baseline's codes and scales, or its numbers, are ours."""
    codes = ours.codes
    if got[0].shape[-1] * 2 == codes.shape[-1]:  # two codes to a byte, the first in the low half
        codes = codes[:, 0::2] | codes[:, 1::2] << 4
    expected = (codes, ours.scales[:, 0]) if len(got) == 2 else (dequantize(ours),)
    for theirs, mine in zip(got, expected, strict=True):
        assert np.array_equal(theirs, mine), (
            f"{ours.numerics.block.name}: {name} differs in {np.sum(theirs != mine)} places"
        )


def seconds(function: Callable, *arguments, **options) -> float:
    start = time.perf_counter()
    function(*arguments, **options)
    return time.perf_counter() - start


def measure(mib: int, rounds: int, profile: str) -> dict:
    """Million elements a second of all, medians over rounds taken in turn, and the medians of the ratios."""
    processors = os.sched_getaffinity(0)
    x = np.random.default_rng(0).standard_normal((mib << 20 >> 7, 32), dtype=np.float32)
    short = x.astype(ml_dtypes.bfloat16)
    rows = {}
    try:
        for block in BLOCKS.values():
            os.sched_setaffinity(0, {min(processors)})
            rows[block.name] = _row(x, short, block, profile, rounds)
            if len(processors) > 1:
                os.sched_setaffinity(0, processors)
                rows[block.name] |= _both_cores(x, block, profile, rounds)
    finally:
        os.sched_setaffinity(0, processors)
    return {
        "unit": "million elements a second, one core",
        "mib": mib,
        "rounds": rounds,
        "profile": profile,
        "seed": 0,
        "machine": platform.processor() or platform.machine(),
        "python": platform.python_version(),
        **versions(),
        "mxcast": version("mxcast"),
        "formats": rows,
    }


def _row(x: np.ndarray, short: np.ndarray, block: BlockFormat, profile: str, rounds: int) -> dict:
    rules, others, mega = numerics(block, profile), baselines(x, block), x.size / 1e6
    if profile == "ocp":
        ours = quantize(x, rules)
        for name, convert in others.items():
            check(name, convert(), ours)
    times = {name: [] for name in ("mxcast", "bf16", *others)}
    for _ in range(rounds):
        times["mxcast"].append(seconds(quantize, x, rules))
        times["bf16"].append(seconds(quantize, short, rules))
        for name, convert in others.items():
            times[name].append(seconds(convert))
    rate = {name: round(mega / float(np.median(t)), 1) for name, t in times.items()}
    ratio = {name: round(float(np.median(np.divide(times[name], times["mxcast"]))), 2) for name in others}
    best = max((name for name in others if name != ASIDE), key=rate.get)
    return {
        "mxcast": rate["mxcast"],
        "baseline": rate[best],
        "ratio": ratio[best],
        "best": best,
        "baselines": {name: {"rate": rate[name], "ratio": ratio[name]} for name in others},
        "bf16": rate["bf16"],
    }


def _both_cores(x: np.ndarray, block: BlockFormat, profile: str, rounds: int) -> dict:
    rules = numerics(block, profile)
    pairs = [(seconds(quantize, x, rules), seconds(quantize, x, rules, jobs=2)) for _ in range(rounds)]
    return {
        "jobs2": round(x.size / 1e6 / float(np.median([b for _, b in pairs])), 1),
        "jobs2_ratio": round(float(np.median([a / b for a, b in pairs])), 2),
    }


def table(result: dict) -> str:
    """The figures as text."""
    others = list(dict.fromkeys(name for row in result["formats"].values() for name in row["baselines"]))
    lines = [
        f"{'format':11} {'mxcast':>8}"
        + "".join(f" {name:>14}" for name in others)
        + f" {'best baseline':>12} {'ratio':>7} {'bf16':>8} {'jobs=2':>8} {'':>6}"
    ]
    for name, row in result["formats"].items():
        cells = [
            f"{row['baselines'][n]['rate']:6.1f} {row['baselines'][n]['ratio']:5.2f}x" if n in row["baselines"] else "-"
            for n in others
        ]
        lines.append(
            f"{name:11} {row['mxcast']:8.1f}"
            + "".join(f" {cell:>14}" for cell in cells)
            + f" {row['best']:>12} {row['ratio']:6.2f}x {row['bf16']:8.1f}"
            + (f" {row['jobs2']:8.1f} {row['jobs2_ratio']:5.2f}x" if "jobs2" in row else "")
        )
    return "\n".join(lines)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("--mib", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--profile", default="ocp")
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args()
    result = measure(asked.mib, asked.rounds, asked.profile)
    if asked.json:
        print(json.dumps(result, indent=2))
    else:
        print(f"{result['unit']}; {asked.mib} MiB of N(0, 1), profile {asked.profile}, medians of {asked.rounds}")
        known = ("numpy", "ml_dtypes", "torch", "torchao", "mx", "python")
        print(", ".join(f"{name} {result[name]}" for name in known if name in result))
        print(table(result))
