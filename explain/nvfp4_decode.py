"""The decoding of one NVFP4 block, step by step.

The steps follow the exact definition. An explanation is only returned if the fast model gives the same numbers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Unpack

import numpy as np

from ..models.arrays.source import DTYPES
from ..models.exact.binary32 import Special, Value, divide, multiply, value_of
from ..models.exact.nvfp4_decode import decode_block
from ..models.fast.nvfp4_decode import decode_blocks
from ..spec import (
    FP32,
    BlockFormat,
    Convention,
    NumberFormat,
    Nvfp4Decode,
    Nvfp4DecodeFields,
    nvfp4_decoding,
    profile_of,
)
from .explanation import Record, StepByStep, as_float, class_of, code_fields, require_codes, require_same

ONE = FP32.bias << FP32.man_bits
"""The pattern of 1."""


@dataclass(frozen=True, kw_only=True)
class FactorStep(Record):
    """A binary32 operation on magnitudes, on the way to the factor of the elements."""

    name: str
    formula: str
    exact: float | None
    """The result before rounding; None unless the step is an operation on finite numbers."""
    value: float
    """The result, which can be inf or nan."""


@dataclass(frozen=True, kw_only=True)
class Nvfp4DecodedStep(Record):
    """One element, from its code to the pattern of the destination."""

    lane: int
    code: int
    fields: str
    """The code in binary: sign, exponent field and fraction."""
    element: float
    """Value of the code."""
    product: float
    """The element times the factor, rounded to binary32."""
    pattern: int
    result: float
    """Value of the pattern."""
    result_kind: str
    """The class of the result."""


@dataclass(frozen=True, kw_only=True)
class Nvfp4DecodeExplanation(StepByStep):
    """One block of codes with every step of its decoding."""

    numerics: Nvfp4Decode
    scale: int
    tensor_scale: int | None
    """The pattern of the tensor scale; None if the convention has no tensor scale."""
    factor: tuple[FactorStep, ...]
    elements: tuple[Nvfp4DecodedStep, ...]


def explain_nvfp4_decoder(
    scale: int,
    codes: Sequence[int],
    format: str | BlockFormat | NumberFormat | Nvfp4Decode,
    profile: str | None = None,
    *,
    tensor_scale: int | None = None,
    **rules: Unpack[Nvfp4DecodeFields],
) -> Nvfp4DecodeExplanation:
    """Decode one block and keep every step.

    Parameters
    ----------
    scale : the scale byte
    codes : at most block_size element codes
    format, profile, rules : the decoder, as for `dequantize_nvfp4`
    tensor_scale : the FP32 pattern of the tensor scale, if the convention has one

    Returns
    -------
    Nvfp4DecodeExplanation
        the operations that compute the factor, and each element from code to pattern

    Raises
    ------
    ValueError
        for a byte, code or pattern outside its format, too many codes, a missing or unused tensor scale, or an unknown
        name
    AssertionError
        if the fast model disagrees with the exact definition, which is a defect of mxcast

    >>> why = explain_nvfp4_decoder(0x38, [0x2, 0xF], "nvfp4", "nvfp4_ao", tensor_scale=0x3F000000)
    >>> [step.formula for step in why.factor], [hex(step.pattern) for step in why.elements]
    (['block scale', 'tensor scale', 's * g'], ['0x3f000000', '0xc0400000'])
    """
    chosen = nvfp4_decoding(format, profile, **rules)
    _check(scale, codes, tensor_scale, chosen)
    pattern = ONE if tensor_scale is None else tensor_scale
    g = FP32.decode(pattern & FP32.magnitude_mask)
    sign = chosen.destination.sign_mask if pattern & FP32.sign_mask else 0
    patterns = [
        one if chosen.destination.decode(one).kind == "nan" else one ^ sign
        for one in decode_block(scale, codes, chosen, value_of(g))
    ]
    require_same(_fast(scale, codes, chosen, pattern), patterns)
    s = value_of(chosen.block.scale.decode(scale))
    c = chosen.scale_max * chosen.block.element.max_value
    steps, factor = FACTORS[chosen.convention](s, value_of(g), c)
    negative = bool(scale & chosen.block.scale.sign_mask) ^ bool(sign)
    return Nvfp4DecodeExplanation(
        numerics=chosen,
        profile=profile_of(chosen, profile),
        scale=scale,
        tensor_scale=tensor_scale,
        factor=tuple(steps),
        elements=tuple(
            _element(lane, code, one, factor, negative, chosen) for lane, (code, one) in enumerate(zip(codes, patterns))
        ),
    )


def _check(scale: int, codes: Sequence[int], tensor_scale: int | None, rules: Nvfp4Decode) -> None:
    require_codes("scales", [scale], rules.block.scale)
    require_codes("codes", codes, rules.block.element, rules.block_size)
    if (tensor_scale is None) != (rules.convention is Convention.NONE):
        needs, given = ("takes a", "none") if tensor_scale is None else ("takes no", "one")
        raise ValueError(f"the convention {rules.convention} {needs} tensor scale, and {given} was given")
    if tensor_scale is not None:
        require_codes("tensor scales", [tensor_scale], FP32)


def _fast(scale: int, codes: Sequence[int], rules: Nvfp4Decode, tensor_scale: int) -> list[int]:
    """The patterns by the fast model."""
    block = np.zeros((1, rules.block_size), np.uint8)
    block[0, : len(codes)] = codes
    y = np.empty(block.shape, DTYPES[rules.destination.name])
    g = np.array(tensor_scale, np.uint32).view(np.float32)
    decode_blocks(np.array([scale], np.uint8), block, rules, g, y)
    return y.view(f"u{y.itemsize}")[0, : len(codes)].tolist()


def _float(value: Value) -> float:
    return float(value) if isinstance(value, Fraction) else math.inf if value is Special.INF else math.nan


def _given(name: str, formula: str, value: Value) -> FactorStep:
    return FactorStep(name=name, formula=formula, exact=None, value=_float(value))


def _made(name: str, formula: str, a: Value, b: Value, *, divides: bool = False) -> tuple[FactorStep, Value]:
    """An operation of two values, and its result."""
    value = divide(a, b) if divides else multiply(a, b)
    exact = None
    if isinstance(a, Fraction) and isinstance(b, Fraction) and not (divides and b == 0):
        exact = _as_float(a / b if divides else a * b)
    return FactorStep(name=name, formula=formula, exact=exact, value=_float(value)), value


def _as_float(value: Fraction) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.inf


Steps = tuple[list[FactorStep], Value]


def _multiplied(s: Value, g: Value, c: Fraction) -> Steps:
    step, value = _made("factor", "s * g", s, g)
    return [_given("s", "block scale", s), _given("g", "tensor scale", g), step], value


def _divided(s: Value, g: Value, c: Fraction) -> Steps:
    step, value = _made("factor", "s / g", s, g, divides=True)
    return [_given("s", "block scale", s), _given("g", "tensor scale", g), step], value


def _of_largest(s: Value, g: Value, c: Fraction) -> Steps:
    scaled, product = _made("s * a", "s * a", s, g)
    inverse, reciprocal = _made("1 / C", f"1 / {int(c)}", Fraction(1), Fraction(c), divides=True)
    step, value = _made("factor", "(s * a) * (1 / C)", product, reciprocal)
    given = [_given("s", "block scale", s), _given("a", "largest magnitude of the tensor", g)]
    return [*given, scaled, inverse, step], value


def _alone(s: Value, g: Value, c: Fraction) -> Steps:
    return [_given("factor", "block scale", s)], s


FACTORS: dict[Convention, Callable[[Value, Value, Fraction], Steps]] = {
    Convention.MULTIPLIER: _multiplied,
    Convention.DIVISOR: _divided,
    Convention.AMAX: _of_largest,
    Convention.NONE: _alone,
}
"""The operations on magnitudes by convention, and the factor of the elements."""


def _element(lane: int, code: int, pattern: int, factor: Value, negative: bool, rules: Nvfp4Decode) -> Nvfp4DecodedStep:
    number, result = rules.block.element.decode(code), rules.destination.decode(pattern)
    product = _float(multiply(number.magnitude, factor))
    return Nvfp4DecodedStep(
        lane=lane,
        code=code,
        fields=code_fields(code, rules.block.element),
        element=as_float(number),
        product=-product if number.negative ^ negative else product,
        pattern=pattern,
        result=as_float(result),
        result_kind=class_of(result, pattern, rules.destination),
    )
