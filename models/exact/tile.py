"""The exact definition of a tile that is encoded in both directions: one block for each row and each column."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

from ...spec import ColumnOrder, Nvfp4TileEncode, TileEncode
from .binary32 import Value
from .encode import quantize_block
from .nvfp4_encode import encode_block

ZERO = Fraction(0)


class EncodedTile(NamedTuple):
    """The scale codes of rows and of columns, and the element codes under them, in the order of the ports."""

    scales: list[int]
    codes: list[int]
    column_scales: list[int]
    column_codes: list[int]


def quantize_tile(
    patterns: Sequence[Sequence[int]], rules: TileEncode | Nvfp4TileEncode, a: Value = ZERO
) -> EncodedTile:
    """Encode one tile of source numbers, given as rows of bit patterns. To NVFP4, ``a`` is the largest magnitude of
    its tensor.

    Raises ValueError for a pattern with more bits than the source format.

    >>> rules = TileEncode(block="e4m3", source="bf16").replaced(block_size=2)
    >>> tile = quantize_tile([[0x3F80, 0x4000], [0x4040, 0]], rules)
    >>> tile.scales, tile.column_scales
    ([120, 120], [120, 120])
    """
    rows = [_quantized(row, rules, a) for row in patterns]
    columns = [_quantized(column, rules, a) for column in zip(*patterns, strict=True)]
    by_column = [codes for _, codes in columns]
    order = by_column if rules.columns is ColumnOrder.TRANSPOSED else list(zip(*by_column, strict=True))
    return EncodedTile(
        scales=[scale for scale, _ in rows],
        codes=[code for _, codes in rows for code in codes],
        column_scales=[scale for scale, _ in columns],
        column_codes=[code for codes in order for code in codes],
    )


def _quantized(line: Sequence[int], rules: TileEncode | Nvfp4TileEncode, a: Value) -> tuple[int, list[int]]:
    """The scale code and the element codes of a row or of a column."""
    if isinstance(rules, TileEncode):
        return quantize_block(line, rules.rows)
    return encode_block(line, rules.rows, a)
