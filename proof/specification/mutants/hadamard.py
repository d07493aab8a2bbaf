"""Mutants of the specification of a Hadamard transform."""

from __future__ import annotations

from ....spec import BF16, Hadamard
from ..encode import bits
from ..hadamard import INF, MAGNITUDE, WIDTH, HadamardSpecification
from .mutant import FunctionMutant, Mutant

HADAMARD_MUTANTS: dict[str, Mutant[Hadamard, HadamardSpecification]] = {
    "sum": FunctionMutant(
        description="sums are one unit too large",
        function="is_between",
        body=lambda s: f"({{right}} (bvadd m {bits(1, WIDTH)}) c)",
    ),
    "overflow": FunctionMutant(
        description="sums beyond the largest number do not become Inf",
        function="is_between",
        body=lambda s: f"(and (distinct c {INF}) ({{right}} m c))",
    ),
    "subnormal numbers": FunctionMutant(
        description="numbers below the smallest normal one are zero",
        function="units",
        body=lambda s: f"(ite (bvult c {bits(1 << BF16.man_bits, MAGNITUDE)}) {bits(0, WIDTH)} ({{right}} c))",
    ),
    "sign": FunctionMutant(
        description="numbers have no sign", function="is_negative", body=lambda s: "(and false ({right} x))"
    ),
    "nan": FunctionMutant(
        description="NaN is not noticed", function="is_nan", body=lambda s: "(and false ({right} x))"
    ),
    "inf": FunctionMutant(
        description="Inf is not noticed", function="is_inf", body=lambda s: "(and false ({right} x))"
    ),
}
