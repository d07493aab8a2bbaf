"""An operation in simulations: its golden model, stimuli, and differences in words."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import ClassVar, Generic, TypeVar

import numpy as np

from ..spec import Operation, Role
from .causes import Cause, Sentences, in_common, of_elements
from .transactions import Transactions, data_ports

AROUND = 8
"""Blocks around which single bits change."""
SAMPLED = 500
"""Directed blocks in `Simulation.sample`."""
RANDOM = 32
"""Random blocks in it."""
NOT_FLIPPED = {Role.RANDOM, Role.SCALE_CONSTANT, Role.ELEMENT_CONSTANT, Role.TENSOR_AMAX}
"""Inputs that stay when single bits change: random bits, and the constants that a tensor gives its blocks."""

Op = TypeVar("Op", bound=Operation)
Stimuli = Iterator[tuple[str, Iterable[Transactions]]]
"""Names of stimuli, each with its blocks in parts. Random bits are not among them."""


class Simulation(ABC, Generic[Op]):
    """An operation in simulations: each operation has a subclass. All blocks depend on nothing but the arguments."""

    kinds: ClassVar[tuple[str, ...]]
    """Kinds of stimuli that `verify` accepts; the first is ``standard``."""
    large: ClassVar[tuple[str, ...]] = ()
    """Kinds with too many blocks for ``standard``."""
    causes: ClassVar[tuple[Cause, ...]]
    """Why blocks can differ. A block belongs to the last cause that fits."""
    sentences: ClassVar[Sentences]
    """Sentences about several causes."""
    chunk: ClassVar[int] = 1 << 15
    """Random blocks that are made at a time."""

    def __init__(self, rules: Op) -> None:
        self.rules = rules

    @property
    def blocks_of_transaction(self) -> int:
        """Blocks in a transaction."""
        return 1

    @abstractmethod
    def golden(self, entering: Transactions) -> Transactions:
        """The results of the golden model."""

    @property
    def standard(self) -> tuple[str, ...]:
        """The kinds of which ``standard`` consists."""
        return tuple(kind for kind in self.kinds[1:] if kind not in self.large)

    @abstractmethod
    def directed(self, kind: str, seed: int) -> Stimuli:
        """The stimuli of one kind, which is neither ``standard`` nor ``random``."""

    def stimuli(self, kind: str, blocks: int, seed: int) -> Stimuli:
        """The stimuli of a kind; ``blocks`` is the number of random blocks."""
        count = -(-blocks // self.blocks_of_transaction)
        for one in self.standard if kind == "standard" else (kind,):
            if one == "random":
                starts = range(0, count, self.chunk)
                sizes = ((min(self.chunk, count - start), seed * 1_000_003 + start) for start in starts)
                yield "random", (self.random(size, own_seed) for size, own_seed in sizes)
            else:
                yield from self.directed(one, seed)

    @abstractmethod
    def random(self, blocks: int, seed: int) -> Transactions:
        """Random blocks."""

    @abstractmethod
    def usual(self, blocks: int, seed: int) -> Transactions:
        """Blocks as in real tensors: numbers of N(0,1), or their codes."""

    @abstractmethod
    def corners(self, seed: int) -> Transactions:
        """Directed blocks."""

    def single_bits(self, seed: int) -> Transactions:
        """Blocks around some others that differ in one bit, there and back. A design that misses the change of a
        signal, because its sensitivity list does, shows an old result.
        """
        return self.flipped(self.random(AROUND, seed))

    def flipped(self, around: Transactions) -> Transactions:
        """Each of some blocks once for every bit of its inputs, followed by the same block with this bit changed."""
        ports = [port for port in data_ports(self.rules.ports, "input") if port.role not in NOT_FLIPPED]
        width = sum(port.width for port in ports)
        whole = around.rows(np.repeat(np.arange(len(around)), 2 * width))
        changed, places = np.arange(1, len(whole), 2), np.tile(np.arange(width), len(around))
        first = 0
        for port in ports:
            inside = (places >= first) & (places < first + port.width)
            lane, bit = np.divmod(places[inside] - first, port.bits)
            words = whole[port.role]
            words[changed[inside], lane] ^= (1 << bit.astype(np.uint64)).astype(words.dtype)
            first += port.width
        return whole

    @abstractmethod
    def regression(self, blocks: int, seed: int) -> dict[str, Transactions]:
        """Blocks of the cocotb regression, ``blocks`` of them random, by the names of its tests."""

    def sample(self, seed: int) -> Transactions:
        """Some hundred blocks, for a test bench that has them in its text."""
        return Transactions.joined([self.corners(seed).spread(SAMPLED), self.random(RANDOM, seed)])

    def few(self, corners: int, singles: int) -> Transactions:
        """Directed blocks, and blocks that differ in one bit, at most so many of each."""
        return Transactions.joined([self.corners(0).spread(corners), self.single_bits(0).rows(slice(singles))])

    def hard(self, blocks: int, seed: int) -> Transactions:
        """Directed blocks, and so many random ones."""
        return Transactions.joined([self.corners(seed), self.random(blocks, seed)])

    def swept(self, blocks: int, seed: int, exhaustive: bool) -> Stimuli:
        """The standard stimuli and single bits. Some operations add a sweep over inputs, over all if ``exhaustive``."""
        yield from self.stimuli("standard", blocks, seed)
        yield "single bits", [self.single_bits(seed)]

    @abstractmethod
    def why(
        self, given: Transactions, expected: Transactions, actual: Transactions, nan_codes_free: bool
    ) -> np.ndarray:
        """For each transaction the number of its cause in `causes`, or -1 if nothing differs: (n,) int8.

        With ``nan_codes_free`` codes under a scale of NaN may be anything.
        """

    def only(self, found: Collection[Cause]) -> str | None:
        """A sentence about all causes found, if one fits."""
        return in_common(found, self.sentences)

    @abstractmethod
    def described(self, title: str, given: Transactions, expected: Transactions, actual: Transactions) -> str:
        """A title and what differs in the first of some transactions, in words."""

    def tried_as(self, candidate: Op) -> Op:
        """The rules whose blocks show whether a design follows a candidate: mostly the rules themselves."""
        return self.rules


class EncoderSimulation(Simulation[Op]):
    """An operation on the numbers of tensors, with a scale for each block."""

    @abstractmethod
    def of_tensor(self, patterns: np.ndarray) -> Transactions:
        """Blocks (n, block_size) of source patterns, which are all blocks of a tensor."""

    def single_bits(self, seed: int) -> Transactions:
        return self.flipped(self.usual(AROUND, seed))


class ElementSimulation(Simulation[Op]):
    """An operation whose results are sorted by the elements that differ."""

    @abstractmethod
    def fits(self, given: Transactions, right: np.ndarray) -> Mapping[str, np.ndarray]:
        """By kind the elements that it fits, (n, lanes) or (n, 1); ``right`` are the expected results."""

    def why(
        self, given: Transactions, expected: Transactions, actual: Transactions, nan_codes_free: bool
    ) -> np.ndarray:
        if nan_codes_free:
            raise ValueError(f"nan_codes_free is for encoders, not for the operation {self.rules.name}")
        (role,) = expected.arrays
        right = expected[role]
        wrong = right != actual[role]
        kinds = {kind: np.broadcast_to(fits, wrong.shape) for kind, fits in self.fits(given, right).items()}
        return of_elements(self.causes, kinds | {"ordinary": np.ones_like(wrong)}, wrong)
