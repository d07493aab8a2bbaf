"""The random Hadamard transform of 16 BF16 numbers: exact sums, each rounded once.

Numbers that cancel may leave others of any exponent, so no sum of a small width is exact. Here numbers are integers in
units of the smallest number. Four levels of sums and differences, as wide as the range of BF16, are shared by all
results.
"""

from __future__ import annotations

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

SIGNIFICAND = BF16.man_bits + 1
PLACES = BF16.max_code >> BF16.man_bits
"""Exponents of finite numbers."""
INTEGER = PLACES - 1 + SIGNIFICAND + 1
"""Bits of a number with its sign."""
LEVELS = 4
SUM = INTEGER + LEVELS
QUARTER = 2
"""Bits of a quarter of a sum below the smallest number."""
FLAGS = 3
"""Flags of a sum: NaN, Inf, and the sign of Inf."""
LIMB = 16
"""Bits of a sum that are searched together for the leading bit."""
INF, NAN = BF16.inf_field, BF16.inf_field | 1 << BF16.man_bits - 1


class IntegerNumber(wiring.Component):
    """A number as an integer in units of the smallest number. The result for NaN and Inf is arbitrary.

    Ports
    -----
    x : in, the number
    is_negated : in, whether its sign changes
    y : out, the integer
    """

    def __init__(self, config: HadamardConfig) -> None:
        super().__init__({"x": In(BF16.bits), "is_negated": In(1), "y": Out(signed(INTEGER))})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        fraction, field, sign = self.x[: BF16.man_bits], self.x[BF16.man_bits : -1], self.x[-1]
        magnitude = Cat(fraction, field.any())
        number = Signal(signed(SIGNIFICAND + 1))
        place = Signal(BF16.exp_bits)
        m.d.comb += [
            number.eq(Mux(sign ^ self.is_negated, -magnitude, magnitude)),
            place.eq(field - field.any()),
            self.y.eq(number << place),
        ]
        return m


class RoundedSum(wiring.Component):
    """A quarter of a sum of integers, rounded to nearest even.

    The magnitude of a negative sum is its complement plus one. The one carries into the bits that are kept if no lower
    bit is set, and ends below them otherwise.

    Ports
    -----
    total : in, the sum
    is_nan, is_infinite, inf_sign : in, flags that replace the sum
    y : out, the number
    """

    def __init__(self, config: HadamardConfig) -> None:
        flags = dict.fromkeys(("is_nan", "is_infinite", "inf_sign"), In(1))
        super().__init__({"total": In(signed(SUM)), **flags, "y": Out(BF16.bits)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        sign = self.total[-1]
        count = -(-(SUM - 1) // LIMB)
        filled = Cat(self.total, sign.replicate(count * LIMB - SUM))
        limbs = [filled.word_select(number, LIMB) for number in range(count)]
        is_first, number, window, rest = self.first(m, limbs, sign)
        leading = Signal(range(LIMB))
        most = SIGNIFICAND - 1 + QUARTER  # the first bit of a normal number; smaller numbers begin there too
        places = Signal(range(LIMB))
        moved = Signal(2 * LIMB)
        kept = Signal(SIGNIFICAND + 2)
        sticky = Signal()
        pattern = Signal(BF16.bits + 1)
        m.d.comb += leading.eq(LIMB - 1)
        for place in range(LIMB):
            with m.If(window[LIMB + place] ^ sign):  # the last assignment wins: the one for the leading bit
                m.d.comb += leading.eq(LIMB - 1 - place)
        low = SIGNIFICAND + 1
        m.d.comb += [
            places.eq(Mux(is_first & (leading > LIMB - 1 - most), LIMB - 1 - most, leading)),
            moved.eq(window << places),
            sticky.eq(moved[:-low].any() | rest),
            kept.eq((moved[-low:] ^ sign.replicate(low)) + (sign & ~sticky)),
            pattern.eq(
                Cat(Const(0, BF16.man_bits), Cat(Const(0, LIMB.bit_length() - 1), number) + LIMB - 1 - most - places)
                + kept[1:]
                + (kept[0] & (kept[1] | sticky))
            ),
            self.y.eq(
                Mux(
                    self.is_nan,
                    NAN,
                    Mux(
                        self.is_infinite,
                        Cat(Const(INF, BF16.bits - 1), self.inf_sign),
                        Cat(Mux(pattern >= INF, INF, pattern)[: BF16.bits - 1], sign),
                    ),
                )
            ),
        ]
        return m

    def first(self, m: Module, limbs: list[Value], sign: Value) -> tuple[Value, Value, Value, Value]:
        """For the first limb with a bit that differs from the sign: whether it is limb 0, its number, the limb with the
        one below it, and whether any lower bit is set.
        """
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
        return ~number.any(), number, window, rest


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
            sums = {name: Signal(signed(INTEGER + 1 + level), name=f"level{level + 1}_{name}") for name in names}
            for lane, name in enumerate(names):
                pair = names[lane & ~(1 << level)], names[lane | 1 << level]
                first, second = (now.values[one].as_signed() for one in pair)
                m.d.comb += sums[name].eq(first - second if lane >> level & 1 else first + second)
            now = now.crossed(f"level{level + 1}", **sums, specials=now.specials)
        results = {}
        for lane, name in enumerate(names):
            result = RoundedSum(self.config)
            m.submodules[lane_name("result", lane, rules)] = instantiated(result, platform)
            flags = Cat(result.is_nan, result.is_infinite, result.inf_sign)
            m.d.comb += [result.total.eq(now.values[name]), flags.eq(now.specials.word_select(lane, FLAGS))]
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
        found = Signal(FLAGS * count, name="specials")
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
                found.word_select(j, FLAGS).eq(Cat(is_nan | both, infinite.any(), negative[j].any())),
            ]
        return found
