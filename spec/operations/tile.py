"""Encoding of square tiles in both directions: each tile gives blocks of its rows and blocks of its columns.

Blocks share a scale along one axis, so the transpose of a quantized matrix is not the quantized transpose. Training
multiplies by a matrix and by its transpose, and needs both copies ("Recipes for Pre-training LLMs with MXFP8", 2025,
section 3.2).
"""

from __future__ import annotations

import dataclasses
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from ..catalogue import Rule
from .block_operation import BlockOperation
from .encode import RULES, Encode, EncodeFields, Encoding
from .nvfp4_encode import NVFP4_RULES, Nvfp4Encode, Nvfp4Encoding, Nvfp4Fields
from .ports import Port, Role


class ColumnOrder(Rule):
    """The order in which the codes of the columns leave a tile."""

    TRANSPOSED = "transposed", "one column after the other, so that the column copy is transposed"
    IN_PLACE = "in_place", "one row after the other, so that each code stays at the place of its number"


class TileFields(EncodeFields, total=False):
    """Fields of `TileEncode` by name, and the block size of its block format."""

    columns: str


class Nvfp4TileFields(Nvfp4Fields, total=False):
    """Fields of `Nvfp4TileEncode` by name, and the block size of its block format."""

    columns: str


@dataclass(frozen=True, kw_only=True)
class Tiled(BlockOperation):
    """An operation on tiles of numbers, which have a block in each direction."""

    columns: ColumnOrder = ColumnOrder.TRANSPOSED

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.random_bits:
            raise ValueError(f"a tile takes no random bits: its rounding cannot be {self.rounding}")

    @property
    @abstractmethod
    def rows(self) -> Encode | Nvfp4Encode:
        """The same rules for one block, which is a row or a column of a tile."""

    @property
    def ports(self) -> tuple[Port, ...]:
        """``x``, the constants of a tensor of `rows`, then ``scale`` and ``p`` of the rows, and ``column_scale`` and
        ``column_p`` of the columns.

        >>> [(port.name, port.direction, port.width) for port in TileEncode(block="e2m1", source="bf16").ports]
        ... # doctest: +NORMALIZE_WHITESPACE
        [('x', 'input', 16384), ('scale', 'output', 256), ('p', 'output', 4096), ('column_scale', 'output', 256),
         ('column_p', 'output', 4096)]
        """
        side, block = self.block_size, self.block
        return (
            Port.of_format("x", Role.NUMBERS, "input", self.numbers, side * side),
            *(port for port in self.rows.ports if port.direction == "input" and port.role is not Role.NUMBERS),
            Port.of_format("scale", Role.ROW_SCALES, "output", block.scale, side),
            Port.of_format("p", Role.CODES, "output", block.element, side * side),
            Port.of_format("column_scale", Role.COLUMN_SCALES, "output", block.scale, side),
            Port.of_format("column_p", Role.COLUMN_CODES, "output", block.element, side * side),
        )


@dataclass(frozen=True, kw_only=True)
class TileEncode(Tiled, Encoding):
    """The rules of `Encode` for the rows and for the columns of a tile, which has a block of numbers in each direction.

    >>> tile = TileEncode(block="e4m3", columns="in_place")
    >>> tile.rows == Encode(block="e4m3"), tile.columns.value
    (True, 'in_place')
    """

    name: ClassVar[str] = "tile"

    @classmethod
    def rules(cls) -> Mapping[str, type[Rule]]:
        return TILE_RULES

    @property
    def rows(self) -> Encode:
        return Encode(block=self.block, source=self.source, **{name: getattr(self, name) for name in RULES})


@dataclass(frozen=True, kw_only=True)
class Nvfp4TileEncode(Tiled, Nvfp4Encoding):
    """The rules of `Nvfp4Encode` for the rows and for the columns of a tile. Both have the constants of one tensor.

    >>> Nvfp4TileEncode(block="nvfp4", order="ao").rows == Nvfp4Encode(block="nvfp4", order="ao")
    True
    """

    name: ClassVar[str] = "nvfp4_tile"
    TILE: ClassVar[tuple[int, ...]] = ()
    SIZES_IN_WORDS: ClassVar[str] = "16 or 32"

    @classmethod
    def rules(cls) -> Mapping[str, type[Rule]]:
        return NVFP4_TILE_RULES

    @property
    def rows(self) -> Nvfp4Encode:
        names = (field.name for field in dataclasses.fields(Nvfp4Encode))
        return Nvfp4Encode(**{name: getattr(self, name) for name in names})


TILE_RULES: dict[str, type[Rule]] = {**RULES, "columns": ColumnOrder}
"""Enumerations among the fields of `TileEncode`."""

NVFP4_TILE_RULES: dict[str, type[Rule]] = {**NVFP4_RULES, "columns": ColumnOrder}
"""Enumerations among the fields of `Nvfp4TileEncode`."""
