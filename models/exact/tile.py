"""The exact definition of a tile that is encoded in both directions: `quantize_block` for each row and each column."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ...spec import ColumnOrder, TileEncode
from .encode import quantize_block


class EncodedTile(NamedTuple):
    """The scale codes of rows and of columns, and the element codes under them, in the order of the ports."""

    scales: list[int]
    codes: list[int]
    column_scales: list[int]
    column_codes: list[int]


def quantize_tile(patterns: Sequence[Sequence[int]], rules: TileEncode) -> EncodedTile:
    """Encode one tile of source numbers, given as rows of bit patterns.

    Raises ValueError for a pattern with more bits than the source format.

    >>> rules = TileEncode(block="e4m3", source="bf16").replaced(block_size=2)
    >>> tile = quantize_tile([[0x3F80, 0x4000], [0x4040, 0]], rules)
    >>> tile.scales, tile.column_scales
    ([120, 120], [120, 120])
    """
    rows = [quantize_block(row, rules.rows) for row in patterns]
    columns = [quantize_block(column, rules.rows) for column in zip(*patterns, strict=True)]
    by_column = [codes for _, codes in columns]
    order = by_column if rules.columns is ColumnOrder.TRANSPOSED else list(zip(*by_column, strict=True))
    return EncodedTile(
        scales=[scale for scale, _ in rows],
        codes=[code for _, codes in rows for code in codes],
        column_scales=[scale for scale, _ in columns],
        column_codes=[code for codes in order for code in codes],
    )
