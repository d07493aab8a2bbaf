"""One element quantizer: a source number and the scale of its block to an element code (the FPGA paper's ``P_i``).

The datapath works on few bits. Whatever the shift, a code depends on the hidden bit, ``fraction_bits`` of fraction and
one guard bit, and on whether anything below them is set; so only those are shifted, and the long tail of the fraction
is reduced to one sticky bit where it stands.
"""

from __future__ import annotations

from dataclasses import dataclass

from amaranth.hdl import Cat, Const, Module, Mux, Signal, signed
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ..spec import ConverterConfig, FixedFormat, Numerics, Rounding, Specials, Subnormals
from .operand import operand_layout, special_flags
from .rounding import rounds_up

__all__ = ["ElementQuantizer"]


@dataclass(frozen=True)
class Target:
    """An element format as the datapath sees it: an exponent field above ``fraction_bits`` of fraction.

    A fixed-point magnitude is such a code too, with a field of one bit: its leading bit is the hidden one of the top
    binade, and everything below that binade is subnormal.
    """

    field_bits: int
    fraction_bits: int
    bias: int
    """The exponent field of a number of unbiased exponent 0."""
    max_code: int
    lowest_field: int
    """Numbers below this exponent field are not kept in their own binade."""

    @classmethod
    def of(cls, numerics: Numerics) -> Target:
        element = numerics.block.element
        if isinstance(element, FixedFormat):
            return cls(1, element.bits - 2, 1 - element.emax, element.max_code, 1)
        max_code, lowest_field = element.max_code, 1
        if numerics.rounding is Rounding.GUARD_HALF_UP:  # its field stops one short of all ones
            max_code = (((1 << element.exp_bits) - 1) << element.man_bits) - 1
            if numerics.element_subnormals is Subnormals.FLUSH:  # as published: field 0 keeps the unshifted fraction
                lowest_field = 0
        return cls(element.exp_bits, element.man_bits, element.bias, max_code, lowest_field)


class ElementQuantizer(wiring.Component):
    """Quantize one number ``x`` under the scale byte ``scale`` to the code ``p``; combinational.

    ``nan`` and ``inf``, where the numerics have them, replace the code by that of a special block.
    Normalise subnormal inputs, align below the lowest exponent field, round and saturate, sign.
    """

    def __init__(self, config: ConverterConfig) -> None:
        self.numerics, self.target = config.numerics, Target.of(config.numerics)
        super().__init__({"x": In(self.numerics.source.bits), "scale": In(self.numerics.block.scale.bits),
                          **{flag: In(1) for flag in special_flags(self.numerics)},
                          "p": Out(self.numerics.block.element.bits)})

    def elaborate(self, platform) -> Module:
        m = Module()
        number = data.View(operand_layout(self.numerics), self.x)
        top, tail, field = self.normalise(m, number)
        fraction, guard, sticky = self.align(m, top, tail, field)
        magnitude = self.round(m, number, top, field, fraction, guard, sticky)
        self.pack(m, number, magnitude)
        return m

    def normalise(self, m: Module, number):
        """The leading bits (hidden bit, fraction, guard bit), whether any bit below is set, and the exponent field.

        A subnormal input moves up until its hidden bit is set, but not below the lowest field. Only the smallest
        scales leave it ``room``, which bounds the places and is the same for all lanes: flattened lanes share it.
        """
        numerics, target = self.numerics, self.target
        source, scale = numerics.source, numerics.block.scale
        kept = target.fraction_bits + 1  # of the fraction, guard bit included
        base = target.bias + scale.bias - source.bias  # field of biased exponent e under byte s: e - s + base
        most = base + 1 - target.lowest_field  # room under the smallest scale
        places = 0 if numerics.input_subnormals is Subnormals.FLUSH else min(most, source.man_bits)
        is_normal = Signal()
        m.d.comb += is_normal.eq(number.exponent.any())

        # at most kept + places bits of fraction can reach the window; zeros below a short fraction
        missing = max(kept + places - source.man_bits, 0)
        fraction = Cat(Const(0, missing), number.fraction)
        window = Signal(1 + kept + places)
        m.d.comb += window.eq(Cat(fraction[len(fraction) - kept - places:], is_normal))
        room = Signal(places.bit_length())
        steps = []  # of up, the places moved, largest first
        if places:
            m.d.comb += room.eq(Mux(self.scale < most, (most - self.scale)[:len(room)], 0))
        slack = Const(0)  # the room was not used up by a larger step, so it is enough for all smaller ones
        for i in reversed(range(len(room))):
            step = Signal(name=f"up{1 << i}")
            moved = Signal.like(window, name=f"window{i}")
            m.d.comb += [
                step.eq(~window[-(1 << i):].any() & (room[i] | slack)),
                moved.eq(Mux(step, Cat(Const(0, 1 << i), window[:-(1 << i)]), window)),
            ]
            slack = slack | (room[i] & ~step)
            window = moved
            steps.append(step)
        tail = Signal()
        m.d.comb += tail.eq(Cat(window[:places], fraction[:len(fraction) - kept - places]).any())

        exponent = Signal(signed(source.exp_bits + 1))  # effective: 1 less the places moved
        offset = Signal(signed(scale.bits + 1))
        field = Signal(signed(source.exp_bits + 2))
        m.d.comb += exponent.eq(Mux(is_normal, number.exponent, 1 - Cat(reversed(steps))))
        m.d.comb += offset.eq(base - self.scale)
        m.d.comb += field.eq(exponent + offset)
        return window[places:], tail, field

    def align(self, m: Module, top, tail, field):
        """Fraction, guard and sticky bit, shifted down where the number is below the lowest field."""
        if self.target.lowest_field == 0:
            return top[1:-1], top[0], tail
        # Fields 0, -1, ..., -last shift down by 1, 2, ..., 1 + last places; below that nothing is left to round.
        last = len(top) - 2
        reach = last.bit_length()
        is_low = Signal()
        is_gone = Signal()
        near = field[:reach]
        in_reach = field[reach:-1].all() & Cat(near != too_far for too_far in range((1 << reach) - last)).all()
        m.d.comb += [
            is_low.eq(field[-1] | ~field[:-1].any()),
            is_gone.eq(field[-1] & ~in_reach),
        ]
        width = len(top) - 1  # without the hidden bit, which a number at or above field 1 leaves to its field
        placed_once = Mux(is_low, top[1:], top[:-1])
        more = Signal(reach)
        m.d.comb += more.eq(Cat(is_low & (near[i] ^ near[:i].any() if i else near[i]) for i in range(reach)))  # -field
        shifted = Signal(2 * width)
        aligned = Signal(width)
        sticky = Signal()
        m.d.comb += [
            shifted.eq(Cat(Const(0, width), placed_once) >> more),
            aligned.eq(Mux(is_gone, 0, shifted[width:])),
            sticky.eq(shifted[:width].any() | (is_low & top[0]) | tail),
        ]
        return aligned[1:], aligned[0], sticky

    def round(self, m: Module, number, top, field, fraction, guard, sticky):
        """The rounded and saturated magnitude code."""
        numerics, target = self.numerics, self.target
        truncated = Signal(target.field_bits + target.fraction_bits)
        rounded = Signal(target.max_code.bit_length())
        up = Signal()
        saturates = Signal()
        magnitude = Signal.like(rounded)
        is_kept = ~field[-1] & top[-1]  # otherwise the hidden bit is gone or has moved into the fraction
        m.d.comb += [
            truncated.eq(Cat(fraction, field[:target.field_bits] & is_kept.replicate(target.field_bits))),
            up.eq(rounds_up(numerics.rounding, truncated[0], guard, sticky)),
            # a fraction that has grown to the next power of two carries into the field
            rounded.eq(truncated + up),
            saturates.eq(truncated >= target.max_code),
        ]
        if numerics.specials is Specials.DROP:  # only what was left out of the maximum can be above the top field
            overflows = ~field[-1] & field[target.field_bits:-1].any() & top[-1]
            saturates = saturates | overflows
        m.d.comb += magnitude.eq(Mux(saturates, target.max_code, rounded))
        flushes = []
        if target.lowest_field == 0:  # below field 0
            flushes.append(field[-1] | ~top[-1])
        elif numerics.element_subnormals is Subnormals.FLUSH and not isinstance(numerics.block.element, FixedFormat):
            flushes.append(~magnitude[target.fraction_bits:].any())
        if numerics.input_subnormals is Subnormals.FLUSH:
            flushes.append(~top[-1])
        if not flushes:
            return magnitude
        flushed = Signal.like(magnitude)
        m.d.comb += flushed.eq(Mux(Cat(flushes).any(), 0, magnitude))
        return flushed

    def pack(self, m: Module, number, magnitude) -> None:
        """Sign the magnitude, or give the code of a special block."""
        element = self.numerics.block.element
        flags = special_flags(self.numerics)
        code = magnitude
        if "inf" in flags:  # signal codes are signed
            code = Mux(self.nan, element.signal_nan_code, Mux(self.inf, element.signal_inf_code, magnitude))
        if isinstance(element, FixedFormat):
            code = Mux(number.sign, -code, code)[:element.bits]
        else:
            code = Cat(code[:element.bits - 1], number.sign)
        if flags == ("nan",):
            code = Mux(self.nan, element.nan_code or 0, code)
        m.d.comb += self.p.eq(code)
