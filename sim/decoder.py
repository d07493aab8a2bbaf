"""The Verilated decoder as a NumPy function, and its comparison with the golden model."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from ..hdl import DecoderConfig, verilog
from ..models import BlockArray
from ..models.block import Random
from ..models.block_array import code_dtype
from ..models.decode import decode_blocks, decoded
from ..models.source import DTYPES
from ..spec import Decode, Role
from .driver import Driver, build, word
from .handshake import HandshakeError, stalled
from .transactions import named

__all__ = ["Transactions", "VerilatedDecoder", "compared", "decoder_rows", "pairs", "verilate_decoder"]

SHOWN = 5
"""Mismatched elements that a report shows."""
CHUNK = 1 << 15
"""Blocks that are compared at a time."""


@dataclass(frozen=True)
class Transactions:
    """Blocks for a decoder."""

    scales: np.ndarray
    """(n,) uint8."""
    codes: np.ndarray
    """(n, block_size)."""
    random: np.ndarray | None
    """(n, block_size) random bits, where the rounding takes them."""

    def every(self, step: int) -> Transactions:
        """One in so many of the blocks."""
        drawn = None if self.random is None else self.random[::step]
        return Transactions(self.scales[::step], self.codes[::step], drawn)


class VerilatedDecoder:
    """A Verilated decoder. Call it like `models.dequantize`, without rules; it returns the same.

    One with registers is given gaps on both sides, which depend on ``seed``, and raises `handshake.HandshakeError`
    where not every block has its one result in its place.
    """

    def __init__(self, driver: Driver, config: DecoderConfig, seed: int = 0) -> None:
        self.driver, self.config, self.numerics, self.seed = driver, config, config.numerics, seed

    def __call__(self, q: BlockArray, *, random: Random = None) -> np.ndarray:
        return decoded(q, self.numerics, self.decode_blocks, random=random)

    def decode_blocks(
        self, scales: np.ndarray, codes: np.ndarray, rules: Decode, y: np.ndarray, random: np.ndarray | None = None
    ) -> None:
        """Decode whole blocks into a given array, as `models.decode.decode_blocks` does."""
        if rules != self.numerics:
            raise ValueError("a Verilated decoder decodes under the rules that it was built for only")
        ports = self.driver.ports
        given = {Role.CODES: codes, Role.SCALE: scales[:, None], **({} if random is None else {Role.RANDOM: random})}
        entering = {
            port.name: np.ascontiguousarray(given[port.role], word(port))
            for port in ports
            if port.role in given and port.direction == "input"
        }
        leaving = named(ports, "output", {Role.NUMBERS: y.view(f"u{y.itemsize}")})
        if self.config.latency:
            stalled(self.driver, self.config.latency, self.seed, entering, leaving)
        else:
            self.driver(entering, leaving)


def verilate_decoder(config: DecoderConfig, text: str | None = None, seed: int = 0) -> VerilatedDecoder:
    """The Verilated design of a configuration, or of a Verilog text whose module ``dut`` has its ports."""
    library = build(verilog(config, "dut") if text is None else text, "dut", config.ports, lint=text is None)
    return VerilatedDecoder(Driver(library, config.ports), config, seed)


def pairs(rules: Decode, seed: int = 0) -> Iterator[Transactions]:
    """Every scale byte with every code, in every lane; random bits are drawn.

    Lanes have different codes at a time. Codes of more than ten bits are too many: of these, an even choice of 1024.
    """
    count = 1 << min(rules.block.element.bits, 10)
    codes = np.arange(count) << (rules.block.element.bits - 10 if rules.block.element.bits > 10 else 0)
    rng = np.random.default_rng(seed)
    lanes = np.arange(rules.block_size) * 37
    for first in range(0, 256 * count, CHUNK):
        rows = np.arange(first, min(first + CHUNK, 256 * count))
        chosen = codes[((rows % count)[:, None] + lanes) % count].astype(code_dtype(rules.block.element))
        yield Transactions((rows // count).astype(np.uint8), chosen, _random(rules, chosen.shape, rng))


def decoder_rows(rules: Decode, blocks: int, seed: int) -> Iterator[Transactions]:
    """Random bytes and codes; every other byte is one under which results are of the destination's range."""
    rng = np.random.default_rng(seed)
    for first in range(0, blocks, CHUNK):
        size = min(CHUNK, blocks - first)
        scales = rng.integers(0, 256, size)
        scales[::2] = rng.integers(97, 158, len(scales[::2]))
        codes = rng.integers(0, 1 << rules.block.element.bits, (size, rules.block_size))
        codes = codes.astype(code_dtype(rules.block.element))
        yield Transactions(scales.astype(np.uint8), codes, _random(rules, codes.shape, rng))


def _random(rules: Decode, shape: tuple[int, ...], rng: np.random.Generator) -> np.ndarray | None:
    return rng.integers(0, 1 << rules.random_bits, shape, np.uint16) if rules.random_bits else None


def compared(
    design: VerilatedDecoder, stimuli: Sequence[tuple[str, Iterator[Transactions]]], progress: Callable[[int], None]
) -> tuple[dict[str, int], int, str]:
    """Blocks compared by stimulus, how many differ, and the first differences in words. Bits are equal or not."""
    rules, counts, wrong, lines = design.numerics, dict[str, int](), 0, list[str]()
    for name, chunks in stimuli:
        counts[name] = 0
        for blocks in chunks:
            expected, actual = (np.empty(blocks.codes.shape, DTYPES[rules.destination.name]) for _ in range(2))
            decode_blocks(blocks.scales, blocks.codes, rules, expected, blocks.random)
            try:
                design.decode_blocks(blocks.scales, blocks.codes, rules, actual, blocks.random)
            except HandshakeError as fault:
                wrong += len(blocks.scales)
                lines.append(f"{name}: {fault}")
            else:
                differs = expected.view(f"u{expected.itemsize}") != actual.view(f"u{actual.itemsize}")
                wrong += int(differs.any(axis=1).sum())
                for row, lane in np.argwhere(differs)[: SHOWN - len(lines)]:
                    lines.append(_described(f"{name} block {counts[name] + row}", blocks, expected, actual, row, lane))
            counts[name] += len(blocks.scales)
            progress(sum(counts.values()))
    if not counts or not all(counts.values()):
        return counts, wrong, "nothing was compared, which is a failure"
    head = f"{wrong} of {sum(counts.values())} blocks differ"
    return counts, wrong, "\n".join([head, *lines]) if wrong else ""


def _described(title: str, blocks: Transactions, expected: np.ndarray, actual: np.ndarray, row: int, lane: int) -> str:
    digits = 2 * expected.itemsize
    want, got = (int(y.view(f"u{y.itemsize}")[row, lane]) for y in (expected, actual))
    drawn = "" if blocks.random is None else f", random bits {int(blocks.random[row, lane]):#x}"
    return (
        f"{title}, element {lane}: scale 0x{int(blocks.scales[row]):02X}, code 0x{int(blocks.codes[row, lane]):02X}"
        f"{drawn}: expected 0x{want:0{digits}X}, got 0x{got:0{digits}X}"
    )
