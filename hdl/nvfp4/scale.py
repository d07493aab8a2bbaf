"""The scale byte of an NVFP4 block in the orders that multiply with a constant of the tensor (`spec.Order`)."""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ...spec import E4M3, FP32, FloatFormat, FourOverSix, Order
from ..cast.number import NumberCast
from ..config.cast import cast_config
from ..config.nvfp4_encode import SCALE_CAST, Nvfp4Config
from ..emission.modules import instantiated
from ..primitives.binary32.arithmetic import (
    ONE_AND_A_HALF,
    SIGNIFICAND,
    Number,
    divided,
    joined_products,
    leading_zeros,
    normalised,
    packed,
    partial_products,
    product,
    rounded,
)
from ..primitives.register import Stage, enable_port

LARGEST = E4M3.max_code
assert E4M3.nan_code is not None
NAN = E4M3.nan_code
DEFAULT = E4M3.bias - 3 << E4M3.man_bits
"""2**-3."""


def sixth(m: Module, magnitude: Value, source: FloatFormat) -> Value:
    """fl(b / 6), the binary32 pattern for a finite magnitude.

    The dividend is shifted up until the integer quotient has all bits of a significand, or its last place is the
    smallest subnormal number.
    """
    fraction, field = magnitude[: source.man_bits], magnitude[source.man_bits :]
    room = Signal(FP32.exp_bits, name="sixth_room")  # places from the last place of b to the smallest subnormal number
    places = Signal(2, name="sixth_places")
    dividend = Signal(SIGNIFICAND + 3, name="sixth_dividend")
    significand = Cat(Const(0, FP32.man_bits - source.man_bits), fraction, field.any())
    wanted = Mux(significand[-2:].all(), 2, 3)
    m.d.comb += [
        room.eq(Mux(field.any(), field - 1, 0)),
        places.eq(Mux(room < wanted, room, wanted)),
        dividend.eq(significand << places),
    ]
    quotient, remainder = divided(m, "sixth", dividend, 6)
    up = (remainder > 3) | ((remainder == 3) & quotient[0])
    pattern = Signal(FP32.bits - 1, name="sixth")
    m.d.comb += pattern.eq(Cat(Const(0, FP32.man_bits), (room - places)[: FP32.exp_bits]) + quotient + up)
    return pattern


class Nvfp4Scale(wiring.Component):
    """The scale of a block in the orders ``te`` and ``paper``: the largest magnitude, or a sixth of it, times the
    constant k of the tensor, which is a normal number.

    Ports
    -----
    amax : in, the largest magnitude of the block, which is not NaN
    k : in, the constant of the tensor
    scale : out, the scale byte
    larger : out, the scale byte for 1.5 times the product; if the rules try both 4 and 6
    """

    def __init__(self, config: Nvfp4Config) -> None:
        self.rules = config.numerics
        scales = ("scale", *(["larger"] if self.rules.four_over_six is not FourOverSix.OFF else []))
        self.config = config
        enable = enable_port(config, config.scale_stages)
        told = {"amax": In(self.rules.source.bits - 1), "k": In(FP32.bits), **enable}
        super().__init__({**told, **dict.fromkeys(scales, Out(E4M3.bits))})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        source = self.rules.source
        now = Stage(m, self, control=("amax", "k"))
        is_inf = now.amax[source.man_bits :].all()
        magnitude, format = now.amax, source
        if self.rules.order is not Order.TE:
            now = now.crossed("sixth", control=("k",), b=sixth(m, now.amax, source), is_inf=is_inf)
            magnitude, format, is_inf = now.b, FP32, now.is_inf
        registered = self.config.microarchitecture.registered_after
        zeros = {"zeros": leading_zeros(m, "b", magnitude[: format.man_bits])} if "leading" in registered else {}
        now = now.crossed("leading", control=("k",), b=magnitude, is_inf=is_inf, **zeros)
        patterns, now = self.patterns(m, now, format)
        for name, pattern in now.crossed("packed", **patterns).values.items():
            cast = [stage for stage in SCALE_CAST if f"scale_{stage}" in registered]
            rounding = NumberCast(cast_config(E4M3, registered_after=cast))
            rounding.kind = "scale_rounding"
            m.submodules[f"{name}_rounding"] = instantiated(rounding, platform)
            m.d.comb += [rounding.x.eq(pattern), getattr(self, name).eq(self.replaced(rounding.y))]
            if cast:
                m.d.comb += rounding.enable.eq(self.enable)
        return m

    def patterns(self, m: Module, now: Stage, format: FloatFormat) -> tuple[dict[str, Value], Stage]:
        """The `packed` products by scale, and the stage after them. The magnitude b has this format; the product of Inf
        is a large number.
        """
        is_inf, b = now.is_inf, normalised(m, "b", now.b, format, zeros=now.values.get("zeros"))
        k = normalised(m, "k", now.k[:-1], FP32, places=0)
        exponents = {"b_exponent": b.exponent, "k_exponent": k.exponent}
        now = now.crossed("normalised", control=(), is_inf=is_inf, b=b.significand, k=k.significand, **exponents)
        is_cut = "partials" in self.config.microarchitecture.registered_after
        parts = partial_products(now.b, now.k) if is_cut else {}
        now = now.crossed("partials", **now.values, **parts)
        b, k = Number(now.b, now.b_exponent), Number(now.k, now.k_exponent)
        exact = product(m, "t", b, k, joined_products(now.values) if parts else None)
        now = now.crossed("ratio", is_inf=now.is_inf, significand=exact.significand, exponent=exact.exponent)
        t = rounded(m, "t", Number(now.significand, now.exponent))
        now = now.crossed("nearest", is_inf=now.is_inf, significand=t.significand, exponent=t.exponent)
        t = Number(now.significand, now.exponent)
        ratios = {"scale": t}
        if "larger" in self.signature.members:
            ratios["larger"] = rounded(m, "larger_t", product(m, "larger_t", t, ONE_AND_A_HALF))
        return {name: Mux(now.is_inf, FP32.max_code, packed(ratio)) for name, ratio in ratios.items()}, now

    def replaced(self, scale: Value) -> Value:
        """The scale of the order, from the product that is rounded to a scale."""
        return scale


class DefaultedScale(Nvfp4Scale):
    """The scale of a block in the order ``compressed_tensors``: as in ``paper``, but a scale of zero becomes 2**-3. The
    constant k may be 0, and the largest magnitude may be NaN, which is above Inf.
    """

    def replaced(self, scale: Value) -> Value:
        source = self.rules.source
        is_special = self.amax[source.man_bits :].all()
        is_nan = is_special & self.amax[: source.man_bits].any()
        no_k = ~self.k[:-1].any()
        scale = Mux(scale.any() & ~no_k, scale, DEFAULT)
        return Mux(is_special & (is_nan | no_k), Cat(Const(NAN, E4M3.bits - 1), ~is_nan), scale)
