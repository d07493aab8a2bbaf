"""What kind of difference it is when a cast gives another result than it should."""

from __future__ import annotations

import numpy as np

from ...spec import Cast
from ..check.element_causes import Cause, in_common, of_elements
from ..transactions import Transactions
from .golden import entering_port, leaving_port

CAUSES = tuple(
    Cause(kind, text)
    for kind, text in {
        "ordinary": "ordinary numbers",
        "small": "results that are subnormal, zero or the smallest number",
        "large": "results that are the largest number, or beyond it",
        "negative": "numbers below zero",
        "zeros": "numbers that are zero",
        "specials": "numbers that are NaN or Inf",
    }.items()
)
"""A word is of the last of them that fits all of its numbers that differ."""


def causes(
    rules: Cast, given: Transactions, expected: Transactions, actual: Transactions, nan_codes_free: bool = False
) -> np.ndarray:
    """For each transaction the number of its cause in `CAUSES`, or -1 where nothing differs: (n,) int8. There is no
    scale: ``nan_codes_free`` must be False.
    """
    if nan_codes_free:
        raise ValueError("a cast has no scale: its codes cannot be free")
    source, to, role = rules.source, rules.destination, leaving_port(rules).role
    patterns, right = given[entering_port(rules).role], expected[role]
    wrong = right != actual[role]
    magnitude = patterns & patterns.dtype.type(source.magnitude_mask)
    result = right & right.dtype.type(to.magnitude_mask)
    kinds = {
        "ordinary": np.ones_like(wrong),
        "small": (result >> to.man_bits) == 0,
        "large": result >= to.max_code,
        "negative": (patterns & patterns.dtype.type(source.sign_mask)) != 0,
        "zeros": (magnitude == 0) & source.subnormals,
        "specials": magnitude > source.max_code,
    }
    return of_elements(CAUSES, kinds, wrong)


ONLY = (
    ({"zeros"}, "only numbers that are zero differ"),
    ({"specials"}, "only NaN and Inf differ"),
    ({"negative"}, "only numbers below zero differ"),
    ({"small", "zeros"}, "only results that are subnormal, zero or the smallest number differ"),
    ({"large", "specials"}, "only results that are the largest number or beyond it differ"),
)


def only(found: list[Cause]) -> str | None:
    """What the causes have in common, in a sentence, if they are few."""
    return in_common(found, ONLY)
