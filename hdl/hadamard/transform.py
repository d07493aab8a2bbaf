"""The random Hadamard transform of 16 BF16 numbers: exact sums, each rounded once.

Numbers that cancel may leave others of any exponent, so no sum of a small width is exact. Here numbers are integers in
units of the smallest number. Four levels of sums and differences, as wide as the range of BF16, are shared by all
results.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Unpack

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value, signed
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ...spec import BF16, Hadamard
from ..config.hadamard import HadamardConfig, HadamardFields, hadamard_config
from ..emission.modules import instantiated
from ..encode.operand import lane_name
from ..primitives.pipeline import Pipeline
from ..primitives.register import Stage
from .rounding import FLAGS, INF, Window, round_window
from .schedule import LEVELS, LIMB, LIMBS, NUMBER, SUM

SIGNIFICAND = BF16.man_bits + 1


def significand(m: Module, x: Value, is_negated: Value) -> tuple[Signal, Signal]:
    """The significand of a number with its sign, which may change, and the place of its lowest bit."""
    fraction, field, sign = x[: BF16.man_bits], x[BF16.man_bits : -1], x[-1]
    magnitude = Cat(fraction, field.any())
    number = Signal(signed(SIGNIFICAND + 1))
    place = Signal(BF16.exp_bits)
    m.d.comb += [number.eq(Mux(sign ^ is_negated, -magnitude, magnitude)), place.eq(field - field.any())]
    return number, place


def butterfly(m: Module, now: Stage, names: Sequence[str], level: int) -> dict[str, Signal]:
    """The sums and differences of a level, each with one bit more than what it adds."""
    sums = {}
    for lane, name in enumerate(names):
        first, second = now.values[names[lane & ~(1 << level)]], now.values[names[lane | 1 << level]]
        value = first - second if lane >> level & 1 else first + second
        sums[name] = Signal(value.shape(), name=f"level{level + 1}_{name}")
        m.d.comb += sums[name].eq(value)
    return sums


class IntegerNumber(wiring.Component):
    """A number as an integer in units of the smallest number. The result for NaN and Inf is arbitrary.

    Ports
    -----
    x : in, the number
    is_negated : in, whether its sign changes
    y : out, the integer
    """

    def __init__(self, config: HadamardConfig) -> None:
        super().__init__({"x": In(BF16.bits), "is_negated": In(1), "y": Out(signed(NUMBER))})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        number, place = significand(m, self.x, self.is_negated)
        m.d.comb += self.y.eq(number << place)
        return m


class RoundedSum(wiring.Component):
    """A quarter of a sum of integers, rounded to nearest even (`round_window`).

    Ports
    -----
    total : in, the sum
    is_nan, is_infinite, inf_sign : in, flags that replace the sum
    y : out, the number
    """

    def __init__(self, config: HadamardConfig) -> None:
        self.config = config
        super().__init__({"total": In(signed(SUM)), **dict.fromkeys(FLAGS, In(1)), "y": Out(BF16.bits)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        sign = self.total[-1]
        filled = Cat(self.total, sign.replicate(LIMBS * LIMB - SUM))
        limbs = [filled.word_select(number, LIMB) for number in range(LIMBS)]
        round_window(m, self, self.first(m, limbs, sign), LIMB - 1)
        return m

    def first(self, m: Module, limbs: list[Value], sign: Value) -> Window:
        """The first limb with a bit that differs from the sign, with the one below it."""
        number = Signal(range(len(limbs)), name="limb")
        window = Signal(2 * LIMB)
        rest = Signal()
        nothing = Const(0, LIMB)
        m.d.comb += window.eq(Cat(nothing, limbs[0]))
        below: Value = Const(0, 1)
        for place, limb in enumerate(limbs[1:], start=1):
            if place > 1:
                below = below | limbs[place - 2].any()
            with m.If((limb ^ sign.replicate(LIMB)).any()):  # the last assignment wins
                m.d.comb += [number.eq(place), window.eq(Cat(limbs[place - 1], limb)), rest.eq(below)]
        return Window(~number.any(), number, window, rest, sign)


class HadamardTransform(Pipeline[HadamardConfig]):
    """Transform 16 BF16 numbers. It is combinational without registers, and has the handshake of `BlockConverter` with
    registers.

    Parameters
    ----------
    config, profile, fields : the transform, as for `hdl.hadamard_config`, with its errors

    Ports
    -----
    x : in, 16 numbers, number 0 in the low bits
    y : out, 16 numbers, number 0 in the low bits
    """

    SIGNALS = frozenset(("specials",))

    def __init__(
        self, config: str | Hadamard | HadamardConfig, profile: str | None = None, **fields: Unpack[HadamardFields]
    ) -> None:
        super().__init__(hadamard_config(config, profile, **fields))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        rules, lanes = self.config.numerics, range(self.config.numerics.block_size)
        names = [lane_name("sum", lane, rules) for lane in lanes]
        now = Stage(m, self, control=("x",)).crossed("input")
        numbers = [now.x.word_select(lane, BF16.bits) for lane in lanes]
        specials = self.specials(m, numbers)
        integers = {}
        for lane, name in enumerate(names):
            integer = IntegerNumber(self.config)
            m.submodules[lane_name("integer", lane, rules)] = instantiated(integer, platform)
            m.d.comb += [integer.x.eq(numbers[lane]), integer.is_negated.eq(rules.signs >> lane & 1)]
            integers[name] = integer.y
        now = now.crossed("aligned", control=(), **integers, specials=specials)
        for level in range(LEVELS):
            sums = butterfly(m, now, names, level)
            now = now.crossed(f"level{level + 1}", **sums, specials=now.specials)
        results = {}
        for lane, name in enumerate(names):
            result = RoundedSum(self.config)
            m.submodules[lane_name("result", lane, rules)] = instantiated(result, platform)
            flags = Cat(result.is_nan, result.is_infinite, result.inf_sign)
            m.d.comb += [result.total.eq(now.values[name]), flags.eq(now.specials.word_select(lane, len(FLAGS)))]
            results[lane_name("y", lane, rules)] = result.y
        now = now.crossed("output", control=(), **results)
        m.d.comb += [self.y.word_select(lane, BF16.bits).eq(y) for lane, y in enumerate(now.values.values())]
        if self.config.latency:
            self.handshake(m)
        return m

    def specials(self, m: Module, numbers: list[Value]) -> Value:
        """The flags of every result."""
        count, rules = len(numbers), self.config.numerics
        is_nan, infinite = Signal(name="any_nan"), Signal(count, name="infinite")
        found = Signal(len(FLAGS) * count, name="specials")
        negative = [Signal(count, name=f"negative_inf{j}") for j in range(count)]
        positive = [Signal(count, name=f"positive_inf{j}") for j in range(count)]
        magnitudes = [number[:-1] for number in numbers]
        m.d.comb += [
            is_nan.eq(Cat(magnitude > INF for magnitude in magnitudes).any()),
            infinite.eq(Cat(magnitude == INF for magnitude in magnitudes)),
        ]
        for j in range(count):
            signs = Cat(number[-1] ^ rules.is_negative(i, j) for i, number in enumerate(numbers))
            both = negative[j].any() & positive[j].any()
            m.d.comb += [
                negative[j].eq(infinite & signs),
                positive[j].eq(infinite & ~signs),
                found.word_select(j, len(FLAGS)).eq(Cat(is_nan | both, infinite.any(), negative[j].any())),
            ]
        return found
