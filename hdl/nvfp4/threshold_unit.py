"""A row of thresholds (`threshold_row`), computed from the factor of a block by correcting a product.

A factor with the significand R has a companion W near its reciprocal: R * W = 2**47 + e with a small error e, which a
division leaves. The threshold X of the mark m, in quarters, is near m * W / 4. Let 4 * X = m * W + c. Then 4 * X * R =
m * 2**47 + m * e + c * R, and X * R is rounded to the mark or above if c * R reaches half a last place minus m * e. One
short division finds the least c, and X is the next whole number. The result is exact, and needs no multiplier.
"""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Module, Signal, Value, signed

from ..emission.modules import instantiated
from ..primitives.binary32.arithmetic import SIGNIFICAND, reciprocal, reduced
from ..primitives.register import Stage
from .factor import FACTOR_UNITS
from .row_unit import RowUnit
from .threshold_row import MARKS, NEVER

HALF_PLACE = 1 << SIGNIFICAND + 1
"""Half a last place of a product, in units of the product."""
STEPS = 4
"""Digits of c, which is between -11 and 12."""
CORRECTION = ("multiples", "left", "least2", "least4")
"""Stage boundaries up to the one at which c is known."""


class ThresholdUnit(RowUnit):
    """The `RowUnit` of the orders that multiply numbers with a factor."""

    def elaborate(self, platform: object) -> Module:
        m = Module()
        factor = FACTOR_UNITS[self.config.numerics.order](self.config)
        factor.kind = "factor"
        m.submodules.factor = instantiated(factor, platform)
        m.d.comb += [factor.scale.eq(self.scale), factor.d.eq(self.d)]
        if "enable" in factor.signature.members:
            m.d.comb += factor.enable.eq(self.enable)
        if "companion" in factor.signature.members:
            companion, error = factor.companion, factor.error
        else:
            companion, error = reciprocal(m, "companion", factor.significand)
        told = {flag: getattr(factor, flag) for flag in (*self.flags, "significand", "exponent")}
        every = [Stage(m, self, values={**told, "companion": companion, "error": error})]
        for boundary in CORRECTION:  # the values that all marks use
            every.append(every[-1].crossed(boundary, **{name: every[-1].values[name] for name in told}))
        marks = [self.threshold(m, quarters, is_beyond, every) for quarters, is_beyond in MARKS]
        now = every[-1].crossed("threshold", **every[-1].values)
        m.d.comb += [getattr(self, flag).eq(now.values[flag]) for flag in self.flags]
        self.row(m, marks, now.exponent)
        if "is_zero" in self.flags:
            with m.If(self.is_zero):
                m.d.comb += [self.start.eq(NEVER), self.cells.eq(0)]
        return m

    def threshold(self, m: Module, quarters: int, is_beyond: bool, every: list[Stage]) -> tuple[Value, Value]:
        """The fraction of the threshold of a mark, and whether the threshold is in the upper of two binades."""
        name = f"mark{quarters}"
        error, companion = f"{name}_error", f"{name}_companion"  # so many times
        left: Value = Signal(signed(SIGNIFICAND + 4), name=f"{name}_left")
        limit = HALF_PLACE if is_beyond else -HALF_PLACE - 1
        multiples = {error: quarters * every[0].error, companion: quarters * every[0].companion}
        now = Stage(m, self).crossed("multiples", **multiples)
        m.d.comb += left.eq(limit - now.values[error])
        now = now.crossed("left", **{f"{name}_left": left, companion: now.values[companion]})
        digits: dict[str, Value] = {}
        for place in reversed(range(STEPS)):
            done = len(digits)
            left = now.values[f"{name}_left"]
            after = Signal(signed(SIGNIFICAND + 4), name=f"{name}_left{place}")
            step = Cat(Const(0, place), every[2 + done // 2].significand)
            m.d.comb += after.eq(reduced(left, step))
            digits[f"{name}_digit{place}"] = ~left[-1]
            kept = {companion: now.values[companion], **digits}
            now = now.crossed(f"least{done + 1}", **{f"{name}_left": after}, **kept)
            digits = {digit: now.values[digit] for digit in digits}
        left = now.values[f"{name}_left"]
        least = Signal(signed(STEPS + 2), name=f"{name}_least")  # c
        m.d.comb += least.eq(Cat(Const(0, 1), *reversed(digits.values())) - ((1 << STEPS) - 2) - left[-1])
        placed = self.placed(m, name, now.values[companion] + least)
        fraction, is_upper = f"{name}_fraction", f"{name}_is_upper"
        now = now.crossed("threshold", **dict(zip((fraction, is_upper), placed)))
        return now.values[fraction], now.values[is_upper]
