"""Comparison of two encoders to NVFP4 on every pair of BF16 numbers, and on chosen FP32 blocks.

Unless a number is subnormal or overflows, scales and elements depend on the largest magnitudes a of the tensor and b of
the block through their fractions and the distance of their binades alone. So a lies in one binade and b in the 17
binades from there down. Blocks of b and zeros cover every scale. Elements depend on a, the scale and the number x. They
are compared under equal scales, on every BF16 number x up to b that can become an element above 0.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ..models.arrays.source import require_float_mode
from ..models.fast.nvfp4_encode import encode_blocks, tensor_constants
from ..spec import Nvfp4Encode
from .certificate import Comparison, require_no_random_bits

COMPARED = {
    "scales": "pairs of BF16 numbers a and b",
    "elements": "BF16 numbers under the same scale",
    "edges": "blocks with zeros, Inf, NaN and subnormal numbers",
    "samples": "random FP32 blocks",
}
"""The inputs of each finding in words."""

BINADES = 17
"""Binades of b, from the binade of a down."""
ELEMENT_BINADES = 8
"""Binades of x, from the binade of b down; below, x is less than a quarter of the smallest element."""
SAMPLES = 100_000
"""Random FP32 blocks."""


@dataclass(frozen=True, kw_only=True)
class Nvfp4Witness:
    """A block with different results."""

    tensor_amax: float
    values: str
    """FP32 patterns, as `mxcast explain --values` reads them."""
    scales: tuple[int, int]
    codes: tuple[tuple[int, ...], tuple[int, ...]]

    def to_dict(self) -> dict[str, object]:
        return {
            "tensor_amax": self.tensor_amax if np.isfinite(self.tensor_amax) else None,
            "values": self.values,
            "scales": list(self.scales),
            "codes": [list(codes) for codes in self.codes],
        }


@dataclass(frozen=True, kw_only=True)
class Nvfp4Finding:
    """Number of compared cases and of differences, and the first difference."""

    compared: int
    differing: int
    first: Nvfp4Witness | None

    def to_dict(self) -> dict[str, object]:
        return {"compared": self.compared, "differing": self.differing, "first": self.first and self.first.to_dict()}


@dataclass(frozen=True, kw_only=True)
class Nvfp4Certificate(Comparison[Nvfp4Encode]):
    """The comparison of two encoders to NVFP4."""

    findings: dict[str, Nvfp4Finding]
    """By the names in `COMPARED`."""

    @property
    def equal(self) -> bool:
        return not any(finding.differing for finding in self.findings.values())

    def results(self) -> dict[str, object]:
        return {"findings": {name: finding.to_dict() for name, finding in self.findings.items()}}


def compare_nvfp4(a: Nvfp4Encode, b: Nvfp4Encode, seed: int = 0) -> Nvfp4Certificate:
    """Compare two encoders on every pair of BF16 numbers, on edge cases, and on random FP32 blocks from a seed.

    Raises ValueError for other block formats than one with blocks of 16, and for stochastic rounding.

    >>> from mxcast.spec import nvfp4_encoding
    >>> found = compare_nvfp4(nvfp4_encoding("nvfp4", "nvfp4_te"), nvfp4_encoding("nvfp4", "nvfp4_paper"))
    >>> found.findings["scales"].compared, found.findings["scales"].differing, found.findings["elements"].differing
    (270400, 269, 0)
    """
    require_float_mode()
    if (a.block.name, a.block.shape) != (b.block.name, b.block.shape) or a.block.shape != (16,):
        raise ValueError(
            f"both sides must have the same block format with blocks of 16, not {a.block.name} and {b.block.name}"
        )
    require_no_random_bits(a, b)
    scales, elements = _bf16(a, b)
    return Nvfp4Certificate(
        a=a,
        b=b,
        findings={
            "scales": scales,
            "elements": elements,
            "edges": _finding([_Compared(a, b, x, maxima) for x, maxima in _edges()], whole=True),
            "samples": _finding([_Compared(a, b, *_samples(seed))], whole=True),
        },
    )


class _Compared:
    """The results of both sides for blocks (n, 16) of float32, each in a tensor with its own largest magnitude (n,)."""

    def __init__(self, a: Nvfp4Encode, b: Nvfp4Encode, x: np.ndarray, maxima: np.ndarray) -> None:
        self.x, self.maxima = x, maxima
        self.scales, self.codes = zip(*(_encoded(rules.replace(source="fp32"), x, maxima) for rules in (a, b)))
        self.scales_differ = self.scales[0] != self.scales[1]
        self.codes_differ = self.codes[0] != self.codes[1]

    def witness(self, row: int) -> Nvfp4Witness:
        last = np.flatnonzero(self.x[row].view(np.uint32)).max(initial=0)
        return Nvfp4Witness(
            tensor_amax=float(self.maxima[row]),
            values=",".join(f"0x{pattern:08X}" for pattern in self.x[row, : last + 1].view(np.uint32)),
            scales=(int(self.scales[0][row]), int(self.scales[1][row])),
            codes=(tuple(self.codes[0][row].tolist()), tuple(self.codes[1][row].tolist())),
        )


def _encoded(rules: Nvfp4Encode, x: np.ndarray, maxima: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    scales, codes = np.empty(len(x), np.uint8), np.empty(x.shape, np.uint8)
    constants = tensor_constants(maxima, rules)
    encode_blocks(x, rules, constants, scales, codes)
    return scales, codes


def _finding(parts: list[_Compared], *, whole: bool) -> Nvfp4Finding:
    """The finding on blocks that differ in the scale or, if ``whole``, in any code."""
    differ = [part.scales_differ | (part.codes_differ.any(axis=1) & whole) for part in parts]
    first = next((part.witness(int(np.argmax(d))) for part, d in zip(parts, differ) if d.any()), None)
    return Nvfp4Finding(
        compared=sum(len(part.x) for part in parts), differing=sum(int(d.sum()) for d in differ), first=first
    )


def _bf16(a: Nvfp4Encode, b: Nvfp4Encode) -> tuple[Nvfp4Finding, Nvfp4Finding]:
    """Findings on scales and on elements, for one fraction of a after another."""
    pairs, compared, differing, first = [], 0, 0, None
    for maximum in _binades(127, 1):
        largest = _binades(127, BINADES)
        largest = largest[largest <= maximum]
        blocks = np.zeros((len(largest), 16), np.float32)
        blocks[:, 0] = largest
        pair = _Compared(a, b, blocks, np.full(len(largest), maximum))
        pairs.append(pair)
        blocks = _elements(pair, largest)
        found = _Compared(a, b, blocks, np.full(len(blocks), maximum))
        same = ~found.scales_differ
        compared += int(np.count_nonzero(found.x[same, 1:]))
        differing += int(np.count_nonzero(found.codes_differ[same, 1:]))
        rows = np.flatnonzero(same & found.codes_differ[:, 1:].any(axis=1))
        if first is None and rows.size:
            row = int(rows[0])
            lane = 1 + int(np.argmax(found.codes_differ[row, 1:]))
            alone = np.zeros((1, 16), np.float32)
            alone[0, :2] = blocks[row, 0], blocks[row, lane]
            first = _Compared(a, b, alone, np.array([maximum])).witness(0)
    return _finding(pairs, whole=False), Nvfp4Finding(compared=compared, differing=differing, first=first)


def _binades(field: int, count: int) -> np.ndarray:
    """All BF16 numbers of ``count`` binades, from an exponent field down: float32."""
    fields = np.arange(field, field - count, -1)[:, None]
    return (((fields << 7) | np.arange(128)) << 16).astype(np.uint32).view(np.float32).reshape(-1)


def _elements(pair: _Compared, largest: np.ndarray) -> np.ndarray:
    """Blocks (n, 16) for every scale on which both sides agree: the largest b with this scale, and 15 numbers x."""
    scales = np.where(pair.scales_differ, 0xFF, pair.scales[0])
    parts = []
    for scale in np.unique(scales[scales != 0xFF]):
        b = largest[scales == scale].max()
        x = _binades(int(b.view(np.uint32) >> 23), ELEMENT_BINADES)
        x = x[x <= b]
        blocks = np.zeros((-(-x.size // 15), 16), np.float32)
        blocks[:, 0] = b
        blocks[:, 1:] = np.resize(np.append(x, np.zeros(-x.size % 15, np.float32)), (len(blocks), 15))
        parts.append(blocks)
    return np.concatenate(parts)


def _edges() -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Blocks with zeros, subnormals, Inf and NaN, each in tensors of several largest magnitudes."""
    nan, inf, most = np.nan, np.inf, float(np.finfo(np.float32).max)
    heads: list[list[float]] = [
        [0.0, -0.0],
        [nan, 1, -1],
        [inf, 1, -0.0],
        [-inf, 3],
        [nan, inf],
        [1e-45, -1e-45],
        [1e-30, -1e-30],
        [1, -0.0],
    ]
    blocks = np.zeros((len(heads) + 1, 16), np.float32)
    for row, head in enumerate(heads):
        blocks[row, : len(head)] = head
    blocks[-1] = most
    for a in (0.0, 1e-45, 1e-38, 1.0, 2688.0, most, inf):
        yield blocks, np.full(len(blocks), a, np.float32)


def _samples(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Random blocks, in tensors whose largest magnitude is up to six binades above theirs."""
    random = np.random.default_rng(seed)
    x = random.normal(size=(SAMPLES, 16)).astype(np.float32)
    scales = np.exp2(random.uniform(0, 6, SAMPLES)).astype(np.float32)
    return x, np.abs(x).max(axis=1) * scales
