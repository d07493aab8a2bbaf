"""The bits of a code of `TableQuantizer`, a table each."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from amaranth.hdl import Cat, Const, Mux, Signal, Value

from ...spec import Encode, EncodedZero, Specials, signal_codes
from ..primitives.register import Stage
from .table_codes import Element


class CodeBits:
    """Tables for the bits of a code, from the state of an element, its distance and the bits of its fraction."""

    def __init__(
        self, table: Callable[..., Signal], numerics: Encode, element: Element, unnormalised_at: int | None
    ) -> None:
        self.table, self.numerics, self.element = table, numerics, element
        self.unnormalised_at = unnormalised_at
        """The highest exponent field of numbers without a leading one, or None."""

    def code(
        self,
        now: Stage,
        *,
        sign: Value,
        near: Value,
        kept: Value,
        is_field: Value,
        is_other: Value,
        sticky: Value | None = None,
        bare: Value | None = None,
        is_nan: Value | None = None,
    ) -> Value:
        """The code, from a table for each bit."""
        numerics, element = self.numerics, self.element
        bits, fraction_bits = numerics.block.element.bits, element.man_bits
        sticky = [] if sticky is None else [sticky]
        bare = [] if bare is None else [bare]
        nan_code = numerics.block.element.nan_code
        nan = now.nan if numerics.specials is Specials.NAN_BLOCK else is_nan
        differs = 0 if nan is None or nan_code is None else nan_code ^ element.max_code

        def bit(place: int, otherwise: Callable[..., object], *inputs: Value) -> Value:
            """A bit of the code: of the largest code, or ``otherwise`` of is_field and the inputs."""

            def function(field: int, other: int, *rest: int) -> object:
                if field and other:
                    return (element.max_code >> place & 1) ^ (rest[-1] if differs >> place & 1 else 0)
                return (field or other) and otherwise(field, *rest)

            return self.table(
                f"p{place}", function, is_field, is_other, *inputs, *([nan] if differs >> place & 1 else [])
            )

        # the first bit of the fraction, which subnormals of field 0 and one place below can have
        top = fraction_bits - 1
        with_sticky = sticky if fraction_bits == 1 else []  # in a longer fraction the sticky bit does not reach it
        bare_here = bare if self.unnormalised_at is not None and self.unnormalised_at >= -1 else []
        apart = (
            [self.table("short", lambda bare, last: bare and not last, *bare_here, kept[1])]
            if bare_here and fraction_bits == 3
            else []
        )
        told = [] if apart else bare_here  # numbers without a leading one: in the same LUT, if it has an input left

        def first(field: int, far: int, *rest: int) -> int:
            first_bits, lower, is_bare = self._number(rest[: fraction_bits + 1]), [*rest[fraction_bits + 1 :]], 0
            if told:
                *lower, is_bare = lower
            found = (
                element.fraction(first_bits, any(lower))
                if field
                else element.subnormal(far, first_bits, any(lower), is_bare)
            )
            return found >> top & 1

        subnormals = not element.keeps_field_zero
        code = {}
        if subnormals:
            leading = self.table("leading", first, is_field, near[1], *kept, *with_sticky, *told)
            keeps = not element.flushes

            def first_bit(
                field: int, leads: int, a: int, b: int, *short: int
            ) -> object:  # one place below field 0, a number without a leading one is one bit shorter
                return leads and (field or (keeps and a == b and not (b and any(short[: len(apart)]))))

            code[top] = bit(top, first_bit, leading, near[0], near[1], *apart)
            at_zero = bare if self.unnormalised_at == 0 else []

            def last_exponent_bit(
                field: int, leads: int, a: int, b: int, *bare: int
            ) -> object:  # rounded up to field 1, if a number of field 0 lacks the first bit
                return a if field else not (leads or a or b or any(bare[: len(at_zero)]))

            code[fraction_bits] = bit(fraction_bits, last_exponent_bit, leading, near[0], near[1], *at_zero)
        else:
            code[top] = bit(top, lambda field, *rest: first(field, 0, *rest), *kept, *with_sticky)
            code[fraction_bits] = bit(fraction_bits, lambda field, a, *_: a, near[0])
        for place in range(1, bits - 1 - fraction_bits):
            code[fraction_bits + place] = bit(fraction_bits + place, lambda field, a, *_: field and a, near[place])
        subnormal = self.subnormals(near, kept, sticky, bare) if subnormals and not element.flushes else None
        for place in reversed(range(top)):
            code[place] = self.lower(place, bit, kept, sticky, near, subnormal, code)

        magnitude = Cat(code[place] for place in range(bits - 1))
        if nan is not None:
            sign = self.table("sign", lambda sign, nan: sign and not nan, sign, nan)
        if numerics.specials is Specials.INF_SCALE:  # signal codes are signed
            inf_code, nan_code = signal_codes(numerics.block.element)
            magnitude = Mux(now.nan, nan_code, Mux(now.inf, inf_code, magnitude))[: bits - 1]
        if numerics.zero is EncodedZero.POSITIVE:
            sign = sign & magnitude.any()
        return Cat(magnitude, sign)

    def lower(
        self,
        place: int,
        bit: Callable[..., Value],
        kept: Value,
        sticky: list[Value],
        near: Value,
        subnormal: Callable[[int], Signal] | None,
        code: dict[int, Value],
    ) -> Value:
        """A bit of the fraction below its first. ``subnormal`` makes the bit of a subnormal code, or is None."""
        element = self.element
        below = kept[: place + 2] if place else kept[:2]  # these bits decide the rounding of this one
        decides = [*below, *(sticky if place == 0 else [])]

        def rounded(*bits: int) -> int:
            return element.fraction(self._number(bits[: len(below)]), any(bits[len(below) :])) >> place & 1

        inputs, count = decides, len(decides)
        saturates = (
            place == 0
            and element.exceeds
            and element.max_code >> element.man_bits == element.field
            and not element.max_code & 1
        )
        if count > 3 or (place == 0 and (saturates or element.man_bits == 3)):
            inputs, count = [self.table(f"rounded{place}", rounded, *decides)], 1
        kinds = [*inputs]
        if subnormal:
            kinds.append(subnormal(place))
        if saturates:  # the all-ones field has no all-ones fraction
            kinds.append(self.table("saturates", lambda *bits: all(bits), *(code[i] for i in sorted(code))))

        def chosen(field: int, *rest: int) -> object:
            if not field:
                return subnormal and rest[count]
            found = rest[0] if count == 1 else rounded(*rest[:count])
            return found and not (saturates and rest[count + bool(subnormal)])

        return bit(place, chosen, *kinds)

    def subnormals(self, near: Value, kept: Value, sticky: list[Value], bare: list[Value]) -> Callable[[int], Signal]:
        """A function that makes the bits of subnormal codes, from the first bits of the fraction and a sticky bit. For
        three fraction bits, the last of the kept bits is part of the sticky bit.
        """
        element, size, short = self.element, self.element.man_bits + 1, self.element.man_bits == 3
        inputs = [*kept, *sticky]
        if short:
            # all ones that carry are a power of two, with no other bit set; all ones that do not carry end in a zero
            inputs = [
                *kept[1:],
                self.table(
                    "rest",
                    lambda sticky, last, *first: last or (sticky and not all(first)),
                    sticky[0] if sticky else Const(0, 1),
                    *kept,
                ),
            ]

        def make(place: int) -> Signal:
            def function(*bits: int) -> int:
                bits, (low, high, *is_bare) = bits[: len(inputs)], bits[len(inputs) :]
                places = {(0, 0): 0, (1, 1): 1, (0, 1): 2, (1, 0): 3}[low, high]
                if places > element.man_bits:
                    return 0
                if not short:
                    number, rest = self._number(bits[:size]), int(any(bits[size:]))
                else:
                    *first, rest = bits
                    number = self._number(first) << 1
                    if element.carries and all(first) and rest:
                        number, rest = (2 << element.man_bits) - 1, 0  # the carry
                return element.subnormal(places, number, rest, any(is_bare)) >> place & 1

            return self.table(f"subnormal{place}", function, *inputs, near[0], near[1], *bare)

        return make

    @staticmethod
    def _number(bits: Iterable[int]) -> int:
        return sum(int(bit) << i for i, bit in enumerate(bits))
