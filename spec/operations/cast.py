"""Casting: numbers become codes of a scalar format, or codes become numbers, each by itself and without a block scale.

A result is the value of the source rounded once to the destination. The way back is the same operation with the formats
exchanged. Each member of an enumeration contains its definition; docs/numerics.md explains them.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import ClassVar, TypedDict, Unpack

from ..catalogue import Rule, constructed, excerpt, unknown_name
from ..formats.names import scalar_format
from ..formats.number import (
    E2M1,
    E2M3,
    E3M2,
    E4M3,
    E4M3FNUZ,
    E5M2,
    E5M2FNUZ,
    E8M0,
    FP32,
    FP64,
    SOURCES,
    UE4M3,
    UE5M3,
    FloatFormat,
    NumberFormat,
)
from . import ptx
from .encode import EncodedZero
from .operation import Operation, random_bits_under, without_signed_zero
from .ports import Port, Role

SCALARS: dict[str, FloatFormat] = {
    f.name: f for f in (E5M2, E4M3, E3M2, E2M3, E2M1, E8M0, UE4M3, UE5M3, E4M3FNUZ, E5M2FNUZ)
}
"""Formats of codes by name."""

CAST_SOURCES: dict[str, FloatFormat] = {**SOURCES, FP64.name: FP64}
"""Formats of numbers that can be cast, by name. Codes are cast back to the formats of `SOURCES`."""


class CastRounding(Rule):
    """Rounding of a value to the grid of the destination.

    The grid continues beyond the largest number of a format, and for powers of two also below the smallest.
    """

    RNE = "rne", "to nearest, ties to the even code (IEEE 754 roundTiesToEven; PTX cvt.rn to FP8, FP6 and FP4)"
    RNA = "rna", "to nearest, ties away from zero (IEEE 754 roundTiesToAway; ONNX nearest; ml_dtypes and torch to E8M0)"
    RNZ = "rnz", "to nearest, ties toward zero (IEEE 754-2019 roundTiesTowardZero)"
    RTZ = "rtz", "toward zero (IEEE 754 roundTowardZero; PTX cvt.rz, ONNX down)"
    RP = "rp", "up, for formats without a sign (PTX cvt.rp, ONNX up)"
    SR = (
        "sr",
        "stochastic: random_bits random bits are added below the last place of the magnitude, in which it is cut off, "
        "and their carry is kept (PTX cvt.rs)",
    )


class CastOverflow(Rule):
    """Result for Inf, and for values that are beyond the largest number after rounding."""

    SATURATE = "saturate", "the largest number of their sign (OFP8 v1.0, saturating; PTX .satfinite)"
    INF = (
        "inf",
        "Inf of their sign, or NaN if the format has no Inf (OFP8 v1.0, non-saturating; PTX without .satfinite)",
    )
    IEEE = (
        "ieee",
        "as inf, but under rtz finite values become the largest number of their sign (IEEE 754-2019, section 7.4; "
        "RISC-V Zvfofp8min; CUDA's UE5M3 without .satfinite)",
    )


class CastNan(Rule):
    """Bit pattern of a NaN result, if the format has several."""

    CANONICAL = "canonical", "positive, and of the fraction the first bit alone (FP32: 0x7FC00000, E5M2: 0x7E)"
    SIGNED = "signed", "the same with the sign of the source (ml_dtypes)"
    ALL_ONES = "all_ones", "positive, and the fraction all ones (PTX: 0x7F in E4M3 and E5M2, 0x7FFF in FP16)"
    SIGNED_ALL_ONES = "signed_all_ones", "the same with the sign of the source (torch to E4M3 and E5M2)"
    NEGATIVE = "negative", "the code whose bits are all ones (gfloat)"
    PAYLOAD = (
        "payload",
        "for a NaN source its sign and, from the top of the fraction down, its fraction, made quiet; otherwise "
        "as canonical (IEEE 754-2019, section 6.2.3; torch from E4M3 and E5M2)",
    )


class NanSubstitute(Rule):
    """Result for NaN in a format without NaN."""

    LARGEST = "largest", "the largest number, positive (PTX cvt, ONNX)"
    ZERO = "zero", "the zero of the other sign (ml_dtypes)"


class CastNegative(Rule):
    """Result for values below zero, and for -0, in a format without a sign."""

    MAGNITUDE = "magnitude", "their magnitude is cast (PTX, torch)"
    NAN = "nan", "NaN (ml_dtypes, gfloat)"


class CastUnderflow(Rule):
    """Result for zero, and for values below the smallest number after rounding, in a format without a zero."""

    SMALLEST = "smallest", "the smallest number (PTX, torch)"
    NAN_ZERO = "nan_zero", "zero becomes NaN, everything else the smallest number (ml_dtypes)"
    NAN = "nan", "NaN (gfloat; ONNX without saturation)"


class CastFields(TypedDict, total=False):
    """Fields of `Cast` by name."""

    source: str | FloatFormat
    destination: str | FloatFormat
    lanes: int
    rounding: str
    overflow: str
    nan: str
    nan_substitute: str
    negative: str
    underflow: str
    zero: str
    random_bits: int


@dataclass(frozen=True, kw_only=True)
class Cast(Operation):
    """A complete rule that turns numbers into codes of a scalar format, or such codes into numbers.

    The source is one of `CAST_SOURCES` and the destination one of `SCALARS`, or the source is a scalar and the
    destination one of `SOURCES`. Formats and rules are accepted by name, E8M0 also as ``ue8m0``, and rules also by
    their names in PTX: ``rz``, ``rs``, ``satfinite``, and ``rn``. ``rn`` is ``rne``, but ``rna`` to powers of two.

    >>> Cast(destination="ue8m0", rounding="rn", overflow="satfinite").by_name()["rounding"]
    'rna'
    >>> Cast(destination="e2m1", overflow="inf")
    Traceback (most recent call last):
    ...
    ValueError: e2m1 has neither Inf nor NaN, so overflow must be saturate (OCP MX v1.0, section 5.3)
    """

    name: ClassVar[str] = "cast"

    source: FloatFormat = FP32
    destination: FloatFormat
    lanes: int = 1
    """Numbers in a word: 1, 2 or 4."""
    rounding: CastRounding = CastRounding.RNE
    overflow: CastOverflow = CastOverflow.SATURATE
    nan: CastNan = CastNan.ALL_ONES
    nan_substitute: NanSubstitute = NanSubstitute.LARGEST
    negative: CastNegative = CastNegative.MAGNITUDE
    underflow: CastUnderflow = CastUnderflow.SMALLEST
    zero: EncodedZero = EncodedZero.SIGNED
    random_bits: int = 0
    """Random bits per number: 1 to 16 under `CastRounding.SR` (8 by default), 0 under every other rounding."""

    def __post_init__(self) -> None:
        for role in ("source", "destination"):
            object.__setattr__(self, role, scalar_format(getattr(self, role), role, CAST_SOURCES | SCALARS))
        source, to = self.source, self.destination
        is_there = source in CAST_SOURCES.values() and to in SCALARS.values()
        if not is_there and not (source in SCALARS.values() and to in SOURCES.values()):
            raise ValueError(
                f"a cast is from {', '.join(CAST_SOURCES)} to {', '.join(SCALARS)}, or back to {', '.join(SOURCES)}, "
                f"not from {source.name} to {to.name}"
            )
        if type(self.lanes) is not int or self.lanes not in (1, 2, 4):
            raise ValueError(f"lanes must be 1, 2 or 4, not {excerpt(self.lanes)}")
        for name, rule in CAST_RULES.items():
            object.__setattr__(self, name, rule.named(name, self._of_ptx(name, getattr(self, name))))
        object.__setattr__(self, "random_bits", random_bits_under(self.rounding, self.random_bits))
        if self.rounding is CastRounding.RP and to.signed:
            raise ValueError(f"the rounding rp is for formats without a sign, not for {to.name}")
        if self.overflow is not CastOverflow.SATURATE and to.nan_code is None:
            raise ValueError(
                f"{to.name} has neither Inf nor NaN, so overflow must be saturate (OCP MX v1.0, section 5.3)"
            )

    def _of_ptx(self, field: str, name: str) -> str:
        """Our name of a rule, which is given by ours or by its name in PTX."""
        if name == "rn" and self.destination.is_power_of_two:
            return "rna"
        return ptx.RULES.get(field, {}).get(name, name) if isinstance(name, str) else name

    @property
    def block_size(self) -> int:
        return self.lanes

    @property
    def is_back(self) -> bool:
        """Are codes turned into numbers?"""
        return self.destination.name in SOURCES

    @property
    def scalar(self) -> FloatFormat:
        """The format of the codes, on whichever side they are."""
        return self.source if self.is_back else self.destination

    @property
    def subject(self) -> str:
        return f"{self.source.name}_to_{self.destination.name}" + (f"_x{self.lanes}" if self.lanes > 1 else "")

    @property
    def formats(self) -> dict[str, NumberFormat]:
        return {"source": self.source, "destination": self.destination}

    @property
    def ports(self) -> tuple[Port, ...]:
        """``x``, ``random`` if the rounding takes random bits, and ``p``; on the way back ``p`` and ``y``. The number
        in the high bits is the first operand in PTX.

        >>> [(port.name, port.direction, port.width) for port in Cast(destination="e8m0", lanes=2).ports]
        [('x', 'input', 64), ('p', 'output', 16)]
        """
        names = ("p", "y") if self.is_back else ("x", "p")
        roles = (Role.CODES, Role.NUMBERS) if self.is_back else (Role.NUMBERS, Role.CODES)
        enters, leaves = (
            Port.of_format(name, role, direction, one, self.lanes)
            for name, role, direction, one in zip(names, roles, ("input", "output"), self.formats.values())
        )
        return (enters, *self.random_ports, leaves)

    def by_name(self) -> dict[str, object]:
        fields: dict[str, object] = {
            "source": self.source.name,
            "destination": self.destination.name,
            "lanes": self.lanes,
            **{name: str(getattr(self, name)) for name in CAST_RULES},
        }
        return fields | ({"random_bits": self.random_bits} if self.random_bits else {})

    def to_dict(self) -> dict[str, object]:
        return without_signed_zero(super().to_dict())

    def identity(self) -> dict[str, object]:
        return without_signed_zero(super().identity())

    @classmethod
    def of_fields(cls, fields: dict[str, object], formats: Mapping[str, Mapping[str, object]]) -> Cast:
        if "destination" not in fields:
            raise ValueError("a cast must have a destination")
        check_fields(fields)
        return constructed(cls, fields)

    def replace(self, **fields: Unpack[CastFields]) -> Cast:
        """A copy with these fields. Raises ValueError for an unknown field.

        >>> Cast(destination="e4m3").replace(overflw="inf")
        Traceback (most recent call last):
        ...
        ValueError: unknown field of Cast 'overflw': did you mean 'overflow'?
        """
        check_fields({"rounding": self.rounding} | fields)
        own = {} if fields.get("rounding", self.rounding) == self.rounding else {"random_bits": 0}
        return constructed(partial(dataclasses.replace, self), {**own, **fields})


def check_fields(fields: Mapping[str, object]) -> None:
    """Raise ValueError for an unknown field of `Cast`, and for 0 random bits under the rounding ``sr``."""
    known = [f.name for f in dataclasses.fields(Cast)]
    for name in fields:
        if name not in known:
            raise ValueError(unknown_name("field of Cast", name, known))
    if fields.get("rounding") in (CastRounding.SR, "rs") and fields.get("random_bits") == 0:  # rs: the name in PTX
        raise ValueError("random_bits must be 1 to 16, not 0")


CAST_RULES: dict[str, type[Rule]] = {
    "rounding": CastRounding,
    "overflow": CastOverflow,
    "nan": CastNan,
    "nan_substitute": NanSubstitute,
    "negative": CastNegative,
    "underflow": CastUnderflow,
    "zero": EncodedZero,
}
"""Enumerations among the fields of `Cast`."""
