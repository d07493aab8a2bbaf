"""Speed of encoding: the golden model and the libraries that do the same, on one core.

Each baseline is compared bit for bit under the profile of its rules before it is timed. The ratio is against the
fastest of them, except `ASIDE`, which calls torchao on parts of 2 MiB. ``copyto`` is `numpy.copyto` of the input, the
limit that memory sets.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import ml_dtypes
import numpy as np

from mxcast.models import Quantized, dequantize, native, quantize
from mxcast.spec import BLOCKS, BlockFormat, numerics

from ..libraries.baselines import ASIDE, baselines
from .timing import in_turn, one_core, rates, ratio, versions

SETS = ("avx512", "avx2", "baseline")
"""Instruction sets of the compiled module on x86, the fastest first. The baseline has SSE2."""


def check(name: str, got: tuple[np.ndarray, ...], ours: Quantized) -> None:
    """Stop unless codes and scales of a baseline, or its numbers, equal ours."""
    codes = ours.codes
    if got[0].shape[-1] * 2 == codes.shape[-1]:  # two codes to a byte, the first in the low half
        codes = codes[:, 0::2] | codes[:, 1::2] << 4
    expected = (codes, ours.scales[:, 0]) if len(got) == 2 else (dequantize(ours),)
    for theirs, mine in zip(got, expected, strict=True):
        assert np.array_equal(theirs, mine), (
            f"{ours.numerics.block.name}: {name} differs in {np.sum(theirs != mine)} places"
        )


def measure(mib: int, rounds: int, profile: str = "ocp") -> dict:
    x = np.random.default_rng(0).standard_normal((mib << 20 >> 7, 32), dtype=np.float32)
    rows = {}
    with one_core() as cores:
        for block in BLOCKS.values():
            rows[block.name] = _row(x, block, profile, rounds)
            if len(cores) > 1:
                os.sched_setaffinity(0, cores)
                rows[block.name] |= _both_cores(x, block, profile, rounds)
                os.sched_setaffinity(0, {min(cores)})
    return {
        "unit": "million elements a second, one core",
        "mib": mib,
        "rounds": rounds,
        "profile": profile,
        "seed": 0,
        **versions("ml_dtypes", "torch", "torchao", "mx", "gguf", "compressed-tensors"),
        "formats": rows,
    }


def _row(x: np.ndarray, block: BlockFormat, profile: str, rounds: int) -> dict:
    rules, others, short = numerics(block, profile), baselines(x, block), x.astype(ml_dtypes.bfloat16)
    for name, other in others.items():
        check(name, other.results(), quantize(x, numerics(block, other.profile)))
    copy = np.zeros_like(x)
    calls: dict[str, Callable[[], object]] = {
        "mxcast": lambda: quantize(x, rules),
        "bf16": lambda: quantize(short, rules),
        "copyto": lambda: np.copyto(copy, x),
        **{name: other.convert for name, other in others.items()},
    }
    slower = SETS[SETS.index(native.instruction_set) + 1 :] if native.instruction_set in SETS else ()
    calls |= {name: _under(name, calls["mxcast"]) for name in slower}
    times = in_turn(calls, rounds)
    rate = rates(times, x.size)
    best = max((name for name in others if name != ASIDE), key=lambda name: rate[name])
    found = {name: {"rate": rate[name], "ratio": ratio(times, name, "mxcast")} for name in others}
    return {
        "mxcast": rate["mxcast"],
        "baseline": rate[best],
        "ratio": found[best]["ratio"],
        "best": best,
        "baselines": found,
        "copyto": rate["copyto"],
        "copyto_ratio": ratio(times, "copyto", "mxcast"),
        "bf16": rate["bf16"],
        "slower": {name: {to: ratio(times, to, name) for to in others} | {"rate": rate[name]} for name in slower},
    }


def _under(instruction_set: str, call: Callable[[], object]) -> Callable[[], object]:
    """The call with a slower instruction set of the compiled module."""

    def slower() -> object:
        native.kernels.choose(instruction_set)
        try:
            return call()
        finally:
            native.kernels.choose(None)

    return slower


def _both_cores(x: np.ndarray, block: BlockFormat, profile: str, rounds: int) -> dict:
    rules, copy = numerics(block, profile), np.zeros_like(x)
    halves = [slice(0, len(x) // 2), slice(len(x) // 2, None)]
    with ThreadPoolExecutor(2) as pool:
        calls: dict[str, Callable[[], object]] = {
            "one": lambda: quantize(x, rules),
            "two": lambda: quantize(x, rules, jobs=2),
            "copy by one": lambda: np.copyto(copy, x),
            "copy by two": lambda: list(pool.map(lambda half: np.copyto(copy[half], x[half]), halves)),
        }
        times = in_turn(calls, 3 * rounds, time.perf_counter)
    return {
        "jobs2": rates(times, x.size)["two"],
        "jobs2_ratio": ratio(times, "one", "two"),
        "copyto2_ratio": ratio(times, "copy by one", "copy by two"),
    }
