"""The specification of a decoder, as statements of SMT-LIB about numbers; nothing here computes a conversion.

Numbers are IEEE 754 binary64, in which every element, every factor and every product are exact. SMT-LIB's theory of
floating-point numbers defines the roundings of IEEE 754; stochastic rounding is a range that contains the product.
Notation: ``p`` is a code, ``b`` a scale byte, ``r`` random bits, ``y`` a pattern of the destination.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction

from ...spec import (
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
from .encode import DOUBLE, DOUBLE_BIAS, TO_DOUBLE, bits, double, extended, shifted
from .scalar import classes, grid

MODES: dict[DecodedRounding, str | None] = {
    DecodedRounding.RNE: "RNE",
    DecodedRounding.RNA: "RNA",
    DecodedRounding.RTZ: "RTZ",
    DecodedRounding.SR: None,
}
"""The rounding modes of IEEE 754; None if random bits decide."""

POWERS: dict[ScaleReading, tuple[int, bool]] = {
    ScaleReading.E8M0: (-127, False),
    ScaleReading.POWER: (-127, False),
    ScaleReading.FIELD: (-127, False),
    ScaleReading.SIGNED: (0, True),
}
"""The addend that makes a byte the exponent of its factor, and whether the byte is in two's complement."""

BYTES: dict[ScaleReading, dict[str, int]] = {
    ScaleReading.E8M0: {"nan": 255},
    ScaleReading.POWER: {},
    ScaleReading.FIELD: {"zero": 0, "inf": 255},
    ScaleReading.SIGNED: {},
}
"""Bytes whose factor is not a power of two."""


class DecodeSpecification:
    """The statements for a `Decode`: the function ``decoded`` of ``definitions`` states that a pattern is the result of
    an element."""

    def __init__(self, rules: Decode) -> None:
        self.rules, self.source, self.to = rules, rules.block.element, rules.destination
        self.ports = {port.role: port for port in rules.ports}
        self.random = f" (r (_ BitVec {rules.random_bits}))" if rules.random_bits else ""
        self.definitions = "\n".join([*self._element(), *self._factor(), *self._rounding(), *self._result()]) + "\n"

    def _predicate(self, name: str, argument: str, width: int, body: str) -> str:
        return f"(define-fun {name} (({argument} (_ BitVec {width}))) Bool {body})"

    def _element(self) -> Iterator[str]:
        """Classes of codes, and their magnitudes as numbers."""
        e = self.source
        if e.kind is Kind.FLOAT:
            yield from classes(e, "element_", "p")
            return
        yield f"; --- numbers of {e.name}"
        top = e.bits - 1
        yield self._predicate("element_negative", "p", e.bits, f"(= ((_ extract {top} {top}) p) #b1)")
        yield self._predicate("element_nan", "p", e.bits, "false")
        yield self._predicate("element_inf", "p", e.bits, "false")
        unit = Fraction(1, 1 << e.frac_bits)
        value = f"(fp.abs (fp.mul RNE ({TO_DOUBLE} RNE p) {double(unit)}))"
        yield f"(define-fun magnitude ((p (_ BitVec {e.bits}))) {DOUBLE} {value})"

    def _factor(self) -> Iterator[str]:
        """The factor of a scale byte."""
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
        """``rounds``: is ``c`` the rounded magnitude of a product that is not zero, Inf or NaN?"""
        rules, to = self.rules, self.to
        width, mode = to.bits - 1, MODES[rules.rounding]
        yield f"; --- the rounding, {rules.rounding}"
        infinity, largest = bits(to.inf_field, width), bits(to.max_code, width)
        beyond = {DecodedOverflow.INF: infinity, DecodedOverflow.SATURATE: largest}[rules.overflow]
        if mode is None:
            count = rules.random_bits
            fine, _, definition = grid(to, count)
            yield definition
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
            # rounding toward zero never gives Inf: the rule decides beyond the largest number
            is_over = f"(or (fp.isInfinite {rounded}) (fp.leq {limit} q))"
            rounds = f"(ite {is_over} (= c {beyond}) (and (fp.eq {rounded} {number}) (not (fp.isNaN {number}))))"
        if rules.subnormals is Subnormals.FLUSH:
            rounds = f"(ite (fp.lt q {double(Fraction(2) ** to.emin)}) (= c {bits(0, width)}) {rounds})"
        yield f"(define-fun rounds ((q {DOUBLE}) (c (_ BitVec {width})){self.random}) Bool {rounds})"

    def _result(self) -> Iterator[str]:
        """``decoded``: is ``y`` the result of ``p`` under ``b``?"""
        rules, to, e = self.rules, self.to, self.source
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
            sign = f"(concat (ite (element_negative p) #b1 #b0) {bits(0, width)})"
            nan = f"(ite (element_nan p) (= y (bvor {sign} {own})) {nan})"
        zero = "(fp.isZero (magnitude p))"
        is_nan = (
            f"(or (element_nan p) (factor_nan b) (and (element_inf p) (factor_zero b)) (and {zero} (factor_inf b)))"
        )
        signed = "(element_negative p)"
        if rules.zero is DecodedZero.POSITIVE:
            signed = f"(and (element_negative p) (not {zero}))"
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

    def element_of(self, code: str, byte: str, random: str | None, number: str) -> str:
        """Is this the result of an element?"""
        return f"(decoded {code} {byte} {'' if random is None else f'{random} '}{number})"

    def element(self, words: Mapping[Role, str]) -> str:
        """The statement that an element has its result, from a term for each port by its role."""
        return self.element_of(words[Role.CODES], words[Role.SCALE], words.get(Role.RANDOM), words[Role.NUMBERS])
