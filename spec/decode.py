"""Decoding: a scale and codes become a block of numbers. All that decides which bits come out, and nothing else.

A result is the product of an element and the factor that its block's scale byte stands for, rounded once to the
destination. Rules are enumerations whose members carry their definition; docs/numerics.md is the prose.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, TypedDict, Unpack

from .blocks import BlockFormat
from .catalogue import Rule, cut, excerpt, unknown_name
from .encode import Subnormals, check_block, require_random_bits, whole_size
from .formats import BF16, E8M0, FP16, FP32, FloatFormat, NumberFormat
from .names import block_format, format_of, source_format
from .operation import Operation
from .ports import Port, Role

__all__ = [
    "DECODE_RULES",
    "Decode",
    "DecodeFields",
    "DecodedNan",
    "DecodedOverflow",
    "DecodedRounding",
    "DecodedZero",
    "ScaleReading",
]


DECODED_SIZES = range(1, 1025)
"""Numbers of elements that blocks can have that are decoded."""


class ScaleReading(Rule):
    """What factor a scale byte stands for."""

    E8M0 = "e8m0", "2**(byte - 127); byte 255 is NaN (OCP MX v1.0, section 5.4.1)"
    POWER = "power", "2**(byte - 127), for byte 255 too (gpt-oss: ldexp; ggml: its table of FP32 patterns)"
    FIELD = (
        "field",
        "the FP32 number with the byte as exponent field and the fraction 0: byte 0 is 0, byte 255 is Inf "
        "(Transformer Engine, ptx::exp2f)",
    )
    SIGNED = "signed", "2**n, where n is the byte in two's complement (PULP iDMA)"


class DecodedRounding(Rule):
    """How a product becomes a number of the destination where that has not all of its bits."""

    RNE = "rne", "to nearest, ties to even (IEEE 754 roundTiesToEven)"
    RNA = "rna", "to nearest, ties away from zero (IEEE 754 roundTiesToAway)"
    RTZ = "rtz", "toward zero (IEEE 754 roundTowardZero)"
    SR = (
        "sr",
        "stochastic: random_bits random bits are added below the last place of the magnitude, in which it is cut off, "
        "and their carry is kept (PTX cvt.rs)",
    )


class DecodedOverflow(Rule):
    """What becomes of finite products that are beyond the largest number of the destination when they are rounded."""

    INF = "inf", "Inf of their sign, under every rounding"
    SATURATE = "saturate", "the largest finite number of their sign; elements that are Inf stay Inf (PULP iDMA)"


class DecodedNan(Rule):
    """Which NaN a result is."""

    CANONICAL = "canonical", "the positive quiet NaN without payload (FP32: 0x7FC00000)"
    ALL_ONES = "all_ones", "the positive NaN whose fraction is all ones (PTX's canonical NaN, FP32: 0x7FFFFFFF)"
    PAYLOAD = (
        "payload",
        "of an element that is NaN: its sign and, from the top of the fraction down, its fraction, made quiet; "
        "otherwise the canonical NaN (IEEE 754-2019, section 6.2.3; torch on x86)",
    )


class DecodedZero(Rule):
    """Which sign an element that is zero gives its result."""

    SIGNED = "signed", "that of the element"
    POSITIVE = "positive", "plus (ggml, whose table of integers has no -0)"


class DecodeFields(TypedDict, total=False):
    """Fields of `Decode` by name, and the block size of its block format."""

    destination: str | FloatFormat
    block_size: int
    scale_reading: str
    rounding: str
    overflow: str
    subnormals: str
    nan: str
    zero: str
    random_bits: int


@dataclass(frozen=True, kw_only=True)
class Decode(Operation):
    """One complete rule for turning a scale byte and element codes into a block of numbers.

    Formats and rules are accepted by name. An element that is Inf times a finite factor is Inf, times 0 it is NaN, and
    so is zero times Inf. ``subnormals`` under `Subnormals.FLUSH`: products below the smallest normal number of the
    destination become zeros of their sign, before they would be rounded.

    >>> Decode(block="e4m3", destination="bf16").destination.name
    'bf16'
    """

    name: ClassVar[str] = "decode"

    block: BlockFormat
    destination: FloatFormat = FP32
    scale_reading: ScaleReading = ScaleReading.E8M0
    rounding: DecodedRounding = DecodedRounding.RNE
    overflow: DecodedOverflow = DecodedOverflow.INF
    subnormals: Subnormals = Subnormals.EXACT
    nan: DecodedNan = DecodedNan.CANONICAL
    zero: DecodedZero = DecodedZero.SIGNED
    random_bits: int = 0
    """Random bits for each element, 1 to 16, under `DecodedRounding.SR` (8 unless given); 0 under every other one."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "block", block_format(self.block))
        object.__setattr__(self, "destination", source_format(self.destination, "destination"))
        if self.destination not in (FP32, BF16, FP16):
            raise ValueError(f"destination must be fp32, bf16 or fp16, not {self.destination.name}")
        check_block(self.block, "decoded", DECODED_SIZES, "1 to 1024")
        for name, rule in DECODE_RULES.items():
            object.__setattr__(self, name, rule.named(name, getattr(self, name)))
        is_random = self.rounding is DecodedRounding.SR
        if is_random and self.random_bits == 0:
            object.__setattr__(self, "random_bits", 8)
        require_random_bits(self.random_bits, is_random, self.rounding)

    @property
    def block_size(self) -> int:
        return self.block.block_size

    @property
    def formats(self) -> dict[str, NumberFormat]:
        return {"destination": self.destination, "element": self.block.element, "scale": self.block.scale}

    @property
    def ports(self) -> tuple[Port, ...]:
        """``p``, ``scale``, ``random`` where the rounding takes random bits, and ``y``.

        >>> [(port.name, port.direction, port.width) for port in Decode(block="e2m1").ports]
        [('p', 'input', 128), ('scale', 'input', 8), ('y', 'output', 1024)]
        """
        element, scale, lanes, to = self.block.element, self.block.scale, self.block_size, self.destination
        random = Port(name="random", role=Role.RANDOM, direction="input", bits=self.random_bits, lanes=lanes)
        return (
            Port(name="p", role=Role.CODES, direction="input", bits=element.bits, lanes=lanes, format=element),
            Port(name="scale", role=Role.SCALE, direction="input", bits=scale.bits, format=scale),
            *([random] if self.random_bits else []),
            Port(name="y", role=Role.NUMBERS, direction="output", bits=to.bits, lanes=lanes, format=to),
        )

    def by_name(self) -> dict[str, object]:
        """The fields as plain strings and numbers, formats by their names."""
        fields: dict[str, object] = {
            "block": self.block.name,
            "block_size": self.block_size,
            "destination": self.destination.name,
            **{name: str(getattr(self, name)) for name in DECODE_RULES},
        }
        return fields | ({"random_bits": self.random_bits} if self.random_bits else {})

    @classmethod
    def from_dict(cls, fields: Mapping[str, object]) -> Decode:
        """The operation that `to_dict` wrote.

        >>> Decode.from_dict(Decode(block="e2m3").to_dict()) == Decode(block="e2m3")
        True
        """
        given: dict[str, Any] = dict(fields)  # of a file: checked where they are used
        if (operation := given.pop("operation", None)) != cls.name:
            raise ValueError(f"the operation must be {cls.name}, not {excerpt(operation)}")
        if "block" not in given:
            raise ValueError("a decoder must have a block")
        block, formats = given.pop("block"), given.pop("formats", {})
        if not isinstance(formats, Mapping):
            raise TypeError(f"formats must be fields by role, not {excerpt(formats)}")
        if (element := formats.get("element")) is not None:
            block = dataclasses.replace(block_format(format_of(element)), name=block)
        for role, known in (
            ("scale", E8M0),
            ("destination", source_format(str(given.get("destination", "fp32")), "destination")),
        ):
            if role in formats and format_of(formats[role]) != known:
                raise ValueError(f"the {role} format {cut(format_of(formats[role]).name)} is not the one of this name")
        return cls(block=block).replace(**given)

    def replace(
        self, *, block: str | BlockFormat | NumberFormat | None = None, **fields: Unpack[DecodeFields]
    ) -> Decode:
        """A copy with this block format and these fields; an unknown field name is an error.

        >>> Decode(block="int8").replace(overflw="saturate")
        Traceback (most recent call last):
        ...
        ValueError: unknown field of Decode 'overflw': did you mean 'overflow'?
        """
        changed: dict[str, Any] = {**fields}
        chosen = self.block if block is None else block_format(block)
        if "block_size" in changed:
            chosen = chosen.resized(whole_size(changed.pop("block_size"), "1 to 1024"))
        known = [f.name for f in dataclasses.fields(self)]
        for name in changed:
            if name not in known:
                raise ValueError(unknown_name("field of Decode", name, known))
        rounding = DecodedRounding.named("rounding", changed.get("rounding", self.rounding))
        if rounding is DecodedRounding.SR and changed.get("random_bits") == 0:
            raise ValueError("random_bits must be 1 to 16, not 0")
        if "random_bits" not in changed and rounding is not self.rounding:
            changed["random_bits"] = 0
        return dataclasses.replace(self, block=chosen, **changed)


DECODE_RULES: dict[str, type[Rule]] = {
    "scale_reading": ScaleReading,
    "rounding": DecodedRounding,
    "overflow": DecodedOverflow,
    "subnormals": Subnormals,
    "nan": DecodedNan,
    "zero": DecodedZero,
}
"""Fields of `Decode` that are enumerations."""
