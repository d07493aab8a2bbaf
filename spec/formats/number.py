"""Number formats as data: the tables of standards, without any conversion.

Codes are integers. Formats are frozen, hashable and checked by their constructors. Both kinds have the same properties,
such as the value of a code, the largest number, and the code of a sign and a magnitude.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from enum import StrEnum
from fractions import Fraction
from functools import cached_property
from typing import ClassVar, Literal, NamedTuple

from ..catalogue import Rule, excerpt

OCP_MX = "OCP Microscaling Formats (MX) v1.0, 2023"
OCP_FP8 = "OCP 8-bit Floating Point (OFP8) v1.0, 2023"
IEEE_754 = "IEEE 754-2019"


class SpecialCodes(Rule):
    """Codes of a floating-point format that are not numbers."""

    IEEE = "ieee", "the top exponent field holds Inf (fraction 0) and NaN (any other fraction)"
    NAN_ONLY = "nan_only", 'only the all-ones code of either sign is NaN, and there is no Inf ("fn" elsewhere)'
    NONE = "none", "every code is a number"
    FNUZ = "fnuz", 'the code of negative zero is NaN, and there is neither Inf nor a negative zero ("fnuz" elsewhere)'


class Negatives(Rule):
    """Representation of negative numbers in a fixed-point format."""

    TWOS_COMPLEMENT = "twos_complement", "code 2**bits - n for the number -n"
    SIGN_MAGNITUDE = "sign_magnitude", "the top bit is the sign, and there is a negative zero"


class Kind(StrEnum):
    """Kind of a number format. Other packages have tables by kind."""

    FLOAT = "float"
    FIXED = "fixed"


class Number(NamedTuple):
    """The number of a code. ``kind`` is "finite", "inf" or "nan"; the magnitude of Inf and NaN is 0."""

    negative: bool
    magnitude: Fraction
    kind: str = "finite"

    @property
    def value(self) -> Fraction:
        """The number, if it is finite. Raises ValueError otherwise."""
        if self.kind != "finite":
            raise ValueError(f"{self.kind} is not a number")
        return -self.magnitude if self.negative else self.magnitude


def _require(condition: bool, message: str) -> None:
    if not condition:
        raise ValueError(message)


KINDS = {"int": (int, "a whole number"), "str": (str, "a string"), "bool": (bool, "true or false")}
"""Type of a field and its name in words, by annotation."""


def _require_kinds(made: NumberFormat) -> None:
    """Raise TypeError for a field of another type, as a file can contain."""
    for declared in dataclasses.fields(made):
        kind, words = KINDS.get(str(declared.type), (object, ""))
        value = getattr(made, declared.name)
        if not isinstance(value, kind) or (isinstance(value, bool) and kind is int):
            raise TypeError(f"{declared.name} of a {type(made).__name__} must be {words}, not {excerpt(value)}")


@dataclass(frozen=True, kw_only=True)
class FloatFormat:
    """A binary floating-point format. From the top bit down, a code is sign (if ``signed``), exponent field, fraction.

    Exponent field 0 contains zero and the ``subnormals``. Without subnormals it is a binade like the others, and the
    format has no zero.

    >>> E4M3.max_value, E4M3.max_code, E4M3.emax, E4M3.decode(0xC1)
    (Fraction(448, 1), 126, 8, Number(negative=True, magnitude=Fraction(9, 4), kind='finite'))
    >>> E8M0.decode(0), E8M0.decode(0xFF).kind
    (Number(negative=False, magnitude=Fraction(1, 170141183460469231731687303715884105728), kind='finite'), 'nan')
    """

    name: str
    exp_bits: int
    man_bits: int
    bias: int
    specials: SpecialCodes
    source: str = field(compare=False)
    """Where it was published."""
    signed: bool = True
    subnormals: bool = True

    kind: ClassVar[Literal[Kind.FLOAT]] = Kind.FLOAT

    def __post_init__(self) -> None:
        object.__setattr__(self, "specials", SpecialCodes.named("specials", self.specials))
        _require_kinds(self)
        _require(1 <= self.exp_bits <= 11, f"exp_bits must be 1 to 11, not {self.exp_bits}")
        _require(0 <= self.man_bits <= 52, f"man_bits must be 0 to 52, not {self.man_bits}")
        _require(
            self.specials is not SpecialCodes.IEEE or self.man_bits > 0,
            f"{self.name} must have a fraction bit to tell NaN from Inf",
        )
        _require(
            self.specials is not SpecialCodes.FNUZ or (self.signed and self.subnormals),
            f"{self.name} must have a sign and a zero, as negative zero is its NaN",
        )
        _require(
            self.max_code >> self.man_bits > 0, f"{self.name} has no normal number: its top exponent field is special"
        )

    @cached_property
    def bits(self) -> int:
        """Width of a code, sign included."""
        return self.signed + self.exp_bits + self.man_bits

    @cached_property
    def sign_mask(self) -> int:
        """The sign bit; 0 without one."""
        return self.signed << (self.bits - 1)

    @cached_property
    def magnitude_mask(self) -> int:
        return (1 << (self.exp_bits + self.man_bits)) - 1

    @cached_property
    def max_code(self) -> int:
        """Code of the largest finite number."""
        if self.specials is SpecialCodes.IEEE:
            return self.inf_field - 1
        return self.magnitude_mask - (self.specials is SpecialCodes.NAN_ONLY)

    @cached_property
    def nan_code(self) -> int | None:
        """The NaN with sign 0 and all other bits 1, under `SpecialCodes.FNUZ` the code of negative zero; None if every
        code is a number.
        """
        if self.specials is SpecialCodes.FNUZ:
            return self.sign_mask
        return None if self.specials is SpecialCodes.NONE else self.magnitude_mask

    @cached_property
    def inf_code(self) -> int | None:
        """Positive infinity; None if the format has no Inf."""
        return self.inf_field if self.specials is SpecialCodes.IEEE else None

    @cached_property
    def inf_field(self) -> int:
        """The top exponent field with the fraction 0, whether it is Inf or a number."""
        return ((1 << self.exp_bits) - 1) << self.man_bits

    @cached_property
    def emin(self) -> int:
        """Unbiased exponent of the smallest normal number, which subnormals share."""
        return self.subnormals - self.bias

    @cached_property
    def emax(self) -> int:
        """Unbiased exponent of the largest finite number."""
        return (self.max_code >> self.man_bits) - self.bias

    @cached_property
    def max_value(self) -> Fraction:
        return self.decode(self.max_code).magnitude

    @cached_property
    def fraction_bits(self) -> int:
        """Fraction bits of a number in the top binade."""
        return self.man_bits

    @cached_property
    def lowest_exponent(self) -> int:
        """Unbiased exponent of the last place of the smallest numbers."""
        return self.emin - self.man_bits

    @cached_property
    def signed_zero(self) -> bool:
        """Are there two zeros?"""
        return self.signed and self.subnormals and self.specials is not SpecialCodes.FNUZ

    @cached_property
    def fields(self) -> tuple[int, ...]:
        """Widths of sign, exponent field and fraction, without empty ones."""
        return tuple(width for width in (int(self.signed), self.exp_bits, self.man_bits) if width)

    @cached_property
    def is_power_of_two(self) -> bool:
        """Is every number a power of two?"""
        return self.man_bits == 0 and not self.subnormals

    def decode(self, code: int) -> Number:
        """The number of a code (IEEE 754-2019, section 3.4). Raises ValueError for an impossible code."""
        _require(0 <= code < 1 << self.bits, f"a code of {self.name} has {self.bits} bits, not the value {code}")
        negative, magnitude = bool(code & self.sign_mask), code & self.magnitude_mask
        if magnitude > self.max_code or (negative and magnitude == 0 and not self.signed_zero):
            return Number(negative, Fraction(0), "inf" if magnitude == self.inf_code else "nan")
        field, fraction = divmod(magnitude, 1 << self.man_bits)
        is_subnormal = self.subnormals and field == 0
        significand = fraction + (0 if is_subnormal else 1 << self.man_bits)
        place = field + is_subnormal - self.bias - self.man_bits  # the exponent of its last bit
        value = Fraction(significand << place) if place >= 0 else Fraction(significand, 1 << -place)
        return Number(negative, value)

    def signed_code(self, magnitude: int, negative: bool) -> int:
        """The code of this magnitude and sign. Raises ValueError for a negative sign in a format without one."""
        _require(self.signed or not negative, f"{self.name} has no sign")
        return magnitude | (self.sign_mask if negative and (magnitude or self.signed_zero) else 0)

    def is_subnormal(self, magnitude: int) -> bool:
        """Is the exponent field of this magnitude 0?"""
        return self.subnormals and magnitude >> self.man_bits == 0


@dataclass(frozen=True, kw_only=True)
class FixedFormat:
    """A fixed-point format: integers from ``lowest`` to ``highest`` in units of 2**-frac_bits.

    >>> INT8.max_value, INT8.emax, INT8.decode(0xFF).value
    (Fraction(127, 64), 0, Fraction(-1, 64))
    """

    name: str
    bits: int
    frac_bits: int
    lowest: int
    highest: int
    source: str = field(compare=False)
    """Where it was published."""
    negatives: Negatives = Negatives.TWOS_COMPLEMENT

    kind: ClassVar[Literal[Kind.FIXED]] = Kind.FIXED
    signed: ClassVar[bool] = True
    subnormals: ClassVar[bool] = False

    def __post_init__(self) -> None:
        _require_kinds(self)
        object.__setattr__(self, "negatives", Negatives.named("negatives", self.negatives))
        _require(2 <= self.bits <= 16, f"bits must be 2 to 16, not {self.bits}")
        _require(0 <= self.frac_bits < self.bits, f"frac_bits must be 0 to {self.bits - 1}, not {self.frac_bits}")
        most = (1 << (self.bits - 1)) - 1
        least = -most - (self.negatives is Negatives.TWOS_COMPLEMENT)
        _require(
            least <= self.lowest < 0 < self.highest <= most,
            f"{self.bits} bits hold the integers {least} to {most}, not {self.lowest} to {self.highest}",
        )

    @cached_property
    def sign_mask(self) -> int:
        return 1 << (self.bits - 1)

    @cached_property
    def max_code(self) -> int:
        """Code of the largest number."""
        return self.highest

    @cached_property
    def max_value(self) -> Fraction:
        return Fraction(self.highest, 1 << self.frac_bits)

    @cached_property
    def emax(self) -> int:
        """Unbiased exponent of the largest number."""
        return self.highest.bit_length() - 1 - self.frac_bits

    @cached_property
    def fraction_bits(self) -> int:
        """Fraction bits of a number in the top binade, below its leading one."""
        return self.highest.bit_length() - 1

    @cached_property
    def lowest_exponent(self) -> int:
        """Unbiased exponent of the last place."""
        return -self.frac_bits

    @cached_property
    def emin(self) -> int:
        """`emax`: numbers below the binade of the largest one have fewer places."""
        return self.emax

    @cached_property
    def signed_zero(self) -> bool:
        return self.negatives is Negatives.SIGN_MAGNITUDE

    @cached_property
    def fields(self) -> tuple[int, ...]:
        """Widths of sign and integer."""
        return 1, self.bits - 1

    @cached_property
    def bias(self) -> int:
        """0: a fixed-point element has no exponent field (the FPGA paper's one-bit exponent, 2**0 - 1)."""
        return 0

    @cached_property
    def nan_code(self) -> None:
        return None

    @cached_property
    def inf_code(self) -> None:
        return None

    @cached_property
    def is_power_of_two(self) -> bool:
        return False

    def decode(self, code: int) -> Number:
        """The number of a code, which may be below ``lowest``. Raises ValueError for an impossible code."""
        _require(0 <= code < 1 << self.bits, f"a code of {self.name} has {self.bits} bits, not the value {code}")
        negative = bool(code & self.sign_mask)
        if self.negatives is Negatives.SIGN_MAGNITUDE:
            integer = code & (self.sign_mask - 1)
        else:
            integer = (1 << self.bits) - code if negative else code
        return Number(negative, Fraction(integer, 1 << self.frac_bits))

    def signed_code(self, magnitude: int, negative: bool) -> int:
        """The code of this magnitude and sign."""
        if self.negatives is Negatives.SIGN_MAGNITUDE:
            return magnitude | (self.sign_mask if negative else 0)
        return (-magnitude if negative else magnitude) % (1 << self.bits)

    def is_subnormal(self, magnitude: int) -> bool:
        """Never: all numbers have the same last place."""
        return False


NumberFormat = FloatFormat | FixedFormat
"""The format of elements, scales, sources and tensor scales. A code book would be a third kind."""

FP32 = FloatFormat(name="fp32", exp_bits=8, man_bits=23, bias=127, specials=SpecialCodes.IEEE, source=IEEE_754)
BF16 = FloatFormat(
    name="bf16",
    exp_bits=8,
    man_bits=7,
    bias=127,
    specials=SpecialCodes.IEEE,
    source="Intel BFLOAT16 Hardware Numerics Definition, 2018",
)
FP64 = FloatFormat(name="fp64", exp_bits=11, man_bits=52, bias=1023, specials=SpecialCodes.IEEE, source=IEEE_754)
"""A source of casts only."""
FP16 = FloatFormat(name="fp16", exp_bits=5, man_bits=10, bias=15, specials=SpecialCodes.IEEE, source=IEEE_754)
TF32 = FloatFormat(
    name="tf32",
    exp_bits=8,
    man_bits=10,
    bias=127,
    specials=SpecialCodes.IEEE,
    source="NVIDIA A100 Tensor Core GPU Architecture, 2020",
)
"""Converters widen FP16 to this format, in which every FP16 number is normal."""

E5M2 = FloatFormat(name="e5m2", exp_bits=5, man_bits=2, bias=15, specials=SpecialCodes.IEEE, source=OCP_FP8)
E4M3 = FloatFormat(name="e4m3", exp_bits=4, man_bits=3, bias=7, specials=SpecialCodes.NAN_ONLY, source=OCP_FP8)
E3M2 = FloatFormat(name="e3m2", exp_bits=3, man_bits=2, bias=3, specials=SpecialCodes.NONE, source=OCP_MX)
E2M3 = FloatFormat(name="e2m3", exp_bits=2, man_bits=3, bias=1, specials=SpecialCodes.NONE, source=OCP_MX)
E2M1 = FloatFormat(name="e2m1", exp_bits=2, man_bits=1, bias=1, specials=SpecialCodes.NONE, source=OCP_MX)
INT8 = FixedFormat(name="int8", bits=8, frac_bits=6, lowest=-127, highest=127, source=OCP_MX)

FNUZ = "8-bit Numerical Formats for Deep Neural Networks (Noune and others), 2022; AMD CDNA 3 ISA"
E4M3FNUZ = FloatFormat(name="e4m3fnuz", exp_bits=4, man_bits=3, bias=8, specials=SpecialCodes.FNUZ, source=FNUZ)
E5M2FNUZ = FloatFormat(name="e5m2fnuz", exp_bits=5, man_bits=2, bias=16, specials=SpecialCodes.FNUZ, source=FNUZ)

E8M0 = FloatFormat(
    name="e8m0",
    exp_bits=8,
    man_bits=0,
    bias=127,
    specials=SpecialCodes.NAN_ONLY,
    source=OCP_MX,
    signed=False,
    subnormals=False,
)
UE4M3 = FloatFormat(
    name="ue4m3",
    exp_bits=4,
    man_bits=3,
    bias=7,
    specials=SpecialCodes.NAN_ONLY,
    signed=False,
    source="NVIDIA PTX ISA, ue4m3: E4M3 of OFP8 without its sign",
)
UE5M3 = FloatFormat(
    name="ue5m3",
    exp_bits=5,
    man_bits=3,
    bias=15,
    specials=SpecialCodes.NAN_ONLY,
    signed=False,
    source="NVIDIA CUDA 13.4, ue5m3",
)

SCALES: dict[str, NumberFormat] = {s.name: s for s in (E8M0, UE4M3, UE5M3)}
"""Formats of block scales by name."""

SOURCES: dict[str, FloatFormat] = {f.name: f for f in (FP32, BF16, FP16)}
"""Floating-point formats of data."""

ELEMENTS: dict[str, NumberFormat] = {e.name: e for e in (E5M2, E4M3, E3M2, E2M3, E2M1, INT8)}
"""Element formats of OCP MX v1.0 by name."""

OTHER_ELEMENTS: dict[str, NumberFormat] = {}
"""Element formats whose names do not spell them. A configuration writes them in full."""
