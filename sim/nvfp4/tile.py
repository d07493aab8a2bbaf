"""NVFP4 tile encoders in simulations."""

from __future__ import annotations

import numpy as np

from ...spec import Nvfp4TileEncode, Role
from ..encode.tile import TiledSimulation
from ..simulation import Stimuli
from ..transactions import Transactions
from .encode import Nvfp4EncodeSimulation

DIRECTED = 1 << 12
"""Tiles of a directed stimulus."""


class Nvfp4TileSimulation(TiledSimulation[Nvfp4TileEncode]):
    """The operation `Nvfp4TileEncode` in simulations."""

    kinds = Nvfp4EncodeSimulation.kinds
    large = Nvfp4EncodeSimulation.large

    def __init__(self, rules: Nvfp4TileEncode) -> None:
        super().__init__(rules, Nvfp4EncodeSimulation(rules.rows))

    def directed(self, kind: str, seed: int) -> Stimuli:
        for name, parts in self.of_row.directed(kind, seed):
            yield name, (self.tiles(part.spread(DIRECTED)) for part in parts)

    def tiles(self, blocks: Transactions) -> Transactions:
        """A tile for each block, with the constants of its tensor. All rows and columns are the block, rotated."""
        lanes = np.arange(self.side)
        numbers = blocks[Role.NUMBERS][:, (lanes[:, None] + lanes) % self.side]
        return blocks.with_arrays({Role.NUMBERS: numbers.reshape(-1, self.side**2)})

    def corners(self, seed: int) -> Transactions:
        return self.tiles(self.of_row.corners(seed))

    def random(self, blocks: int, seed: int) -> Transactions:
        """Half are tiles of random blocks. In the others rows or columns have numbers of different magnitudes."""
        usual = self._in_turn(self.usual(blocks, seed))
        rotated = self.tiles(self.of_row.random(blocks, seed))
        return Transactions.joined([usual, rotated]).rows(np.arange(2 * blocks).reshape(2, -1).T.ravel()[:blocks])
