"""Comparison of two decoders on every pair of a scale byte and an element code.

A result depends on nothing else, so these are all inputs. The two results decide the cause of a difference.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..models.arrays.source import DTYPES, code_dtype
from ..models.fast.decode import decode_blocks
from ..spec import Decode, FloatFormat
from .certificate import (
    ElementCertificate,
    ElementFinding,
    by_cause,
    require_no_random_bits,
    require_same,
    require_same_block,
)

WIDEST = 1024
"""Elements of the largest block."""

CAUSES = {
    "nan_bits": "NaN with different bits",
    "nan": "NaN on one side only",
    "zero_sign": "zeros with different signs",
    "inf": "Inf on one side only",
    "zero": "zero on one side only, the other finite",
    "value": "different finite numbers, or Inf with different signs",
}
"""Causes of differences in words. A difference counts for the first cause that fits."""


@dataclass(frozen=True, kw_only=True)
class DecodedPair:
    """A scale byte and an element code, and the pattern of the destination on each side."""

    byte: int
    code: int
    a: int
    b: int


@dataclass(frozen=True, kw_only=True)
class DecodeCertificate(ElementCertificate[Decode, ElementFinding[DecodedPair]]):
    """The comparison of two decoders over all pairs of a scale byte and an element code, ordered by byte, then code."""


def compare_decoders(a: Decode, b: Decode) -> DecodeCertificate:
    """Compare two decoders of the same block format to the same destination on all pairs of a scale byte and a code.

    Raises ValueError if the block formats or the destinations differ, and for stochastic rounding.

    >>> from mxcast.spec import decoding
    >>> found = compare_decoders(decoding("e2m1"), decoding("e2m1", "te"))
    >>> {cause: finding.differing for cause, finding in found.causes.items()}
    {'nan_bits': 2, 'nan': 14, 'zero': 14}
    """
    require_same_block(a.block, b.block)
    require_same("destination", a.destination.name, b.destination.name)
    require_no_random_bits(a, b)
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
    causes = {
        "nan_bits": nan_a & nan_b,
        "nan": nan_a | nan_b,
        "zero_sign": zero_a & zero_b,
        "inf": inf_a ^ inf_b,
        "zero": zero_a | zero_b,
        "value": np.ones(a.shape, bool),
    }
    found = {}
    for cause, places in by_cause(a != b, causes):
        byte, code = (int(index) for index in places[0])
        first = DecodedPair(byte=byte, code=code, a=int(a[byte, code]), b=int(b[byte, code]))
        found[cause] = ElementFinding(differing=len(places), first=first)
    return found
