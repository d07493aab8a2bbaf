"""A row of thresholds (`threshold_row`) in many cycles, by one divider.

The factor is 2**47 / V, for the divisor V of a block. The threshold of the mark m, in quarters, is the least X with
4 * X * R beyond m * 2**47 plus or minus half a last place of the product, where R is the factor. So each of them is a
quotient of whole numbers, and one restoring division makes a digit in a cycle.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from itertools import pairwise

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value, signed
from amaranth.lib.wiring import In

from ...spec import E4M3, FP32
from ..config.architecture import Nvfp4Form
from ..config.nvfp4_encode import DIVISOR_STAGES, Nvfp4Config
from ..nvfp4.factor import EXPONENT, SUBNORMAL_PLACES, divisor_of
from ..nvfp4.row_unit import RowUnit
from ..nvfp4.threshold_row import CELL_BITS, CELLS, MARKS, START_BITS
from ..primitives.binary32.arithmetic import SIGNIFICAND, Number, with_field
from ..primitives.register import held
from .schedule import DIGITS, ROW_CYCLES, TURN

HALF_PLACE = SIGNIFICAND - 1
"""The bit of half a last place of a product, in the dividend of a mark."""


def selected(number: Value, constants: Sequence[int]) -> Value:
    """The constant that a number selects, or the last one."""
    *others, last = constants
    chosen: Value = Const(last, max(constants).bit_length())
    for place, constant in enumerate(others):
        chosen = Mux(number == place, constant, chosen) if place else Mux(number.any(), chosen, constant)
    return chosen


class RowDivider(RowUnit):
    """The `RowUnit` of the orders that multiply numbers with a reciprocal, in ``TURN * TURNS`` cycles.

    Ports
    -----
    count : in, the number of the cycle; scale and d stay until the last one, and the row is there in it
    others as of `RowUnit`
    """

    def __init__(self, config: Nvfp4Config) -> None:
        inner = dataclasses.replace(
            config.microarchitecture, form=Nvfp4Form.THRESHOLDS, registered_after=DIVISOR_STAGES
        )
        super().__init__(
            dataclasses.replace(config, microarchitecture=inner), {"count": In((ROW_CYCLES - 1).bit_length())}
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        turn, step = self.count[TURN.bit_length() - 1 :], self.count[: TURN.bit_length() - 1]
        s, s_field = with_field(m, "s", self.scale[:-1], E4M3)
        d, d_field = with_field(m, "d", self.d[:-1], FP32, places=SUBNORMAL_PLACES)
        kept = held(m, Const(1), "normalised", {"s": s, "s_field": s_field, "d": d, "d_field": d_field})
        s, d = Number(kept["s"], kept["s_field"] - E4M3.bias), Number(kept["d"], kept["d_field"] - FP32.bias)
        v, _ = divisor_of(m, self, s, d, is_late=True)
        is_power = Signal(reset_less=True)
        is_low = Signal(reset_less=True)
        is_lowest = Signal(reset_less=True)
        is_beyond = Signal(reset_less=True)
        inverse = Signal(EXPONENT, reset_less=True)
        lowest = -FP32.bias - 1
        divisor = Signal(SIGNIFICAND, reset_less=True)  # V, and R from the end of the second turn on
        exponent = Signal(EXPONENT, reset_less=True)
        remainder = Signal(SIGNIFICAND, reset_less=True)
        quotients = Signal(DIGITS * len(MARKS), reset_less=True)
        divides = Signal(reset_less=True)
        loads = Signal(reset_less=True)
        digit = Signal()
        dividend_bit = Signal(reset_less=True)
        twice = Signal(SIGNIFICAND + 1)
        first = Signal(SIGNIFICAND, reset_less=True)
        factor = Signal(SIGNIFICAND)
        nearest = Signal(SIGNIFICAND + 1)
        is_first = Signal(reset_less=True)
        largest = (1 << SIGNIFICAND) - 1
        starts, bits = self.dividends()
        is_mark_bit = step == DIGITS - 1 - HALF_PLACE
        m.d.comb += [
            twice.eq(Cat(dividend_bit, remainder)),
            digit.eq(twice >= divisor),
            nearest.eq((quotients[:DIGITS] + 1)[1:]),
            factor.eq(Mux(is_beyond, largest, Mux(is_power, 1 << SIGNIFICAND - 1, nearest[:SIGNIFICAND]))),
        ]
        with m.If(self.enable):
            m.d.sync += [
                divides.eq(turn.any() & (step < DIGITS)),
                loads.eq(step == TURN - 2),
                is_first.eq(~turn.any()),
                dividend_bit.eq(selected(turn, bits) ^ is_mark_bit & (turn > 1)),
                first.eq(selected(turn, starts)),
            ]
            with m.If(divides):
                m.d.sync += [
                    remainder.eq(Mux(digit, twice - divisor, twice)[:SIGNIFICAND]),
                    quotients.eq(Cat(digit, quotients)[: len(quotients)]),
                ]
            with m.If(loads):
                m.d.sync += remainder.eq(first)
                with m.If(is_first):
                    m.d.sync += divisor.eq(v.significand)
            with m.If(loads & (turn == 1)):
                m.d.sync += divisor.eq(factor)
            m.d.sync += [
                is_power.eq(~v.significand[:-1].any()),
                is_low.eq(v.is_zero | (v.exponent < lowest)),
                is_lowest.eq(v.exponent == lowest),
                is_beyond.eq(is_low | (is_lowest & is_power)),
                inverse.eq(~v.exponent),
                exponent.eq(Mux(is_beyond, FP32.emax, inverse + is_power)),
            ]
        thresholds = []
        for number in range(len(MARKS)):
            whole = Signal(DIGITS, name=f"whole{number}")
            m.d.comb += whole.eq(quotients.word_select(len(MARKS) - 1 - number, DIGITS) + 1)
            thresholds.append(held(m, self.enable, "mark", {f"whole{number}": whole})[f"whole{number}"])
        self.row_of(m, thresholds, exponent)
        return m

    def row_of(self, m: Module, thresholds: list[Value], exponent: Value) -> None:
        """Connect the row as `RowUnit.row` does, in steps with registers between them, from the thresholds of the marks
        as whole numbers. One with a bit more is in the upper of two binades.
        """
        source = self.config.numerics.source
        dropped, low = FP32.man_bits - source.man_bits, source.man_bits - 3
        upper = [threshold[-1] for threshold in thresholds]
        below, there = [], []  # by mark: for each cell, whether the mark is in a cell before, and in the cell
        for number, (threshold, is_upper) in enumerate(zip(thresholds, upper)):
            kept = Mux(is_upper, threshold[dropped + 1 : -1], threshold[dropped:-2])
            rest = threshold[:dropped].any() | (is_upper & threshold[dropped])
            cut = held(m, Const(1), "cut", {f"kept{number}": kept, f"rest{number}": rest})
            kept, rest = cut[f"kept{number}"], cut[f"rest{number}"]  # their sum is a fraction of the source
            parts = {
                f"below{number}": Cat(kept[-3:] < place for place in range(1, CELLS)),
                f"is_there{number}": ~(kept[:low].all() & rest),  # no carry to the next cell
                f"threshold{number}": (kept + rest)[:low],
            }
            cell, is_there, fraction = held(m, Const(1), "row", parts).values()
            m.d.comb += self.thresholds.word_select(number, low).eq(fraction)
            before = [Const(0, 1), *cell, Const(1, 1)]
            below.append(before)
            there.append([is_there & at & ~less for less, at in pairwise(before)])
        less = Signal(CELL_BITS - 1, reset_less=True)
        start = Signal(signed(START_BITS), reset_less=True)
        m.d.sync += [
            less.eq(4 * Cat(upper).any() - sum(upper, Const(0, 1))),
            start.eq(FP32.bias - 3 - exponent + Cat(upper).any()),
        ]
        for place in range(CELLS):
            passed = Signal(CELL_BITS - 1, name=f"passed{place}")
            m.d.comb += [
                passed.eq(sum((cell[place] for cell in below), Const(0, 1)) + less),
                self.cells.word_select(place, CELL_BITS).eq(Cat(passed, Cat(mark[place] for mark in there).any())),
            ]
        m.d.comb += self.start.eq(start)

    @staticmethod
    def dividends() -> tuple[list[int], list[int]]:
        """By the turn before: the first remainder of a division, and by the turn, the usual bit of the dividend."""
        firsts = [1 << SIGNIFICAND - 1]  # 2**48
        bits = [0, 0]
        for quarters, is_beyond in MARKS:
            dividend = (quarters << 2 * SIGNIFICAND - 3) + (1 << HALF_PLACE if is_beyond else -(1 << HALF_PLACE) - 1)
            firsts.append(dividend >> DIGITS)
            bits.append(int(not is_beyond))
        return [*firsts, 0], bits
