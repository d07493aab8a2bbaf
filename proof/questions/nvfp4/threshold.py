"""Lemmas about thresholds, which are computed from a factor by corrections of a product (`hdl.nvfp4.threshold_unit`).

The factor R has a companion W with R * W = 2**47 + e. For 4 * X = m * W + c the product 4 * X * R is
m * (2**47 + e) + c * R, so X passes the mark m if c * R is beyond a limit minus m * e. A division of four steps finds
the least such c; its remainders telescope as in `division`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

from ...specification.encode import bits, extended
from ...specification.nvfp4 import HALF_PLACE, MARKS, SIGNIFICAND, Nvfp4Specification, signed, widened
from ..question import Question, constant, lemma
from .division import within
from .lemma import HALF, PartWith, is_normalised, steps

GROUP = "threshold"
"""The first word of the names of the lemmas."""
STEPS = 4
"""Digits of c."""
CORRECTIONS = (1 - (1 << STEPS), 1 << STEPS)
"""The bounds of c."""
LEFT, LEAST, WHOLE, WIDTH = SIGNIFICAND + 4, STEPS + 2, SIGNIFICAND + 1, SIGNIFICAND + 8
"""Bits of the wires, and of the words that compare them."""


def is_companion(w: str) -> str:
    """Is this a companion W: from the smallest significand to twice that, for a power of two?"""
    return f"(and (bvuge {w} {bits(HALF, WHOLE)}) (bvule {w} {bits(1 << SIGNIFICAND, WHOLE)}))"


def is_correction(c: str, rest: int = 0) -> str:
    """Is this a correction c, plus at most ``rest`` to make the threshold a whole number?"""
    least, most = CORRECTIONS
    return f"(and (bvsle {signed(least, WIDTH)} {c}) (bvsle {c} {signed(most + rest, WIDTH)}))"


def left_of(mark: int) -> list[str]:
    """The wires of the division, the first step first."""
    return [f"mark{mark}_left", *(f"mark{mark}_left{place}" for place in reversed(range(STEPS)))]


def thresholds(part_with: PartWith, companion: str, error: str, s: Nvfp4Specification) -> Iterator[Question]:
    """Lemmas about the thresholds of all marks; ``companion`` and ``error`` are the wires that hold W and e."""
    yield _limits(part_with, error, s)
    yield from _steps(part_with)
    yield _corrections(part_with)
    yield _whole(part_with, companion)


def same_thresholds(right_with: PartWith, wrong_with: PartWith, companion: str, error: str) -> Question:
    """Have the thresholds of a mutant changed for any factor, with its companion and error? The other lemmas about
    thresholds are about single steps from any remainder, also from those that no step leaves. A question about
    any error is easier than one about the errors of products.
    """
    given, marks = ("significand", companion, error), [f"mark{mark}_whole" for mark in MARKS]
    right, wrong = (
        part_with(*given, *marks, freed=given).named(name)
        for part_with, name in ((right_with, "right"), (wrong_with, "wrong"))
    )
    same = [f"(= {right.wire(wire, 's')} {wrong.wire(wire, 't')})" for wire in (*given, *marks)]
    e, width = widened("e", SIGNIFICAND + 1, WIDTH), SIGNIFICAND + WHOLE + 3
    r, w = extended("R", SIGNIFICAND, width), extended("W", WHOLE, width)
    exact = f"(bvadd {bits(1 << 2 * SIGNIFICAND - 1, width)} {widened('e', SIGNIFICAND + 1, width)})"
    says = "a mutant has the same thresholds for every factor"
    about = [
        right.text,
        wrong.text,
        right.state("s"),
        wrong.state("t"),
        constant("R", SIGNIFICAND, right.wire("significand", "s")),
        constant("W", WHOLE, right.wire(companion, "s")),
        constant("e", SIGNIFICAND + 1, right.wire(error, "s")),
        f"(assert (and {' '.join(same[:3])} {is_normalised('R')} {within(e, bits(HALF, WIDTH))}))\n",
    ]
    asked = partial(lemma, GROUP, says, ("R", "W", "e"), holds=f"(and {' '.join(same[3:])})", is_inner=True)
    is_product = f"(assert (and {is_companion('W')} (= (bvmul {r} {w}) {exact})))\n"
    return replace(asked(*about, is_product), eased=asked(*about).text)


def _limits(part_with: PartWith, error: str, s: Nvfp4Specification) -> Question:
    part = part_with(*(f"mark{mark}_left" for mark in MARKS), freed=(error,))
    e = widened("e", SIGNIFICAND + 1, WIDTH)
    claims = []
    for mark, is_beyond in s.marks.items():
        # for whole numbers, to reach a limit is to be beyond the number before
        limit = signed(HALF_PLACE if is_beyond else -HALF_PLACE - 1, WIDTH)
        left = widened(part.wire(f"mark{mark}_left", "s"), LEFT, WIDTH)
        claims.append(f"(= {left} (bvsub {limit} (bvmul {bits(mark, WIDTH)} {e})))")
    return lemma(
        f"{GROUP}-limits",
        "the error of every factor is taken from the limits of the marks",
        ("e",),
        part.text,
        part.state("s"),
        constant("e", SIGNIFICAND + 1, part.wire(error, "s")),
        f"(assert {within(e, bits(HALF, WIDTH))})\n",
        holds=f"(and {' '.join(claims)})",
        is_inner=True,
    )


def _steps(part_with: PartWith) -> Iterator[Question]:
    r = extended("R", SIGNIFICAND, WIDTH)
    for turn, about in enumerate(("even", "odd")):
        shown = [wire for mark in MARKS for wire in left_of(mark)[2 - turn :: 2]]
        freed = [wire for mark in MARKS for wire in left_of(mark)[1 - turn :: 2]]
        part = part_with("significand", *shown, freed=tuple(freed))
        for mark, left in zip(MARKS, map(left_of, MARKS)):
            claims = []
            for at in range(2 - turn, STEPS + 1, 2):
                before, after = (widened(part.wire(wire, "s"), LEFT, WIDTH) for wire in left[at - 1 : at + 1])
                step, twice = (f"(bvshl {r} {bits(STEPS - at + more, WIDTH)})" for more in (0, 1))
                is_negative = f"(bvslt {before} {bits(0, WIDTH)})"
                stepped = f"(ite {is_negative} (bvadd {before} {step}) (bvsub {before} {step}))"
                claims.append(
                    f"(=> (and (bvsle (bvneg {twice}) {before}) (bvslt {before} {twice})) "
                    f"(and (= {after} {stepped}) (bvsle (bvneg {step}) {after}) (bvslt {after} {step})))"
                )
            description = f"every {about} step to the correction of the mark {mark}/4 adds or subtracts the factor"
            yield steps(f"{GROUP}-{about}-{mark}", description, part, "R", "significand", claims)


def _corrections(part_with: PartWith) -> Question:
    freed = tuple(wire for mark in MARKS for wire in left_of(mark))
    part = part_with(*(f"mark{mark}_least" for mark in MARKS), freed=freed)
    values, claims = [], []
    for mark in MARKS:
        *steps, last = (f"(bvslt {part.wire(wire, 's')} {bits(0, LEFT)})" for wire in left_of(mark))
        powers = [
            f"(ite {is_negative} {signed(-(1 << place), LEAST)} {bits(1 << place, LEAST)})"
            for is_negative, place in zip(steps, reversed(range(STEPS)))
        ]
        values.append(constant(f"c{mark}", LEAST, part.wire(f"mark{mark}_least", "s")))
        claims.append(f"(= c{mark} (bvadd {' '.join(powers)} (ite {last} {bits(0, LEAST)} {bits(1, LEAST)})))")
    return lemma(
        f"{GROUP}-corrections",
        "every correction is the sum of its steps, and one more where a remainder is left",
        tuple(f"c{mark}" for mark in MARKS),
        part.text,
        part.state("s"),
        *values,
        holds=f"(and {' '.join(claims)})",
        is_inner=True,
    )


def _whole(part_with: PartWith, companion: str) -> Question:
    part = part_with(*(f"mark{m}_whole" for m in MARKS), freed=(companion, *(f"mark{m}_least" for m in MARKS)))
    values, names, claims = [constant("W", WHOLE, part.wire(companion, "s"))], ["W"], []
    for mark in MARKS:
        values.append(constant(f"c{mark}", LEAST, part.wire(f"mark{mark}_least", "s")))
        values.append(constant(f"X{mark}", WHOLE, part.wire(f"mark{mark}_whole", "s")))
        names += [f"c{mark}", f"X{mark}"]
        c, four = widened(f"c{mark}", LEAST, WIDTH), f"(bvshl {extended(f'X{mark}', WHOLE, WIDTH)} {bits(2, WIDTH)})"
        product = f"(bvadd (bvmul {bits(mark, WIDTH)} {extended('W', WHOLE, WIDTH)}) {c})"
        is_next = f"(and (bvsge {four} {product}) (bvslt (bvsub {four} {bits(4, WIDTH)}) {product}))"
        claims.append(f"(=> {is_correction(c)} {is_next})")
    return lemma(
        f"{GROUP}-whole",
        "every threshold is the next whole number",
        tuple(names),
        part.text,
        part.state("s"),
        *values,
        f"(assert {is_companion('W')})\n",
        holds=f"(and {' '.join(claims)})",
        is_inner=True,
    )
