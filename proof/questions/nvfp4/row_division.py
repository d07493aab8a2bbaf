"""Lemmas about a division in many cycles, which gives a factor and the thresholds of its marks
(`hdl.nvfp4_cache.divider`).

The factor is the nearest whole number to 2**47 / V: the quotient of 2**48 and V, plus one, halved. X passes the mark m
if 4 * X * R is beyond a limit, so the least X is the quotient of a fourth of this limit and R, plus one. Each step
leaves a remainder below the divisor, so the steps of a quotient telescope.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from ....hdl.nvfp4_cache.schedule import DIGITS, ROW_CYCLES, TURN
from ....spec import E4M3, FP32
from ...netlist.beats.cached import CONTROL
from ...specification.encode import bits, extended
from ...specification.nvfp4 import EXPONENT, HALF_PLACE, MARKS, SIGNIFICAND, Nvfp4Specification, signed, times
from ..question import Question, can_happen, constant, declared, lemma, vector
from .arithmetic import product_range
from .factor import MOST, SAYS, divisor_in_limits, exponent_of, of_scale_and_constant
from .lemma import HALF, DividerWith, multiplied, multiplying
from .threshold import CORRECTIONS, WHOLE

COUNT = (ROW_CYCLES - 1).bit_length()
QUOTIENTS = DIGITS * len(MARKS)
DIVIDEND = 2 * DIGITS
"""Bits of a dividend."""

NEAR = SIGNIFICAND + 8
"""Bits of the words that bound a threshold."""


def of_marks(s: Nvfp4Specification) -> list[int]:
    """The dividends of the marks, in the order of their turns."""
    return [
        (mark << 2 * SIGNIFICAND - 1) + (HALF_PLACE if is_beyond else -HALF_PLACE - 1) >> 2
        for mark, is_beyond in s.marks.items()
    ]


def chosen(turn: str, values: list[str]) -> str:
    """The value of a turn, of the first one, and so on; the last one is of all others."""
    *others, last = values
    for number, value in reversed(list(enumerate(others))):
        last = f"(ite (= {turn} {bits(number, COUNT - 5)}) {value} {last})"
    return last


def division(divider: DividerWith, s: Nvfp4Specification) -> Iterator[Question]:
    """The lemma about a cycle of the division. The factor has its turn before the marks."""
    dividends = [1 << 2 * SIGNIFICAND, *of_marks(s)]
    part = divider("v_significand", "factor")

    def now(name: str, width: int, state: str = "t") -> str:
        return vector(part.wire(name, state), width)

    widths = {"divisor": SIGNIFICAND, "remainder": SIGNIFICAND, "quotients": QUOTIENTS}
    values = [
        constant(f"{when}_{name}", width, now(f"{when}_{name}", width))
        for when in ("now", "next")
        for name, width in widths.items()
    ]
    turn, step = f"((_ extract {COUNT - 1} 5) c)", "((_ extract 4 0) c)"
    place = f"(bvsub {bits(DIGITS - 1, DIVIDEND)} {extended(step, 5, DIVIDEND)})"
    dividend = chosen(turn, [bits(0, DIVIDEND), *(bits(value, DIVIDEND) for value in dividends)])
    bit = f"((_ extract 0 0) (bvlshr {dividend} {place}))"
    first = chosen(turn, [*(bits(value >> DIGITS, SIGNIFICAND) for value in dividends), "next_remainder"])
    divisor = chosen(turn, [now("v_significand", SIGNIFICAND), now("factor", SIGNIFICAND), "now_divisor"])
    wide = SIGNIFICAND + 2
    twice = f"(concat #b0 now_remainder {bit})"
    digit = "((_ extract 0 0) next_quotients)"
    subtracted = f"(ite (= {digit} #b1) {extended('now_divisor', SIGNIFICAND, wide)} {bits(0, wide)})"
    stays = "(= next_divisor now_divisor)"
    divides = (
        f"(and {stays} (= next_quotients (concat ((_ extract {QUOTIENTS - 2} 0) now_quotients) {digit})) "
        f"(=> (bvult now_remainder now_divisor) (and (bvult next_remainder now_divisor) "
        f"(= {twice} (bvadd {subtracted} {extended('next_remainder', SIGNIFICAND, wide)})))))"
    )
    loads = f"(and (= next_divisor {divisor}) (= next_remainder {first}) (= next_quotients now_quotients))"
    rests = f"(and {stays} (= next_remainder now_remainder) (= next_quotients now_quotients))"
    is_digit = f"(and (distinct {turn} {bits(0, COUNT - 5)}) (bvult {step} {bits(DIGITS, 5)}))"
    yield lemma(
        "row-cycle",
        "each cycle of a row makes a digit of a quotient, takes the next dividend and divisor, or changes nothing",
        ("c", *(f"{when}_{name}" for when in ("now", "next") for name in widths)),
        part.text,
        part.state("s"),
        part.state("t"),
        constant("c", COUNT, part.wire("count", "s")),
        *values,
        f"(assert (and {part.wire('enable', 's')} {part.wire('enable', 't')} (bvult c {bits(ROW_CYCLES - 1, COUNT)}) "
        f"(= {part.wire('count', 't')} (bvadd c {bits(1, COUNT)}))))\n",
        *(f"(assert (= {part.wire(f'now_{name}', 't')} {part.wire(f'next_{name}', 's')}))\n" for name in CONTROL),
        f"(assert (= {part.wire('scale', 's')} {part.wire('scale', 't')}))\n",
        f"(assert (= {part.wire('d', 's')} {part.wire('d', 't')}))\n",
        holds=f"(ite {is_digit} {divides} (ite (= {step} {bits(TURN - 2, 5)}) {loads} {rests}))",
        is_inner=True,
    )


def factor(divider: DividerWith, s: Nvfp4Specification) -> Iterator[Question]:
    """The factor is the nearest number to the reciprocal of the divisor s * d, whatever the quotient is."""
    size = E4M3.man_bits + 1
    yield product_range(size)
    part = divider("v_significand", "factor", "exponent")
    wires = {
        "scale": ("scale", E4M3.bits),
        "d": ("d", FP32.bits),
        "R": ("factor", SIGNIFICAND),
        "n": ("exponent", EXPONENT),
        "v_divided": ("v_significand", SIGNIFICAND),
        "q": ("now_quotients", QUOTIENTS),
    }
    about = [
        multiplied(part, size).text,
        part.state("s"),
        *(constant(one, width, part.wire(wire, "s")) for one, (wire, width) in wires.items()),
        of_scale_and_constant(s),
        f"(define-fun V () (_ BitVec {SIGNIFICAND}) {s.significand('v64', SIGNIFICAND)})\n",
        f"(assert {s.is_in_limits('v64')})\n",
    ]
    nearest = f"((_ extract {SIGNIFICAND} 1) (bvadd ((_ extract {DIGITS - 1} 0) q) {bits(1, DIGITS)}))"
    quotient = f"(and (= v_divided V) (= R {nearest}) (= n {exponent_of(s, 1)}) {s.is_factor('n', '(concat #b0 V)')})"
    power = f"(and (= R {bits(HALF, SIGNIFICAND)}) (= n {exponent_of(s, 0)}) {s.is_factor('n', bits(2 * HALF, WHOLE))})"
    largest = f"(and (= R {bits(MOST, SIGNIFICAND)}) (= n {bits(FP32.emax, EXPONENT)}))"
    yield divisor_in_limits(s)
    yield multiplying(
        size,
        partial(lemma, "factor", SAYS, tuple(wires)),
        *about,
        holds=f"(ite (not {s.has_reciprocal('v64')}) {largest} "
        f"(ite (= V {bits(HALF, SIGNIFICAND)}) {power} {quotient}))",
        is_inner=True,
    )
    yield can_happen(
        "factor", tuple(wires), times(size, is_free=False), *about, f"(assert (distinct V {bits(HALF, SIGNIFICAND)}))\n"
    )


def near(s: Nvfp4Specification) -> Question:
    """The quotients of the marks are as near to multiples of a companion as the lemma about elements assumes.

    For R * W = 2**47 + e and the least X with X * R = N + t, where N is the dividend of the mark m, the law of
    distribution gives (4 * X - m * W) * R = 4 * N - m * 2**47 + 4 * t - m * e, which the statement calls y.
    """
    half, claims = bits(HALF, NEAR), []
    for mark, value in zip(MARKS, of_marks(s), strict=True):
        rest = signed(4 * value - (mark << 2 * SIGNIFICAND - 1), NEAR)
        y = f"(bvsub (bvadd {rest} (bvshl t {bits(2, NEAR)})) (bvmul {bits(mark, NEAR)} e))"
        fifteen = f"(bvsub (bvshl R {bits(4, NEAR)}) R)"
        assert CORRECTIONS == (-15, 16) and (HALF - 1) * (2 * HALF - 1) <= value  # no smaller number passes the mark
        claims.append(f"(and (bvsle (bvneg {fifteen}) {y}) (bvsle {y} {fifteen}))")
    return lemma(
        "threshold-near",
        "the least number that passes a mark is a significand, and near the multiple of the companion",
        ("R", "t", "e"),
        declared(dict.fromkeys(("R", "t", "e"), NEAR)),
        f"(assert (and (bvuge R {half}) (bvult R {bits(2 * HALF, NEAR)}) (bvuge t {bits(1, NEAR)}) (bvule t R) "
        f"(bvsle (bvneg {half}) e) (bvsle e {half})))\n",
        holds=f"(and {' '.join(claims)})",
    )
