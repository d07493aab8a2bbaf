"""Decoding: a scale and codes become a block of numbers. The rules decide every bit of the result.

A result is the product of an element and the factor of its block's scale byte, rounded once to the destination. Each
member of an enumeration contains its definition; docs/numerics.md explains them.
"""

from __future__ import annotations

from collections.abc import Container, Mapping
from dataclasses import dataclass
from typing import ClassVar, TypedDict, Unpack

from ..catalogue import Rule
from ..formats.block import BlockFormat
from ..formats.number import FP32, FloatFormat, NumberFormat
from .block_operation import BlockOperation
from .encode import Subnormals
from .ports import Port, Role


class ScaleReading(Rule):
    """Factor of a scale byte."""

    E8M0 = "e8m0", "2**(byte - 127); byte 255 is NaN (OCP MX v1.0, section 5.4.1)"
    POWER = "power", "2**(byte - 127), for byte 255 too (gpt-oss: ldexp; ggml: its table of FP32 patterns)"
    FIELD = (
        "field",
        "the FP32 number with the byte as exponent field and the fraction 0: byte 0 is 0, byte 255 is Inf "
        "(Transformer Engine, ptx::exp2f)",
    )
    SIGNED = "signed", "2**n, where n is the byte in two's complement (PULP iDMA)"


class DecodedRounding(Rule):
    """Rounding of a product to the destination."""

    RNE = "rne", "to nearest, ties to even (IEEE 754 roundTiesToEven)"
    RNA = "rna", "to nearest, ties away from zero (IEEE 754 roundTiesToAway)"
    RTZ = "rtz", "toward zero (IEEE 754 roundTowardZero)"
    SR = (
        "sr",
        "stochastic: random_bits random bits are added below the last place of the magnitude, in which it is cut off, "
        "and their carry is kept (PTX cvt.rs)",
    )


class DecodedOverflow(Rule):
    """Result for a finite product that is beyond the largest number of the destination after rounding."""

    INF = "inf", "Inf of their sign, under every rounding"
    SATURATE = "saturate", "the largest finite number of their sign; elements that are Inf stay Inf (PULP iDMA)"


class DecodedNan(Rule):
    """Bit pattern of a NaN result."""

    CANONICAL = "canonical", "the positive quiet NaN without payload (FP32: 0x7FC00000)"
    ALL_ONES = "all_ones", "the positive NaN whose fraction is all ones (PTX's canonical NaN, FP32: 0x7FFFFFFF)"
    PAYLOAD = (
        "payload",
        "for a NaN element its sign and, from the top of the fraction down, its fraction, made quiet; "
        "otherwise the canonical NaN (IEEE 754-2019, section 6.2.3; torch on x86)",
    )


class DecodedZero(Rule):
    """Sign of the result for an element that is zero."""

    SIGNED = "signed", "the sign of the element"
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
class Decode(BlockOperation):
    """A complete rule that turns a scale byte and element codes into a block of numbers.

    Formats and rules are accepted by name. Inf times a finite factor is Inf; Inf times 0 is NaN, and so is 0 times Inf.
    Under `Subnormals.FLUSH`, products below the smallest normal number of the destination become zeros of their sign
    before they are rounded.

    >>> Decode(block="e4m3", destination="bf16").destination.name
    'bf16'
    """

    name: ClassVar[str] = "decode"
    NUMBERS: ClassVar[str] = "destination"
    SIZES: ClassVar[Container[int]] = range(1, 1025)
    SIZES_IN_WORDS: ClassVar[str] = "1 to 1024"

    block: BlockFormat
    destination: FloatFormat = FP32
    scale_reading: ScaleReading = ScaleReading.E8M0
    rounding: DecodedRounding = DecodedRounding.RNE
    overflow: DecodedOverflow = DecodedOverflow.INF
    subnormals: Subnormals = Subnormals.EXACT
    nan: DecodedNan = DecodedNan.CANONICAL
    zero: DecodedZero = DecodedZero.SIGNED
    random_bits: int = 0
    """Random bits per element: 1 to 16 under `DecodedRounding.SR` (8 by default), 0 under every other rounding."""

    @classmethod
    def rules(cls) -> Mapping[str, type[Rule]]:
        return DECODE_RULES

    @property
    def ports(self) -> tuple[Port, ...]:
        """``p``, ``scale``, ``random`` if the rounding takes random bits, and ``y``.

        >>> [(port.name, port.direction, port.width) for port in Decode(block="e2m1").ports]
        [('p', 'input', 128), ('scale', 'input', 8), ('y', 'output', 1024)]
        """
        return (
            Port.of_format("p", Role.CODES, "input", self.block.element, self.block_size),
            Port.of_format("scale", Role.SCALE, "input", self.block.scale),
            *self.random_ports,
            Port.of_format("y", Role.NUMBERS, "output", self.destination, self.block_size),
        )

    def replace(
        self, *, block: str | BlockFormat | NumberFormat | None = None, **fields: Unpack[DecodeFields]
    ) -> Decode:
        """A copy with this block format and these fields. Raises ValueError for an unknown field.

        >>> Decode(block="int8").replace(overflw="saturate")
        Traceback (most recent call last):
        ...
        ValueError: unknown field of Decode 'overflw': did you mean 'overflow'?
        """
        return self.replaced(block, **fields)


DECODE_RULES: dict[str, type[Rule]] = {
    "scale_reading": ScaleReading,
    "rounding": DecodedRounding,
    "overflow": DecodedOverflow,
    "subnormals": Subnormals,
    "nan": DecodedNan,
    "zero": DecodedZero,
}
"""Enumerations among the fields of `Decode`."""
