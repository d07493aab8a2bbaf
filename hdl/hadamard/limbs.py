"""The random Hadamard transform limb by limb: 16 bits of all sums in a cycle, then one result in a cycle.

A number is an integer of 262 bits, but its significand lies in two limbs. So a lane shifts the significand by the low
bits of the exponent, and chooses the limb by the high ones. Limbs are added in 21 bits by the levels of
`HadamardTransform`, and each sum carries its high bits to its next limb. While limbs come, each sum keeps its `Window`,
the limb with the leading bit so far. So no sum is ever there as a whole.
"""

from __future__ import annotations

from collections.abc import Sequence

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value, signed
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ...spec import BF16
from ..config.hadamard import ROUNDING_STAGES, SUM_STAGES, HadamardConfig
from ..emission.modules import instantiated
from ..encode.operand import lane_name
from ..lanes.control import FlowControl
from ..nvfp4.encoder import connect_enable
from ..primitives.pipeline import Pipeline
from ..primitives.register import Stage, enable_port, held
from .rounding import FLAGS, INF, Window, round_window
from .schedule import LEVELS, LIMB, LIMB_NUMBER, LIMB_SUM, LIMBS, RESULTS, SPECIALS, WINDOW
from .transform import butterfly, significand


class NumberLimb(wiring.Component):
    """A limb of a number as an integer in units of the smallest number. The result for NaN and Inf is arbitrary.

    Ports
    -----
    x : in, the number
    is_negated : in, whether its sign changes
    limb : in, the number of the limb
    enable : in, of the registers, if there are any
    y : out, the limb
    """

    def __init__(self, config: HadamardConfig) -> None:
        self.config = config
        entering = {"x": In(BF16.bits), "is_negated": In(1), "limb": In(LIMB_NUMBER)}
        super().__init__({**entering, **enable_port(config, ("placed",)), "y": Out(LIMB)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        number, place = significand(m, self.x, self.is_negated)
        low = LIMB.bit_length() - 1
        placed = Signal(signed(len(number) + LIMB - 1))
        difference = Signal(signed(LIMB_NUMBER + 1))
        m.d.comb += placed.eq(number << place[:low])
        now = Stage(m, self, control=("limb",)).crossed("placed", placed=placed, first=place[low:])
        sign = now.placed[-1]
        above = Cat(now.placed[LIMB:], sign.replicate(2 * LIMB - len(placed)))
        m.d.comb += [difference.eq(now.limb - now.first), self.y.eq(sign.replicate(LIMB))]
        with m.If(difference < 0):
            m.d.comb += self.y.eq(0)
        with m.Elif(~difference.any()):
            m.d.comb += self.y.eq(now.placed[:LIMB])
        with m.Elif(~difference[1:].any()):
            m.d.comb += self.y.eq(above)
        return m


class LimbSums(wiring.Component):
    """The sums and differences of a limb of each number, and what is special about the numbers.

    Ports
    -----
    x : in, the numbers
    limb : in, the number of the limb
    enable : in, of the registers, if there are any
    sums : out, the sum of each result
    sums_limb, is_first : out, the number of the limb, and whether it is limb 0
    specials : out, whether any number is NaN, which are Inf, and which are negative
    """

    kind = "limb_sums"

    def __init__(self, config: HadamardConfig) -> None:
        self.config = config
        size = config.numerics.block_size
        entering = {"x": In(size * BF16.bits), "limb": In(LIMB_NUMBER), **enable_port(config, SUM_STAGES)}
        leaving = {
            "sums": Out(size * LIMB_SUM),
            "sums_limb": Out(LIMB_NUMBER),
            "is_first": Out(1),
            "specials": Out(SPECIALS),
        }
        super().__init__(entering | leaving)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        rules, lanes = self.config.numerics, range(self.config.numerics.block_size)
        names = [lane_name("sum", lane, rules) for lane in lanes]
        numbers = [self.x.word_select(lane, BF16.bits) for lane in lanes]
        magnitudes = [number[:-1] for number in numbers]
        specials = Cat(
            Cat(magnitude > INF for magnitude in magnitudes).any(),
            Cat(magnitude == INF for magnitude in magnitudes),
            Cat(number[-1] for number in numbers),
        )
        limbs = {}
        for lane, name in enumerate(names):
            limb = NumberLimb(self.config)
            m.submodules[lane_name("limb", lane, rules)] = instantiated(limb, platform)
            m.d.comb += [limb.x.eq(numbers[lane]), limb.is_negated.eq(rules.signs >> lane & 1), limb.limb.eq(self.limb)]
            connect_enable(m, self, limb)
            limbs[name] = limb.y
        now = Stage(m, self, control=("limb",))
        now = now.crossed("placed", is_first=~self.limb.any(), specials=specials)
        now = now.crossed("aligned", **limbs, is_first=now.is_first, specials=now.specials)
        for level in range(LEVELS):
            sums = butterfly(m, now, names, level)
            now = now.crossed(f"level{level + 1}", **sums, is_first=now.is_first, specials=now.specials)
        m.d.comb += [
            *(self.sums.word_select(lane, LIMB_SUM).eq(now.values[name]) for lane, name in enumerate(names)),
            self.sums_limb.eq(now.limb),
            self.is_first.eq(now.is_first),
            self.specials.eq(now.specials),
        ]
        return m


class RunningSum(wiring.Component):
    """The limbs of a sum. It keeps the last one with a bit that differs from the bit below it, and the one before: the
    leading bit of the sum is there, or at the top of the one before.

    Ports
    -----
    limb_sum : in, the sum of limbs
    limb, is_first : in, the number of the limb, and whether it is limb 0
    enable : in, of the registers
    bits, number, rest, sign : out, the `Window`, after the last limb
    """

    kind = "running_sum"

    def __init__(self, config: HadamardConfig) -> None:
        self.config = config
        entering = {"limb_sum": In(signed(LIMB_SUM)), "limb": In(LIMB_NUMBER), "is_first": In(1), "enable": In(1)}
        super().__init__({**entering, **{name: Out(bits) for name, bits in WINDOW.items()}})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        carried = Signal(signed(LEVELS + 1), reset_less=True)
        total = Signal(signed(LIMB_SUM + 1))
        m.d.comb += total.eq(self.limb_sum + Mux(self.is_first, 0, carried))
        with m.If(self.enable):
            m.d.sync += carried.eq(total >> LIMB)
        now = Stage(m, self, control=("limb", "is_first")).crossed("digits", digits=total[:LIMB])
        previous = Signal(LIMB, reset_less=True)
        has_lower = Signal(reset_less=True)  # is a bit set in the limbs before the previous one?
        kept_bits = Signal(2 * LIMB, reset_less=True)
        kept_number = Signal(LIMB_NUMBER, reset_less=True)
        kept_rest = Signal(reset_less=True)
        changes = Signal()
        m.d.comb += [
            changes.eq((now.digits ^ Cat(previous[-1], now.digits[:-1])).any()),
            self.bits.eq(kept_bits),
            self.number.eq(kept_number),
            self.rest.eq(kept_rest),
            self.sign.eq(previous[-1]),
        ]
        with m.If(self.enable):
            m.d.sync += [previous.eq(now.digits), has_lower.eq(~now.is_first & (has_lower | previous.any()))]
            with m.If(now.is_first | changes):
                m.d.sync += [
                    kept_bits.eq(Cat(previous & (~now.is_first).replicate(LIMB), now.digits)),
                    kept_number.eq(now.limb),
                    kept_rest.eq(~now.is_first & has_lower),
                ]
        return m


class ResultFlags(wiring.Component):
    """The flags of a result.

    Ports
    -----
    specials : in, as of `LimbSums`
    result : in, the number of the result
    is_nan, is_infinite, inf_sign : out, flags that replace the sum
    """

    def __init__(self, config: HadamardConfig) -> None:
        self.config = config
        entering = {"specials": In(SPECIALS), "result": In((RESULTS - 1).bit_length())}
        super().__init__({**entering, **dict.fromkeys(FLAGS, Out(1))})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        rules = self.config.numerics
        any_nan, infinite, signs = self.specials[0], self.specials[1 : 1 + RESULTS], self.specials[1 + RESULTS :]
        changed = Signal(RESULTS)
        negative = Signal()
        positive = Signal()
        # number i is subtracted in result j if an odd number of bits of i & j are set
        parities = (
            Cat(self.result[place] for place in range(len(self.result)) if i >> place & 1).xor() if i else Const(0)
            for i in range(RESULTS)
        )
        m.d.comb += [
            changed.eq(signs ^ rules.signs ^ Cat(parities)),
            negative.eq((infinite & changed).any()),
            positive.eq((infinite & ~changed).any()),
            self.is_nan.eq(any_nan | negative & positive),
            self.is_infinite.eq(infinite.any()),
            self.inf_sign.eq(negative),
        ]
        return m


class RoundedWindow(wiring.Component):
    """A quarter of a sum, of which it sees the `Window`, rounded to nearest even (`round_window`).

    Ports
    -----
    bits, number, rest, sign : in, the `Window`
    enable : in, of the registers, if there are any
    is_nan, is_infinite, inf_sign : in, flags that replace the sum
    y : out, the number
    """

    def __init__(self, config: HadamardConfig) -> None:
        self.config = config
        entering = {name: In(bits) for name, bits in WINDOW.items()} | enable_port(config, ROUNDING_STAGES)
        super().__init__({**entering, **dict.fromkeys(FLAGS, In(1)), "y": Out(BF16.bits)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        window = Window(~self.number.any(), self.number, self.bits, self.rest, self.sign)
        round_window(m, self, window, LIMB)
        return m


def chosen(words: Sequence[Value], number: Value) -> Value:
    """The word of a number."""
    for bit in number:
        words = [Mux(bit, second, first) for first, second in zip(words[::2], words[1::2], strict=True)]
    return words[0]


class LimbTransform(Pipeline[HadamardConfig]):
    """A `HadamardTransform` that takes a block in 17 cycles."""

    IS_STEADY = False
    CONTROL = ("back_enable", "reads", "has_block", "limb", "enters", "complete", "rounds", "result", "its")
    INNER = ("limb_sum", "is_first", "sums", "sums_limb", "specials")
    SIGNALS = frozenset((*CONTROL, *INNER, *WINDOW, *FLAGS))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config, control = self.config, FlowControl(self.config)
        registered = config.microarchitecture.registered_after
        before = [place for place in registered if place in SUM_STAGES]
        after = [place for place in registered if place == "digits"]
        behind = registered[registered.index("held") + 1 :]
        has_block = Signal()
        limb = Signal(LIMB_NUMBER)
        enters = Signal()
        m.d.comb += [
            self.enable.eq(control.back_enable),
            enters.eq(~has_block | (limb == LIMBS - 1)),
            self.i_ready.eq(self.enable & enters),
        ]
        with m.If(self.enable):
            m.d.sync += limb.eq(Mux(enters, 0, limb + 1))
            with m.If(enters):
                m.d.sync += has_block.eq(self.i_valid)
        x = held(m, self.i_ready, "input", {"x": self.x})["x"]

        sums = LimbSums(config)
        m.submodules.limb_sums = instantiated(sums, platform)
        m.d.comb += [sums.x.eq(x), sums.limb.eq(limb)]
        connect_enable(m, self, sums)
        has_limb = control.chain(m, has_block, before, self.enable)
        ends = control.chain(m, has_limb & (sums.sums_limb == LIMBS - 1), after, self.enable)
        running = []
        for lane in range(RESULTS):
            part = RunningSum(config)
            m.submodules[lane_name("running", lane, config.numerics)] = instantiated(part, platform)
            m.d.comb += [
                part.limb_sum.eq(sums.sums.word_select(lane, LIMB_SUM)),
                part.limb.eq(sums.sums_limb),
                part.is_first.eq(sums.is_first),
                part.enable.eq(self.enable),
            ]
            running.append(Cat(getattr(part, name) for name in WINDOW))
        complete = Signal()
        rounds = Signal()
        result = Signal(range(RESULTS))
        with m.If(self.enable):
            m.d.sync += complete.eq(ends)
            m.d.sync += rounds.eq(complete | (rounds & ~result.all()))
            m.d.sync += result.eq(Mux(complete, 0, result + 1))
        now = Stage(m, self).crossed("digits", specials=sums.specials)
        now = now.crossed("total", specials=now.specials)
        kept = held(m, self.enable & complete, "held", {"windows": Cat(running), "specials": now.specials})

        flags, rounded = ResultFlags(config), RoundedWindow(config)
        m.submodules.flags = instantiated(flags, platform)
        m.submodules.rounded = instantiated(rounded, platform)
        its = Signal(sum(WINDOW.values()))
        m.d.comb += [
            flags.specials.eq(kept["specials"]),
            flags.result.eq(result),
            its.eq(chosen([kept["windows"].word_select(lane, len(its)) for lane in range(RESULTS)], result)),
        ]
        now = Stage(m, self).crossed("chosen", its=its, **{name: getattr(flags, name) for name in FLAGS})
        m.d.comb += Cat(getattr(rounded, name) for name in WINDOW).eq(now.its)
        m.d.comb += [getattr(rounded, name).eq(now.values[name]) for name in FLAGS]
        connect_enable(m, self, rounded)
        y = Signal(RESULTS * BF16.bits, name="y_output_q", reset_less=True)
        with m.If(self.enable):
            m.d.sync += y.eq(Cat(y[BF16.bits :], rounded.y))
        m.d.comb += [self.y.eq(y), control.reads.eq(rounds & result.all())]
        control.leave(m, [*behind], self.o_valid, self.o_ready)
        return m
