"""Lemmas about the scale of a block of NVFP4: a product, or a quotient."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from ....spec import E4M3, FP32, FourOverSix
from ...netlist.design import Part
from ...specification.encode import bits, extended
from ...specification.nvfp4 import SIGNIFICAND, Nvfp4Specification, signed, times, widened
from ...specification.nvfp4_divisor import ModeloptSpecification
from ...specification.nvfp4_quotient import DIGITS, INFINITY, MAGNITUDE, POWER, QuotientSpecification
from ..question import Question, can_happen, constant, declared, lemma, vector
from .arithmetic import product_range, quotients
from .lemma import PartWith, is_normalised, multiplied, multiplying, product_facts, steps

SAYS = "every largest magnitude has its scale, under every constant of a tensor"
STEPS = DIGITS - 1
WIDTH = SIGNIFICAND + 2
"""Bits of the words that compare steps of the division."""
EXPONENT = 11
"""Bits of the exponent of a quotient, in hardware."""
BINADES = 300
"""Bound on the exponent of a quotient of two numbers of binary32."""


def row_sums(part_with: PartWith, s: Nvfp4Specification) -> Iterator[Question]:
    """Lemmas about a product that is a sum of products with two bits each."""
    size = s.scaled_size
    width = size + SIGNIFICAND
    rows = [f"t_rows{number}" for number in range(size // 2)]
    part = part_with("b_significand", "k_fraction", *rows)
    k, claims, total = extended(_normal(part), SIGNIFICAND, SIGNIFICAND + 3), [], []
    for number, row in enumerate(rows):
        two = f"((_ extract {2 * number + 1} {2 * number}) {part.wire('b_significand', 's')})"
        found = extended(part.wire(row, "s"), SIGNIFICAND + 2, SIGNIFICAND + 3)
        claims.append(f"(= {found} (bvmul {k} {extended(two, 2, SIGNIFICAND + 3)}))")
    says = "each part of a product is the product of the constant and two bits of the largest magnitude"
    values = [constant("B", size, part.wire("b_significand", "s")), constant("K", SIGNIFICAND, _normal(part))]
    about = part.text, part.state("s"), *values
    yield lemma("scale-rows", says, ("B", "K"), *about, holds=f"(and {' '.join(claims)})", is_inner=True)
    part = part_with("t_exact", *rows, freed=tuple(rows))
    for number, row in enumerate(rows):
        found = extended(part.wire(row, "s"), SIGNIFICAND + 2, width)
        total.append(f"(bvshl {found} {bits(2 * number, width)})")
    holds = f"(= {part.wire('t_exact', 's')} {f'(bvadd {chr(32).join(total)})'})"
    says = "the product is the sum of these parts"
    about = part.text, part.state("s"), constant("product", width, part.wire("t_exact", "s"))
    yield lemma("scale-sum", says, ("product",), *about, holds=holds, is_inner=True)


def _normal(part: Part) -> str:
    """The significand of the constant k, which is a normal number."""
    return f"(concat #b1 {part.wire('k_fraction', 's')})"


def product_scale(part_with: PartWith, s: Nvfp4Specification, is_summed: bool = False) -> Iterator[Question]:
    """The scale is a product; its multiplication of significands is `times`, in the design and in the specification. In
    the design it may be the sum of `row_sums`.
    """
    part, names, size = part_with(), ("b", "k", "scale"), s.scaled_size
    summed = ""
    if is_summed:
        part, width = part_with("b_significand", "k_fraction", freed=("t_exact",)), size + SIGNIFICAND
        b, k = extended(part.wire("b_significand", "s"), size, width), extended(_normal(part), SIGNIFICAND, width)
        summed = f"(assert (= {part.wire('t_exact', 's')} (times {b} {k})))\n"
    yield product_range(size)
    definitions, is_scale = s.scale(*names)
    about = [
        s.to_scale,
        multiplied(part, size).text,
        part.state("s"),
        summed or product_facts(part, size, "s"),
        constant("b", s.magnitude_bits, part.wire("amax", "s")),
        constant("k", FP32.bits, part.wire("k", "s")),
        constant("scale", E4M3.bits, part.wire("scale", "s")),
        definitions,
        f"(assert (and {s.is_magnitude('b')} {s.is_constant_of_scale('k')}))\n",
    ]
    yield multiplying(size, partial(lemma, "scale", SAYS, names), *about, holds=is_scale, has_block=True)
    yield can_happen("scale", names, times(size, is_free=False), *about, f"(assert (distinct scale {bits(0, 8)}))\n")
    if s.rules.four_over_six is not FourOverSix.OFF:
        names = ("b", "k", "larger")
        more, is_larger = s.larger("b", "larger")
        about += [constant("larger", E4M3.bits, part.wire("larger", "s")), more]
        says = "every largest magnitude has its larger scale, for 1.5 times as much"
        yield multiplying(size, partial(lemma, "larger-scale", says, names), *about, holds=is_larger, has_block=True)


def quotient_scale(part_with: PartWith, s: QuotientSpecification) -> Iterator[Question]:
    """Lemmas about a scale that is a quotient. The first is about the operand that is computed before. The next are
    about each step of the division, whose remainders telescope to the first digits of the quotient. The last is about
    the scale, with any number in place of these digits.
    """
    part = part_with(s.operand)
    yield from _sixfold(part, s) if isinstance(s, ModeloptSpecification) else _sixth(part, s)
    yield _first(part_with, s)
    yield from _steps(part_with)
    yield from _scale(part_with, s)
    yield quotients(s)
    yield special_numbers(s)


def _sixfold(part: Part, s: ModeloptSpecification) -> Iterator[Question]:
    about = [
        part.text,
        part.state("s"),
        constant("k", FP32.bits, part.wire("k", "s")),
        s.sixfold("k"),
        f"(assert (and {s.is_constant_of_elements('k')} (bvult {s.magnitude('k')} {INFINITY})))\n",
    ]
    wire = f"((_ extract {MAGNITUDE - 1} 0) {part.wire('sixfold', 's')})"
    says = "six times every constant of a tensor is right"
    yield lemma("sixfold", says, ("k",), *about, holds=f"(= six (concat #b0 {wire}))", is_inner=True)
    yield can_happen("sixfold", ("k",), *about, "(assert (distinct k #x00000000))\n")


def _sixth(part: Part, s: QuotientSpecification) -> Iterator[Question]:
    about = [
        part.text,
        part.state("s"),
        constant("b", s.magnitude_bits, part.wire("amax", "s")),
        s.number("b64", s.finite("b"), s.magnitude_bits),
        s.sixth("sixth64", "b64"),
        f"(assert (= b {s.finite('b')}))\n",
    ]
    is_found = f"(= sixth {part.wire('sixth', 's')})"
    yield lemma("sixth", "every largest magnitude has its sixth", ("b",), *about, holds=is_found, is_inner=True)
    yield can_happen("sixth", ("b",), *about, f"(assert {s.is_number('sixth')})\n")


def _first(part_with: PartWith, s: QuotientSpecification) -> Question:
    part = part_with("remainder_0", "divisor_significand", "quotient_exponent", freed=(s.operand,))
    a, v = _operands(part, s)
    dividend = "(ite (bvult A V) (concat #b0 A #b0) (concat #b00 A))"
    remainder, divisor = _remainder(part, 0), extended("V", SIGNIFICAND, WIDTH)
    exponent = widened(part.wire("quotient_exponent", "s"), EXPONENT, POWER)
    return lemma(
        "quotient-first",
        "the dividend is taken so that the first digit is one, which leaves less than the divisor",
        ("a", "v"),
        part.text,
        part.state("s"),
        constant("a", MAGNITUDE, a),
        constant("v", MAGNITUDE, v),
        s.operands("a", "v"),
        f"(assert (and {s.is_number('a')} {s.is_number('v')}))\n",
        holds=f"(and (= {remainder} (bvsub {dividend} {divisor})) (bvult {remainder} {divisor}) (= E {exponent}) "
        f"(= V {part.wire('divisor_significand', 's')}) {_is_exponent('E')})",
        is_inner=True,
    )


def _operands(part: Part, s: QuotientSpecification) -> tuple[str, str]:
    """The patterns of dividend and divisor."""
    operand = f"((_ extract {MAGNITUDE - 1} 0) {part.wire(s.operand, 's')})"
    return s.operands_on(part.wire("amax", "s"), part.wire("k", "s"), operand)


def _remainder(part: Part, number: int) -> str:
    """The remainder after this number of steps. The design does not use its first bit, except in the last one."""
    wire = part.wire(f"remainder_{number}", "s")
    return f"(concat #b0 {wire})" if number == STEPS else f"(concat #b00 ((_ extract {SIGNIFICAND - 1} 0) {wire}))"


def _is_exponent(e: str) -> str:
    return f"(and (bvsle {signed(-BINADES, POWER)} {e}) (bvsle {e} {signed(BINADES, POWER)}))"


def _steps(part_with: PartWith) -> Iterator[Question]:
    v = extended("v", SIGNIFICAND, WIDTH)
    for first, about in ((1, "odd"), (2, "even")):
        shown = range(first, STEPS + 1, 2)
        wires = [f"{name}_{number}" for name in ("remainder", "digit") for number in shown]
        freed = ("divisor_significand", *(f"remainder_{number - 1}" for number in shown))
        part, claims = part_with(*wires, freed=freed), []
        for number in shown:
            before, after = _remainder(part, number - 1), _remainder(part, number)
            twice = f"(bvshl {before} {bits(1, WIDTH)})"
            step = f"(ite {part.wire(f'digit_{number}', 's')} (bvsub {twice} {v}) {twice})"
            claims.append(f"(=> (bvult {before} {v}) (and (= {after} {step}) (bvult {after} {v})))")
        description = f"every {about} step of the division leaves less than the divisor, after a digit"
        yield steps(f"quotient-{about}", description, part, "v", "divisor_significand", claims)


def _scale(part_with: PartWith, s: QuotientSpecification) -> Iterator[Question]:
    names = ("b", "a", "k", "scale", "V", "digits", "rest", "E")
    digits, last = [f"digit_{number}" for number in range(1, STEPS + 1)], f"remainder_{STEPS}"
    part = part_with(freed=(s.operand, "divisor_significand", "quotient_exponent", last, *digits))
    a, _ = _operands(part, s)
    found = " ".join(vector(part.wire(digit, "s"), 1) for digit in digits)
    rest = part.wire(last, "s")
    about = [
        part.text,
        part.state("s"),
        constant("b", s.magnitude_bits, part.wire("amax", "s")),
        constant("a", MAGNITUDE, a),
        constant("k", FP32.bits, part.wire("k", "s")),
        constant("scale", E4M3.bits, part.wire("scale", "s")),
        constant("V", SIGNIFICAND, part.wire("divisor_significand", "s")),
        constant("digits", DIGITS, f"(concat #b1 {found})"),
        constant("rest", SIGNIFICAND, f"((_ extract {SIGNIFICAND - 1} 0) {rest})"),
        constant("E", POWER, widened(part.wire("quotient_exponent", "s"), EXPONENT, POWER)),
        f"(assert (=> (= b {s.finite('b')}) (bvult a {INFINITY})))\n"
        f"(assert (=> (and {s.is_number('a')} {s.is_number(s.magnitude('k'))}) (and {is_normalised('V')} "
        f"{_is_exponent('E')} (bvult {rest} {extended('V', SIGNIFICAND, SIGNIFICAND + 1)}))))\n",
    ]
    yield lemma("scale", SAYS, names, *about, holds=s.is_scale("b", "a", "k", "scale"), is_inner=True)
    yield can_happen("scale", names, *about, "(assert (= scale #x71))\n")


def special_numbers(s: QuotientSpecification) -> Question:
    """The lemma about which numbers of a block can meet which factor or divisor."""
    names = {"b": s.magnitude_bits, "x": s.magnitude_bits, "k": FP32.bits, "d": FP32.bits, "scale": E4M3.bits}
    definitions, is_scale = s.scale("b", "k", "scale")
    infinity, nan_d = bits(s.inf, s.magnitude_bits), f"(bvugt {s.magnitude('d')} {INFINITY})"
    meets = f"(and (= x {infinity}) {s.makes_inf_invalid('d')})"
    return lemma(
        "special-numbers",
        "NaN has a scale of NaN, and so has Inf where its product or quotient would be invalid",
        tuple(names),
        s.to_scale,
        times(s.scaled_size, is_free=True),
        declared(names),
        definitions,
        f"(assert (and (bvule x b) {s.are_constants('k', 'd')} {is_scale}))\n",
        holds=f"(=> (or (bvugt x {infinity}) {nan_d} {meets}) {s.is_nan_scale('scale')})",
    )
