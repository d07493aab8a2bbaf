"""Laws of arithmetic that the lemmas about converters to NVFP4 use, as questions without a design."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from ....spec import E2M1, E4M3
from ...specification.encode import DOUBLE, DOUBLE_BIAS, bits, double, extended, rational
from ...specification.nvfp4 import HALF_PLACE, SIGNIFICAND, Nvfp4Specification, cast_to, facts, rounded, signed, times
from ...specification.nvfp4_divisor import UNDERFLOW
from ...specification.nvfp4_quotient import QuotientSpecification
from ...specification.nvfp4_random import definitions, is_place, places
from ..question import Question, declared, lemma
from .lemma import HALF

WORD = 64
"""Bits of the words of the laws: products of significands have at most 52."""


def product_range(size: int) -> Question:
    """The assumptions about `times` as a free function are true of the multiplication."""
    width = size + SIGNIFICAND
    return lemma(
        f"product-{size}",
        f"a product of significands of {size} and {SIGNIFICAND} bits has its first bit in one of two places",
        ("a", "b"),
        times(size, is_free=False),
        declared({"a": width, "b": width}),
        f"(assert (and (bvult a {bits(1 << size, width)}) (bvult b {bits(1 << SIGNIFICAND, width)})))\n",
        holds=facts("a", "b", "(times a b)", size),
    )


def quotient_range(name: str = "quotient", least: int = HALF + 1, most: int = 2 * HALF - 1) -> Question:
    """A quotient of 2**47 and a significand, with an error of at most half the divisor, is a significand: at most
    ``most`` for divisors from ``least`` on.
    """
    width = 2 * SIGNIFICAND + 2
    exact = f"(bvadd {bits(1 << 2 * SIGNIFICAND - 1, width)} e)"
    twice = f"(bvshl e {bits(1, width)})"
    return lemma(
        name,
        f"a reciprocal to nearest of a significand from {least:#x} on is one up to {most:#x}",
        ("q", "v", "e"),
        declared({"q": width, "v": width, "e": width}),
        f"(assert (and (bvult q {bits(4 * HALF, width)}) (bvuge v {bits(least, width)}) "
        f"(bvult v {bits(2 * HALF, width)}) (bvsle (bvneg v) {twice}) (bvsle {twice} v) (= (bvmul q v) {exact})))\n",
        holds=f"(and (bvuge q {bits(HALF, width)}) (bvule q {bits(most, width)}))",
    )


def two_roundings(s: Nvfp4Specification) -> Question:
    """The code of a rounded product or quotient follows from the exact one."""
    return lemma(
        "two-roundings",
        "rounded to binary32 and then to E2M1, a number has the code of its place among seven limits",
        ("y", "c"),
        cast_to(E2M1),
        f"(declare-const q {DOUBLE})\n",
        declared({"c": 3}),
        "(assert (not (or (fp.isNaN q) (fp.isNegative q))))\n",
        rounded("y", "q"),
        holds=f"(= (is_cast y (concat #b0 c)) (= c {s.code('q')}))",
    )


def underflow() -> Question:
    """A quotient of binary32 is zero up to a limit."""
    return lemma(
        "underflow",
        f"rounded to binary32, a number is zero up to 2**-{UNDERFLOW}",
        ("y",),
        f"(declare-const q {DOUBLE})\n",
        "(assert (not (or (fp.isNaN q) (fp.isNegative q))))\n",
        rounded("y", "q"),
        holds=f"(= (= y {bits(0, 32)}) (fp.leq q {double(Fraction(1, 2**UNDERFLOW))}))",
    )


def limits(s: Nvfp4Specification) -> Question:
    """The place of a product follows from a comparison of whole numbers."""
    width = 2 * SIGNIFICAND
    wide, field = width + 3, 12
    places = {
        mark: f"(bvadd {bits(mark << width - 1, wide)} {signed(HALF_PLACE if beyond else -HALF_PLACE, wide)})"
        for mark, beyond in s.marks.items()
    }
    claims = []
    for boundary in s.boundaries:
        relation = "bvugt" if boundary.is_beyond else "bvuge"
        unit = signed(DOUBLE_BIAS + boundary.exponent + 1 - width, 11)
        power = f"(fp #b0 (bvadd ((_ extract 10 0) n) {unit}) {bits(0, 52)})"
        number = f"(fp.mul RNE ((_ to_fp_unsigned 11 53) RNE product) {power})"
        reached = [
            f"(and (= n {bits(places_up, field)}) ({relation} (bvshl {extended('product', width, wide)} "
            f"{bits(2 + places_up, wide)}) {places[boundary.quarters]}))"
            for places_up in (0, 1)
        ]
        claims.append(f"(= {boundary.passes(number)} (or (bvsgt n {bits(1, field)}) {' '.join(reached)}))")
    return lemma(
        "limits",
        "a product of two significands passes a limit where a whole number does",
        ("product", "n"),
        declared({"product": width, "n": field}),
        f"(assert (and (bvuge product {bits(1 << width - 2, width)}) (bvsge n {signed(-600, field)}) "
        f"(bvsle n {signed(600, field)})))\n",
        holds=f"(and {' '.join(claims)})",
    )


def laws() -> Iterator[Question]:
    """The laws of products that combine the lemmas, for whole numbers as large as all products here.

    The second is a step of an induction on the bits of the common factor c = 2 * c' + i: by the first, a * c is twice
    a * c', plus a if i is set. The induction starts with products with zero, which are zero.
    """
    declarations, one, zero = declared(dict.fromkeys("abpqci", WORD)), bits(1, WORD), bits(0, WORD)
    yield lemma(
        "distributive",
        f"the product with a sum is the sum of the products, in words of {WORD} bits",
        ("a", "c", "i"),
        declarations,
        holds="(and (= (bvmul a (bvadd c i)) (bvadd (bvmul a c) (bvmul a i))) "
        "(= (bvmul a (bvadd c c i)) (bvadd (bvmul a c) (bvmul a c) (bvmul a i))))",
    )
    small = " ".join(f"(bvult {word} {bits(1 << WORD - 3, WORD)})" for word in ("b", "q"))
    yield lemma(
        "monotone",
        f"products that do not fall from a to b do not with one more bit of the other factor, in words of {WORD} bits",
        ("a", "b", "p", "q", "i"),
        declarations,
        f"(assert (and {small} (bvule a b) (bvule p q) (or (= i {zero}) (= i {one}))))\n",
        holds=f"(bvule (bvadd p p (ite (= i {one}) a {zero})) (bvadd q q (ite (= i {one}) b {zero})))",
    )


def random_rounding(random_bits: int) -> Question:
    """The code of a product rounded by random bits follows from the exact product."""
    return lemma(
        "two-roundings",
        "rounded to binary32 and then to E2M1 by random bits, a number has the code of its place",
        ("y", "c", "random"),
        definitions(random_bits),
        f"(declare-const q {DOUBLE})\n",
        declared({"c": 3, "random": random_bits}),
        "(assert (not (or (fp.isNaN q) (fp.isNegative q))))\n",
        rounded("y", "q"),
        places(random_bits, "c"),
        holds=f"(= (is_cast y random (concat #b0 c)) {is_place('q', random_bits, 'c')})",
    )


def quotients(s: QuotientSpecification) -> Question:
    """The scale follows from the place of the exact quotient among the middles between scales."""
    lowest, largest, codes = s.smallest, bits(E4M3.max_code, 8), declared({"c": 8})
    least, of_zero = (
        f"((_ to_fp 8 24) RNE {rational(E4M3.decode(int(code.split()[1][2:])).magnitude)})"
        for code in (s.smallest, s.of_zero)
    )
    number = "((_ to_fp 8 24) y)"
    clamped = f"(ite (fp.isZero {number}) {of_zero} (ite (fp.lt {number} {least}) {least} {number}))"
    is_zero = f"(fp.leq q {double(Fraction(1, 2**UNDERFLOW))})"
    before = f"(bvsub c {bits(1, 8)})"
    return lemma(
        "two-roundings-of-scales",
        "rounded to binary32, clamped, and then rounded to E4M3, a number has the scale of its place",
        ("y", "c"),
        s.to_scale,
        f"(declare-const q {DOUBLE})\n(declare-const t (_ BitVec 32))\n",
        codes,
        "(assert (not (or (fp.isNaN q) (fp.isNegative q))))\n",
        f"(assert (and (bvule {lowest} c) (bvule c {largest})))\n",
        rounded("y", "q"),
        f"(assert (= ((_ to_fp 8 24) t) {clamped}))\n",
        holds=f"(= (is_cast t c) (ite {is_zero} (= c {s.of_zero}) (and (or (= c {lowest}) {s.above('q', before)}) "
        f"(or (= c {largest}) (not {s.above('q', 'c')})))))",
    )
