"""Lemmas about orders that divide numbers: about the divisor of a block, and about the elements under every divisor."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import partial

from ....spec import E2M1, E4M3, FP32
from ...netlist.design import Part
from ...specification.encode import bits, extended
from ...specification.nvfp4 import EXPONENT, SIGNIFICAND, times
from ...specification.nvfp4_divisor import (
    PLACES,
    CompressedTensorsSpecification,
    DivisorSpecification,
    ModeloptSpecification,
)
from ..question import Question, can_happen, constant, declared, lemma, vector
from .arithmetic import product_range
from .element import ROW as ROW_OF_FACTORS
from .element import of_lane
from .lemma import PartWith, is_normalised, multiplied, multiplying, steps

SAYS = "every scale has its divisor, under every constant of a tensor"
ROW = (*ROW_OF_FACTORS, "underflow")
"""Wires that carry the thresholds of a block to its lanes."""
INPUTS = {"scale": E4M3.bits, "d": FP32.bits}
WIRES = {"R": ("significand", SIGNIFICAND), "n": ("exponent", EXPONENT)} | {
    flag: (flag, 0) for flag in ("by_zero", "by_inf", "is_nan")
}
"""A divisor: names in the lemmas, wires and bits."""
SMALLEST = E4M3.max_value * E2M1.max_value
"""A power of two times the smallest constant of a tensor that is not zero."""
WIDTH = SIGNIFICAND + 2
"""Bits of the words that compare steps of the division."""


def product_divisor(part_with: PartWith, s: ModeloptSpecification) -> Iterator[Question]:
    """The divisor is s * d; its multiplication of significands is `times`, in the design and in the specification."""
    size = E4M3.man_bits + 1
    yield product_range(size)
    part, names = part_with(), (*INPUTS, *WIRES)
    definitions, limited = s.divisor("scale", "d"), f"(or {s.is_nan_scale('scale')} {s.is_in_limits('v64')})"
    yield lemma(
        "divisor",
        "no divisor is beyond the largest scale times the largest constant",
        tuple(INPUTS),
        times(size, is_free=False),
        declared(INPUTS),
        definitions,
        _assumed(s),
        holds=limited,
    )
    about = [multiplied(part, size).text, *_wires(part), definitions, _assumed(s), f"(assert {limited})\n"]
    asked = partial(lemma, "factor", SAYS, names)
    yield multiplying(size, asked, *about, holds=s.is_divisor("scale", "d"), is_inner=True)
    yield can_happen(
        "factor", names, times(size, is_free=False), *about, f"(assert (not {s.unless_special('false')}))\n"
    )


def quotient_divisor(part_with: PartWith, s: CompressedTensorsSpecification) -> Iterator[Question]:
    """The divisor is s / d. Each step of the division doubles the remainder and subtracts d where that is not larger,
    so the steps telescope: S * 2**45 = Q * D + r. Then the divisor is shown for every Q and r.
    """
    part, significands = part_with("s_significand", "d_significand"), (("s", E4M3.man_bits + 1), ("d", SIGNIFICAND))
    known = [
        f"(= {part.wire(f'{name}_significand', 's')} {s.significand(f'{name}64', size)})" for name, size in significands
    ]
    yield lemma(
        "divisor-operands",
        "every scale and every constant has its significand",
        tuple(INPUTS),
        part.text,
        *_wires(part),
        s.operands_of_divisor("scale", "d"),
        _assumed(s),
        holds=f"(=> {s.is_number(s.magnitude('d'))} (and {' '.join(known)}))",
        is_inner=True,
    )
    lefts, digits = ([f"quotient_{what}{place}" for place in reversed(range(PLACES))] for what in ("left", "digit"))
    v = extended("v", SIGNIFICAND, WIDTH)
    for turn, about in enumerate(("even", "odd")):
        shown = range(turn, PLACES, 2)
        freed = ("d_significand", "s_significand", *lefts[1 - turn :: 2])
        part, claims = part_with(*(wires[at] for at in shown for wires in (lefts, digits)), freed=freed), []
        for at in shown:
            before = f"(concat #b000 {part.wire('s_significand', 's')} {bits(0, SIGNIFICAND - 5)})"
            if at:
                before = extended(part.wire(lefts[at - 1], "s"), SIGNIFICAND, WIDTH)
            twice, after = f"(bvshl {before} {bits(1, WIDTH)})", extended(part.wire(lefts[at], "s"), SIGNIFICAND, WIDTH)
            step = f"(ite {part.wire(digits[at], 's')} (bvsub {twice} {v}) {twice})"
            claims.append(f"(=> (bvult {before} {v}) (and (= {after} {step}) (bvult {after} {v})))")
        says = f"every {about} step of the division leaves less than the divisor, after a digit"
        yield steps(f"divisor-{about}", says, part, "v", "d_significand", claims)
    yield _limit()
    part = part_with(freed=("d_significand", lefts[-1], *digits))
    names = (*INPUTS, "Q", "has_rest", *WIRES)
    found = " ".join(vector(part.wire(digit, "s"), 1) for digit in digits)
    of_scale, of_constant = (s.significand(name, SIGNIFICAND) for name in ("s64", "d64"))
    about_parts = [
        part.text,
        *_wires(part),
        constant("Q", PLACES, f"(concat {found})"),
        constant("has_rest", 0, f"(distinct {part.wire(lefts[-1], 's')} {bits(0, SIGNIFICAND)})"),
        s.operands_of_divisor("scale", "d"),
        f"(assert {is_in_limits('Q', of_scale, of_constant, 'has_rest')})\n",
        s.rounded_divisor(),
        _assumed(s),
    ]
    yield lemma("factor", SAYS, names, *about_parts, holds=s.is_divisor("scale", "d"), is_inner=True)
    yield can_happen("factor", names, *about_parts, f"(assert (not {s.unless_special('false')}))\n")


def is_in_limits(quotient: str, s: str, d: str, has_rest: str) -> str:
    """Has a quotient enough digits, and does it not exceed the largest scale by the smallest constant? Without a rest,
    has it no more digits than a scale?
    """
    least, of_scale, of_constant = bits(1 << PLACES - 2, PLACES), first(E4M3.max_value), first(SMALLEST)
    most = bits((of_scale << PLACES - 1) // of_constant, PLACES)
    is_limited = f"(and (bvule {s} {bits(of_scale, SIGNIFICAND)}) (bvule {bits(of_constant, SIGNIFICAND)} {d}))"
    size = E4M3.man_bits + 1
    is_scale = f"(= ((_ extract {SIGNIFICAND - size - 1} 0) {s}) {bits(0, SIGNIFICAND - size)})"
    is_short = f"(= ((_ extract {PLACES - size - 2} 0) {quotient}) {bits(0, PLACES - size - 1)})"
    return (
        f"(and (bvuge {quotient} {least}) (=> {is_limited} (bvule {quotient} {most})) "
        f"(=> (and {is_scale} (not {has_rest})) {is_short}))"
    )


def first(number: Fraction) -> int:
    """The significand of a whole number."""
    return int(number) << SIGNIFICAND - int(number).bit_length()


def _limit() -> Question:
    """The first digits of every quotient of a scale by a constant are as `is_in_limits` says."""
    width, names = 2 * SIGNIFICAND + 4, {"Q": PLACES, **dict.fromkeys("sdr", SIGNIFICAND)}
    q, s, d, r = (extended(name, size, width) for name, size in names.items())
    return lemma(
        "divisor-limits",
        "no quotient of a scale and a constant is beyond the largest scale by the smallest constant",
        tuple(names),
        declared(names),
        f"(assert (and {is_normalised('s')} {is_normalised('d')} (bvult r d) "
        f"(= (bvshl {s} {bits(PLACES - 1, width)}) (bvadd (bvmul {q} {d}) {r}))))\n",
        holds=is_in_limits("Q", "s", "d", f"(distinct r {bits(0, SIGNIFICAND)})"),
    )


def _wires(part: Part) -> list[str]:
    return [
        part.state("s"),
        *(constant(name, width, part.wire(name, "s")) for name, width in INPUTS.items()),
        *(constant(name, width, part.wire(wire, "s")) for name, (wire, width) in WIRES.items()),
    ]


def _assumed(s: DivisorSpecification) -> str:
    return f"(assert (and {s.is_byte('scale')} {s.is_constant_of_elements('d')}))\n"


def of_divisor(unit_with: PartWith, lanes: Sequence[Part], s: DivisorSpecification) -> Iterator[Question]:
    """Lemmas about the row of every divisor, and lanes that compare with it."""
    unit = unit_with("significand", "exponent", "by_inf", without=("factor",))
    wires = {"x": s.source.bits, "p": E2M1.bits}
    names, told, says = (*wires, *WIRES), (*ROW, *s.factor_flags), "every element has its code, under every divisor"
    divisor = [constant(name, width, unit.wire(wire, "s")) for name, (wire, width) in WIRES.items()]
    for number, lane in enumerate(lanes):
        own = [constant(name, width, lane.wire(name, "t")) for name, width in wires.items()]
        yield from of_lane(number, unit, lane, s, says, names, told, (*own, *divisor), s.is_met(), s.is_passed())
