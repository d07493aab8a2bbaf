"""NVFP4 elements with stochastic rounding.

Random bits are added below the last place of an element. So only the bits of the product down to there are used, and
whether its rounding to binary32 carries into them.
"""

from __future__ import annotations

from amaranth.hdl import Const, Module, Mux, Signal, signed
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ...spec import E2M1
from ..config.nvfp4_encode import Nvfp4Config
from ..primitives.binary32.arithmetic import SIGNIFICAND, Number, normalised, product
from .element import LARGEST, SUBNORMAL_PLACES, with_specials
from .factor import EXPONENT


class RandomElement(wiring.Component):
    """One element: the number times the factor, rounded to binary32, with random bits added below the element.

    Ports
    -----
    x : in, the number
    significand, exponent : in, the factor
    random : in, the random bits
    p : out, the code
    """

    def __init__(self, config: Nvfp4Config) -> None:
        self.config = config
        factor = {"significand": In(SIGNIFICAND), "exponent": In(EXPONENT)}
        random = {"random": In(config.numerics.random_bits)}
        super().__init__({"x": In(config.numerics.source.bits), **factor, **random, "p": Out(E2M1.bits)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        source, count = self.config.numerics.source, self.config.numerics.random_bits
        size = E2M1.man_bits + 1 + count
        # SUBNORMAL_PLACES is for one bit below the element
        x = normalised(m, "x", self.x[:-1], source, places=SUBNORMAL_PLACES - 1 + count)
        y = product(m, "y", x, Number(self.significand, self.exponent))
        last = len(y.significand) - SIGNIFICAND  # the place of the last bit of binary32
        kept, below = y.significand[last:], y.significand[:last]
        carries = kept[:-size].all() & below[-1] & (kept[0] | below[:-1].any())
        top = Signal(size + 1)
        binade = Signal(signed(len(y.exponent)))
        places = Signal(range(size + 2))
        total = Signal(size + 1)
        code = Signal(E2M1.bits)
        magnitude = Signal(E2M1.bits - 1)
        m.d.comb += [
            top.eq(kept[-size:] + carries),
            binade.eq(y.exponent - E2M1.emin),
            places.eq(Mux(binade[-1], Mux(binade < -size, size + 1, -binade), 0)),
            total.eq((top >> places) + self.random),
            # a binade has two codes, and the first binade with a leading bit begins at two
            code.eq(total[count:] + Mux(binade[-1], Const(0, 3), binade[:2] << 1)),
        ]
        is_large = self.x[source.man_bits : -1].all() | (~binade[-1] & (binade[2:].any() | binade[:2].all())) | code[-1]
        m.d.comb += [
            magnitude.eq(Mux(x.is_zero, 0, Mux(is_large, LARGEST, code))),
            self.p.eq(with_specials(self, self.config, magnitude)),
        ]
        return m
