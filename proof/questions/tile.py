"""Questions about tile encoders: the order of rows and columns, then the bits of a row and of a column."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from typing import ClassVar

import numpy as np

from ...hdl import HardwareConfig, TileConfig
from ...sim.transactions import Transactions
from ...spec import Encode, Role, TileEncode
from ..netlist.beats.tile import Tile, count_of_stores
from ..netlist.beats.whole_block import whole_block
from ..netlist.design import Design
from ..specification.beats.tile import tile_questions
from ..specification.encode import Specification
from .encode import ProvableEncode
from .lanes import InParts
from .provable import Provable
from .question import Question


class ProvableTile(InParts, Provable[TileEncode, Specification]):
    """The proof of a tile encoder."""

    handshake: ClassVar[str] = (
        "the modules in front of the store and behind it are pure delays with an enable; the stores have one enable, "
        "each bank has its own places, and all columns have the same gates"
    )

    def specification(self, rules: TileEncode) -> Specification:
        return Specification(rules.rows)

    def composed(
        self, config: HardwareConfig[TileEncode], design: Design, specify: Callable[[TileEncode], Specification]
    ) -> Iterator[Question]:
        """Questions about the order of rows and of results, for any numbers, and those about a row and about a column
        at once."""
        assert isinstance(config, TileConfig)
        tile = Tile(design, config)
        tile.check()
        yield from tile_questions(tile)
        tile.check_known()

        def of_block(rules: Encode) -> Specification:
            return specify(next(mode for mode in config.modes if mode.rows == rules))

        for name, encoder, parts in (("row", config.of_row, tile.rows()), ("column", config.of_column, tile.column())):
            whole = whole_block(design, encoder, *parts)
            for question in ProvableEncode().composed(encoder.at_once, whole, of_block):
                yield dataclasses.replace(question, name=f"{name}-{question.name}")

    def knows_addresses(self, config: HardwareConfig[TileEncode], written: list[str]) -> bool:
        assert isinstance(config, TileConfig)
        return len(written) == count_of_stores(config)

    def blocks(self, rules: TileEncode, values: dict[str, int]) -> Transactions:
        """Tiles with each block of `ProvableEncode.blocks` as their first row, and as their first column."""
        found = ProvableEncode().blocks(rules.rows, values)[Role.NUMBERS]
        tiles = np.zeros((2, len(found), rules.block_size, rules.block_size), found.dtype)
        tiles[0, :, 0] = tiles[1, :, :, 0] = found
        return Transactions({Role.NUMBERS: tiles.reshape(-1, rules.block_size**2)})
