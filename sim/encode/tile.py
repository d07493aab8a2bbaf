"""Tile encoders in simulations."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ...models import quantize
from ...models.arrays.source import DTYPES
from ...spec import ColumnOrder, Role, TileEncode
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


class TileSimulation(Simulation[TileEncode]):
    """The operation `TileEncode` in simulations. A transaction is a tile, and stimuli are counted in rows of tiles."""

    kinds = ("standard", *DIRECTED, "random")
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

    def __init__(self, rules: TileEncode) -> None:
        super().__init__(rules)
        self.side, self.of_row = rules.block_size, EncodeSimulation(rules.rows)

    @property
    def blocks_of_transaction(self) -> int:
        return self.side

    def golden(self, entering: Transactions) -> Transactions:
        x = entering[Role.NUMBERS].view(DTYPES[self.rules.source.name]).reshape(-1, self.side, self.side)
        rows, columns = quantize(x, self.rules.rows), quantize(x, self.rules.rows, axis=1)
        codes = columns.codes
        if self.rules.columns is ColumnOrder.TRANSPOSED:
            codes = codes.swapaxes(1, 2)
        return Transactions(
            {
                Role.ROW_SCALES: rows.scales.reshape(-1, self.side),
                Role.CODES: rows.codes.reshape(-1, self.side**2),
                Role.COLUMN_SCALES: columns.scales.reshape(-1, self.side),
                Role.COLUMN_CODES: np.ascontiguousarray(codes).reshape(-1, self.side**2),
            }
        )

    def directed(self, kind: str, seed: int) -> Stimuli:
        if kind in DIRECTED:
            yield kind, [self.tiles(DIRECTED[kind](self.rules.rows))]

    def tiles(self, blocks: np.ndarray) -> Transactions:
        """Tiles with these blocks (n, side) as rows, and tiles with them as columns."""
        rows = self._whole(blocks)
        return Transactions.joined([rows, self._turned(rows)])

    def _whole(self, blocks: np.ndarray) -> Transactions:
        """Tiles of blocks as rows; the first blocks complete the last tile."""
        complete = np.resize(blocks, (-(-len(blocks) // self.side) * self.side, self.side))
        return Transactions({Role.NUMBERS: complete.reshape(-1, self.side**2)})

    def _turned(self, tiles: Transactions) -> Transactions:
        patterns = tiles[Role.NUMBERS].reshape(-1, self.side, self.side).swapaxes(1, 2)
        return Transactions({Role.NUMBERS: np.ascontiguousarray(patterns).reshape(-1, self.side**2)})

    def corners(self, seed: int) -> Transactions:
        return self.tiles(make.corner_blocks(self.rules.rows))

    def random(self, blocks: int, seed: int) -> Transactions:
        """Tiles of random blocks, in turn as rows and as columns."""
        tiles = self._whole(make.random_blocks(self.rules.rows, blocks * self.side, seed))
        turned, of_columns = self._turned(tiles)[Role.NUMBERS], np.arange(len(tiles)) % 2 == 1
        return Transactions({Role.NUMBERS: np.where(of_columns[:, None], turned, tiles[Role.NUMBERS])})

    def usual(self, blocks: int, seed: int) -> Transactions:
        return self._whole(self.of_row.usual(blocks * self.side, seed)[Role.NUMBERS])

    def single_bits(self, seed: int) -> Transactions:
        """Usual tiles, each followed by the same tile with one bit changed."""
        whole, rng = self.usual(1, seed).rows(np.zeros(2 * FLIPPED, int)), np.random.default_rng(seed)
        words, changed = whole[Role.NUMBERS], np.arange(1, 2 * FLIPPED, 2)
        bits = rng.integers(0, self.rules.source.bits, FLIPPED, dtype=words.dtype)
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
        sides = [self._blocks(side, is_column) for is_column in (False, True) for side in (expected, actual)]
        numbers = given[Role.NUMBERS][0].reshape(self.side, self.side)
        for name, patterns, want, got in (("row", numbers, *sides[:2]), ("column", numbers.T, *sides[2:])):
            for number in np.flatnonzero(want.differ(got))[:1]:
                one = slice(number, number + 1)
                block = Transactions({Role.NUMBERS: np.ascontiguousarray(patterns)[one]})
                return self.of_row.described(f"{title}, {name} {number}", block, want.rows(one), got.rows(one))
        return title

    def _blocks(self, results: Transactions, is_column: bool) -> Transactions:
        """The blocks of the rows or of the columns of one tile, as results of an encoder."""
        scales, codes = (Role.COLUMN_SCALES, Role.COLUMN_CODES) if is_column else (Role.ROW_SCALES, Role.CODES)
        blocks = results[codes][0].reshape(self.side, self.side)
        if is_column and self.rules.columns is ColumnOrder.IN_PLACE:
            blocks = blocks.T
        return Transactions({Role.SCALE: results[scales][0][:, None], Role.CODES: np.ascontiguousarray(blocks)})
