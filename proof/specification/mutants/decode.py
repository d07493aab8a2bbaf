"""Mutants of the specification of a decoder."""

from __future__ import annotations

from fractions import Fraction

from ....spec import Decode, DecodedRounding, DecodedZero, Kind, ScaleReading, Subnormals
from ..decode import DecodeSpecification
from ..encode import bits, double
from .encode import SMALL
from .mutant import FunctionMutant, Mutant


def _decoded(s: DecodeSpecification) -> str:
    return "({right} q c" + (" r)" if s.random else ")")


def _swapped(s: DecodeSpecification, one: str, other: str) -> str:
    return f"(let ((c (ite (= c {one}) {other} (ite (= c {other}) {one} c)))) {_decoded(s)})"


def _is_inexact(rules: Decode) -> bool:
    """Has a product more bits than the destination?"""
    element, to = rules.block.element, rules.destination
    return element.lowest_exponent + LOWEST < to.lowest_exponent or element.fraction_bits > to.man_bits


def _overflows(rules: Decode) -> bool:
    return rules.block.element.max_value * Fraction(2) ** HIGHEST > rules.destination.max_value


LOWEST, HIGHEST = -127, 127
"""Exponents that every reading of a scale byte has, except `ScaleReading.FIELD`."""

DECODE_MUTANTS: dict[str, Mutant[Decode, DecodeSpecification]] = {
    "scale": FunctionMutant(
        description="the factor is twice as large", function="factor", body=lambda s: "({right} (bvadd b (_ bv1 8)))"
    ),
    "scale nan": FunctionMutant(
        description="a scale of NaN is not noticed",
        function="factor_nan",
        body=lambda s: "(and false ({right} b))",
        applies=lambda n: n.scale_reading is ScaleReading.E8M0,
    ),
    "nan": FunctionMutant(
        description="an element that is NaN is not noticed",
        function="element_nan",
        body=lambda s: "(and false ({right} p))",
        applies=lambda n: n.block.element.nan_code is not None,
    ),
    "inf": FunctionMutant(
        description="an element that is Inf is NaN",
        function="element_nan",
        body=lambda s: f"(or ({{right}} p) (= p {bits(s.source.inf_code or 0, s.source.bits)}))",
        applies=lambda n: n.block.element.inf_code is not None,
    ),
    "sign": FunctionMutant(
        description="numbers have no sign", function="element_negative", body=lambda s: "(and false ({right} p))"
    ),
    "zero": FunctionMutant(
        description="zeros have no sign",
        function="element_negative",
        body=lambda s: f"(and ({{right}} p) (not (= p {bits(s.source.sign_mask, s.source.bits)})))",
        applies=lambda n: n.block.element.signed_zero and n.zero is DecodedZero.SIGNED,
    ),
    "subnormal elements": FunctionMutant(
        description="elements below the smallest normal number are zero",
        function="magnitude",
        body=lambda s: (
            f"(ite (fp.lt ({{right}} p) {double(Fraction(2) ** s.source.emin)}) (_ +zero 11 53) ({{right}} p))"
        ),
        applies=lambda n: n.block.element.kind is Kind.FLOAT and n.block.element.man_bits > 0,
    ),
    "subnormal results": FunctionMutant(
        description="results below the smallest normal number are zero",
        function="rounds",
        body=lambda s: (
            f"(ite (fp.lt q {double(Fraction(2) ** s.to.emin)}) (= c {bits(0, s.to.bits - 1)}) {_decoded(s)})"
        ),
        applies=lambda n: n.subnormals is Subnormals.EXACT,
    ),
    "ties": FunctionMutant(
        description="ties go away from zero",
        function="rounds",
        body=lambda s: f"({{right}} (fp.mul RNE q {double(1 + SMALL)}) c)",
        applies=lambda n: n.rounding is DecodedRounding.RNE and _is_inexact(n),
    ),
    "overflow": FunctionMutant(
        description="numbers beyond the largest become another code",
        function="rounds",
        body=lambda s: _swapped(s, bits(s.to.inf_field, s.to.bits - 1), bits(s.to.max_code, s.to.bits - 1)),
        applies=_overflows,
    ),
}
