"""The specification of a converter to NVFP4 in the orders ``ao`` and ``ao_single``, which divide where ``te`` and
``paper`` multiply.

Notation as in `specification.nvfp4`; ``k`` and ``d`` may be 0, Inf and NaN. The quotient that becomes a scale is
``(digits + rest / V) / 16 * 2**E``: its first digits, and the rest of the division by V. The quotient that scales
numbers is defined by the products of the divisor with the middles around it.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from fractions import Fraction

from ...spec import E2M1, E4M3, FP32
from .encode import DOUBLE_BIAS, TO_DOUBLE, bits, double, extended, rational
from .nvfp4 import SIGNIFICAND, Nvfp4Specification, signed
from .nvfp4_random import HALF_PLACE
from .nvfp4_row import is_row_of_infinity, is_row_of_zero

DIGITS = E4M3.man_bits + 2
"""Digits of a quotient down to the middle between two scales."""
POWER = 12
"""Bits of the exponent E of a quotient."""
SMALLEST_D = Fraction(21, 16) / 2**117
"""Lower bound of d, unless it is zero: d is 1 / k, and k at most max / 2688."""
SMALLEST_FACTOR = SMALLEST_D / E4M3.max_value
LOWEST_FACTOR = int(SMALLEST_FACTOR * Fraction(2) ** (FP32.man_bits - FP32.emin))
"""The significand of `SMALLEST_FACTOR`, which is in the lowest binade."""

MAGNITUDE = FP32.bits - 1
INFINITY, ZERO = bits(FP32.max_code + 1, MAGNITUDE), bits(0, MAGNITUDE)
ONE = bits(FP32.bias << FP32.man_bits, MAGNITUDE)
assert E4M3.nan_code is not None
NAN = bits(E4M3.nan_code, E4M3.bits - 1)
SMALLEST, LARGEST = bits(1 << E4M3.man_bits, E4M3.bits), bits(E4M3.max_code, E4M3.bits)
"""The bounds that a quotient is clamped to: the smallest normal scale and the largest."""
NAN_OF_BLOCK, NAN_OF_ZERO = "#b100", "#b1011"
"""Codes for NaN in torchao on x86: the magnitude of all elements under a scale of NaN, which have its sign, and the
code of zero times Inf."""


def middle(code: str) -> tuple[str, str]:
    """The middle between the scales of a code and of the next one: its exponent, and its first digits."""
    exponent = f"(bvsub {extended(f'((_ extract 6 3) {code})', 4, POWER)} {bits(E4M3.bias, POWER)})"
    digits = f"(concat #b1 ((_ extract 2 0) {code}) #b1)"
    for subnormal in range(1 << E4M3.man_bits):
        odd = 2 * subnormal + 1  # halves of the smallest scale
        places, is_code = odd.bit_length() - 1, f"(= ((_ extract 6 0) {code}) {bits(subnormal, 7)})"
        exponent = f"(ite {is_code} {signed(places + E4M3.emin - E4M3.man_bits - 1, POWER)} {exponent})"
        digits = f"(ite {is_code} {bits(odd << DIGITS - 1 - places, DIGITS)} {digits})"
    return exponent, digits


class QuotientSpecification(Nvfp4Specification):
    """The statements for a `Nvfp4Encode` in the orders that divide."""

    factor_flags: tuple[str, ...] = ("is_zero", "is_infinite", "is_nan")
    flags: tuple[str, ...] = (*factor_flags, "nan_sign")

    operand = "sixth"
    """The operand of the quotient that is computed first: the wire that has it."""
    smallest = SMALLEST
    """The scale of all quotients below it."""
    of_zero = SMALLEST
    """The scale of a quotient that is zero."""

    def is_largest(self, lanes: Collection[str], b: str) -> str:
        """Is ``b`` the largest of these magnitudes? NaN is above Inf."""
        none_larger = " ".join(f"(bvuge {b} {x})" for x in lanes)
        return f"(and {none_larger} (or {' '.join(f'(= {b} {x})' for x in lanes)}))"

    # The scale.

    def scale(self, b: str, k: str, byte: str) -> tuple[str, str]:
        text, a, v = self.divided(b, k)
        text += self.operands(a, v)
        width = SIGNIFICAND + DIGITS + 1
        dividend = f"(bvshl (ite (bvult A V) (bvshl A0 {bits(1, width)}) A0) {bits(DIGITS - 1, width)})"
        dividend = f"(let ((A0 {extended('A', SIGNIFICAND, width)})) {dividend})"
        digits, divisor, rest = extended("digits", DIGITS, width), extended("V", SIGNIFICAND, width), "rest"
        product = f"(bvadd (bvmul {digits} {divisor}) {extended(rest, SIGNIFICAND, width)})"
        text += (
            f"(declare-const digits (_ BitVec {DIGITS}))\n(declare-const rest (_ BitVec {SIGNIFICAND}))\n"
            f"(assert (and (bvult rest V) (= {dividend} {product})))\n"
        )
        return text, self.is_scale(b, a, k, byte)

    def divided(self, b: str, k: str) -> tuple[str, str, str]:
        """Definitions, and the patterns of dividend and divisor, which are magnitudes."""
        text = self.number("b64", self.finite(b), self.magnitude_bits) + self.sixth("sixth64", "b64")
        return text, "sixth", self.magnitude(k)

    def operands_on(self, b: str, k: str, operand: str) -> tuple[str, str]:
        """These patterns, from the word of the `operand`."""
        return operand, self.magnitude(k)

    def finite(self, b: str) -> str:
        """A magnitude of the source, or zero where it is Inf or NaN."""
        return f"(ite (bvult {b} {bits(self.inf, self.magnitude_bits)}) {b} {bits(0, self.magnitude_bits)})"

    def operands(self, a: str, v: str) -> str:
        """The significands A and V of dividend and divisor, or 1 in place of a special number, and the exponent E of
        the quotient.
        """
        text = ""
        for name, significand, pattern in (("a64", "A", a), ("v64", "V", v)):
            text += self.number(name, f"(ite {self.is_number(pattern)} {pattern} {ONE})", MAGNITUDE)
            text += f"(define-fun {significand} () (_ BitVec {SIGNIFICAND}) {self.significand(name, SIGNIFICAND)})\n"
        of_a, of_v = (extended(self.field(name), 11, POWER) for name in ("a64", "v64"))
        is_less = f"(ite (bvult A V) {bits(1, POWER)} {bits(0, POWER)})"
        return text + f"(define-fun E () (_ BitVec {POWER}) (bvsub (bvsub {of_a} {of_v}) {is_less}))\n"

    @staticmethod
    def magnitude(pattern: str) -> str:
        return f"((_ extract {MAGNITUDE - 1} 0) {pattern})"

    @staticmethod
    def is_number(magnitude: str) -> str:
        """Is a magnitude neither zero nor Inf nor NaN?"""
        return f"(and (distinct {magnitude} {ZERO}) (bvult {magnitude} {INFINITY}))"

    def is_scale(self, b: str, a: str, k: str, byte: str) -> str:
        """The statement that a byte is the scale of a block, given the dividend ``a``."""
        k, infinity = self.magnitude(k), bits(self.inf, self.magnitude_bits)
        nan, infinite, none = f"(bvugt {b} {infinity})", f"(= {b} {infinity})", f"(= {a} {ZERO})"
        nan_k, infinite_k, none_k = f"(bvugt {k} {INFINITY})", f"(= {k} {INFINITY})", f"(= {k} {ZERO})"
        is_invalid = f"(or (and {infinite} {infinite_k}) (and (not {infinite}) {none} {none_k}))"
        before = f"(bvsub {byte} {bits(1, E4M3.bits)})"
        cases = {
            f"(or {nan} {nan_k})": f"(= {byte} (concat #b0 {NAN}))",
            is_invalid: f"(= {byte} (concat #b1 {NAN}))",
            f"(or {infinite} {none_k})": f"(= {byte} {LARGEST})",
            f"(or {infinite_k} {none} {self.is_zero_quotient()})": f"(= {byte} {self.of_zero})",
        }
        found = (
            f"(and (bvule {self.smallest} {byte}) (bvule {byte} {LARGEST}) "
            f"(or (= {byte} {self.smallest}) {self.is_above(before)}) "
            f"(or (= {byte} {LARGEST}) (not {self.is_above(byte)})))"
        )
        for case, claim in reversed(cases.items()):
            found = f"(ite {case} {claim} {found})"
        return found

    def makes_inf_invalid(self, d: str) -> str:
        """Is Inf times the factor, or Inf by the divisor, invalid?"""
        return f"(= {self.magnitude(d)} {ZERO})"

    def is_zero_quotient(self) -> str:
        """Does the quotient of two numbers become zero? It never does where small quotients have the same scale."""
        return "false"

    def above(self, q: str, code: str) -> str:
        """Does a number of binary64, rounded to binary32 and then to a scale, become a scale above this code?"""
        exponent, digits = middle(code)
        field = f"((_ extract 10 0) (bvadd {exponent} {bits(DOUBLE_BIAS, POWER)}))"
        middle_of_codes = f"(concat #b0 {field} ((_ extract {DIGITS - 2} 0) {digits}) {bits(0, 53 - DIGITS)})"
        beyond, reached = (f"({TO_DOUBLE} ({way} {middle_of_codes} {HALF_PLACE}))" for way in ("bvadd", "bvsub"))
        return f"(ite {self.keeps_ties(code)} (fp.gt {q} {beyond}) (fp.geq {q} {reached}))"

    @staticmethod
    def keeps_ties(code: str) -> str:
        """Has a tie with the next code this one?"""
        return f"(= ((_ extract 0 0) {code}) #b0)"

    def is_above(self, code: str) -> str:
        """Is the quotient `above` a code? It is beyond the middle above that by more than half a last place of
        binary32, or below it by no more: that is V / 2**20 in the units of ``rest``, which is less than V.
        """
        exponent, middle_of_codes = middle(code)
        half = f"(bvlshr V {bits(SIGNIFICAND - DIGITS + 1, SIGNIFICAND)})"
        beyond = f"(or (bvugt digits {middle_of_codes}) (and (= digits {middle_of_codes}) (bvugt rest {half})))"
        reached = (
            f"(or (bvuge digits {middle_of_codes}) (and (= (bvadd digits {bits(1, DIGITS)}) {middle_of_codes}) "
            f"(bvule (bvsub V rest) {half})))"
        )
        passed = f"(ite {self.keeps_ties(code)} {beyond} {reached})"
        return f"(or (bvsgt E {exponent}) (and (= E {exponent}) {passed}))"

    # The factor of the numbers.

    def are_constants(self, k: str, d: str) -> str:
        """Can these be the constants of a tensor? Neither is negative, and d is 1 / k."""
        positive = " ".join(f"(= ((_ extract {MAGNITUDE} {MAGNITUDE}) {constant}) #b0)" for constant in (k, d))
        k, magnitude = self.magnitude(k), self.magnitude(d)
        return (
            f"(and {positive} {self.is_constant_of_elements(d)} (=> (= {magnitude} {ZERO}) (= {k} {INFINITY})) "
            f"(=> (bvugt {magnitude} {INFINITY}) (bvugt {k} {INFINITY})))"
        )

    def is_constant_of_elements(self, d: str) -> str:
        """Is this a constant d: zero, NaN, or at least the smallest?"""
        number, least = (
            f"((_ to_fp 8 24) (concat #b0 {self.magnitude(d)}))",
            f"((_ to_fp 8 24) RNE {rational(SMALLEST_D)})",
        )
        return f"(or (fp.isZero {number}) (fp.isNaN {number}) (fp.leq {least} {number}))"

    def factor(self, scale: str, d: str) -> str:
        """Define ``f64`` as d / s for a number d, which is between s times the middles around the factor."""
        text = self.small("s64", f"((_ extract 6 0) {scale})")
        text += self.number("d64", f"(ite {self.is_number(self.magnitude(d))} {self.magnitude(d)} {ONE})", MAGNITUDE)
        below, over = (
            f"(fp.mul RNE ({TO_DOUBLE} s64) ({TO_DOUBLE} ({way} f64 {HALF_PLACE})))" for way in ("bvsub", "bvadd")
        )
        number, low = f"({TO_DOUBLE} d64)", 53 - SIGNIFICAND
        is_even = f"(= ((_ extract {low} {low}) f64) #b0)"
        return text + (
            f"(declare-const f64 (_ BitVec 64))\n(assert (and (= ((_ extract {low - 1} 0) f64) {bits(0, low)}) "
            f"(or (fp.lt {below} {number}) (and (fp.eq {below} {number}) {is_even})) "
            f"(or (fp.lt {number} {over}) (and (fp.eq {number} {over}) {is_even}))))\n"
        )

    def is_factor_of(self, scale: str, d: str) -> str:
        """Are R and n the significand and the exponent of the factor, and are its flags right? If d is NaN, so are k
        and the scale."""
        d, low = self.magnitude(d), 53 - SIGNIFICAND
        nan = self.is_nan_scale(scale)
        beyond = f"(fp.gt ({TO_DOUBLE} f64) {double(FP32.max_value)})"
        exponent = f"(bvsub ((_ extract 62 52) f64) {bits(DOUBLE_BIAS, 11)})"
        number = (
            f"(and (= R (concat #b1 ((_ extract 51 {low}) f64))) (= ((_ sign_extend 2) n) {exponent}) "
            f"{self.is_normal_factor('n')} (fp.leq {double(SMALLEST_FACTOR)} ({TO_DOUBLE} f64)))"
        )
        return (
            f"(and (= is_nan {nan}) (=> (not (or {nan} (bvugt {d} {INFINITY}))) (and (= is_zero (= {d} {ZERO})) "
            f"(= is_infinite (or (= {d} {INFINITY}) (and {self.is_number(d)} {beyond}))) "
            f"(or is_zero is_infinite {number}))))"
        )

    def is_byte(self, scale: str) -> str:
        """Is this the code of a scale: of a normal number, or NaN?"""
        return f"(or (and (bvule {SMALLEST} {scale}) (bvule {scale} {LARGEST})) {self.is_nan_scale(scale)})"

    @staticmethod
    def is_nan_scale(scale: str) -> str:
        return f"(= ((_ extract 6 0) {scale}) {NAN})"

    # Elements.

    def unless_special(self, claim: str) -> str:
        return f"(or is_zero is_infinite is_nan {claim})"

    def is_row(self, of_factor: str, row: Sequence[str], scale: str) -> str:
        number = f"(ite is_infinite {is_row_of_infinity(row)} (ite is_zero {is_row_of_zero(row)} {of_factor}))"
        return f"(and (= is_nan {self.is_nan_scale(scale)}) (or is_nan {number}))"

    def can_enter(self, x: str) -> str:
        """Can a number meet a factor with these flags? A NaN gives the block a scale of NaN. So does Inf if d is zero,
        because then k is Inf."""
        x, infinity = f"((_ extract {self.magnitude_bits - 1} 0) {x})", bits(self.inf, self.magnitude_bits)
        number = f"(or (bvult {x} {infinity}) (and (= {x} {infinity}) (not is_zero)))"
        return f"(or is_nan (and {number} (not (and is_zero is_infinite))))"

    def specials(self, x: str, p: str, finite: str) -> str:
        top = self.magnitude_bits
        zero, sign = f"(= ((_ extract {top - 1} 0) {x}) {bits(0, top)})", f"((_ extract {top} {top}) {x})"
        largest = f"(= {p} (concat {sign} {bits(E2M1.max_code, 3)}))"
        return (
            f"(ite is_nan (= {p} (concat (ite nan_sign #b1 #b0) {NAN_OF_BLOCK})) "
            f"(ite is_infinite (ite {zero} (= {p} {NAN_OF_ZERO}) {largest}) "
            f"(ite is_zero (= {p} (concat {sign} #b000)) {super().specials(x, p, finite)})))"
        )
