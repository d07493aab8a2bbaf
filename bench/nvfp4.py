"""How fast the golden model encodes to NVFP4 on one core, beside torchao where installed, measured in the same run.

    python bench/nvfp4.py [--mib 64] [--rounds 5] [--json]

The baseline is torchao's ``nvfp4_quantize`` under a scale of the tensor, one thread, eager: on the whole tensor, and on
parts of 2 MiB, which spares the operating system's handing out of fresh memory for each of its steps. Both start from
the largest magnitude of the tensor, and before anything is timed their bits are compared. Ratios are against the
baseline that is called alike: whole against whole, parts against parts.
"""

import argparse
import json
import os
import platform
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version

import numpy as np
from quantize import seconds

from mxcast.models import quantize_two_level, tensor_amax
from mxcast.spec import TWO_LEVEL, two_level

PART = 32768
"""Blocks in a part: 2 MiB."""
SUBJECT = "nvfp4_ao"
"""The profile whose bits are torchao's."""


def torchao(x: np.ndarray, a: float) -> dict[str, Callable[[], list[tuple[np.ndarray, np.ndarray]]]]:
    """Bytes and packed codes of (n, 16) blocks, of the whole and in parts; nothing where torchao is not installed."""
    try:
        import torch
        from torchao.prototype.mx_formats.nvfp4_tensor import nvfp4_quantize, per_tensor_amax_to_scale
    except ImportError:
        return {}
    torch.set_num_threads(1)
    numbers, scale = torch.from_numpy(x), per_tensor_amax_to_scale(torch.tensor(a))

    def convert(rows: int) -> list[tuple[np.ndarray, np.ndarray]]:
        found = [nvfp4_quantize(part, 16, scale) for part in numbers.split(rows)]
        return [(scales.view(torch.uint8).numpy(), codes.view(torch.uint8).numpy()) for scales, codes in found]

    return {"whole": lambda: convert(len(x)), "parts": lambda: convert(PART)}


def check(x: np.ndarray, a: float, others: dict[str, Callable]) -> None:
    """Stop unless the bits of a baseline are those of the golden model."""
    q = quantize_two_level(x, "nvfp4", SUBJECT, tensor_amax=a)
    for name, convert in others.items():
        scales, codes = (np.concatenate([np.ravel(part[i]) for part in convert()]) for i in (0, 1))
        assert np.array_equal(scales, q.scales.reshape(-1)), f"{name}: scales differ"
        assert np.array_equal(codes, (q.codes[:, ::2] | q.codes[:, 1::2] << 4).reshape(-1)), f"{name}: codes differ"


def measure(mib: int, rounds: int) -> dict:
    """Million elements a second, medians over rounds taken in turn, and the medians of the ratios."""
    processors = os.sched_getaffinity(0)
    x = np.random.default_rng(0).standard_normal((mib << 20 >> 6, 16), dtype=np.float32)
    a = float(tensor_amax(x))
    try:
        os.sched_setaffinity(0, {min(processors)})
        others = torchao(x, a)
        check(x, a, others)
        times = _times(x, a, others, rounds)
    finally:
        os.sched_setaffinity(0, processors)
    rate = {name: round(x.size / 1e6 / float(np.median(t)), 1) for name, t in times.items()}
    ratios = {
        name: round(float(np.median(np.divide(times[f"torchao {name}"], times[f"{SUBJECT} {name}"]))), 2)
        for name in others
    }
    return {
        "unit": "million elements a second, one core",
        "mib": mib,
        "rounds": rounds,
        "machine": platform.processor() or platform.machine(),
        "python": platform.python_version(),
        **{name: found for name in ("numpy", "torch", "torchao", "mxcast") if (found := _version(name))},
        "rates": rate,
        "ratios": ratios,
    }


def _times(x: np.ndarray, a: float, others: dict[str, Callable], rounds: int) -> dict[str, list[float]]:
    def parts() -> None:
        for start in range(0, len(x), PART):
            quantize_two_level(x[start : start + PART], two_level("nvfp4", SUBJECT), tensor_amax=a)

    timed: dict[str, Callable] = {
        **{f"{name} whole": _whole(x, name, a) for name in TWO_LEVEL},
        f"{SUBJECT} parts": parts,
        "largest magnitude": lambda: tensor_amax(x),
        **{f"torchao {name}": convert for name, convert in others.items()},
    }
    times: dict[str, list[float]] = {name: [] for name in timed}
    for _ in range(rounds):
        for name, function in timed.items():
            times[name].append(seconds(function))
    return times


def _whole(x: np.ndarray, profile: str, a: float) -> Callable[[], object]:
    rules = two_level("nvfp4", profile)
    return lambda: quantize_two_level(x, rules, tensor_amax=a if rules.block.tensor_scale else None)


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


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
        print(f"{result['unit']}; {asked.mib} MiB of N(0, 1), medians of {asked.rounds}")
        for name, one in result["rates"].items():
            print(f"{name:32} {one:8.1f}")
        for name, one in result["ratios"].items():
            print(f"{SUBJECT} to torchao, {name:20} {one:7.2f}x")
