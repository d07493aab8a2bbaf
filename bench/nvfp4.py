"""Speed of the golden model's encoding to NVFP4 on one core, next to torchao and Transformer Engine's PyTorch
reference, measured in the same run.

    python bench/nvfp4.py [--mib 64] [--rounds 5] [--te FILE] [--render]

The baselines are torchao's ``nvfp4_quantize`` under a scale of the tensor, and the method that quantizes blocks in
``transformer_engine/pytorch/custom_recipes/reference_nvfp4.py``, which is ``FILE``; one thread, eager: on the whole
tensor, and on parts of 2 MiB, which spares the operating system's handing out of fresh memory for each of their steps.
All start from the largest magnitude of the tensor, and before anything is timed their bits are compared. Ratios are
against the baseline that is called alike: whole against whole, parts against parts. It writes
records/nvfp4_speed.json, and the table at `<!-- nvfp4 speed -->` of docs/results.md; with ``--render`` the table only.
"""

import argparse
import json
import os
import platform
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import numpy as np
from pages import filled, table
from quantize import seconds

from mxcast.conformance.adapters.te_reference import quantizer
from mxcast.host.files import write_whole
from mxcast.models import quantize_nvfp4, tensor_amax
from mxcast.spec import NVFP4_ENCODERS, nvfp4_encoding

ROOT = Path(__file__).parent.parent
KEPT, PAGE = ROOT / "records" / "nvfp4_speed.json", ROOT / "docs" / "results.md"
PART = 32768
"""Blocks in a part: 2 MiB."""
SUBJECTS = {"torchao": "nvfp4_ao", "Transformer Engine": "nvfp4_te"}
"""The profile that a baseline follows."""

Converted = list[tuple[np.ndarray, np.ndarray]]
"""Scale bytes and packed codes of each part."""


def torchao(x: np.ndarray, a: float) -> dict[str, Callable[[], Converted]]:
    """Conversions of (n, 16) blocks, as a whole and in parts; empty if torchao is not installed."""
    try:
        import torch
        from torchao.prototype.mx_formats.nvfp4_tensor import nvfp4_quantize, per_tensor_amax_to_scale
    except ImportError:
        return {}
    torch.set_num_threads(1)
    numbers, scale = torch.from_numpy(x), per_tensor_amax_to_scale(torch.tensor(a))

    def convert(rows: int) -> Converted:
        found = [nvfp4_quantize(part, 16, scale) for part in numbers.split(rows)]
        return [(scales.view(torch.uint8).numpy(), codes.view(torch.uint8).numpy()) for scales, codes in found]

    return {"torchao whole": lambda: convert(len(x)), "torchao parts": lambda: convert(PART)}


def transformer_engine(x: np.ndarray, a: float, file: Path | None) -> dict[str, Callable[[], Converted]]:
    """The same by Transformer Engine's reference; nothing without its file."""
    if file is None:
        return {}
    import torch

    torch.set_num_threads(1)
    numbers, amax, reference = torch.from_numpy(x), torch.tensor([a]), quantizer(file)

    def convert(rows: int) -> Converted:
        parts = numbers.split(rows)
        found = [
            reference._quantize_blockwise_reference(part, amax, 16, 1, pow_2_scales=False, eps=0.0) for part in parts
        ]
        return [(scales.view(torch.uint8).numpy(), codes.numpy()) for codes, scales in found]

    name = "Transformer Engine"
    return {f"{name} whole": lambda: convert(len(x)), f"{name} parts": lambda: convert(PART)}


def check(x: np.ndarray, a: float, others: dict[str, Callable]) -> None:
    """Stop unless a baseline gives the bits of the golden model."""
    for name, convert in others.items():
        q = quantize_nvfp4(x, "nvfp4", SUBJECTS[name.rpartition(" ")[0]], tensor_amax=a)
        scales, codes = (np.concatenate([np.ravel(part[i]) for part in convert()]) for i in (0, 1))
        assert np.array_equal(scales, q.scales.reshape(-1)), f"{name}: scales differ"
        assert np.array_equal(codes, (q.codes[:, ::2] | q.codes[:, 1::2] << 4).reshape(-1)), f"{name}: codes differ"


def measure(mib: int, rounds: int, te: Path | None) -> dict:
    """Million elements a second, medians over rounds taken in turn, and the medians of the ratios."""
    processors = os.sched_getaffinity(0)
    x = np.random.default_rng(0).standard_normal((mib << 20 >> 6, 16), dtype=np.float32)
    x[x == 0] = 0  # Transformer Engine's reference gives -0 the code of +0
    a = float(tensor_amax(x))
    try:
        os.sched_setaffinity(0, {min(processors)})
        others = torchao(x, a) | transformer_engine(x, a, te)
        check(x, a, others)
        times = _times(x, a, others, rounds)
    finally:
        os.sched_setaffinity(0, processors)
    rate = {name: round(x.size / 1e6 / float(np.median(t)), 1) for name, t in times.items()}
    ratios = {}
    for name in others:
        baseline, _, extent = name.rpartition(" ")
        each = np.divide(times[name], times[f"{SUBJECTS[baseline]} {extent}"])
        ratios[name] = round(float(np.median(each)), 2)
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
    timed: dict[str, Callable] = {
        **{f"{name} whole": _whole(x, name, a) for name in NVFP4_ENCODERS},
        **{f"{name} parts": _in_parts(x, name, a) for name in SUBJECTS.values()},
        "largest magnitude": lambda: tensor_amax(x),
        **others,
    }
    times: dict[str, list[float]] = {name: [] for name in timed}
    for _ in range(rounds):
        for name, function in timed.items():
            times[name].append(seconds(function))
    return times


def _whole(x: np.ndarray, profile: str, a: float) -> Callable[[], object]:
    rules = nvfp4_encoding("nvfp4", profile)
    return lambda: quantize_nvfp4(x, rules, tensor_amax=a if rules.block.tensor_scale else None)


def _in_parts(x: np.ndarray, profile: str, a: float) -> Callable[[], object]:
    rules = nvfp4_encoding("nvfp4", profile)
    starts = range(0, len(x), PART)
    return lambda: [quantize_nvfp4(x[start : start + PART], rules, tensor_amax=a) for start in starts]


def rendered(page: str, record: dict) -> str:
    rates, ratios = record["rates"], record["ratios"]
    rows = [[name, f"{rate:.0f}", ratios.get(name) and f"{ratios[name]:.2f}x"] for name, rate in rates.items()]
    versions = ", ".join(f"{name} {record[name]}" for name in ("numpy", "torch", "torchao", "python") if name in record)
    text = table(["", "million elements a second", "ours beside it"], rows, texts=1)
    return filled(page, {"nvfp4 speed": f"{text}\n{record['mib']} MiB of N(0, 1), one core, {versions}.\n"})


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("--mib", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--te", type=Path, help="reference_nvfp4.py of a checkout of Transformer Engine")
    parser.add_argument("--render", action="store_true")
    asked = parser.parse_args()
    if not asked.render:
        write_whole(KEPT, json.dumps(measure(asked.mib, asked.rounds, asked.te), indent=1) + "\n")
    result = json.loads(KEPT.read_text())
    PAGE.write_text(rendered(PAGE.read_text(), result))
    for name, one in result["rates"].items():
        print(f"{name:32} {one:8.1f}")
    for name, one in result["ratios"].items():
        print(f"ours beside {name:24} {one:7.2f}x")
