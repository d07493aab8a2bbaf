"""A fixed-point quantizer that shifts in two 4:1 steps, and rounds and negates in one addition.

``places`` is one more than the shift down from the top of the code. So a subnormal number, which has no leading one,
may come from one place above, and costs nothing extra. The sum is the magnitude or its complement, plus the rounding or
its complement.
"""

from __future__ import annotations

from collections.abc import Callable

from amaranth.hdl import Cat, Const, Module, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ...spec import Rounding, Specials, Subnormals
from ..config.architecture import Structure
from ..config.encode import ConverterConfig
from ..emission.modules import ModuleLibrary, instantiated
from ..primitives.elaboration import set_elaborated
from ..primitives.register import Stage, enable_port
from ..primitives.rounding import rounds_up
from ..primitives.table import table
from .operand import operand, special_flags
from .scale import leaves_above

NEAR = 5
"""Low bits of the distance, which are subtracted. The others are compared."""


class SignedSum(wiring.Component):
    """``p``: a magnitude plus ``up``, negated by ``sign``. The magnitude is ``y``, shifted down by four places if
    ``far`` is set. It is zero without ``valid``, and all ones with ``top``.
    """

    kind, whole = "signed_sum", True

    def __init__(self, bits: int) -> None:
        self.bits = bits
        super().__init__(
            {"y": In(bits), "far": In(1), "valid": In(1), "top": In(1), "up": In(1), "sign": In(1), "p": Out(bits)}
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.d.comb += self.p.eq(signed_sum(self))
        return m


def signed_sum(of: SignedSum) -> Value:
    """See `SignedSum`."""
    magnitude, far = of.y[:-1], Cat(of.y[4:], Const(0, 3))
    bits = [((near & ~of.far | moved & of.far) & of.valid | of.top) ^ of.sign for near, moved in zip(magnitude, far)]
    return Cat(of.up ^ of.sign) + Cat(bits, of.sign)


class FixedQuantizer(wiring.Component):
    """`ElementQuantizer` for fixed-point elements of up to eight bits, with the same ports. Combinational."""

    kind = "element_quantizer"

    def __init__(self, config: ConverterConfig) -> None:
        self.config, self.numerics = config, config.numerics
        self.significant_bits = self.numerics.block.element.bits
        """Leading bits of the fraction that the quantizer uses; the others only as a sticky bit."""
        self.decisive_bits = self.significant_bits
        super().__init__(
            {
                "x": In(self.numerics.source.bits),
                "scale": In(self.numerics.block.scale.bits),
                **{flag: In(1) for flag in special_flags(self.numerics)},
                **enable_port(config, config.element_stages),
                "p": Out(self.numerics.block.element.bits),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        numerics, source, element = self.numerics, self.numerics.source, self.numerics.block.element
        number = operand(numerics, self.x)
        size = element.bits - 1  # of the magnitude

        def make(name: str, function: Callable[..., object], *inputs: Value, signal: str | None = None) -> Signal:
            return table(m, platform, self.config, name, function, *inputs, signal=signal)

        # places = scale + offset - exponent; a subnormal number has the exponent 1
        offset = element.emax + source.bias - numerics.block.scale.bias + 1
        is_normal = Signal()
        top = Signal(source.exp_bits + 1)  # the same for all lanes
        above = Signal(source.exp_bits - NEAR)
        near = Signal(NEAR + 1)
        m.d.comb += [is_normal.eq(number.exponent.any()), top.eq(self.scale + offset), above.eq(top[NEAR:] - 1)]
        flags = special_flags(numerics)
        now = Stage(m, self, control=("scale", *flags)).crossed(
            "top", x=self.x, is_normal=is_normal, top=top, above=above
        )
        is_normal, top, above = now.is_normal, now.top, now.above
        number = operand(numerics, now.x)
        m.d.comb += near.eq(top[:NEAR] - Cat(number.exponent[0] | ~is_normal, number.exponent[1:NEAR]))
        high = number.exponent[NEAR:]
        count = len(high)
        is_level = make(
            "is_level", lambda *b: b[:count] == b[count : 2 * count] and not b[2 * count], *high, *top[NEAR:]
        )
        is_below = make("is_below", lambda *b: b[:count] == b[count:], *high, *above)

        is_special = number.exponent.all() if numerics.specials in (Specials.DROP, Specials.TE) else Const(0, 1)
        if numerics.specials is Specials.DROP:  # above the top of its block, unless this is as high
            is_special = is_special & (now.scale < (1 << source.exp_bits) - offset)
        is_nan = number.exponent.all() & number.fraction.any() if numerics.specials is Specials.TE else Const(0, 1)
        now = now.crossed(
            "distance",
            control=flags,
            store_inverted=["is_level"],
            near=near,
            is_level=is_level,
            is_below=is_below,
            is_normal=is_normal,
            fraction=number.fraction,
            sign=number.sign & ~is_nan,
            is_special=is_special,
        )
        near, is_level, is_below, is_normal, fraction, sign, is_special = now.values.values()

        def in_reach(*bits: int) -> bool:
            places = sum(bit << i for i, bit in enumerate(bits[:NEAR]))
            return places <= size + 1 and all(bits[NEAR:])

        few = make(
            "few", in_reach, *near[:NEAR], *([is_normal] if numerics.input_subnormals is Subnormals.FLUSH else [])
        )
        nan = [now.nan] if numerics.specials is Specials.NAN_BLOCK else []
        tops = [is_special, *([now.nan, now.inf] if numerics.specials is Specials.INF_SCALE else [])]
        is_top = Signal()
        valid = make(
            "valid",
            lambda few, under, level, below, *nan: few and (below if under else level) and not any(nan),
            few,
            near[NEAR],
            is_level,
            is_below,
            *nan,
        )
        m.d.comb += is_top.eq(Cat(tops).any())

        # shifted down by the two low bits of places, then by four
        padded = Cat(Const(0, max(size + 1 - source.man_bits, 0)), fraction, is_normal, Const(0, 3))
        first = len(padded) - 4 - size  # the last bit of the code if places is 0
        low, far, farther = near[:2], near[2], near[3]
        y = [
            make(
                "moved",
                lambda a, b, *c: c[a + 2 * b],
                low[0],
                low[1],
                *padded[first + i : first + i + 4],
                signal=f"y{i}" if i >= 0 else "y_below",
            )
            for i in range(-1, size)
        ]  # the bit below the code decides the rounding
        leading = make("leading", lambda a, b, normal: normal and not (a or b), low[0], low[1], is_normal)  # above it
        tail = Signal()
        m.d.comb += tail.eq(padded[: first - 1].any() if first > 1 else 0)
        lost = make(
            "lost",
            lambda a, b, tail, *c: tail or any(c[: a + 2 * b]),
            low[0],
            low[1],
            tail,
            *padded[first - 1 : first + 2],
        )
        y_guard, y = y[0], [*y[1:], leading]
        passed = make(
            "passed", lambda far, lost, *bits: lost or (far and any(bits)), far | farther, lost, y_guard, *y[:3]
        )
        sticky = make(
            "sticky", lambda farther, passed, *bits: passed or (farther and any(bits)), farther, passed, *y[3:-1]
        )
        guard = (
            make(
                "guard",
                lambda far, farther, here, there, leads: leads if farther else there if far else here,
                far,
                farther,
                y_guard,
                y[3],
                leading,
            )
            if size > 3
            else y_guard
        )
        last = make("last", lambda far, here, there: there if far else here, far, y[0], y[4]) if size > 4 else y[0]
        is_full = Signal()
        if leaves_above(numerics):
            m.d.comb += is_full.eq(~near[1:4].any() & Cat(y[:size]).all())  # the largest code is not rounded up
        is_near = Signal()
        m.d.comb += is_near.eq(valid & ~farther)
        now = now.crossed(
            "chosen",
            control=(),
            store_inverted=["valid"],
            far=far,
            farther=farther,
            is_near=is_near,
            valid=valid,
            is_top=is_top,
            is_full=is_full,
            guard=guard,
            last=last,
            sticky=sticky,
            sign=sign,
            **{f"y{i}": bit for i, bit in enumerate(y)},
        )
        far, farther, is_near, valid, is_top, is_full, guard, last, sticky, sign, *y = now.values.values()
        up = Signal()
        up_now = rounds_up(numerics.rounding, last & ~farther, guard, sticky, None)
        m.d.comb += up.eq(up_now & valid & ~is_full & ~is_top if numerics.rounding is not Rounding.RTZ else 0)

        part = SignedSum(element.bits)
        m.d.comb += [
            part.y.eq(Cat(y)),
            part.far.eq(far),
            part.valid.eq(is_near),
            part.top.eq(is_top),
            part.up.eq(up),
            part.sign.eq(sign),
        ]
        if self.config.microarchitecture.structure is Structure.KEPT and isinstance(platform, ModuleLibrary):
            m.submodules.make_signed_sum = instantiated(part, platform)
            m.d.comb += self.p.eq(part.p)
        else:
            set_elaborated(part)
            m.d.comb += self.p.eq(signed_sum(part))
        return m
