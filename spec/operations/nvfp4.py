"""Base of the operations on NVFP4 and its relatives: E2M1 elements under floating-point block scales."""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar, Self

from ..catalogue import excerpt
from ..formats.block import OTHER_BLOCKS, BlockFormat, Convention
from ..formats.number import E2M1, E4M3, UE5M3, FloatFormat, NumberFormat
from .block_operation import BlockOperation

SCALE_MAXIMA: dict[NumberFormat, tuple[int, ...]] = {E4M3: (448, 256), UE5M3: (114688,)}
"""Possible scales of the largest block of a tensor, by scale format; the first is the default."""


def is_nvfp4(format: object) -> bool:
    """Do operations on this format, or on the format of this name, derive from `Nvfp4Operation`?"""
    if isinstance(format, str):
        format = OTHER_BLOCKS.get(format.lower())
    block = format.block if isinstance(format, BlockOperation) else format
    return isinstance(block, BlockFormat) and block.scale in SCALE_MAXIMA


class Nvfp4Operation(BlockOperation):
    """An operation between numbers and E2M1 codes under E4M3 or UE5M3 scales; a frozen dataclass.

    The rules decide the tensor scale of the block format.
    """

    TILE: ClassVar[tuple[int, ...]] = (16, 16)
    scale_max: int

    @property
    @abstractmethod
    def stored(self) -> Convention:
        """Convention of the stored tensor scale."""

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "block", self.block.scaled_by(self.stored))
        maxima = self.scale_maxima
        if self.scale_max == 0:
            object.__setattr__(self, "scale_max", maxima[0])
        if type(self.scale_max) is not int or self.scale_max not in maxima:
            raise ValueError(f"scale_max must be {' or '.join(map(str, maxima))}, not {excerpt(self.scale_max)}")

    def _check_block(self) -> None:
        block = self.block
        if block.scale not in SCALE_MAXIMA or block.element != E2M1 or block.sub_scale is not None:
            raise ValueError(
                f"{block.name} has elements {block.element.name} under scales {block.scale.name}: "
                f"{self.name} takes {E2M1.name} under {' or '.join(one.name for one in SCALE_MAXIMA)}"
            )
        if block.shape != self.TILE and (len(block.shape) > 1 or block.block_size not in self.SIZES):
            raise ValueError(self._size_sentence(block.shape if len(block.shape) > 1 else block.block_size))

    @property
    def scale_maxima(self) -> tuple[int, ...]:
        """Possible values of ``scale_max``."""
        return SCALE_MAXIMA[self.block.scale]

    @property
    def scale_format(self) -> FloatFormat:
        """The format of the block scale."""
        assert isinstance(self.block.scale, FloatFormat)
        return self.block.scale

    @property
    def formats(self) -> dict[str, NumberFormat]:
        tensor_scale = self.block.tensor_scale
        return super().formats | ({} if tensor_scale is None else {"tensor_scale": tensor_scale.format})

    def by_name(self) -> dict[str, object]:
        return super().by_name() | {"scale_max": self.scale_max}

    def replaced(self, block: object = None, **fields: object) -> Self:
        """As `BlockOperation.replaced`. Another block format resets ``scale_max`` to the default."""
        usual = {} if block is None else {"scale_max": 0}
        return super().replaced(block, **usual | fields)
