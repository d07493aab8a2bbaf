"""Mutants of the specification of a cast."""

from __future__ import annotations

from fractions import Fraction

from ....spec import Cast, CastRounding, EncodedZero
from ..cast import OVERFLOWS, CastSpecification
from ..encode import bits, double
from .encode import SMALL
from .mutant import FunctionMutant, Mutant


def _reaches(s: CastSpecification, q: str, c: str) -> str:
    return f"({{right}} {q} {c}" + (" r)" if s.random else ")")


CAST_MUTANTS: dict[str, Mutant[Cast, CastSpecification]] = {
    "code": FunctionMutant(
        description="codes are one too small",
        function="reaches",
        body=lambda s: _reaches(s, "q", f"(bvadd c {bits(1, s.magnitude_bits + 1)})"),
    ),
    "ties": FunctionMutant(
        description="ties go away from zero",
        function="reaches",
        body=lambda s: _reaches(s, f"(fp.mul RNE q {double(1 + SMALL)})", "c"),
        applies=lambda n: n.rounding is CastRounding.RNE and not n.is_back and not n.destination.is_power_of_two,
    ),
    "clamp": FunctionMutant(
        description="the largest number is not used",
        function="reaches",
        body=lambda s: f"(and (not (= c {bits(s.to.max_code, s.magnitude_bits + 1)})) {_reaches(s, 'q', 'c')})",
        applies=lambda n: not n.is_back,
    ),
    "nan": FunctionMutant(
        description="NaN is not noticed",
        function="source_nan",
        body=lambda s: "(and false ({right} x))",
        # a NaN that is read as a number overflows, which gives NaN in a format without Inf
        applies=lambda n: (
            n.source.nan_code is not None
            and not (OVERFLOWS[n.overflow](n.rounding)[0] and n.destination.inf_code is None and not n.is_back)
        ),
    ),
    "inf": FunctionMutant(
        description="Inf is NaN",
        function="source_nan",
        body=lambda s: f"(or ({{right}} x) (= x {bits(s.source.inf_code or 0, s.source.bits)}))",
        applies=lambda n: n.source.inf_code is not None and n.destination.inf_code is not None,
    ),
    "sign": FunctionMutant(
        description="numbers have no sign",
        function="source_negative",
        body=lambda s: "(and false ({right} x))",
        applies=lambda n: n.source.signed and n.destination.signed,
    ),
    "zero": FunctionMutant(
        description="zeros have no sign",
        function="source_negative",
        body=lambda s: f"(and ({{right}} x) (not (= x {bits(s.source.sign_mask, s.source.bits)})))",
        applies=lambda n: n.source.signed_zero and n.destination.signed_zero and n.zero is EncodedZero.SIGNED,
    ),
    "subnormal numbers": FunctionMutant(
        description="numbers below the smallest normal one are zero",
        function="magnitude",
        body=lambda s: (
            f"(ite (fp.lt ({{right}} x) {double(Fraction(2) ** s.source.emin)}) (_ +zero 11 53) ({{right}} x))"
        ),
        applies=lambda n: n.is_back and n.source.subnormals,
    ),
}
