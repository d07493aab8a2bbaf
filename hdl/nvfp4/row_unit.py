"""The row of thresholds (`threshold_row`) that a unit computes for the lanes."""

from __future__ import annotations

from collections.abc import Mapping

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Member, Out

from ...spec import E4M3, FP32
from ..config.nvfp4_encode import Nvfp4Config
from ..primitives.binary32.arithmetic import SIGNIFICAND
from ..primitives.register import enable_port
from .element import flags_of
from .threshold_row import CELL_BITS, CELLS, MARKS
from .thresholds import row_shapes


class RowUnit(wiring.Component):
    """Compute the row of the lanes from the scale and the constant of the tensor.

    Ports
    -----
    scale : in, the scale byte
    d : in, the constant of the tensor
    start, cells, thresholds : out, the row
    underflow : out, the largest magnitude whose quotient is zero, in the orders that divide numbers
    is_zero, is_infinite, is_nan, by_zero : out, the `FLAGS` of the order
    """

    def __init__(self, config: Nvfp4Config, more: Mapping[str, Member] = {}) -> None:
        self.config = config
        self.flags = [name for name in flags_of(config) if name != "nan_sign"]
        outputs: dict[str, Member] = {name: Out(shape) for name, shape in row_shapes(config).items()}
        flags = {name: Out(1) for name in self.flags}
        enable = enable_port(config, config.factor_stages)
        super().__init__({"scale": In(E4M3.bits), "d": In(FP32.bits), **enable, **more, **outputs, **flags})

    @staticmethod
    def placed(m: Module, name: str, quarters: Value) -> tuple[Value, Value]:
        """The fraction of the threshold of a mark, and whether the threshold is in the upper of two binades. It is the
        next whole number from so many ``quarters`` on, or the next even one in the upper binade.
        """
        whole = Signal(SIGNIFICAND + 1, name=f"{name}_whole")
        threshold = Signal(SIGNIFICAND, name=f"{name}_threshold")
        m.d.comb += [whole.eq((quarters + 3)[2:]), threshold.eq(Mux(whole[-1], (whole + 1)[1:], whole))]
        return threshold[:-1], whole[-1]

    def row(self, m: Module, marks: list[tuple[Value, Value]], exponent: Value) -> None:
        """Connect the row, from the marks and the exponent of their factor."""
        source = self.config.numerics.source
        dropped, low = FP32.man_bits - source.man_bits, source.man_bits - 3
        upper = Signal(range(len(MARKS) + 1))
        m.d.comb += upper.eq(sum((is_upper for _, is_upper in marks), Const(0, 1)))
        places = []
        for number, (fraction, _) in enumerate(marks):
            place = Signal(CELLS, name=f"place{number}")  # one-hot: its cell
            shorter = Signal(low + 4, name=f"fraction{number}")  # rounded up to a fraction of a shorter source
            m.d.comb += [
                place.eq(Const(1, CELLS) << fraction[-3:]),
                shorter.eq(fraction[dropped:] + fraction[:dropped].any()),
                self.thresholds.word_select(number, low).eq(shorter[:low]),
            ]
            places.append((place, shorter[low:] == fraction[-3:]))
        for number in range(CELLS):
            passed = sum((place[:number].any() for place, _ in places if number), Const(0, 1)) - upper
            has = Cat(*(place[number] & is_there for place, is_there in places)).any()
            m.d.comb += self.cells.word_select(number, CELL_BITS).eq(Cat((passed + 4 * upper.any())[:3], has))
        m.d.comb += self.start.eq(FP32.bias - 3 - exponent + upper.any())
