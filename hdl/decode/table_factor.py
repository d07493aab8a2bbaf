"""The unit that prepares the scale byte for the lanes of a decoder by tables."""

from __future__ import annotations

from amaranth.hdl import Const, Module, Shape
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ...spec import Decode, Kind, Subnormals
from ..config.decode import DecoderConfig
from .factor import exponent_of, flag_of


class FactorPlan:
    """The numbers that the lanes receive, for each scale byte.

    The exponent field of a result is the sum of ``base``, the field of the element, and a carry. It is one less for a
    subnormal element with a leading zero. If there can be two leading zeros, each lane has its own carry, and the
    exponent field of the smallest element, which has the most zeros, is computed here (``lowest``).
    """

    def __init__(self, rules: Decode) -> None:
        element, to = rules.block.element, rules.destination
        assert element.kind is Kind.FLOAT
        self.rules, self.element, self.to = rules, element, to
        self.zeros = element.man_bits - 1
        """The most zeros before the leading one of a subnormal element."""
        self.own_carry = self.zeros == 2
        self.limit = 1 << to.exp_bits
        self.sum_bits = to.exp_bits + 2
        """Bits of a sum: the exponent field, and two bits that say how it exceeds its limits (`base`)."""
        bytes_of_scales = range(1 << rules.block.scale.bits)
        self.told: dict[str, tuple[int, list[int]]] = {"base": (self.sum_bits, list(map(self.base, bytes_of_scales)))}
        """Signals to the lanes by name: the width, and the number for each byte."""
        if self.own_carry:
            self.told["reach"] = element.exp_bits, list(map(self.reach, bytes_of_scales))
            self.told["beyond"] = 1, list(map(self.is_beyond, bytes_of_scales))
            self.told["nan"] = 1, [flag_of(rules, byte) == "nan" for byte in bytes_of_scales]
        else:
            self.told["carry"] = 1, list(map(self.carry, bytes_of_scales))
        if self.zeros:
            self.told["lowest"] = to.exp_bits, list(map(self.lowest, bytes_of_scales))
            self.told["near"] = self.zeros, list(map(self.near, bytes_of_scales))

    def start(self, byte: int) -> int:
        """The exponent field without limits of an element of field 1, minus two. It is negative if the element becomes
        subnormal.
        """
        return exponent_of(self.rules, byte) - self.element.bias + self.to.bias - 1

    def first_beyond(self, byte: int) -> int:
        """The smallest exponent field of elements above the range of the destination."""
        return (self.to.inf_field >> self.to.man_bits) - 1 - self.start(byte)

    def is_beyond(self, byte: int) -> bool:
        """Can a finite element be above the range of the destination?"""
        largest = self.element.max_code >> self.element.man_bits
        return flag_of(self.rules, byte) is None and self.first_beyond(byte) <= largest

    def carry(self, byte: int) -> int:
        """The carry of the sum that is the exponent field. A second sum has the opposite carry. It is negative if the
        first sum is not above 0. If elements of the block can exceed the destination, it is one above the first sum
        instead, and overflows if the first is the field of Inf.
        """
        return int(not self.is_beyond(byte))

    def base(self, byte: int) -> int:
        """The base of the sums. Both top bits of a sum are set if the result is subnormal, the lower one alone if it
        exceeds the destination, and the upper one alone if the factor is NaN.
        """
        start = self.start(byte)
        if flag_of(self.rules, byte) == "nan":
            if not self.own_carry:
                return start % (self.limit // 2) - 2 * self.limit
            # otherwise ``near`` marks NaN, because the lanes use the top bit only for subnormal results
            return start % self.limit - (2 * self.limit if self.rules.subnormals is Subnormals.FLUSH else 0)
        return start + (not self.own_carry and self.is_beyond(byte))

    def reach(self, byte: int) -> int:
        """The exponent field from which elements exceed the destination, if any does."""
        return self.first_beyond(byte) % (1 << self.element.exp_bits)

    def lowest(self, byte: int) -> int:
        """The exponent field of the smallest element, if its result is normal. A flushed result has the field 0."""
        field = self.start(byte) + 1 - self.zeros
        return (max(field, 0) if self.rules.subnormals is Subnormals.FLUSH else field) % self.limit

    def near(self, byte: int) -> int:
        """One bit for each of the lowest bases under which only elements with leading zeros become subnormal. All bits
        are set if the factor is NaN and the sum does not say so.
        """
        if self.own_carry and flag_of(self.rules, byte) == "nan":
            return (1 << self.zeros) - 1
        return sum((self.base(byte) == above) << above for above in range(self.zeros))


class FactorUnit(wiring.Component):
    """Prepare the scale byte of a block for the lanes; combinational.

    Ports
    -----
    scale : in, the scale byte
    base, carry, reach, beyond, nan, lowest, near : out, as `FactorPlan` lists them
    """

    kind = "factor_unit"

    def __init__(self, config: DecoderConfig) -> None:
        self.told = FactorPlan(config.numerics).told
        ports = {name: Out(Shape(width)) for name, (width, _) in self.told.items()}
        super().__init__({"scale": In(config.numerics.block.scale.bits), **ports})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        for name, (width, numbers) in self.told.items():
            for bit in range(width):
                table = sum((number >> bit & 1) << byte for byte, number in enumerate(numbers))
                m.d.comb += getattr(self, name)[bit].eq(Const(table, len(numbers)) >> self.scale)
        return m
