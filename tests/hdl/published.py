"""Numbers from tables A.1 and B.3 of the numerics specification by element, and exact scales, for hardware tests."""

from mxcast.models.exact.scale import shared_exponent
from mxcast.spec import FP32, Encode, NumberFormat, ScaleRule, block_format

MMAX = {"e5m2": 0x600000, "e4m3": 0x600000, "e3m2": 0x600000, "e2m3": 0x700000, "e2m1": 0x400000, "int8": 0x7E0000}
"""Mantissa of the largest number."""
BITS = {"e5m2": 8, "e4m3": 8, "e3m2": 6, "e2m3": 6, "e2m1": 4, "int8": 8}
MULTIPLICATION = {
    "e5m2": {0x07E00001},
    "e4m3": {0x04600001},
    "e3m2": {0x02600001},
    "e2m3": {0x01700001},
    "e2m1": {0x01400001},
    "int8": {0x007F0001},
}
"""Largest magnitudes whose byte is one less when a / destmax is a product in FP32. Besides, for int8, 0x7E0001 in every
normal binade."""


def scale_of(pattern: int, rule: ScaleRule, element: str | NumberFormat = "e4m3") -> int:
    """The exponent of the scale for an FP32 pattern, by the exact definition."""
    return shared_exponent(FP32.decode(pattern).magnitude, Encode(block=block_format(element), scale_rule=rule))


def raises(rule: ScaleRule, element: str | NumberFormat = "e4m3") -> bool:
    """Whether a fraction raises the scale under a rule."""
    return scale_of(0x3F800000, rule, element) < scale_of(0x3FFFFFFF, rule, element)
