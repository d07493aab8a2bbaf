"""An element quantizer without shifter and adder: the distance to the top of the block decides everything.

``distance`` is the exponent of the top binade of the block minus the exponent of the element. The first bits of a
fraction alone decide whether it rounds up to the next power of two, and this carry enters the one subtraction of a
lane. Then the complement of the distance *is* the exponent field, down to field 0. The few larger distances select the
bits of the fraction that are kept. Everything else is a function of a few bits, which `table` can keep in one LUT.
"""

from __future__ import annotations

from collections.abc import Callable

from amaranth.hdl import Cat, Const, Module, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ...spec import Specials, Subnormals
from ..config.architecture import Structure
from ..config.encode import ConverterConfig
from ..emission.modules import ModuleLibrary, instantiated
from ..primitives.normalise import Normalised, max_shift_of, normalised
from ..primitives.register import Stage, enable_port
from ..primitives.sticky import any_of
from ..primitives.table import LUT_INPUTS, table
from .distance import Distance, distance
from .operand import operand, special_flags
from .scale import largest_scale, scale_offset
from .table_bits import CodeBits
from .table_codes import Element


class TableQuantizer(wiring.Component):
    """`ElementQuantizer` by tables, with the same ports, for the rules in `architecture.SUPPORTS`; combinational
    without registers inside.
    """

    kind = "element_quantizer"

    def __init__(self, config: ConverterConfig) -> None:
        self.config, self.numerics = config, config.numerics
        self.element = Element(self.numerics)
        block = self.numerics.block
        self.significant_bits = (
            self.element.man_bits + 1
            if self.numerics.input_subnormals is Subnormals.FLUSH
            else self.numerics.source.man_bits
        )
        """Leading bits of the fraction that the quantizer uses; the others only as a sticky bit."""
        self.offset = self.element.field - (block.element.bias + block.scale.bias - self.numerics.source.bias)
        """Biased exponent of the all-ones field minus the scale byte."""
        self.lowest = max(self.element.last - self.offset, 0)
        """The largest scale byte under which a subnormal number can be nonzero."""
        self.max_shift, self.unnormalised_at = 0, None
        if self.numerics.input_subnormals is Subnormals.EXACT:
            self.max_shift, self.unnormalised_at = self.subnormal_shift()
        self.decisive_bits = min(self.element.man_bits + 1 + self.max_shift, self.numerics.source.man_bits)
        """The same, but as few as possible. Registers before version 0.3 have `significant_bits`."""
        self.wide = largest_scale(self.numerics) + self.offset >= 1 << self.numerics.source.exp_bits
        self.low = max((self.element.last + self.max_shift).bit_length(), 5 + self.wide)
        """Low bits of the distance, which are subtracted. The others are compared."""
        early = {"is_large": In(1)} if self.max_shift and "scale" in config.microarchitecture.registered_after else {}
        super().__init__(
            {
                "x": In(self.numerics.source.bits),
                "scale": In(self.numerics.block.scale.bits),
                **early,
                **{flag: In(1) for flag in special_flags(self.numerics)},
                **enable_port(config, config.element_stages),
                "p": Out(self.numerics.block.element.bits),
            }
        )

    def subnormal_shift(self) -> tuple[int, int | None]:
        """The shift of subnormal numbers, and the highest exponent field of numbers without a leading one after it, or
        None if all of these become zero.
        """
        bias = self.element.field - self.offset  # places to field 0 under the smallest scale
        every = min(
            self.element.last - self.offset + 1, self.numerics.source.man_bits
        )  # smaller numbers become zero, or are zero
        least = bias + (self.element.man_bits == 3)  # in field 0 all bits would decide, which are too many for a table
        max_shift = max_shift_of(every if self.element.keeps_field_zero else max(min(least, every), 1))
        return max_shift, None if max_shift >= every else bias - max_shift

    def elaborate(self, platform: object) -> Module:
        m = Module()
        self.m, self.platform = m, platform
        number, flags = operand(self.numerics, self.x), special_flags(self.numerics)
        special, top = self.special(number), self.top()
        digits, moved = self.flushed(number) if not self.max_shift else self.normalised(number, top.pop("is_large"))
        now = Stage(m, self, control=flags).crossed(
            "top", store_inverted=["choices", "zero", "bare", "hidden"], sign=number.sign, **special, **top, **digits
        )
        now = now.crossed("distance", store_inverted=["zero", "is_level"], **self.distance(moved, **now.values))
        is_field, is_other = self.state(now, **now.values)
        used = ("sign", "is_nan", "near", "kept", "sticky", "bare")
        values = {name: value for name, value in now.values.items() if name in used}
        now = now.crossed(
            "chosen", store_inverted=["is_field", "is_other"], **values, is_field=is_field, is_other=is_other
        )
        bits = CodeBits(self.table, self.numerics, self.element, self.unnormalised_at)
        m.d.comb += self.p.eq(bits.code(now, **now.values))
        return m

    def special(self, number: data.View) -> dict[str, Value]:
        """Flags of a special number, if it does not make its block special."""
        found = {}
        if self.numerics.specials is Specials.TE:
            found["is_special"] = number.exponent.all()
        if self.numerics.specials is Specials.DROP:  # above the top of its block, unless this is as high
            found["is_special"] = number.exponent.all() & (
                self.scale < (1 << self.numerics.source.exp_bits) - 1 - self.offset
            )
        if self.numerics.specials is Specials.TE:
            found["is_nan"] = number.exponent.all() & number.fraction.any()
        return found

    def table(self, name: str, function: Callable[..., object], *inputs: Value) -> Signal:
        return table(self.m, self.platform, self.config, name, function, *inputs)

    def top(self) -> dict[str, Value]:
        """Signals from the scale, which are the same for all lanes."""
        source, width = self.numerics.source, self.numerics.source.exp_bits + self.wide
        not_top = Signal(width)
        above = Signal(source.exp_bits - self.low)
        self.m.d.comb += [not_top.eq((1 << width) - 1 - self.offset - self.scale), above.eq(~not_top[self.low :] - 1)]
        if self.max_shift:
            is_large = Signal()
            self.m.d.comb += is_large.eq(
                self.is_large if "is_large" in self.signature.members else self.larger(self.scale)
            )
            return {"not_top": not_top, "above": above, "is_large": is_large}
        is_small = Signal()
        self.m.d.comb += is_small.eq(self.scale <= self.lowest)
        return {"not_top": not_top, "above": above, "is_small": is_small}

    def larger(self, scale: Value) -> Value:
        """Is every subnormal number zero under this scale? If the scale has a register, so has this flag, because the
        comparison and the fan-out to all lanes do not fit in one cycle.
        """
        return scale > self.lowest

    def flushed(self, number: data.View) -> tuple[dict[str, Value], None]:
        """The exponent of a number, and the bits of its fraction that decide the rounding, if subnormal numbers are
        zero.
        """
        bits = self.element.man_bits + 1
        padded = Cat(Const(0, max(bits - self.numerics.source.man_bits, 0)), number.fraction)
        sticky = {"sticky": padded[:-bits].any()} if self.element.has_sticky else {}
        return {**self.exponent(number), "kept": padded[-bits:], **sticky}, None

    def normalised(self, number: data.View, is_large: Value) -> tuple[dict[str, Value], Normalised]:
        """The same if subnormal numbers are exact, with the bits that the tables need of them, and their shift."""
        # these bits hold every exponent of a small block; in other blocks a subnormal number becomes zero anyway
        exponent = number.exponent[: (self.lowest + scale_offset(self.numerics)).bit_length()]
        moved = normalised(
            self.table,
            [is_large, *exponent],
            number.fraction[::-1],
            self.element.man_bits + 1,
            self.max_shift,
            unnormalised_matters=self.unnormalised_at is not None,
        )
        found = {
            "kept": Cat(reversed(moved.kept)),
            "choices": Cat(moved.choices),
            "zero" if self.unnormalised_at is None else "bare": moved.bare,
        }
        if self.element.has_sticky:
            found["sticky"] = any_of(self.m, self.platform, self.config, moved.rest)
        if moved.hidden is not None and self.offset > 0:  # then no subnormal number is above the top of its block
            found["hidden"] = moved.hidden
        return {**self.exponent(number), **found}, moved

    def exponent(self, number: data.View) -> dict[str, Value]:
        return {"exponent": number.exponent[: self.low], "high": number.exponent[self.low :]}

    def distance(
        self,
        moved: Normalised | None,
        *,
        not_top: Value,
        above: Value,
        exponent: Value,
        high: Value,
        kept: Value,
        is_small: Value | None = None,
        choices: Value | None = None,
        **found: Value,
    ) -> dict[str, Value]:
        """The complement of the low bits of the distance, flags that say whether the high bits are zero, and the other
        bits of the number.
        """
        m, element, low = self.m, self.element, self.low
        if is_small is not None:
            found["zero"] = self.table("is_zero", lambda small, *e: small and not any(e), is_small, *exponent)
        carries = kept if element.carries else Const(0, 1)
        result = Signal(low + 1, name="near")
        signed = moved is not None and "hidden" not in found
        if self.config.microarchitecture.structure is Structure.KEPT and isinstance(self.platform, ModuleLibrary):
            part = Distance(low, len(carries), moved, signed)
            m.submodules.make_distance = instantiated(part, self.platform)
            m.d.comb += [
                part.exponent.eq(exponent),
                part.not_top.eq(not_top[:low]),
                part.carries.eq(carries),
                *([part.choices.eq(choices)] if moved else []),
                result.eq(part.y),
            ]
        else:
            m.d.comb += result.eq(distance(exponent, not_top[:low], carries, moved, choices, signed))
        size = len(high)
        is_level = self.table(
            "is_level",
            lambda *b: all(x != y for x, y in zip(b[:size], b[size:])) and all(b[2 * size :]),
            *high,
            *not_top[low:],
        )
        is_below = self.table("is_below", lambda *b: b[:size] == b[size:], *high, *above)
        return {
            "near": result[:low],
            "over": result[low],
            "is_level": is_level,
            "is_below": is_below,
            "kept": kept,
            **found,
        }

    def state(
        self,
        now: Stage,
        *,
        near: Value,
        over: Value,
        is_level: Value,
        is_below: Value,
        zero: Value | None = None,
        hidden: Value | None = None,
        is_special: Value | None = None,
        **_: Value,
    ) -> tuple[Value, Value]:
        """``is_field`` and ``is_other``. Both are set for the largest code, the first for a code with an exponent field
        above 0, the second for a code of field 0 or rounded up from there, and neither for zero.
        """
        element, numerics = self.element, self.numerics
        width = len(near)
        max_field = element.max_code >> element.man_bits
        tops: dict[str, Value] = {}
        nones: dict[str, Value] = {}
        if numerics.specials is Specials.NAN_BLOCK:
            (nones if numerics.block.element.nan_code is None else tops)["nan"] = now.nan
        if numerics.specials in (Specials.DROP, Specials.TE):
            tops["special"] = is_special
        zeros = {} if zero is None else {"zero": zero}
        early, late = (zeros, {}) if width < LUT_INPUTS else ({}, zeros)

        def class_of(bits: tuple[int, ...]) -> set[str]:
            distance = (1 << width) - 1 - sum(bit << i for i, bit in enumerate(bits))
            if distance == 0 and max_field < element.field and element.exceeds:
                return {"field", "other"}
            if distance < element.field or (distance == element.field and element.keeps_field_zero):
                return {"field"}
            return {"other"} if distance <= element.last else set()

        more = {**tops, **nones, **late, **({} if hidden is None else {"hidden": hidden})}

        def state(is_near: object, over: int, level: int, below: int, *rest: int) -> object:
            told = dict(zip(more, rest))
            if any(told[name] for name in nones):
                return False
            is_top: object = any(told[name] for name in tops)
            is_near = is_near and not told.get("zero")
            over = over and told.get("hidden", True)
            is_top = is_top or (element.exceeds and over and level)
            return is_top or ((below if over else level) and is_near)

        def decoded(kind: str) -> Signal:
            members = [kind in class_of(tuple(number >> i & 1 for i in range(width))) for number in range(1 << width)]
            matter = [i for i in range(width) if any(members[n] != members[n ^ 1 << i] for n in range(1 << width))]

            def is_near(*bits: int) -> bool:
                number = sum(bit << i for i, bit in zip(matter, bits))
                return members[number] and not any(bits[len(matter) :])

            inputs = [*(near[i] for i in matter), *early.values()]
            count = len(inputs)
            known: Callable[..., object] = is_near
            if count + 3 + len(more) > LUT_INPUTS:  # a LUT of its own
                inputs, count, known = [self.table(f"near_{kind}", is_near, *inputs)], 1, bool
            return self.table(
                f"is_{kind}",
                lambda *bits: state(known(*bits[:count]), *bits[count:]),
                *inputs,
                over,
                is_level,
                is_below,
                *more.values(),
            )

        return decoded("field"), decoded("other")
