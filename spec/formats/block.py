"""Block formats as data: elements that share a scale.

Operations refuse block formats that they do not support. These classes accept every format that has a meaning.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from math import prod

from ..catalogue import Rule, excerpt
from .number import E2M1, E4M3, E8M0, ELEMENTS, FP32, UE5M3, FixedFormat, Kind, Negatives, NumberFormat


class Convention(Rule):
    """Relation between a tensor scale and the numbers of its tensor."""

    MULTIPLIER = ("multiplier", "number = tensor scale * block scale * element (ModelOpt's weight_scale_2, torchao)")
    DIVISOR = "divisor", "number = block scale * element / tensor scale (compressed-tensors' weight_global_scale)"
    AMAX = (
        "amax",
        "number = tensor scale * block scale * element / (largest block scale * largest element): the tensor scale is "
        "the largest magnitude of the tensor (Transformer Engine, MLX)",
    )
    NONE = "none", "number = block scale * element: there is no tensor scale (MX formats, torchao with one level)"


@dataclass(frozen=True, kw_only=True)
class TensorScale:
    """A second scale, which all blocks of a tensor share."""

    format: NumberFormat
    convention: Convention

    def __post_init__(self) -> None:
        object.__setattr__(self, "convention", Convention.named("convention", self.convention))
        if self.convention is Convention.NONE:
            raise ValueError("a tensor scale has the convention multiplier, divisor or amax, not none")


@dataclass(frozen=True, kw_only=True)
class SubScale:
    """A field that every ``size`` neighbouring elements of a block share: ``bits`` of a shift to the right."""

    size: int
    bits: int


@dataclass(frozen=True, kw_only=True)
class BlockFormat:
    """Elements that share one scale. ``name`` is the name in standards. ``shape`` is the shape of a block; numbers are
    cut into blocks along its last axis.
    """

    name: str
    element: NumberFormat
    scale: NumberFormat
    shape: tuple[int, ...] = (32,)
    tensor_scale: TensorScale | None = None
    sub_scale: SubScale | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.element, NumberFormat) or not isinstance(self.scale, NumberFormat):
            raise TypeError(f"{self.name} must have an element format and a scale format")
        if not isinstance(self.name, str):
            raise TypeError(f"the name of a BlockFormat must be a string, not {excerpt(self.name)}")
        object.__setattr__(self, "shape", tuple(self.shape))
        if not self.shape or not all(type(size) is int and size > 0 for size in self.shape):
            raise ValueError(f"the shape of a block must be positive integers, not {self.shape}")

    @cached_property
    def block_size(self) -> int:
        """Elements of a block."""
        return prod(self.shape)

    @property
    def short_name(self) -> str:
        return self.element.name

    @property
    def convention(self) -> Convention:
        """The convention of the tensor scale."""
        return Convention.NONE if self.tensor_scale is None else self.tensor_scale.convention

    def scaled_by(self, convention: Convention) -> BlockFormat:
        """The same format with an FP32 tensor scale of this convention, or without one."""
        if convention is Convention.NONE:
            return replace(self, tensor_scale=None)
        return replace(self, tensor_scale=TensorScale(format=FP32, convention=convention))

    def resized(self, block_size: int) -> BlockFormat:
        """The same format with blocks of ``block_size`` elements along one axis. Raises ValueError for tiles."""
        if len(self.shape) > 1:
            raise ValueError(f"{self.name} has tiles of {self.shape[0]} x {self.shape[1]}: leave out block_size")
        return replace(self, shape=(block_size,))

    def tiled(self) -> BlockFormat:
        """The same format with one scale for each tile of `TILE` elements."""
        return replace(self, name=f"{self.name}{TILED}", shape=TILE)

    def untiled(self) -> BlockFormat:
        """The format of one row of a tile."""
        return replace(self, name=self.name.removesuffix(TILED), shape=self.shape[-1:])


TILE, TILED = (32, 32), "_2d"
"""Elements of a tile of an MX format along the last two axes, and the end of the name of such a format."""

BLOCK_SIZES = tuple(1 << i for i in range(1, 8))
"""Possible block sizes of encoders."""


def block_name(element: NumberFormat) -> str:
    """The name of the block format of an element: its family, for floating point its width, and the element."""
    if element.kind is Kind.FIXED:
        return f"mx{element.name}"
    return f"mxfp{element.bits}_{element.name}"


BLOCKS: dict[str, BlockFormat] = {
    block_name(element): BlockFormat(name=block_name(element), element=element, scale=E8M0)
    for element in ELEMENTS.values()
}
"""The six concrete formats of OCP MX v1.0, table 1, by name."""

MICROEXPONENTS = (
    "With Shared Microexponents, A Little Shifting Goes a Long Way (Rouhani and others), ISCA 2023, table 2"
)
FP32_MULTIPLIER = TensorScale(format=FP32, convention=Convention.MULTIPLIER)


def _microexponents(name: str, magnitude_bits: int) -> BlockFormat:
    most = (1 << magnitude_bits) - 1
    element = FixedFormat(
        name=f"s1m{magnitude_bits}",
        bits=magnitude_bits + 1,
        frac_bits=magnitude_bits - 1,
        lowest=-most,
        highest=most,
        negatives=Negatives.SIGN_MAGNITUDE,
        source=MICROEXPONENTS,
    )
    return BlockFormat(name=name, element=element, scale=E8M0, shape=(16,), sub_scale=SubScale(size=2, bits=1))


OTHER_BLOCKS: dict[str, BlockFormat] = {
    block.name: block
    for block in (
        BlockFormat(name="nvfp4", element=E2M1, scale=E4M3, shape=(16,), tensor_scale=FP32_MULTIPLIER),
        BlockFormat(name="nvfp4_32", element=E2M1, scale=E4M3, shape=(32,), tensor_scale=FP32_MULTIPLIER),
        BlockFormat(name="nvfp4_2d", element=E2M1, scale=E4M3, shape=(16, 16), tensor_scale=FP32_MULTIPLIER),
        BlockFormat(name="fp4_ue5m3", element=E2M1, scale=UE5M3, shape=(16,)),
        _microexponents("mx6", 4),
        _microexponents("mx9", 7),
    )
}
"""Block formats outside OCP MX. The scale of NVFP4 is stored as E4M3; its sign is only set in a NaN."""
