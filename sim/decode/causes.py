"""What kind of difference it is when a decoder converts a block otherwise than it should."""

from __future__ import annotations

import numpy as np

from ...models.arrays.codes import code_values
from ...spec import Decode, Role
from ..check.element_causes import Cause, in_common, of_elements
from ..transactions import Transactions

CAUSES = tuple(
    Cause(kind, text)
    for kind, text in {
        "ordinary": "ordinary elements",
        "small": "results that are subnormal or zero",
        "large": "results beyond the largest number",
        "zeros": "elements that are zero",
        "specials": "elements that are NaN or Inf",
        "byte_0": "blocks of scale byte 0",
        "byte_255": "blocks of scale byte 255",
    }.items()
)
"""A block is of the last of them that fits all of its elements that differ."""


def causes(
    rules: Decode, given: Transactions, expected: Transactions, actual: Transactions, nan_codes_free: bool = False
) -> np.ndarray:
    """For each transaction the number of its cause in `CAUSES`, or -1 where nothing differs: (n,) int8. Codes of
    results are none: ``nan_codes_free`` must be False.
    """
    if nan_codes_free:
        raise ValueError("codes enter a decoder: they cannot be free")
    right, element, to = expected[Role.NUMBERS], rules.block.element, rules.destination
    wrong = right != actual[Role.NUMBERS]
    values = code_values(element)[given[Role.CODES]]
    magnitude = right & right.dtype.type(to.magnitude_mask)
    byte = given[Role.SCALE]
    kinds = {
        "ordinary": np.ones_like(wrong),
        "small": (magnitude >> to.man_bits) == 0,
        "large": magnitude >= to.max_code,
        "zeros": values == 0,
        "specials": ~np.isfinite(values),
        "byte_0": np.broadcast_to(byte == 0, wrong.shape),
        "byte_255": np.broadcast_to(byte == 255, wrong.shape),
    }
    return of_elements(CAUSES, kinds, wrong)


ONLY = (
    ({"zeros"}, "only elements that are zero differ"),
    ({"byte_255"}, "only blocks of scale byte 255 differ"),
    ({"specials", "byte_255"}, "only NaN and Inf differ"),
    ({"byte_0"}, "only blocks of scale byte 0 differ"),
    ({"small", "byte_0"}, "only results that are subnormal or zero differ"),
    ({"large", "byte_255"}, "only results beyond the largest number, and blocks of scale byte 255, differ"),
)


def only(found: list[Cause]) -> str | None:
    """What the causes have in common, in a sentence, if they are few."""
    return in_common(found, ONLY)
