"""The specification of a cast, as statements of SMT-LIB about numbers; nothing here computes a conversion.

Numbers are IEEE 754 binary64, in which the numbers of all formats and their midpoints are exact. A code is defined by
the numbers that reach it: the numbers that are rounded to it or to a larger code. Notation: ``x`` is a code of the
source, ``c`` a magnitude code of the destination with one more bit, ``q`` a magnitude, ``r`` random bits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from ...spec import (
    Cast,
    CastNan,
    CastNegative,
    CastOverflow,
    CastRounding,
    CastUnderflow,
    EncodedZero,
    NanSubstitute,
    Role,
    SpecialCodes,
)
from .encode import DOUBLE, bits, extended, shifted
from .scalar import classes, grid

ADDED: dict[CastRounding, Callable[[int, int], str]] = {
    CastRounding.RNE: lambda more, width: bits(1, width),
    CastRounding.RNA: lambda more, width: bits(1, width),
    CastRounding.RNZ: lambda more, width: bits(1, width),
    CastRounding.RTZ: lambda more, width: bits(0, width),
    CastRounding.RP: lambda more, width: bits(2, width),
    CastRounding.SR: lambda more, width: extended("r", more, width),
}
"""The addend below the last place, of ``more`` bits, before a magnitude is cut off. `CastRounding.RP` adds a whole
step, but a magnitude that is a code already is not rounded up."""

IS_REACHED: dict[CastRounding, str] = {
    CastRounding.RNE: "(or (fp.lt {start} q) (and (fp.eq {start} q) (= ((_ extract 0 0) c) #b0)))",
    CastRounding.RNA: "(fp.leq {start} q)",
    CastRounding.RNZ: "(fp.lt {start} q)",
    CastRounding.RTZ: "(fp.leq {start} q)",
    CastRounding.RP: "(fp.lt {start} q)",
    CastRounding.SR: "(fp.leq {start} q)",
}
"""Does a magnitude reach a code whose range begins at ``start``?"""

OVERFLOWS: dict[CastOverflow, Callable[[CastRounding], tuple[bool, bool]]] = {
    CastOverflow.SATURATE: lambda rounding: (False, False),
    CastOverflow.INF: lambda rounding: (True, True),
    CastOverflow.IEEE: lambda rounding: (rounding is not CastRounding.RTZ, True),
}
"""Does a number beyond the largest become Inf, and does Inf stay Inf?"""

SIGNS: dict[EncodedZero, str] = {
    EncodedZero.SIGNED: "(source_negative x)",
    EncodedZero.POSITIVE: "(and (source_negative x) (not {is_zero}))",
    EncodedZero.TAKEN_POSITIVE: "(and (source_negative x) (not (fp.isZero q)))",
    EncodedZero.TAKEN_NEGATIVE: "(or (source_negative x) (fp.isZero q))",
}
"""Has a result, whose magnitude is ``c``, a sign?"""

NEGATIVES: dict[CastNegative, str] = {CastNegative.MAGNITUDE: "false", CastNegative.NAN: "(source_negative x)"}
"""Does a negative number become NaN, in a format without signs?"""

UNDERFLOWS: dict[CastUnderflow, str] = {
    CastUnderflow.SMALLEST: "false",
    CastUnderflow.NAN_ZERO: "(fp.isZero q)",
    CastUnderflow.NAN: "true",
}
"""Does a number below the smallest become NaN, in a format without zero?"""


class CastSpecification:
    """The statements for a `Cast`: the function ``is_cast`` of ``definitions`` states that a code is the result of a
    code."""

    def __init__(self, rules: Cast) -> None:
        self.rules, self.source, self.to = rules, rules.source, rules.destination
        self.random = f" (r (_ BitVec {rules.random_bits}))" if rules.random_bits else ""
        self.magnitude_bits = self.to.bits - self.to.signed
        parts = [*classes(self.source, "source_", "x"), *self._reaching(), *self._result()]
        self.definitions = "\n".join(parts) + "\n"

    def _reaching(self) -> Iterator[str]:
        """``reaches``: is a magnitude rounded to a code, or to a larger one?"""
        rules, to = self.rules, self.to
        more, wide = max(rules.random_bits, 1), self.magnitude_bits + 1
        width, offset, number = grid(to, more)
        yield f"; --- codes of {to.name}, rounded {rules.rounding}"
        yield number
        code = f"(concat {extended('c', wide, width - more)} {bits(0, more)})"
        added = ADDED[rules.rounding](more, width)
        start = f"(number (bvsub (bvadd {code} {bits(offset, width)}) {added}))"
        reached = IS_REACHED[rules.rounding].format(start=start)
        if to.subnormals:  # everything reaches 0, below which there is nothing
            reached = f"(or (= c {bits(0, wide)}) (bvult {code} {added}) {reached})"
        yield f"(define-fun reaches ((q {DOUBLE}) (c (_ BitVec {wide})){self.random}) Bool {reached})"

    def _result(self) -> Iterator[str]:
        """``is_cast``: is ``p`` the result of ``x``?"""
        rules, to, source = self.rules, self.to, self.source
        passed, w = " r" if self.random else "", self.magnitude_bits
        yield "; --- the result"
        over = f"(reaches q {bits(to.max_code + 1, w + 1)}{passed})"
        under = "false" if to.subnormals else f"(not (reaches q {bits(0, w + 1)}{passed}))"
        over_is_inf, inf_stays = OVERFLOWS[rules.overflow](rules.rounding)
        none = "false" if to.subnormals else f"(and {under} {UNDERFLOWS[rules.underflow]})"
        is_nan = ["(source_nan x)", f"(and (not (source_inf x)) {none})"]
        if not to.signed:
            is_nan.append(NEGATIVES[rules.negative])
        if to.inf_code is None:
            is_nan += ["(source_inf x)"] if inf_stays else []
            is_nan += [over] if over_is_inf else []
        limits = [to.max_code if to.inf_code is None or not inf else to.inf_code for inf in (over_is_inf, inf_stays)]
        beyond, of_inf = (f"(= c {bits(limit, w)})" for limit in limits)
        next_code = f"(bvadd (concat #b0 c) {bits(1, w + 1)})"
        inside = f"(and (reaches q (concat #b0 c){passed}) (not (reaches q {next_code}{passed})))"
        finite = f"(ite {over} {beyond} (ite {under} (= c {bits(0, w)}) {inside}))"
        number = f"(ite (source_inf x) {of_inf} {finite})"
        is_zero = f"(= c {bits(0, w)})"
        negative = SIGNS[rules.zero].format(is_zero=is_zero)
        if not to.signed_zero:
            negative = f"(and {negative} (not {is_zero}))"
        sign = f"(= ((_ extract {w} {w}) p) (ite {negative} #b1 #b0))" if to.signed else "true"
        c = f"((_ extract {w - 1} 0) p)"
        yield (
            f"(define-fun is_cast ((x (_ BitVec {source.bits})){self.random} (p (_ BitVec {to.bits}))) Bool "
            f"(let ((q (magnitude x)) (c {c})) (ite (or {' '.join(is_nan)}) {self._nan()} (and {sign} {number}))))"
        )

    def _nan(self) -> str:
        """Is ``p`` the code of NaN, or its substitute?"""
        rules, to, source = self.rules, self.to, self.source
        w = self.magnitude_bits

        def signed(magnitude: int, negative: str) -> str:
            code = bits(magnitude, w)
            return f"(= p (concat (ite {negative} #b1 #b0) {code}))" if to.signed else f"(= p {code})"

        if to.nan_code is None:
            return {
                NanSubstitute.LARGEST: f"(= p {bits(to.max_code, to.bits)})",
                NanSubstitute.ZERO: signed(0, "(not (source_negative x))"),
            }[rules.nan_substitute]
        if to.specials is SpecialCodes.FNUZ:
            return f"(= p {bits(to.nan_code, to.bits)})"
        quiet = to.max_code + 1 if to.inf_code is None else to.inf_code | 1 << (to.man_bits - 1)
        canonical, negative = f"(= p {bits(quiet, to.bits)})", "(source_negative x)"
        payload = canonical
        if source.man_bits and source.nan_code is not None and source.specials is not SpecialCodes.FNUZ:
            low, more = f"((_ extract {source.man_bits - 1} 0) x)", to.man_bits - source.man_bits
            if to.man_bits and more >= 0:
                low = shifted(low, source.man_bits, to.man_bits)
            elif to.man_bits:
                low = f"((_ extract {source.man_bits - 1} {-more}) x)"
            if to.man_bits:
                own = f"(bvor {extended(low, to.man_bits, w)} {bits(quiet, w)})"
                own = f"(concat (ite {negative} #b1 #b0) {own})" if to.signed else own
                payload = f"(ite (source_nan x) (= p {own}) {canonical})"
        return {
            CastNan.CANONICAL: canonical,
            CastNan.SIGNED: signed(quiet, negative),
            CastNan.ALL_ONES: f"(= p {bits(to.magnitude_mask, to.bits)})",
            CastNan.SIGNED_ALL_ONES: signed(to.magnitude_mask, negative),
            CastNan.NEGATIVE: f"(= p {bits((1 << to.bits) - 1, to.bits)})",
            CastNan.PAYLOAD: payload,
        }[rules.nan]

    def element_of(self, code: str, random: str | None, result: str) -> str:
        """The statement that ``result`` is the result of a code."""
        return f"(is_cast {code} {'' if random is None else f'{random} '}{result})"

    def element(self, words: Mapping[Role, str]) -> str:
        """The statement that an element has its result, from a term for each port by its role."""
        roles = (Role.CODES, Role.NUMBERS) if self.rules.is_back else (Role.NUMBERS, Role.CODES)
        return self.element_of(words[roles[0]], words.get(Role.RANDOM), words[roles[1]])
