"""Where two decoders differ: on every pair of a scale byte and an element code.

One lane of a decoder sees nothing else, so this is everything. A difference has a cause, which the two results show.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..models.arrays.codes import code_dtype
from ..models.arrays.source import DTYPES
from ..models.fast.decode import decode_blocks
from ..spec import Decode, DecodedRounding, FloatFormat
from .certificate import ElementCertificate, ElementFinding

WIDEST = 1024
"""Elements of the largest block that is decoded."""


CAUSES = {
    "nan_bits": "two NaN with other bits",
    "nan": "NaN on one side only",
    "zero_sign": "zeros with other signs",
    "inf": "Inf on one side only",
    "zero": "zero on one side only, the other finite",
    "value": "other finite numbers, or Inf with other signs",
}
"""What two results that differ are, by its name. A difference is of the first of them that it fits."""


@dataclass(frozen=True, kw_only=True)
class DecodedPair:
    """A scale byte and an element code, and the pattern of the destination that either side gives."""

    byte: int
    code: int
    a: int
    b: int


@dataclass(frozen=True, kw_only=True)
class DecodeCertificate(ElementCertificate[Decode, DecodedPair]):
    """What is equal and what is not between two decoders, over all pairs of a scale byte and an element code, in the
    order of bytes and then of codes.
    """


def compare_decoders(a: Decode, b: Decode) -> DecodeCertificate:
    """Compare two decoders of the same block format to the same destination on all pairs of a scale byte and a code.

    Raises ValueError for other block formats or destinations on the two sides, and for stochastic rounding, whose
    results depend on random bits too.

    >>> from mxcast.spec import decoding
    >>> found = compare_decoders(decoding("e2m1"), decoding("e2m1", "te"))
    >>> {cause: finding.differing for cause, finding in found.causes.items()}
    {'nan_bits': 2, 'nan': 14, 'zero': 14}
    """
    if a.block != b.block:
        raise ValueError(
            f"both sides must have the same block format, not {a.block.name} x {a.block_size} and "
            f"{b.block.name} x {b.block_size}"
        )
    if a.destination != b.destination:
        raise ValueError(
            f"both sides must have the same destination, not {a.destination.name} and {b.destination.name}"
        )
    for rules in (a, b):
        if rules.rounding is DecodedRounding.SR:
            raise ValueError("stochastic rounding (sr) cannot be compared, because its results depend on random bits")
    of_a, of_b = (decoded_pairs(rules) for rules in (a, b))
    return DecodeCertificate(a=a, b=b, compared=of_a.size, causes=findings(of_a, of_b, a.destination))


def decoded_pairs(rules: Decode) -> np.ndarray:
    """The result of every pair, (256, number of codes) unsigned patterns of the destination."""
    element = rules.block.element
    size = min(1 << element.bits, WIDEST)
    codes = np.arange(1 << element.bits).astype(code_dtype(element)).reshape(-1, size)
    rules = rules.replace(block_size=size)
    y = np.empty((256, *codes.shape), DTYPES[rules.destination.name])
    for byte in range(256):
        decode_blocks(np.full(len(codes), byte, np.uint8), codes, rules, y[byte])
    return y.view(f"u{y.itemsize}").reshape(256, -1)


def findings(a: np.ndarray, b: np.ndarray, to: FloatFormat) -> dict[str, ElementFinding[DecodedPair]]:
    """The differences between two results of all pairs, (256, number of codes) patterns each, by their cause."""
    magnitudes = a & to.magnitude_mask, b & to.magnitude_mask
    nan_a, nan_b = (magnitude > to.inf_field for magnitude in magnitudes)
    inf_a, inf_b = (magnitude == to.inf_field for magnitude in magnitudes)
    zero_a, zero_b = (magnitude == 0 for magnitude in magnitudes)
    left = a != b
    found = {}
    holds = {
        "nan_bits": nan_a & nan_b,
        "nan": nan_a | nan_b,
        "zero_sign": zero_a & zero_b,
        "inf": inf_a ^ inf_b,
        "zero": zero_a | zero_b,
        "value": np.ones_like(left),
    }
    for cause in CAUSES:
        places = np.argwhere(left & holds[cause])
        left &= ~holds[cause]
        if len(places):
            byte, code = (int(index) for index in places[0])
            first = DecodedPair(byte=byte, code=code, a=int(a[byte, code]), b=int(b[byte, code]))
            found[cause] = ElementFinding(differing=len(places), first=first)
    return found
