"""The specification of a Hadamard transform, as statements of SMT-LIB about integers; nothing here computes a result.

Finite BF16 numbers are integers in units of the smallest one. A result is nearest to its sum where the sum lies between
the middles on both sides of it. Notation: ``x`` is a number, ``c`` a magnitude code, where the code of Inf means the
number after the largest; ``t`` is a sum, and ``y`` its result.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from math import isqrt

from ...spec import BF16, Hadamard
from .encode import bits, extended

WIDTH = (1 << BF16.exp_bits) + BF16.bits
"""Bits of integers: more than any sum needs, or four times the middle of two numbers."""
MAGNITUDE = BF16.bits - 1
INF = bits(BF16.inf_field, MAGNITUDE)


class HadamardSpecification:
    """The statements for a `Hadamard` of 16 numbers."""

    def __init__(self, rules: Hadamard) -> None:
        self.rules = rules
        self.definitions = "\n".join(chain(self._numbers(), self._rounding())) + "\n"

    def _numbers(self) -> Iterator[str]:
        """``is_nan``, ``is_inf``, ``is_negative``, and ``units`` and ``integer``: magnitudes and numbers in units."""
        of = f"((x (_ BitVec {BF16.bits}))) Bool"
        magnitude = f"((_ extract {MAGNITUDE - 1} 0) x)"
        yield f"(define-fun is_nan {of} (bvugt {magnitude} {INF}))"
        yield f"(define-fun is_inf {of} (= {magnitude} {INF}))"
        yield f"(define-fun is_negative {of} (= ((_ extract {MAGNITUDE} {MAGNITUDE}) x) #b1))"
        field, fraction = f"((_ extract {MAGNITUDE - 1} {BF16.man_bits}) c)", f"((_ extract {BF16.man_bits - 1} 0) c)"
        small = extended(fraction, BF16.man_bits, WIDTH)
        places = f"(bvsub {extended(field, BF16.exp_bits, WIDTH)} {bits(1, WIDTH)})"
        normal = f"(bvshl {extended(f'(concat #b1 {fraction})', BF16.man_bits + 1, WIDTH)} {places})"
        subnormal = f"(= {field} {bits(0, BF16.exp_bits)})"
        number = f"(_ BitVec {WIDTH})"
        yield f"(define-fun units ((c (_ BitVec {MAGNITUDE}))) {number} (ite {subnormal} {small} {normal}))"
        value = f"(units {magnitude})"
        yield (
            f"(define-fun integer ((x (_ BitVec {BF16.bits}))) {number} (ite (is_negative x) (bvneg {value}) {value}))"
        )

    def _rounding(self) -> Iterator[str]:
        """``is_between``: does a magnitude of a sum have this code? ``is_result``: is ``y`` the result of ``t``?"""
        root = isqrt(self.rules.size)
        assert root**2 == self.rules.size and root % 2 == 0  # other sizes have no hardware
        one, number, code = bits(1, MAGNITUDE), f"(_ BitVec {WIDTH})", f"(_ BitVec {MAGNITUDE})"
        even = "(= ((_ extract 0 0) c) #b0)"

        def middle(first: str, second: str) -> str:
            """The middle of two numbers, times the root."""
            return f"(bvmul (bvadd (units {first}) (units {second})) {bits(root // 2, WIDTH)})"

        below, above = middle(f"(bvsub c {one})", "c"), middle("c", f"(bvadd c {one})")
        lowest, highest = f"(= c {bits(0, MAGNITUDE)})", f"(= c {INF})"
        yield (
            f"(define-fun is_between ((m {number}) (c {code})) Bool (and (bvule c {INF}) "
            f"(or {lowest} (bvult {below} m) (and {even} (= {below} m))) "
            f"(or {highest} (bvult m {above}) (and {even} (= m {above})))))"
        )
        zero = bits(0, WIDTH)
        yield (
            f"(define-fun is_result ((t {number}) (y (_ BitVec {BF16.bits}))) Bool "
            f"(and (= (is_negative y) (bvslt t {zero})) "
            f"(is_between (ite (bvslt t {zero}) (bvneg t) t) ((_ extract {MAGNITUDE - 1} 0) y))))"
        )

    def has_inf(self, numbers: Sequence[str], j: int, negative: bool) -> str:
        """Does Inf of this sign enter the sum ``j``?"""
        terms = (
            f"(and (is_inf {x}) (= (is_negative {x}) {str(self.rules.is_negative(i, j) is not negative).lower()}))"
            for i, x in enumerate(numbers)
        )
        return f"(or {' '.join(terms)})"

    def is_nan_of(self, numbers: Sequence[str], j: int) -> str:
        """Is the result ``j`` NaN?"""
        both = f"(and {self.has_inf(numbers, j, True)} {self.has_inf(numbers, j, False)})"
        return f"(or {' '.join(f'(is_nan {x})' for x in numbers)} {both})"

    def has_flags(self, numbers: Sequence[str], j: int, is_nan: str, is_infinite: str, inf_sign: str) -> str:
        """Are these the flags of the result ``j``? The sign counts for Inf alone."""
        negative, positive = (self.has_inf(numbers, j, one) for one in (True, False))
        of_inf = f"(= {is_infinite} (or {negative} {positive})) (=> {is_infinite} (= {inf_sign} {negative}))"
        return f"(ite {self.is_nan_of(numbers, j)} {is_nan} (and (not {is_nan}) {of_inf}))"

    def total(self, integers: Sequence[str], j: int) -> str:
        """The sum ``j``."""
        terms = (f"(bvneg {x})" if self.rules.is_negative(i, j) else x for i, x in enumerate(integers))
        return f"(bvadd {' '.join(terms)})"
