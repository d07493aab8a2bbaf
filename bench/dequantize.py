"""Speed of the golden model's decoding to FP32 on one core, next to other libraries, measured in one run.

    python bench/dequantize.py [--mib 64] [--rounds 5] [--json]

All decode the same blocks of N(0, 1) under ``ocp``, twice: the whole tensor in one call, and parts of 2
MiB of results in as many calls, each of which is dropped before the next. Codes are in the form that the library takes.
Baselines, each compared bit for bit, under the profile of its rules, before anything is timed:

- the installed libraries of `library_decoders`: ml_dtypes, torchao on one thread in eager mode, gguf-py;
- numpy: ``elements[codes] * factors[scales][:, None]``, the only baseline for INT8.

The ratio compares with the fastest of these. ``numpy_take`` is shown apart: the same look-up by ``np.take``, which
measures faster for arrays that fit the caches.
"""

import argparse
import json
import os
import platform
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version

import numpy as np
from library_decoders import LIBRARIES, patterns
from quantize import seconds

from mxcast.models import BlockArray, dequantize, quantize
from mxcast.models.arrays.codes import code_values
from mxcast.spec import BLOCKS, BlockFormat, numerics

ASIDE = "numpy_take"
TIMED = ("ml_dtypes", "torchao", "gguf")
PART = 2 << 20 >> 7
"""Blocks of 32 FP32 numbers in 2 MiB."""

Decode = Callable[[], object]


def _ours(scales: np.ndarray, codes: np.ndarray, block: BlockFormat) -> Decode:
    q = BlockArray(scales=scales[:, None], codes=codes, block=block)
    return lambda: dequantize(q)


def _numpy(scales: np.ndarray, codes: np.ndarray, block: BlockFormat) -> Decode:
    elements, factors = code_values(block.element), code_values(block.scale)
    return lambda: elements[codes] * factors[scales][:, None]


def _numpy_take(scales: np.ndarray, codes: np.ndarray, block: BlockFormat) -> Decode:
    elements, factors = code_values(block.element), code_values(block.scale)
    return lambda: np.take(elements, codes) * np.take(factors, scales)[:, None]


def _library(name: str) -> Callable[[np.ndarray, np.ndarray, BlockFormat], Decode]:
    return lambda scales, codes, block: LIBRARIES[name].make(scales, codes, block.short_name, "fp32")


def decoders(block: BlockFormat) -> dict[str, Callable[[np.ndarray, np.ndarray, BlockFormat], Decode]]:
    """Functions that make decoders of blocks of this format, by name, for the installed libraries."""
    made = {"mxcast": _ours, "numpy": _numpy, ASIDE: _numpy_take}
    for name in TIMED:
        if block.short_name in LIBRARIES[name].formats and is_installed(name):
            made[name] = _library(name)
    return made


def is_installed(name: str) -> bool:
    try:
        return all(version(package) for package in LIBRARIES[name].packages)
    except PackageNotFoundError:
        return False


def versions() -> dict[str, str]:
    """Versions of those that are installed."""
    names = {package for name in TIMED if is_installed(name) for package in LIBRARIES[name].packages}
    return {name: version(name) for name in sorted(names | {"numpy"})}


def measure(mib: int, rounds: int) -> dict:
    """Million elements a second of all, medians over rounds taken in turn, and the medians of the ratios."""
    processors = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {max(processors)})
    try:
        x = np.random.default_rng(0).standard_normal((mib << 20 >> 7, 32), dtype=np.float32)
        rows = {block.name: _row(x, block, rounds) for block in BLOCKS.values()}
    finally:
        os.sched_setaffinity(0, processors)
    return {
        "unit": "million elements a second, one core",
        "mib": mib,
        "rounds": rounds,
        "seed": 0,
        "python": platform.python_version(),
        **versions(),
        "mxcast": version("mxcast"),
        "formats": rows,
    }


def _row(x: np.ndarray, block: BlockFormat, rounds: int) -> dict:
    q = quantize(x, numerics(block))
    scales, codes = q.scales[:, 0].copy(), q.codes
    parts = [slice(start, start + PART) for start in range(0, len(codes), PART)]
    makers = decoders(block)
    whole = {name: make(scales, codes, block) for name, make in makers.items()}
    for name, decode in whole.items():
        wanted = dequantize(q, LIBRARIES[name].profile if name in LIBRARIES else None, destination="fp32")
        assert np.array_equal(patterns(decode()), patterns(wanted)), f"{block.name}: {name} differs"
    fed = {name: [make(scales[part], codes[part], block) for part in parts] for name, make in makers.items()}
    found = {"whole": _timed(whole, x.size, rounds)}
    found["parts"] = _timed({name: lambda calls=calls: _each(calls) for name, calls in fed.items()}, x.size, rounds)
    return found


def _each(calls: list[Decode]) -> None:
    for call in calls:
        call()


def _timed(calls: dict[str, Decode], elements: int, rounds: int) -> dict:
    times: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(rounds):
        for name, call in calls.items():
            times[name].append(seconds(call))
    rate = {name: round(elements / 1e6 / float(np.median(t)), 1) for name, t in times.items()}
    ratio = {name: round(float(np.median(np.divide(times[name], times["mxcast"]))), 2) for name in times}
    best = max((name for name in rate if name not in ("mxcast", ASIDE)), key=rate.get)
    others = {name: {"rate": rate[name], "ratio": ratio[name]} for name in rate if name != "mxcast"}
    return {"mxcast": rate["mxcast"], "best": best, "ratio": ratio[best], "baselines": others}


def table(result: dict) -> str:
    """The figures as text."""
    lines = [f"{'format':11} {'fed':6} {'mxcast':>8}  others (ratio)"]
    for name, row in result["formats"].items():
        for way in ("whole", "parts"):
            one = row[way]
            others = ", ".join(f"{other} {v['rate']} ({v['ratio']:.2f})" for other, v in one["baselines"].items())
            lines.append(f"{name:11} {way:6} {one['mxcast']:8.1f}  {others}; best {one['best']} {one['ratio']:.2f}x")
    return "\n".join(lines)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("--mib", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args()
    result = measure(asked.mib, asked.rounds)
    if asked.json:
        print(json.dumps(result, indent=2))
    else:
        print(f"{result['unit']}; {asked.mib} MiB of FP32 results, medians of {asked.rounds}")
        print(", ".join(f"{name} {number}" for name, number in versions().items()))
        print(table(result))
