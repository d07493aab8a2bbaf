"""The rounding of a sum of integers, a quarter of it, to BF16."""

from __future__ import annotations

from typing import NamedTuple

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import wiring

from ...spec import BF16
from ..primitives.register import Stage
from .schedule import LIMB

FLAGS = ("is_nan", "is_infinite", "inf_sign")
"""Flags of a sum, which replace it."""
INF, NAN = BF16.inf_field, BF16.inf_field | 1 << BF16.man_bits - 1
SIGNIFICAND = BF16.man_bits + 1
QUARTER = 2
"""Bits of a quarter of a sum below the smallest number."""


class Window(NamedTuple):
    """The bits of a sum that decide about its result."""

    is_first: Value
    """Is the limb with the leading bit limb 0?"""
    number: Value
    """The number of this limb."""
    bits: Value
    """This limb, and the one below it in the low bits."""
    rest: Value
    """Is any lower bit of the sum set?"""
    sign: Value
    """The sign of the sum."""


def round_window(m: Module, part: wiring.Component, window: Window, most: int) -> None:
    """Drive ``y`` of a part that has `FLAGS` with the number nearest to a quarter of a sum; a tie goes to the even one.

    The magnitude of a negative sum is its complement plus one. The one carries into the bits that are kept if no lower
    bit is set, and ends below them otherwise. The leading bit is at most ``most`` places below the top of the window:
    with `LIMB` places it may be the top of the lower limb.
    """
    now = Stage(m, part, control=FLAGS, values=window._asdict())
    leading = Signal(range(most + 1))
    normal = SIGNIFICAND - 1 + QUARTER  # the first bit of a normal number; smaller numbers begin there too
    places = Signal(range(most + 1))
    moved = Signal(2 * LIMB)
    kept = Signal(SIGNIFICAND + 2)
    sticky = Signal()
    pattern = Signal(BF16.bits + 1)
    m.d.comb += leading.eq(most)
    for place in range(LIMB):
        with m.If(now.bits[LIMB + place] ^ now.sign):  # the last assignment wins: the one for the leading bit
            m.d.comb += leading.eq(LIMB - 1 - place)
    low = SIGNIFICAND + 1
    m.d.comb += places.eq(Mux(now.is_first & (leading > LIMB - 1 - normal), LIMB - 1 - normal, leading))
    now = now.crossed(
        "leading", places=places, **{name: now.values[name] for name in ("number", "bits", "rest", "sign")}
    )
    binade = Cat(Const(0, LIMB.bit_length() - 1), now.number) + LIMB - 1 - normal - now.places
    m.d.comb += [moved.eq(now.bits << now.places), sticky.eq(moved[:-low].any() | now.rest)]
    top = moved[-low:] ^ now.sign.replicate(low)
    now = now.crossed("shifted", binade=binade, top=top, sticky=sticky, sign=now.sign)
    m.d.comb += kept.eq(now.top + (now.sign & ~now.sticky))
    now = now.crossed("magnitude", binade=now.binade, kept=kept, sticky=now.sticky, sign=now.sign)
    m.d.comb += [
        pattern.eq(
            Cat(Const(0, BF16.man_bits), now.binade) + now.kept[1:] + (now.kept[0] & (now.kept[1] | now.sticky))
        ),
        part.y.eq(
            Mux(
                now.is_nan,
                NAN,
                Mux(
                    now.is_infinite,
                    Cat(Const(INF, BF16.bits - 1), now.inf_sign),
                    Cat(Mux(pattern >= INF, INF, pattern)[: BF16.bits - 1], now.sign),
                ),
            )
        ),
    ]
