"""What simulations ask of every operation: the golden model, stimuli, and differences in words."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from ..hdl import HardwareConfig
from ..spec import Operation, Role
from .cast import causes as casting_causes
from .cast import golden as casting
from .decode import causes as decoding_causes
from .decode import golden as decoding
from .encode import causes
from .encode import golden as encoding
from .hadamard import causes as hadamard_causes
from .hadamard import golden as hadamard
from .nvfp4 import decode as nvfp4_decoding
from .nvfp4 import decode_causes as nvfp4_decoding_causes
from .nvfp4 import encode as nvfp4_encoding
from .nvfp4 import encode_causes as nvfp4_causes
from .run.table_driver import with_rows
from .stimuli import random_bits
from .transactions import Transactions


class Cause(Protocol):
    """Why blocks differ."""

    @property
    def text(self) -> str:
        """In words."""


@dataclass(frozen=True, kw_only=True)
class Simulated:
    """The functions for one operation, whose value is the first argument of each."""

    golden: Callable[[Any, Transactions], Transactions]
    """What the golden model makes of what enters."""
    kinds: tuple[str, ...]
    """The kinds of stimuli that `verify` takes."""
    stimuli: Callable[[Any, str, int, int], Iterator[tuple[str, Iterable[Transactions]]]]
    """Stimuli of a kind, with their names; so many random blocks, and a seed. They are without random bits."""
    random: Callable[[Any, int, int], Transactions]
    """So many random blocks of a seed."""
    regression: Callable[[Any, int, int], dict[str, Transactions]]
    """What the cocotb regression drives, with so many random blocks of a seed, by the names of its tests."""
    sample: Callable[[Any, int], Transactions]
    """Some hundred blocks of a seed, for a test bench that has them in its text."""
    few: Callable[[Any, int, int], Transactions]
    """Directed blocks, and blocks that differ in one bit, so many of each at most."""
    usual: Callable[[Any, int, int], Transactions]
    """Of a seed, so many blocks as in real tensors: of N(0,1)."""
    single: Callable[[Any, int], Transactions]
    """Of a seed, blocks around some others that differ in one bit, there and back."""
    hard: Callable[[Any, int, int], Transactions]
    """Of a seed, directed blocks and so many random ones."""
    swept: Callable[[Any, int, int, bool], Iterator[tuple[str, Iterable[Transactions]]]]
    """Directed blocks, so many random ones, single bits and a sweep, of a seed; with True the sweep is over all inputs.
    """
    causes: tuple[Cause, ...]
    """Why blocks can differ."""
    why: Callable[[Any, Transactions, Transactions, Transactions, bool], np.ndarray]
    """Of what entered, what is expected and what left: (n,) the number of the cause, or -1 where nothing differs. With
    True codes under a scale of NaN may be anything.
    """
    only: Callable[[Any], str | None]
    """What causes have in common, in a sentence, if they are few."""
    described: Callable[[Any, str, Transactions, Transactions, Transactions], str]
    """A title and what differs in the first of some transactions, of which is given what entered, what is expected and
    what left, in words.
    """
    of_tensor: Callable[[Any, np.ndarray], Transactions] | None = None
    """Blocks of a tensor, of (n, block_size) patterns; None where no numbers enter."""
    tried_as: Callable[[Any, Any], Any] = lambda asked, candidate: asked
    """Of rules asked for and others that a design may follow, those whose blocks show whether it does."""


OPERATIONS: dict[str, Simulated] = {
    "encode": Simulated(
        golden=encoding.golden,
        kinds=("standard", "corner", "boundary", "distance", "random", "stratified", "exhaustive"),
        stimuli=encoding.stimuli,
        random=encoding.random,
        regression=encoding.regression,
        sample=encoding.sample,
        few=encoding.few,
        usual=encoding.usual,
        single=encoding.single_bits,
        hard=encoding.hard,
        swept=encoding.swept,
        causes=causes.CAUSES,
        why=causes.causes,
        only=causes.only,
        described=encoding.described,
        of_tensor=lambda rules, patterns: encoding.blocks_of(patterns),
    ),
    "decode": Simulated(
        golden=decoding.golden,
        kinds=("standard", "pairs", "random"),
        stimuli=decoding.stimuli,
        random=decoding.random,
        regression=decoding.regression,
        sample=decoding.sample,
        few=decoding.few,
        usual=decoding.usual,
        single=decoding.single_bits,
        hard=decoding.hard,
        swept=decoding.swept,
        causes=decoding_causes.CAUSES,
        why=decoding_causes.causes,
        only=decoding_causes.only,
        described=decoding.described,
    ),
    "cast": Simulated(
        golden=casting.golden,
        kinds=("standard", "all", "boundary", "random"),
        stimuli=casting.stimuli,
        random=casting.random,
        regression=casting.regression,
        sample=casting.sample,
        few=casting.few,
        usual=casting.usual,
        single=casting.single_bits,
        hard=casting.hard,
        swept=casting.swept,
        causes=casting_causes.CAUSES,
        why=casting_causes.causes,
        only=casting_causes.only,
        described=casting.described,
    ),
    "two_level_encode": Simulated(
        golden=nvfp4_encoding.golden,
        kinds=("standard", "corner", "boundary", "ties", "nearest", "random"),
        stimuli=nvfp4_encoding.stimuli,
        random=nvfp4_encoding.random,
        regression=nvfp4_encoding.regression,
        sample=nvfp4_encoding.sample,
        few=nvfp4_encoding.few,
        usual=nvfp4_encoding.usual,
        single=nvfp4_encoding.single_bits,
        hard=nvfp4_encoding.hard,
        swept=nvfp4_encoding.swept,
        causes=nvfp4_causes.CAUSES,
        why=nvfp4_causes.causes,
        only=nvfp4_causes.only,
        described=nvfp4_encoding.described,
        of_tensor=nvfp4_encoding.of_tensor,
        tried_as=nvfp4_encoding.tried_as,
    ),
    "two_level_decode": Simulated(
        golden=nvfp4_decoding.golden,
        kinds=("standard", "pairs", "ties", "random"),
        stimuli=nvfp4_decoding.stimuli,
        random=nvfp4_decoding.random,
        regression=nvfp4_decoding.regression,
        sample=nvfp4_decoding.sample,
        few=nvfp4_decoding.few,
        usual=nvfp4_decoding.usual,
        single=nvfp4_decoding.single_bits,
        hard=nvfp4_decoding.hard,
        swept=nvfp4_decoding.swept,
        causes=nvfp4_decoding_causes.CAUSES,
        why=nvfp4_decoding_causes.causes,
        only=nvfp4_decoding_causes.only,
        described=nvfp4_decoding.described,
    ),
    "hadamard": Simulated(
        golden=hadamard.golden,
        kinds=("standard", "corner", "random"),
        stimuli=hadamard.stimuli,
        random=hadamard.random,
        regression=hadamard.regression,
        sample=hadamard.sample,
        few=hadamard.few,
        usual=hadamard.usual,
        single=hadamard.single_bits,
        hard=hadamard.hard,
        swept=hadamard.swept,
        causes=hadamard_causes.CAUSES,
        why=hadamard_causes.causes,
        only=hadamard_causes.only,
        described=hadamard.described,
    ),
}
"""By the name of the operation."""


def of(operation: Operation) -> Simulated:
    """The entry of an operation."""
    return OPERATIONS[operation.name]


def element_role(operation: Operation) -> Role:
    """The role of what enters for each element."""
    return operation.ports[0].role


def golden(operation: Operation, entering: Transactions) -> Transactions:
    """What the golden model makes of what enters."""
    return of(operation).golden(operation, entering)


def supplied(config: HardwareConfig, entering: Transactions) -> Transactions:
    """The same with what software supplies to hardware that reads a table: the rows of the right scales."""
    if any(port.role is Role.ROW_START for port in config.ports):
        return with_rows(config.numerics, entering, golden(config.numerics, entering)[Role.SCALE])
    return entering


def drawn(operation: Operation, entering: Transactions, seed: int) -> Transactions:
    """The same with seeded random bits, where the rounding takes some."""
    random = random_bits(operation, (len(entering), operation.block_size), seed)
    return entering if random is None else entering.with_arrays({Role.RANDOM: random})
