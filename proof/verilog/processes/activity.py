"""The reads and writes of a process."""

from __future__ import annotations

from dataclasses import dataclass, field

from ..slang import Node
from .definite import Assigned
from .parts import Part, Parts, Symbol


@dataclass(frozen=True)
class Sources:
    """The sources of a value: its names, and whether it may be x even if none of these is."""

    names: frozenset[Symbol]
    may_be_x: bool

    def __or__(self, other: Sources) -> Sources:
        return Sources(self.names | other.names, self.may_be_x or other.may_be_x)


CONSTANT = Sources(frozenset(), False)
ANYTHING = Sources(frozenset(), True)


@dataclass(frozen=True)
class Comparison:
    """An expression that treats x as a value like others: the construct around it, its names, and whether it contains
    such a literal."""

    location: Node
    what: str
    names: frozenset[Symbol]
    unknown: bool
    others: frozenset[Symbol] | None = None
    """The names of the other side, if only x on both sides matters."""
    is_address: bool = False
    """Is it the address at which a memory is written?"""


@dataclass
class Activity:
    """The effects of a process."""

    kind: str
    """``combinational``, ``listed`` (with a sensitivity list), ``clocked``, ``initial``, ``final``, ``continuous``,
    ``connection``, ``function``, ``constant``; ``unknown`` if it waits for something else."""
    location: Node
    body: str | None
    """Path of the instance that contains it."""
    reads: Parts = field(default_factory=Parts)
    """Reads of parts that may not be written yet."""
    hidden: Parts = field(default_factory=Parts)
    """Reads by functions that it calls, other than of their arguments."""
    hidden_in_tasks: Parts = field(default_factory=Parts)
    """Such reads by tasks, which start no block."""
    blocking: Parts = field(default_factory=Parts)
    """Writes with ``=``, on at least one path."""
    assigned: Assigned = field(default_factory=Assigned)
    """The parts that are certainly written at the current point of the walk."""
    nonblocking: Parts = field(default_factory=Parts)
    delays: dict[Part, set[float | None]] = field(default_factory=dict)
    """Delays of the writes with ``<=``, in units of time; None if unknown."""
    listed: set[Symbol] = field(default_factory=set)
    """Names in its sensitivity list: whole names, or names whose edges start it."""
    sources: dict[Symbol, Sources] = field(default_factory=dict)
    """The sources of the values that it writes."""
    held: set[Symbol] = field(default_factory=set)
    """Names that keep an earlier value, which is x at first."""
    comparisons: list[Comparison] = field(default_factory=list)
    sees_functions: bool = False
    """Whether changes that only functions read start it, as in ``always_comb``."""

    result: Part | None = None
    """The variable that holds the value of a function."""

    def gives(self, symbol: Symbol, sources: Sources) -> None:
        """Let a value flow to a net or variable."""
        self.sources[symbol] = self.sources.get(symbol, CONSTANT) | sources

    def write(self, part: Part, place: Node, sources: Sources) -> None:
        self.blocking.add(part, place)
        self.assigned.write(part)
        self.gives(part.symbol, sources)

    def write_later(self, part: Part, place: Node, sources: Sources) -> None:
        self.nonblocking.add(part, place)
        self.gives(part.symbol, sources)

    def read(self, part: Part, place: Node) -> None:
        if not self.assigned.covers(part):
            self.reads.add(part, place)
