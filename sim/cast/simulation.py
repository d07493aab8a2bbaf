"""Casts in simulations."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from ...hdl.config.command import command_line
from ...models.arrays.source import narrow
from ...models.fast.cast import cast_patterns
from ...spec import Cast, Port, Role
from ..causes import causes_of
from ..simulation import ElementSimulation, Stimuli
from ..transactions import Transactions, data_ports, word

CHUNK = 1 << 15
"""Words of `CastSimulation.everything` that are made at a time."""
SHORT = 16
"""If a source has at most so many bits, every run tries all its patterns."""
AROUND = 32
"""Words around which single bits change."""
STEP = 37
"""Distance between the patterns of neighbouring lanes."""
INSIDE, COVERED = 12_288, 2048
"""Most directed words in the regression: with a number in the range of the destination, and without."""
SHOWN = 4
"""Numbers of a word that are shown."""


class CastSimulation(ElementSimulation[Cast]):
    """The operation `Cast` in simulations; its blocks are words."""

    kinds = ("standard", "all", "boundary", "random")
    causes = causes_of(
        {
            "ordinary": "ordinary numbers",
            "small": "results that are subnormal, zero or the smallest number",
            "large": "results that are the largest number, or beyond it",
            "negative": "numbers below zero",
            "zeros": "numbers that are zero",
            "specials": "numbers that are NaN or Inf",
        }
    )
    sentences = (
        ({"zeros"}, "only numbers that are zero differ"),
        ({"specials"}, "only NaN and Inf differ"),
        ({"negative"}, "only numbers below zero differ"),
        ({"small", "zeros"}, "only results that are subnormal, zero or the smallest number differ"),
        ({"large", "specials"}, "only results that are the largest number or beyond it differ"),
    )

    @property
    def entering(self) -> Port:
        """The port of the numbers or codes that are cast."""
        return data_ports(self.rules.ports, "input")[0]

    @property
    def leaving(self) -> Port:
        """The port of the results."""
        return data_ports(self.rules.ports, "output")[0]

    def golden(self, entering: Transactions) -> Transactions:
        port, patterns = self.leaving, np.ascontiguousarray(entering[self.entering.role])
        results = np.empty(patterns.shape, word(port))
        cast_patterns(patterns, self.rules, results, entering.get(Role.RANDOM) if self.rules.random_bits else None)
        return Transactions({port.role: results})

    @property
    def standard(self) -> tuple[str, ...]:
        return ("all",) if self.rules.source.bits <= SHORT else ("boundary", "random")

    def directed(self, kind: str, seed: int) -> Stimuli:
        """``all`` is every pattern of the source."""
        if kind == "all":
            yield kind, self.everything()
        if kind == "boundary":
            yield kind, [self.boundary()]

    def everything(self) -> Iterator[Transactions]:
        """All patterns of the source, in every lane."""
        count = 1 << self.rules.source.bits
        for first in range(0, count, CHUNK):
            yield self._words(self._apart(np.arange(first, min(first + CHUNK, count)), count))

    def boundary(self) -> Transactions:
        """Every sign and exponent of the source, with each fraction of one bit more than the destination has, and with
        its neighbours, as every rounding changes there; and `_sticky`. All patterns if the source has no more of them.
        """
        source, bits = self.rules.source, self.rules.destination.man_bits + 2
        if source.man_bits <= bits:
            return Transactions.joined(self.everything())
        steps = np.arange(1 << bits) << (source.man_bits - bits)
        fractions = np.unique((steps[:, None] + np.arange(-1, 2)) % (1 << source.man_bits))
        signs_and_fields = np.arange(1 << (source.bits - source.man_bits), dtype=np.uint64)[:, None]
        patterns = (signs_and_fields << np.uint64(source.man_bits) | fractions.astype(np.uint64)).reshape(-1)
        around = self._words(patterns[self._apart(np.arange(len(patterns)), len(patterns))])
        return Transactions.joined([around, self._sticky()])

    def _sticky(self) -> Transactions:
        """In every binade of the destination 2**e, and the number half a last place above it, with each bit of the
        fraction alone. Random numbers have several low bits, so they do not show that one of them is ignored.
        """
        source, to = self.rules.source, self.rules.destination
        low, high = self._fields_in_range()
        exponents = np.arange(low, high + 1) - source.bias
        half = np.maximum(exponents, to.emin) - to.man_bits - 1 - exponents + source.man_bits  # its bit of the fraction
        halves = np.where((half >= 0) & (half < source.man_bits), 1 << np.clip(half, 0, source.man_bits), 0)
        bits = np.append(0, 1 << np.arange(source.man_bits))
        fractions = np.stack([np.zeros_like(halves), halves], axis=1)[:, :, None] | bits
        patterns = np.unique(np.arange(low, high + 1)[:, None, None] << source.man_bits | fractions)
        return self._words(patterns[self._apart(np.arange(len(patterns)), len(patterns))])

    def _alone(self) -> Transactions:
        """Zero, Inf, and every bit of the fraction alone in subnormal numbers and in NaN, with both signs."""
        source = self.rules.source
        fractions = np.array([0, *(1 << bit for bit in range(source.man_bits))], np.uint64)
        fields = np.array([0, ((1 << source.exp_bits) - 1) << source.man_bits], np.uint64)
        magnitudes = (fields[:, None] | fractions).reshape(-1)
        patterns = np.concatenate([magnitudes, magnitudes | source.sign_mask]) if source.signed else magnitudes
        return self._words(patterns[self._apart(np.arange(len(patterns)), len(patterns))])

    def random(self, blocks: int, seed: int) -> Transactions:
        """Random patterns; the numbers of every other word are near the range of the destination."""
        rng, source = np.random.default_rng(seed), self.rules.source
        shape = blocks, self.rules.lanes
        patterns = rng.integers(0, 1 << source.bits, shape, np.uint64)
        low, high = self._fields_in_range()
        fields = rng.integers(low, high + 1, shape, np.uint64) << np.uint64(source.man_bits)
        inside = patterns & np.uint64(source.sign_mask | (1 << source.man_bits) - 1) | fields
        patterns[::2] = inside[::2]
        return self._words(patterns)

    def _fields_in_range(self) -> tuple[int, int]:
        """The least and the largest exponent field of the source near the range of the destination."""
        source, to = self.rules.source, self.rules.destination
        low, high = (exponent + source.bias for exponent in (to.lowest_exponent - 2, to.emax + 2))
        last = (1 << source.exp_bits) - 1
        return min(max(low, 0), last), min(max(high, 0), last)

    def usual(self, blocks: int, seed: int) -> Transactions:
        """Numbers of N(0,1), or any codes for the way back."""
        rng, shape = np.random.default_rng(seed), (blocks, self.rules.lanes)
        if self.rules.is_back:
            return self._words(rng.integers(0, 1 << self.rules.source.bits, shape))
        numbers = rng.standard_normal(shape, np.float32).view(np.uint32)
        return self._words(narrow(numbers, self.rules.source).view(word(self.entering)))

    def _apart(self, rows: np.ndarray, count: int) -> np.ndarray:
        """The places of the patterns of all lanes (n, lanes) among ``count``, from those for lane 0 (n,)."""
        return (rows[:, None] + STEP * np.arange(self.rules.lanes)) % count

    def _words(self, patterns: np.ndarray) -> Transactions:
        """Words of patterns (n, lanes)."""
        port = self.entering
        return Transactions({port.role: patterns.astype(word(port))})

    def corners(self, seed: int) -> Transactions:
        """All patterns of a short source, and otherwise `boundary`."""
        return Transactions.joined(self.everything()) if self.rules.source.bits <= SHORT else self.boundary()

    def single_bits(self, seed: int) -> Transactions:
        return self.flipped(self.random(AROUND, seed))

    def swept(self, blocks: int, seed: int, exhaustive: bool) -> Stimuli:
        """All patterns of the source if ``exhaustive``, otherwise the standard stimuli; and single bits."""
        yield from self.stimuli("all" if exhaustive else "standard", blocks, seed)
        yield "single bits", [self.single_bits(seed)]

    def regression(self, blocks: int, seed: int) -> dict[str, Transactions]:
        """Directed words, at most `INSIDE` with a number in the range of the destination and `COVERED` others; and
        random ones.
        """
        words, source = self.corners(0), self.rules.source
        low, high = self._fields_in_range()
        fields = (words[self.entering.role] & source.magnitude_mask) >> source.man_bits
        is_inside = np.any((fields >= low) & (fields <= high), axis=1)
        chosen = [
            words.rows(np.flatnonzero(is_inside)).spread(INSIDE),
            words.rows(np.flatnonzero(~is_inside)).spread(COVERED),
        ]
        return {
            "boundary": Transactions.joined(chosen),
            "single bits": Transactions.joined([self._alone(), self._sticky().spread(COVERED)]),
            "random": self.random(blocks, seed),
        }

    def fits(self, given: Transactions, right: np.ndarray) -> Mapping[str, np.ndarray]:
        source, to, patterns = self.rules.source, self.rules.destination, given[self.entering.role]
        magnitude = patterns & patterns.dtype.type(source.magnitude_mask)
        result = right & right.dtype.type(to.magnitude_mask)
        return {
            "small": (result >> to.man_bits) == 0,
            "large": result >= to.max_code,
            "negative": (patterns & patterns.dtype.type(source.sign_mask)) != 0,
            "zeros": (magnitude == 0) & source.subnormals,
            "specials": magnitude > source.max_code,
        }

    def described(self, title: str, given: Transactions, expected: Transactions, actual: Transactions) -> str:
        enters, leaves = self.entering, self.leaving
        numbers, want, got = given[enters.role][0], expected[leaves.role][0], actual[leaves.role][0]
        bits, wrong = given.get(Role.RANDOM), np.flatnonzero(want != got)
        lines = [f"{title}: {self.rules.subject}"]
        for lane in wrong[:SHOWN]:
            drawn = "" if bits is None else f" with random bits {int(bits[0, lane]):#x}"
            lines.append(
                f"    number {lane}: {_hex(numbers[lane], enters)}{drawn}, expected {_hex(want[lane], leaves)}, got "
                f"{_hex(got[lane], leaves)}"
            )
        option = "--codes" if self.rules.is_back else "--values"
        drawn = "" if bits is None else " --random " + ",".join(map(str, bits[0]))
        word = ",".join(_hex(number, enters) for number in numbers)
        lines.append(f"    to explain: mxcast explain {command_line(self.rules)} {option} {word}{drawn}")
        return "\n".join(lines)


def _hex(value: np.integer, port: Port) -> str:
    return f"0x{int(value):0{-(-port.bits // 4)}X}"
