"""The specification of a converter to NVFP4 in the orders that divide numbers, ``modelopt`` and
``compressed_tensors``.

Notation as in `specification.nvfp4_quotient`. The constants k and d are equal. The divisor of numbers has the
significand R and the exponent n. A quotient x / v of two significands passes a limit where x passes the product of this
limit and v, and the limits here have so few bits that the product is a short sum.
"""

from __future__ import annotations

from fractions import Fraction

from ...spec import E2M1, E4M3, FP32
from .encode import DOUBLE_BIAS, TO_DOUBLE, bits, double, extended, rational, shifted
from .nvfp4 import EXPONENT, MAGNITUDE_OF_P, SIGNIFICAND, Nvfp4Specification, rounded, signed, total, widened
from .nvfp4_quotient import DIGITS, INFINITY, LARGEST, MAGNITUDE, NAN, ONE, POWER, ZERO, QuotientSpecification

UNDERFLOW = FP32.man_bits - FP32.emin + 1
"""A positive number up to 2**-150 is rounded to zero."""
TOP = FP32.emax - 2
"""The exponent of the largest divisor."""
MOST = int(FP32.max_value / 6 / Fraction(2) ** (TOP - SIGNIFICAND + 1)) + 1
"""Its significand: a divisor is at most max / 6, except for roundings, as the scale is at most 448, and the constant
at most max / 2688, or at least 2688 / max."""
LARGEST_K = FP32.max_value / (E4M3.max_value * E2M1.max_value)
"""The largest constant in the order ``modelopt``."""
SMALLEST_K = E4M3.max_value * E2M1.max_value / Fraction(2) ** (FP32.emax + 1)
"""The smallest one in the order ``compressed_tensors``, unless it is zero."""
PLACES = SIGNIFICAND + 2
"""Digits of a quotient that is a divisor."""


class DivisorSpecification(QuotientSpecification):
    """The statements that both orders share."""

    lowest = FP32.emin - FP32.man_bits
    """The exponent of the smallest divisor."""
    factor_flags = ("by_zero", "is_nan")
    flags = factor_flags
    nan_of_block = "#b0000"

    def are_constants(self, k: str, d: str) -> str:
        return f"(and (= {k} {d}) {self.is_constant_of_elements(d)})"

    def is_byte(self, scale: str) -> str:
        """Is this the code of a scale: of a number other than zero, or NaN?"""
        number = f"(and (bvule {bits(1, 8)} {scale}) (bvule {scale} {LARGEST}))"
        return f"(or {number} {self.is_nan_scale(scale)})"

    # The divisor, as the pattern ``v64``.

    def is_divisor(self, scale: str, d: str) -> str:
        """Are R and n the significand and the exponent of the divisor, and are its flags right? If d is NaN, so is the
        scale."""
        magnitude, nan = self.magnitude(d), self.is_nan_scale(scale)
        number = (
            f"(and (= R {self.significand('v64', SIGNIFICAND)}) {self.is_within('R', 'n')} "
            f"(= {widened('n', EXPONENT, 11)} (bvsub {self.field('v64')} {bits(DOUBLE_BIAS, 11)})))"
        )
        return (
            f"(and (= is_nan {nan}) (=> (not (or {nan} (bvugt {magnitude} {INFINITY}))) "
            f"(ite {self.makes_inf_invalid(d)} (and by_inf (not by_zero)) "
            f"(and (not by_inf) (= by_zero (= v64 {bits(0, 64)})) (ite by_zero {self.is_below_one('n')} {number})))))"
        )

    @staticmethod
    def is_below_one(exponent: str) -> str:
        return f"(bvsle {exponent} {bits(0, EXPONENT)})"

    @classmethod
    def is_within(cls, significand: str, exponent: str) -> str:
        """Is this the significand and the exponent of a number from the smallest divisor to the largest one? A
        subnormal number has fewer bits.
        """
        least, highest = signed(cls.lowest, EXPONENT), signed(TOP, EXPONENT)
        missing = widened(f"(bvsub {signed(FP32.emin, EXPONENT)} {exponent})", EXPONENT, SIGNIFICAND)
        below = f"(bvnot (bvshl (bvnot {bits(0, SIGNIFICAND)}) {missing}))"
        is_normal = f"(bvsle {signed(FP32.emin, EXPONENT)} {exponent})"
        is_short = f"(or {is_normal} (= (bvand {significand} {below}) {bits(0, SIGNIFICAND)}))"
        is_top = f"(and (= {exponent} {highest}) (bvule {significand} {bits(MOST, SIGNIFICAND)}))"
        return (
            f"(and (= ((_ extract {SIGNIFICAND - 1} {SIGNIFICAND - 1}) {significand}) #b1) (bvsle {least} {exponent}) "
            f"{is_short} (or (bvslt {exponent} {highest}) {is_top}))"
        )

    @staticmethod
    def is_in_limits(v: str) -> str:
        return f"(fp.leq ({TO_DOUBLE} {v}) {double(MOST * Fraction(2) ** (TOP - SIGNIFICAND + 1))})"

    # Elements.

    def unless_special(self, claim: str) -> str:
        return f"(or by_zero by_inf is_nan {claim})"

    def is_met(self) -> str:
        """Can a divisor have these flags, R and n? The exponent of a divisor that is zero is below 1."""
        return f"(or by_inf is_nan (ite by_zero {self.is_below_one('n')} {self.is_within('R', 'n')}))"

    def can_enter(self, x: str) -> str:
        """Can a number meet a divisor with these flags? A NaN gives the block a scale of NaN, as does Inf by Inf."""
        x, infinity = f"((_ extract {self.magnitude_bits - 1} 0) {x})", bits(self.inf, self.magnitude_bits)
        number = f"(or (bvult {x} {infinity}) (and (= {x} {infinity}) (not by_inf)))"
        return f"(or is_nan (and {number} (not (and by_zero by_inf))))"

    def is_passed(self) -> str:
        """Is the code p the number of limits that the quotient of the number ``x64`` and the divisor passes?

        The limit of a boundary q / 4 is (q * 2**22 + 1) / 2**24 or (q * 2**22 - 1) / 2**24 times its binade.
        """
        field, width, unit = 12, 2 * SIGNIFICAND + 3, SIGNIFICAND - 2
        number = extended(self.significand("x64", SIGNIFICAND), SIGNIFICAND, width)
        v, passed = extended("R", SIGNIFICAND, width), list[str]()
        for one in self.boundaries:
            whole = f"(bvmul {v} {bits(one.quarters << unit, width)})"
            limit, relation = (f"(bvadd {whole} {v})", "bvugt") if one.is_beyond else (f"(bvsub {whole} {v})", "bvuge")
            of_number = f"(bvsub {self.exponent_of('x64')} {signed(one.exponent, field)})"
            binades = f"(bvsub {of_number} {widened('n', EXPONENT, field)})"
            reached = [
                f"(and (= m {bits(up, field)}) ({relation} (bvshl {number} {bits(SIGNIFICAND + up, width)}) {limit}))"
                for up in (0, 1)
            ]
            passed.append(f"(let ((m {binades})) (or (bvsgt m {bits(1, field)}) {' '.join(reached)}))")
        return f"(= {MAGNITUDE_OF_P} {total(passed)})"

    def exponent_of(self, name: str) -> str:
        """The exponent of a number that `number` defined, in 12 bits."""
        return f"(bvsub {extended(self.field(name), 11, 12)} {bits(DOUBLE_BIAS, 12)})"

    def is_underflow(self) -> str:
        """Is the quotient of ``x64`` and the divisor at most 2**-150?"""
        apart = f"(bvsub {widened('n', EXPONENT, 12)} {self.exponent_of('x64')})"
        least = bits(UNDERFLOW, 12)
        return (
            f"(or (bvsgt {apart} {least}) (and (= {apart} {least}) (bvule {self.significand('x64', SIGNIFICAND)} R)))"
        )

    def specials(self, x: str, p: str, finite: str) -> str:
        top, largest = self.magnitude_bits, bits(E2M1.max_code, 3)
        magnitude, sign = f"((_ extract {top - 1} 0) {x})", f"((_ extract {top} {top}) {x})"
        none, infinite = (f"(= {magnitude} {bits(value, top)})" for value in (0, self.inf))
        return (
            f"(ite is_nan (= {p} {self.nan_of_block}) "
            f"(ite by_zero (= {p} (concat (ite {none} #b0 {sign}) {largest})) "
            f"(ite {infinite} (= {p} (concat {sign} {largest})) "
            f"(ite (or {none} by_inf {self.is_underflow()}) (= {p} #b0000) "
            f"(and (= ((_ extract 3 3) {p}) {sign}) {finite})))))"
        )


class ModeloptSpecification(DivisorSpecification):
    """The statements for the order ``modelopt``."""

    operand = "sixfold"
    smallest = bits(1, E4M3.bits)
    of_zero = bits(E4M3.bias << E4M3.man_bits, E4M3.bits)
    nan_of_block = bits(E2M1.max_code, E2M1.bits)

    def divided(self, b: str, k: str) -> tuple[str, str, str]:
        a, _ = self.operands_on(b, k, "")
        return self.sixfold(k), a, f"((_ extract {MAGNITUDE - 1} 0) six)"

    def operands_on(self, b: str, k: str, operand: str) -> tuple[str, str]:
        return shifted(self.finite(b), self.magnitude_bits, MAGNITUDE), operand

    def sixfold(self, k: str) -> str:
        """Define ``six`` as 6 * k for a finite k; it is 0 for another."""
        magnitude = self.magnitude(k)
        text = self.number("k64", f"(ite (bvult {magnitude} {INFINITY}) {magnitude} {ZERO})", MAGNITUDE)
        return text + rounded("six", f"(fp.mul RNE {double(6)} ({TO_DOUBLE} k64))")

    def is_zero_quotient(self) -> str:
        tie = f"(and (= digits {bits(1 << DIGITS - 1, DIGITS)}) (= rest {bits(0, SIGNIFICAND)}))"
        lowest = signed(-UNDERFLOW, POWER)
        return f"(or (bvslt E {lowest}) (and (= E {lowest}) {tie}))"

    def is_constant_of_elements(self, d: str) -> str:
        """Is this a constant: a number up to max / 2688, Inf or NaN, without a sign?"""
        magnitude = self.magnitude(d)
        number, most = f"((_ to_fp 8 24) (concat #b0 {magnitude}))", f"((_ to_fp 8 24) RNE {rational(LARGEST_K)})"
        sign = f"(= ((_ extract {MAGNITUDE} {MAGNITUDE}) {d}) #b0)"
        return f"(and {sign} (or (bvuge {magnitude} {INFINITY}) (fp.leq {number} {most})))"

    def makes_inf_invalid(self, d: str) -> str:
        return f"(= {self.magnitude(d)} {INFINITY})"

    def divisor(self, scale: str, d: str) -> str:
        magnitude = self.magnitude(d)
        finite = f"(ite (bvult {magnitude} {INFINITY}) {magnitude} {ONE})"
        numbers = self.small("s64", f"((_ extract 6 0) {scale})") + self.number("d64", finite, MAGNITUDE)
        exact = self.product("exact", "s64", "d64", E4M3.man_bits + 1)
        return numbers + exact + rounded("v", "exact") + self.number("v64", "((_ extract 30 0) v)", MAGNITUDE)


class CompressedTensorsSpecification(DivisorSpecification):
    """The statements for the order ``compressed_tensors``, whose scale is a product."""

    lowest = E4M3.emin - E4M3.man_bits - FP32.emax - 1

    def scale(self, b: str, k: str, byte: str) -> tuple[str, str]:
        text, is_product = Nvfp4Specification.scale(self, self.finite(b), k, byte)
        infinity, no_k = bits(self.inf, self.magnitude_bits), f"(= {self.magnitude(k)} {ZERO})"
        default = bits(E4M3.bias - 3 << E4M3.man_bits, E4M3.bits)
        _, is_zero = Nvfp4Specification.scale(self, self.finite(b), k, bits(0, E4M3.bits))
        infinite = f"(= {byte} (ite {no_k} (concat #b1 {NAN}) {LARGEST}))"
        return text, (
            f"(ite (bvugt {b} {infinity}) (= {byte} (concat #b0 {NAN})) (ite (= {b} {infinity}) {infinite} "
            f"(ite {is_zero} (= {byte} {default}) {is_product})))"
        )

    def is_magnitude(self, b: str) -> str:
        return "true"

    def is_constant_of_scale(self, k: str) -> str:
        return self.is_constant_of_elements(k)

    def is_constant_of_elements(self, d: str) -> str:
        """Is this a constant: zero, or a number from the smallest on?"""
        number, least = f"((_ to_fp 8 24) {d})", f"((_ to_fp 8 24) RNE {rational(SMALLEST_K)})"
        return (
            f"(or (= {d} {bits(0, FP32.bits)}) (and (fp.leq {least} {number}) (bvult {self.magnitude(d)} {INFINITY})))"
        )

    def operands_of_divisor(self, scale: str, d: str) -> str:
        """Define ``s64`` and ``d64``, the scale and the constant, or 1 in place of zero."""
        magnitude = self.magnitude(d)
        number = f"(ite {self.is_number(magnitude)} {magnitude} {ONE})"
        return self.small("s64", f"((_ extract 6 0) {scale})") + self.number("d64", number, MAGNITUDE)

    def rounded_divisor(self) -> str:
        """Define ``v64`` as the quotient of these operands, from its first digits ``Q`` and whether a rest is left."""
        power = f"(bvsub (bvadd {self.field('s64')} {bits(DOUBLE_BIAS - PLACES, 11)}) {self.field('d64')})"
        number = "((_ to_fp_unsigned 11 53) RNE (concat Q (ite has_rest #b1 #b0)))"
        exact = f"(fp.mul RNE {number} (fp #b0 {power} {bits(0, 52)}))"
        return rounded("v", exact) + self.number("v64", "((_ extract 30 0) v)", MAGNITUDE)
