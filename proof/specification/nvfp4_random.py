"""The code of E2M1 of a number that is rounded to binary32 and then by random bits, as a statement of SMT-LIB about
its place.

Random bits lower the limit of each code by a part of a step. A number reaches a code if, in binary32, it is not below
the lowered limit; so before the rounding to binary32 it is not below that limit minus half a last place.
"""

from __future__ import annotations

from ...spec import E2M1, FP32, casting
from .cast import CastSpecification
from .encode import TO_DOUBLE, bits, extended
from .scalar import grid

HALF_PLACE = bits(1 << 51 - FP32.man_bits, 64)
"""Half a last place of binary32 in a pattern of binary64."""


def definitions(random_bits: int) -> str:
    """``is_cast``: is a code the result of a number of binary32 with these random bits? And ``number``, see `grid`."""
    return CastSpecification(casting(E2M1, "ocp", source="fp32", rounding="sr", random_bits=random_bits)).definitions


def places(random_bits: int, code: str) -> str:
    """Define ``own`` and ``next``, a magnitude code and the next one with bits below, and the patterns in binary64 of
    their limits under the random bits ``random``."""
    width, _, _ = grid(E2M1, random_bits)
    text, random = "", extended("random", random_bits, width)
    for name, more in (("own", 0), ("next", 1)):
        above = f"(bvadd (concat #b0 {code}) {bits(more, 4)})"
        placed = f"(concat {extended(above, 4, width - random_bits)} {bits(0, random_bits)})"
        text += (
            f"(define-fun {name} () (_ BitVec {width}) {placed})\n(declare-const {name}_from (_ BitVec 64))\n"
            f"(assert (= ({TO_DOUBLE} {name}_from) (number (bvsub {name} {random}))))\n"
        )
    return text


def is_place(q: str, random_bits: int, code: str) -> str:
    """Does a number of binary64 reach a code and not the next one, given their `places`?"""
    width, _, _ = grid(E2M1, random_bits)
    own, following = (
        f"(or (bvule {name} {extended('random', random_bits, width)}) "
        f"(fp.leq ({TO_DOUBLE} (bvsub {name}_from {HALF_PLACE})) {q}))"
        for name in ("own", "next")
    )
    return f"(and {own} (or (= {code} {bits(E2M1.max_code, 3)}) (not {following})))"
