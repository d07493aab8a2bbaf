"""Facts of arithmetic that the lemmas about converters to NVFP4 stand on, as questions without any design."""

from __future__ import annotations

from collections.abc import Iterator

from ..spec import E2M1
from .question import Question, text
from .specification import DOUBLE, DOUBLE_BIAS, bits, extended
from .two_level_specification import (
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

__all__ = ["elements", "lemma", "product_range", "quotient_range"]

NARROW = 6
"""Bits of the significands for which the law of monotonicity is shown."""


def declared(width: int, *names: str) -> str:
    return "".join(f"(declare-const {name} (_ BitVec {width}))\n" for name in names)


def lemma(
    name: str,
    description: str,
    names: tuple[str, ...],
    *parts: str,
    holds: str,
    has_block: bool = False,
    is_inner: bool = False,
) -> Question:
    """The question whether something can fail to hold."""
    return Question(
        name=name,
        description=description,
        expected="unsat",
        names=names,
        text=text(description, *parts, f"(assert (not {holds}))\n"),
        has_block=has_block,
        is_inner=is_inner,
    )


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


def quotient_range() -> Question:
    """A quotient with this remainder has as many bits as its divisor."""
    width, half = 2 * SIGNIFICAND + 2, 1 << SIGNIFICAND - 1
    exact = f"(bvadd {bits(1 << 2 * SIGNIFICAND - 1, width)} e)"
    twice = f"(bvshl e {bits(1, width)})"
    return lemma(
        "quotient",
        "a reciprocal to nearest is a significand",
        ("q", "v", "e"),
        declared(width, "q", "v", "e"),
        f"(assert (and (bvult q {bits(4 * half, width)}) (bvugt v {bits(half, width)}) "
        f"(bvult v {bits(2 * half, width)}) (bvsle (bvneg v) {twice}) (bvsle {twice} v) (= (bvmul q v) {exact})))\n",
        holds=f"(and (bvuge q {bits(half, width)}) (bvult q {bits(2 * half, width)}))",
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
    yield lemma(
        "monotone",
        f"products with a number do not fall as the other factor grows, shown for {NARROW} bits",
        ("a", "b", "c"),
        declared(2 * NARROW, "a", "b", "c"),
        "(assert (and "
        + " ".join(f"(bvult {name} {bits(1 << NARROW, 2 * NARROW)})" for name in "abc")
        + " (bvule a b)))\n",
        holds="(bvule (bvmul a c) (bvmul b c))",
    )
