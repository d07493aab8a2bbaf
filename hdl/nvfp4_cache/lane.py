"""A lane of an encoder with a cache: the parts of its number, found while the row is read, and then the code."""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Module, Mux, Signal, signed
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Member, Out

from ...spec import E2M1, FloatFormat
from ..config.nvfp4_encode import Nvfp4Config
from ..nvfp4.element import LARGEST, SUBNORMAL_PLACES
from ..nvfp4.threshold_row import CELL_BITS, CELLS, MARKS, START_BITS
from ..nvfp4.thresholds import ABOVE, BELOW, FIRST, chosen, row_shapes
from ..primitives.binary32.arithmetic import with_field
from ..primitives.register import Stage, enable_port


def parts_of(source: FloatFormat) -> dict[str, int]:
    """Bits of what a lane needs of a number: its significand and field, normalised, its sign, and whether it is NaN."""
    return {"significand": source.man_bits + 1, "field": source.exp_bits + 1, "sign": 1, "is_nan": 1}


class NumberParts(wiring.Component):
    """The parts of a number (`parts_of`).

    Ports
    -----
    x : in, the number
    parts : out, its parts, the significand in the low bits
    """

    kind = "number_parts"
    whole = True  # or bits that a NaN or a subnormal decides reset their registers (`Stage.crossed`)

    def __init__(self, config: Nvfp4Config) -> None:
        self.source = config.numerics.source
        super().__init__({"x": In(self.source.bits), "parts": Out(sum(parts_of(self.source).values()))})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        source = self.source
        significand, field = with_field(m, "x", self.x[:-1], source, places=SUBNORMAL_PLACES)
        is_nan = self.x[source.man_bits : -1].all() & self.x[: source.man_bits].any()
        m.d.comb += self.parts.eq(Cat(significand, field, self.x[-1], is_nan))
        return m


class CachedElement(wiring.Component):
    """One element, from the number of marks that its number has passed (`ThresholdElement`).

    Ports
    -----
    parts : in, the parts of the number
    start, cells, thresholds : in, the row of the scale
    enable : in, if there are registers
    p : out, the code
    """

    def __init__(self, config: Nvfp4Config) -> None:
        self.config = config
        rows: dict[str, Member] = {name: In(shape) for name, shape in row_shapes(config).items()}
        parts = {"parts": In(sum(parts_of(config.numerics.source).values()))}
        super().__init__({**parts, **rows, **enable_port(config, config.lane_stages), "p": Out(E2M1.bits)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        source = self.config.numerics.source
        low = source.man_bits - 3
        significand = Signal(source.man_bits + 1)
        field = Signal(signed(source.exp_bits + 1))
        sign = Signal()
        is_nan = Signal()
        entry = Signal(CELL_BITS)  # the cell of the number
        binades = Signal(signed(START_BITS + 1))  # above the start
        reaches = Signal(len(MARKS))  # by mark: do the low bits reach its threshold?
        is_passed = Signal()
        passed = Signal(range(4 * (ABOVE + BELOW) + CELLS + 1))
        m.d.comb += [
            Cat(significand, field, sign, is_nan).eq(self.parts),
            entry.eq(chosen(self.cells, significand[low:-1])),
            binades.eq(field - self.start),
            reaches.eq(Cat(significand[:low] >= self.thresholds.word_select(mark, low) for mark in range(len(MARKS)))),
        ]
        now = Stage(m, self).crossed(
            "entry", entry=entry, reaches=reaches, binades=binades, is_zero=~significand[-1], sign=sign, is_nan=is_nan
        )
        is_large = now.binades > ABOVE
        m.d.comb += [
            is_passed.eq(now.entry[3] & chosen(now.reaches, now.entry[:2])),
            passed.eq(Cat(Const(0, 2), (now.binades + BELOW)[:3]) + now.entry[:3] + is_passed),
        ]
        now = now.crossed(
            "passed",
            passed=passed,
            is_small=now.is_zero | (now.binades < -BELOW),
            is_large=is_large,
            sign=now.sign,
            is_nan=now.is_nan,
        )
        code = sum((now.passed >= first + 4 * BELOW for first in FIRST), Const(0, 1))
        magnitude = Mux(now.is_small, 0, Mux(now.is_large, E2M1.max_code, code))
        m.d.comb += self.p.eq(Mux(now.is_nan, LARGEST, Cat(magnitude[: E2M1.bits - 1], now.sign)))
        return m
