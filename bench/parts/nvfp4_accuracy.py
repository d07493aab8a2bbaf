"""Errors of encoders to NVFP4 on the weights that ship with the package, and on numbers with outlier channels."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
from safetensors.numpy import load_file

import mxcast
from mxcast.explore.accuracy import Loss, Sums, compared, loss
from mxcast.explore.tensors import Tensor
from mxcast.host.files import write_whole
from mxcast.models import rotate
from mxcast.spec import Hadamard, nvfp4_encoding

from .pages import table

ROOT = Path(__file__).parents[2]
KEPT = ROOT / "records" / "nvfp4_accuracy.json"
SEED, TOKENS, CHANNELS, OUTLIERS, LARGER = 1, 4096, 1024, 8, 64

ENCODERS: dict[str, tuple[str, dict[str, object]]] = {
    "te": ("nvfp4_te", {}),
    "paper": ("nvfp4_paper", {}),
    "ao": ("nvfp4_ao", {}),
    "ao_single": ("nvfp4_ao_single", {}),
    "te, stochastic rounding, 8 bits": ("nvfp4_te", {"rounding": "sr"}),
    "paper, 4 over 6 by mae": ("nvfp4_te_4over6", {}),
    "paper, 4 over 6 by mse": ("nvfp4_te_4over6", {"four_over_six": "mse"}),
    "paper, 4 over 6 by mae, scale_max 256": ("nvfp4_te_4over6", {"scale_max": 256}),
}
"""Profiles and fields over them; all from BF16."""
ROTATED = "te after a Hadamard transform"


def tensors() -> dict[str, list[np.ndarray]]:
    """Arrays of BF16 numbers by name, as float32, with blocks along the last axis."""
    weights = load_file(ROOT / "data" / "minilm_sample.safetensors")
    rng = np.random.Generator(np.random.PCG64(SEED))
    numbers = rng.standard_normal((TOKENS, CHANNELS))
    numbers[:, rng.choice(CHANNELS, OUTLIERS, replace=False)] *= LARGER
    return {"weights": [bf16(weights[name]) for name in sorted(weights)], "outliers": [bf16(numbers)]}


def bf16(x: np.ndarray) -> np.ndarray:
    """Rounded to nearest even."""
    patterns = x.astype(np.float32).view(np.uint32)
    rounded = patterns + np.uint32(0x7FFF) + (patterns >> np.uint32(16) & np.uint32(1))
    return (rounded & np.uint32(0xFFFF0000)).view(np.float32)


def figures(found: Loss) -> dict[str, float]:
    """Those of the record."""
    assert found.sqnr_db is not None and found.max_relative_error is not None
    return {"sqnr_db": round(found.sqnr_db, 3), "max_relative_error": round(found.max_relative_error, 3)}


def encoded(arrays: list[np.ndarray], profile: str, fields: dict[str, object]) -> dict[str, float]:
    each = [Tensor(name=str(number), values=array, source="") for number, array in enumerate(arrays)]
    total, _ = loss(nvfp4_encoding("nvfp4", profile, source="bf16", **fields), each)
    return figures(total)


def rotated(arrays: list[np.ndarray]) -> dict[str, float]:
    """Blocks are transformed, encoded in the order te, decoded, and transformed back without rounding."""
    sums = sum((_rotated(array) for array in arrays), Sums())
    return figures(sums.loss)


def _rotated(x: np.ndarray) -> Sums:
    patterns = (x.view(np.uint32) >> np.uint32(16)).astype(np.uint16).reshape(-1, 16)
    y = mxcast.dequantize(mxcast.quantize(rotate(patterns), "nvfp4", source="bf16")).astype(np.float64)
    return compared(x.reshape(-1, 16).astype(np.float64), y @ matrix().T, 16)


def matrix() -> np.ndarray:
    """The orthogonal matrix of the transform: each row is the transform of one number."""
    one = (np.eye(16, dtype=np.float32).view(np.uint32) >> np.uint32(16)).astype(np.uint16)
    return (rotate(one, Hadamard()).astype(np.uint32) << np.uint32(16)).view(np.float32).astype(np.float64)


def measured() -> dict[str, object]:
    encoders: dict[str, Callable[[list[np.ndarray]], dict[str, float]]] = {
        name: partial(encoded, profile=profile, fields=fields) for name, (profile, fields) in ENCODERS.items()
    }
    given = tensors()
    rows = [
        {"encoder": name, **{of: encoder(arrays) for of, arrays in given.items()}}
        for name, encoder in {**encoders, ROTATED: rotated}.items()
    ]
    made = {"seed": SEED, "tokens": TOKENS, "channels": CHANNELS, "outliers": OUTLIERS, "larger": LARGER}
    return {"outliers": made, "rows": rows}


def markdown(record: dict) -> str:
    rows = (
        [
            row["encoder"],
            *(
                figure
                for of in ("weights", "outliers")
                for figure in (f"{row[of]['sqnr_db']:.3f}", f"{row[of]['max_relative_error']:.3f}")
            ),
        ]
        for row in record["rows"]
    )
    head = ["encoder", "weights: SQNR, dB", "largest error", "outlier channels: SQNR, dB", "largest error"]
    return table(head, rows)


def keep() -> None:
    write_whole(KEPT, json.dumps(measured(), indent=1) + "\n")
