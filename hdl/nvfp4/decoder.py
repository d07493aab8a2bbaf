"""The NVFP4 block decoder: the factor of the elements, its product with every magnitude, and a lane for each code,
which selects a product.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol, Unpack

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value, signed
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ...spec import E2M1, E4M3, FP32, BlockFormat, Convention, DecodedNan, FloatFormat, NumberFormat, Nvfp4Decode
from ..config.nvfp4_decode import Nvfp4DecoderConfig, Nvfp4DecoderFields, nvfp4_decoder_config
from ..emission.modules import instantiated
from ..encode.operand import lane_name
from ..primitives.binary32.arithmetic import SIGNIFICAND, Number, divided, normalised, product
from ..primitives.binary32.limits import INF, PATTERN, doubled, halved, limited, opened, saturated, tripled
from ..primitives.pipeline import Pipeline
from ..primitives.register import Stage, held
from .thresholds import chosen


def _quiet(to: FloatFormat) -> int:
    return to.inf_field | 1 << to.man_bits - 1


def _with_payload(to: FloatFormat) -> int:
    """The only NaN of E4M3 has a fraction of all ones."""
    return _quiet(to) | ((1 << E4M3.man_bits) - 1) << to.man_bits - E4M3.man_bits


NANS: dict[DecodedNan, Callable[[FloatFormat], tuple[int, int]]] = {
    DecodedNan.CANONICAL: lambda to: (_quiet(to), _quiet(to)),
    DecodedNan.ALL_ONES: lambda to: (to.magnitude_mask, to.magnitude_mask),
    DecodedNan.PAYLOAD: lambda to: (_with_payload(to), _quiet(to)),
}
"""The magnitude of NaN in a destination, for a NaN block scale and for other NaN."""

MAGNITUDES = 1 << E2M1.bits - 1
"""Number of magnitudes of an element."""


NEVER = Const(0, 1)


@dataclass(frozen=True)
class Factor:
    """A finite result before its rounding, and flags that replace it: Inf, zero, and NaN (apart from a NaN block
    scale).
    """

    exact: Number
    is_infinite: Value
    is_zero: Value
    is_nan: Value


def multiplied(m: Module, s: Number, g: Value) -> Factor:
    magnitude = g[:-1]
    exact = product(m, "exact", s, normalised(m, "g", magnitude, FP32))
    is_infinite = magnitude == INF
    return Factor(exact, is_infinite, NEVER, (magnitude > INF) | (is_infinite & s.is_zero))


def quotient(m: Module, s: Number, g: Value) -> Factor:
    magnitude = g[:-1]
    divisor = normalised(m, "g", magnitude, FP32)
    # one digit more than a significand, as the first may be zero, a guard digit, and a sticky bit
    digits = Const(0, SIGNIFICAND + 2)
    start = Cat(Const(0, SIGNIFICAND - len(s.significand) - 1), s.significand, Const(0, 1))
    ratio, rest = divided(m, "ratio", digits, divisor.significand, start)
    is_below = ~ratio[-1]
    significand = Cat(rest.any(), ratio)
    exponent = Signal(signed(max(len(s.exponent), len(divisor.exponent)) + 2), name="ratio_exponent")
    m.d.comb += exponent.eq(s.exponent - divisor.exponent - is_below)
    exact = Number(Mux(is_below, Cat(Const(0, 1), significand[:-1]), significand), exponent)
    is_nan = (magnitude > INF) | (divisor.is_zero & s.is_zero)
    return Factor(exact, divisor.is_zero, s.is_zero | (magnitude == INF), is_nan)


FACTORS: dict[Convention, Callable[..., Factor]] = {
    Convention.MULTIPLIER: multiplied,
    Convention.AMAX: multiplied,
    Convention.DIVISOR: quotient,
    Convention.NONE: lambda m, s, g: Factor(s, NEVER, NEVER, NEVER),
}
"""The block scale combined with the tensor scale, by the convention of the tensor scale."""


class ScaledFactor(wiring.Component):
    """The block scale combined with the tensor scale: s * g, s / g, or s alone, by the convention.

    Ports
    -----
    scale : in, the scale byte
    g : in, the tensor scale, if the convention has one
    factor : out, the magnitude of the result
    is_negative, is_nan : out, its sign, and whether it is NaN
    scale_is_nan : out, whether the block scale is NaN
    nan_sign : out, the sign of a result that is NaN
    """

    def __init__(self, config: Nvfp4DecoderConfig) -> None:
        self.rules = config.numerics
        self.has_tensor_scale = self.rules.convention is not Convention.NONE
        tensor_scale = {"g": In(FP32.bits)} if self.has_tensor_scale else {}
        flags = dict.fromkeys(("is_negative", "is_nan", "scale_is_nan", "nan_sign"), Out(1))
        super().__init__({"scale": In(E4M3.bits), **tensor_scale, "factor": Out(PATTERN), **flags})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        s = normalised(m, "s", self.scale[:-1], E4M3)
        g = self.g if self.has_tensor_scale else None
        found = FACTORS[self.rules.convention](m, s, g)
        finite = saturated(m, "finite", limited(m, "scaled", found.exact))
        m.d.comb += [
            self.factor.eq(Mux(found.is_infinite, INF, Mux(found.is_zero, 0, finite))),
            self.is_negative.eq(self.scale[-1] if g is None else self.scale[-1] ^ g[-1]),
            self.scale_is_nan.eq(self.scale[:-1] == E4M3.nan_code),
            self.is_nan.eq(self.scale_is_nan | found.is_nan),
            self.nan_sign.eq(self.scale_is_nan & self.scale[-1] if self.rules.nan is DecodedNan.PAYLOAD else 0),
        ]
        return m


class ReducedFactor(wiring.Component):
    """A factor times 1 / C, a constant rounded to binary32.

    Ports
    -----
    scaled : in, a magnitude, which is not NaN
    factor : out, the product
    """

    def __init__(self, config: Nvfp4DecoderConfig) -> None:
        self.largest = config.numerics.scale_max * int(E2M1.max_value)
        super().__init__({"scaled": In(PATTERN), "factor": Out(PATTERN)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        exponent = -self.largest.bit_length()  # C is not a power of two
        inverse = Number(
            Const(round(Fraction(1 << SIGNIFICAND - 1 - exponent, self.largest)), SIGNIFICAND),
            Const(exponent, signed(FP32.exp_bits + 1)),
        )
        reduced = limited(m, "reduced", product(m, "exact", opened(self.scaled), inverse))
        m.d.comb += self.factor.eq(Mux(self.scaled == INF, INF, reduced))
        return m


class ProductUnit(wiring.Component):
    """The factor times every magnitude of an element, which lanes share.

    Ports
    -----
    factor : in, a magnitude
    is_nan : in, whether the factor is NaN
    scale_is_nan : in, whether the block scale is NaN
    products : out, the results of the magnitudes 0, 0.5, 1, 1.5, 2, 3, 4 and 6, the first in the low bits
    is_nan_of_zero : out, whether the first result is NaN
    """

    whole = True  # otherwise synthesis repeats the last steps of every product in every lane

    def __init__(self, config: Nvfp4DecoderConfig) -> None:
        self.rules = config.numerics
        told = {"factor": In(PATTERN), "is_nan": In(1), "scale_is_nan": In(1)}
        products = Out(MAGNITUDES * (self.rules.destination.bits - 1))
        super().__init__({**told, "products": products, "is_nan_of_zero": Out(1)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        one, is_infinite = self.factor, Signal()
        two = doubled(m, "two", one)
        three = tripled(m, "three", one)
        half, one_and_half = halved(m, "half", one), halved(m, "one_and_half", three)
        four, six = doubled(m, "four", two), doubled(m, "six", three)
        nan = Signal(self.rules.destination.bits - 1)
        of_scale, other = NANS[self.rules.nan](self.rules.destination)
        results = []
        for number, exact in enumerate((half, one, one_and_half, two, three, four, six), start=1):
            finite = self.narrowed(m, f"result{number}", saturated(m, f"saturated{number}", exact))
            infinite = self.rules.destination.inf_field
            results.append(Mux(self.is_nan, nan, Mux(is_infinite, infinite, finite))[: len(nan)])
        m.d.comb += [
            is_infinite.eq(self.factor == INF),
            nan.eq(Mux(self.scale_is_nan, of_scale, other)),
            self.is_nan_of_zero.eq(self.is_nan | is_infinite),
            self.products.eq(Cat(Mux(self.is_nan_of_zero, nan, 0)[: len(nan)], *results)),
        ]
        return m

    def narrowed(self, m: Module, name: str, pattern: Value) -> Value:
        """A binary32 magnitude rounded to nearest even in the destination, which has the same exponent range."""
        rest = FP32.man_bits - self.rules.destination.man_bits
        result = Signal(self.rules.destination.bits - 1, name=name)
        up = pattern[rest - 1] & (pattern[rest] | pattern[: rest - 1].any()) if rest else 0
        m.d.comb += result.eq(pattern[rest:] + up)
        return result


class ElementChoice(wiring.Component):
    """The number of one code.

    Ports
    -----
    p : in, the code
    products, is_nan_of_zero : in, from `ProductUnit`
    is_nan, is_negative : in, from `ScaledFactor`
    nan_sign : in, the sign of a result that is NaN
    y : out, the number
    """

    def __init__(self, config: Nvfp4DecoderConfig) -> None:
        bits = config.numerics.destination.bits
        flags = dict.fromkeys(("is_nan_of_zero", "is_nan", "is_negative", "nan_sign"), In(1))
        super().__init__({"p": In(E2M1.bits), "products": In(MAGNITUDES * (bits - 1)), **flags, "y": Out(bits)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        is_nan = Mux(self.p[:-1].any(), self.is_nan, self.is_nan_of_zero)
        sign = Mux(is_nan, self.nan_sign, self.p[-1] ^ self.is_negative)
        m.d.comb += self.y.eq(Cat(chosen(self.products, self.p[:-1]), sign))
        return m


class Component(Protocol):
    """A component with lanes."""

    config: Nvfp4DecoderConfig
    enable: Signal


def decoded(m: Module, platform: object, component: Component, place: Iterable[str]) -> tuple[Stage, dict[str, Value]]:
    """The stage of a component with the number of each lane, and these numbers.

    ``place`` are inputs that belong to a beat. If ``is_first`` is one of them, lanes keep what they receive with the
    first beat of a block.
    """
    config, rules = component.config, component.config.numerics
    width, kept = rules.block.element.bits, ("p", *place)
    scaled, unit = ScaledFactor(config), ProductUnit(config)
    m.submodules.scaled_factor = instantiated(scaled, platform)
    m.submodules.product_unit = instantiated(unit, platform)

    now = Stage(m, component, control=("p", "scale", "g", *place)).crossed("input")
    m.d.comb += scaled.scale.eq(now.scale)
    if scaled.has_tensor_scale:
        m.d.comb += scaled.g.eq(now.g)
    names = ("factor", "is_nan", "scale_is_nan", "is_negative", "nan_sign")
    now = now.crossed("scaled", control=kept, **{name: getattr(scaled, name) for name in names})
    if rules.convention is Convention.AMAX:
        reduced = ReducedFactor(config)
        m.submodules.reduced_factor = instantiated(reduced, platform)
        m.d.comb += reduced.scaled.eq(now.factor)
        now = now.crossed("reduced", **now.values | {"factor": reduced.factor})
    m.d.comb += [getattr(unit, name).eq(now.values[name]) for name in ("factor", "is_nan", "scale_is_nan")]
    told = {"products": unit.products, "is_nan_of_zero": unit.is_nan_of_zero}
    told |= {name: now.values[name] for name in ("is_nan", "is_negative", "nan_sign")}
    if "is_first" in now.control:
        told = held(m, component.enable & now.is_first, "products", told)
        now = now.crossed("products")
    else:
        now = now.crossed("products", **told)
        told = now.values
    results = {}
    for lane in range(config.lanes):
        element = ElementChoice(config)
        m.submodules[lane_name("element", lane, rules)] = instantiated(element, platform)
        m.d.comb += element.p.eq(now.p.word_select(lane, width))
        m.d.comb += [getattr(element, name).eq(value) for name, value in told.items()]
        results[lane_name("y", lane, rules)] = element.y
    return now, results


class Nvfp4Decoder(Pipeline[Nvfp4DecoderConfig]):
    """Convert a scale byte and E2M1 codes under the scale of a tensor to a block of numbers. It is combinational
    without registers, and has the handshake of `BlockConverter` with registers.

    Parameters
    ----------
    config, profile, fields : the decoder, as for `hdl.nvfp4_decoder_config`, with its errors

    Ports
    -----
    p : in, ``block_size`` codes, element 0 in the low bits
    scale : in, the scale byte
    g : in, the scale of the tensor, if the convention has one
    y : out, ``block_size`` numbers of the destination, element 0 in the low bits
    """

    SIGNALS = frozenset(("factor", "products"))

    def __init__(
        self,
        config: str | BlockFormat | NumberFormat | Nvfp4Decode | Nvfp4DecoderConfig,
        profile: str | None = None,
        **fields: Unpack[Nvfp4DecoderFields],
    ) -> None:
        super().__init__(nvfp4_decoder_config(config, profile, **fields))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config, bits = self.config, self.config.numerics.destination.bits
        now, results = decoded(m, platform, self, ())
        now = now.crossed("output", control=(), **results)
        m.d.comb += [self.y.word_select(lane, bits).eq(value) for lane, value in enumerate(now.values.values())]
        self.store(m)
        if config.latency:
            self.handshake(m)
        return m
