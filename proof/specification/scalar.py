"""Floating-point formats as functions of SMT-LIB, for specifications that read and write their numbers."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from ...spec import FP64, FloatFormat, SpecialCodes
from .encode import DOUBLE, DOUBLE_BIAS, bits, double, extended, shifted


def classes(f: FloatFormat, prefix: str, code: str) -> Iterator[str]:
    """``<prefix>negative``, ``<prefix>nan``, ``<prefix>inf`` of a code, and its ``magnitude`` in binary64.

    Under Inf and NaN the magnitude is meaningless (the code read as a number), and nothing may depend on it.
    """
    width, top = f.bits, f.man_bits + f.exp_bits - 1

    def predicate(name: str, body: str) -> str:
        return f"(define-fun {prefix}{name} (({code} (_ BitVec {width}))) Bool {body})"

    yield f"; --- numbers of {f.name}"
    yield predicate("negative", f"(= ((_ extract {width - 1} {width - 1}) {code}) #b1)" if f.signed else "false")
    field = f"((_ extract {top} {f.man_bits}) {code})"
    low = f"((_ extract {f.man_bits - 1} 0) {code})" if f.man_bits else bits(0, 1)  # zero without a fraction
    fraction_bits = max(f.man_bits, 1)
    magnitude = f"((_ extract {top} 0) {code})"
    nan, inf = "false", "false"
    if f.inf_code is not None:
        is_top = f"(= {field} {bits((1 << f.exp_bits) - 1, f.exp_bits)})"
        nan = f"(and {is_top} (not (= {low} {bits(0, fraction_bits)})))"
        inf = f"(= {magnitude} {bits(f.inf_code, top + 1)})"
    elif f.specials is SpecialCodes.FNUZ:
        nan = f"(= {code} {bits(f.sign_mask, width)})"
    elif f.nan_code is not None:
        nan = f"(= {magnitude} {bits(f.nan_code, top + 1)})"
    yield predicate("nan", nan)
    yield predicate("inf", inf)
    exponent = f"(bvadd {extended(field, f.exp_bits, 11)} {bits(DOUBLE_BIAS - f.bias, 11)})"
    value = f"(fp #b0 {exponent} {shifted(low, fraction_bits, 52)})"
    if f.subnormals and f != FP64:  # FP64 and binary64 have the same subnormals
        unit = Fraction(2) ** (1 - f.bias - fraction_bits)
        subnormal = f"(fp.mul RNE ((_ to_fp_unsigned 11 53) RNE {low}) {double(unit)})"
        value = f"(ite (= {field} {bits(0, f.exp_bits)}) {subnormal} {value})"
    yield f"(define-fun magnitude (({code} (_ BitVec {width}))) {DOUBLE} {value})"


def grid(f: FloatFormat, more: int) -> tuple[int, int, str]:
    """``number``: the number of a magnitude code with ``more`` bits below, so that codes between two codes are numbers
    between them. It continues beyond the largest number and, in a format without subnormals, below the smallest one.

    Returns the width of its argument, the offset that is added to a code for it, and its definition.
    """
    fraction_bits = f.man_bits + more
    width = f.exp_bits + fraction_bits + 1
    offset = 0 if f.subnormals else 1 << fraction_bits  # a binade below, where codes would be negative
    low, high = f"((_ extract {fraction_bits - 1} 0) k)", f"((_ extract {width - 1} {fraction_bits}) k)"
    bias = DOUBLE_BIAS - f.bias - (0 if f.subnormals else 1)
    exponent = f"(bvadd {extended(high, f.exp_bits + 1, 11)} {bits(bias, 11)})"
    value = f"(fp #b0 {exponent} {shifted(low, fraction_bits, 52)})"
    if f.subnormals:
        unit = Fraction(2) ** (1 - f.bias - fraction_bits)
        subnormal = f"(fp.mul RNE ((_ to_fp_unsigned 11 53) RNE {low}) {double(unit)})"
        value = f"(ite (= {high} {bits(0, f.exp_bits + 1)}) {subnormal} {value})"
    return width, offset, f"(define-fun number ((k (_ BitVec {width}))) {DOUBLE} {value})"
