"""Encoding: a block of numbers becomes a scale and codes. The rules decide every bit of the result.

Each member of an enumeration contains its definition. The models implement the definition, the hardware its own
derivation; docs/numerics.md explains both. Notation: ``a`` is the block's largest magnitude,
``destmax`` the largest element value, ``emax`` its exponent, ``X`` the unbiased shared exponent, byte = X + 127.
"""

from __future__ import annotations

import copy
from collections.abc import Container, Mapping
from dataclasses import dataclass
from typing import ClassVar, TypedDict, Unpack

from ..catalogue import Rule
from ..formats.block import BLOCK_SIZES, TILE, BlockFormat
from ..formats.number import FP32, TF32, FloatFormat, Kind, NumberFormat
from .block_operation import BlockOperation
from .operation import without_signed_zero
from .ports import Port, Role


class ScaleRule(Rule):
    """How the shared exponent X follows from the largest magnitude; X is then clamped to -127..127."""

    FLOOR = "floor", "X = floor(log2 a) - emax (OCP MX v1.0, section 6.3)"
    CEIL = "ceil", "smallest X with a <= destmax * 2**X (NVIDIA MXFP8 recipe, Algorithm 1, in exact arithmetic)"
    RCEIL = (
        "rceil",
        "smallest X with p <= 2**X, where p = a * (1 / destmax) in FP32, both operations rounded to nearest even "
        "(Transformer Engine, torchao RCEIL: cvt.rp.satfinite.ue8m0 of p)",
    )
    POW2_CEIL = (
        "pow2_ceil",
        "exponent field of a, one more if its fraction is not zero, less emax: the next power of two (torchao CEIL)",
    )
    EVEN = (
        "even",
        "exponent field of a, rounded half up to the element's fraction bits, less emax (torchao EVEN, AMD Quark)",
    )
    BIAS_FLOOR = "bias_floor", "X = floor(log2 a) - element bias (Gorodecky and Sousa, section II)"
    EVEN1 = (
        "even1",
        "exponent field of a, rounded half up to one fraction bit whatever the element, less emax (compressed-tensors, "
        "MXFP4 and MXFP8)",
    )
    ROUND_LOG2 = (
        "round_log2",
        "X = log2(a / destmax), rounded to the nearest integer; there are no ties (MLX up to 0.32.1)",
    )
    LINEAR_NEAREST = (
        "linear_nearest",
        "exponent field of p, as under rceil, one more if the first bit of its fraction is set, so 1.5 becomes 2; "
        "2**-127 itself is byte 0 (FlyDSL, f32_to_e8m0(amax / max))",
    )
    MIDMAX = (
        "midmax",
        "smallest X with a <= mid * 2**X, where mid is the middle between destmax and the next power of two (Brevitas, "
        "midmax)",
    )


class Rounding(Rule):
    """How V / 2**X becomes an element."""

    RNE = "rne", "to nearest, ties to even (OCP MX v1.0, section 5.3; IEEE 754 roundTiesToEven)"
    RNA = "rna", 'to nearest, ties away from zero (IEEE 754 roundTiesToAway; microxcaling "nearest")'
    RTZ = "rtz", 'toward zero (IEEE 754 roundTowardZero; microxcaling "floor")'
    SR = (
        "sr",
        "stochastic: random_bits random bits are added below the last place of the magnitude, in which it is cut off, "
        "and their carry is kept (PTX cvt.rs)",
    )
    GUARD_HALF_UP = (
        "guard_half_up",
        "half up on the one bit below the fraction, no sticky bit, exponent field never above "
        "2**exp_bits - 2 (Gorodecky and Sousa, section III.C)",
    )
    RNZ = "rnz", "to nearest, ties toward zero (IEEE 754-2019 roundTiesTowardZero; ggml, MLX and ModelOpt, MXFP4)"


class Specials(Rule):
    """Effect of NaN and Inf inputs on their block."""

    NAN_BLOCK = (
        "nan_block",
        "any NaN or Inf: byte 0xFF, every element the canonical NaN, or code 0 where the "
        "format has no NaN (torchao, microxcaling)",
    )
    TE = (
        "te",
        "NaN is ignored in the maximum and becomes the positive canonical NaN, or the largest number in a format "
        "without NaN; Inf is larger than any number, gives byte 0xFE and the largest number of its sign (Transformer "
        "Engine)",
    )
    INF_SCALE = (
        "inf_scale",
        "any NaN: byte 0xFF; else any Inf: byte 0xFE; elements are their sign and a signal "
        "code (Gorodecky and Sousa, sections III.B and III.C)",
    )
    DROP = (
        "drop",
        "inputs of exponent 255 are left out of the maximum, then quantized like any exponent "
        "(Gorodecky and Sousa, published Verilog)",
    )


class Subnormals(Rule):
    """Treatment of subnormal numbers."""

    EXACT = "exact", "they keep their value"
    FLUSH = (
        "flush",
        (
            "they become zeros of the same sign; inputs: FP32 subnormals; elements under guard_half_up: only numbers "
            "below exponent field 0, as published"
        ),
    )


class EncodedZero(Rule):
    """Sign of an element, or of the result of a cast, that is zero."""

    SIGNED = "signed", "the sign of the number, also if the number only rounds to zero"
    POSITIVE = "positive", "plus, also if the number only rounds to zero (ggml; MLX, MXFP4)"
    TAKEN_POSITIVE = (
        "taken_positive",
        "a number that is zero counts as +0; one that only rounds to zero keeps its sign (compressed-tensors)",
    )
    TAKEN_NEGATIVE = (
        "taken_negative",
        "a number that is zero counts as -0; one that only rounds to zero keeps its sign (ModelOpt, MXFP4)",
    )


class Overflow(Rule):
    """Treatment of elements beyond the largest finite code."""

    SATURATE = "saturate", "they become the largest finite code of their sign (OCP MX v1.0, section 5.3)"


def signal_codes(element: NumberFormat) -> tuple[int, int]:
    """The magnitudes that mark every element of an Inf and of a NaN block under `Specials.INF_SCALE` (FPGA paper,
    section III.C).

    >>> from mxcast.spec import E4M3
    >>> signal_codes(E4M3)
    (120, 126)
    """
    if element.kind is Kind.FIXED:
        return element.max_code, element.max_code
    most = element.magnitude_mask
    return element.inf_field, min(max(most - 1, element.inf_field + 1), most)


class EncodeFields(TypedDict, total=False):
    """Fields of `Encode` by name, and the block size of its block format."""

    source: str | FloatFormat
    block_size: int
    scale_rule: str
    rounding: str
    specials: str
    input_subnormals: str
    element_subnormals: str
    overflow: str
    zero: str
    random_bits: int


@dataclass(frozen=True, kw_only=True)
class Encoding(BlockOperation):
    """The formats and rules of operations that turn blocks of source numbers into scale bytes and element codes."""

    NUMBERS: ClassVar[str] = "source"
    SIZES: ClassVar[Container[int]] = BLOCK_SIZES
    SIZES_IN_WORDS: ClassVar[str] = "a power of two from 2 to 128"

    block: BlockFormat
    source: FloatFormat = FP32
    scale_rule: ScaleRule = ScaleRule.FLOOR
    rounding: Rounding = Rounding.RNE
    specials: Specials = Specials.NAN_BLOCK
    input_subnormals: Subnormals = Subnormals.EXACT
    element_subnormals: Subnormals = Subnormals.EXACT
    overflow: Overflow = Overflow.SATURATE
    zero: EncodedZero = EncodedZero.SIGNED
    random_bits: int = 0
    """Random bits per element: 1 to 16 under `Rounding.SR` (8 by default), 0 under every other rounding."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.block.element.emax < 0:
            raise ValueError(
                f"the largest {self.block.element.name} must be at least 1, so that no scale of FP32 data is out of "
                "range"
            )

    @classmethod
    def rules(cls) -> Mapping[str, type[Rule]]:
        return RULES


@dataclass(frozen=True, kw_only=True)
class Encode(Encoding):
    """A complete rule that turns a block of source numbers into a scale byte and element codes.

    Formats and rules are accepted by name.

    >>> Encode(block="e4m3", scale_rule="ceil").scale_rule
    <ScaleRule.CEIL: 'ceil'>
    """

    name: ClassVar[str] = "encode"
    TILE: ClassVar[tuple[int, ...]] = TILE

    def widened(self) -> Encode:
        """The numerics inside hardware for FP16: the source is TF32, in which every FP16 number is normal."""
        inner = copy.copy(self)
        object.__setattr__(inner, "source", TF32)
        object.__setattr__(inner, "input_subnormals", Subnormals.FLUSH)
        return inner

    @property
    def ports(self) -> tuple[Port, ...]:
        """``x``, ``random`` if the rounding takes random bits, ``scale`` and ``p``.

        >>> [(port.name, port.direction, port.width) for port in Encode(block="e2m1").ports]
        [('x', 'input', 1024), ('scale', 'output', 8), ('p', 'output', 128)]
        """
        return (
            Port.of_format("x", Role.NUMBERS, "input", self.source, self.block_size),
            *self.random_ports,
            Port.of_format("scale", Role.SCALE, "output", self.block.scale),
            Port.of_format("p", Role.CODES, "output", self.block.element, self.block_size),
        )

    def to_dict(self) -> dict[str, object]:
        """`Operation.to_dict` without ``zero`` if it is signed."""
        return without_signed_zero(super().to_dict())

    def identity(self) -> dict[str, object]:
        """`Operation.identity` without ``zero`` if it is signed, and without the name of the operation, which files of
        version 0.1 lack.
        """
        identity = without_signed_zero(super().identity())
        del identity["operation"]
        return identity

    @classmethod
    def from_dict(cls, fields: Mapping[str, object]) -> Encode:
        """The numerics that `to_dict` wrote.

        >>> Encode.from_dict(Encode(block="e2m3").to_dict()) == Encode(block="e2m3")
        True
        """
        if "element" in fields and not fields.get("formats"):  # files of version 0.1
            rest = {name: value for name, value in fields.items() if name not in ("element", "formats")}
            fields = {**rest, "formats": {"element": fields["element"]}}
        return super().from_dict(fields)

    def replace(
        self, *, block: str | BlockFormat | NumberFormat | None = None, **fields: Unpack[EncodeFields]
    ) -> Encode:
        """A copy with this block format and these fields. Raises ValueError for an unknown field.

        >>> Encode(block="int8").replace(scale_rul="ceil")
        Traceback (most recent call last):
        ...
        ValueError: unknown field of Encode 'scale_rul': did you mean 'scale_rule'?
        """
        return self.replaced(block, **fields)


RULES: dict[str, type[Rule]] = {
    "scale_rule": ScaleRule,
    "rounding": Rounding,
    "specials": Specials,
    "input_subnormals": Subnormals,
    "element_subnormals": Subnormals,
    "overflow": Overflow,
    "zero": EncodedZero,
}
"""Enumerations among the fields of `Encode`. `mxcast list` prints them."""
