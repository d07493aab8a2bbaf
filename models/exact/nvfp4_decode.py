"""The exact definition of decoding NVFP4: one block, every binary32 operation by rational numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction

from ...spec import Convention, Decode, Nvfp4Decode, block_format
from .binary32 import Special, Value, divide, is_nan, multiply, value_of
from .decode import NANS, round_magnitude

FACTORS: dict[Convention, Callable[[Value, Value, Fraction], Value]] = {
    Convention.MULTIPLIER: lambda s, g, c: multiply(s, g),
    Convention.DIVISOR: lambda s, g, c: divide(s, g),
    Convention.AMAX: lambda s, g, c: multiply(multiply(s, g), divide(Fraction(1), c)),
    Convention.NONE: lambda s, g, c: s,
}
"""The factor of the elements, from block scale, tensor scale and C."""


def decode_block(scale: int, codes: Sequence[int], rules: Nvfp4Decode, tensor_scale: Value) -> list[int]:
    """Decode one block.

    Parameters
    ----------
    scale : the code of the block scale
    codes : the element codes; blocks of any size are decoded
    rules : formats and rules
    tensor_scale : the tensor scale in the convention; ignored under ``none``

    Returns
    -------
    list of int
        patterns of the destination

    Raises
    ------
    ValueError
        for codes outside their format

    >>> from mxcast.spec import nvfp4_decoding
    >>> rules = nvfp4_decoding("nvfp4", "nvfp4_ao")
    >>> [hex(pattern) for pattern in decode_block(0x38, [2, 15], rules, Fraction(1, 2))]
    ['0x3f000000', '0xc0400000']
    """
    factor = rules.block.scale.decode(scale)
    product = FACTORS[rules.convention](value_of(factor), tensor_scale, rules.scale_max * rules.block.element.max_value)
    return [_pattern(code, scale, product, factor.negative, rules) for code in codes]


def _pattern(code: int, scale: int, product: Value, negative: bool, rules: Nvfp4Decode) -> int:
    element, to = rules.block.element.decode(code), rules.destination
    y = multiply(element.magnitude, product)
    if is_nan(y):
        return NANS[rules.nan](scale, rules.block.scale, rules.destination)
    sign = to.sign_mask if element.negative ^ negative else 0
    if isinstance(y, Special):
        return sign | to.inf_field
    return sign | (round_magnitude(y, _rounding(rules), Fraction(0)) if y else 0)


def _rounding(rules: Nvfp4Decode) -> Decode:
    """The rules for the rounding of numbers to the destination: to nearest, ties to even."""
    return Decode(block=block_format(rules.block.element), destination=rules.destination)
