"""Encoding to NVFP4 and its relatives: elements under a floating-point block scale, and mostly one of the whole tensor.

Scales and elements follow from a sequence of binary32 operations, which libraries order differently. Notation: ``x`` is
a number, ``b`` the largest magnitude of its block, ``a`` that of its tensor, ``s`` the value of the block scale, ``C``
the largest element times `TwoLevelEncode.scale_max`, ``max`` the largest finite binary32 number. Every operation is one
of binary32, rounded to nearest even. ``k`` and ``d`` are constants of the tensor; docs/numerics.md is the prose.
"""

from __future__ import annotations

from collections.abc import Container, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, TypedDict, Unpack

from .block_operation import BlockOperation
from .blocks import OTHER_BLOCKS, BlockFormat, Convention, TensorScale
from .catalogue import Rule, excerpt
from .encode import Rounding
from .formats import E2M1, E4M3, FP32, UE5M3, FloatFormat, NumberFormat
from .names import block_format, format_of
from .ports import Port, Role

__all__ = [
    "TENSOR_SCALES",
    "TWO_LEVEL_RULES",
    "FourOverSix",
    "Order",
    "TwoLevelEncode",
    "TwoLevelFields",
    "is_two_level",
]


class Order(Rule):
    """Which binary32 operations give ``t``, which is rounded to the block scale ``s``, and ``y``, which is rounded to
    the element.
    """

    TE = (
        "te",
        "S = min(C / a, max), or 1 where a or S is 0; k = S * (1/6), d = 1 / S; t = min(b * k, max); "
        "y = x * min(1 / (s * d), max) (Transformer Engine 2.15 and later)",
    )
    PAPER = (
        "paper",
        "S and d as te, k = S; t = (b / 6) * k; y = x * min(1 / (s * d), max) (NVIDIA, Pretraining LLMs with NVFP4; "
        "Transformer Engine before 2.15)",
    )
    AO = (
        "ao",
        "k = a / C, d = 1 / k; t = (b / 6) / k, not below the smallest normal scale; y = x * (d / s) (torchao "
        "inference with a scale of the tensor)",
    )
    AO_SINGLE = ("ao_single", "k = d = 1, otherwise as ao (torchao inference without a scale of the tensor)")
    MODELOPT = (
        "modelopt",
        "k = d = a / C; t = b / (6 * k), 1 where it is 0, not below the smallest scale; y = x / (s * d) (NVIDIA "
        "ModelOpt)",
    )
    COMPRESSED_TENSORS = (
        "compressed_tensors",
        "k = d = C / max(a, 2**-126), or 1 where it is Inf or NaN; t = k * (b / 6), and a scale of 0 becomes 2**-3; "
        "y = x / (s / d) (compressed-tensors, FP32 weights)",
    )


TENSOR_SCALES: dict[Order, Convention | None] = {
    Order.TE: Convention.AMAX,
    Order.PAPER: Convention.AMAX,
    Order.AO: Convention.MULTIPLIER,
    Order.AO_SINGLE: None,
    Order.MODELOPT: Convention.MULTIPLIER,
    Order.COMPRESSED_TENSORS: Convention.DIVISOR,
}
"""What the libraries store as the scale of the tensor."""


class FourOverSix(Rule):
    """Whether each block also tries a scale 1.5 times as large, under which its largest number becomes 4 and not 6."""

    OFF = "off", "no: the largest number of a block becomes 6"
    MAE = (
        "mae",
        "if the sum of |v - x| is smaller, v = ((element * s) * a) / C; binary32, summed element after element "
        "(Transformer Engine, nvfp4_4over6)",
    )
    MSE = "mse", "the same with the squares of v - x (Transformer Engine, nvfp4_4over6)"


class TwoLevelFields(TypedDict, total=False):
    """Fields of `TwoLevelEncode` by name, and the block size of its block format."""

    source: str | FloatFormat
    block_size: int
    order: str
    rounding: str
    four_over_six: str
    scale_max: int
    random_bits: int


SCALE_MAXIMA: dict[FloatFormat, tuple[int, ...]] = {E4M3: (448, 256), UE5M3: (114688,)}
"""By scale format, the scales that the largest block of a tensor can have, the usual one first."""

SHAPES = ((16,), (32,), (16, 16))
"""Blocks that are encoded."""


def is_two_level(format: object) -> bool:
    """Is `TwoLevelEncode` the operation that encodes to this format, given by name or as an object?"""
    if isinstance(format, str):
        format = OTHER_BLOCKS.get(format.lower())
    block = format.block if isinstance(format, TwoLevelEncode) else format
    return isinstance(block, BlockFormat) and block.scale in SCALE_MAXIMA


@dataclass(frozen=True, kw_only=True)
class TwoLevelEncode(BlockOperation):
    """One complete rule for turning a block of numbers and the constants of its tensor into a scale and E2M1 codes.

    Formats and rules are accepted by name. The block format gets the scale of the tensor that the order has.

    >>> TwoLevelEncode(block="nvfp4").block.tensor_scale.convention
    <Convention.AMAX: 'amax'>
    >>> TwoLevelEncode(block="nvfp4", order="ao", four_over_six="mae")
    Traceback (most recent call last):
    ...
    ValueError: four_over_six is computed in the order paper (Transformer Engine), not in ao
    """

    name: ClassVar[str] = "two_level_encode"
    NUMBERS: ClassVar[str] = "source"
    DONE: ClassVar[str] = "converted to by two levels of scales"
    SIZES: ClassVar[Container[int]] = (16, 32, 256)
    SIZES_IN_WORDS: ClassVar[str] = "16 or 32, or 16 x 16"

    block: BlockFormat
    source: FloatFormat = FP32
    order: Order = Order.TE
    rounding: Rounding = Rounding.RNE
    four_over_six: FourOverSix = FourOverSix.OFF
    scale_max: int = 0
    """The scale that the largest block of a tensor gets: 448 unless given, or 256, which leaves room for 4 over 6."""
    random_bits: int = 0
    """Random bits for each element, 1 to 16, under `Rounding.SR` (8 unless given); 0 under every other one."""

    def __post_init__(self) -> None:
        super().__post_init__()
        convention = TENSOR_SCALES[self.order]
        tensor_scale = None if convention is None else TensorScale(format=FP32, convention=convention)
        object.__setattr__(self, "block", replace(self.block, tensor_scale=tensor_scale))
        maxima = SCALE_MAXIMA[self.scale_format]
        if self.scale_max == 0:
            object.__setattr__(self, "scale_max", maxima[0])
        self._check_rules(maxima)

    def _check_block(self) -> None:
        block = self.block
        if block.scale not in SCALE_MAXIMA or block.element != E2M1 or block.sub_scale is not None:
            raise ValueError(
                f"{block.name} has elements {block.element.name} under scales {block.scale.name}: only "
                f"{E2M1.name} under {' or '.join(one.name for one in SCALE_MAXIMA)} are {self.DONE}"
            )
        if block.shape not in SHAPES:
            raise ValueError(self._size_sentence(" x ".join(map(str, block.shape))))

    def _check_rules(self, maxima: tuple[int, ...]) -> None:
        order, tried = self.order, self.four_over_six is not FourOverSix.OFF
        refused = {
            f"scale_max must be {' or '.join(map(str, maxima))}, not {excerpt(self.scale_max)}": (
                type(self.scale_max) is not int or self.scale_max not in maxima
            ),
            f"four_over_six is computed in the order paper (Transformer Engine), not in {order}": (
                tried and order is not Order.PAPER
            ),
            "four_over_six rounds to nearest, not by sr": tried and self.rounding is Rounding.SR,
            "four_over_six is for blocks of 16 or of 16 x 16 elements": tried and self.block.shape[-1] != 16,
            f"scale_max {self.scale_max} is for four_over_six": not tried and self.scale_max != maxima[0],
            f"elements are rounded by rne or sr, not by {self.rounding}": (
                self.rounding not in (Rounding.RNE, Rounding.SR)
            ),
            f"the rounding sr is of the orders te and paper, not of {order}": (
                self.rounding is Rounding.SR and order not in (Order.TE, Order.PAPER)
            ),
            "compressed_tensors divides in the format of its weights: only fp32 is supported, not "
            f"{self.source.name}": order is Order.COMPRESSED_TENSORS and self.source != FP32,
        }
        for sentence, is_refused in refused.items():
            if is_refused:
                raise ValueError(sentence)

    @classmethod
    def rules(cls) -> Mapping[str, type[Rule]]:
        return TWO_LEVEL_RULES

    @property
    def scale_format(self) -> FloatFormat:
        """The format of the block scale, which is one of floating point."""
        assert isinstance(self.block.scale, FloatFormat)
        return self.block.scale

    @property
    def formats(self) -> dict[str, NumberFormat]:
        tensor_scale = self.block.tensor_scale
        return super().formats | ({} if tensor_scale is None else {"tensor_scale": tensor_scale.format})

    @property
    def ports(self) -> tuple[Port, ...]:
        """``x``, the constants ``k`` and ``d`` of the tensor where the order has some, ``a`` where both 4 and 6 are
        tried, ``random`` where the rounding takes random bits, ``scale`` and ``p``.

        >>> [(port.name, port.direction, port.width) for port in TwoLevelEncode(block="nvfp4", source="bf16").ports]
        [('x', 'input', 256), ('k', 'input', 32), ('d', 'input', 32), ('scale', 'output', 8), ('p', 'output', 64)]
        """
        source, scale, element, lanes = self.source, self.block.scale, self.block.element, self.block_size
        constants = {
            "k": (Role.SCALE_CONSTANT, self.block.tensor_scale is not None),
            "d": (Role.ELEMENT_CONSTANT, self.block.tensor_scale is not None),
            "a": (Role.TENSOR_AMAX, self.four_over_six is not FourOverSix.OFF),
        }
        random = Port(name="random", role=Role.RANDOM, direction="input", bits=self.random_bits, lanes=lanes)
        return (
            Port(name="x", role=Role.NUMBERS, direction="input", bits=source.bits, lanes=lanes, format=source),
            *(
                Port(name=name, role=role, direction="input", bits=FP32.bits, format=FP32)
                for name, (role, is_there) in constants.items()
                if is_there
            ),
            *([random] if self.random_bits else []),
            Port(name="scale", role=Role.SCALE, direction="output", bits=scale.bits, format=scale),
            Port(name="p", role=Role.CODES, direction="output", bits=element.bits, lanes=lanes, format=element),
        )

    def by_name(self) -> dict[str, object]:
        """The fields as plain strings and numbers, formats by their names."""
        return super().by_name() | {"scale_max": self.scale_max}

    @classmethod
    def from_dict(cls, fields: Mapping[str, object]) -> TwoLevelEncode:
        """The operation that `to_dict` wrote. Raises ValueError and TypeError for what it cannot have written.

        >>> TwoLevelEncode.from_dict(TwoLevelEncode(block="nvfp4").to_dict()) == TwoLevelEncode(block="nvfp4")
        True
        """
        given: dict[str, Any] = dict(fields)  # of a file: checked where they are used
        if "block" not in given:
            raise ValueError("numerics must have a block")
        if (operation := given.pop("operation", cls.name)) != cls.name:
            raise ValueError(f"the operation must be {cls.name}, not {excerpt(operation)}")
        formats, block = given.pop("formats", {}), given.pop("block")
        if not isinstance(formats, Mapping):
            raise TypeError(f"formats must be fields by role, not {excerpt(formats)}")
        if (size := given.pop("block_size", None)) not in (None, block_format(block).block_size):
            given["block_size"] = size
        made = cls.of_block(block).replaced(**given)
        for role, one in made.formats.items():
            if role in formats and format_of(formats[role]) != one:
                raise ValueError(f"the {role} format {format_of(formats[role]).name} is not the one of this name")
        return made

    def replaced(self, block: str | BlockFormat | NumberFormat | None = None, **fields: Any) -> TwoLevelEncode:
        if "scale_max" not in fields and (block is not None or fields.get("four_over_six") == FourOverSix.OFF):
            fields = {**fields, "scale_max": 0}
        return super().replaced(block, **fields)

    def replace(
        self, *, block: str | BlockFormat | NumberFormat | None = None, **fields: Unpack[TwoLevelFields]
    ) -> TwoLevelEncode:
        """A copy with this block format and these fields; an unknown field name is an error.

        >>> TwoLevelEncode(block="nvfp4").replace(ordr="ao")
        Traceback (most recent call last):
        ...
        ValueError: unknown field of TwoLevelEncode 'ordr': did you mean 'order'?
        """
        return self.replaced(block, **fields)


TWO_LEVEL_RULES: dict[str, type[Rule]] = {"order": Order, "rounding": Rounding, "four_over_six": FourOverSix}
"""Fields of `TwoLevelEncode` that are enumerations."""
