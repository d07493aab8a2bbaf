"""Encoding: a block of numbers becomes a scale and codes. All that decides which bits come out, and nothing else.

Rules are enumerations whose members carry their definition. The models implement them from the definition, the
hardware from its own derivation; docs/numerics.md is the prose. Notation: ``a`` is the block's largest magnitude,
``destmax`` the largest element value, ``emax`` its exponent, ``X`` the unbiased shared exponent, byte = X + 127.
"""

from __future__ import annotations

import copy
import dataclasses
import re
from collections.abc import Callable, Container, Mapping
from dataclasses import dataclass
from operator import index
from typing import Any, ClassVar, TypedDict, Unpack

from .blocks import BLOCK_SIZES, BlockFormat
from .catalogue import Rule, cut, excerpt, unknown_name
from .formats import BF16, E8M0, FP16, FP32, TF32, FixedFormat, FloatFormat, Kind, Negatives, NumberFormat
from .names import block_format, format_of, source_format
from .operation import Operation
from .ports import Port, Role

__all__ = [
    "Encode",
    "EncodeFields",
    "Overflow",
    "Rounding",
    "ScaleRule",
    "Specials",
    "Subnormals",
    "check_block",
    "require_random_bits",
    "signal_codes",
    "whole_size",
]


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


class Specials(Rule):
    """What NaN and Inf inputs do to their block."""

    NAN_BLOCK = (
        "nan_block",
        "any NaN or Inf: byte 0xFF, every element the canonical NaN, or code 0 where the "
        "format has no NaN (torchao, microxcaling)",
    )
    TE = (
        "te",
        "NaN is ignored in the maximum and becomes the positive canonical NaN, or the largest number where the format "
        "has none; Inf is larger than any number, gives byte 0xFE and the largest number of its sign (Transformer "
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
    """What happens to subnormal numbers."""

    EXACT = "exact", "they keep their value"
    FLUSH = (
        "flush",
        (
            "they become zeros of the same sign; inputs: those that are FP32 subnormals; elements under "
            "guard_half_up: those below exponent field 0 only, as published"
        ),
    )


class Overflow(Rule):
    """What happens to elements beyond the largest finite code."""

    SATURATE = "saturate", "they become the largest finite code of their sign (OCP MX v1.0, section 5.3)"


def signal_codes(element: NumberFormat) -> tuple[int, int]:
    """The magnitudes that mark every element of an Inf and of a NaN block under `Specials.INF_SCALE` (FPGA paper,
    section III.C).

    >>> signal_codes(block_format("e4m3").element)
    (120, 126)
    """
    if element.kind is Kind.FIXED:
        return element.max_code, element.max_code
    most = element.magnitude_mask
    return element.inf_field, min(max(most - 1, element.inf_field + 1), most)


def check_block(block: BlockFormat, done: str, sizes: Container[int], words: str) -> None:
    """Raises ValueError for a block format that nothing here converts, or of none of these sizes. ``done`` and
    ``words`` say in the sentence what is not done, and which sizes there are.
    """
    element, name, alone = block.element, block.element.name, f"only E8M0 scales, and these alone, are {done}"
    refused = {
        f"{block.name} has the scale format {block.scale.name}: {alone}": block.scale != E8M0,
        f"{block.name} has a scale of the whole tensor: {alone}": block.tensor_scale is not None,
        f"{block.name} has a field for every {block.sub_scale and block.sub_scale.size} elements: {alone}": (
            block.sub_scale is not None
        ),
        f"block_size must be {words}, not {excerpt(block.block_size)}": (
            len(block.shape) > 1 or block.block_size not in sizes
        ),
        "an element format's name must be lower-case letters, digits and underscores, not "
        f"{excerpt(name)}": not re.fullmatch("[a-z][a-z0-9_]*", name),
        **ELEMENT_CHECKS[element.kind](element),
    }
    for sentence, is_refused in refused.items():
        if is_refused:
            raise ValueError(sentence)


def _float_checks(element: FloatFormat) -> dict[str, bool]:
    return {
        "an element must have 1 to 5 exponent bits and 0 to 10 fraction bits, not those of "
        f"{element.name}": element.exp_bits > 5 or element.man_bits > 10,
        f"an element must have a sign and subnormals, which {element.name} has not": not (
            element.signed and element.subnormals
        ),
        f"the bias of an element must not be negative, not {element.bias}": element.bias < 0,
    }


def _fixed_checks(element: FixedFormat) -> dict[str, bool]:
    most = (1 << (element.bits - 1)) - 1
    return {
        f"a fixed-point element must be two's complement from {-most} to {most}, which {element.name} is not": (
            element.lowest,
            element.highest,
        )
        != (-most, most)
        or element.negatives is not Negatives.TWOS_COMPLEMENT
    }


ELEMENT_CHECKS: dict[Kind, Callable[..., dict[str, bool]]] = {Kind.FLOAT: _float_checks, Kind.FIXED: _fixed_checks}


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
    random_bits: int


@dataclass(frozen=True, kw_only=True)
class Encode(Operation):
    """One complete rule for turning a block of source numbers into a scale byte and element codes.

    Formats and rules are accepted by name. The reference models receive this and nothing else.

    >>> Encode(block="e4m3", scale_rule="ceil").scale_rule
    <ScaleRule.CEIL: 'ceil'>
    """

    name: ClassVar[str] = "encode"

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
        check_block(self.block, "converted to", BLOCK_SIZES, "a power of two from 2 to 128")
        if self.block.element.emax < 0:
            raise ValueError(
                f"the largest {self.block.element.name} must be at least 1, so that no scale of FP32 data is out of "
                "range"
            )
        for name, rule in RULES.items():
            object.__setattr__(self, name, rule.named(name, getattr(self, name)))
        if self.rounding is Rounding.SR and self.random_bits == 0:
            object.__setattr__(self, "random_bits", 8)
        require_random_bits(self.random_bits, self.rounding is Rounding.SR, self.rounding)

    @property
    def block_size(self) -> int:
        return self.block.block_size

    def widened(self) -> Encode:
        """What hardware for FP16 works on inside: TF32, in which every FP16 number is normal. No data comes in that
        format, and these numerics are for nothing else.
        """
        inner = copy.copy(self)
        object.__setattr__(inner, "source", TF32)
        object.__setattr__(inner, "input_subnormals", Subnormals.FLUSH)
        return inner

    def by_name(self) -> dict[str, object]:
        """The fields as plain strings and numbers, formats by their names."""
        fields: dict[str, object] = {
            "block": self.block.name,
            "block_size": self.block_size,
            "source": self.source.name,
            **{name: str(getattr(self, name)) for name in RULES},
        }
        return fields | ({"random_bits": self.random_bits} if self.rounding is Rounding.SR else {})

    @property
    def formats(self) -> dict[str, NumberFormat]:
        return {"source": self.source, "element": self.block.element, "scale": self.block.scale}

    @property
    def ports(self) -> tuple[Port, ...]:
        """``x``, ``random`` where the rounding takes random bits, ``scale`` and ``p``.

        >>> [(port.name, port.direction, port.width) for port in Encode(block="e2m1").ports]
        [('x', 'input', 1024), ('scale', 'output', 8), ('p', 'output', 128)]
        """
        source, scale, element, lanes = self.source, self.block.scale, self.block.element, self.block_size
        numbers = Port(name="x", role=Role.NUMBERS, direction="input", bits=source.bits, lanes=lanes, format=source)
        random = Port(name="random", role=Role.RANDOM, direction="input", bits=self.random_bits, lanes=lanes)
        return (
            numbers,
            *([random] if self.random_bits else []),
            Port(name="scale", role=Role.SCALE, direction="output", bits=scale.bits, format=scale),
            Port(name="p", role=Role.CODES, direction="output", bits=element.bits, lanes=lanes, format=element),
        )

    def identity(self) -> dict[str, object]:
        """As that of every operation; without the name of the operation, which files of version 0.1 have not."""
        identity = super().identity()
        del identity["operation"]
        return identity

    @classmethod
    def from_dict(cls, fields: Mapping[str, object]) -> Encode:
        """The numerics that `to_dict` wrote.

        >>> Encode.from_dict(Encode(block="e2m3").to_dict()) == Encode(block="e2m3")
        True
        """
        given: dict[str, Any] = dict(fields)  # of a file: checked where they are used
        if "block" not in given:
            raise ValueError("numerics must have a block")
        if (operation := given.pop("operation", cls.name)) != cls.name:
            raise ValueError(f"the operation must be {cls.name}, not {excerpt(operation)}")
        block, formats = given.pop("block"), given.pop("formats", {})
        if not isinstance(formats, Mapping):
            raise TypeError(f"formats must be fields by role, not {excerpt(formats)}")
        element = formats.get("element") or given.pop("element", None)  # ``element``: files of version 0.1
        if element is not None:
            block = dataclasses.replace(block_format(format_of(element)), name=block)
        for role, known in (("scale", E8M0), ("source", source_format(str(given.get("source", "fp32"))))):
            if role in formats and format_of(formats[role]) != known:
                raise ValueError(f"the {role} format {cut(format_of(formats[role]).name)} is not the one of this name")
        return cls(block=block).replace(**given)

    def replace(
        self, *, block: str | BlockFormat | NumberFormat | None = None, **fields: Unpack[EncodeFields]
    ) -> Encode:
        """A copy with this block format and these fields; an unknown field name is an error.

        >>> Encode(block="int8").replace(scale_rul="ceil")
        Traceback (most recent call last):
        ...
        ValueError: unknown field of Encode 'scale_rul': did you mean 'scale_rule'?
        """
        changed: dict[str, Any] = {**fields}
        chosen = self.block if block is None else block_format(block)
        if "block_size" in changed:
            chosen = chosen.resized(whole_size(changed.pop("block_size"), "a power of two from 2 to 128"))
        known = [f.name for f in dataclasses.fields(self)]
        for name in changed:
            if name not in known:
                raise ValueError(unknown_name("field of Encode", name, known))
        rounding = Rounding.named("rounding", changed.get("rounding", self.rounding))
        if rounding is Rounding.SR and changed.get("random_bits") == 0:
            raise ValueError("random_bits must be 1 to 16, not 0")
        if "random_bits" not in changed and rounding is not self.rounding:
            changed["random_bits"] = 0
        return dataclasses.replace(self, block=chosen, **changed)


def require_random_bits(bits: object, is_random: bool, rounding: Rule) -> None:
    """Raises ValueError for a number of random bits that a rounding does not take."""
    if type(bits) is not int or bits not in (range(1, 17) if is_random else [0]):
        raise ValueError(
            f"random_bits must be 1 to 16, not {excerpt(bits)}"
            if is_random
            else f"random_bits are for the rounding sr, not for {rounding}"
        )


def whole_size(size: object, words: str) -> int:
    """A block size as an integer. Raises ValueError for what is none; ``words`` say which sizes there are."""
    try:
        number = 0 if isinstance(size, bool) else index(size)  # type: ignore[arg-type]  # what is no number is refused
    except TypeError:
        number = 0
    if number < 1:
        raise ValueError(f"block_size must be {words}, not {excerpt(size)}")
    return number


RULES: dict[str, type[Rule]] = {
    "scale_rule": ScaleRule,
    "rounding": Rounding,
    "specials": Specials,
    "input_subnormals": Subnormals,
    "element_subnormals": Subnormals,
    "overflow": Overflow,
}
"""Fields of `Encode` that are enumerations: what `mxcast list` prints and completeness tests walk."""
