"""Lemmas about the factor of the numbers of a block, the reciprocal of a product or a quotient; and about its
companion: their product is 2**47 and a small error.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from ....spec import E4M3, FP32
from ...specification.encode import bits, extended
from ...specification.nvfp4 import EXPONENT, LOWEST_COMPANION, SIGNIFICAND, Nvfp4Specification, signed, times, widened
from ...specification.nvfp4_quotient import LOWEST_FACTOR, QuotientSpecification
from ..question import Question, can_happen, constant, declared, lemma
from .arithmetic import product_range, quotient_range
from .division import REMAINDER, digits, division, remainders, within
from .lemma import HALF, PartWith, is_normalised, multiplied, multiplying
from .threshold import WHOLE

SAYS = "every scale has its factor, under every constant of a tensor"
ERROR = SIGNIFICAND + 1
"""Bits of the error of a product with a companion."""
MOST = (1 << SIGNIFICAND) - 1
"""The largest significand."""


def reciprocal(part_with: PartWith, s: Nvfp4Specification) -> Iterator[Question]:
    """The factor is the reciprocal of the divisor s * d, which is its companion."""
    name, divisor = "reciprocal", "v_significand"
    yield from division(part_with, name, divisor)
    yield quotient_range()
    size = E4M3.man_bits + 1
    yield product_range(size)
    yield divisor_in_limits(s)
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
    is_divided = is_normalised("v_divided")
    about = [
        multiplied(part, size).text,
        part.state("s"),
        *(constant(one, width, part.wire(wire, "s")) for one, (wire, width) in wires.items()),
        of_scale_and_constant(s),
        f"(define-fun V () (_ BitVec {SIGNIFICAND}) {s.significand('v64', SIGNIFICAND)})\n",
        f"(assert {s.is_in_limits('v64')})\n(assert (=> {is_divided} (and {known})))\n",
    ]
    quotient = (
        f"(and (= v_divided V) (= W (concat #b0 V)) (= n {exponent_of(s, 1)}) "
        f"{nearest('R', SIGNIFICAND, digits(part, name), v)} {s.is_factor('n', 'W')})"
    )
    power = (
        f"(and (= R {bits(HALF, SIGNIFICAND)}) (= n {exponent_of(s, 0)}) (= W {bits(2 * HALF, WHOLE)}) "
        f"(= e {bits(0, ERROR)}) {s.is_factor('n', 'W')})"
    )
    yield multiplying(
        size,
        partial(lemma, "factor", SAYS, tuple(wires)),
        *about,
        holds=f"(ite (not {s.has_reciprocal('v64')}) {_largest()} "
        f"(ite (= V {bits(HALF, SIGNIFICAND)}) {power} {quotient}))",
        is_inner=True,
    )
    yield can_happen("factor", tuple(wires), times(size, is_free=False), *about, f"(assert {is_divided})\n")


def of_scale_and_constant(s: Nvfp4Specification) -> str:
    """The definitions of the divisor ``v64``, for any scale byte and any constant of the elements."""
    return f"{s.divisor('scale', 'd')}(assert (and {s.is_byte('scale')} {s.is_constant_of_elements('d')}))\n"


def divisor_in_limits(s: Nvfp4Specification) -> Question:
    """The divisor is in the limits that other lemmas assume."""
    return lemma(
        "divisor",
        "no divisor is beyond the largest scale times the largest constant",
        ("scale", "d"),
        times(E4M3.man_bits + 1, is_free=False),
        declared({"scale": E4M3.bits, "d": FP32.bits}),
        of_scale_and_constant(s),
        holds=s.is_in_limits("v64"),
    )


def _largest() -> str:
    return (
        f"(and (= R {bits(MOST, SIGNIFICAND)}) (= n {bits(FP32.emax, EXPONENT)}) (= W {bits(HALF, WHOLE)}) "
        f"(= e {signed(-HALF, ERROR)}))"
    )


def exponent_of(s: Nvfp4Specification, less: int) -> str:
    """The exponent of the reciprocal of the divisor."""
    return f"((_ extract {EXPONENT - 1} 0) (bvsub {bits(1023 - less, 11)} {s.field('v64')}))"


def nearest(quotient: str, size: int, near: str, v: str) -> str:
    """The statement that a quotient of ``size`` bits is the nearest one: the odd number ``near`` that a division by
    ``v`` gives with the remainder ``r``, or a neighbour, with an error ``e`` of at most half the divisor.
    """
    width = REMAINDER + 2
    v, r, e = f"(concat #b00 {v})", widened("r", REMAINDER, width), widened("e", ERROR, width)
    added = [
        f"(and (= {quotient} (bvadd {extended(near, SIGNIFICAND, size)} {signed(more, size)})) "
        f"(= {e} (bvsub {product} {r})))"
        for more, product in ((0, bits(0, width)), (1, v), (-1, f"(bvneg {v})"))
    ]
    return f"(or {' '.join(added)}) {within(f'(bvshl {e} {bits(1, width)})', v)}"


def quotient(part_with: PartWith, s: QuotientSpecification) -> Iterator[Question]:
    """The factor is d / s, a division by four bits."""
    part, wires = part_with(), {"scale": E4M3.bits, "d": FP32.bits}
    outputs = {"R": ("significand", SIGNIFICAND), "n": ("exponent", EXPONENT)}
    outputs |= {flag: (flag, 0) for flag in s.flags if flag != "nan_sign"}
    names = (*wires, *outputs)
    about = [
        part.text,
        part.state("s"),
        *(constant(name, width, part.wire(name, "s")) for name, width in wires.items()),
        *(constant(name, width, part.wire(wire, "s")) for name, (wire, width) in outputs.items()),
        s.factor("scale", "d"),
        f"(assert (and {s.is_byte('scale')} {s.is_constant_of_elements('d')}))\n",
    ]
    yield lemma("factor", SAYS, names, *about, holds=s.is_factor_of("scale", "d"), is_inner=True)
    yield can_happen("factor", names, *about, f"(assert (not {s.unless_special('false')}))\n")


def companion(part_with: PartWith) -> Iterator[Question]:
    """The companion of a factor d / s, by a division of 2**47."""
    name = "companion"
    yield from division(part_with, name, "significand")
    yield quotient_range()
    yield quotient_range("quotient-of-lowest", LOWEST_FACTOR, LOWEST_COMPANION)
    wires = {
        "R": ("significand", SIGNIFICAND),
        "W": (f"{name}_quotient", WHOLE),
        "e": (f"{name}_error", ERROR),
        "r": (f"{name}_remainder0", REMAINDER),
    }
    part = part_with(*(wire for wire, _ in wires.values()), freed=tuple(remainders(name)))
    v = extended("R", SIGNIFICAND, REMAINDER)
    known = " ".join(within(part.wire(wire, "s"), v) for wire in remainders(name))
    is_power = f"(= R {bits(HALF, SIGNIFICAND)})"
    power = f"(and (= W {bits(2 * HALF, WHOLE)}) (= e {bits(0, ERROR)}))"
    yield lemma(
        "companion",
        "every factor has its companion",
        tuple(wires),
        part.text,
        part.state("s"),
        *(constant(one, width, part.wire(wire, "s")) for one, (wire, width) in wires.items()),
        f"(assert (and {is_normalised('R')} {known}))\n",
        holds=f"(ite {is_power} {power} (and {nearest('W', WHOLE, digits(part, name), v)}))",
        is_inner=True,
    )
