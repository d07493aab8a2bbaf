"""Mutants of the specification: each is wrong for some block, so the proof of a right design must refute each.

A proof that passes means little unless nearly right specifications fail.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

from ...hdl import HardwareConfig, verilog
from ...hdl.config.beats import StreamConfig
from ...host.files import claimed
from ...spec import (
    BF16,
    Cast,
    CastRounding,
    Decode,
    DecodedRounding,
    DecodedZero,
    Encode,
    EncodedZero,
    Hadamard,
    Kind,
    Operation,
    Rounding,
    ScaleReading,
    Specials,
    Subnormals,
)
from ..netlist.design import Design
from ..operations import provable
from ..questions.provable import Op
from ..solve.solver import solve
from ..verilog.text import plain
from .cast import OVERFLOWS, CastSpecification
from .decode import DecodeSpecification
from .encode import Specification, bits, double
from .hadamard import INF, MAGNITUDE, WIDTH, HadamardSpecification


class Defining(Protocol):
    """A specification that defines functions."""

    definitions: str


Stated = TypeVar("Stated", bound=Defining)


@dataclass(frozen=True, kw_only=True)
class SpecificationMutant(Generic[Op, Stated]):
    """A faulty function of the specification; in its body ``{right}`` is the right function."""

    description: str
    function: str
    body: Callable[[Stated], str]
    """The body, from the specification."""
    applies: Callable[[Op], bool] = lambda numerics: True
    """Whether the mutant is wrong for an operation."""


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

ENCODE_MUTANTS: dict[str, SpecificationMutant[Encode, Specification]] = {
    "ties up": SpecificationMutant(
        description="ties go away from zero",
        function="rounds",
        body=_nudged(1 + SMALL),
        applies=_looks_below_the_guard_bit,
    ),
    "ties down": SpecificationMutant(
        description="ties go toward zero", function="rounds", body=_nudged(1 - SMALL), applies=_is_nearest_even
    ),
    "sticky": SpecificationMutant(
        description="bits below the guard bit are not looked at",
        function="rounds",
        body=_cut,
        applies=_looks_below_the_guard_bit,
    ),
    "clamp": SpecificationMutant(
        description="the largest code is not used",
        function="rounds",
        body=lambda s: (
            f"(and (not (= c {bits(s.largest, s.magnitude_bits)})) ({{right}} q c{' r' if s.random_bits else ''}))"
        ),
    ),
    "subnormal elements": SpecificationMutant(
        description="elements below the smallest normal number are zero",
        function="rounds",
        applies=_keeps_subnormals,
        body=lambda s: (
            f"(ite (fp.lt q {double(Fraction(2) ** s.element.emin)}) (= c {bits(0, s.magnitude_bits)}) "
            f"({{right}} q c{' r' if s.random_bits else ''}))"
        ),
    ),
    "zero": SpecificationMutant(
        description="zeros have no sign",
        function="signed",
        body=lambda s: f"({{right}} (and s (not (= c {bits(0, s.magnitude_bits)}))) c)",
        applies=lambda n: n.block.element.signed_zero and n.zero is not EncodedZero.POSITIVE,
    ),
    "negative zero": SpecificationMutant(
        description="zeros have the sign of their number",
        function="signed",
        body=lambda s: f"(ite (= c {bits(0, s.magnitude_bits)}) (concat (ite s #b1 #b0) c) ({{right}} s c))",
        applies=lambda n: n.block.element.signed_zero and n.zero is EncodedZero.POSITIVE,
    ),
    "other zero": SpecificationMutant(
        description="zero is taken for the other one",
        function="negative",
        body=lambda s: f"(xor ({{right}} x) {s.is_zero()})",
        applies=lambda n: n.block.element.signed_zero and n.zero not in (EncodedZero.SIGNED, EncodedZero.POSITIVE),
    ),
    "nan": SpecificationMutant(
        description="NaN is not noticed",
        function="is_nan",
        body=lambda s: "(and false ({right} x))",
        applies=lambda n: n.specials is not Specials.DROP,
    ),
    "inf": SpecificationMutant(
        description="Inf is not noticed",
        function="is_inf",
        body=lambda s: "(and false ({right} x))",
        applies=lambda n: n.specials is not Specials.DROP,
    ),
    "scale": SpecificationMutant(
        description="the scale is twice as large",
        function="covers",
        body=lambda s: f"(and (bvugt b {bits(0, s.scale.bits)}) ({{right}} x (bvsub b {bits(1, s.scale.bits)})))",
    ),
    "limit": SpecificationMutant(
        description="the scale belongs to the next larger magnitude",
        function="covers",
        body=lambda s: f"({{right}} (bvadd x {bits(1, s.source.bits)}) b)",
    ),
    "subnormal inputs": SpecificationMutant(
        description="subnormal inputs are zero",
        function="magnitude",
        body=lambda s: f"(ite (= (field x) {bits(0, s.source.exp_bits)}) (_ +zero 11 53) ({{right}} x))",
        applies=lambda n: n.source.exp_bits == 8 and n.input_subnormals is Subnormals.EXACT,
    ),
}


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

DECODE_MUTANTS: dict[str, SpecificationMutant[Decode, DecodeSpecification]] = {
    "scale": SpecificationMutant(
        description="the factor is twice as large", function="factor", body=lambda s: "({right} (bvadd b (_ bv1 8)))"
    ),
    "scale nan": SpecificationMutant(
        description="a scale of NaN is not noticed",
        function="factor_nan",
        body=lambda s: "(and false ({right} b))",
        applies=lambda n: n.scale_reading is ScaleReading.E8M0,
    ),
    "nan": SpecificationMutant(
        description="an element that is NaN is not noticed",
        function="element_nan",
        body=lambda s: "(and false ({right} p))",
        applies=lambda n: n.block.element.nan_code is not None,
    ),
    "inf": SpecificationMutant(
        description="an element that is Inf is NaN",
        function="element_nan",
        body=lambda s: f"(or ({{right}} p) (= p {bits(s.source.inf_code or 0, s.source.bits)}))",
        applies=lambda n: n.block.element.inf_code is not None,
    ),
    "sign": SpecificationMutant(
        description="numbers have no sign", function="element_negative", body=lambda s: "(and false ({right} p))"
    ),
    "zero": SpecificationMutant(
        description="zeros have no sign",
        function="element_negative",
        body=lambda s: f"(and ({{right}} p) (not (= p {bits(s.source.sign_mask, s.source.bits)})))",
        applies=lambda n: n.block.element.signed_zero and n.zero is DecodedZero.SIGNED,
    ),
    "subnormal elements": SpecificationMutant(
        description="elements below the smallest normal number are zero",
        function="magnitude",
        body=lambda s: (
            f"(ite (fp.lt ({{right}} p) {double(Fraction(2) ** s.source.emin)}) (_ +zero 11 53) ({{right}} p))"
        ),
        applies=lambda n: n.block.element.kind is Kind.FLOAT and n.block.element.man_bits > 0,
    ),
    "subnormal results": SpecificationMutant(
        description="results below the smallest normal number are zero",
        function="rounds",
        body=lambda s: (
            f"(ite (fp.lt q {double(Fraction(2) ** s.to.emin)}) (= c {bits(0, s.to.bits - 1)}) {_decoded(s)})"
        ),
        applies=lambda n: n.subnormals is Subnormals.EXACT,
    ),
    "ties": SpecificationMutant(
        description="ties go away from zero",
        function="rounds",
        body=lambda s: f"({{right}} (fp.mul RNE q {double(1 + SMALL)}) c)",
        applies=lambda n: n.rounding is DecodedRounding.RNE and _is_inexact(n),
    ),
    "overflow": SpecificationMutant(
        description="numbers beyond the largest become another code",
        function="rounds",
        body=lambda s: _swapped(s, bits(s.to.inf_field, s.to.bits - 1), bits(s.to.max_code, s.to.bits - 1)),
        applies=_overflows,
    ),
}


def _reaches(s: CastSpecification, q: str, c: str) -> str:
    return f"({{right}} {q} {c}" + (" r)" if s.random else ")")


CAST_MUTANTS: dict[str, SpecificationMutant[Cast, CastSpecification]] = {
    "code": SpecificationMutant(
        description="codes are one too small",
        function="reaches",
        body=lambda s: _reaches(s, "q", f"(bvadd c {bits(1, s.magnitude_bits + 1)})"),
    ),
    "ties": SpecificationMutant(
        description="ties go away from zero",
        function="reaches",
        body=lambda s: _reaches(s, f"(fp.mul RNE q {double(1 + SMALL)})", "c"),
        applies=lambda n: n.rounding is CastRounding.RNE and not n.is_back and not n.destination.is_power_of_two,
    ),
    "clamp": SpecificationMutant(
        description="the largest number is not used",
        function="reaches",
        body=lambda s: f"(and (not (= c {bits(s.to.max_code, s.magnitude_bits + 1)})) {_reaches(s, 'q', 'c')})",
        applies=lambda n: not n.is_back,
    ),
    "nan": SpecificationMutant(
        description="NaN is not noticed",
        function="source_nan",
        body=lambda s: "(and false ({right} x))",
        # a NaN that is read as a number overflows, which gives NaN in a format without Inf
        applies=lambda n: (
            n.source.nan_code is not None
            and not (OVERFLOWS[n.overflow](n.rounding)[0] and n.destination.inf_code is None and not n.is_back)
        ),
    ),
    "inf": SpecificationMutant(
        description="Inf is NaN",
        function="source_nan",
        body=lambda s: f"(or ({{right}} x) (= x {bits(s.source.inf_code or 0, s.source.bits)}))",
        applies=lambda n: n.source.inf_code is not None and n.destination.inf_code is not None,
    ),
    "sign": SpecificationMutant(
        description="numbers have no sign",
        function="source_negative",
        body=lambda s: "(and false ({right} x))",
        applies=lambda n: n.source.signed and n.destination.signed,
    ),
    "zero": SpecificationMutant(
        description="zeros have no sign",
        function="source_negative",
        body=lambda s: f"(and ({{right}} x) (not (= x {bits(s.source.sign_mask, s.source.bits)})))",
        applies=lambda n: n.source.signed_zero and n.destination.signed_zero and n.zero is EncodedZero.SIGNED,
    ),
    "subnormal numbers": SpecificationMutant(
        description="numbers below the smallest normal one are zero",
        function="magnitude",
        body=lambda s: (
            f"(ite (fp.lt ({{right}} x) {double(Fraction(2) ** s.source.emin)}) (_ +zero 11 53) ({{right}} x))"
        ),
        applies=lambda n: n.is_back and n.source.subnormals,
    ),
}

HADAMARD_MUTANTS: dict[str, SpecificationMutant[Hadamard, HadamardSpecification]] = {
    "sum": SpecificationMutant(
        description="sums are one unit too large",
        function="is_between",
        body=lambda s: f"({{right}} (bvadd m {bits(1, WIDTH)}) c)",
    ),
    "overflow": SpecificationMutant(
        description="sums beyond the largest number do not become Inf",
        function="is_between",
        body=lambda s: f"(and (distinct c {INF}) ({{right}} m c))",
    ),
    "subnormal numbers": SpecificationMutant(
        description="numbers below the smallest normal one are zero",
        function="units",
        body=lambda s: f"(ite (bvult c {bits(1 << BF16.man_bits, MAGNITUDE)}) {bits(0, WIDTH)} ({{right}} c))",
    ),
    "sign": SpecificationMutant(
        description="numbers have no sign", function="is_negative", body=lambda s: "(and false ({right} x))"
    ),
    "nan": SpecificationMutant(
        description="NaN is not noticed", function="is_nan", body=lambda s: "(and false ({right} x))"
    ),
    "inf": SpecificationMutant(
        description="Inf is not noticed", function="is_inf", body=lambda s: "(and false ({right} x))"
    ),
}

MUTANTS: dict[str, Mapping[str, SpecificationMutant[Any, Any]]] = {
    "encode": ENCODE_MUTANTS,
    "decode": DECODE_MUTANTS,
    "cast": CAST_MUTANTS,
    "two_level_encode": {},
    "two_level_decode": {},
    "hadamard": HADAMARD_MUTANTS,
    "tile": ENCODE_MUTANTS,
    "nvfp4_tile": {},
}
"""By the name of the operation. Bugs of NVFP4 are planted in the Verilog only."""


def mutated(specification: Stated, mutant: SpecificationMutant[Op, Stated]) -> Stated:
    """A specification with a mutant in its ``definitions``."""
    head = re.compile(rf"^\(define-fun {mutant.function} (\(\(.*?\)\)\) (?:Bool|\(_ .*?\))) ", re.M)
    found = head.search(specification.definitions)
    assert found is not None  # a mutant names a function of the specification
    end = specification.definitions.index("\n", found.end()) + 1
    right = f"right_{mutant.function}"
    new = f"(define-fun {mutant.function} {found[1]} {mutant.body(specification).replace('{right}', right)})\n"
    renamed = specification.definitions[found.start() : end].replace(mutant.function, right, 1)
    specification.definitions = (
        specification.definitions[: found.start()] + renamed + new + specification.definitions[end:]
    )
    return specification


@dataclass(frozen=True, kw_only=True)
class Refutation:
    """A mutant, and the question whose answer refutes it, or None if no answer does."""

    mutant: str
    description: str
    by: str | None

    def to_dict(self) -> dict:
        return {"mutant": self.mutant, "says": self.description, "refuted_by": self.by}


def refute(config: HardwareConfig, folder: Path, *, timeout: float = 300) -> list[Refutation]:
    """Ask the questions of a proof of the emitted Verilog with each mutant that applies; Yosys works in ``folder``. The
    specification of a stream is the one of whole blocks.
    """
    if not MUTANTS[config.numerics.name]:
        return []
    if isinstance(config, StreamConfig):
        config = config.at_once
    with claimed(folder):
        return _refuted(config, Design(plain(verilog(config, "dut")), "dut", folder), timeout)


def _refuted(config: HardwareConfig, design: Design, timeout: float) -> list[Refutation]:
    outcomes = []
    asked = provable(config)
    for name, mutant in MUTANTS[config.numerics.name].items():
        if not all(map(mutant.applies, config.modes)):
            continue

        def specify(rules: Operation, mutant: SpecificationMutant[Any, Any] = mutant) -> Defining:
            return mutated(asked.specification(rules), mutant)

        questions = asked.composed(config, design, specify)
        by = (
            q.name
            for q in questions
            if solve(q.text, q.names, timeout=timeout).result == {"unsat": "sat", "sat": "unsat"}[q.expected]
        )
        outcomes.append(Refutation(mutant=name, description=mutant.description, by=next(by, None)))
    return outcomes
