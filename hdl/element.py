"""One element quantizer: a source number and the scale of its block to an element code (the FPGA paper's ``P_i``)."""

from __future__ import annotations

from dataclasses import dataclass

from amaranth.hdl import Cat, Const, Module, Mux, Signal, signed
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ..spec import ConverterConfig, FixedFormat, Numerics, Rounding, Subnormals
from .operand import operand_layout, special_flags
from .rounding import rounds_up

__all__ = ["ElementQuantizer"]


@dataclass(frozen=True)
class Target:
    """An element format as the datapath sees it: an exponent field above ``fraction_bits`` of fraction.

    A fixed-point magnitude is such a code too, whose field is 0 or 1 and whose field-1 binade is its top one.
    """

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
            return cls(element.bits - 2, 1 - element.emax, element.max_code, 1)
        max_code, lowest_field = element.max_code, 1
        if numerics.rounding is Rounding.GUARD_HALF_UP:  # its field stops one short of all ones
            max_code = (((1 << element.exp_bits) - 1) << element.man_bits) - 1
            if numerics.element_subnormals is Subnormals.FLUSH:  # as published: field 0 keeps the unshifted fraction
                lowest_field = 0
        return cls(element.man_bits, element.bias, max_code, lowest_field)


class ElementQuantizer(wiring.Component):
    """Quantize one number ``x`` under the scale byte ``scale`` to the code ``p``; combinational.

    ``nan`` and ``inf``, where the numerics have them, replace the code by that of a special block.
    Unpack, normalise subnormal inputs, align below the lowest exponent field, round, saturate, sign.
    """

    def __init__(self, config: ConverterConfig) -> None:
        self.numerics, self.target = config.numerics, Target.of(config.numerics)
        super().__init__({"x": In(self.numerics.source.bits), "scale": In(self.numerics.block.scale.bits),
                          **{flag: In(1) for flag in special_flags(self.numerics)},
                          "p": Out(self.numerics.block.element.bits)})

    def elaborate(self, platform) -> Module:
        m = Module()
        number = data.View(operand_layout(self.numerics), self.x)
        significand, field = self.unpack(m, number)
        significand, field = self.normalise(m, number, significand, field)
        kept, sticky = self.align(m, significand, field)
        magnitude = self.round(m, significand, field, kept, sticky)
        self.pack(m, number, magnitude)
        return m

    def unpack(self, m: Module, number):
        """Significand with its hidden bit, and the exponent field that the number would have as an element."""
        source, scale = self.numerics.source, self.numerics.block.scale
        significand = Signal(source.man_bits + 1)
        exponent = Signal(source.exp_bits)  # a subnormal has the exponent of the smallest normal number
        field = Signal(signed(source.exp_bits + 2))
        is_normal = number.exponent.any()
        m.d.comb += [
            significand.eq(Cat(number.fraction, is_normal)),
            exponent.eq(Cat(number.exponent[0] | ~is_normal, number.exponent[1:])),
            field.eq(exponent - self.scale + (self.target.bias + scale.bias - source.bias)),
        ]
        if self.numerics.input_subnormals is Subnormals.FLUSH:
            flushed = Signal(source.man_bits + 1)
            m.d.comb += flushed.eq(Mux(is_normal, significand, 0))
            significand = flushed
        return significand, field

    def normalise(self, m: Module, number, significand, field):
        """Shift the significand of a subnormal input up, as far as it is zero at the top and the field allows.

        The field of a subnormal input is at most that of the smallest scale, which bounds the places.
        """
        source, scale = self.numerics.source, self.numerics.block.scale
        places = self.target.bias + scale.bias - source.bias + 1 - self.target.lowest_field
        if self.numerics.input_subnormals is Subnormals.FLUSH or places <= 0:
            return significand, field
        for step in (1 << i for i in reversed(range(places.bit_length()))):
            shifted, lowered = Signal.like(significand, name=f"up{step}_significand"), Signal.like(field, name=f"up{step}_field")
            shifts = Signal(name=f"up{step}")
            m.d.comb += [
                shifts.eq(~significand[-step:].any() & (field >= self.target.lowest_field + step)),
                shifted.eq(Mux(shifts, significand << step, significand)),
                lowered.eq(Mux(shifts, field - step, field)),
            ]
            significand, field = shifted, lowered
        return significand, field

    def align(self, m: Module, significand, field):
        """The hidden bit, the fraction and the guard bit, shifted down where the number is below the lowest field;
        and the OR of all bits below."""
        width = self.target.fraction_bits + 2
        top, rest = significand[-width:], significand[:-width]
        if self.target.lowest_field == 0:
            return top, rest.any()
        places = Signal(range(width + 1))
        m.d.comb += places.eq(Mux(field > 0, 0, Mux(field > 1 - width, 1 - field, width)))
        shifted = Signal(2 * width)
        kept, lost = shifted[width:], shifted[:width]
        m.d.comb += shifted.eq(Cat(Const(0, width), top) >> places)
        return kept, lost.any() | rest.any()

    def round(self, m: Module, significand, field, kept, sticky):
        """The rounded and saturated magnitude code."""
        target, element = self.target, self.numerics.block.element
        bits = target.max_code.bit_length()
        up = Signal()
        m.d.comb += up.eq(rounds_up(self.numerics.rounding, kept[1], kept[0], sticky))
        largest_field = target.max_code >> target.fraction_bits
        # The hidden one of a normal number adds the last one to its exponent field, and a rounded fraction that has
        # grown to the next power of two carries into it.
        base = Signal(range(largest_field + 1))
        rounded = Signal(range(((largest_field + 2) << target.fraction_bits) + 1))
        m.d.comb += [
            base.eq(Mux(field > 0, field - 1, 0)),
            rounded.eq((base << target.fraction_bits) + kept[1:] + up),
        ]
        magnitude = Signal(bits)
        if target.lowest_field == 0:
            # fields 0 and 1 differ only in the exponent field, and a number without hidden bit is below them
            m.d.comb += rounded.eq(Cat(kept[1:-1], field[:len(base)]) + up)
            below = (field < 0) | ~significand[-1]
        else:
            below = 0
            if self.numerics.element_subnormals is Subnormals.FLUSH and not isinstance(element, FixedFormat):
                below = rounded < (1 << target.fraction_bits)
            if self.numerics.input_subnormals is Subnormals.FLUSH:  # no normaliser has led a zero down to field 1
                below = below | ~significand[-1]
        saturates = (field > largest_field) | (rounded > target.max_code)
        m.d.comb += magnitude.eq(Mux(below, 0, Mux(saturates, target.max_code, rounded)))
        return magnitude

    def pack(self, m: Module, number, magnitude) -> None:
        """Sign the magnitude, or give the code of a special block."""
        element = self.numerics.block.element
        flags = special_flags(self.numerics)
        code = magnitude
        if "inf" in flags:  # signed signal codes
            code = Mux(self.nan, element.signal_nan_code, Mux(self.inf, element.signal_inf_code, magnitude))
        if isinstance(element, FixedFormat):
            code = Mux(number.sign, -code, code)[:element.bits]
        else:
            code = Cat(code[:element.bits - 1], number.sign)
        if flags == ("nan",):
            code = Mux(self.nan, element.nan_code or 0, code)
        m.d.comb += self.p.eq(code)
