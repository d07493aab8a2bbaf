"""Speed of the golden model's decoding to FP32 on one core, next to other libraries, measured in one run.

All decode the same blocks of N(0, 1) under ``ocp``, twice: the whole tensor in one call, and parts of 2
MiB of results in as many calls, each of which is dropped before the next. Codes are in the form that the library takes.
Baselines, each compared bit for bit, under the profile of its rules, before anything is timed:

- the installed libraries of `library_decoders`: ml_dtypes, torchao on one thread in eager mode, gguf-py;
- ggml's reference in C, if the environment variable GGML names its sources;
- numpy: ``elements[codes] * factors[scales][:, None]``, and numpy_take, the same by ``np.take``; the only baselines for
  INT8.

The ratio compares with the fastest of these. ``fill`` is shown apart: an array of the size of the result is made and
filled with one number, the memory's limit.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version

import numpy as np

from mxcast.models import BlockArray, dequantize, quantize
from mxcast.models.arrays.codes import code_values
from mxcast.models.arrays.packing import stored_blocks
from mxcast.spec import BLOCKS, BlockFormat, numerics
from mxcast.spec.layouts.catalogue import layout_named

from ..libraries import ggml
from ..libraries.library_decoders import LIBRARIES, patterns
from .timing import in_turn, one_core, rates, ratio, versions

ASIDE = "fill"
TIMED = ("ml_dtypes", "torchao", "gguf")
PROFILES = {name: library.profile for name, library in LIBRARIES.items()} | {"ggml": "ggml"}
"""Rules of other decoders than ours and NumPy's."""
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


def _fill(scales: np.ndarray, codes: np.ndarray, block: BlockFormat) -> Decode:
    return lambda: np.full(codes.shape, 1, np.float32)


def _ggml(scales: np.ndarray, codes: np.ndarray, block: BlockFormat) -> Decode:
    blocks = stored_blocks(codes, scales, layout_named("ggml", block))
    return lambda: ggml.dequantize(blocks)


def _library(name: str) -> Callable[[np.ndarray, np.ndarray, BlockFormat], Decode]:
    return lambda scales, codes, block: LIBRARIES[name].make(scales, codes, block.short_name, "fp32")


def decoders(block: BlockFormat) -> dict[str, Callable[[np.ndarray, np.ndarray, BlockFormat], Decode]]:
    """Functions that make decoders of blocks of this format, by name, for the installed libraries."""
    made = {"mxcast": _ours, "numpy": _numpy, "numpy_take": _numpy_take, ASIDE: _fill}
    for name in TIMED:
        if block.short_name in LIBRARIES[name].formats and is_installed(name):
            made[name] = _library(name)
    if ggml.is_there() and block.short_name == "e2m1":
        made["ggml"] = _ggml
    return made


def is_installed(name: str) -> bool:
    try:
        return all(version(package) for package in LIBRARIES[name].packages)
    except PackageNotFoundError:
        return False


def measure(mib: int, rounds: int) -> dict:
    x = np.random.default_rng(0).standard_normal((mib << 20 >> 7, 32), dtype=np.float32)
    with one_core():
        rows = {block.name: _row(x, block, rounds) for block in BLOCKS.values()}
    packages = {package for name in TIMED if is_installed(name) for package in LIBRARIES[name].packages}
    return {
        "unit": "million elements a second, one core",
        "mib": mib,
        "rounds": rounds,
        "seed": 0,
        **versions(*sorted(packages)),
        "formats": rows,
    }


def _row(x: np.ndarray, block: BlockFormat, rounds: int) -> dict:
    q = quantize(x, numerics(block))
    scales, codes = q.scales[:, 0].copy(), q.codes
    parts = [slice(start, start + PART) for start in range(0, len(codes), PART)]
    makers = decoders(block)
    whole = {name: make(scales, codes, block) for name, make in makers.items()}
    for name in whole.keys() - {ASIDE}:
        wanted = dequantize(q, PROFILES.get(name), destination="fp32")
        assert np.array_equal(patterns(whole[name]()), patterns(wanted)), f"{block.name}: {name} differs"
    fed = {name: [make(scales[part], codes[part], block) for part in parts] for name, make in makers.items()}
    found = {"whole": _timed(whole, x.size, rounds)}
    found["parts"] = _timed({name: lambda calls=calls: _each(calls) for name, calls in fed.items()}, x.size, rounds)
    return found


def _each(calls: list[Decode]) -> None:
    for call in calls:
        call()


def _timed(calls: dict[str, Decode], elements: int, rounds: int) -> dict:
    times = in_turn(calls, rounds)
    rate = rates(times, elements)
    best = max((name for name in rate if name not in ("mxcast", ASIDE)), key=lambda name: rate[name])
    others = {name: {"rate": rate[name], "ratio": ratio(times, name, "mxcast")} for name in rate if name != "mxcast"}
    return {"mxcast": rate["mxcast"], "best": best, "ratio": others[best]["ratio"], "baselines": others}
