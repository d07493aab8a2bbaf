"""Facts of arithmetic that the lemmas about converters to NVFP4 stand on, as questions without any design."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from ...spec import E2M1, E4M3
from ..specification.encode import DOUBLE, DOUBLE_BIAS, bits, extended, rational
from ..specification.nvfp4 import (
    BOUNDARIES,
    HALF_PLACE,
    MARKS,
    SIGNIFICAND,
    cast_to,
    facts,
    rounded,
    signed,
    times,
    total,
)
from ..specification.nvfp4_quotient import above
from ..specification.nvfp4_random import definitions, is_place, places
from .lemma import lemma
from .question import Question

WORD = 64
"""Bits of the words in which laws are shown: products of significands have 52 at most."""
HALF = 1 << SIGNIFICAND - 1
"""The smallest significand."""


def declared(width: int, *names: str) -> str:
    return "".join(f"(declare-const {name} (_ BitVec {width}))\n" for name in names)


def product_range(size: int) -> Question:
    """What is known of `times` where it may be any function is true of the multiplication."""
    width = size + SIGNIFICAND
    return lemma(
        f"product-{size}",
        f"a product of significands of {size} and {SIGNIFICAND} bits has its first bit in one of two places",
        ("a", "b"),
        times(size, is_free=False),
        declared(width, "a", "b"),
        f"(assert (and (bvult a {bits(1 << size, width)}) (bvult b {bits(1 << SIGNIFICAND, width)})))\n",
        holds=facts("a", "b", "(times a b)", size),
    )


def quotient_range(name: str = "quotient", least: int = HALF + 1, most: int = 2 * HALF - 1) -> Question:
    """A quotient of 2**47 and a significand, with this remainder, is a significand: at most this one if the divisor is
    not below the least.
    """
    width = 2 * SIGNIFICAND + 2
    exact = f"(bvadd {bits(1 << 2 * SIGNIFICAND - 1, width)} e)"
    twice = f"(bvshl e {bits(1, width)})"
    return lemma(
        name,
        f"a reciprocal to nearest of a significand from {least:#x} on is one up to {most:#x}",
        ("q", "v", "e"),
        declared(width, "q", "v", "e"),
        f"(assert (and (bvult q {bits(4 * HALF, width)}) (bvuge v {bits(least, width)}) "
        f"(bvult v {bits(2 * HALF, width)}) (bvsle (bvneg v) {twice}) (bvsle {twice} v) (= (bvmul q v) {exact})))\n",
        holds=f"(and (bvuge q {bits(HALF, width)}) (bvule q {bits(most, width)}))",
    )


def elements() -> Iterator[Question]:
    """From the rounding of a product to the product, and from that to a comparison of whole numbers."""
    code = total([boundary.passes("q") for boundary in BOUNDARIES])
    yield lemma(
        "two-roundings",
        "rounded to binary32 and then to E2M1, a number has the code that its place among seven limits says",
        ("y", "c"),
        cast_to(E2M1),
        f"(declare-const q {DOUBLE})\n",
        declared(3, "c"),
        "(assert (not (or (fp.isNaN q) (fp.isNegative q))))\n",
        rounded("y", "q"),
        holds=f"(= (is_cast y (concat #b0 c)) (= c {code}))",
    )
    width = 2 * SIGNIFICAND
    wide, field = width + 3, 12
    places = {
        mark: f"(bvadd {bits(mark << width - 1, wide)} {signed(HALF_PLACE if beyond else -HALF_PLACE, wide)})"
        for mark, beyond in MARKS.items()
    }
    claims = []
    for boundary in BOUNDARIES:
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
    yield lemma(
        "limits",
        "a product of two significands passes a limit where a whole number does",
        ("product", "n"),
        declared(width, "product"),
        declared(field, "n"),
        f"(assert (and (bvuge product {bits(1 << width - 2, width)}) (bvsge n {signed(-600, field)}) "
        f"(bvsle n {signed(600, field)})))\n",
        holds=f"(and {' '.join(claims)})",
    )


def laws() -> Iterator[Question]:
    """The laws of products that lemmas are put together by, of whole numbers that no product here is beyond.

    The second is a step of an induction on the bits of the common factor c = 2 * c' + i: by the first, a * c is twice
    a * c', and a more where i is set. Products with zero are zero, so it begins.
    """
    declarations, one, zero = declared(WORD, "a", "b", "p", "q", "c", "i"), bits(1, WORD), bits(0, WORD)
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
    """The first of these of elements that random bits round."""
    return lemma(
        "two-roundings",
        "rounded to binary32 and then to E2M1 by random bits, a number has the code that its place says",
        ("y", "c", "random"),
        definitions(random_bits),
        f"(declare-const q {DOUBLE})\n",
        declared(3, "c"),
        declared(random_bits, "random"),
        "(assert (not (or (fp.isNaN q) (fp.isNegative q))))\n",
        rounded("y", "q"),
        places(random_bits, "c"),
        holds=f"(= (is_cast y random (concat #b0 c)) {is_place('q', random_bits, 'c')})",
    )


def quotients() -> Question:
    """The same of scales: from the roundings of a quotient to its place among the middles between them."""
    lowest, largest, codes = bits(1 << E4M3.man_bits, 8), bits(E4M3.max_code, 8), declared(8, "c")
    least = f"((_ to_fp 8 24) RNE {rational(Fraction(2) ** E4M3.emin)})"
    clamped = f"(ite (fp.lt ((_ to_fp 8 24) y) {least}) {least} ((_ to_fp 8 24) y))"
    before = f"(bvsub c {bits(1, 8)})"
    return lemma(
        "two-roundings-of-scales",
        "rounded to binary32, clamped, and then rounded to E4M3, a number has the scale that its place says",
        ("y", "c"),
        cast_to(E4M3),
        f"(declare-const q {DOUBLE})\n(declare-const t (_ BitVec 32))\n",
        codes,
        "(assert (not (or (fp.isNaN q) (fp.isNegative q))))\n",
        f"(assert (and (bvule {lowest} c) (bvule c {largest})))\n",
        rounded("y", "q"),
        f"(assert (= ((_ to_fp 8 24) t) {clamped}))\n",
        holds=f"(= (is_cast t c) (and (or (= c {lowest}) {above('q', before)}) "
        f"(or (= c {largest}) (not {above('q', 'c')}))))",
    )
