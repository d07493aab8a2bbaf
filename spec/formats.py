"""Number formats as data: what a standard prints in a table, and nothing that computes a conversion.

Codes are integers. A floating-point code is sign, exponent field and fraction from the top bit down; a
fixed-point code is two's complement. All formats are frozen, hashable and checked when they are made.
"""

from __future__ import annotations

import dataclasses
import re
from dataclasses import dataclass
from fractions import Fraction

from .catalogue import Rule, excerpt

__all__ = [
    "SpecialCodes", "FloatFormat", "FixedFormat", "ElementFormat", "ScaleFormat", "BlockFormat",
    "FP32", "BF16", "FP16", "TF32", "E5M2", "E4M3", "E3M2", "E2M3", "E2M1", "INT8", "E8M0",
    "BLOCK_SIZES", "SOURCES", "ELEMENTS", "BLOCKS", "block_name",
]

OCP_MX = "OCP Microscaling Formats (MX) v1.0, 2023"
OCP_FP8 = "OCP 8-bit Floating Point (OFP8) v1.0, 2023"
IEEE_754 = "IEEE 754-2019"


class SpecialCodes(Rule):
    """Which codes of a floating-point format are not numbers."""

    IEEE = "ieee", "the top exponent field holds Inf (fraction 0) and NaN (any other fraction)"
    NAN_ONLY = "nan_only", "only the all-ones code of either sign is NaN, and there is no Inf (\"fn\" elsewhere)"
    NONE = "none", "every code is a number"


def _require(condition: bool, message: str) -> None:
    if not condition:
        raise ValueError(message)


KINDS = {"int": (int, "a whole number"), "str": (str, "a string"), "bool": (bool, "true or false")}
"""Of fields, by how they are declared."""


def _require_kinds(made: object) -> None:
    """Raise TypeError for a field of another kind, such as a file can have."""
    for declared in dataclasses.fields(made):
        kind, words = KINDS.get(declared.type, (object, ""))
        value = getattr(made, declared.name)
        if not isinstance(value, kind) or isinstance(value, bool) and kind is int:
            raise TypeError(f"{declared.name} of a {type(made).__name__} must be {words}, not {excerpt(value)}")


@dataclass(frozen=True, kw_only=True)
class FloatFormat:
    """A binary floating-point format with subnormals and signed zeros.

    >>> E4M3.max_value, E4M3.max_code, E4M3.emax
    (Fraction(448, 1), 126, 8)
    """

    name: str
    exp_bits: int
    man_bits: int
    bias: int
    specials: SpecialCodes
    source: str

    def __post_init__(self) -> None:
        object.__setattr__(self, "specials", SpecialCodes.named("specials", self.specials))
        _require_kinds(self)
        _require(1 <= self.exp_bits <= 11, f"exp_bits must be 1 to 11, not {self.exp_bits}")
        _require(0 <= self.man_bits <= 52, f"man_bits must be 0 to 52, not {self.man_bits}")
        _require(self.specials is not SpecialCodes.IEEE or self.man_bits > 0,
                 f"{self.name} must have a fraction bit to tell NaN from Inf")
        _require(self.max_code >> self.man_bits > 0, f"{self.name} has no normal number: its top exponent field is special")

    @property
    def bits(self) -> int:
        """Width of a code, sign included."""
        return 1 + self.exp_bits + self.man_bits

    @property
    def sign_mask(self) -> int:
        return 1 << (self.bits - 1)

    @property
    def magnitude_mask(self) -> int:
        return self.sign_mask - 1

    @property
    def max_code(self) -> int:
        """Code of the largest finite number."""
        if self.specials is SpecialCodes.IEEE:
            return (((1 << self.exp_bits) - 1) << self.man_bits) - 1
        return self.magnitude_mask - (self.specials is SpecialCodes.NAN_ONLY)

    @property
    def nan_code(self) -> int | None:
        """The canonical (positive, all-ones) NaN, or None where the format has none."""
        return None if self.specials is SpecialCodes.NONE else self.magnitude_mask

    @property
    def signal_inf_code(self) -> int:
        """Magnitude that marks an element of an Inf block under `Specials.INF_SCALE` (FPGA paper, section III.C)."""
        return ((1 << self.exp_bits) - 1) << self.man_bits

    @property
    def signal_nan_code(self) -> int:
        """Magnitude that marks an element of a NaN block under `Specials.INF_SCALE` (FPGA paper, section III.C)."""
        return min(max(self.magnitude_mask - 1, self.signal_inf_code + 1), self.magnitude_mask)

    @property
    def emin(self) -> int:
        """Unbiased exponent of the smallest normal number, which subnormals share."""
        return 1 - self.bias

    @property
    def emax(self) -> int:
        """Unbiased exponent of the largest finite number."""
        return (self.max_code >> self.man_bits) - self.bias

    @property
    def max_value(self) -> Fraction:
        field, fraction = divmod(self.max_code, 1 << self.man_bits)
        return Fraction(2) ** (field - self.bias - self.man_bits) * (fraction + (1 << self.man_bits))

    @property
    def fraction_bits(self) -> int:
        """Fraction bits of a number in the top binade."""
        return self.man_bits


@dataclass(frozen=True, kw_only=True)
class FixedFormat:
    """A two's complement fixed-point format; ``symmetric`` leaves the most negative code unused.

    >>> INT8.max_value, INT8.emax
    (Fraction(127, 64), 0)
    """

    name: str
    bits: int
    frac_bits: int
    symmetric: bool
    source: str

    def __post_init__(self) -> None:
        _require_kinds(self)
        _require(2 <= self.bits <= 16, f"bits must be 2 to 16, not {self.bits}")
        _require(0 <= self.frac_bits < self.bits, f"frac_bits must be 0 to {self.bits - 1}, not {self.frac_bits}")
        _require(self.symmetric, "fixed-point elements are symmetric in every rule of this package")

    @property
    def max_code(self) -> int:
        return (1 << (self.bits - 1)) - 1

    @property
    def max_value(self) -> Fraction:
        return Fraction(self.max_code, 1 << self.frac_bits)

    @property
    def emax(self) -> int:
        """Unbiased exponent of the largest number."""
        return self.bits - 2 - self.frac_bits

    @property
    def fraction_bits(self) -> int:
        """Fraction bits of a number in the top binade, below its leading one."""
        return self.bits - 2

    @property
    def bias(self) -> int:
        """0: a fixed-point element has no exponent field (the FPGA paper's one-bit exponent, 2**0 - 1)."""
        return 0

    @property
    def nan_code(self) -> None:
        return None

    @property
    def signal_inf_code(self) -> int:
        """Magnitude of every element of an Inf block under `Specials.INF_SCALE`."""
        return self.max_code

    @property
    def signal_nan_code(self) -> int:
        """Magnitude of every element of a NaN block under `Specials.INF_SCALE`."""
        return self.max_code


ElementFormat = FloatFormat | FixedFormat

BLOCK_SIZES = tuple(1 << i for i in range(1, 8))
"""Numbers of elements that can share a scale."""


@dataclass(frozen=True, kw_only=True)
class ScaleFormat:
    """A block scale without sign: ``exp_bits`` of biased exponent and ``man_bits`` of fraction."""

    name: str
    exp_bits: int
    man_bits: int
    bias: int
    nan_code: int
    source: str

    @property
    def bits(self) -> int:
        return self.exp_bits + self.man_bits

    def __post_init__(self) -> None:
        _require_kinds(self)
        _require(1 <= self.exp_bits <= 8, f"exp_bits of a scale must be 1 to 8, not {self.exp_bits}")
        _require(0 <= self.man_bits, f"man_bits of a scale must not be negative, not {self.man_bits}")
        _require(0 < self.nan_code < 1 << self.bits, f"nan_code must be a code of {self.bits} bits, not {self.nan_code}")

    @property
    def is_power_of_two(self) -> bool:
        return self.man_bits == 0

    @property
    def max_code(self) -> int:
        """Code of the largest number; the NaN code is the one above it."""
        return self.nan_code - 1


@dataclass(frozen=True, kw_only=True)
class BlockFormat:
    """``block_size`` elements that share one scale; ``name`` is the name that standards use."""

    name: str
    element: ElementFormat
    scale: ScaleFormat
    block_size: int = 32
    tensor_scaled: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.element, FloatFormat | FixedFormat) or not isinstance(self.scale, ScaleFormat):
            raise TypeError(f"{self.name} must have an element format and a scale format")
        if not isinstance(self.name, str):
            raise TypeError(f"the name of a BlockFormat must be a string, not {excerpt(self.name)}")
        _require(type(self.block_size) is int and self.block_size in BLOCK_SIZES,
                 f"block_size must be a power of two from 2 to 128, not {excerpt(self.block_size)}")
        element = self.element
        _require(re.fullmatch("[a-z][a-z0-9_]*", element.name) is not None,
                 f"an element format's name must be lower-case letters, digits and underscores, not {excerpt(element.name)}")
        if isinstance(element, FloatFormat):
            _require(element.exp_bits <= 5 and element.man_bits <= 10,
                     f"an element must have 1 to 5 exponent bits and 0 to 10 fraction bits, not those of {element.name}")
            _require(element.bias >= 0, f"the bias of an element must not be negative, not {element.bias}")
        _require(element.emax >= 0, f"the largest {element.name} must be at least 1, so that no scale of FP32 data is out of range")

    @property
    def short_name(self) -> str:
        return self.element.name


FP32 = FloatFormat(name="fp32", exp_bits=8, man_bits=23, bias=127, specials=SpecialCodes.IEEE, source=IEEE_754)
BF16 = FloatFormat(name="bf16", exp_bits=8, man_bits=7, bias=127, specials=SpecialCodes.IEEE,
                   source="Intel BFLOAT16 Hardware Numerics Definition, 2018")
FP16 = FloatFormat(name="fp16", exp_bits=5, man_bits=10, bias=15, specials=SpecialCodes.IEEE, source=IEEE_754)
TF32 = FloatFormat(name="tf32", exp_bits=8, man_bits=10, bias=127, specials=SpecialCodes.IEEE,
                   source="NVIDIA A100 Tensor Core GPU Architecture, 2020")
"""A format in which every FP16 number is a normal one; converters widen FP16 to it."""

E5M2 = FloatFormat(name="e5m2", exp_bits=5, man_bits=2, bias=15, specials=SpecialCodes.IEEE, source=OCP_FP8)
E4M3 = FloatFormat(name="e4m3", exp_bits=4, man_bits=3, bias=7, specials=SpecialCodes.NAN_ONLY, source=OCP_FP8)
E3M2 = FloatFormat(name="e3m2", exp_bits=3, man_bits=2, bias=3, specials=SpecialCodes.NONE, source=OCP_MX)
E2M3 = FloatFormat(name="e2m3", exp_bits=2, man_bits=3, bias=1, specials=SpecialCodes.NONE, source=OCP_MX)
E2M1 = FloatFormat(name="e2m1", exp_bits=2, man_bits=1, bias=1, specials=SpecialCodes.NONE, source=OCP_MX)
INT8 = FixedFormat(name="int8", bits=8, frac_bits=6, symmetric=True, source=OCP_MX)

E8M0 = ScaleFormat(name="e8m0", exp_bits=8, man_bits=0, bias=127, nan_code=0xFF, source=OCP_MX)

SOURCES: dict[str, FloatFormat] = {f.name: f for f in (FP32, BF16, FP16)}
"""Floating-point formats that data comes in."""

ELEMENTS: dict[str, ElementFormat] = {e.name: e for e in (E5M2, E4M3, E3M2, E2M3, E2M1, INT8)}
"""Element formats of OCP MX v1.0 by name."""


def block_name(element: ElementFormat) -> str:
    """The name of the block format of an element: its family, for floating point its width, and the element."""
    if isinstance(element, FixedFormat):
        return f"mx{element.name}"
    return f"mxfp{element.bits}_{element.name}"


BLOCKS: dict[str, BlockFormat] = {
    block_name(element): BlockFormat(name=block_name(element), element=element, scale=E8M0) for element in ELEMENTS.values()}
"""The six concrete formats of OCP MX v1.0, table 1, by name."""
