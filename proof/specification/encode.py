"""The specification of an encoder, as statements of SMT-LIB about numbers; nothing here computes a conversion.

Numbers are IEEE 754 binary64, in which every source number, every element, every midpoint of two elements and their
multiples by a scale are exact. An inequality defines a scale byte ("the smallest byte whose 2**X reaches the largest
magnitude"), and a range of numbers defines a code ("no other code is nearer"), so that the statements hold for one byte
and one code. Notation: ``x`` is a source pattern, ``b`` a scale byte, ``p`` a code, ``c`` its magnitude, ``r`` random
bits.

Rules that are arithmetic by definition are stated as that arithmetic: `ScaleRule.RCEIL` and `ScaleRule.LINEAR_NEAREST`
multiply in binary32; `ScaleRule.POW2_CEIL`, `ScaleRule.EVEN` and `ScaleRule.EVEN1` read an FP32 subnormal as a number
of the binade below the normal numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from fractions import Fraction

from ...spec import (
    BF16,
    FP16,
    FP32,
    Encode,
    EncodedZero,
    Kind,
    NumberFormat,
    Rounding,
    ScaleRule,
    Specials,
    Subnormals,
    signal_codes,
)

DOUBLE, DOUBLE_BIAS = "(_ FloatingPoint 11 53)", 1023
TO_DOUBLE = "(_ to_fp 11 53)"


def bits(value: int, width: int) -> str:
    """A bit-vector constant."""
    return f"(_ bv{value} {width})"


def rational(value: Fraction) -> str:
    return f"(/ {value.numerator} {value.denominator})"


def double(value: Fraction | int) -> str:
    """A constant that binary64 holds exactly."""
    value = Fraction(value)
    if Fraction(float(value)) != value:
        raise ValueError(f"{value} is not a binary64 number")
    return f"({TO_DOUBLE} RNE {rational(value)})"


def shifted(vector: str, width: int, to: int) -> str:
    """A bit-vector with zeros below, ``to`` bits wide."""
    return vector if width == to else f"(concat {vector} {bits(0, to - width)})"


def extended(vector: str, width: int, to: int) -> str:
    """A bit-vector with zeros above, ``to`` bits wide."""
    return vector if width == to else f"((_ zero_extend {to - width}) {vector})"


def root_of_two_times(value: Fraction | int) -> Fraction:
    """The largest number of 24 significant bits below sqrt(2) * value, for a value of at least 1. The root is
    irrational, so a source number, which has at most 24 bits, is below the root exactly if it is not above the result.
    """
    square, first = 2 * Fraction(value) ** 2, Fraction(1)
    while (2 * first) ** 2 < square:
        first *= 2
    root = first
    for place in range(1, 24):
        if (root + first / 2**place) ** 2 < square:
            root += first / 2**place
    return root


@dataclass(frozen=True)
class Inequality:
    """The relation of a largest magnitude to the smallest scale that is large enough for it."""

    compares: str
    """The number that is compared: the "magnitude", or its FP32 "product" with the reciprocal of the largest element.
    In a "raised product", numbers between 2**-127 and 2**-126 become 2**-126. A "field" is the number that the
    exponent field and fraction would have in a normal number, which differs for FP32 subnormals."""
    relation: str
    limit: Callable[[NumberFormat], Fraction]
    """The multiple of the scale with which the number is compared."""


SCALE_RULES: dict[ScaleRule, Inequality] = {
    ScaleRule.FLOOR: Inequality("magnitude", "fp.lt", lambda e: Fraction(2) ** (e.emax + 1)),
    ScaleRule.CEIL: Inequality("magnitude", "fp.leq", lambda e: Fraction(e.max_value)),
    ScaleRule.RCEIL: Inequality("product", "fp.leq", lambda e: Fraction(1)),
    ScaleRule.POW2_CEIL: Inequality("field", "fp.leq", lambda e: Fraction(2) ** e.emax),
    ScaleRule.EVEN: Inequality(
        "field", "fp.lt", lambda e: Fraction(2) ** (e.emax + 1) * (1 - Fraction(1, 1 << e.fraction_bits + 2))
    ),
    ScaleRule.BIAS_FLOOR: Inequality("magnitude", "fp.lt", lambda e: Fraction(2) ** (e.bias + 1)),
    ScaleRule.EVEN1: Inequality("field", "fp.lt", lambda e: Fraction(2) ** e.emax * Fraction(7, 4)),
    ScaleRule.ROUND_LOG2: Inequality("magnitude", "fp.leq", lambda e: root_of_two_times(e.max_value)),
    ScaleRule.LINEAR_NEAREST: Inequality("raised product", "fp.lt", lambda e: Fraction(3, 2)),
    ScaleRule.MIDMAX: Inequality("magnitude", "fp.leq", lambda e: (e.max_value + Fraction(2) ** (e.emax + 1)) / 2),
}

ADDED: dict[Rounding, Callable[[int, int], str]] = {
    Rounding.RTZ: lambda n, width: bits(0, width),
    Rounding.SR: lambda n, width: extended("r", n, width),
    **dict.fromkeys(
        (Rounding.RNE, Rounding.RNA, Rounding.GUARD_HALF_UP, Rounding.RNZ), lambda n, width: bits(1, width)
    ),
}
"""The addend below the last place, of ``n`` bits, before a magnitude of ``width`` bits is cut off."""

SIGNS: dict[EncodedZero, Callable[[int], str]] = {
    EncodedZero.SIGNED: lambda width: "s",
    EncodedZero.POSITIVE: lambda width: f"(and s (not (= c {bits(0, width)})))",
    EncodedZero.TAKEN_POSITIVE: lambda width: "s",
    EncodedZero.TAKEN_NEGATIVE: lambda width: "s",
}
"""When the code of a magnitude ``c`` of ``width`` bits has its sign bit set; ``s``: the number is negative."""

ZEROS: dict[EncodedZero, str] = {
    EncodedZero.SIGNED: "{sign}",
    EncodedZero.POSITIVE: "(and {sign} (not {is_zero}))",
    EncodedZero.TAKEN_POSITIVE: "(and {sign} (not {is_zero}))",
    EncodedZero.TAKEN_NEGATIVE: "(or {sign} {is_zero})",
}
"""When a source number counts as negative."""

FLAGS: dict[Specials, tuple[str, ...]] = {
    Specials.NAN_BLOCK: ("nan",),
    Specials.INF_SCALE: ("nan", "inf"),
    Specials.TE: (),
    Specials.DROP: (),
}


class Specification:
    """The statements for an `Encode`.

    ``definitions`` are functions of SMT-LIB; the methods give terms that use them.
    """

    def __init__(self, numerics: Encode) -> None:
        self.numerics = numerics
        self.source, self.element, self.scale = numerics.source, numerics.block.element, numerics.block.scale
        assert self.scale.nan_code is not None  # E8M0, which `Encode` asks for, has one
        self.nan_byte = self.scale.nan_code
        self.is_fixed = self.element.kind is Kind.FIXED
        self.code_bits = self.element.bits
        self.magnitude_bits = self.code_bits if self.is_fixed else self.code_bits - 1
        self.random_bits = numerics.random_bits
        self.ports = {port.role: port.name for port in numerics.ports}
        self.definitions = (
            "\n".join([*self._source(), *self._scale(), *self._values(), *self._rounding(), *self._element()]) + "\n"
        )

    def _source(self) -> Iterator[str]:
        """Classes of source patterns, and their magnitudes as numbers."""
        s = self.source
        top, mantissa = s.exp_bits + s.man_bits, s.man_bits
        yield f"; --- the source, {s.name}"
        yield (
            f"(define-fun field ((x (_ BitVec {s.bits}))) (_ BitVec {s.exp_bits}) ((_ extract {top - 1} {mantissa}) x))"
        )
        yield f"(define-fun fraction ((x (_ BitVec {s.bits}))) (_ BitVec {mantissa}) ((_ extract {mantissa - 1} 0) x))"
        sign = f"(= ((_ extract {top} {top}) x) #b1)"
        negative = ZEROS[self.numerics.zero].format(sign=sign, is_zero=self.is_zero())
        yield f"(define-fun negative ((x (_ BitVec {s.bits}))) Bool {negative})"
        yield (
            f"(define-fun special ((x (_ BitVec {s.bits}))) Bool (= (field x) "
            f"{bits((1 << s.exp_bits) - 1, s.exp_bits)}))"
        )
        yield (
            f"(define-fun is_nan ((x (_ BitVec {s.bits}))) Bool (and (special x) (not (= (fraction x) "
            f"{bits(0, mantissa)}))))"
        )
        yield (
            f"(define-fun is_inf ((x (_ BitVec {s.bits}))) Bool (and (special x) (= (fraction x) {bits(0, mantissa)})))"
        )
        subnormal = f"(= (field x) {bits(0, s.exp_bits)})"
        binary = {FP32: "(_ to_fp 8 24) x", BF16: f"(_ to_fp 8 24) {shifted('x', 16, 32)}", FP16: "(_ to_fp 5 11) x"}[s]
        number = f"(fp.abs ({TO_DOUBLE} RNE ({binary})))"
        if self.numerics.input_subnormals is Subnormals.FLUSH and s is not FP16:
            number = f"(ite {subnormal} (_ +zero 11 53) {number})"
        if self.numerics.specials is Specials.DROP:  # special inputs read as numbers above FP32
            beyond = f"(fp #b0 {bits(DOUBLE_BIAS + FP32.bias + 1, 11)} {shifted('(fraction x)', mantissa, 52)})"
            number = f"(ite (special x) {beyond} {number})"
        yield f"(define-fun magnitude ((x (_ BitVec {s.bits}))) {DOUBLE} {number})"

    def is_zero(self) -> str:
        """Is a pattern zero, after subnormal inputs are flushed if the rules say so?"""
        s = self.source
        if self.numerics.input_subnormals is Subnormals.FLUSH and s is not FP16:
            return f"(= (field x) {bits(0, s.exp_bits)})"
        return f"(= ((_ extract {s.bits - 2} 0) x) {bits(0, s.bits - 1)})"

    def _scale(self) -> Iterator[str]:
        """``covers``: is a byte large enough for a magnitude? A larger byte is large enough too, and so is the byte of
        a larger magnitude for a smaller one."""
        n, e, s, w = self.numerics, self.element, self.source, self.scale.bits
        zero, one, most = bits(0, w), bits(1, w), bits(self.scale.max_code, w)
        yield f"; --- the scale, {n.scale_rule}"
        yield (
            f"(define-fun power ((b (_ BitVec {w}))) {DOUBLE} (fp #b0 (bvadd ((_ zero_extend {11 - w}) b) "
            f"{bits(DOUBLE_BIAS - self.scale.bias, 11)}) {bits(0, 52)}))"
        )
        rule, number = SCALE_RULES[n.scale_rule], "(magnitude x)"
        if rule.compares == "field" and s is not FP16 and n.input_subnormals is Subnormals.EXACT:
            as_normal = f"(fp #b0 {bits(DOUBLE_BIAS - s.bias, 11)} {shifted('(fraction x)', s.man_bits, 52)})"
            number = (
                f"(ite (and (= (field x) {bits(0, s.exp_bits)}) (not (= (fraction x) {bits(0, s.man_bits)}))) "
                f"{as_normal} (magnitude x))"
            )
        if rule.compares in ("product", "raised product"):
            number = (
                f"({TO_DOUBLE} RNE (fp.mul RNE ((_ to_fp 8 24) RNE (magnitude x)) "
                f"((_ to_fp 8 24) RNE {rational(1 / Fraction(e.max_value))})))"
            )
        if rule.compares == "raised product":
            lowest, normal = (double(Fraction(2) ** exponent) for exponent in (self.scale.emin, FP32.emin))
            number = f"(let ((p {number})) (ite (and (fp.lt {lowest} p) (fp.lt p {normal})) {normal} p))"
        yield (
            f"(define-fun covers ((x (_ BitVec {s.bits})) (b (_ BitVec {w}))) Bool ({rule.relation} {number} "
            f"(fp.mul RNE (power b) {double(rule.limit(e))})))"
        )
        yield f"""(define-fun scale_of ((x (_ BitVec {s.bits})) (b (_ BitVec {w}))) Bool
  ; the byte of a block in which x has the largest magnitude
  (and (bvule b {most})
    (or (covers x b) (= b {most}))
    (or (= b {zero}) (not (covers x (bvsub b {one}))))))"""

    def _values(self) -> Iterator[str]:
        """``number``: the number of an element whose magnitude code has more bits below, so that codes between two
        codes are numbers between them.
        """
        e = self.element
        yield f"; --- the element, {e.name}"
        more = max(self.random_bits, 1)
        width = self.magnitude_bits + 1 + more
        self.fine_bits, self.more = width, more
        if e.kind is Kind.FIXED:
            unit = Fraction(1, 1 << e.frac_bits + more)
            yield (
                f"(define-fun number ((k (_ BitVec {width}))) {DOUBLE} (fp.mul RNE ((_ to_fp_unsigned 11 53) "
                f"RNE k) {double(unit)}))"
            )
            return
        fraction_bits, field_bits = e.man_bits + more, width - e.man_bits - more
        low, high = f"((_ extract {fraction_bits - 1} 0) k)", f"((_ extract {width - 1} {fraction_bits}) k)"
        wide = extended(high, field_bits, 11)
        normal = f"(fp #b0 (bvadd {wide} {bits(DOUBLE_BIAS - e.bias, 11)}) {shifted(low, fraction_bits, 52)})"
        if self._keeps_field_zero:
            yield f"(define-fun number ((k (_ BitVec {width}))) {DOUBLE} {normal})"
            return
        unit = Fraction(2) ** (1 - e.bias - fraction_bits)
        subnormal = f"(fp.mul RNE ((_ to_fp_unsigned 11 53) RNE {low}) {double(unit)})"
        yield (
            f"(define-fun number ((k (_ BitVec {width}))) {DOUBLE} (ite (= {high} {bits(0, field_bits)}) "
            f"{subnormal} {normal}))"
        )

    @property
    def _keeps_field_zero(self) -> bool:
        """The FPGA paper's recipe with flushed elements: codes of exponent field 0 are a binade like the others."""
        return (
            self.numerics.rounding is Rounding.GUARD_HALF_UP
            and not self.is_fixed
            and self.numerics.element_subnormals is Subnormals.FLUSH
        )

    @property
    def largest(self) -> int:
        """The magnitude code at which elements saturate; the FPGA paper's recipe leaves the top exponent field
        unused.
        """
        element = self.element
        if self.numerics.rounding is Rounding.GUARD_HALF_UP and element.kind is Kind.FLOAT:
            return (((1 << element.exp_bits) - 1) << element.man_bits) - 1
        return element.max_code

    def _rounding(self) -> Iterator[str]:
        """``rounds``: does a magnitude, a multiple of the scale, become the code ``c``?

        Adding ``r`` of 2**n, or one half, below the last place and cutting is being in a range that is shifted by as
        much.
        """
        rounding, width, n = self.numerics.rounding, self.fine_bits, self.more
        yield f"; --- the rounding, {rounding}"
        random = f" (r (_ BitVec {self.random_bits}))" if self.random_bits else ""
        passed = " r" if random else ""
        code = f"(concat {extended('c', self.magnitude_bits, width - n)} {bits(0, n)})"
        added = ADDED[rounding](n, width)
        next_code = f"(bvadd {code} {bits(1 << n, width)})"
        start, end = f"(number (bvsub {code} {added}))", f"(number (bvsub {next_code} {added}))"
        at_start, at_end = f"(fp.leq {start} q)", f"(fp.lt q {end})"
        if rounding is Rounding.RNE:
            even = "(= ((_ extract 0 0) c) #b0)"
            at_start = f"(or (fp.lt {start} q) (and (fp.eq {start} q) {even}))"
            at_end = f"(or (fp.lt q {end}) (and (fp.eq q {end}) {even}))"
        if rounding is Rounding.RNZ:
            at_start, at_end = f"(fp.lt {start} q)", f"(fp.leq q {end})"
        head = f"((q {DOUBLE}) (c (_ BitVec {self.magnitude_bits})){random}) Bool"
        zero, largest = bits(0, self.magnitude_bits), bits(self.largest, self.magnitude_bits)
        yield f"(define-fun above {head} (or (= c {zero}) {at_start}))"
        yield f"(define-fun below {head} (or (= c {largest}) {at_end}))"
        rounds = f"(and (bvule c {largest}) (above q c{passed}) (below q c{passed}))"
        element, flush = self.element, self.numerics.element_subnormals is Subnormals.FLUSH
        if self._keeps_field_zero:
            lowest = double(Fraction(2) ** -element.bias)
            rounds = f"(ite (fp.lt q {lowest}) (= c {zero}) {rounds})"
        elif flush and element.kind is Kind.FLOAT:  # what would become a code of exponent field 0 becomes 0
            last = bits((1 << element.man_bits) - 1, self.magnitude_bits)
            rounds = f"(ite (= c {zero}) (below q {last}{passed}) (and (bvugt c {last}) {rounds}))"
        yield f"(define-fun rounds {head} {rounds})"

    def _element(self) -> Iterator[str]:
        """``element``: is ``p`` the code of ``x`` under the byte ``b`` of a block without special elements that decide
        the codes of the others?"""
        n, s, w = self.numerics, self.source, self.magnitude_bits
        random = f" (r (_ BitVec {self.random_bits}))" if self.random_bits else ""
        passed = " r" if random else ""
        yield "; --- the code"
        yield f"(define-fun signed ((s Bool) (c (_ BitVec {w}))) (_ BitVec {self.code_bits}) " + (
            "(ite s (bvneg c) c))" if self.is_fixed else f"(concat (ite {SIGNS[n.zero](w)} #b1 #b0) c))"
        )
        yield f"(define-fun magnitude_of ((s Bool) (p (_ BitVec {self.code_bits}))) (_ BitVec {w}) " + (
            "(ite s (bvneg p) p))" if self.is_fixed else f"((_ extract {w - 1} 0) p))"
        )
        # division by 2**X, exact in binary64
        inverse = f"(fp #b0 (bvsub {bits(DOUBLE_BIAS + self.scale.bias, 11)} ((_ zero_extend 3) b)) {bits(0, 52)})"
        quotient = f"(fp.mul RNE (magnitude x) {inverse})"
        body = (
            f"(let ((c (magnitude_of (negative x) p))) (and (= p (signed (negative x) c)) (rounds {quotient} "
            f"c{passed})))"
        )
        if n.specials is Specials.TE:
            largest = bits(self.element.max_code, w)
            nan = bits(
                self.element.max_code if self.element.nan_code is None else self.element.nan_code, self.code_bits
            )
            body = f"(ite (is_nan x) (= p {nan}) (ite (is_inf x) (= p (signed (negative x) {largest})) {body}))"
        yield (
            f"(define-fun element ((x (_ BitVec {s.bits})) (b (_ BitVec {self.scale.bits})) (p (_ BitVec "
            f"{self.code_bits})){random}) Bool {body})"
        )

    # Terms about a whole block.

    @property
    def flags(self) -> tuple[str, ...]:
        """Flags of a block that each lane receives with the scale."""
        return FLAGS[self.numerics.specials]

    def flag(self, name: str, lanes: Collection[str]) -> str:
        """The condition of a flag."""
        some_nan = f"(or {' '.join(f'(is_nan {x})' for x in lanes)})"
        some_inf = f"(or {' '.join(f'(is_inf {x})' for x in lanes)})"
        if self.numerics.specials is Specials.NAN_BLOCK:
            return f"(or {some_nan} {some_inf})"
        return some_nan if name == "nan" else f"(and {some_inf} (not {some_nan}))"

    def counts(self, x: str) -> str:
        """Does an element count for the largest magnitude of its block?"""
        return f"(not (special {x}))"

    def block_scale(self, lanes: Collection[str], largest: str, byte: str) -> str:
        """Is this the scale byte of a block? ``largest`` is a pattern for which `is_largest` holds."""
        finite = f"(scale_of {largest} {byte})"
        nan, infinite = bits(self.nan_byte, self.scale.bits), bits(self.scale.max_code, self.scale.bits)
        if_nan, if_inf = (
            f"(ite {self.flag(name, lanes)} (= {byte} {code})" for name, code in (("nan", nan), ("inf", infinite))
        )
        return {
            Specials.NAN_BLOCK: f"{if_nan} {finite})",
            Specials.INF_SCALE: f"{if_nan} {if_inf} {finite}))",
            Specials.TE: f"(ite (or {' '.join(f'(is_inf {x})' for x in lanes)}) (= {byte} {infinite}) {finite})",
            Specials.DROP: finite,
        }[self.numerics.specials]

    def is_largest(self, lanes: Collection[str], largest: str) -> str:
        """Is ``largest`` a pattern of the largest magnitude of a block: one of the elements that count, none of which
        is larger, or zero if no element counts?"""
        none_larger = " ".join(f"(=> {self.counts(x)} (fp.leq (magnitude {x}) (magnitude {largest})))" for x in lanes)
        some = " ".join(f"(and {self.counts(x)} (= {x} {largest}))" for x in lanes)
        none = " ".join(f"(not {self.counts(x)})" for x in lanes)
        return f"(and {none_larger} (or {some} (and (= {largest} {bits(0, self.source.bits)}) {none})))"

    def lane(self, x: str, byte: str, code: str, flags: dict[str, str], random: str | None) -> str:
        """Is this the code of an element, given its block's byte and flags?"""
        plain = f"(element {x} {byte} {code}{'' if random is None else f' {random}'})"

        def signal(magnitude: int) -> str:
            return f"(= {code} (signed (negative {x}) {bits(magnitude, self.magnitude_bits)}))"

        inf, nan = map(signal, signal_codes(self.element))
        canonical = f"(= {code} {bits(self.element.nan_code or 0, self.code_bits)})"
        special = {"nan": {Specials.NAN_BLOCK: canonical, Specials.INF_SCALE: nan}, "inf": {Specials.INF_SCALE: inf}}
        for flag in reversed(self.flags):  # NaN goes first
            plain = f"(ite {flags[flag]} {special[flag][self.numerics.specials]} {plain})"
        return plain

    def may_meet(self, x: str, largest: str, byte: str, flags: dict[str, str]) -> str:
        """Can an element meet this byte and these flags in a block with this pattern as its ``largest``? The statements
        `is_largest`, `block_scale` and `flag` imply it for every element of a block."""
        most = bits(self.scale.max_code, self.scale.bits)
        not_larger = f"(=> {self.counts(x)} (fp.leq (magnitude {x}) (magnitude {largest})))"
        plain = f"(and {self.counts(largest)} {not_larger} (scale_of {largest} {byte}))"
        told = f"(and {self.counts(x)} {plain})"
        for flag, special in (("inf", most), ("nan", bits(self.nan_byte, self.scale.bits))):
            if flag in flags:
                told = f"(ite {flags[flag]} (= {byte} {special}) {told})"
        return {
            Specials.TE: f"(ite (is_inf {x}) (= {byte} {most}) (or (= {byte} {most}) {plain}))",
            Specials.DROP: plain,
            Specials.NAN_BLOCK: told,
            Specials.INF_SCALE: told,
        }[self.numerics.specials]
