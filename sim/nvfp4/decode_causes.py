"""What kind of difference it is when a decoder under two levels of scales converts a block as it should not."""

from __future__ import annotations

import numpy as np

from ...models.arrays.codes import code_values
from ...spec import Nvfp4Decode, Role
from ..check.element_causes import Cause, in_common, of_elements
from ..transactions import Transactions

CAUSES = tuple(
    Cause(kind, text)
    for kind, text in {
        "ordinary": "ordinary elements",
        "small": "results that are subnormal or zero",
        "large": "results that are the largest number or Inf",
        "zeros": "elements that are zero",
        "nan": "results that are NaN",
    }.items()
)
"""A block is of the last of them that fits all of its elements that differ."""


def causes(
    rules: Nvfp4Decode, given: Transactions, expected: Transactions, actual: Transactions, nan_codes_free: bool = False
) -> np.ndarray:
    """For each transaction the number of its cause in `CAUSES`, or -1 where nothing differs: (n,) int8. Codes of
    results are none: ``nan_codes_free`` must be False.
    """
    if nan_codes_free:
        raise ValueError("codes enter a decoder: they cannot be free")
    right, to = expected[Role.NUMBERS], rules.destination
    wrong = right != actual[Role.NUMBERS]
    magnitude = right & right.dtype.type(to.magnitude_mask)
    kinds = {
        "ordinary": np.ones_like(wrong),
        "small": (magnitude >> to.man_bits) == 0,
        "large": (magnitude >= to.max_code) & (magnitude <= to.inf_field),
        "zeros": code_values(rules.block.element)[given[Role.CODES]] == 0,
        "nan": magnitude > to.inf_field,
    }
    return of_elements(CAUSES, kinds, wrong)


ONLY = (
    ({"zeros"}, "only elements that are zero differ"),
    ({"nan"}, "only NaN differs"),
    ({"small"}, "only results that are subnormal or zero differ"),
    ({"large"}, "only results that are the largest number or Inf differ"),
)


def only(found: list[Cause]) -> str | None:
    """What the causes have in common, in a sentence, if they are few."""
    return in_common(found, ONLY)
