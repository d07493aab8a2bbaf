"""Mutants of the specification of an encoder."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from ....spec import Encode, EncodedZero, Kind, Rounding, Specials, Subnormals
from ..encode import Specification, bits, double
from .mutant import FunctionMutant, Mutant


def _nudged(factor: Fraction) -> Callable[[Specification], str]:
    return lambda s: f"({{right}} (fp.mul RNE q {double(factor)}) c{' r' if s.random_bits else ''})"


def _cut(s: Specification) -> str:
    """Bits below the guard bit of the top binade are ignored."""
    guard = Fraction(2) ** (s.element.emax - s.element.fraction_bits - 1)
    return (
        f"({{right}} (fp.mul RNE (fp.roundToIntegral RTZ (fp.mul RNE q {double(1 / guard)})) {double(guard)}) "
        f"c{' r' if s.random_bits else ''})"
    )


def _keeps_subnormals(numerics: Encode) -> bool:
    element = numerics.block.element
    has_some = element.kind is Kind.FLOAT and element.subnormals and element.man_bits > 0
    return has_some and numerics.element_subnormals is Subnormals.EXACT


def _is_nearest_even(numerics: Encode) -> bool:
    return numerics.rounding is Rounding.RNE


def _looks_below_the_guard_bit(numerics: Encode) -> bool:
    return numerics.rounding in (Rounding.RNE, Rounding.RNZ)


SMALL = Fraction(1, 1 << 40)
"""Less than the distance of two quotients, so that only midpoints themselves fall to the other side."""

ENCODE_MUTANTS: dict[str, Mutant[Encode, Specification]] = {
    "ties up": FunctionMutant(
        description="ties go away from zero",
        function="rounds",
        body=_nudged(1 + SMALL),
        applies=_looks_below_the_guard_bit,
    ),
    "ties down": FunctionMutant(
        description="ties go toward zero", function="rounds", body=_nudged(1 - SMALL), applies=_is_nearest_even
    ),
    "sticky": FunctionMutant(
        description="bits below the guard bit are not looked at",
        function="rounds",
        body=_cut,
        applies=_looks_below_the_guard_bit,
    ),
    "clamp": FunctionMutant(
        description="the largest code is not used",
        function="rounds",
        body=lambda s: (
            f"(and (not (= c {bits(s.largest, s.magnitude_bits)})) ({{right}} q c{' r' if s.random_bits else ''}))"
        ),
    ),
    "subnormal elements": FunctionMutant(
        description="elements below the smallest normal number are zero",
        function="rounds",
        applies=_keeps_subnormals,
        body=lambda s: (
            f"(ite (fp.lt q {double(Fraction(2) ** s.element.emin)}) (= c {bits(0, s.magnitude_bits)}) "
            f"({{right}} q c{' r' if s.random_bits else ''}))"
        ),
    ),
    "zero": FunctionMutant(
        description="zeros have no sign",
        function="signed",
        body=lambda s: f"({{right}} (and s (not (= c {bits(0, s.magnitude_bits)}))) c)",
        applies=lambda n: n.block.element.signed_zero and n.zero is not EncodedZero.POSITIVE,
    ),
    "negative zero": FunctionMutant(
        description="zeros have the sign of their number",
        function="signed",
        body=lambda s: f"(ite (= c {bits(0, s.magnitude_bits)}) (concat (ite s #b1 #b0) c) ({{right}} s c))",
        applies=lambda n: n.block.element.signed_zero and n.zero is EncodedZero.POSITIVE,
    ),
    "other zero": FunctionMutant(
        description="zero is taken for the other one",
        function="negative",
        body=lambda s: f"(xor ({{right}} x) {s.is_zero()})",
        applies=lambda n: n.block.element.signed_zero and n.zero not in (EncodedZero.SIGNED, EncodedZero.POSITIVE),
    ),
    "nan": FunctionMutant(
        description="NaN is not noticed",
        function="is_nan",
        body=lambda s: "(and false ({right} x))",
        applies=lambda n: n.specials is not Specials.DROP,
    ),
    "inf": FunctionMutant(
        description="Inf is not noticed",
        function="is_inf",
        body=lambda s: "(and false ({right} x))",
        applies=lambda n: n.specials is not Specials.DROP,
    ),
    "scale": FunctionMutant(
        description="the scale is twice as large",
        function="covers",
        body=lambda s: f"(and (bvugt b {bits(0, s.scale.bits)}) ({{right}} x (bvsub b {bits(1, s.scale.bits)})))",
    ),
    "limit": FunctionMutant(
        description="the scale belongs to the next larger magnitude",
        function="covers",
        body=lambda s: f"({{right}} (bvadd x {bits(1, s.source.bits)}) b)",
    ),
    "subnormal inputs": FunctionMutant(
        description="subnormal inputs are zero",
        function="magnitude",
        body=lambda s: f"(ite (= (field x) {bits(0, s.source.exp_bits)}) (_ +zero 11 53) ({{right}} x))",
        applies=lambda n: n.source.exp_bits == 8 and n.input_subnormals is Subnormals.EXACT,
    ),
}
