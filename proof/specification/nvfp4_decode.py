"""The specification of an NVFP4 decoder, as statements of SMT-LIB about numbers; nothing here computes a conversion.

Every operation is one of IEEE 754 binary32 to nearest even, as SMT-LIB's theory of floating-point numbers defines it.
Notation: ``p`` is a code, ``b`` a scale, ``g`` the scale of the tensor, ``y`` a pattern of the destination.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from copy import copy
from fractions import Fraction

from ...spec import E2M1, E4M3, FP32, Convention, DecodedNan, Nvfp4Decode, Role
from .encode import bits, extended, rational
from .scalar import classes

SINGLE = "(_ FloatingPoint 8 24)"
TO_SINGLE = "(_ to_fp 8 24)"

FACTORS: dict[Convention, str] = {
    Convention.MULTIPLIER: "(fp.mul RNE s g)",
    Convention.DIVISOR: "(fp.div RNE s g)",
    Convention.AMAX: "(fp.mul RNE (fp.mul RNE s g) reduction)",
    Convention.NONE: "s",
}
"""The factor of the elements, from the block scale ``s`` and the tensor scale ``g``."""


class Nvfp4DecodeSpecification:
    """The statements for an `Nvfp4Decode`: the function ``decoded`` of ``definitions`` states that a pattern is the
    result of an element."""

    def __init__(self, rules: Nvfp4Decode) -> None:
        self.rules = rules
        self.definitions = "\n".join([*_numbers(), *self._factor(), *self._result()]) + "\n"

    def with_factor(self, name: str) -> Nvfp4DecodeSpecification:
        """The same, for a factor of a known magnitude: a constant of this name."""
        other = copy(self)
        number = f"({TO_SINGLE} (concat #b0 {name}))"
        is_nan = "(or (fp.isNaN s) (fp.isNaN g) (and (fp.isZero s) (fp.isZero g)))"  # a scale is never Inf
        sign = "(xor (fp.isNegative s) (fp.isNegative g))"
        given = (
            f"(declare-const {name} (_ BitVec {FP32.bits - 1}))\n(assert (not (fp.isNaN {number})))\n"
            f"(define-fun factor ((s {SINGLE}) (g {SINGLE})) {SINGLE} "
            f"(ite {is_nan} (_ NaN 8 24) (ite {sign} (fp.neg {number}) {number})))\n"
        )
        other.definitions = re.sub(r"^\(define-fun factor .*\n", given, self.definitions, count=1, flags=re.M)
        return other

    def _factor(self) -> Iterator[str]:
        """``factor``: both scales combined."""
        rules = self.rules
        yield f"; --- the factor, convention {rules.convention}"
        largest = int(rules.scale_max * E2M1.max_value)
        if rules.convention is Convention.AMAX:
            yield f"(define-fun reduction () {SINGLE} ({TO_SINGLE} RNE {rational(Fraction(1, largest))}))"
        yield f"(define-fun factor ((s {SINGLE}) (g {SINGLE})) {SINGLE} {FACTORS[rules.convention]})"

    def _result(self) -> Iterator[str]:
        """``decoded``: is ``y`` the result of ``p`` under ``b`` and ``g``?"""
        rules, to, scale = self.rules, self.rules.destination, E4M3
        quiet = to.inf_field | 1 << (to.man_bits - 1)
        nan = bits(to.magnitude_mask if rules.nan is DecodedNan.ALL_ONES else quiet, to.bits)
        if rules.nan is DecodedNan.PAYLOAD:
            more = to.man_bits - scale.man_bits
            field = bits(quiet >> more, to.bits - 1 - more)
            sign, fraction = "((_ extract 7 7) b)", f"((_ extract {scale.man_bits - 1} 0) b)"
            own = f"(bvor {field} {extended(fraction, scale.man_bits, to.bits - 1 - more)})"
            nan = f"(ite (scale_nan b) (= y (concat {sign} {own} {bits(0, more)})) (= y {nan}))"
        else:
            nan = f"(= y {nan})"
        product = "(fp.mul RNE (element_value p) (factor (scale_value b) g))"
        sizes = f"(_ to_fp {to.exp_bits} {to.man_bits + 1})"
        number = f"({sizes} RNE q)"
        body = f"(ite (fp.isNaN q) {nan} (= ({sizes} y) {number}))"
        yield (
            f"(define-fun decoded ((p (_ BitVec {E2M1.bits})) (b (_ BitVec {scale.bits})) (g {SINGLE}) "
            f"(y (_ BitVec {to.bits}))) Bool (let ((q {product})) {body}))"
        )

    def element(self, words: Mapping[Role, str]) -> str:
        """The statement that an element has its result, from a term for each port by its role."""
        g = words.get(Role.TENSOR_SCALE)
        tensor_scale = "(_ NaN 8 24)" if g is None else f"({TO_SINGLE} {g})"
        return f"(decoded {words[Role.CODES]} {words[Role.SCALE]} {tensor_scale} {words[Role.NUMBERS]})"


def _numbers() -> Iterator[str]:
    """Elements and block scales as binary32 numbers, which hold both exactly."""
    for prefix, argument, format in (("element_", "p", E2M1), ("scale_", "b", E4M3)):
        magnitude = f"{prefix}magnitude"
        for line in classes(format, prefix, argument):
            yield line.replace("(define-fun magnitude ", f"(define-fun {magnitude} ")
        number = f"({TO_SINGLE} RNE ({magnitude} {argument}))"
        value = f"(ite ({prefix}negative {argument}) (fp.neg {number}) {number})"
        value = f"(ite ({prefix}nan {argument}) (_ NaN 8 24) {value})"
        yield f"(define-fun {prefix}value (({argument} (_ BitVec {format.bits}))) {SINGLE} {value})"
