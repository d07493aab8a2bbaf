"""Number formats as data: what a standard prints in a table, and nothing that computes a conversion.

Codes are integers. A floating-point code is sign, exponent field and fraction from the top bit down; a
fixed-point code is two's complement. All formats are frozen, hashable and checked when they are made.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from .catalogue import Rule, unknown_name

__all__ = [
    "SpecialCodes", "FloatFormat", "FixedFormat", "ElementFormat", "ScaleFormat", "BlockFormat",
    "FP32", "BF16", "FP16", "E5M2", "E4M3", "E3M2", "E2M3", "E2M1", "INT8", "E8M0",
    "SOURCES", "BLOCKS", "source_format", "block_format",
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
        _require(1 <= self.exp_bits <= 11, f"exp_bits must be 1 to 11, not {self.exp_bits}")
        _require(0 <= self.man_bits <= 52, f"man_bits must be 0 to 52, not {self.man_bits}")
        _require(self.max_code > 0, f"{self.name} has no positive number: all its codes are special")

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
        return max(self.magnitude_mask - 1, self.signal_inf_code + 1)

    @property
    def emin(self) -> int:
        """Unbiased exponent of the smallest normal number, which subnormals share."""
        return 1 - self.bias

    @property
    def emax(self) -> int:
        """Unbiased exponent of the largest finite number."""
        return max(self.max_code >> self.man_bits, 1) - self.bias

    @property
    def max_value(self) -> Fraction:
        field, fraction = divmod(self.max_code, 1 << self.man_bits)
        significand = fraction + ((1 << self.man_bits) if field else 0)
        return Fraction(2) ** (max(field, 1) - self.bias - self.man_bits) * significand


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
        _require(self.block_size == 32, f"block_size must be 32, not {self.block_size}")

    @property
    def short_name(self) -> str:
        return self.element.name


FP32 = FloatFormat(name="fp32", exp_bits=8, man_bits=23, bias=127, specials=SpecialCodes.IEEE, source=IEEE_754)
BF16 = FloatFormat(name="bf16", exp_bits=8, man_bits=7, bias=127, specials=SpecialCodes.IEEE,
                   source="Intel BFLOAT16 Hardware Numerics Definition, 2018")
FP16 = FloatFormat(name="fp16", exp_bits=5, man_bits=10, bias=15, specials=SpecialCodes.IEEE, source=IEEE_754)

E5M2 = FloatFormat(name="e5m2", exp_bits=5, man_bits=2, bias=15, specials=SpecialCodes.IEEE, source=OCP_FP8)
E4M3 = FloatFormat(name="e4m3", exp_bits=4, man_bits=3, bias=7, specials=SpecialCodes.NAN_ONLY, source=OCP_FP8)
E3M2 = FloatFormat(name="e3m2", exp_bits=3, man_bits=2, bias=3, specials=SpecialCodes.NONE, source=OCP_MX)
E2M3 = FloatFormat(name="e2m3", exp_bits=2, man_bits=3, bias=1, specials=SpecialCodes.NONE, source=OCP_MX)
E2M1 = FloatFormat(name="e2m1", exp_bits=2, man_bits=1, bias=1, specials=SpecialCodes.NONE, source=OCP_MX)
INT8 = FixedFormat(name="int8", bits=8, frac_bits=6, symmetric=True, source=OCP_MX)

E8M0 = ScaleFormat(name="e8m0", exp_bits=8, man_bits=0, bias=127, nan_code=0xFF, source=OCP_MX)

SOURCES: dict[str, FloatFormat] = {f.name: f for f in (FP32, BF16, FP16)}
"""Floating-point formats that data comes in."""

BLOCKS: dict[str, BlockFormat] = {
    f"{family}{element.bits}{suffix}": BlockFormat(name=f"{family}{element.bits}{suffix}", element=element, scale=E8M0)
    for family, suffix, element in (
        ("mxfp", "_e5m2", E5M2), ("mxfp", "_e4m3", E4M3), ("mxfp", "_e3m2", E3M2),
        ("mxfp", "_e2m3", E2M3), ("mxfp", "_e2m1", E2M1), ("mxint", "", INT8))
}
"""The six concrete formats of OCP MX v1.0, table 1, by name."""


def source_format(name: str | FloatFormat) -> FloatFormat:
    """The source format of this name."""
    if isinstance(name, FloatFormat):
        return name
    if name not in SOURCES:
        raise ValueError(unknown_name("source", name, list(SOURCES)))
    return SOURCES[name]


def block_format(name: str | BlockFormat) -> BlockFormat:
    """The block format of this long or short name.

    >>> block_format("e4m3") is block_format("mxfp8_e4m3")
    True
    """
    if isinstance(name, BlockFormat):
        return name
    if not isinstance(name, str):
        raise TypeError(f"a block format is given by name or as a BlockFormat, not {type(name).__name__}")
    if name in BLOCKS:
        return BLOCKS[name]
    for block in BLOCKS.values():
        if block.short_name == name:
            return block
    known = [b.short_name for b in BLOCKS.values()]
    raise ValueError(unknown_name("format", name, known + list(BLOCKS)))
