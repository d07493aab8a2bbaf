"""What kind of difference it is when a Hadamard transform makes something else than it should."""

from __future__ import annotations

import numpy as np

from ...spec import BF16, Hadamard, Role
from ..check.element_causes import Cause, in_common, of_elements
from ..transactions import Transactions

CAUSES = tuple(
    Cause(kind, text)
    for kind, text in {
        "ordinary": "ordinary results",
        "small": "results that are subnormal or zero",
        "large": "results that are the largest number or Inf",
        "specials": "blocks with NaN or Inf",
    }.items()
)
"""A block is of the last of them that fits all of its results that differ."""


def causes(
    rules: Hadamard, given: Transactions, expected: Transactions, actual: Transactions, nan_codes_free: bool = False
) -> np.ndarray:
    """For each transaction the number of its cause in `CAUSES`, or -1 where nothing differs: (n,) int8. There are no
    codes: ``nan_codes_free`` must be False.
    """
    if nan_codes_free:
        raise ValueError("a Hadamard transform makes no codes: they cannot be free")
    right = expected[Role.ROTATED]
    wrong, magnitude = right != actual[Role.ROTATED], right & BF16.magnitude_mask
    is_special = ((given[Role.NUMBERS] & BF16.magnitude_mask) >= BF16.inf_field).any(axis=1, keepdims=True)
    kinds = {
        "ordinary": np.ones_like(wrong),
        "small": magnitude >> BF16.man_bits == 0,
        "large": magnitude >= BF16.max_code,
        "specials": np.broadcast_to(is_special, wrong.shape),
    }
    return of_elements(CAUSES, kinds, wrong)


ONLY = (
    ({"specials"}, "only blocks with NaN or Inf differ"),
    ({"small"}, "only results that are subnormal or zero differ"),
    ({"large"}, "only results that are the largest number or Inf differ"),
)


def only(found: list[Cause]) -> str | None:
    """What the causes have in common, in a sentence, if they are few."""
    return in_common(found, ONLY)
