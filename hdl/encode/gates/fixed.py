"""A fixed-point quantizer for gates and LUTs of four inputs: three steps of a shifter, and one increment.

The number moves down by its distance to the top of its block, in steps of four, two and one. A number out of reach
loses all its bits in the first step. The increment rounds and negates: it adds to the magnitude or to its complement.
"""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value

from ....spec import Specials, Subnormals
from ...primitives.register import Stage
from ...primitives.rounding import rounds_up
from ..operand import operand, special_flags
from ..scale import leaves_above
from ..table_fixed import FixedQuantizer

STEPS = 3
"""Steps of the shifter."""


class FixedGateQuantizer(FixedQuantizer):
    """`FixedQuantizer` by shift steps in place of tables."""

    def elaborate(self, platform: object) -> Module:
        m = Module()
        numerics, source, element = self.numerics, self.numerics.source, self.numerics.block.element
        flags = special_flags(numerics)
        size, width = element.bits - 1, source.exp_bits  # of the magnitude, of the exponent
        is_exact = numerics.input_subnormals is Subnormals.EXACT
        offset = element.emax + source.bias - numerics.block.scale.bias  # places = scale + offset - exponent
        reach = (1 << STEPS) - 1  # as far down, half of the last place is left at least

        least = Signal(width + 2)  # the exponent of a number in reach, or less
        limit = Signal(width)
        is_small = Signal()  # can subnormal numbers be in reach?
        is_up = Signal()  # all numbers of the block are subnormal, and move up by one place
        m.d.comb += [
            least.eq(self.scale + (offset - reach) % (1 << width + 2)),
            limit.eq(Mux(least[-1], 0, least)),
            is_small.eq(least[-1] | ~least.any() | ((least == 1) if is_exact else 0)),
            is_up.eq(~(self.scale + offset).any() if is_exact else 0),
        ]
        top = (self.scale + offset)[:STEPS]
        now = Stage(m, self, control=flags).crossed(
            "top", number=operand(numerics, self.x), top=top, limit=limit, is_small=is_small, is_up=is_up
        )

        number, is_up = now.number, now.is_up
        is_special = number.exponent.all() if numerics.specials is Specials.TE else Const(0, 1)
        is_nan = is_special & number.fraction.any()
        is_zero = Signal()
        places = Signal(STEPS)
        is_gone = Signal()
        # the exponent of a subnormal number is 1; it is 0 if the number moves up
        low = number.exponent[0] | is_zero & ~is_up if is_exact else number.exponent[0]
        exponent = Cat(low, number.exponent[1:])
        below = exponent < now.limit
        m.d.comb += [
            is_zero.eq(now.is_small & ~number.exponent[: STEPS + 1].any()),
            places.eq(now.top - exponent[:STEPS]),
            is_gone.eq(below | is_special | (now.nan if "nan" in flags else 0) | (0 if is_exact else is_zero)),
        ]
        hidden = ~is_zero if is_exact else Const(1, 1)

        padded = Cat(Const(0, max(size + 1 - source.man_bits, 0)), number.fraction)
        fraction, guard, next_guard, rest = padded[1 - size :], padded[-size], padded[-size - 1], padded[: -size - 1]
        if leaves_above(numerics):  # the largest code is not rounded up; elsewhere ones decide without this bit
            guard, next_guard = guard & ~(fraction.all() & hidden), next_guard & ~padded[-size:].all()
        now = now.crossed(
            "distance",
            control=(),
            window=Cat(guard, fraction, hidden),
            next_guard=next_guard,
            tail=Cat(rest, padded[-size - 1] & ~is_up).any(),
            places=places,
            is_gone=is_gone,
            is_up=is_up,
            sign=number.sign & ~is_nan,
            is_special=is_special,
        )

        window, lost = now.window, [now.tail]
        for step in reversed(range(STEPS)):
            by, gone = 1 << step, now.is_gone if step == STEPS - 1 else Const(0, 1)
            moves = Signal(name=f"moves{by}")
            stays = Signal(name=f"stays{by}")
            moved = Signal(size + 1, name=f"window{by}")
            raised: Value = Const(0, 1)
            if step == 0 and is_exact:
                gone = gone | now.is_up
                raised = Cat(now.next_guard, window[:-1]) & now.is_up.replicate(size + 1)
            m.d.comb += [
                moves.eq(now.places[step] & ~gone),
                stays.eq(~now.places[step] & ~gone),
                moved.eq(
                    (window & stays.replicate(size + 1)) | (window[by:] & moves.replicate(size + 1 - by)) | raised
                ),
            ]
            lost.append(window[:by].any() & moves)
            window = moved
        sticky = Signal()
        up = Signal()
        magnitude = window[1:] | now.is_special.replicate(size)
        m.d.comb += [
            sticky.eq(Cat(lost).any()),
            up.eq(rounds_up(numerics.rounding, window[1], window[0], sticky, None)),
            self.p.eq(Cat(up ^ now.sign) + Cat(magnitude ^ now.sign.replicate(size), now.sign)),
        ]
        return m
