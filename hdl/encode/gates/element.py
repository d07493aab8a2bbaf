"""A floating-point quantizer for gates and LUTs of four inputs: lines of one bit select among codes that are rounded.

The exponent field of the element is one addition. A number whose first bits round up to the next power of two is that
power from the start: the carry enters the addition, and its fraction is zero. Then a line says that the number has a
normal code, and a line for each place below field 0 says that its bits move down so far. A fraction is rounded for
each line before the scale is known. A bit of the code is an OR of ANDs with the lines, and a number out of reach needs
no gate of its own: all its lines are zero.

A subnormal number moves up first, until its leading one is the hidden bit, or to where field 1 is under the smallest
scale. There a number without a leading one has the bits of its code, whose field is 0.
"""

from __future__ import annotations

from collections.abc import Callable

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ....spec import Specials, Subnormals
from ...config.encode import ConverterConfig
from ...primitives.register import Stage, enable_port
from ...primitives.rounding import rounds_up
from ...primitives.table import fewest
from ..operand import operand, special_flags
from ..table_codes import Element


class GateQuantizer(wiring.Component):
    """`ElementQuantizer` by lines, with the same ports, for the rules in `architecture.SUPPORTS`; combinational without
    registers inside.
    """

    kind = "element_quantizer"

    def __init__(self, config: ConverterConfig) -> None:
        self.config, self.numerics = config, config.numerics
        self.element = Element(self.numerics)
        block, man = self.numerics.block, self.element.man_bits
        self.base = block.element.bias + block.scale.bias - self.numerics.source.bias
        """The exponent field of a number of biased exponent e under byte s, minus (e - s)."""
        is_exact = self.numerics.input_subnormals is Subnormals.EXACT
        self.max_shift = (1 << max(self.base, 0).bit_length()) - 1 if is_exact else 0
        """Places that a subnormal number moves up at most."""
        self.significant_bits = min(man + 1 + self.max_shift, self.numerics.source.man_bits)
        """Leading bits of the fraction that the quantizer uses; the others only as a sticky bit."""
        self.decisive_bits = self.significant_bits
        self.top = self.element.max_code >> man
        """The exponent field of the largest code."""
        self.highest, self.lowest = self.element.field + self.element.carries, -man
        """The largest exponent field of a number, and the smallest of a number that is not zero."""
        self.width = (self.highest - self.lowest).bit_length()
        """Low bits of the exponent field that are computed."""
        self.coarse = (self.spare + 1).bit_length() - 1 if man < 3 else 0
        """Low bits of the exponent that are left out of the comparison with the reach. With three fraction bits the
        whole comparison is smaller, as measured.
        """
        while self.max_shift and self.least_field < self.lowest - self.spare:
            if self.coarse:
                self.coarse -= 1
            else:
                self.width += 1
        super().__init__(
            {
                "x": In(self.numerics.source.bits),
                "scale": In(block.scale.bits),
                **{flag: In(1) for flag in special_flags(self.numerics)},
                **enable_port(config, config.element_stages),
                "p": Out(block.element.bits),
            }
        )

    @property
    def spare(self) -> int:
        """Exponent fields below the lowest that are not taken for others."""
        return (1 << self.width) - (self.highest - self.lowest + 1)

    @property
    def least_field(self) -> int:
        """The least exponent field of a subnormal number that counts as in reach."""
        small_scales = self.base - self.lowest + (1 << self.coarse) - 1
        return self.base + 1 - self.max_shift - small_scales

    def elaborate(self, platform: object) -> Module:
        m = Module()
        self.m = m
        flags = special_flags(self.numerics)
        number = operand(self.numerics, self.x)
        now = Stage(m, self, control=flags)
        now = now.crossed("top", **self.block(), number=number)
        kept, tail, exponent, is_bare = self.normalised(now)
        values = self.lines(now, kept, exponent, is_bare) | self.rounded(kept, tail, is_bare) | self.special(now.number)
        now = now.crossed("distance", **values)
        m.d.comb += self.p.eq(self.code(now))
        return m

    def special(self, number: data.View) -> dict[str, Value]:
        """The sign of a number, and flags of a special number, if it does not make its block special."""
        if self.numerics.specials is not Specials.TE:
            return {"sign": number.sign}
        is_special = self.named("is_special", number.exponent.all())
        return {"sign": number.sign, "is_special": is_special, "is_nan": is_special & number.fraction.any()}

    def named(self, name: str, value: Value | int) -> Signal:
        """A signal with this value."""
        signal = Signal(len(Value.cast(value)), name=name)
        self.m.d.comb += signal.eq(value)
        return signal

    def block(self) -> dict[str, Value]:
        """Signals from the scale, which are the same for all lanes."""
        bits = self.numerics.source.exp_bits
        constant = self.named("constant", (self.base - self.scale)[: self.width])
        size = bits + 3
        least = self.named("least", (self.scale + (self.lowest - self.base) % (1 << size))[:size])
        floor = least[self.coarse :]
        is_small = self.named("is_small", least[-1] | ~floor.any())
        reach = self.named("reach", Mux(least[-1], 0, floor)[: bits + 1 - self.coarse])
        if not self.coarse and not self.max_shift:  # then subnormal numbers are below the reach
            reach = self.named("normal_reach", Mux(is_small, 1, reach))
        return {"constant": constant, "is_small": is_small, "reach": reach}

    def normalised(self, now: Stage) -> tuple[Value, Value, Value, Value]:
        """The bits of a fraction behind the leading one that decide its code, whether any later bit is set, the low
        bits of the exponent, and whether the number has no leading one.
        """
        m, number, size = self.m, now.number, self.element.man_bits + 1
        source = self.numerics.source
        length = size + self.max_shift
        padded = Cat(Const(0, max(length - source.man_bits, 0)), number.fraction)
        exponent = number.exponent[: self.width]
        is_zero = Signal()
        if self.coarse or self.max_shift:
            m.d.comb += is_zero.eq(now.is_small & ~number.exponent[: self.width + 1].any())
        self.is_zero = is_zero
        if not self.max_shift:
            return padded[-size:], padded[:-size].any(), exponent, Const(0, 1)
        window, lost = Cat(padded[-length:], ~is_zero), [padded[:-length].any()]
        moves: list[Value] = []
        for step in reversed(range(self.max_shift.bit_length())):
            by = 1 << step
            move = self.named(f"up{by}", ~window[-by:].any())
            chosen = self.named(f"window{by}", Mux(move, Cat(Const(0, by), window[:-by]), window))
            length = 1 + size + by - 1
            lost.append(chosen[:-length].any())
            window = chosen[-length:]
            moves.insert(0, move)
        # the exponent is 1 minus the shift; a subnormal number moves by one place or more
        bits, some = [is_zero & ~moves[0]], Const(0, 1)
        for move in moves[1:]:
            bits.append(move ^ some)
            some = some | move
        bits += [some] * self.width
        exponent = self.named("own_exponent", exponent | Cat(bits[: self.width]))
        return window[:-1], self.named("tail", Cat(lost).any()), exponent, self.named("is_bare", ~window[-1])

    def lines(self, now: Stage, kept: Value, exponent: Value, is_bare: Value) -> dict[str, Value]:
        """The exponent field, and the lines."""
        m, number, width, man = self.m, now.number, self.width, self.element.man_bits
        is_power = kept.all() if self.element.carries else Const(0, 1)
        carry = self.named("carry", is_power & ~is_bare)
        special = number.exponent.all() if self.numerics.specials is Specials.TE else Const(0, 1)
        reach = Cat(now.reach[:-1], now.reach[-1] | now.nan) if hasattr(now, "nan") else now.reach
        in_reach = number.exponent[self.coarse :] >= reach
        valid = Signal()
        zero = Const(0, 1) if self.max_shift else self.is_zero
        m.d.comb += valid.eq(in_reach & ~zero & ~special)
        field = self.named("field", (Cat(carry, exponent) + Cat(Const(1, 1), now.constant))[1 : width + 1])
        found: dict[str, Value] = {"field": field[: self.element.field.bit_length()]}
        found["has_tops"] = self.named("has_tops", kept[2:].all())
        found["has_field"] = self.named("has_field", ~is_bare | is_power)
        found["is_normal"] = self.line("is_normal", valid, field, lambda f: 1 <= f <= self.top)
        for places in range(1, man + 2):
            found[f"down{places}"] = self.line(f"down{places}", valid, field, (1 - places).__eq__)
        if self.element.exceeds:
            found["is_over"] = self.line("is_over", valid, field, lambda f: f > self.top)
        return found

    def line(self, name: str, valid: Value, field: Value, wanted: Callable[[int], bool]) -> Signal:
        """Has a number in reach such a field?"""
        size = 1 << self.width
        fields = {f % size: f for f in range(self.lowest - self.spare, self.highest + 1)}

        def function(*bits: int) -> bool:
            return wanted(fields[sum(bit << i for i, bit in enumerate(bits))])

        inputs, truth = fewest(function, self.width)
        rows: list[Value] = [Const(truth >> row & 1, 1) for row in range(1 << len(inputs))]
        for i in inputs:
            rows = [Mux(field[i], one, zero) for zero, one in zip(rows[::2], rows[1::2])]
        return self.named(name, valid & rows[0])

    def rounded(self, kept: Value, tail: Value, is_bare: Value) -> dict[str, Value]:
        """The fraction of a normal code, and the codes of fields below 1, from the first place on."""
        man, rounding = self.element.man_bits, self.numerics.rounding
        carry = self.named("is_power", kept.all() if self.element.carries else Const(0, 1))
        bits = [*(kept & ~carry.replicate(man + 1)), ~is_bare | carry]  # of a power of two, with its leading one
        found = {}
        below = tail & ~carry
        for places in range(man + 2):
            if places == 0:
                number, guard, sticky = list(kept[1:]), kept[0], tail
            else:
                number, guard, sticky = bits[1 + places :], bits[places], below | bits[places - 1]
                below = sticky = self.named(f"below{places}", sticky)
            if places == man + 1:  # a power of two rounded up from less than half of the smallest code
                guard = guard & ~carry
            up = self.named(
                f"rounds{places}", rounds_up(rounding, number[0] if number else Const(0, 1), guard, sticky, None)
            )
            result = []
            for place, bit in enumerate(number):
                result.append(bit ^ up)
                up = self.named(f"carry{places}_{place}", bit & up)
            if places:
                result.append(up)
            found[f"rounded{places}"] = self.named(f"rounded{places}", Cat(result[: man + 1]))
        return found

    def code(self, now: Stage) -> Value:
        """The code, from the lines and the rounded fractions."""
        element, man = self.element, self.element.man_bits
        lines = [now.is_normal, *(now.values[f"down{places}"] for places in range(1, man + 2))]
        rounded = [now.values[f"rounded{places}"] for places in range(man + 2)]

        def bit(place: int) -> Value:
            return Cat(line & code[place] for line, code in zip(lines, rounded) if place < len(code)).any()

        field = now.field & (now.is_normal & now.has_field).replicate(len(now.field))
        magnitude = self.named("magnitude", Cat(*(bit(place) for place in range(man)), field | bit(man)))
        size = len(magnitude)

        def where(code: int, line: Value) -> Value:
            return Const(code, size) & line.replicate(size)

        unused = (1 << size) - 1 & ~element.max_code
        result = magnitude
        tops: list[Value] = []
        if element.exceeds:
            tops.append(now.is_over)
            if self.top == element.field and unused:
                # field -1 ends in the same bits; there all ones are rounded up, unless they are cut off
                is_full = now.field.all() & (Const(1, 1) if element.carries else now.is_normal)
                is_unused = self.named("is_unused", is_full & now.has_tops if unused == 1 else magnitude.all())
                result = result & ~where(unused, is_unused)
        if self.numerics.specials is Specials.TE:
            tops.append(now.is_special)
        if tops:
            result = result | where(element.max_code, Cat(tops).any())
        sign, nan_code = now.sign, self.numerics.block.element.nan_code
        if self.numerics.specials is Specials.NAN_BLOCK:
            result = result | where(nan_code or 0, now.nan)
            sign = sign & ~now.nan
        if self.numerics.specials is Specials.TE:
            result = result | where(nan_code or element.max_code, now.is_nan)
            sign = sign & ~now.is_nan
        return Cat(result, sign)
