"""Planted differences in the header: the survey that compares it with the golden model finds each."""

from __future__ import annotations

from pathlib import Path

import pytest

from mxcast.native.structs import HEADER

from .harness.header import Header
from .harness.model import Answered, difference

MUTANTS = {
    "ties go up": ("p.part == MXCAST_HALF && (p.code & 1)", "p.part == MXCAST_HALF"),
    "ties go down": ("p.part > MXCAST_HALF || (p.part == MXCAST_HALF && (p.code & 1))", "p.part > MXCAST_HALF"),
    "rna loses its ties": ("case MXCAST_ROUNDING_RNA: code += p.part >=", "case MXCAST_ROUNDING_RNA: code += p.part >"),
    "bits below the part are lost": ("| ((rest & mxcast_ones(lost)) != 0)", ""),
    "a carry of random bits comes one late": ("random >= (uint32_t)1 << n", "random > (uint32_t)1 << n"),
    "the scale byte is one more": ("mxcast_shared_exponent(amax, r) + 127", "mxcast_shared_exponent(amax, r) + 128"),
    "ceil goes up too early": ("(significand > limit)", "(significand >= limit)"),
    "midmax is the largest number": ("(destmax + 0x01000000u) / 2", "(destmax + 0x00FFFFFEu) / 2"),
    "rceil reads 2**-127 as above the clamp": ("p <= 0x00400000u", "p < 0x00400000u"),
    "linear_nearest reads the second bit": ("p >> 22 & 1", "p >> 21 & 1"),
    "round_log2 rounds up at 1": ("(over >= 2 * under)", "(over >= under)"),
    "the exponent of subnormal inputs is one less": ("(field ? field : 1) - 150", "field - 150"),
    "subnormals of FP32 are kept under flush": (
        "magnitude < 0x00800000u) magnitude = 0",
        "magnitude < 1u) magnitude = 0",
    ),
    "Inf counts in the maximum": ("else if (magnitude == MXCAST_INF) has_inf = 1;", ""),
    "a flushed element keeps the smallest normal": ("code >> f->man_bits == 0;", "code >> f->man_bits <= 1;"),
    "saturation is one late": ("if (code > largest) code = largest;", "if (code > largest + 1) code = largest;"),
    "zero times Inf is Inf": ("(has_inf && (is_zero || factor_is_zero))", "(has_inf && factor_is_zero)"),
    "the signed reading wraps at 127": ("byte < 128 ? (int)byte", "byte < 127 ? (int)byte"),
    "decoded ties go to odd": (
        "case MXCAST_DECODED_ROUNDING_RNE: code += (uint64_t)mxcast_up_even(p)",
        "case MXCAST_DECODED_ROUNDING_RNE: code += p.part >= MXCAST_HALF",
    ),
    "E8M0 zero is finite under ml_dtypes": (
        "case MXCAST_CAST_UNDERFLOW_NAN_ZERO: return is_zero;",
        "case MXCAST_CAST_UNDERFLOW_NAN_ZERO: return is_zero > 1;",
    ),
    "a payload loses its place": ("up >= 0 ? fraction << up", "up >= 0 ? fraction"),
    "te divides by 6": ("mxcast_multiply(s, mxcast_divide(MXCAST_ONE, MXCAST_SIX))", "mxcast_divide(s, MXCAST_SIX)"),
    "a quotient loses its remainder": (" | (dividend % divisor != 0)", ""),
    "ao divides twice": (
        "mxcast_multiply(magnitude, mxcast_divide(d, s))",
        "mxcast_divide(mxcast_multiply(magnitude, d), s)",
    ),
}
"""The text of the header, and another in its place, by what goes wrong."""


@pytest.mark.parametrize("right, wrong", MUTANTS.values(), ids=MUTANTS)
def test_a_planted_difference_is_found(right: str, wrong: str, survey: Answered, tmp_path: Path) -> None:
    text = HEADER.read_text()
    assert text.count(right) == 1
    assert difference(Header(tmp_path, text.replace(right, wrong), flags=("-O0",)), survey)
