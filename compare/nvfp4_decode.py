"""Comparison of two decoders of NVFP4 on every pair of a scale byte and a code, in many tensors.

A tensor has a largest magnitude a. The convention of each side gives its tensor scale: a, a / C or C / a, rounded to
FP32. The magnitudes a are the BF16 numbers of one binade, and zero, subnormal numbers, the smallest and largest
numbers, Inf and NaN.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from ..models.arrays.source import DTYPES
from ..models.fast.nvfp4_decode import decode_blocks
from ..spec import Convention, Nvfp4Decode
from .certificate import ElementCertificate, ElementFinding, require_same
from .decode import DecodedPair, findings

BINADE = range(0x3F800000, 0x40000000, 1 << 16)
"""The BF16 numbers from 1 up to 2, as FP32 patterns."""
EDGES = (0, 1, 0x00000200, 0x007FFFFF, 0x00800000, 0x45280000, 0x7F000000, 0x7F7FFFFF, 0x7F800000, 0x7FC00000)

STORED: dict[Convention, Callable[[np.ndarray, np.float32], np.ndarray]] = {
    Convention.AMAX: lambda a, c: a,
    Convention.MULTIPLIER: lambda a, c: a / c,
    Convention.DIVISOR: lambda a, c: c / a,
}
"""The tensor scale from the largest magnitude and C, by convention."""


@dataclass(frozen=True, kw_only=True)
class Nvfp4DecodeFinding(ElementFinding[DecodedPair]):
    """The largest magnitude of the tensor and the tensor scales of both sides belong to the first difference."""

    amax: int
    tensor_scales: tuple[int, int]


@dataclass(frozen=True, kw_only=True)
class Nvfp4DecodeCertificate(ElementCertificate[Nvfp4Decode, Nvfp4DecodeFinding]):
    """The comparison of two decoders over all pairs of a scale byte and a code, in ``tensors`` tensors."""

    tensors: int

    def results(self) -> dict[str, object]:
        return {"tensors": self.tensors, **super().results()}


def compare_nvfp4_decoders(a: Nvfp4Decode, b: Nvfp4Decode) -> Nvfp4DecodeCertificate:
    """Compare two decoders of the same formats, each with the tensor scale of its own convention.

    Raises ValueError if the elements, scales or destinations differ, and if only one side has a tensor scale.

    >>> from mxcast.spec import nvfp4_decoding
    >>> sides = (nvfp4_decoding("nvfp4", profile, destination="fp32") for profile in ("nvfp4_te", "nvfp4_ao"))
    >>> found = compare_nvfp4_decoders(*sides)
    >>> found.compared, sorted(found.causes)
    (565248, ['inf', 'nan', 'nan_bits', 'value', 'zero'])
    """
    require_same("element", a.block.element.name, b.block.element.name)
    require_same("scale format", a.block.scale.name, b.block.scale.name)
    require_same("destination", a.destination.name, b.destination.name)
    if (a.convention is Convention.NONE) != (b.convention is Convention.NONE):
        raise ValueError("both sides must have a tensor scale, or neither")
    amaxes = [0x3F800000] if a.convention is Convention.NONE else [*BINADE, *EDGES]
    causes: dict[str, Nvfp4DecodeFinding] = {}
    compared = 0
    for amax in amaxes:
        scales = _tensor_scale(a, amax), _tensor_scale(b, amax)
        of_a, of_b = (_decoded(rules, scale) for rules, scale in zip((a, b), scales))
        compared += of_a.size
        for cause, finding in findings(of_a, of_b, a.destination).items():
            causes[cause] = _joined(causes.get(cause), finding, amax, scales)
    return Nvfp4DecodeCertificate(a=a, b=b, tensors=len(amaxes), compared=compared, causes=causes)


def _tensor_scale(rules: Nvfp4Decode, amax: int) -> int:
    """The pattern of the tensor scale for a largest magnitude."""
    if rules.convention is Convention.NONE:
        return amax
    c = np.float32(rules.scale_max * int(rules.block.element.max_value))
    with np.errstate(all="ignore"):
        stored = STORED[rules.convention](np.array([amax], np.uint32).view(np.float32), c)
    return int(stored.astype(np.float32).view(np.uint32)[0])


def _decoded(rules: Nvfp4Decode, tensor_scale: int) -> np.ndarray:
    """The result of every pair, (number of scale codes, number of codes) patterns of the destination."""
    rules = rules.replace(block_size=1 << rules.block.element.bits)
    scales = np.arange(1 << rules.block.scale.bits, dtype=np.uint8)
    codes = np.tile(np.arange(rules.block_size, dtype=np.uint8), (len(scales), 1))
    y = np.empty(codes.shape, DTYPES[rules.destination.name])
    decode_blocks(scales, codes, rules, np.array(tensor_scale, np.uint32).view(np.float32), y)
    return y.view(f"u{y.itemsize}")


def _joined(
    known: Nvfp4DecodeFinding | None, found: ElementFinding[DecodedPair], amax: int, scales: tuple[int, int]
) -> Nvfp4DecodeFinding:
    if known is None:
        return Nvfp4DecodeFinding(differing=found.differing, first=found.first, amax=amax, tensor_scales=scales)
    return replace(known, differing=known.differing + found.differing)
