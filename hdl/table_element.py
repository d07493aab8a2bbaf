"""An element quantizer without shifter and adder: the distance to the top of the block decides everything.

``distance`` is the exponent of the top binade of the block less that of the element: how many places below the all-ones
exponent field the element is. A fraction that rounds up to the next power of two is known from its first bits alone, and
is carried into the one subtraction of a lane. Then the complement of the distance *is* the exponent field, down to field
0; the few distances below it select which bits of the fraction are kept. All else are functions of a few bits, which
`table` can keep in one LUT each.
"""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ..spec import ConverterConfig, Numerics, Rounding, Specials, Structure, Subnormals
from ..spec.stages import element_stages
from .modules import ModuleLibrary, placed
from .normalise import normalised
from .operand import operand_layout, special_flags
from .register import enable_port, registered
from .rounding import rounds_up
from .scale import largest_scale, leaves_above
from .table import table

__all__ = ["TableQuantizer"]

LUT_INPUTS = 6
"""Of the LUTs that functions are cut to fit."""


class Distance(wiring.Component):
    """``y``: the complement of (top - exponent - carry), and above it whether that is negative.

    ``carry`` is the AND of ``carries``; it enters below the lowest place, so that its AND costs no LUT of its own.
    """

    kind, whole = "distance", True

    def __init__(self, width: int, carries: int) -> None:
        super().__init__({"exponent": In(width), "not_top": In(width), "carries": In(carries), "y": Out(width + 1)})

    def elaborate(self, platform) -> Module:
        m = Module()
        m.d.comb += self.y.eq(sum_of(self.exponent, self.not_top, self.carries))
        return m


def sum_of(exponent, not_top, carries):
    return (Cat(carries.all(), exponent) + Cat(Const(1, 1), not_top))[1:]


class Element:
    """What the tables of a format and its rules say, on integers."""

    def __init__(self, numerics: Numerics) -> None:
        element = numerics.block.element
        self.rounding, self.man_bits = numerics.rounding, element.man_bits
        self.field = (1 << element.exp_bits) - 1  # all ones
        self.keeps_field_zero = (  # as published: field 0 keeps the unshifted fraction
            numerics.rounding is Rounding.GUARD_HALF_UP and numerics.element_subnormals is Subnormals.FLUSH)
        self.flushes = numerics.element_subnormals is Subnormals.FLUSH
        self.max_code = (self.field << self.man_bits) - 1 if numerics.rounding is Rounding.GUARD_HALF_UP else element.max_code
        self.has_sticky = numerics.rounding is Rounding.RNE
        self.carries = numerics.rounding is not Rounding.RTZ
        self.exceeds = leaves_above(numerics)
        self.last = self.field if self.keeps_field_zero else self.field + (0 if self.flushes else self.man_bits)
        """The largest distance of a code that is not zero."""

    def is_power(self, kept: int) -> bool:
        """Do these first ``man_bits`` + 1 bits of a fraction round up to the next power of two?"""
        return self.carries and kept == (2 << self.man_bits) - 1

    def nearest(self, number: int, places: int, sticky: int) -> int:
        """``number`` without its last ``places``, rounded."""
        below, rest = number >> places - 1 & 1, int(bool(number & (1 << places - 1) - 1) or sticky)
        return (number >> places) + rounds_up(self.rounding, number >> places & 1, below, rest, None)

    def fraction(self, kept: int, sticky: int) -> int:
        """Fraction bits of a normal code."""
        return self.nearest(kept, 1, sticky) & (1 << self.man_bits) - 1

    def subnormal(self, places: int, kept: int, sticky: int) -> int:
        """The code of a number ``places`` below field 0; ``kept`` and ``sticky`` are of a fraction whose carry is in the distance."""
        if self.is_power(kept):
            if places == self.man_bits:  # rounded up from below half of the smallest code
                return 0
            kept = sticky = 0
        return self.nearest((2 << self.man_bits) + kept, 2 + places, sticky)


class TableQuantizer(wiring.Component):
    """`ElementQuantizer` by tables, with the same ports, for what `spec.config.has_tables` says. Combinational without registers inside."""

    kind = "element_quantizer"

    def __init__(self, config: ConverterConfig) -> None:
        self.config, self.numerics = config, config.numerics
        self.element = Element(self.numerics)
        block = self.numerics.block
        self.looks_at = block.element.man_bits + 1 if self.numerics.input_subnormals is Subnormals.FLUSH else self.numerics.source.man_bits
        """First bits of a fraction; of the others only whether any is set."""
        self.offset = self.element.field - (block.element.bias + block.scale.bias - self.numerics.source.bias)
        """Biased exponent of the all-ones field, less the scale byte."""
        self.wide = largest_scale(self.numerics) + self.offset >= 1 << self.numerics.source.exp_bits
        self.low = max(self.element.last.bit_length(), 5 + self.wide)
        """Low bits of the subtraction; the others are compared."""
        super().__init__({"x": In(self.numerics.source.bits), "scale": In(self.numerics.block.scale.bits),
                          **{flag: In(1) for flag in special_flags(self.numerics)}, **enable_port(config, element_stages(config)),
                          "p": Out(self.numerics.block.element.bits)})

    def elaborate(self, platform) -> Module:
        m = Module()
        self.m, self.platform = m, platform
        number, flags = data.View(operand_layout(self.numerics), self.x), special_flags(self.numerics)
        values = {"sign": number.sign, **self.special(number), **self.top(), **self.digits(number)}
        now, *later = registered(m, self, "top", told=flags, **values)
        values = now.distance(**dict(zip(values, later)))
        now, *later = registered(m, now, "distance", told=flags, forced=["zero", "is_level"], **values)
        values = dict(zip(values, later))
        chosen = now.state(**values)
        used = ("sign", "is_nan", "near", "kept", "sticky")
        values = {name: value for name, value in values.items() if name in used} | dict(zip(("is_field", "is_other"), chosen))
        now, *later = registered(m, now, "chosen", told=flags, forced=["is_field", "is_other"], **values)
        now.code(**dict(zip(values, later)))
        return m

    def special(self, number) -> dict[str, Value]:
        """What a special number is asked, where one does not make its block special."""
        found = {}
        if self.numerics.specials is Specials.TE:
            found["is_special"] = number.exponent.all()
        if self.numerics.specials is Specials.DROP:  # above the top of its block, but where that is as high
            found["is_special"] = number.exponent.all() & (self.scale < (1 << self.numerics.source.exp_bits) - 1 - self.offset)
        if self.numerics.specials is Specials.TE:
            found["is_nan"] = number.exponent.all() & number.fraction.any()
        return found

    def table(self, name: str, function, *inputs) -> Signal:
        return table(self.m, self.platform, self.config, name, function, *inputs)

    def top(self) -> dict[str, Value]:
        """What the scale says, the same for all lanes."""
        numerics, element, source, offset = self.numerics, self.element, self.numerics.source, self.offset
        width = source.exp_bits + self.wide
        not_top = Signal(width)
        above = Signal(source.exp_bits - self.low)
        self.m.d.comb += [not_top.eq((1 << width) - 1 - offset - self.scale), above.eq(~not_top[self.low:] - 1)]
        if numerics.input_subnormals is not Subnormals.FLUSH:
            return {"not_top": not_top, "above": above}
        is_small = Signal()
        self.m.d.comb += is_small.eq(self.scale <= max(element.last - offset, 0))
        return {"not_top": not_top, "above": above, "is_small": is_small}

    def digits(self, number) -> dict[str, Value]:
        """The exponent of a number, normalised where it need be, and the bits that decide the rounding."""
        numerics, element, source = self.numerics, self.element, self.numerics.source
        bits, found = element.man_bits + 1, {}
        if numerics.input_subnormals is Subnormals.FLUSH:
            padded = Cat(Const(0, max(bits - source.man_bits, 0)), number.fraction)
            kept, rest, exponent = padded[-bits:], padded[:-bits], number.exponent
        else:
            places = element.last - self.offset + 1
            kept, rest, exponent, found["zero"], found["negative"] = normalised(self.m, number, source, bits, places)
        if element.has_sticky:
            found["sticky"] = rest.any()
        return {"exponent": exponent[:self.low], "high": number.exponent[self.low:], "kept": kept, **found}

    def distance(self, *, not_top, above, exponent, high, kept, is_small=None, **found) -> dict[str, Value]:
        """The low bits of the distance, complemented; what tells whether they are all of it; and what else is known of the number."""
        m, element, low = self.m, self.element, self.low
        if is_small is not None:
            found["zero"] = self.table("is_zero", lambda small, *e: small and not any(e), is_small, *exponent)
        carries = kept if element.carries else Const(0, 1)
        result = Signal(low + 1, name="near")
        if self.config.microarchitecture.structure is Structure.KEPT and isinstance(self.platform, ModuleLibrary):
            part = Distance(low, len(carries))
            m.submodules.make_distance = placed(part, self.platform)
            m.d.comb += [part.exponent.eq(exponent), part.not_top.eq(not_top[:low]), part.carries.eq(carries), result.eq(part.y)]
        else:
            m.d.comb += result.eq(sum_of(exponent, not_top[:low], carries))
        size = len(high)
        is_level = self.table("is_level", lambda *b: all(x != y for x, y in zip(b[:size], b[size:])) and all(b[2 * size:]),
                              *high, *not_top[low:])
        is_below = self.table("is_below", lambda *b: b[:size] == b[size:], *high, *above)
        return {"near": result[:low], "over": result[low], "is_level": is_level, "is_below": is_below, "kept": kept, **found}

    def state(self, *, near, over, is_level, is_below, zero, negative=None, is_special=None, **_):
        """``is_field`` and ``is_other``: both for the largest code, the first for one with an exponent field of its own,
        the second for one of field 0 or rounded up from there, neither for zero."""
        element, numerics = self.element, self.numerics
        width = len(near)
        max_field = element.max_code >> element.man_bits
        tops, nones = {}, {}
        if numerics.specials is Specials.NAN_BLOCK:
            (nones if numerics.block.element.nan_code is None else tops)["nan"] = self.nan
        if numerics.specials in (Specials.DROP, Specials.TE):
            tops["special"] = is_special
        negative = {} if negative is None else {"negative": negative}
        early, late = ({"zero": zero}, {}) if width < LUT_INPUTS else ({}, {"zero": zero})

        def class_of(bits: tuple[int, ...]) -> set[str]:
            distance = (1 << width) - 1 - sum(bit << i for i, bit in enumerate(bits))
            if distance == 0 and max_field < element.field and element.exceeds:
                return {"field", "other"}
            if distance < element.field or distance == element.field and element.keeps_field_zero:
                return {"field"}
            return {"other"} if distance <= element.last else set()

        more = {**tops, **nones, **negative, **late}

        def state(is_near, over, level, below, *rest):
            rest = dict(zip(more, rest))
            if any(rest[name] for name in nones):
                return False
            is_top = any(rest[name] for name in tops)
            is_near = is_near and not rest.get("zero")
            if rest.get("negative"):  # an exponent below 0: all places above are ones
                return is_top or level and over and is_near
            is_top = is_top or element.exceeds and over and level
            return is_top or (below if over else level) and is_near

        def decoded(kind: str) -> Signal:
            members = [kind in class_of(tuple(number >> i & 1 for i in range(width))) for number in range(1 << width)]
            matter = [i for i in range(width) if any(members[n] != members[n ^ 1 << i] for n in range(1 << width))]

            def is_near(*bits):
                number = sum(bit << i for i, bit in zip(matter, bits))
                return members[number] and not any(bits[len(matter):])

            inputs = [*(near[i] for i in matter), *early.values()]
            count = len(inputs)
            if count + 3 + len(more) > LUT_INPUTS:  # a LUT of its own
                inputs, count, known = [self.table(f"near_{kind}", is_near, *inputs)], 1, bool
            else:
                known = is_near
            return self.table(f"is_{kind}", lambda *bits: state(known(*bits[:count]), *bits[count:]),
                              *inputs, over, is_level, is_below, *more.values())

        return decoded("field"), decoded("other")

    def code(self, *, sign, near, kept, is_field, is_other, sticky=None, is_nan=None) -> None:
        """The code from its table for each bit."""
        m, numerics, element = self.m, self.numerics, self.element
        bits, fraction_bits = numerics.block.element.bits, element.man_bits
        sticky = [] if sticky is None else [sticky]
        nan_code = numerics.block.element.nan_code
        nan = self.nan if numerics.specials is Specials.NAN_BLOCK else is_nan
        differs = 0 if nan is None or nan_code is None else nan_code ^ element.max_code

        def bit(place: int, otherwise, *inputs):
            """A bit of the code: of the largest code, or of what ``otherwise`` says given is_field and the inputs."""
            def function(field, other, *rest):
                if field and other:
                    return (element.max_code >> place & 1) ^ (rest[-1] if differs >> place & 1 else 0)
                return (field or other) and otherwise(field, *rest)

            return self.table(f"p{place}", function, is_field, is_other, *inputs, *([nan] if differs >> place & 1 else []))

        # the first bit of the fraction: the subnormals that can have it are those of field 0 and one place below
        top = fraction_bits - 1
        with_sticky = sticky if fraction_bits == 1 else []  # further up no sticky bit reaches it

        def first(field, far, *rest):
            first_bits, rest = self._number(rest[:fraction_bits + 1]), rest[fraction_bits + 1:]
            found = element.fraction(first_bits, any(rest)) if field else element.subnormal(far, first_bits, any(rest))
            return found >> top & 1

        subnormals = not element.keeps_field_zero
        code = {}
        if subnormals:
            leading = self.table("leading", first, is_field, near[1], *kept, *with_sticky)
            keeps = not element.flushes
            code[top] = bit(top, lambda field, leads, a, b, *_: leads and (field or keeps and a == b), leading, near[0], near[1])
            # a number of field 0 has the first bit, unless it has been rounded up to field 1
            code[fraction_bits] = bit(fraction_bits, lambda field, leads, a, b, *_: a if field else not (leads or a or b),
                                      leading, near[0], near[1])
        else:
            code[top] = bit(top, lambda field, *rest: first(field, 0, *rest), *kept, *with_sticky)
            code[fraction_bits] = bit(fraction_bits, lambda field, a, *_: a, near[0])
        for place in range(1, bits - 1 - fraction_bits):
            code[fraction_bits + place] = bit(fraction_bits + place, lambda field, a, *_: field and a, near[place])
        for place in reversed(range(top)):
            code[place] = self.lower(place, bit, kept, sticky, near, subnormals and not element.flushes, code)

        magnitude = Cat(code[place] for place in range(bits - 1))
        if nan is not None:
            sign = self.table("sign", lambda sign, nan: sign and not nan, sign, nan)
        if numerics.specials is Specials.INF_SCALE:  # signal codes are signed
            signals = numerics.block.element
            magnitude = Mux(self.nan, signals.signal_nan_code, Mux(self.inf, signals.signal_inf_code, magnitude))[:bits - 1]
        m.d.comb += self.p.eq(Cat(magnitude, sign))

    def lower(self, place: int, bit, kept, sticky: list, near, subnormals: bool, code: dict):
        """A bit of the fraction below its first."""
        element = self.element
        below = kept[:place + 2] if place else kept[:2]  # bits from here on decide the rounding of this one
        decides = [*below, *(sticky if place == 0 else [])]

        def rounded(*bits):
            return element.fraction(self._number(bits[:len(below)]), any(bits[len(below):])) >> place & 1

        inputs, count = decides, len(decides)
        saturates = place == 0 and element.exceeds and element.max_code >> element.man_bits == element.field and not element.max_code & 1
        if count > 3 or place == 0 and (saturates or element.man_bits == 3):
            inputs, count = [self.table(f"rounded{place}", rounded, *decides)], 1
        kinds = [*inputs]
        if subnormals:
            kinds.append(self.table(f"subnormal{place}", self._subnormal(place), *self._inexact(kept, sticky), near[0], near[1]))
        if saturates:  # the all-ones field has no all-ones fraction
            kinds.append(self.table("saturates", lambda *bits: all(bits), *(code[i] for i in sorted(code))))

        def chosen(field, *rest):
            if not field:
                return subnormals and rest[count]
            found = rest[0] if count == 1 else rounded(*rest[:count])
            return found and not (saturates and rest[count + subnormals])

        return bit(place, chosen, *kinds)

    def _inexact(self, kept, sticky: list) -> list:
        """What the tables of subnormals look at of the fraction: its first bits, and whether any other is set. Where the last of
        the bits kept is but one of those others, it is not one of the inputs."""
        element = self.element
        if element.man_bits < 3:
            return [*kept, *sticky]
        if not hasattr(self, "_rest"):
            # all ones that carry are a power of two, nothing else set; all ones that do not have a last bit of zero
            self._rest = self.table("rest", lambda sticky, last, *first: last or sticky and not all(first),
                                    sticky[0] if sticky else Const(0, 1), *kept)
        return [*kept[1:], self._rest]

    def _subnormal(self, place: int):
        element, size = self.element, self.element.man_bits + 1

        def function(*bits):
            *fraction, low, high = bits
            places = {(0, 0): 0, (1, 1): 1, (0, 1): 2, (1, 0): 3}[low, high]
            if places > element.man_bits:
                return 0
            if element.man_bits < 3:
                kept, sticky = self._number(fraction[:size]), any(fraction[size:])
            else:
                *first, sticky = fraction
                kept = self._number(first) << 1
                if element.carries and all(first) and sticky:
                    kept, sticky = (2 << element.man_bits) - 1, 0  # the carry
            return element.subnormal(places, kept, sticky) >> place & 1

        return function

    @staticmethod
    def _number(bits) -> int:
        return sum(int(bit) << i for i, bit in enumerate(bits))
