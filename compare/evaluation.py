"""Evaluation of one encoder on a whole input domain."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ..models.arrays.block_array import Quantized
from ..models.arrays.source import SMALLEST_NORMAL, narrow
from ..models.fast.encode import quantize
from ..models.fast.scale import scale_bytes
from ..spec import Encode, Subnormals
from .input_domain import ElementRange, InputDomain
from .run_length import RunLengthEncoding, run_length_encoded

CHUNK = 1 << 16
COST = {"scales": 1, "codes": 3, "specials": 60}
"""Relative time of one case, for the progress bar."""


@dataclass(frozen=True, kw_only=True)
class ConvertedBlock:
    """A block with its scale byte and element codes.

    ``values`` are the first numbers of the block, as source patterns in the text that `mxcast explain --values` reads;
    the other numbers are zero. ``codes`` are the codes of ``values``.
    """

    values: str
    byte: int
    codes: tuple[int, ...]


class Evaluation:
    """One encoder on a whole input domain. Results are kept for comparisons with several others."""

    def __init__(
        self, numerics: Encode, domain: InputDomain, advance: Callable[[int], None] = lambda cost: None
    ) -> None:
        self.numerics, self.domain, self.advance = numerics, domain, advance
        self._kept: dict[object, RunLengthEncoding] = {}

    def _once(
        self, kind: str, which: object, evaluate: Callable[[int, int], np.ndarray], start: int, stop: int, chunk: int
    ) -> RunLengthEncoding:
        def evaluate_and_advance(begin: int, end: int) -> np.ndarray:
            self.advance(COST[kind] * (end - begin))
            return evaluate(begin, end)

        if (kind, which) not in self._kept:
            self._kept[kind, which] = run_length_encoded(evaluate_and_advance, start, stop, chunk)
        return self._kept[kind, which]

    def scales(self) -> RunLengthEncoding:
        """Scale bytes by the rank of the largest magnitude."""
        flush = self.numerics.input_subnormals is Subnormals.FLUSH

        def evaluate(start: int, stop: int) -> np.ndarray:
            amax = self.domain.patterns(start, stop)
            return scale_bytes(amax * (amax >= SMALLEST_NORMAL) if flush else amax, self.numerics)[None]

        return self._once("scales", None, evaluate, 0, self.domain.size, CHUNK)

    def codes(self, elements: ElementRange, sign: int) -> RunLengthEncoding:
        """Codes by rank, from the start of the range to the largest magnitude with the range's byte.

        They end after at most one binade, but not before the end of the range. They come from blocks that contain that
        largest magnitude and the numbers.
        """
        size = self.numerics.block_size
        largest = _last_of_each(self.scales())[elements.byte]
        stop = min(largest + 1, max(elements.stop, elements.start + (1 << 23)))

        def evaluate(start: int, stop: int) -> np.ndarray:
            rows = -(-(stop - start) // (size - 1))
            numbers = np.zeros(rows * (size - 1), np.uint32)
            numbers[: stop - start] = self.domain.patterns(start, stop) | np.uint32(sign)
            blocks = np.empty((rows, size), np.uint32)
            blocks[:, :-1] = numbers.reshape(rows, size - 1)
            blocks[:, -1] = self.domain.patterns(largest, largest + 1)
            q = self.quantized(blocks)
            assert (q.scales == elements.byte).all(), "quantize and scale_bytes disagree"
            return q.codes[:, :-1].reshape(1, -1)[:, : stop - start]

        return self._once("codes", (elements.byte, elements.start, sign), evaluate, elements.start, stop, 4 * CHUNK)

    def specials(self, others: tuple[int, ...]) -> RunLengthEncoding:
        """Byte and codes of blocks of one Inf or NaN pattern, by its rank, together with other patterns.

        Blocks of up to four numbers suffice: in larger blocks the rest would be zeros.
        """
        small = self.numerics.replace(block_size=len(others) + 1)

        def evaluate(start: int, stop: int) -> np.ndarray:
            blocks = np.empty((stop - start, len(others) + 1), np.uint32)
            blocks[:, 0], blocks[:, 1:] = self.domain.special_patterns(start, stop), others
            q = quantize(narrow(blocks, small.source), small)
            return np.concatenate([q.scales.T, q.codes.T])

        return self._once("specials", others, evaluate, 0, self.domain.special_count, CHUNK // 4)

    def quantized(self, blocks: np.ndarray) -> Quantized:
        """`quantize` of FP32 patterns (n, block_size), narrowed to the source."""
        return quantize(narrow(blocks, self.numerics.source), self.numerics)

    def converted(self, numbers: tuple[int, ...]) -> ConvertedBlock:
        """One block of these FP32 patterns and zeros."""
        whole = np.zeros((1, self.numerics.block_size), np.uint32)
        whole[0, : len(numbers)] = numbers
        q, bits = self.quantized(whole), self.numerics.source.bits
        patterns = narrow(whole, self.numerics.source).view(f"uint{bits}")[0, : len(numbers)]
        return ConvertedBlock(
            values=",".join(f"0x{pattern:0{bits // 4}X}" for pattern in patterns),
            byte=int(q.scales[0, 0]),
            codes=tuple(q.codes[0, : len(numbers)].tolist()),
        )


def _last_of_each(scales: RunLengthEncoding) -> dict[int, int]:
    """The last rank at which each byte appears."""
    ends = np.append(scales.starts[1:], scales.stop)
    return {int(byte): int(end) - 1 for byte, end in zip(scales.values[0], ends, strict=True)}
