"""The specification of `spec.FourOverSix`: the errors of a block under a scale, and the choice between two scales.

Every operation is one of binary32 of SMT-LIB. A word of 32 bits is a magnitude: a pattern of binary32; any
pattern from Inf on means Inf. Notation: ``b`` is a scale, ``a`` the largest magnitude of the tensor.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...spec import E2M1, FP32, Nvfp4Encode
from .encode import bits, double, extended
from .nvfp4_decode import SINGLE, TO_SINGLE

INF = bits(FP32.inf_field, FP32.bits)
BEYOND = bits(FP32.inf_field + (1 << FP32.man_bits), FP32.bits)
"""The largest magnitude of an element."""
FIELD = FP32.exp_bits + 1
"""Bits of the exponent field of a word."""
WIDE = 44
"""Bits of significands that are multiplied with the constant."""
MOST, MOST_OF_SUMS = (bits(binades << FP32.man_bits, FP32.bits) for binades in (400, 448))
"""Bounds of the words of errors, and of sums before the last addition, each of which adds a binade at most."""


class ErrorSpecification:
    """The statements about errors, which use the functions of ``definitions``."""

    def __init__(self, rules: Nvfp4Encode) -> None:
        self.rules, self.divisor = rules, int(rules.scale_max * E2M1.max_value)
        self.definitions = "\n".join(_definitions()) + "\n"

    @staticmethod
    def is_product(exact: str, code: int, word: str) -> str:
        """Is a word an element times both scales, whose exact product is ``exact``?"""
        times = f"(fp.mul RNE {exact} {double(E2M1.decode(code).magnitude)})"
        return f"(= (magnitude {word}) ({TO_SINGLE} RNE {times}))"

    def is_quotient(self, product: str, word: str) -> str:
        """Is a word a finite product divided by the constant? It is nearest: the product lies between the multiples of
        the middles on both sides of it, in quarters of its last place. An infinite product becomes `BEYOND`.
        """
        places = f"(bvsub (place {product}) (place {word}))"
        shift = f"(bvadd {extended(places, FIELD, WIDE)} {bits(2, WIDE)})"
        exact, four_times = f"(bvshl (significand {product}) {shift})", f"(bvshl (significand {word}) {bits(2, WIDE)})"
        quarters = f"(ite (is_power {word}) {bits(1, WIDE)} {bits(2, WIDE)})"
        below, above = (
            f"(bvmul {bits(self.divisor, WIDE)} {middle})"
            for middle in (f"(bvsub {four_times} {quarters})", f"(bvadd {four_times} {bits(2, WIDE)})")
        )
        zero, is_even = f"(= {word} {bits(0, FP32.bits)})", f"(= ((_ extract 0 0) {word}) #b0)"
        nearest = (
            f"(and (bvule {places} {bits(self.divisor.bit_length() + 1, FIELD)}) "
            f"(or {zero} (bvult {below} {exact}) (and (= {below} {exact}) {is_even})) "
            f"(or (bvult {exact} {above}) (and (= {exact} {above}) {is_even})))"
        )
        return f"(ite (bvult {product} {INF}) (and (bvult {word} {INF}) {nearest}) (= {word} {BEYOND}))"

    @staticmethod
    def is_value(word: str) -> str:
        """The assumption about the value of an element."""
        return f"(or (bvult {word} {INF}) (= {word} {BEYOND}))"

    @staticmethod
    def is_distance(value: str, x: str, word: str) -> str:
        """Is a word the distance of a number, of which ``x`` is the magnitude, to the value of its element?"""
        return f"(= (magnitude {word}) (fp.abs (fp.sub RNE (magnitude {value}) ({TO_SINGLE} {x}))))"

    @staticmethod
    def is_square(distance: str, exact: str, word: str) -> str:
        """Is a word the square of a distance, whose exact square is ``exact`` if it is finite?"""
        return f"(= (magnitude {word}) (ite (bvult {distance} {INF}) ({TO_SINGLE} RNE {exact}) (_ +oo 8 24)))"

    @staticmethod
    def is_sum(a: str, b: str, total: str) -> str:
        """Is a word the sum of two?"""
        return f"(= (magnitude {total}) (fp.add RNE (magnitude {a}) (magnitude {b})))"

    @staticmethod
    def is_bounded(a: str, b: str, total: str) -> str:
        """Is a sum of words at most a binade above the larger one?"""
        larger = f"(ite (bvult {a} {b}) {b} {a})"
        return f"(bvule {total} (bvadd {larger} {bits(1 << FP32.man_bits, FP32.bits)}))"

    @staticmethod
    def is_less(one: str, other: str) -> str:
        """Is an error less than another?"""
        return f"(fp.lt (magnitude {one}) (magnitude {other}))"


def _definitions() -> Iterator[str]:
    """``magnitude``, ``significand``, ``place`` (the exponent field of the last place), and ``is_power``: is a word a
    power of two, below which numbers are denser?"""
    of = f"((w (_ BitVec {FP32.bits})))"
    field, fraction = f"((_ extract 31 {FP32.man_bits}) w)", f"((_ extract {FP32.man_bits - 1} 0) w)"
    none, one, size = bits(0, FIELD), bits(1, FIELD), FP32.man_bits + 1
    number = f"(concat (ite (= {field} {none}) #b0 #b1) {fraction})"
    yield f"(define-fun magnitude {of} {SINGLE} (ite (bvuge w {INF}) (_ +oo 8 24) ({TO_SINGLE} w)))"
    yield f"(define-fun significand {of} (_ BitVec {WIDE}) {extended(number, size, WIDE)})"
    yield f"(define-fun place {of} (_ BitVec {FIELD}) (ite (= {field} {none}) {one} {field}))"
    yield f"(define-fun is_power {of} Bool (and (= {fraction} {bits(0, FP32.man_bits)}) (bvugt {field} {one})))"
