"""Tile encoders in simulations."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import TypeVar

import numpy as np

from ...spec import ColumnOrder, Role, Tiled, TileEncode
from .. import stimuli as make
from ..causes import causes_of
from ..simulation import Simulation, Stimuli
from ..transactions import Transactions
from .simulation import EncodeSimulation

SAMPLED = 8
"""Directed tiles in `TileSimulation.sample`, and as many random ones."""
FLIPPED = 64
"""Bits that change in `TileSimulation.single_bits`."""
DIRECTED: dict[str, Callable[..., np.ndarray]] = {
    "corner": make.corner_blocks,
    "boundary": make.boundary_blocks,
    "distance": make.distance_blocks,
}
"""Stimuli of encoders that are rows and columns of tiles, by their kind."""


Tile = TypeVar("Tile", bound=Tiled)


class TiledSimulation(Simulation[Tile]):
    """An operation on tiles in simulations. A transaction is a tile, and stimuli are counted in rows of tiles."""

    causes = causes_of(
        {
            "row codes": "codes of rows",
            "row scales": "scales of rows",
            "column codes": "codes of columns",
            "column scales": "scales of columns",
        }
    )
    sentences = (
        ({"row codes", "row scales"}, "only the blocks of rows differ"),
        ({"column codes", "column scales"}, "only the blocks of columns differ"),
        ({"row codes", "column codes"}, "only codes differ, and no scale"),
    )
    chunk = 1 << 9

    def __init__(self, rules: Tile, of_row: Simulation) -> None:
        super().__init__(rules)
        self.side, self.of_row = rules.block_size, of_row

    @property
    def blocks_of_transaction(self) -> int:
        return self.side

    def golden(self, entering: Transactions) -> Transactions:
        rows, columns = (self.of_row.golden(self._lines(entering, is_column)) for is_column in (False, True))
        codes = columns[Role.CODES].reshape(-1, self.side, self.side)
        if self.rules.columns is ColumnOrder.IN_PLACE:
            codes = np.ascontiguousarray(codes.swapaxes(1, 2))
        return Transactions(
            {
                Role.ROW_SCALES: rows[Role.SCALE].reshape(-1, self.side),
                Role.CODES: rows[Role.CODES].reshape(-1, self.side**2),
                Role.COLUMN_SCALES: columns[Role.SCALE].reshape(-1, self.side),
                Role.COLUMN_CODES: codes.reshape(-1, self.side**2),
            }
        )

    @abstractmethod
    def tiles(self, blocks: Transactions) -> Transactions:
        """Tiles with these blocks as rows and as columns."""

    def _lines(self, tiles: Transactions, is_column: bool) -> Transactions:
        """The rows or the columns of tiles, as blocks."""
        every = {role: np.repeat(array, self.side, axis=0) for role, array in tiles.arrays.items()}
        numbers = self._turned(tiles)[Role.NUMBERS] if is_column else tiles[Role.NUMBERS]
        return Transactions({**every, Role.NUMBERS: numbers.reshape(-1, self.side)})

    def _whole(self, blocks: Transactions) -> Transactions:
        """Tiles of blocks as rows; the first blocks complete the last tile. A tile has the constants of its row 0."""
        count = -(-len(blocks) // self.side) * self.side
        rows = blocks.rows(np.resize(np.arange(len(blocks)), count))
        numbers = rows[Role.NUMBERS].reshape(-1, self.side**2)
        return rows.rows(slice(None, None, self.side)).with_arrays({Role.NUMBERS: numbers})

    def _turned(self, tiles: Transactions) -> Transactions:
        patterns = tiles[Role.NUMBERS].reshape(-1, self.side, self.side).swapaxes(1, 2)
        return tiles.with_arrays({Role.NUMBERS: np.ascontiguousarray(patterns).reshape(-1, self.side**2)})

    def _in_turn(self, tiles: Transactions) -> Transactions:
        """The same tiles, every second one turned."""
        turned, of_columns = self._turned(tiles)[Role.NUMBERS], np.arange(len(tiles)) % 2 == 1
        return tiles.with_arrays({Role.NUMBERS: np.where(of_columns[:, None], turned, tiles[Role.NUMBERS])})

    def usual(self, blocks: int, seed: int) -> Transactions:
        return self._whole(self.of_row.usual(blocks * self.side, seed))

    def single_bits(self, seed: int) -> Transactions:
        """Usual tiles, each followed by the same tile with one bit changed."""
        whole, rng = self.usual(1, seed).rows(np.zeros(2 * FLIPPED, int)), np.random.default_rng(seed)
        words, changed = whole[Role.NUMBERS], np.arange(1, 2 * FLIPPED, 2)
        bits = rng.integers(0, self.rules.numbers.bits, FLIPPED, dtype=words.dtype)
        words[changed, rng.integers(0, self.side**2, FLIPPED)] ^= words.dtype.type(1) << bits
        return whole

    def regression(self, blocks: int, seed: int) -> dict[str, Transactions]:
        count = -(-blocks // self.side)
        return {"corner": self.corners(seed).spread(max(count, SAMPLED)), "random": self.random(count, seed)}

    def sample(self, seed: int) -> Transactions:
        return Transactions.joined([self.corners(seed).spread(SAMPLED), self.random(SAMPLED, seed)])

    def why(
        self, given: Transactions, expected: Transactions, actual: Transactions, nan_codes_free: bool
    ) -> np.ndarray:
        if nan_codes_free:
            raise ValueError(f"nan_codes_free is for encoders, not for the operation {self.rules.name}")
        found = np.full(len(expected), -1, np.int8)
        roles = (Role.CODES, Role.ROW_SCALES, Role.COLUMN_CODES, Role.COLUMN_SCALES)
        for number, role in enumerate(roles):  # the last cause wins
            found[(expected[role] != actual[role]).any(axis=1)] = number
        return found

    def described(self, title: str, given: Transactions, expected: Transactions, actual: Transactions) -> str:
        """The first row that differs, or else the first column."""
        for is_column, name in enumerate(("row", "column")):
            lines = self._lines(given.rows(slice(1)), bool(is_column))
            want, got = (self._blocks(side, bool(is_column)) for side in (expected, actual))
            for number in np.flatnonzero(want.differ(got))[:1]:
                one = slice(number, number + 1)
                return self.of_row.described(
                    f"{title}, {name} {number}", *(part.rows(one) for part in (lines, want, got))
                )
        return title

    def _blocks(self, results: Transactions, is_column: bool) -> Transactions:
        """The blocks of the rows or of the columns of one tile, as results of an encoder."""
        scales, codes = (Role.COLUMN_SCALES, Role.COLUMN_CODES) if is_column else (Role.ROW_SCALES, Role.CODES)
        blocks = results[codes][0].reshape(self.side, self.side)
        if is_column and self.rules.columns is ColumnOrder.IN_PLACE:
            blocks = blocks.T
        return Transactions({Role.SCALE: results[scales][0][:, None], Role.CODES: np.ascontiguousarray(blocks)})


class TileSimulation(TiledSimulation[TileEncode]):
    """The operation `TileEncode` in simulations."""

    kinds = ("standard", *DIRECTED, "random")

    def __init__(self, rules: TileEncode) -> None:
        super().__init__(rules, EncodeSimulation(rules.rows))

    def directed(self, kind: str, seed: int) -> Stimuli:
        if kind in DIRECTED:
            yield kind, [self.tiles(Transactions({Role.NUMBERS: DIRECTED[kind](self.rules.rows)}))]

    def tiles(self, blocks: Transactions) -> Transactions:
        rows = self._whole(blocks)
        return Transactions.joined([rows, self._turned(rows)])

    def corners(self, seed: int) -> Transactions:
        return self.tiles(Transactions({Role.NUMBERS: make.corner_blocks(self.rules.rows)}))

    def random(self, blocks: int, seed: int) -> Transactions:
        """Tiles of random blocks, in turn as rows and as columns."""
        numbers = make.random_blocks(self.rules.rows, blocks * self.side, seed)
        return self._in_turn(self._whole(Transactions({Role.NUMBERS: numbers})))
