"""The specification of a converter to NVFP4, as statements of SMT-LIB about its steps; nothing here computes a
conversion.

Products of two binary32 numbers are exact in binary64, and SMT-LIB defines their rounding to binary32. Both roundings
to codes are casts (`CastSpecification`). A reciprocal is defined by its product with the divisor.

The function ``times`` multiplies significands. A statement may assume only `facts` about it: a statement that holds for
every such function holds for the product, so the solver need not multiply. Notation: ``b`` is the largest magnitude of
a block, ``k`` and ``d`` are the constants of the tensor, all as patterns.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

from ...spec import E2M1, E4M3, FP32, FloatFormat, NumberFormat, Nvfp4Encode, Order, casting
from .cast import CastSpecification
from .encode import DOUBLE, DOUBLE_BIAS, TO_DOUBLE, bits, double, extended, rational, shifted
from .nvfp4_error import ErrorSpecification
from .nvfp4_random import definitions, is_place, places

SIGNIFICAND = FP32.man_bits + 1
EXPONENT = FP32.exp_bits + 1
"""Bits of the exponent of a factor."""
HALF_PLACE = 1 << SIGNIFICAND + 1
"""Half a last place of a full product of two significands, in quarters."""
SMALLEST_D, LARGEST_D = Fraction(2) ** -128, Fraction(2) ** 116 * 25 / 16
"""Bounds of d in the orders te and paper: d is 1 / S, and S is from 2688 / max to max."""
LOWEST_COMPANION = int(E4M3.max_value * LARGEST_D * Fraction(2) ** (FP32.emin + 1 + FP32.man_bits))
"""Bound of the companion of a factor in the lowest binade, from the largest product of d and a scale."""


@dataclass(frozen=True)
class Boundary:
    """A boundary between two codes of E2M1, ``quarters / 4 * 2**exponent``, whose significand is from 1 to 2."""

    quarters: int
    exponent: int
    is_beyond: bool
    """Whether only numbers beyond it take the next code: a tie goes to the even code."""

    @property
    def value(self) -> Fraction:
        return Fraction(self.quarters, 4) * Fraction(2) ** self.exponent

    @property
    def limit(self) -> Fraction:
        """The limit for an exact number: it is beyond this, or reaches it, if its rounding to binary32 does the same
        with the boundary."""
        half_place = Fraction(2) ** (self.exponent - SIGNIFICAND)
        return self.value + half_place if self.is_beyond else self.value - half_place

    def passes(self, number: str) -> str:
        """Does an exact number pass the limit?"""
        return f"({'fp.gt' if self.is_beyond else 'fp.geq'} {number} {double(self.limit)})"


def _boundaries(element: NumberFormat) -> Iterator[Boundary]:
    for code in range(1, element.max_code + 1):
        value = (element.decode(code - 1).magnitude + element.decode(code).magnitude) / 2
        exponent = value.numerator.bit_length() - value.denominator.bit_length()
        exponent -= value < Fraction(2) ** exponent
        yield Boundary(int(value * 4 / Fraction(2) ** exponent), exponent, code % 2 == 1)


BOUNDARIES = tuple(_boundaries(E2M1))
"""The boundaries below the codes 1 to 7."""

MAGNITUDE_OF_P = "((_ extract 2 0) p)"

MARKS = tuple(sorted({boundary.quarters for boundary in BOUNDARIES}))
"""Places of the boundaries within their binades, in quarters."""


def signed(value: int, width: int) -> str:
    """A constant in two's complement."""
    return bits(value % (1 << width), width)


def widened(vector: str, width: int, to: int) -> str:
    """A bit-vector in two's complement, ``to`` bits wide."""
    return f"((_ sign_extend {to - width}) {vector})"


def total(claims: list[str]) -> str:
    """The number of statements that hold, of at most seven."""
    return f"(bvadd {' '.join(f'(ite {claim} #b001 #b000)' for claim in claims)})"


def times(size: int, is_free: bool) -> str:
    """The function ``times``: the multiplication of two significands, the first of ``size`` bits; or any function."""
    word = f"(_ BitVec {size + SIGNIFICAND})"
    if is_free:
        return f"(declare-fun times ({word} {word}) {word})\n"
    return f"(define-fun times ((a {word}) (b {word})) {word} (bvmul a b))\n"


def facts(a: str, b: str, product: str, size: int) -> str:
    """The assumptions about a product of two significands, the first of ``size`` bits."""
    width = size + SIGNIFICAND
    zero = bits(0, width)
    least, first, second = (bits(1 << shift, width) for shift in (width - 2, size - 1, SIGNIFICAND - 1))
    return (
        f"(and (=> (or (= {a} {zero}) (= {b} {zero})) (= {product} {zero})) "
        f"(=> (and (bvuge {a} {first}) (bvuge {b} {second})) (bvuge {product} {least})) "
        f"(=> (distinct {a} {zero}) (bvult {product} (bvshl {a} {bits(SIGNIFICAND, width)}))))"
    )


def rounded(name: str, exact: str) -> str:
    """Define ``name`` as the pattern of a number of binary64, which is not negative, rounded to binary32."""
    return f"(declare-const {name} (_ BitVec 32))\n(assert (= ((_ to_fp 8 24) {name}) ((_ to_fp 8 24) RNE {exact})))\n"


def cast_to(format: FloatFormat) -> str:
    """``is_cast``: is a code the result of a number of binary32, rounded to nearest even and saturated?"""
    return CastSpecification(casting(format.name, "ocp", source="fp32")).definitions


class Nvfp4Specification:
    """The statements for a `Nvfp4Encode` in the orders ``te`` and ``paper``: terms, and texts that define constants."""

    factor_flags: tuple[str, ...] = ()
    """Flags of a factor that is not a normal number."""
    flags: tuple[str, ...] = ()
    """Flags that lanes receive."""

    def __init__(self, rules: Nvfp4Encode) -> None:
        self.rules, self.source = rules, rules.source
        self.magnitude_bits = self.source.bits - 1
        self.inf = self.source.max_code + 1
        self.boundaries = BOUNDARIES
        self.to_scale = cast_to(E4M3)
        self.errors = ErrorSpecification(rules)

    @property
    def marks(self) -> dict[int, bool]:
        """`Boundary.is_beyond` of each of `MARKS`."""
        return dict(sorted((boundary.quarters, boundary.is_beyond) for boundary in self.boundaries))

    def code(self, number: str) -> str:
        """The magnitude code of an exact number of binary64."""
        return total([boundary.passes(number) for boundary in self.boundaries])

    # The largest magnitude.

    def is_largest(self, lanes: Collection[str], b: str) -> str:
        """Is ``b`` the largest of these magnitudes? NaN does not count."""
        infinity = bits(self.inf, self.magnitude_bits)
        counted = {x: f"(bvule {x} {infinity})" for x in lanes}
        none_larger = " ".join(f"(=> {counts} (bvuge {b} {x}))" for x, counts in counted.items())
        some = " ".join(f"(and {counts} (= {b} {x}))" for x, counts in counted.items())
        none = f"(and (= {b} {bits(0, self.magnitude_bits)}) {' '.join(f'(not {one})' for one in counted.values())})"
        return f"(and {none_larger} (or {some} {none}))"

    # Numbers and products.

    def number(self, name: str, magnitude: str, width: int) -> str:
        """Define ``name`` as the pattern in binary64 of a magnitude of ``width`` bits with the exponent field of
        binary32."""
        wide = shifted(f"(concat #b0 {magnitude})", width + 1, FP32.bits)
        return self._pattern(name, f"({TO_DOUBLE} RNE ((_ to_fp 8 24) {wide}))")

    def small(self, name: str, code: str) -> str:
        """Define ``name`` as the pattern in binary64 of a magnitude code of E4M3."""
        field, low, man = f"((_ extract 6 {E4M3.man_bits}) {code})", f"((_ extract {E4M3.man_bits - 1} 0) {code})", 52
        normal = f"(fp #b0 (bvadd {extended(field, 4, 11)} {bits(DOUBLE_BIAS - E4M3.bias, 11)}) {shifted(low, 3, man)})"
        unit = double(E4M3.decode(1).magnitude)
        subnormal = f"(fp.mul RNE ((_ to_fp_unsigned 11 53) RNE {low}) {unit})"
        return self._pattern(name, f"(ite (= {field} {bits(0, 4)}) {subnormal} {normal})")

    @staticmethod
    def _pattern(name: str, number: str) -> str:
        return f"(declare-const {name} (_ BitVec 64))\n(assert (= ({TO_DOUBLE} {name}) {number}))\n"

    @staticmethod
    def significand(name: str, size: int) -> str:
        """The first bits of a number that `number` defined, all 0 for zero."""
        return f"(ite (= {name} {bits(0, 64)}) {bits(0, size)} (concat #b1 ((_ extract 51 {53 - size}) {name})))"

    @staticmethod
    def field(name: str) -> str:
        """The exponent field of a number that `number` defined."""
        return f"((_ extract 62 52) {name})"

    def product(self, name: str, a: str, b: str, size: int) -> str:
        """Define ``name`` as the exact product of two numbers, the first with a significand of ``size`` bits."""
        width = size + SIGNIFICAND
        one, other = self.significand(a, size), self.significand(b, SIGNIFICAND)
        exponent = f"(bvsub (bvadd {self.field(a)} {self.field(b)}) {bits(DOUBLE_BIAS + width - 2, 11)})"
        return (
            f"(define-fun {name}_a () (_ BitVec {width}) {extended(one, size, width)})\n"
            f"(define-fun {name}_b () (_ BitVec {width}) {extended(other, SIGNIFICAND, width)})\n"
            f"(define-fun {name}_whole () (_ BitVec {width}) (times {name}_a {name}_b))\n"
            f"(assert {facts(f'{name}_a', f'{name}_b', f'{name}_whole', size)})\n"
            f"(define-fun {name} () {DOUBLE} (ite (= {name}_whole {bits(0, width)}) (_ +zero 11 53) "
            f"(fp.mul RNE ((_ to_fp_unsigned 11 53) RNE {name}_whole) (fp #b0 {exponent} {bits(0, 52)}))))\n"
        )

    # The scale.

    def sixth(self, name: str, b: str) -> str:
        """Define ``name`` as b / 6, rounded to binary32, for a finite ``b``.

        The result is nearest: ``b`` lies between 6 times the midpoints from the result to its neighbours.
        """
        least, one = bits(0, 31), bits(1, 31)
        text = "(declare-const sixth (_ BitVec 31))\n(assert (bvult sixth (_ bv2139095039 31)))\n"
        numbers = {"sixth": "sixth", "before": f"(ite (= sixth {least}) {least} (bvsub sixth {one}))"}
        numbers["after"] = f"(bvadd sixth {one})"
        for end, pattern in numbers.items():
            text += self.number(name if end == "sixth" else f"{name}_{end}", pattern, 31)
        below, above = (
            f"(fp.mul RNE {double(3)} (fp.add RNE ({TO_DOUBLE} {name}) ({TO_DOUBLE} {name}_{end})))"
            for end in ("before", "after")
        )
        number, is_even = f"({TO_DOUBLE} {b})", "(= ((_ extract 0 0) sixth) #b0)"
        return text + (
            f"(assert (and (or (= sixth {least}) (fp.lt {below} {number}) (and (fp.eq {below} {number}) {is_even})) "
            f"(or (fp.lt {number} {above}) (and (fp.eq {number} {above}) {is_even}))))\n"
        )

    def is_magnitude(self, b: str) -> str:
        """Is this the magnitude of a number or of Inf?"""
        return f"(bvule {b} {bits(self.inf, self.magnitude_bits)})"

    @property
    def scaled_size(self) -> int:
        """Bits of the significand that is multiplied with k."""
        return self.source.man_bits + 1 if self.rules.order is Order.TE else SIGNIFICAND

    def is_constant_of_scale(self, k: str) -> str:
        """Whether this is a possible constant k, a positive normal number."""
        return f"(and (bvuge {k} {bits(1 << FP32.man_bits, 32)}) (bvule {k} {bits(FP32.max_code, 32)}))"

    def scale(self, b: str, k: str, byte: str) -> tuple[str, str]:
        """Definitions, and the statement that a byte is the scale of a block."""
        infinite = f"(= {b} {bits(self.inf, self.magnitude_bits)})"
        finite = f"(ite {infinite} {bits(0, self.magnitude_bits)} {b})"
        largest = self.number("b64", finite, self.magnitude_bits)
        of = "b64"
        if self.rules.order is not Order.TE:
            of, largest = "sixth64", largest + self.sixth("sixth64", "b64")
        constant = self.number("k64", f"((_ extract 30 0) {k})", 31)
        text = largest + constant + self.product("exact", of, "k64", self.scaled_size) + rounded("t", "exact")
        return text, f"(ite {infinite} (= {byte} {bits(E4M3.max_code, 8)}) (is_cast t {byte}))"

    def larger(self, b: str, byte: str) -> tuple[str, str]:
        """Definitions, which follow the ones of `scale`, and the statement that a byte is the scale for 1.5 t."""
        infinite = f"(= {b} {bits(self.inf, self.magnitude_bits)})"
        more = f"(fp.mul RNE {double(Fraction(3, 2))} ({TO_DOUBLE} RNE ((_ to_fp 8 24) t)))"
        largest = f"(= {byte} {bits(E4M3.max_code, 8)})"
        return rounded("more", more), f"(ite {infinite} {largest} (is_cast more {byte}))"

    # The factor of the numbers.

    def is_constant_of_elements(self, d: str) -> str:
        """Is this a constant d?"""
        number = f"((_ to_fp 8 24) {d})"
        least, most = (f"((_ to_fp 8 24) RNE {rational(value)})" for value in (SMALLEST_D, LARGEST_D))
        return f"(and (fp.leq {least} {number}) (fp.leq {number} {most}))"

    def are_constants(self, k: str, d: str) -> str:
        """Can these be the constants of a tensor?"""
        return f"(and {self.is_constant_of_scale(k)} {self.is_constant_of_elements(d)})"

    def divisor(self, scale: str, d: str) -> str:
        """Define ``v64`` as s * d, rounded to binary32."""
        numbers = self.small("s64", f"((_ extract 6 0) {scale})") + self.number("d64", f"((_ extract 30 0) {d})", 31)
        exact = self.product("exact", "s64", "d64", E4M3.man_bits + 1)
        return numbers + exact + rounded("v", "exact") + self.number("v64", "((_ extract 30 0) v)", 31)

    @staticmethod
    def is_in_limits(v: str) -> str:
        """Is a divisor at most the largest scale times the largest d? Then its reciprocal is a normal number."""
        return f"(fp.leq ({TO_DOUBLE} {v}) {double(E4M3.max_value * LARGEST_D)})"

    @staticmethod
    def has_reciprocal(v: str) -> str:
        """Is the reciprocal of a divisor a number of binary32? Otherwise the factor is the largest number."""
        return f"(fp.gt ({TO_DOUBLE} {v}) {double(SMALLEST_D)})"

    @staticmethod
    def is_factor(n: str, w: str) -> str:
        """The assumption of statements about elements on the exponent ``n`` of a factor and the first bits ``w`` of its
        companion."""
        highest, lowest, most = signed(FP32.emax, 9), signed(FP32.emin, 9), bits(LOWEST_COMPANION, 25)
        return f"(and (bvsle {n} {highest}) (or (bvsgt {n} {lowest}) (and (= {n} {lowest}) (bvule {w} {most}))))"

    @staticmethod
    def is_normal_factor(n: str) -> str:
        """Is this the exponent of a normal number of binary32?"""
        return f"(and (bvsge {n} {signed(FP32.emin, 9)}) (bvsle {n} {signed(FP32.emax, 9)}))"

    def is_byte(self, scale: str) -> str:
        """Is this the code of a scale other than NaN?"""
        return f"(bvule {scale} {bits(E4M3.max_code, 8)})"

    # Elements.

    def unless_special(self, claim: str) -> str:
        """A claim about a factor, unless a flag is set because it is not a normal number."""
        return claim

    def is_row(self, of_factor: str, row: Sequence[str], scale: str) -> str:
        """Is this the row of a scale, given the claim ``of_factor`` for a normal factor?"""
        return of_factor

    def can_enter(self, x: str) -> str:
        """Can a number meet a factor with these flags?"""
        return "true"

    def rounding(self) -> str:
        """Definitions for `is_code`."""
        count = self.rules.random_bits
        return definitions(count) + places(count, MAGNITUDE_OF_P) if count else ""

    def is_code(self) -> str:
        """Is ``p`` the code of the number ``exact``, rounded to binary32 and then to E2M1?"""
        if self.rules.random_bits:
            return is_place("exact", self.rules.random_bits, MAGNITUDE_OF_P)
        return f"(= {MAGNITUDE_OF_P} {self.code('exact')})"

    def specials(self, x: str, p: str, finite: str) -> str:
        """Is ``p`` the code of ``x``, given the statement ``finite`` for finite numbers?"""
        top = self.magnitude_bits
        magnitude, sign = f"((_ extract {top - 1} 0) {x})", f"((_ extract {top} {top}) {x})"
        largest, infinity = bits(E2M1.max_code, 3), bits(self.inf, top)
        nan = f"(= {p} {bits(E2M1.max_code, 4)})"
        is_inf = f"(= ((_ extract 2 0) {p}) {largest})"
        return (
            f"(ite (bvugt {magnitude} {infinity}) {nan} (and (= ((_ extract 3 3) {p}) {sign}) "
            f"(ite (= {magnitude} {infinity}) {is_inf} {finite})))"
        )
