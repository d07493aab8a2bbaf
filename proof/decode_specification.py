"""What a decoder must do, as statements of SMT-LIB about numbers; nothing here computes a conversion.

Numbers are IEEE 754 binary64, in which every element, every factor and every product are exact. The roundings of
IEEE 754 are those of SMT-LIB's theory of floating-point numbers; stochastic rounding is a range in which the product
must be. Notation of the texts below: ``p`` a code, ``b`` a scale byte, ``r`` random bits, ``y`` a pattern of the
destination.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from ..spec import (
    Decode,
    DecodedNan,
    DecodedOverflow,
    DecodedRounding,
    DecodedZero,
    Kind,
    Role,
    ScaleReading,
    Subnormals,
)
from .specification import DOUBLE, DOUBLE_BIAS, TO_DOUBLE, bits, double, extended, shifted

__all__ = ["DecodeSpecification"]

MODES: dict[DecodedRounding, str | None] = {
    DecodedRounding.RNE: "RNE",
    DecodedRounding.RNA: "RNA",
    DecodedRounding.RTZ: "RTZ",
    DecodedRounding.SR: None,
}
"""The rounding modes of IEEE 754; none where random bits decide."""

POWERS: dict[ScaleReading, tuple[int, bool]] = {
    ScaleReading.E8M0: (-127, False),
    ScaleReading.POWER: (-127, False),
    ScaleReading.FIELD: (-127, False),
    ScaleReading.SIGNED: (0, True),
}
"""What is added to a byte to be the exponent of its factor, and whether the byte is in two's complement."""

BYTES: dict[ScaleReading, dict[str, int]] = {
    ScaleReading.E8M0: {"nan": 255},
    ScaleReading.POWER: {},
    ScaleReading.FIELD: {"zero": 0, "inf": 255},
    ScaleReading.SIGNED: {},
}
"""Bytes whose factor is no power of two."""


class DecodeSpecification:
    """The statements for a `Decode`: ``definitions`` are functions of SMT-LIB, of which ``decoded`` says whether a
    pattern is the result of an element.
    """

    def __init__(self, rules: Decode) -> None:
        self.rules, self.element, self.to = rules, rules.block.element, rules.destination
        self.ports = {port.role: port for port in rules.ports}
        self.random = f" (r (_ BitVec {rules.random_bits}))" if rules.random_bits else ""
        self.definitions = "\n".join([*self._element(), *self._factor(), *self._rounding(), *self._result()]) + "\n"

    def _predicate(self, name: str, argument: str, width: int, body: str) -> str:
        return f"(define-fun {name} (({argument} (_ BitVec {width}))) Bool {body})"

    def _element(self) -> Iterator[str]:
        """Classes of codes, and their magnitudes as numbers."""
        e = self.element
        width = e.bits
        yield f"; --- the element, {e.name}"
        yield self._predicate("negative", "p", width, f"(= ((_ extract {width - 1} {width - 1}) p) #b1)")
        if e.kind is Kind.FIXED:
            unit = Fraction(1, 1 << e.frac_bits)
            value = f"(fp.abs (fp.mul RNE ({TO_DOUBLE} RNE p) {double(unit)}))"
            yield self._predicate("element_nan", "p", width, "false")
            yield self._predicate("element_inf", "p", width, "false")
            yield f"(define-fun magnitude ((p (_ BitVec {width}))) {DOUBLE} {value})"
            return
        field = f"((_ extract {width - 2} {e.man_bits}) p)"
        low = f"((_ extract {e.man_bits - 1} 0) p)" if e.man_bits else bits(0, 1)  # of no fraction it is zero
        fraction_bits = max(e.man_bits, 1)
        magnitude = f"((_ extract {width - 2} 0) p)"
        top = f"(= {field} {bits((1 << e.exp_bits) - 1, e.exp_bits)})"
        if e.inf_code is not None:
            nan = f"(and {top} (not (= {low} {bits(0, fraction_bits)})))"
            inf = f"(= {magnitude} {bits(e.inf_code, width - 1)})"
        else:
            nan = (
                "false" if e.nan_code is None else f"(= {magnitude} {bits(e.nan_code & (e.sign_mask - 1), width - 1)})"
            )
            inf = "false"
        yield self._predicate("element_nan", "p", width, nan)
        yield self._predicate("element_inf", "p", width, inf)
        exponent = f"(bvadd {extended(field, e.exp_bits, 11)} {bits(DOUBLE_BIAS - e.bias, 11)})"
        normal = f"(fp #b0 {exponent} {shifted(low, fraction_bits, 52)})"
        unit = Fraction(2) ** (1 - e.bias - fraction_bits)
        subnormal = f"(fp.mul RNE ((_ to_fp_unsigned 11 53) RNE {low}) {double(unit)})"
        value = f"(ite (= {field} {bits(0, e.exp_bits)}) {subnormal} {normal})"
        yield f"(define-fun magnitude ((p (_ BitVec {width}))) {DOUBLE} {value})"

    def _factor(self) -> Iterator[str]:
        """What a scale byte stands for."""
        reading, width = self.rules.scale_reading, self.ports[Role.SCALE].bits
        added, is_signed = POWERS[reading]
        yield f"; --- the factor, {reading}"
        for flag in ("nan", "inf", "zero"):
            byte = BYTES[reading].get(flag)
            yield self._predicate(
                f"factor_{flag}", "b", width, "false" if byte is None else f"(= b {bits(byte, width)})"
            )
        exponent = f"((_ {'sign' if is_signed else 'zero'}_extend {11 - width}) b)"
        field = f"(bvadd {exponent} {bits(DOUBLE_BIAS + added, 11)})"
        yield f"(define-fun factor ((b (_ BitVec {width}))) {DOUBLE} (fp #b0 {field} {bits(0, 52)}))"

    def _rounding(self) -> Iterator[str]:
        """``rounds``: is ``c`` the magnitude that a product becomes which is no zero, Inf or NaN?"""
        rules, to = self.rules, self.to
        width, mode = to.bits - 1, MODES[rules.rounding]
        yield f"; --- the rounding, {rules.rounding}"
        infinity, largest = bits(to.inf_field, width), bits(to.max_code, width)
        beyond = {DecodedOverflow.INF: infinity, DecodedOverflow.SATURATE: largest}[rules.overflow]
        if mode is None:
            count = rules.random_bits
            fine = width + 1 + count
            fraction_bits, field_bits = to.man_bits + count, fine - to.man_bits - count
            low, high = f"((_ extract {fraction_bits - 1} 0) k)", f"((_ extract {fine - 1} {fraction_bits}) k)"
            exponent = f"(bvadd {extended(high, field_bits, 11)} {bits(DOUBLE_BIAS - to.bias, 11)})"
            unit = Fraction(2) ** (1 - to.bias - fraction_bits)
            yield f"(define-fun number ((k (_ BitVec {fine}))) {DOUBLE} (ite (= {high} {bits(0, field_bits)}) "
            yield f"  (fp.mul RNE ((_ to_fp_unsigned 11 53) RNE {low}) {double(unit)})"
            yield f"  (fp #b0 {exponent} {shifted(low, fraction_bits, 52)})))"
            code = f"(concat {extended('c', width, fine - count)} {bits(0, count)})"
            added = extended("r", count, fine)
            start = f"(number (bvsub {code} {added}))"
            end = f"(number (bvsub (bvadd {code} {bits(1 << count, fine)}) {added}))"
            below, above = f"(or (bvult {code} {added}) (fp.leq {start} q))", f"(fp.lt q {end})"
            limit = f"(concat {extended(infinity, width, fine - count)} {bits(0, count)})"
            is_over = f"(fp.leq (number (bvsub {limit} {added})) q)"
            rounds = f"(ite {is_over} (= c {beyond}) (and (bvult c {infinity}) {below} {above}))"
        else:
            sizes = f"{to.exp_bits} {to.man_bits + 1}"
            rounded = f"((_ to_fp {sizes}) {mode} q)"
            number = f"((_ to_fp {sizes}) (concat #b0 c))"
            limit = double(Fraction(2) ** (to.emax + 1))
            # toward zero nothing becomes Inf: what is beyond the largest number says the rule
            is_over = f"(or (fp.isInfinite {rounded}) (fp.leq {limit} q))"
            rounds = f"(ite {is_over} (= c {beyond}) (and (fp.eq {rounded} {number}) (not (fp.isNaN {number}))))"
        if rules.subnormals is Subnormals.FLUSH:
            rounds = f"(ite (fp.lt q {double(Fraction(2) ** to.emin)}) (= c {bits(0, width)}) {rounds})"
        yield f"(define-fun rounds ((q {DOUBLE}) (c (_ BitVec {width})){self.random}) Bool {rounds})"

    def _result(self) -> Iterator[str]:
        """``decoded``: is ``y`` the result of ``p`` under ``b``?"""
        rules, to, e = self.rules, self.to, self.element
        width, passed = to.bits - 1, " r" if self.random else ""
        yield "; --- the result"
        quiet = to.inf_field | 1 << (to.man_bits - 1)
        canonical = to.magnitude_mask if rules.nan is DecodedNan.ALL_ONES else quiet
        nan = f"(= y {bits(canonical, to.bits)})"
        if rules.nan is DecodedNan.PAYLOAD and e.kind is Kind.FLOAT and e.man_bits:
            low = f"((_ extract {e.man_bits - 1} 0) p)"
            more = to.man_bits - e.man_bits
            payload = (
                shifted(low, e.man_bits, to.man_bits) if more >= 0 else f"((_ extract {e.man_bits - 1} {-more}) p)"
            )
            own = f"(bvor (concat {bits(0, to.bits - to.man_bits)} {payload}) {bits(quiet, to.bits)})"
            sign = f"(concat (ite (negative p) #b1 #b0) {bits(0, width)})"
            nan = f"(ite (element_nan p) (= y (bvor {sign} {own})) {nan})"
        zero = "(fp.isZero (magnitude p))"
        is_nan = (
            f"(or (element_nan p) (factor_nan b) (and (element_inf p) (factor_zero b)) (and {zero} (factor_inf b)))"
        )
        signed = "(negative p)"
        if rules.zero is DecodedZero.POSITIVE:
            signed = f"(and (negative p) (not {zero}))"
        sign = f"(= ((_ extract {width} {width}) y) (ite {signed} #b1 #b0))"
        product = "(fp.mul RNE (magnitude p) (factor b))"
        finite = (
            f"(ite (or (element_inf p) (factor_inf b)) (= c {bits(to.inf_field, width)}) "
            f"(ite (or {zero} (factor_zero b)) (= c {bits(0, width)}) (rounds {product} c{passed})))"
        )
        body = f"(let ((c ((_ extract {width - 1} 0) y))) (ite {is_nan} {nan} (and {sign} {finite})))"
        yield (
            f"(define-fun decoded ((p (_ BitVec {e.bits})) (b (_ BitVec {self.ports[Role.SCALE].bits}))"
            f"{self.random} (y (_ BitVec {to.bits}))) Bool {body})"
        )

    def lane(self, code: str, byte: str, random: str | None, number: str) -> str:
        """Is this the result of an element?"""
        return f"(decoded {code} {byte} {'' if random is None else f'{random} '}{number})"
