"""What kind of difference it is when an encoder converts a block otherwise than it should."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...spec import Encode, Role
from ..check.element_causes import in_common
from ..transactions import Transactions


@dataclass(frozen=True)
class Cause:
    """In which blocks, and whether their scale bytes differ or their codes alone."""

    kind: str
    has_scale: bool

    @property
    def text(self) -> str:
        return f"{KINDS[self.kind]}: {'the scale byte' if self.has_scale else 'codes only'}"


KINDS = {
    "ordinary": "ordinary blocks",
    "elements": "subnormal elements",
    "inputs": "subnormal inputs",
    "byte_0": "blocks of scale byte 0",
    "zeros": "blocks of zeros",
    "specials": "blocks with NaN or Inf",
    "byte_255": "blocks of scale byte 255",
}
"""Kinds of blocks in words; a block is of the last of them that fits it. In those of subnormals no other code differs;
byte 255 is that of the design too, so that no reader looks at the codes.
"""

CAUSES = tuple(
    Cause(kind, has_scale)
    for kind in KINDS
    for has_scale in (True, False)
    if (kind, has_scale) not in (("elements", True), ("inputs", True), ("byte_255", True))
)


def causes(
    numerics: Encode, given: Transactions, expected: Transactions, actual: Transactions, nan_codes_free: bool = False
) -> np.ndarray:
    """For each transaction the number of its cause in `CAUSES`, or -1 where nothing differs: (n,) int8.

    With ``nan_codes_free`` the codes of a block do not matter whose byte is 255, and must be.
    """
    found = np.full(len(expected), -1, np.int8)
    rows = np.flatnonzero(expected.differ(actual))
    if len(rows):
        found[rows] = _causes(numerics, given.rows(rows), expected.rows(rows), actual.rows(rows), nan_codes_free)
    return found


def _causes(
    numerics: Encode, given: Transactions, expected: Transactions, actual: Transactions, nan_codes_free: bool
) -> np.ndarray:
    """The same for blocks that differ."""
    source, element, scale = numerics.source, numerics.block.element, numerics.block.scale
    patterns, scales, codes = given[Role.NUMBERS], expected[Role.SCALE], expected[Role.CODES]
    magnitude = patterns & patterns.dtype.type(source.magnitude_mask)
    wrong_scale = (scales != actual[Role.SCALE]).any(axis=1)
    wrong_codes = codes != actual[Role.CODES]
    is_nan = (scales == scale.nan_code).all(axis=1) & ~wrong_scale
    if nan_codes_free:
        wrong_codes &= ~is_nan[:, None]
    only_codes = ~wrong_scale & wrong_codes.any(axis=1)
    small_input = (magnitude >> source.man_bits) == 0
    small_element = np.array(
        [element.is_subnormal(code & (element.sign_mask - 1)) for code in range(1 << element.bits)]
    )[codes]
    kinds = {
        "ordinary": np.ones(len(patterns), bool),
        "elements": ~wrong_scale & (small_input | small_element | ~wrong_codes).all(axis=1),
        "inputs": ~wrong_scale & (small_input | ~wrong_codes).all(axis=1),
        "byte_0": (scales == 0).all(axis=1),
        "zeros": ~magnitude.any(axis=1),
        "specials": (magnitude > source.max_code).any(axis=1),
        "byte_255": is_nan,
    }
    found = np.full(len(patterns), -1, np.int8)
    for number, cause in enumerate(CAUSES):  # later kinds go before earlier ones
        found[kinds[cause.kind] & (wrong_scale if cause.has_scale else only_codes)] = number
    return found


ONLY = (
    (
        {"byte_255"},
        "only codes under scale byte 255 differ, at which no reader looks (--nan-codes free leaves them out)",
    ),
    ({"byte_0", "zeros"}, "only blocks of scale byte 0 differ"),
    ({"specials", "byte_255"}, "only blocks with NaN or Inf differ"),
    ({"inputs"}, "only subnormal inputs differ"),
    ({"elements"}, "only subnormal elements differ"),
    ({"elements", "inputs"}, "only subnormal elements and inputs differ"),
    (
        {"elements", "inputs", "byte_0", "zeros"},
        "only subnormal elements and inputs, and blocks of scale byte 0, differ",
    ),
)


def only(found: list[Cause]) -> str | None:
    """What the causes have in common, in a sentence, if they are few."""
    return in_common(found, ONLY)
