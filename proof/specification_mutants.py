"""Mutants of the specification: each says something else of some block, so for a right design each must be refuted.

That a proof passes says little unless statements that are nearly right fail.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from pathlib import Path

from ..hdl import ConverterConfig, verilog
from ..host.files import claimed
from ..spec import Encode, Kind, Rounding, Specials, Subnormals
from .design import Design
from .questions import composed
from .solver import solve
from .specification import Specification, bits, double
from .text import plain

__all__ = ["SPECIFICATION_MUTANTS", "Refutation", "SpecificationMutant", "mutated", "refute"]


@dataclass(frozen=True, kw_only=True)
class SpecificationMutant:
    """A function of the specification with a mutant: its body, in which ``{right}`` is the function without it."""

    description: str
    function: str
    body: Callable[[Specification], str]
    applies: Callable[[Encode], bool] = lambda numerics: True


def _nudged(factor: Fraction) -> Callable[[Specification], str]:
    return lambda s: f"({{right}} (fp.mul RNE q {double(factor)}) c{' r' if s.random_bits else ''})"


def _cut(s: Specification) -> str:
    """Nothing below the guard bit of the top binade is looked at."""
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


SMALL = Fraction(1, 1 << 40)
"""Less than the distance of two quotients, so that only midpoints themselves fall to the other side."""

SPECIFICATION_MUTANTS: dict[str, SpecificationMutant] = {
    "ties up": SpecificationMutant(
        description="ties go away from zero", function="rounds", body=_nudged(1 + SMALL), applies=_is_nearest_even
    ),
    "ties down": SpecificationMutant(
        description="ties go toward zero", function="rounds", body=_nudged(1 - SMALL), applies=_is_nearest_even
    ),
    "sticky": SpecificationMutant(
        description="bits below the guard bit are not looked at", function="rounds", body=_cut, applies=_is_nearest_even
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
        applies=lambda n: n.block.element.signed_zero,
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
        description="the scale is that of the next larger magnitude",
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


def mutated(numerics: Encode, mutant: SpecificationMutant) -> Specification:
    """The specification of these numerics with a mutant."""
    specification = Specification(numerics)
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
    """What became of a mutant: the question whose answer shows it, None where no answer does."""

    mutant: str
    description: str
    by: str | None

    def to_dict(self) -> dict:
        return {"mutant": self.mutant, "says": self.description, "refuted_by": self.by}


def refute(config: ConverterConfig, folder: Path, *, timeout: float = 300) -> list[Refutation]:
    """Ask the questions of a proof with each mutant that applies, for the emitted Verilog; ``folder`` is for Yosys'
    files.
    """
    with claimed(folder):
        return _refuted(config, Design(plain(verilog(config, "dut")), "dut", folder), timeout)


def _refuted(config: ConverterConfig, design: Design, timeout: float) -> list[Refutation]:
    outcomes = []
    for name, mutant in SPECIFICATION_MUTANTS.items():
        if not all(map(mutant.applies, config.modes)):
            continue
        questions = composed(config, design, partial(mutated, mutant=mutant))
        by = (
            q.name
            for q in questions
            if solve(q.text, q.names, timeout=timeout).result == {"unsat": "sat", "sat": "unsat"}[q.expected]
        )
        outcomes.append(Refutation(mutant=name, description=mutant.description, by=next(by, None)))
    return outcomes
