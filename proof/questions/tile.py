"""Questions about tile encoders: the order of rows and columns, then the bits of a row and of a column."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping
from typing import ClassVar, TypeVar

import numpy as np

from ...hdl import HardwareConfig, Nvfp4TileConfig, TileConfig, TiledConfig
from ...sim.transactions import Transactions
from ...spec import Encode, Nvfp4Encode, Nvfp4TileEncode, Role, Tiled, TileEncode
from ..netlist.beats.nvfp4_tile import LINES, Nvfp4Tile
from ..netlist.beats.square import count_of_stores
from ..netlist.beats.tile import Tile
from ..netlist.beats.whole_block import whole_block
from ..netlist.design import Design
from ..specification.beats.tile import tile_questions
from ..specification.encode import Specification
from ..specification.nvfp4 import Nvfp4Specification
from .encode import ProvableEncode
from .lanes import InParts
from .nvfp4.encoder import ProvableNvfp4
from .provable import AnyProvable, Provable
from .question import Question

Rules = TypeVar("Rules", bound=Tiled)
Stated = TypeVar("Stated")


class ProvableTiled(InParts, Provable[Rules, Stated]):
    """The proof of a tile encoder of some formats."""

    of_block: ClassVar[AnyProvable]
    """The proof of the encoder of a row or of a column."""

    def specification(self, rules: Rules) -> Stated:
        found: Stated = self.of_block.specification(rules.rows)
        return found

    def knows_addresses(self, config: HardwareConfig[Rules], written: list[str]) -> bool:
        assert isinstance(config, TiledConfig)
        return len(written) == count_of_stores(config)

    def blocks(self, rules: Rules, values: dict[str, int]) -> Transactions:
        """Tiles with each block of a row or of a column as their first row, and as their first column."""
        blocks, side = self.of_block.blocks(rules.rows, values), rules.block_size
        found = blocks[Role.NUMBERS]
        tiles = np.zeros((2, len(found), side, side), found.dtype)
        tiles[0, :, 0] = tiles[1, :, :, 0] = found
        both = Transactions.joined([blocks, blocks])
        return both.with_arrays({Role.NUMBERS: tiles.reshape(-1, side**2)})

    def domain(self, rules: Rules, words: Mapping[Role, str]) -> str:
        return self.of_block.domain(rules.rows, words)


class ProvableTile(ProvableTiled[TileEncode, Specification]):
    """The proof of a tile encoder to MX formats."""

    of_block = ProvableEncode()
    mutants = of_block.mutants
    handshake: ClassVar[str] = (
        "the modules in front of the store and behind it are pure delays with an enable; the stores have one enable, "
        "each bank has its own places, and all columns have the same gates"
    )

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
            for question in self.of_block.composed(encoder.at_once, whole, of_block):
                yield dataclasses.replace(question, name=f"{name}-{question.name}")


class ProvableNvfp4Tile(ProvableTiled[Nvfp4TileEncode, Nvfp4Specification]):
    """The proof of a tile encoder to NVFP4.

    A column enters its encoder with its numbers in another order, in which its codes leave too. Neither the scale nor
    the code of a number depends on the order: the lemmas about an encoder state nothing else about it.
    """

    of_block = ProvableNvfp4()
    mutants = of_block.mutants
    handshake: ClassVar[str] = (
        "both encoders are pure delays with an enable; the stores have one enable, and each bank has its own places"
    )

    def composed(
        self,
        config: HardwareConfig[Nvfp4TileEncode],
        design: Design,
        specify: Callable[[Nvfp4TileEncode], Nvfp4Specification],
    ) -> Iterator[Question]:
        """Questions about the order of rows, for any numbers, and the lemmas about both encoders."""
        assert isinstance(config, Nvfp4TileConfig)
        tile, asked = Nvfp4Tile(design, config), set[str]()
        tile.check()
        yield from tile_questions(tile)
        tile.check_known()

        def of_block(rules: Nvfp4Encode) -> Nvfp4Specification:
            return specify(config.numerics)

        for name in LINES:
            for question in self.of_block.composed(config.of_block.at_once, tile.line(name), of_block):
                if question.text not in asked:  # a reader may copy the module of both
                    yield (
                        dataclasses.replace(question, name=f"column-{question.name}") if name != LINES[0] else question
                    )
                asked.add(question.text)
