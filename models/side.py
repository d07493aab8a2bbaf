"""One numerics, evaluated on everything: one side of a comparison."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ..spec import Numerics, Subnormals
from .block import SMALLEST_NORMAL, Quantized, quantize
from .population import Population, Task
from .runs import Runs, runs_of
from .scale import scale_bytes
from .source import narrow

__all__ = ["COST", "Outcome", "Side"]

CHUNK = 1 << 16
COST = {"scales": 1, "codes": 3, "specials": 60}
"""Of one case, in about the same time; for the progress bar only."""


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What one side makes of a block. Its first numbers are patterns of that side's source; the rest are zeros.

    ``values`` is the text that `mxcast explain --values` takes; ``codes`` are those of the numbers given.
    """

    values: str
    byte: int
    codes: tuple[int, ...]


class Side:
    """One numerics, evaluated on a whole population; results are kept, so that it can be compared with several
    others.
    """

    def __init__(
        self, numerics: Numerics, population: Population, tick: Callable[[int], None] = lambda count: None
    ) -> None:
        self.numerics, self.population, self.tick = numerics, population, tick
        self._kept: dict[object, Runs] = {}

    def _once(
        self, kind: str, which: object, evaluate: Callable[[int, int], np.ndarray], start: int, stop: int, chunk: int
    ) -> Runs:
        def and_tick(begin: int, end: int) -> np.ndarray:
            self.tick(COST[kind] * (end - begin))
            return evaluate(begin, end)

        if (kind, which) not in self._kept:
            self._kept[kind, which] = runs_of(and_tick, start, stop, chunk)
        return self._kept[kind, which]

    def scales(self) -> Runs:
        """Scale bytes by the rank of the largest magnitude."""
        flush = self.numerics.input_subnormals is Subnormals.FLUSH

        def evaluate(start: int, stop: int) -> np.ndarray:
            amax = self.population.patterns(start, stop)
            return scale_bytes(amax * (amax >= SMALLEST_NORMAL) if flush else amax, self.numerics)[None]

        return self._once("scales", None, evaluate, 0, self.population.size, CHUNK)

    def codes(self, task: Task, sign: int) -> Runs:
        """Codes by rank, from the start of the task as far as this side's blocks of its byte go, at least to its end.

        They come from real blocks, which hold the largest magnitude of that byte and, beside it, the numbers.
        """
        size = self.numerics.block_size
        largest = _last_of_each(self.scales())[task.byte]
        stop = min(largest + 1, max(task.stop, task.start + (1 << 23)))

        def evaluate(start: int, stop: int) -> np.ndarray:
            rows = -(-(stop - start) // (size - 1))
            numbers = np.zeros(rows * (size - 1), np.uint32)
            numbers[: stop - start] = self.population.patterns(start, stop) | np.uint32(sign)
            blocks = np.empty((rows, size), np.uint32)
            blocks[:, :-1], blocks[:, -1] = (
                numbers.reshape(rows, size - 1),
                self.population.patterns(largest, largest + 1),
            )
            q = self.quantized(blocks)
            assert (q.scales == task.byte).all(), "quantize and scale_bytes disagree"
            return q.codes[:, :-1].reshape(1, -1)[:, : stop - start]

        return self._once("codes", (task.byte, task.start, sign), evaluate, task.start, stop, 4 * CHUNK)

    def specials(self, context: tuple[int, ...]) -> Runs:
        """Byte and codes of the blocks that hold a special pattern, by its rank, and the numbers of the context.

        Blocks of four numbers (two, if blocks are as small) stand for those of any size: what is added is zeros.
        """
        small = self.numerics.replace(block_size=len(context) + 1)

        def evaluate(start: int, stop: int) -> np.ndarray:
            blocks = np.empty((stop - start, len(context) + 1), np.uint32)
            blocks[:, 0], blocks[:, 1:] = self.population.special_patterns(start, stop), context
            q = quantize(narrow(blocks, small.source), small)
            return np.concatenate([q.scales.T, q.codes.T])

        return self._once("specials", context, evaluate, 0, self.population.special_count, CHUNK // 4)

    def quantized(self, blocks: np.ndarray) -> Quantized:
        """`quantize` of FP32 patterns (n, block_size), as numbers of this side's source."""
        return quantize(narrow(blocks, self.numerics.source), self.numerics)

    def outcome(self, block: tuple[int, ...]) -> Outcome:
        """What becomes of one real block, which zeros complete."""
        whole = np.zeros((1, self.numerics.block_size), np.uint32)
        whole[0, : len(block)] = block
        q, bits = self.quantized(whole), self.numerics.source.bits
        patterns = narrow(whole, self.numerics.source).view(f"uint{bits}")[0, : len(block)]
        return Outcome(
            values=",".join(f"0x{pattern:0{bits // 4}X}" for pattern in patterns),
            byte=int(q.scales[0, 0]),
            codes=tuple(q.codes[0, : len(block)].tolist()),
        )


def _last_of_each(runs: Runs) -> dict[int, int]:
    """The last rank at which each byte appears."""
    return {
        int(byte): int(end) - 1 for byte, end in zip(runs.values[0], np.append(runs.starts[1:], runs.stop), strict=True)
    }
