"""Lemmas about the elements of a block of NVFP4: lanes that multiply, and lanes that compare with thresholds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

from ....spec import E2M1
from ...netlist.design import Part
from ...specification.encode import bits, extended
from ...specification.nvfp4 import EXPONENT, MARKS, SIGNIFICAND, Nvfp4Specification, signed, total, widened
from ...specification.nvfp4_row import is_row
from ..question import Question, can_happen, constant, declared, lemma, vector
from .arithmetic import product_range
from .lemma import HALF, DividerWith, PartWith, is_normalised, multiplied, multiplying
from .threshold import WHOLE, WIDTH, is_companion, is_correction

ROW = ("start", "cells", "thresholds")
"""Wires that carry the thresholds of a block to its lanes."""


def of_products(lanes: Sequence[Part], s: Nvfp4Specification) -> Iterator[Question]:
    """Lemmas about lanes that multiply and round, perhaps by random bits."""
    rules, source, size = s.rules, s.source, s.source.man_bits + 1
    wires = {"x": source.bits, "p": E2M1.bits, "significand": SIGNIFICAND, "exponent": EXPONENT}
    wires |= dict.fromkeys(s.flags, 0)
    if rules.random_bits:
        wires["random"] = rules.random_bits
    field = f"(bvadd {widened('exponent', EXPONENT, 11)} {bits(1023, 11)})"
    fraction = f"((_ extract {SIGNIFICAND - 2} 0) significand)"
    width = size + SIGNIFICAND
    zero = bits(0, width)  # the operand in place of a number that is zero under every factor
    is_number = f"(and {is_normalised('significand')} {s.is_normal_factor('exponent')})"
    yield product_range(size)
    for number, lane in enumerate(lanes):
        yield multiplying(
            size,
            partial(lemma, _name(number), "every element has its code, under every factor", tuple(wires)),
            multiplied(lane, size).text,
            lane.state("t"),
            *(_constant(lane, name, width) for name, width in wires.items()),
            s.number("x64", f"((_ extract {source.bits - 2} 0) x)", source.bits - 1),
            f"(define-fun f64 () (_ BitVec 64) (concat #b0 {field} {fraction} {bits(0, 53 - SIGNIFICAND)}))\n",
            s.product("exact", "x64", "f64", size),
            s.rounding(),
            f"(assert (and {s.unless_special(is_number)} {s.can_enter('x')} "
            f"(= (times {zero} {extended('significand', SIGNIFICAND, width)}) {zero})))\n",
            holds=s.specials("x", "p", s.is_code()),
            is_inner=True,
        )


def of_thresholds(
    unit_with: PartWith, lanes: Sequence[Part], s: Nvfp4Specification, companion: str
) -> Iterator[Question]:
    """Lemmas about lanes that compare with the thresholds of a factor, whose wires may hold anything near these; the
    wire ``companion`` holds the companion of the factor.
    """
    marks = [f"mark{mark}_whole" for mark in MARKS]
    unit = unit_with("exponent", without=("factor",), freed=(*marks, companion))
    values = [
        constant("n", EXPONENT, unit.wire("exponent", "s")),
        constant("W", WHOLE, unit.wire(companion, "s")),
        *(constant(f"X{mark}", WHOLE, unit.wire(wire, "s")) for mark, wire in zip(MARKS, marks)),
        *(constant(flag, 0, unit.wire(flag, "s")) for flag in s.factor_flags),
    ]
    yield from _counted(unit, lanes, s, values)


def of_table(unit: Part, lanes: Sequence[Part], s: Nvfp4Specification) -> Iterator[Question]:
    """Lemmas about lanes that receive a row of a table: of a factor, of zero, or of Inf."""
    free = {"n": EXPONENT, "W": WHOLE, **{f"X{mark}": WHOLE for mark in MARKS}}
    row = tuple(unit.wire(f"row_{name}", "s") for name in ROW)
    of_factor = is_row({mark: f"X{mark}" for mark in MARKS}, "n", s.source, row)
    values = [
        declared(free | dict.fromkeys(s.factor_flags, 0)),
        f"(assert {s.is_row(of_factor, row, unit.wire('scale', 's'))})\n",
    ]
    yield from _counted(unit, lanes, s, values)


def of_rows(unit_with: DividerWith, lanes: Sequence[Part], s: Nvfp4Specification) -> Iterator[Question]:
    """Lemmas about lanes that compare with a row, which a unit computes from the thresholds of a factor."""
    wires = {f"X{mark}": f"whole{number}" for number, mark in enumerate(MARKS)}
    unit = unit_with("exponent", freed=(*wires.values(), "exponent"))
    values = [
        declared({"W": WHOLE}),
        constant("n", EXPONENT, unit.wire("exponent", "s")),
        *(constant(name, WHOLE, unit.wire(wire, "s")) for name, wire in wires.items()),
    ]
    yield from _counted(unit, lanes, s, values)


def _counted(unit: Part, lanes: Sequence[Part], s: Nvfp4Specification, values: Sequence[str]) -> Iterator[Question]:
    """The code follows from the thresholds X of the marks, which are near m * W / 4 for some number W."""
    known = [is_companion("W"), s.is_factor("n", "W")]
    for mark in MARKS:
        four = f"(bvshl {extended(f'X{mark}', WHOLE, WIDTH)} {bits(2, WIDTH)})"
        difference = f"(bvsub {four} (bvmul {bits(mark, WIDTH)} {extended('W', WHOLE, WIDTH)}))"
        known.append(is_correction(difference, rest=3))
        known.append(f"(bvuge X{mark} {bits(HALF, WHOLE)})")
    assumed = s.unless_special(f"(and {' '.join(known)})")
    wires = {"x": s.source.bits, "p": E2M1.bits} | {flag: 0 for flag in s.flags if flag not in s.factor_flags}
    names = (*wires, "n", "W", *(f"X{mark}" for mark in MARKS), *s.factor_flags)
    says = "every element has its code, under every factor and its thresholds"
    told, holds = (*ROW, *s.factor_flags), _is_counted(s)
    for number, lane in enumerate(lanes):
        own = [_constant(lane, name, width) for name, width in wires.items()]
        yield from of_lane(number, unit, lane, s, says, names, told, (*own, *values), assumed, holds)


def of_lane(
    number: int,
    unit: Part,
    lane: Part,
    s: Nvfp4Specification,
    says: str,
    names: Sequence[str],
    told: Sequence[str],
    values: Sequence[str],
    assumed: str,
    finite: str,
) -> Iterator[Question]:
    """The lemma about a lane that receives the wires ``told`` from a unit, and that its assumptions are possible. The
    code of a finite number is ``finite``.
    """
    about = [
        unit.text,
        lane.text,
        unit.state("s"),
        lane.state("t"),
        *(f"(assert (= {unit.wire(wire, 's')} {lane.wire(wire, 't')}))\n" for wire in told),
        *values,
        s.number("x64", f"((_ extract {s.source.bits - 2} 0) x)", s.source.bits - 1),
        f"(assert (and {assumed} {s.can_enter('x')}))\n",
    ]
    yield lemma(_name(number), says, names, *about, holds=s.specials("x", "p", finite), is_inner=True)
    if not number:
        some = f"(and (distinct ((_ extract 2 0) p) #b000) (not {s.unless_special('false')}))"
        yield can_happen("element", names, *about, f"(assert {some})\n")


def _is_counted(s: Nvfp4Specification) -> str:
    """Is the code p the number of limits that x times the factor passes, according to the thresholds?"""
    field, width = 12, WHOLE + 1
    number = extended(s.significand("x64", SIGNIFICAND), SIGNIFICAND, width)
    passed = []
    for one in s.boundaries:
        binades = (
            f"(bvadd {extended(s.field('x64'), 11, field)} {widened('n', EXPONENT, field)} "
            f"{signed(1 - one.exponent - 1023, field)})"
        )
        threshold = f"(concat #b0 X{one.quarters})"
        reached = [
            f"(and (= n {bits(up, field)}) (bvuge (bvshl {number} {bits(up, width)}) {threshold}))" for up in (0, 1)
        ]
        passed.append(f"(let ((n {binades})) (or (bvsgt n {bits(1, field)}) {' '.join(reached)}))")
    return f"(= ((_ extract 2 0) p) (ite (= x64 {bits(0, 64)}) #b000 {total(passed)}))"


def _name(number: int) -> str:
    return f"element-{number}" if number else "element"


def _constant(part: Part, name: str, width: int) -> str:
    """A constant that holds the port of its name of a lane; a Bool if the width is 0."""
    return constant(name, width, vector(part.wire(name, "t"), width))
