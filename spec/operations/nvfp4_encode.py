"""Encoding to NVFP4 and its relatives: elements under a floating-point block scale and, except in one order, a scale of
the whole tensor.

Scales and elements follow from a sequence of binary32 operations, which libraries order differently. Notation: ``x`` is
a number, ``b`` and ``a`` are the largest magnitudes of its block and of its tensor, ``s`` is the value of the block
scale, ``C`` the largest element times ``scale_max``, and ``max`` the largest finite binary32 number. ``k`` and ``d``
are constants of the tensor. Every operation is one of binary32, rounded to nearest even. See also docs/numerics.md.
"""

from __future__ import annotations

from collections.abc import Container, Mapping
from dataclasses import dataclass
from typing import ClassVar, TypedDict, Unpack

from ..catalogue import Rule
from ..formats.block import BlockFormat, Convention
from ..formats.number import FP32, FloatFormat, NumberFormat
from .encode import Rounding
from .nvfp4 import Nvfp4Operation
from .ports import Port, Role


class Order(Rule):
    """Binary32 operations that compute ``t``, which is rounded to the block scale ``s``, and ``y``, which is rounded to
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
        "k = d = C * (1 / max(a, 2**-126)), or 1 where it is Inf or NaN; t = k * (b / 6), and a scale of 0 becomes "
        "2**-3; y = x / (s / d) (compressed-tensors, FP32 weights)",
    )


TENSOR_SCALES: dict[Order, Convention] = {
    Order.TE: Convention.AMAX,
    Order.PAPER: Convention.AMAX,
    Order.AO: Convention.MULTIPLIER,
    Order.AO_SINGLE: Convention.NONE,
    Order.MODELOPT: Convention.MULTIPLIER,
    Order.COMPRESSED_TENSORS: Convention.DIVISOR,
}
"""Convention of the tensor scale that libraries store, by order."""


class FourOverSix(Rule):
    """Whether each block also tries a scale 1.5 times as large, under which its largest number becomes 4 and not 6."""

    OFF = "off", "no: the largest number of a block becomes 6"
    MAE = (
        "mae",
        "if the sum of |v - x| is smaller, v = ((element * s) * a) / C; binary32, summed element after element "
        "(Transformer Engine, nvfp4_4over6)",
    )
    MSE = "mse", "the same with the squares of v - x (Transformer Engine, nvfp4_4over6)"


class Nvfp4Fields(TypedDict, total=False):
    """Fields of `Nvfp4Encode` by name, and the block size of its block format."""

    source: str | FloatFormat
    block_size: int
    order: str
    rounding: str
    four_over_six: str
    scale_max: int
    random_bits: int


@dataclass(frozen=True, kw_only=True)
class Nvfp4Encoding(Nvfp4Operation):
    """The formats and rules of operations that turn blocks of numbers and the constants of their tensor into scales and
    E2M1 codes.
    """

    NUMBERS: ClassVar[str] = "source"
    SIZES: ClassVar[Container[int]] = (16, 32)
    SIZES_IN_WORDS: ClassVar[str] = "16 or 32, or 16 x 16"

    block: BlockFormat
    source: FloatFormat = FP32
    order: Order = Order.TE
    rounding: Rounding = Rounding.RNE
    four_over_six: FourOverSix = FourOverSix.OFF
    scale_max: int = 0
    """Scale of the largest block of a tensor: 448 by default, or 256, which leaves room for 4 over 6."""
    random_bits: int = 0
    """Random bits per element: 1 to 16 under `Rounding.SR` (8 by default), 0 under every other rounding."""

    def __post_init__(self) -> None:
        super().__post_init__()
        order, tried = self.order, self.four_over_six is not FourOverSix.OFF
        refused = {
            f"four_over_six is computed in the order paper (Transformer Engine), not in {order}": (
                tried and order is not Order.PAPER
            ),
            "four_over_six rounds to nearest, not by sr": tried and self.rounding is Rounding.SR,
            "four_over_six is for blocks of 16 or of 16 x 16 elements": tried and self.block.shape[-1] != 16,
            f"scale_max {self.scale_max} is for four_over_six": not tried and self.scale_max != self.scale_maxima[0],
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

    @property
    def stored(self) -> Convention:
        return TENSOR_SCALES[self.order]

    @classmethod
    def rules(cls) -> Mapping[str, type[Rule]]:
        return NVFP4_RULES

    @property
    def constants(self) -> tuple[Port, ...]:
        """The constants of a tensor: ``k`` and ``d`` if the order has a tensor scale, ``a`` under 4 over 6."""
        required = {
            "k": (Role.SCALE_CONSTANT, self.block.tensor_scale is not None),
            "d": (Role.ELEMENT_CONSTANT, self.block.tensor_scale is not None),
            "a": (Role.TENSOR_AMAX, self.four_over_six is not FourOverSix.OFF),
        }
        return tuple(
            Port.of_format(name, role, "input", FP32) for name, (role, is_required) in required.items() if is_required
        )


@dataclass(frozen=True, kw_only=True)
class Nvfp4Encode(Nvfp4Encoding):
    """A complete rule that turns a block of numbers and the constants of its tensor into a scale and E2M1 codes.

    Formats and rules are accepted by name. The order decides the tensor scale of the block format.

    >>> Nvfp4Encode(block="nvfp4").block.tensor_scale.convention
    <Convention.AMAX: 'amax'>
    >>> Nvfp4Encode(block="nvfp4", order="ao", four_over_six="mae")
    Traceback (most recent call last):
    ...
    ValueError: four_over_six is computed in the order paper (Transformer Engine), not in ao
    """

    name: ClassVar[str] = "two_level_encode"

    @property
    def ports(self) -> tuple[Port, ...]:
        """``x``, the `constants` of the tensor, ``random`` if the rounding takes random bits, ``scale`` and ``p``.

        >>> [(port.name, port.direction, port.width) for port in Nvfp4Encode(block="nvfp4", source="bf16").ports]
        [('x', 'input', 256), ('k', 'input', 32), ('d', 'input', 32), ('scale', 'output', 8), ('p', 'output', 64)]
        """
        return (
            Port.of_format("x", Role.NUMBERS, "input", self.source, self.block_size),
            *self.constants,
            *self.random_ports,
            Port.of_format("scale", Role.SCALE, "output", self.block.scale),
            Port.of_format("p", Role.CODES, "output", self.block.element, self.block_size),
        )

    def replace(
        self, *, block: str | BlockFormat | NumberFormat | None = None, **fields: Unpack[Nvfp4Fields]
    ) -> Nvfp4Encode:
        """A copy with this block format and these fields. Raises ValueError for an unknown field.

        >>> Nvfp4Encode(block="nvfp4").replace(ordr="ao")
        Traceback (most recent call last):
        ...
        ValueError: unknown field of Nvfp4Encode 'ordr': did you mean 'order'?
        """
        return self.replaced(block, **fields)


NVFP4_RULES: dict[str, type[Rule]] = {"order": Order, "rounding": Rounding, "four_over_six": FourOverSix}
"""Enumerations among the fields of `Nvfp4Encode`."""
