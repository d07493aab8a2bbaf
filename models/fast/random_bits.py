"""Random bits for stochastic rounding: an array, or drawn from a generator."""

from __future__ import annotations

import sys
from typing import Any, TypeAlias

import numpy as np

from ...spec import Rule
from ..arrays.source import as_array

Random: TypeAlias = "np.ndarray | np.random.Generator | Any | None"
"""Random bits; Any is a generator of PyTorch. The text is not evaluated: the import of numpy.random takes its time."""


def random_bits(random: Random, shape: tuple[int, ...], bits: int, rounding: Rule) -> np.ndarray | None:
    """``bits`` random bits for each number of an array of this shape: uint16, or None without random bits."""
    if bits and random is None:
        raise ValueError(
            "the rounding sr needs random bits: give random= an array, a numpy.random.Generator or a torch.Generator"
        )
    if not bits and random is not None:
        raise ValueError(f"random bits are for the rounding sr, not for {rounding}")
    if random is None:
        return None
    if isinstance(random, np.random.Generator):
        return random.integers(0, 1 << bits, shape, np.uint16)
    if _is_torch_generator(random):
        torch = sys.modules["torch"]  # imported, because the generator exists
        drawn = torch.randint(1 << bits, shape, generator=random, device=random.device, dtype=torch.int32)
        return drawn.cpu().numpy().astype(np.uint16)
    random = as_array(random, "random")
    if random.dtype.kind not in "ui":
        raise TypeError(f"random must be unsigned numbers, not {random.dtype}")
    if random.shape != shape:
        raise ValueError(f"random must have the shape of x, {shape}, not {random.shape}")
    if random.size and (int(random.min()) < 0 or int(random.max()) >> bits):
        raise ValueError(f"random must be numbers of {bits} bits, not {int(random.min())} to {int(random.max())}")
    return random.astype(np.uint16)


def _is_torch_generator(random: object) -> bool:
    return type(random).__name__ == "Generator" and type(random).__module__.partition(".")[0] == "torch"
