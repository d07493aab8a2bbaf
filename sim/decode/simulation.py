"""Decoders in simulations."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from ...hdl.config.command import command_line
from ...models import quantize
from ...models.arrays.codes import code_values
from ...models.arrays.source import DTYPES, code_dtype
from ...models.fast.decode import decode_blocks
from ...spec import Decode, Role
from ..causes import causes_of
from ..simulation import RANDOM, SAMPLED, ElementSimulation, Stimuli
from ..transactions import Transactions

CHUNK = 1 << 15
"""Blocks of `DecodeSimulation.pairs` that are made at a time."""
STEP = 37
"""Distance between the codes of neighbouring lanes."""
COVERED = 4096
"""Most blocks of pairs in the regression."""
ENCODED = 32
"""Elements of a block that the encoder makes."""
SHOWN = 4
"""Elements of a block that are shown."""


class DecodeSimulation(ElementSimulation[Decode]):
    """The operation `Decode` in simulations."""

    kinds = ("standard", "pairs", "random")
    causes = causes_of(
        {
            "ordinary": "ordinary elements",
            "small": "results that are subnormal or zero",
            "large": "results beyond the largest number",
            "zeros": "elements that are zero",
            "specials": "elements that are NaN or Inf",
            "byte_0": "blocks of scale byte 0",
            "byte_255": "blocks of scale byte 255",
        }
    )
    sentences = (
        ({"zeros"}, "only elements that are zero differ"),
        ({"byte_255"}, "only blocks of scale byte 255 differ"),
        ({"specials", "byte_255"}, "only NaN and Inf differ"),
        ({"byte_0"}, "only blocks of scale byte 0 differ"),
        ({"small", "byte_0"}, "only results that are subnormal or zero differ"),
        ({"large", "byte_255"}, "only results beyond the largest number, and blocks of scale byte 255, differ"),
    )

    def golden(self, entering: Transactions) -> Transactions:
        codes = entering[Role.CODES]
        y = np.empty(codes.shape, DTYPES[self.rules.destination.name])
        random = entering.get(Role.RANDOM) if self.rules.random_bits else None
        decode_blocks(entering[Role.SCALE][:, 0], codes, self.rules, y, random)
        return Transactions({Role.NUMBERS: y.view(f"u{y.itemsize}")})

    def directed(self, kind: str, seed: int) -> Stimuli:
        if kind == "pairs":
            yield kind, self.pairs()

    def random(self, blocks: int, seed: int) -> Transactions:
        """Random bytes and codes; under every other byte results are in the range of the destination."""
        rng = np.random.default_rng(seed)
        scales = rng.integers(0, 256, blocks)
        scales[::2] = rng.integers(97, 158, len(scales[::2]))
        return self._blocks(
            scales, rng.integers(0, 1 << self.rules.block.element.bits, (blocks, self.rules.block_size))
        )

    def usual(self, blocks: int, seed: int) -> Transactions:
        """Codes and scale bytes to which OCP's encoder converts numbers of N(0,1)."""
        rng, count = np.random.default_rng(seed), blocks * self.rules.block_size
        q = quantize(
            rng.standard_normal((-(-count // ENCODED), ENCODED), np.float32), self.rules.block.resized(ENCODED)
        )
        codes = q.codes.reshape(-1)[:count].reshape(blocks, self.rules.block_size)
        return self._blocks(np.resize(q.scales[:, 0], blocks), codes)

    def corners(self, seed: int) -> Transactions:
        return Transactions.joined(self.pairs())

    def pairs(self) -> Iterator[Transactions]:
        """Every pair of scale byte and code, in every lane. Lanes have different codes at a time. If codes have
        more than ten bits, an even choice of 1024 codes.
        """
        codes = self._codes()
        for first in range(0, 256 * len(codes), CHUNK):
            rows = np.arange(first, min(first + CHUNK, 256 * len(codes)))
            chosen = self._apart(rows % len(codes))
            yield self._blocks(rows // len(codes), codes[chosen])

    def _codes(self) -> np.ndarray:
        bits = self.rules.block.element.bits
        return np.arange(1 << min(bits, 10)) << max(bits - 10, 0)

    def _apart(self, first: np.ndarray) -> np.ndarray:
        """The places of the codes of all lanes (n, block_size), from the places for lane 0 (n,). Codes of a block
        differ as long as there are enough of them: their number has no divisor in common with `STEP`.
        """
        return (first[:, None] + STEP * np.arange(self.rules.block_size)) % len(self._codes())

    def _blocks(self, scales: np.ndarray, codes: np.ndarray) -> Transactions:
        """Blocks of scale bytes (n,) and codes (n, block_size)."""
        words = codes.astype(code_dtype(self.rules.block.element))
        return Transactions({Role.CODES: words, Role.SCALE: scales.astype(np.uint8)[:, None]})

    def regression(self, blocks: int, seed: int) -> dict[str, Transactions]:
        """Every pair in some lane, or as many pairs as `COVERED` blocks have, and random blocks."""
        codes = self._codes()
        count = -(-len(codes) // self.rules.block_size)  # blocks of a scale byte
        rows = np.linspace(0, 256 * count - 1, min(256 * count, COVERED)).astype(int)
        chosen = self._apart(rows % count * self.rules.block_size * STEP)
        return {"pairs": self._blocks(rows // count, codes[chosen]), "random": self.random(blocks, seed)}

    def sample(self, seed: int) -> Transactions:
        """Some blocks with every scale byte, and some random ones."""
        every = self.corners(seed)
        return Transactions.joined(
            [every.rows(slice(None, None, len(every) // SAMPLED | 1)), self.random(RANDOM, seed)]
        )

    def fits(self, given: Transactions, right: np.ndarray) -> Mapping[str, np.ndarray]:
        to, values = self.rules.destination, code_values(self.rules.block.element)[given[Role.CODES]]
        magnitude, byte = right & right.dtype.type(to.magnitude_mask), given[Role.SCALE]
        return {
            "small": (magnitude >> to.man_bits) == 0,
            "large": magnitude >= to.max_code,
            "zeros": values == 0,
            "specials": ~np.isfinite(values),
            "byte_0": byte == 0,
            "byte_255": byte == 255,
        }

    def described(self, title: str, given: Transactions, expected: Transactions, actual: Transactions) -> str:
        want, got, codes = expected[Role.NUMBERS][0], actual[Role.NUMBERS][0], given[Role.CODES][0]
        bits, digits = given.get(Role.RANDOM), self.rules.destination.bits // 4
        scale = f"0x{int(given[Role.SCALE][0, 0]):02X}"
        written = [f"0x{int(code):0{-(-self.rules.block.element.bits // 4)}X}" for code in codes]
        wrong = np.flatnonzero(want != got)
        lines = [f"{title}: scale {scale}"]
        for lane in wrong[:SHOWN]:
            drawn = "" if bits is None else f" with random bits {int(bits[0, lane]):#x}"
            lines.append(
                f"    element {lane}: code {written[lane]}{drawn}, expected 0x{int(want[lane]):0{digits}X}, got "
                f"0x{int(got[lane]):0{digits}X}"
            )
        if len(wrong) > SHOWN:
            lines.append(f"    and {len(wrong) - SHOWN} more elements of this block")
        end = (
            int(np.flatnonzero((codes != 0) | (want != got)).max(initial=0)) + 1
        )  # zeros that are right explain nothing
        drawn = "" if bits is None else " --random " + ",".join(map(str, bits[0, :end]))
        block = f"--scale {scale} --codes {','.join(written[:end])}{drawn}"
        lines.append(f"    to explain: mxcast explain {command_line(self.rules)} {block}")
        return "\n".join(lines)
