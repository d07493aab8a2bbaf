"""The steps around the narrow datapath: widening before it, and the rounding decision below it."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from math import ceil, floor

import numpy as np
import pytest
from amaranth.hdl import Elaboratable, Module, Signal

from mxcast.hdl import converter_config
from mxcast.hdl.primitives.rounding import bits_below, rounds_up
from mxcast.hdl.primitives.widen import Widen
from mxcast.spec import Rounding, numerics

from ..simulation import outputs


def test_widen_is_exact_for_every_fp16_number():
    """Against NumPy's conversion to float32, whose last 13 bits are 0; of NaN, whose payload NumPy leaves to the
    processor, field and fraction."""
    patterns = np.arange(1 << 16, dtype=np.uint16)
    expected = patterns.view(np.float16).astype(np.float32).view(np.uint32)
    nan = (patterns & 0x7FFF) > 0x7C00
    assert not (expected[~nan] & 0x1FFF).any() and nan.sum() == 2 * 1023
    expected = np.where(nan, (patterns.astype(np.uint32) >> 15 << 18) | 0xFF << 10 | (patterns & 0x3FF), expected >> 13)
    found = np.array(
        outputs(Widen(converter_config("e4m3", source="fp16")), [{"x": x} for x in range(1 << 16)], ["wide"])
    )[:, 0]
    wrong = np.flatnonzero(found != expected)
    assert not wrong.size, [(hex(x), hex(expected[x]), hex(found[x])) for x in wrong[:5]]


class Decision(Elaboratable):
    """`rounds_up` alone."""

    def __init__(self, rounding: Rounding, bits: int) -> None:
        self.rounding, self.up = rounding, Signal()
        self.last, self.below, self.sticky, self.random = Signal(), Signal(bits), Signal(), Signal(bits)

    def elaborate(self, platform) -> Module:
        m = Module()
        random = self.random if self.rounding is Rounding.SR else None
        m.d.comb += self.up.eq(rounds_up(self.rounding, self.last, self.below, self.sticky, random))
        return m


EXACTLY = {
    Rounding.RNE: lambda value, drawn: round(value),  # Python rounds fractions to even
    Rounding.RNA: lambda value, drawn: floor(value + Fraction(1, 2)),
    Rounding.GUARD_HALF_UP: lambda value, drawn: floor(
        value + Fraction(1, 2)
    ),  # of what was cut off below one bit, so of all
    Rounding.RTZ: lambda value, drawn: floor(value),
    Rounding.SR: lambda value, drawn: floor(value + drawn),
    Rounding.RNZ: lambda value, drawn: ceil(value - Fraction(1, 2)),
}
"""The rounded magnitude, in units of its last place; ``drawn`` is a random number in [0, 1)."""


@pytest.mark.parametrize(
    "rounding, bits", [*((rounding, 1) for rounding in Rounding), (Rounding.SR, 2), (Rounding.SR, 3), (Rounding.SR, 5)]
)
def test_rounding_decisions(rounding, bits):
    """All truth tables. A sticky bit is a number anywhere between two numbers of the bits above it."""
    cases = [
        dict(zip(("last", "below", "sticky", "random"), chosen))
        for chosen in product(range(2), range(1 << bits), range(2), range(1 << bits if rounding is Rounding.SR else 1))
    ]
    found = outputs(Decision(rounding, bits), cases, ["up"])
    for case, (up,) in zip(cases, found):
        drawn = Fraction(case["random"], 1 << bits)
        for rest in (Fraction(1, 10**9), Fraction(1, 2), 1 - Fraction(1, 10**9)) if case["sticky"] else (0,):
            value = case["last"] + (case["below"] + rest) / Fraction(1 << bits)
            assert case["last"] + up == EXACTLY[rounding](value, drawn), case
    assert {up for (up,) in found} == ({0} if rounding is Rounding.RTZ else {0, 1})


@pytest.mark.parametrize("bits", [1, 5, 8, 12])
def test_random_bits_round_up_in_proportion(bits):
    """floor(2**bits * part) of the 2**bits random numbers carry."""
    for below in {0, 1, (1 << bits) // 3, (1 << bits) - 1}:
        cases = [{"below": below, "random": random} for random in range(1 << bits)]
        assert sum(up for (up,) in outputs(Decision(Rounding.SR, bits), cases, ["up"])) == below


def test_bits_below():
    assert bits_below(numerics("e4m3")) == 1
    assert [bits_below(numerics("e4m3", rounding="sr", random_bits=bits)) for bits in (1, 2, 16)] == [1, 2, 16]
