"""A candidate of `spec.FourOverSix`: a block under one scale, and its quantization error.

Elements have eight magnitudes under a scale. These are computed once, and each lane selects one.
"""

from __future__ import annotations

from collections.abc import Mapping

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value, signed
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ...spec import E2M1, E4M3, FP32, FourOverSix
from ..config.nvfp4_encode import Nvfp4Config
from ..emission.modules import instantiated
from ..encode.operand import lane_name
from ..primitives.binary32.arithmetic import ONE_AND_A_HALF, Number, normalised, product
from ..primitives.binary32.limits import INF, limited, opened
from ..primitives.binary32.sums import LONG, added, difference, quotient
from ..primitives.register import Stage, enable_port
from .lanes import Component, encoded
from .thresholds import chosen

BEYOND = INF + (1 << FP32.man_bits)
"""A value above the binary32 range. Its difference from any binary32 number is also above the range."""


EXPONENT = signed(FP32.exp_bits + 1)
"""Shape of the exponent of an element times both scales."""


class GridUnit(wiring.Component):
    """The quantization grid of a scale: the values that elements have under it, v = ((element * s) * a) / C.

    Ports
    -----
    scale : in, the scale byte
    a : in, the largest magnitude of the tensor, which is finite
    grid : out, the values of the magnitudes 0, 0.5, 1, 1.5, 2, 3, 4 and 6, the first in the low bits
    """

    whole = True  # otherwise synthesis repeats the last steps of every value in every lane

    def __init__(self, config: Nvfp4Config) -> None:
        self.divisor = config.numerics.scale_max * int(E2M1.max_value)
        super().__init__({"scale": In(E4M3.bits), "a": In(FP32.bits), "grid": Out((E2M1.max_code + 1) * LONG)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        s, a = normalised(m, "s", self.scale[:-1], E4M3), normalised(m, "a", self.a[:-1], FP32)
        scaled = product(m, "scaled", s, a)
        half_more = product(m, "half_more", scaled, ONE_AND_A_HALF)
        for code in range(1, E2M1.max_code + 1):
            magnitude = E2M1.decode(code).magnitude  # 1 or 1.5 times a power of two
            places = magnitude.numerator.bit_length() - magnitude.denominator.bit_length()
            times = half_more if magnitude.numerator % 3 == 0 else scaled
            exponent = Signal(EXPONENT, name=f"exponent{code}")
            m.d.comb += exponent.eq(times.exponent + places)
            exact = limited(m, f"product{code}", Number(times.significand, exponent))
            value = quotient(m, f"value{code}", exact[: FP32.bits - 1], self.divisor)
            m.d.comb += self.grid.word_select(code, LONG).eq(Mux(exact >= INF, BEYOND, value))
        return m


class ElementError(wiring.Component):
    """The error of one element: |v - x| or its square.

    Ports
    -----
    x : in, the number, which is finite
    p : in, its code, of the same sign
    grid : in, from `GridUnit`
    error : out, a magnitude
    """

    def __init__(self, config: Nvfp4Config) -> None:
        self.rules = config.numerics
        grid = In((E2M1.max_code + 1) * LONG)
        ports = {"x": In(self.rules.source.bits), "p": In(E2M1.bits), "grid": grid, "error": Out(LONG)}
        super().__init__(ports)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        value = Signal(LONG)
        x = Cat(Const(0, FP32.bits - self.rules.source.bits), self.x[:-1], Const(0, 1))
        m.d.comb += value.eq(chosen(self.grid, self.p[:-1]))
        found = difference(m, "distance", value, x)
        m.d.comb += self.error.eq(POWERS[self.rules.four_over_six](m, found))
        return m


def _square(m: Module, magnitude: Value) -> Value:
    """The square of a magnitude, which is zero for subnormal numbers."""
    number = opened(magnitude)
    return limited(m, "square", product(m, "exact_square", number, number))


POWERS = {FourOverSix.MAE: lambda m, magnitude: magnitude, FourOverSix.MSE: _square}
"""The term of the error sum, from |v - x|."""


class ErrorSum(wiring.Component):
    """The sum of the previous errors and the next one.

    Ports
    -----
    a, b : in, magnitudes
    total : out, their sum
    """

    def __init__(self) -> None:
        super().__init__({"a": In(LONG), "b": In(LONG), "total": Out(LONG)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.d.comb += self.total.eq(added(m, "sum", self.a, self.b))
        return m


class Candidate(wiring.Component):
    """A block under one scale.

    Ports
    -----
    x : in, the numbers
    d, a : in, the constants of the tensor
    scale : in, the scale byte
    enable : in, enable of the registers inside
    p : out, the codes
    error : out, the sum of the errors in the order of elements; undefined if any number or ``a`` is NaN or Inf
    """

    def __init__(self, config: Nvfp4Config) -> None:
        self.config = config
        rules = config.numerics
        super().__init__(
            {
                "x": In(rules.block_size * rules.source.bits),
                "d": In(FP32.bits),
                "a": In(FP32.bits),
                "scale": In(E4M3.bits),
                **enable_port(config, config.candidate_stages),
                "p": Out(rules.block_size * E2M1.bits),
                "error": Out(LONG),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        rules = self.config.numerics
        unit = GridUnit(self.config)
        m.submodules.grid_unit = instantiated(unit, platform)
        now = Stage(m, self, control=("x", "d", "a", "scale"))
        m.d.comb += [unit.scale.eq(now.scale), unit.a.eq(now.a)]
        now, codes = encoded(m, platform, self, now, also={"grid": unit.grid})
        now = now.crossed("codes", grid=now.grid, **codes)
        codes = {name: now.values[name] for name in codes}
        errors = {}
        for lane, code in enumerate(codes.values()):
            element = ElementError(self.config)
            m.submodules[lane_name("error", lane, rules)] = instantiated(element, platform)
            x = now.x.word_select(lane, rules.source.bits)
            m.d.comb += [element.x.eq(x), element.p.eq(code), element.grid.eq(now.grid)]
            errors[lane_name("e", lane, rules)] = element.error
        now = now.crossed("errors", control=(), **codes, **errors)
        total, *left = errors
        for number, name in enumerate(left, start=1):
            adder = ErrorSum()
            m.submodules[f"sum{number}"] = instantiated(adder, platform)
            m.d.comb += [adder.a.eq(now.values[total]), adder.b.eq(now.values[name])]
            waiting = {name: now.values[name] for name in (*codes, *left[number:])}
            total = "total"
            now = now.crossed(f"sum{number}", **waiting, total=adder.total)
        m.d.comb += [self.p.eq(Cat(*(now.values[name] for name in codes))), self.error.eq(now.values[total])]
        return m


def better(
    m: Module, platform: object, component: Component, now: Stage, also: Mapping[str, Value] = {}
) -> tuple[Stage, dict[str, Value]]:
    """The stage of a component after both scales were tried, with the better scale and its codes. ``also`` are more
    values of the stage.

    The larger scale is better if its error is smaller. It is never better in a block with NaN or Inf.
    """
    config, rules = component.config, component.config.numerics
    numbers = [(rules.source, now.x.word_select(lane, rules.source.bits)) for lane in range(rules.block_size)]
    specials = [number[format.man_bits : -1].all() for format, number in [*numbers, (FP32, now.a)]]
    scales = {"scale": now.scale, "larger": now.larger}
    tried = {name: Candidate(config) for name in scales}
    for name, candidate in tried.items():
        m.submodules[f"{name}_candidate"] = instantiated(candidate, platform)
        m.d.comb += [getattr(candidate, port).eq(now.control[port]) for port in ("x", "d", "a")]
        m.d.comb += candidate.scale.eq(scales[name])
        if "enable" in candidate.signature.members:
            m.d.comb += candidate.enable.eq(component.enable)
    now = Stage(m, component, values={**scales, "is_special": Cat(*specials).any(), **also})
    for boundary in config.candidate_stages:
        now = now.crossed(boundary, **now.values)
    six, four = tried.values()
    is_better = Signal()
    m.d.comb += is_better.eq(~now.is_special & (four.error < six.error) & (four.error < INF))
    bits = rules.block.element.bits
    codes = {
        lane_name("p", lane, rules): Mux(is_better, *(one.p.word_select(lane, bits) for one in (four, six)))
        for lane in range(rules.block_size)
    }
    passed = {name: now.values[name] for name in also}
    return Stage(m, component, values={"scale": Mux(is_better, now.larger, now.scale), **passed}), codes
