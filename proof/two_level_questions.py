"""The questions whose answers make the proof of a converter to NVFP4: lemmas about its modules and their wires.

docs/verification.md says how they make the proof of the whole, and which laws of arithmetic are taken for it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial

import numpy as np

from ..hdl import TwoLevelConfig, TwoLevelForm
from ..sim.transactions import Transactions
from ..spec import E2M1, E4M3, FP32, FourOverSix, Order, Role, Rounding, TwoLevelEncode
from .arithmetic import elements, lemma, product_range, quotient_range
from .design import Cut, Design, Part
from .division import REMAINDER, digits, division, remainders, within
from .question import Question, constant, text
from .row_specification import is_row
from .specification import bits, extended
from .threshold_questions import WHOLE, WIDTH, is_companion, is_correction, thresholds
from .two_level_specification import (
    BOUNDARIES,
    MARKS,
    SIGNIFICAND,
    TwoLevelSpecification,
    cast_to,
    signed,
    times,
    total,
    widened,
)
from .two_level_structure import two_level_wiring

__all__ = ["blocks", "check_proved", "composed"]

EXPONENT, ERROR = FP32.exp_bits + 1, SIGNIFICAND + 1
"""Bits of the exponent of a factor, and of the error of a product with a companion."""

ROW = ("start", "cells", "thresholds")
"""What lanes are told of thresholds."""

PROVED = (Order.TE, Order.PAPER)
"""Orders that have a proof."""


def check_proved(config: TwoLevelConfig) -> None:
    """Raise ValueError for a converter that is not proved yet."""
    order = config.numerics.order
    refused = {
        f"{config.formats} in the order {order} is": order not in PROVED,
        f"converters to {config.numerics.block.name} with registers are": config.latency > 0,
        "converters that try both 4 and 6 are": config.numerics.four_over_six is not FourOverSix.OFF,
        f"converters to {config.numerics.block.name} that round by {config.numerics.rounding} are": (
            config.numerics.rounding is not Rounding.RNE
        ),
    }
    for what, is_refused in refused.items():
        if is_refused:
            raise ValueError(f"{what} not proved yet: verify compares its Verilog with the model")


def composed(
    config: TwoLevelConfig, design: Design, specify: Callable[[TwoLevelEncode], TwoLevelSpecification]
) -> Iterator[Question]:
    """All of them. Raises `StructureError` where the converter is not wired so that they make a proof."""
    return _Questions(config, design, specify(config.numerics)).every()


def multiplied(part: Part, size: int) -> Part:
    """The same with `times` as its multiplication of two significands, where it has one."""
    found = [line for line in part.text.splitlines() if f"(_ BitVec {size + SIGNIFICAND}) (bvmul " in line]
    if len(found) != 1:  # of a file that somebody has edited: then `times` is the multiplication in the end
        return part
    return Part(part.name, part.text.replace(found[0], found[0].replace("(bvmul ", "(times ")))


def multiplying(size: int, question: Callable[..., Question], *parts: str, **kind: object) -> Question:
    """A lemma with `times`: for any function in its place, and for the multiplication if that does not hold."""
    eased, full = (question(times(size, is_free), *parts, **kind) for is_free in (True, False))
    return replace(full, eased=eased.text)


def can_happen(name: str, names: tuple[str, ...], *parts: str) -> Question:
    description = f"what the lemma about the {name} assumes can happen"
    return Question(
        name=f"{name}-can-happen", description=description, expected="sat", names=names, text=text(description, *parts)
    )


class _Questions:
    """The questions about one design."""

    def __init__(self, config: TwoLevelConfig, design: Design, s: TwoLevelSpecification) -> None:
        self.rules, self.design, self.s = config.numerics, design, s
        self.form = config.microarchitecture.form
        self.wires = two_level_wiring(design.modules, design.top, config)

    def part(self, module: str, *wires: str, without: tuple[str, ...] = (), freed: tuple[str, ...] = ()) -> Part:
        (found,) = self.design.parts(Cut(module, without, wires, freed=freed))
        return found

    def every(self) -> Iterator[Question]:
        yield self.maximum()
        yield from self.scale()
        if self.form is TwoLevelForm.TABLE:
            yield from self.table()
        else:
            yield from self.factor()
        if self.form is TwoLevelForm.THRESHOLDS:
            yield from thresholds(partial(self.part, self.wires.factor_unit, without=("factor",)))
            yield from self.rows()
        if self.form is TwoLevelForm.PRODUCT:
            yield from self.products()
        yield from elements()

    def maximum(self) -> Question:
        part, width, texts = self.part(self.wires.maximum), self.rules.source.bits, []
        lanes = [f"x{lane}" for lane in range(self.rules.block_size)]
        for lane, name in enumerate(lanes):
            magnitude = f"((_ extract {width * lane + width - 2} {width * lane}) {part.wire('x', 's')})"
            texts.append(constant(name, width - 1, magnitude))
        texts.append(constant("b", width - 1, part.wire("amax", "s")))
        return lemma(
            "maximum",
            f"every block of {len(lanes)} numbers has its largest magnitude",
            (*lanes, "b"),
            part.text,
            part.state("s"),
            *texts,
            holds=self.s.is_largest(lanes, "b"),
            has_block=True,
        )

    def scale(self) -> Iterator[Question]:
        s, part, names = self.s, self.part(self.wires.scale_unit), ("b", "k", "scale")
        size = s.scaled_size
        yield product_range(size)
        definitions, is_scale = s.scale(*names)
        about = [
            cast_to(E4M3),
            multiplied(part, size).text,
            part.state("s"),
            constant("b", s.magnitude_bits, part.wire("amax", "s")),
            constant("k", FP32.bits, part.wire("k", "s")),
            constant("scale", E4M3.bits, part.wire("scale", "s")),
            definitions,
            f"(assert (and {s.is_magnitude('b')} {s.is_constant_of_scale('k')}))\n",
        ]
        says = "every largest magnitude has its scale, under every constant of a tensor"
        yield multiplying(size, partial(lemma, "scale", says, names), *about, holds=is_scale, has_block=True)
        yield can_happen(
            "scale", names, times(size, is_free=False), *about, f"(assert (distinct scale {bits(0, 8)}))\n"
        )

    def factor(self) -> Iterator[Question]:
        """The divisor s * d, and what its division leaves."""
        s, name, divisor = self.s, "reciprocal", "v_significand"
        part_with = partial(self.part, self.wires.factor)
        yield from division(part_with, name, divisor)
        yield quotient_range()
        size = E4M3.man_bits + 1
        yield product_range(size)
        assumed = f"(assert (and {s.is_byte('scale')} {s.is_constant_of_elements('d')}))\n"
        definitions = s.divisor("scale", "d")
        yield lemma(
            "divisor",
            "no divisor is beyond the largest scale times the largest constant",
            ("scale", "d"),
            times(size, is_free=False),
            "(declare-const scale (_ BitVec 8))\n(declare-const d (_ BitVec 32))\n",
            definitions,
            assumed,
            holds=s.is_in_limits("v64"),
        )
        part = part_with(divisor, freed=tuple(remainders(name)))
        wires = {
            "scale": ("scale", E4M3.bits),
            "d": ("d", FP32.bits),
            "R": ("significand", SIGNIFICAND),
            "n": ("exponent", EXPONENT),
            "W": ("companion", WHOLE),
            "e": ("error", ERROR),
            "r": (f"{name}_remainder0", REMAINDER),
            "v_divided": (divisor, SIGNIFICAND),
        }
        v = extended("v_divided", SIGNIFICAND, REMAINDER)
        known = " ".join(within(part.wire(wire, "s"), v) for wire in remainders(name))
        is_divided = f"(= ((_ extract {SIGNIFICAND - 1} {SIGNIFICAND - 1}) v_divided) #b1)"
        is_power = f"(= V {bits(1 << SIGNIFICAND - 1, SIGNIFICAND)})"
        about = [
            multiplied(part, size).text,
            part.state("s"),
            *(constant(one, width, part.wire(wire, "s")) for one, (wire, width) in wires.items()),
            definitions,
            assumed,
            f"(define-fun V () (_ BitVec {SIGNIFICAND}) {s.significand('v64', SIGNIFICAND)})\n",
            f"(assert {s.is_in_limits('v64')})\n(assert (=> {is_divided} (and {known})))\n",
        ]
        yield multiplying(
            size,
            partial(lemma, "factor", "every scale has its factor, under every constant of a tensor", tuple(wires)),
            *about,
            holds=f"(ite (not {s.has_reciprocal('v64')}) {self.largest_factor()} "
            f"(ite {is_power} {self.power()} {self.quotient(digits(part, name), v)}))",
            is_inner=True,
        )
        yield can_happen("factor", tuple(wires), times(size, is_free=False), *about, f"(assert {is_divided})\n")

    def largest_factor(self) -> str:
        most, half = (1 << SIGNIFICAND) - 1, 1 << SIGNIFICAND - 1
        return (
            f"(and (= R {bits(most, SIGNIFICAND)}) (= n {bits(FP32.emax, EXPONENT)}) (= W {bits(half, WHOLE)}) "
            f"(= e {signed(-half, ERROR)}))"
        )

    def exponent(self, less: int) -> str:
        """That of the reciprocal of the divisor."""
        return f"((_ extract {EXPONENT - 1} 0) (bvsub {bits(1023 - less, 11)} {self.s.field('v64')}))"

    def power(self) -> str:
        half = 1 << SIGNIFICAND - 1
        return (
            f"(and (= R {bits(half, SIGNIFICAND)}) (= n {self.exponent(0)}) (= W {bits(2 * half, WHOLE)}) "
            f"(= e {bits(0, ERROR)}) {self.s.is_factor('n', 'W')})"
        )

    def quotient(self, near: str, v: str) -> str:
        """The quotient is the odd number of the division or one beside it, and its error is at most half of V."""
        width = REMAINDER + 2
        v, r, e = f"(concat #b00 {v})", widened("r", REMAINDER, width), widened("e", ERROR, width)
        added = [
            f"(and (= R (bvadd {near} {signed(more, SIGNIFICAND)})) (= {e} (bvsub {product} {r})))"
            for more, product in ((0, bits(0, width)), (1, v), (-1, f"(bvneg {v})"))
        ]
        return (
            f"(and (= v_divided V) (= W (concat #b0 V)) (= n {self.exponent(1)}) (or {' '.join(added)}) "
            f"{within(f'(bvshl {e} {bits(1, width)})', v)} {self.s.is_factor('n', 'W')})"
        )

    def rows(self) -> Iterator[Question]:
        """What lanes are told, and a lane."""
        marks = tuple(f"mark{mark}_whole" for mark in MARKS)
        unit = self.part(self.wires.factor_unit, "exponent", "companion", without=("factor",), freed=marks)
        values = [
            constant("n", EXPONENT, unit.wire("exponent", "s")),
            constant("W", WHOLE, unit.wire("companion", "s")),
            *(constant(f"X{mark}", WHOLE, unit.wire(wire, "s")) for mark, wire in zip(MARKS, marks)),
        ]
        yield from self.counting(unit, *values)

    def table(self) -> Iterator[Question]:
        """Lanes that are told a row of a table: that of a factor."""
        unit = self.part(self.wires.factor_unit)
        free = {"n": EXPONENT, "W": WHOLE, **{f"X{mark}": WHOLE for mark in MARKS}}
        row = tuple(unit.wire(f"row_{name}", "s") for name in ROW)
        right = is_row({mark: f"X{mark}" for mark in MARKS}, "n", self.rules.source, row)
        declared = "".join(f"(declare-const {name} (_ BitVec {width}))\n" for name, width in free.items())
        yield from self.counting(unit, f"{declared}(assert {right})\n")

    def counting(self, unit: Part, *values: str) -> Iterator[Question]:
        for number, lane in enumerate(self.lanes()):
            yield from self.row(unit, lane, values, f"-{number}" if number else "")

    def lanes(self) -> list[Part]:
        """The lanes that differ in more than their names."""
        return list(dict.fromkeys(part.named("lane") for part in self.design.parts(*map(Cut, self.wires.lanes))))

    def products(self) -> Iterator[Question]:
        """Lanes that multiply."""
        s, source, size = self.s, self.rules.source, self.rules.source.man_bits + 1
        names = {"x": source.bits, "p": E2M1.bits, "significand": SIGNIFICAND, "exponent": EXPONENT}
        field = f"(bvadd {widened('exponent', EXPONENT, 11)} {bits(1023, 11)})"
        fraction = f"((_ extract {SIGNIFICAND - 2} 0) significand)"
        passed = total([boundary.passes("exact") for boundary in BOUNDARIES])
        width = size + SIGNIFICAND
        zero = bits(0, width)  # what a lane multiplies in place of a number that is zero under every factor
        yield product_range(size)
        for number, lane in enumerate(self.lanes()):
            yield multiplying(
                size,
                partial(
                    lemma,
                    f"element-{number}" if number else "element",
                    "every element has its code, under every factor",
                    tuple(names),
                ),
                multiplied(lane, size).text,
                lane.state("t"),
                *(constant(name, width, lane.wire(name, "t")) for name, width in names.items()),
                s.number("x64", f"((_ extract {source.bits - 2} 0) x)", source.bits - 1),
                f"(define-fun f64 () (_ BitVec 64) (concat #b0 {field} {fraction} {bits(0, 53 - SIGNIFICAND)}))\n",
                s.product("exact", "x64", "f64", size),
                f"(assert (= ((_ extract {SIGNIFICAND - 1} {SIGNIFICAND - 1}) significand) #b1))\n"
                f"(assert {s.is_normal_factor('exponent')})\n"
                f"(assert (= (times {zero} {extended('significand', SIGNIFICAND, width)}) {zero}))\n",
                holds=s.specials("x", "p", f"(= ((_ extract 2 0) p) {passed})"),
                is_inner=True,
            )

    def row(self, unit: Part, lane: Part, values: tuple[str, ...], which: str) -> Iterator[Question]:
        """The code is by the thresholds X of the marks, which are near m * W / 4 for some number W."""
        s, source = self.s, self.rules.source
        told = [f"(assert (= {unit.wire(name, 's')} {lane.wire(name, 't')}))\n" for name in ROW]
        element = [constant("x", source.bits, lane.wire("x", "t")), constant("p", E2M1.bits, lane.wire("p", "t"))]
        known = [is_companion("W"), s.is_factor("n", "W")]
        for mark in MARKS:
            four = f"(bvshl {extended(f'X{mark}', WHOLE, WIDTH)} {bits(2, WIDTH)})"
            difference = f"(bvsub {four} (bvmul {bits(mark, WIDTH)} {extended('W', WHOLE, WIDTH)}))"
            known.append(is_correction(difference, rest=3))
            known.append(f"(bvuge X{mark} {bits(1 << SIGNIFICAND - 1, WHOLE)})")
        names = ("x", "p", "n", "W", *(f"X{mark}" for mark in MARKS))
        about = [
            unit.text,
            lane.text,
            unit.state("s"),
            lane.state("t"),
            *told,
            *element,
            *values,
            s.number("x64", f"((_ extract {source.bits - 2} 0) x)", source.bits - 1),
            f"(assert (and {' '.join(known)}))\n",
        ]
        yield lemma(
            f"element{which}",
            "every element has its code, under every factor and its thresholds",
            names,
            *about,
            holds=s.specials("x", "p", self.is_counted("x64", "n", "p")),
            is_inner=True,
        )
        if not which:
            yield can_happen("element", names, *about, "(assert (distinct ((_ extract 2 0) p) #b000))\n")

    def is_counted(self, x: str, n: str, p: str) -> str:
        """Is a code the number of limits that ``x`` times the factor passes, by the thresholds of the marks?"""
        field, width = 12, WHOLE + 1
        number = extended(self.s.significand(x, SIGNIFICAND), SIGNIFICAND, width)
        passed = []
        for one in BOUNDARIES:
            binades = (
                f"(bvadd {extended(self.s.field(x), 11, field)} {widened(n, EXPONENT, field)} "
                f"{signed(1 - one.exponent - 1023, field)})"
            )
            threshold = f"(concat #b0 X{one.quarters})"
            reached = [
                f"(and (= n {bits(up, field)}) (bvuge (bvshl {number} {bits(up, width)}) {threshold}))" for up in (0, 1)
            ]
            passed.append(f"(let ((n {binades})) (or (bvsgt n {bits(1, field)}) {' '.join(reached)}))")
        return f"(= ((_ extract 2 0) {p}) (ite (= {x} {bits(0, 64)}) #b000 {total(passed)}))"


def blocks(rules: TwoLevelEncode, values: dict[str, int]) -> Transactions:
    """Blocks that hold what a solver found: a whole block, or one of a largest magnitude."""
    size, source = rules.block_size, rules.source
    numbers = (
        [values.get(f"x{lane}", 0) for lane in range(size)] if "x0" in values else [values["b"], *[0] * (size - 1)]
    )
    one = FP32.bias << FP32.man_bits
    arrays = {Role.NUMBERS: np.array([numbers], f"uint{source.bits}")}
    for port in rules.ports:
        if port.direction == "input" and port.role is not Role.NUMBERS:
            arrays[port.role] = np.array([[values.get(port.name, one)]], np.uint32)
    return Transactions(arrays)
