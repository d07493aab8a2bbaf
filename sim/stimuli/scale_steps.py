"""Fractions of a largest magnitude at which the scale goes one up, found by a search on the exact definition."""

from __future__ import annotations

from bisect import bisect_left
from functools import cache

from ...models.exact.scale import shared_exponent
from ...spec import FP32, BlockFormat, Encode, ScaleRule


def last_fraction(numerics: Encode, exponent: int = FP32.bias) -> int | None:
    """The last FP32 fraction of a binade with the same scale as fraction 0, or None if all fractions have this scale.
    ``exponent`` is the biased exponent of the binade.
    """
    return _searched(numerics.block, numerics.scale_rule, exponent)


@cache
def _searched(block: BlockFormat, rule: ScaleRule, exponent: int) -> int | None:
    rules = Encode(block=block, scale_rule=rule)

    def is_raised(fraction: int) -> bool:
        return scale(fraction) > scale(0)

    def scale(fraction: int) -> int:
        return shared_exponent(FP32.decode(exponent << FP32.man_bits | fraction).magnitude, rules)

    fractions = range(1 << FP32.man_bits)
    return bisect_left(fractions, True, key=is_raised) - 1 if is_raised(fractions[-1]) else None
