"""What operations with a scale of the whole tensor have in common: E2M1 elements under floating-point block scales."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, Self

from ..catalogue import excerpt
from ..formats.block import OTHER_BLOCKS, BlockFormat, Convention
from ..formats.names import block_format, format_of
from ..formats.number import E2M1, E4M3, UE5M3, FloatFormat, NumberFormat
from .block_operation import BlockOperation

SCALE_MAXIMA: dict[NumberFormat, tuple[int, ...]] = {E4M3: (448, 256), UE5M3: (114688,)}
"""By scale format, the scales that the largest block of a tensor can have, the usual one first."""


def is_nvfp4(format: object) -> bool:
    """Are operations on this format, given by name or as an object, of this kind?"""
    if isinstance(format, str):
        format = OTHER_BLOCKS.get(format.lower())
    block = format.block if isinstance(format, BlockOperation) else format
    return isinstance(block, BlockFormat) and block.scale in SCALE_MAXIMA


class Nvfp4Operation(BlockOperation):
    """An operation between numbers and E2M1 codes under E4M3 or UE5M3 scales; a frozen dataclass.

    The block format gets the scale of the tensor that the rules have.
    """

    TILE: ClassVar[tuple[int, ...]] = (16, 16)
    scale_max: int

    @property
    @abstractmethod
    def stored(self) -> Convention:
        """What the scale of the tensor is."""

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
        """What ``scale_max`` can be."""
        return SCALE_MAXIMA[self.block.scale]

    @property
    def scale_format(self) -> FloatFormat:
        """The format of the block scale, which is one of floating point."""
        assert isinstance(self.block.scale, FloatFormat)
        return self.block.scale

    @property
    def formats(self) -> dict[str, NumberFormat]:
        tensor_scale = self.block.tensor_scale
        return super().formats | ({} if tensor_scale is None else {"tensor_scale": tensor_scale.format})

    def by_name(self) -> dict[str, object]:
        """The fields as plain strings and numbers, formats by their names."""
        return super().by_name() | {"scale_max": self.scale_max}

    @classmethod
    def from_dict(cls, fields: Mapping[str, object]) -> Self:
        """The operation that `to_dict` wrote. Raises ValueError and TypeError for what it cannot have written."""
        given: dict[str, Any] = dict(fields)  # of a file: checked where they are used
        if "block" not in given:
            raise ValueError("numerics must have a block")
        if (operation := given.pop("operation", cls.name)) != cls.name:
            raise ValueError(f"the operation must be {cls.name}, not {excerpt(operation)}")
        formats, block = given.pop("formats", {}), block_format(given.pop("block"))
        if not isinstance(formats, Mapping):
            raise TypeError(f"formats must be fields by role, not {excerpt(formats)}")
        if given.get("block_size") == block.block_size:  # which may be that of two axes
            del given["block_size"]
        made = cls.of_block(block).replaced(**given)
        for role, one in made.formats.items():
            if role in formats and format_of(formats[role]) != one:
                raise ValueError(f"the {role} format {format_of(formats[role]).name} is not the one of this name")
        return made

    def replaced(self, block: str | BlockFormat | NumberFormat | None = None, **fields: Any) -> Self:
        """As that of every block operation; with another block format ``scale_max`` is the usual one of its scale."""
        usual = {} if block is None else {"scale_max": 0}
        return super().replaced(block, **usual | fields)
