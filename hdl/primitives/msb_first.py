"""The largest key of a block, found from the most significant bits down, two bits at a time.

Each step finds the largest digit of the lanes that are still in, and lanes with a smaller digit drop out. The high bit
of this digit is set if any lane has it (``some_high``). The low bit is set if any lane has both bits, or, without the
high bit, if any lane has the low bit. No key is moved: a step costs three ORs over all lanes and one function in each
lane, less than the multiplexers of a tree.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce

from amaranth.hdl import Cat, Const, Module, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ..config.architecture import DIGIT_BITS, Amax
from ..config.encode import ConverterConfig
from ..emission.modules import instantiated
from .amax import AmaxTree
from .register import Stage
from .sticky import carry_or
from .table import LUT_INPUTS, table


class Some(wiring.Component):
    """``y``: are all ``width`` bits of any lane set? A carry chain, with as many lanes in a position as fit a LUT."""

    whole = True

    def __init__(self, lanes: int, width: int) -> None:
        self.lanes, self.width, self.kind = lanes, width, f"some_{lanes}x{width}"
        super().__init__({"i": In(lanes * width), "y": Out(1)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        lanes = [self.i[self.width * lane : self.width * (lane + 1)].all() for lane in range(self.lanes)]
        together = max(LUT_INPUTS // self.width, 1)
        positions = [Cat(lanes[first : first + together]).any() for first in range(0, self.lanes, together)]
        carry_or(m, self.y, positions)
        return m


@dataclass(frozen=True)
class Lane:
    """A lane between two steps."""

    rest: Value
    """The bits of its exponent below the digits that are found."""
    flag: Value
    still_in: Value | None
    """None before the first step, if no lane is left out."""


class MsbFirst(AmaxTree):
    """`AmaxTree` by another method, with the same ports."""

    kind = "amax_tree"

    def elaborate(self, platform: object) -> Module:
        m = Module()
        source = self.numerics.source
        lanes = range(self.config.lanes)
        x = [self.x[source.bits * lane : source.bits * (lane + 1)] for lane in lanes]
        flags = [self.key(m, platform, lane, x[lane][:-1])[: -source.exp_bits] for lane in lanes]
        has_flag = len(flags[0]) > 0
        left_out = [self.left_out(number) for number in x]
        now = [
            Lane(x[lane][source.man_bits : -1], flags[lane], None if is_out is None else ~is_out)
            for lane, is_out in enumerate(left_out)
        ]
        found = Const(0, 0)
        now, found = self.registered(m, "key", now, found)
        for step in range(source.exp_bits // DIGIT_BITS[self.config.microarchitecture.amax]):
            now, found = self.step(m, platform, step + 1, now, found, has_flag)
        flag = [self.some(m, platform, "some_flag", [[lane.still_in] for lane in now])] if has_flag else []
        m.d.comb += Value.cast(self.amax).eq(Cat(flag, found))
        return m

    def step(
        self, m: Module, platform: object, number: int, now: list[Lane], found: Value, has_flag: bool
    ) -> tuple[list[Lane], Value]:
        """The lanes after a step, and the bits of the largest exponent that are found, two more than before."""

        def some(name: str, *places: int) -> Signal:
            return self.some(
                m,
                platform,
                f"some_{name}{number}",
                [
                    [*([] if lane.still_in is None else [lane.still_in]), *(lane.rest[place] for place in places)]
                    for lane in now
                ],
            )

        high, low, both = some("high", -1), some("low", -2), some("both", -1, -2)
        low = table(
            m,
            platform,
            self.config,
            "low_bit",
            lambda high, low, both: both if high else low,
            high,
            low,
            both,
            signal=f"low_bit{number}",
        )
        is_last = len(now[0].rest) == 2
        following = []
        for i, lane in enumerate(now):
            first = [] if lane.still_in is None else [lane.still_in]
            name = "stays_in" if first else "is_in"
            if is_last and has_flag:
                first, name = [*first, lane.flag], "raises"
            stays = (
                None
                if is_last and not has_flag
                else table(
                    m,
                    platform,
                    self.config,
                    name,
                    lambda *bits: all(bits[:-4]) and bits[-4:-2] == bits[-2:],
                    *first,
                    lane.rest[-1],
                    lane.rest[-2],
                    high,
                    low,
                    signal=f"{name}{number}_{i}",
                )
            )
            following.append(Lane(lane.rest[:-2], lane.flag, stays))
        found = Cat(low, high, found)
        return (following, found) if is_last else self.registered(m, f"digit{number}", following, found)

    def registered(self, m: Module, place: str, now: list[Lane], found: Value) -> tuple[list[Lane], Value]:
        """The values between two steps, after the stage boundary there."""
        values = {
            f"{name}{i}": value
            for i, lane in enumerate(now)
            for name, value in vars(lane).items()
            if value is not None and len(value)
        }
        if len(found):
            values["found"] = found
        later = Stage(m, self).crossed(place, **values).values
        return [
            Lane(**{name: later.get(f"{name}{i}", value) for name, value in vars(lane).items()})
            for i, lane in enumerate(now)
        ], later.get("found", found)

    def some(self, m: Module, platform: object, name: str, lanes: list[list[Value]]) -> Signal:
        """Are all bits of any lane set?"""
        some = Signal(name=name)
        if self.config.microarchitecture.amax is Amax.CARRY_CHAIN:
            part = Some(len(lanes), len(lanes[0]))
            m.submodules[f"find_{name}"] = instantiated(part, platform)
            m.d.comb += [part.i.eq(Cat(lanes)), some.eq(part.y)]
        else:
            m.d.comb += some.eq(Cat(Cat(bits).all() for bits in lanes).any())
        return some


class BitByBit(MsbFirst):
    """`MsbFirst` with one bit at a time: a lane costs two gates for each bit."""

    def step(
        self, m: Module, platform: object, number: int, now: list[Lane], found: Value, has_flag: bool
    ) -> tuple[list[Lane], Value]:
        """The lanes after a step, and the bits of the largest exponent that are found, one more than before."""

        def still_in(lane: Lane) -> list[Value]:
            return [] if lane.still_in is None else [lane.still_in]

        some = self.some(m, platform, f"some{number}", [[*still_in(lane), lane.rest[-1]] for lane in now])
        is_last = len(now[0].rest) == 1
        following = []
        for i, lane in enumerate(now):
            stays = None
            if not is_last or has_flag:
                flag = [lane.flag] if is_last else []
                stays = Signal(name=f"stays_in{number}_{i}")
                # by gates of two inputs: Yosys shares these, and keeps an AND over a list apart
                m.d.comb += stays.eq(
                    reduce(lambda stay, bit: bit & stay, [lane.rest[-1] | ~some, *still_in(lane), *flag])
                )
            following.append(Lane(lane.rest[:-1], lane.flag, stays))
        found = Cat(some, found)
        return (following, found) if is_last else self.registered(m, f"digit{number}", following, found)


TREES: dict[Amax, type[AmaxTree]] = {
    Amax.COMPARE: AmaxTree,
    Amax.RADIX4: AmaxTree,
    Amax.MSB_FIRST: MsbFirst,
    Amax.BIT_BY_BIT: BitByBit,
    Amax.CARRY_CHAIN: MsbFirst,
}


def tree_of(config: ConverterConfig) -> AmaxTree:
    """The tree of a configuration."""
    return TREES[config.microarchitecture.amax](config)
