"""What a scale byte means to the lanes of a decoder by tables."""

from __future__ import annotations

from amaranth.hdl import Const, Module, Shape
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ...spec import Decode, Kind, Subnormals
from ..config.decode import DecoderConfig
from .factor import exponent_of, flag_of


class FactorPlan:
    """The numbers that the lanes are told, by scale byte.

    The exponent field of a result is ``base``, the field of the element, and a carry. Of a subnormal element with a
    leading zero it is one less: where there can be two leading zeros each lane has its own carry, and that of the
    smallest element, which has the most zeros, is made here (``lowest``).
    """

    def __init__(self, rules: Decode) -> None:
        element, to = rules.block.element, rules.destination
        assert element.kind is Kind.FLOAT
        self.rules, self.element, self.to = rules, element, to
        self.zeros = element.man_bits - 1
        """How many zeros can stand in front of the leading one of a subnormal element."""
        self.own_carry = self.zeros == 2
        self.limit = 1 << to.exp_bits
        self.sum_bits = to.exp_bits + 2
        """Of a sum: the exponent field, and two bits that say what it would be beyond its limits (`base`)."""
        bytes_of_scales = range(1 << rules.block.scale.bits)
        self.told: dict[str, tuple[int, list[int]]] = {"base": (self.sum_bits, list(map(self.base, bytes_of_scales)))}
        """Name, width and, by byte, number of what the lanes are told."""
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
        """Two less than the exponent field that elements of field 1 would have without limits; negative for such as
        are subnormal.
        """
        return exponent_of(self.rules, byte) - self.element.bias + self.to.bias - 1

    def first_beyond(self, byte: int) -> int:
        """The exponent field of the first elements that are beyond the destination."""
        return (self.to.inf_field >> self.to.man_bits) - 1 - self.start(byte)

    def is_beyond(self, byte: int) -> bool:
        """Can a finite element be beyond the destination?"""
        largest = self.element.max_code >> self.element.man_bits
        return flag_of(self.rules, byte) is None and self.first_beyond(byte) <= largest

    def carry(self, byte: int) -> int:
        """That of the sum that is the exponent field. A second sum has the other one: it is negative where the first is
        not above 0. In a block whose elements can be beyond the destination it is one above the first instead, and
        overflows where the first is the field of Inf.
        """
        return int(not self.is_beyond(byte))

    def base(self, byte: int) -> int:
        """That of the sums, so that both of their top bits are set if results are subnormal, the lower one if they are
        beyond the destination, and the higher one if the factor is NaN.
        """
        start = self.start(byte)
        if flag_of(self.rules, byte) == "nan":
            if not self.own_carry:
                return start % (self.limit // 2) - 2 * self.limit
            # the exact form is told by ``near``: its lanes look at the top bit of subnormal results only
            return start % self.limit - (2 * self.limit if self.rules.subnormals is Subnormals.FLUSH else 0)
        return start + (not self.own_carry and self.is_beyond(byte))

    def reach(self, byte: int) -> int:
        """Where elements can be beyond the destination, the exponent field from which they are."""
        return self.first_beyond(byte) % (1 << self.element.exp_bits)

    def lowest(self, byte: int) -> int:
        """The exponent field of the smallest element, where it is normal; 0 where a flushed one has no state of its
        own.
        """
        field = self.start(byte) + 1 - self.zeros
        return (max(field, 0) if self.rules.subnormals is Subnormals.FLUSH else field) % self.limit

    def near(self, byte: int) -> int:
        """Which of the first blocks this is whose subnormal elements of leading zeros only are subnormal, one bit for
        each, or all bits where the factor is NaN and the sum does not say so.
        """
        if self.own_carry and flag_of(self.rules, byte) == "nan":
            return (1 << self.zeros) - 1
        return sum((self.base(byte) == above) << above for above in range(self.zeros))


class FactorUnit(wiring.Component):
    """What the scale byte of a block means to its lanes; combinational.

    Ports
    -----
    scale : in, the scale byte
    base, carry, reach, beyond, nan, lowest, near : out, those that `FactorPlan` tells
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
