"""What kind of difference it is when an encoder under two levels of scales converts a block as it should not."""

from __future__ import annotations

import numpy as np

from ...spec import Nvfp4Encode, Role
from ..check.element_causes import Cause, in_common
from ..transactions import Transactions

CAUSES = tuple(
    Cause(kind, text)
    for kind, text in {
        "codes": "codes under the right scale",
        "scale": "the scale byte",
        "specials": "blocks with NaN or Inf",
    }.items()
)
"""A block is of the last of them that fits it."""


def causes(
    rules: Nvfp4Encode, given: Transactions, expected: Transactions, actual: Transactions, nan_codes_free: bool = False
) -> np.ndarray:
    """For each transaction the number of its cause in `CAUSES`, or -1 where nothing differs: (n,) int8.

    With ``nan_codes_free`` the codes of a block do not matter whose scale is NaN, and must be.
    """
    source, scale = rules.source, rules.scale_format
    patterns, scales = given[Role.NUMBERS], expected[Role.SCALE]
    wrong_scale = (scales != actual[Role.SCALE]).any(axis=1)
    wrong_codes = (expected[Role.CODES] != actual[Role.CODES]).any(axis=1)
    if nan_codes_free:
        wrong_codes &= ((scales & scale.magnitude_mask) != scale.nan_code).any(axis=1) | wrong_scale
    is_special = ((patterns & patterns.dtype.type(source.magnitude_mask)) > source.max_code).any(axis=1)
    found = np.where(is_special, 2, np.where(wrong_scale, 1, 0))
    return np.where(wrong_scale | wrong_codes, found, -1).astype(np.int8)


ONLY = (({"specials"}, "only blocks with NaN or Inf differ"), ({"codes"}, "only codes differ, and no scale"))


def only(found: list[Cause]) -> str | None:
    """What the causes have in common, in a sentence, if they are few."""
    return in_common(found, ONLY)
