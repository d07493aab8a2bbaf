"""Numerics: everything that decides which bits come out, and nothing that does not.

Rules are enumerations whose members carry their definition. The models implement them from the definition, the
hardware from its own derivation; docs/numerics.md is the prose. Notation: ``a`` is the block's largest magnitude,
``destmax`` the largest element value, ``emax`` its exponent, ``X`` the unbiased shared exponent, byte = X + 127.
"""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass

from .catalogue import Rule, excerpt, unknown_name
from .formats import BF16, E8M0, FP16, FP32, TF32, BlockFormat, ElementFormat, FixedFormat, FloatFormat
from .names import block_format, source_format

__all__ = ["ScaleRule", "Rounding", "Specials", "Subnormals", "Overflow", "Numerics"]


class ScaleRule(Rule):
    """How the shared exponent X follows from the largest magnitude; X is then clamped to -127..127."""

    FLOOR = "floor", "X = floor(log2 a) - emax (OCP MX v1.0, section 6.3)"
    CEIL = "ceil", "smallest X with a <= destmax * 2**X (NVIDIA MXFP8 recipe, Algorithm 1, in exact arithmetic)"
    RCEIL = ("rceil", "smallest X with p <= 2**X, where p = a * (1 / destmax) in FP32, both operations rounded to nearest even "
                      "(Transformer Engine, torchao RCEIL: cvt.rp.satfinite.ue8m0 of p)")
    POW2_CEIL = ("pow2_ceil", "exponent field of a, one more if its fraction is not zero, less emax: the next power of two "
                              "(torchao CEIL)")
    EVEN = ("even", "exponent field of a, rounded half up to the element's fraction bits, less emax (torchao EVEN, AMD Quark)")
    BIAS_FLOOR = "bias_floor", "X = floor(log2 a) - element bias (Gorodecky and Sousa, section II)"


class Rounding(Rule):
    """How V / 2**X becomes an element."""

    RNE = "rne", "to nearest, ties to even (OCP MX v1.0, section 5.3; IEEE 754 roundTiesToEven)"
    RNA = "rna", "to nearest, ties away from zero (IEEE 754 roundTiesToAway; microxcaling \"nearest\")"
    RTZ = "rtz", "toward zero (IEEE 754 roundTowardZero; microxcaling \"floor\")"
    SR = ("sr", "stochastic: random_bits random bits are added below the last place of the magnitude, in which it is cut off, "
                "and their carry is kept (PTX cvt.rs)")
    GUARD_HALF_UP = ("guard_half_up",
                     "half up on the one bit below the fraction, no sticky bit, exponent field never above "
                     "2**exp_bits - 2 (Gorodecky and Sousa, section III.C)")


class Specials(Rule):
    """What NaN and Inf inputs do to their block."""

    NAN_BLOCK = ("nan_block", "any NaN or Inf: byte 0xFF, every element the canonical NaN, or code 0 where the "
                              "format has no NaN (torchao, microxcaling)")
    TE = ("te", "NaN is ignored in the maximum and becomes the positive canonical NaN, or the largest number where the format "
                "has none; Inf is larger than any number, gives byte 0xFE and the largest number of its sign (Transformer Engine)")
    INF_SCALE = ("inf_scale", "any NaN: byte 0xFF; else any Inf: byte 0xFE; elements are their sign and a signal "
                              "code (Gorodecky and Sousa, sections III.B and III.C)")
    DROP = ("drop", "inputs of exponent 255 are left out of the maximum, then quantized like any exponent "
                    "(Gorodecky and Sousa, published Verilog)")


class Subnormals(Rule):
    """What happens to subnormal numbers."""

    EXACT = "exact", "they keep their value"
    FLUSH = "flush", ("they become zeros of the same sign; inputs: those that are FP32 subnormals; elements under "
                      "guard_half_up: those below exponent field 0 only, as published")


class Overflow(Rule):
    """What happens to elements beyond the largest finite code."""

    SATURATE = "saturate", "they become the largest finite code of their sign (OCP MX v1.0, section 5.3)"


@dataclass(frozen=True, kw_only=True)
class Numerics:
    """One complete rule for turning a block of source numbers into a scale byte and element codes.

    Formats and rules are accepted by name. The reference models receive this and nothing else.

    >>> Numerics(block="e4m3", scale_rule="ceil").scale_rule
    <ScaleRule.CEIL: 'ceil'>
    """

    block: BlockFormat
    source: FloatFormat = FP32
    scale_rule: ScaleRule = ScaleRule.FLOOR
    rounding: Rounding = Rounding.RNE
    specials: Specials = Specials.NAN_BLOCK
    input_subnormals: Subnormals = Subnormals.EXACT
    element_subnormals: Subnormals = Subnormals.EXACT
    overflow: Overflow = Overflow.SATURATE
    random_bits: int = 0
    """Random bits for each element, 1 to 16, under `Rounding.SR` (8 unless given); 0 under every other rounding."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "block", block_format(self.block))
        object.__setattr__(self, "source", source_format(self.source))
        if self.source not in (FP32, BF16, FP16):
            raise ValueError(f"source must be fp32, bf16 or fp16, not {self.source.name}")
        if self.block.scale != E8M0 or self.block.tensor_scaled:
            what = "a scale of the whole tensor" if self.block.scale == E8M0 else f"the scale format {self.block.scale.name}"
            raise ValueError(f"{self.block.name} has {what}: only E8M0 scales, and these alone, are converted to")
        for name, rule in RULES.items():
            object.__setattr__(self, name, rule.named(name, getattr(self, name)))
        if self.rounding is Rounding.SR and self.random_bits == 0:
            object.__setattr__(self, "random_bits", 8)
        allowed = range(1, 17) if self.rounding is Rounding.SR else [0]
        if type(self.random_bits) is not int or self.random_bits not in allowed:
            raise ValueError(f"random_bits must be 1 to 16, not {excerpt(self.random_bits)}" if self.rounding is Rounding.SR
                             else f"random_bits are for the rounding sr, not for {self.rounding}")

    @property
    def block_size(self) -> int:
        return self.block.block_size

    def widened(self) -> Numerics:
        """What hardware for FP16 works on inside: TF32, in which every FP16 number is normal. No data comes in that format, and these
        numerics are for nothing else."""
        inner = copy.copy(self)
        object.__setattr__(inner, "source", TF32)
        object.__setattr__(inner, "input_subnormals", Subnormals.FLUSH)
        return inner

    def to_dict(self) -> dict[str, object]:
        """The fields by name, as plain strings and numbers: what files, headers and hashes carry.

        An element format that its name does not spell is written out as ``element``.
        """
        fields: dict[str, object] = {"block": self.block.name, "block_size": self.block_size, "source": self.source.name,
                                     **{name: str(getattr(self, name)) for name in RULES}}
        if self.rounding is Rounding.SR:
            fields["random_bits"] = self.random_bits
        if not _is_spelt(self.block):
            fields["element"] = {name: value if isinstance(value, int) else str(value)
                                 for name, value in vars(self.block.element).items()}
        return fields

    @classmethod
    def from_dict(cls, fields: Mapping[str, object]) -> Numerics:
        """The numerics that `to_dict` wrote.

        >>> Numerics.from_dict(Numerics(block="e2m3").to_dict()) == Numerics(block="e2m3")
        True
        """
        fields = dict(fields)
        if "block" not in fields:
            raise ValueError("numerics must have a block")
        block, element = fields.pop("block"), fields.pop("element", None)
        if element is not None:
            block = dataclasses.replace(block_format(_element_of(element)), name=block)
        return cls(block=block).replace(**fields)

    def replace(self, **overrides: object) -> Numerics:
        """A copy with these fields changed; an unknown field name is an error.

        >>> Numerics(block="int8").replace(scale_rul="ceil")
        Traceback (most recent call last):
        ...
        ValueError: unknown field of Numerics 'scale_rul': did you mean 'scale_rule'?
        """
        block = block_format(overrides.pop("block", self.block))
        block = dataclasses.replace(block, block_size=overrides.pop("block_size", block.block_size))
        known = [f.name for f in dataclasses.fields(self)]
        for name in overrides:
            if name not in known:
                raise ValueError(unknown_name("field of Numerics", name, known))
        if "random_bits" not in overrides and overrides.get("rounding", self.rounding) != self.rounding:
            overrides["random_bits"] = 0
        return dataclasses.replace(self, block=block, **overrides)


def _is_spelt(block: BlockFormat) -> bool:
    try:
        return dataclasses.replace(block_format(block.name), block_size=block.block_size) == block
    except ValueError:
        return False


def _element_of(fields: Mapping[str, object]) -> ElementFormat:
    if not isinstance(fields, Mapping):
        raise TypeError(f"element must have fields by name, not {excerpt(fields)}")
    kind = FloatFormat if "exp_bits" in fields else FixedFormat
    names = [f.name for f in dataclasses.fields(kind)]
    if set(fields) != set(names):
        raise ValueError(f"element must have the fields {', '.join(names)}, not {excerpt(list(fields))}")
    return kind(**fields)


RULES: dict[str, type[Rule]] = {
    "scale_rule": ScaleRule, "rounding": Rounding, "specials": Specials,
    "input_subnormals": Subnormals, "element_subnormals": Subnormals, "overflow": Overflow,
}
"""Fields of `Numerics` that are enumerations: what `mxcast list` prints and completeness tests walk."""
