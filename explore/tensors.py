"""Tensors that points are judged on: real weights of the package, and named distributions."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from importlib.resources import as_file, files

import numpy as np

from ..host.errors import ToolError
from ..models.arrays.source import as_numbers
from ..spec import FP32

SEED = 1
"""Seed of the distributions."""
COUNT = 1 << 18
"""Numbers of each distribution."""
ADVICE = "pip install '.[files]' in a checkout of mxcast"


@dataclass(frozen=True, kw_only=True, eq=False)
class Tensor:
    """An array of numbers for `models.quantize`, and its source."""

    name: str
    values: np.ndarray
    source: str
    counts: bool = True
    """Is it part of the total? Distributions are not."""

    def __post_init__(self) -> None:
        if not self.values.ndim or not self.values.size:
            raise ValueError(f"tensor {self.name} has no numbers along an axis: its shape is {self.values.shape}")
        try:
            as_numbers(self.values[..., :1], FP32, patterns=True)
        except (TypeError, ValueError) as error:
            raise type(error)(f"tensor {self.name}: {error}") from None

    @cached_property
    def sha256(self) -> str:
        """Digest of its bytes in C order."""
        return hashlib.sha256(np.ascontiguousarray(self.values).tobytes()).hexdigest()

    def to_dict(self) -> dict[str, object]:
        return {"name": self.name, "numbers": self.values.size, "source": self.source, "sha256": self.sha256}


def given(arrays: Mapping[str, np.ndarray], source: str = "given") -> list[Tensor]:
    """Tensors of the user, by name. Raises TypeError and ValueError for arrays that cannot be converted."""
    if not isinstance(arrays, Mapping):
        raise TypeError(f"tensors are arrays by name, {{'name': array}}, not {type(arrays).__name__}")
    if not arrays:
        raise ValueError("there is no tensor to judge by")
    return [Tensor(name=name, values=np.asarray(values), source=source) for name, values in arrays.items()]


def standard() -> list[Tensor]:
    """The weights that ship with the package, and the distributions."""
    try:
        from safetensors.numpy import load
    except ImportError:
        raise ToolError(f"safetensors is missing: {ADVICE}") from None
    with as_file(files("mxcast.data") / "minilm_sample.safetensors") as path:
        weights = load(path.read_bytes())
    flat = np.concatenate([weights[name].reshape(-1) for name in sorted(weights)])  # rows are whole blocks of up to 128
    return [
        Tensor(name="minilm weights", values=flat, source="all-MiniLM-L6-v2, Apache-2.0, the sample of mxcast"),
        *_drawn(),
    ]


def _drawn() -> list[Tensor]:
    """Distributions by name. Each has its own generator, so a new one does not change the others."""

    def numbers(number: int) -> np.random.Generator:
        return np.random.Generator(np.random.PCG64([SEED, number]))

    outliers = numbers(2).standard_normal(COUNT)
    outliers[::128] *= 64
    drawn = {
        "normal": (numbers(0).standard_normal(COUNT), "standard normal"),
        "laplace": (numbers(1).laplace(size=COUNT), "Laplace of scale 1: heavier tails"),
        "outliers": (outliers, "standard normal, every 128th number 64 times larger, as in activations"),
        "tiny": (numbers(3).standard_normal(COUNT) * 2.0**-127, "normal around 2**-127: FP32 subnormals"),
    }
    return [
        Tensor(
            name=name,
            values=values.astype(np.float32),
            source=f"{description}, PCG64 seed [{SEED}, {number}]",
            counts=False,
        )
        for number, (name, (values, description)) in enumerate(drawn.items())
    ]
