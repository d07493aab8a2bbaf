"""Speed of encoding to NVFP4: the golden model, torchao, and Transformer Engine's PyTorch reference, on one core.

All start from the largest magnitude of the tensor; bits are compared before anything is timed. Baselines are called on
the whole tensor, and on parts of 2 MiB. Ratios compare whole with whole and parts with parts. The environment variable
MXCAST_TE_REFERENCE names Transformer Engine's `reference_nvfp4.py`.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import numpy as np

from mxcast.conformance.adapters.te_reference import VARIABLE, quantizer
from mxcast.models import quantize_nvfp4, tensor_amax
from mxcast.spec import NVFP4_ENCODERS, nvfp4_encoding

from ..pages import table
from .timing import in_turn, one_core, rates, ratio, versions

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


def transformer_engine(x: np.ndarray, a: float) -> dict[str, Callable[[], Converted]]:
    """The same by Transformer Engine's reference; nothing without its file."""
    if VARIABLE not in os.environ:
        return {}
    import torch

    torch.set_num_threads(1)
    numbers, amax, reference = torch.from_numpy(x), torch.tensor([a]), quantizer(Path(os.environ[VARIABLE]))

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


def measure(mib: int, rounds: int) -> dict:
    x = np.random.default_rng(0).standard_normal((mib << 20 >> 6, 16), dtype=np.float32)
    x[x == 0] = 0  # Transformer Engine's reference gives -0 the code of +0
    a = float(tensor_amax(x))
    with one_core():
        others = torchao(x, a) | transformer_engine(x, a)
        check(x, a, others)
        timed: dict[str, Callable[[], object]] = {
            **{f"{name} whole": _whole(x, name, a) for name in NVFP4_ENCODERS},
            **{f"{name} parts": _in_parts(x, name, a) for name in SUBJECTS.values()},
            "largest magnitude": lambda: tensor_amax(x),
            **others,
        }
        times = in_turn(timed, rounds)
    ratios = {}
    for name in others:
        baseline, _, extent = name.rpartition(" ")
        ratios[name] = ratio(times, name, f"{SUBJECTS[baseline]} {extent}")
    return {
        "unit": "million elements a second, one core",
        "mib": mib,
        "rounds": rounds,
        **versions("torch", "torchao"),
        "rates": rates(times, x.size),
        "ratios": ratios,
    }


def _whole(x: np.ndarray, profile: str, a: float) -> Callable[[], object]:
    rules = nvfp4_encoding("nvfp4", profile)
    return lambda: quantize_nvfp4(x, rules, tensor_amax=a if rules.block.tensor_scale else None)


def _in_parts(x: np.ndarray, profile: str, a: float) -> Callable[[], object]:
    rules = nvfp4_encoding("nvfp4", profile)
    starts = range(0, len(x), PART)
    return lambda: [quantize_nvfp4(x[start : start + PART], rules, tensor_amax=a) for start in starts]


def markdown(record: dict) -> str:
    """The table of docs/results.md."""
    ratios = record["ratios"]
    rows = [
        [name, f"{rate:.0f}", ratios.get(name) and f"{ratios[name]:.2f}x"] for name, rate in record["rates"].items()
    ]
    named = ", ".join(f"{name} {record[name]}" for name in ("numpy", "torch", "torchao", "python") if name in record)
    text = table(["", "million elements a second", "ours next to it"], rows, texts=1)
    return f"{text}\n{record['mib']} MiB of N(0, 1), one core, {named}.\n"
