"""What the processes of a design read and write."""

from __future__ import annotations

from dataclasses import dataclass, field

from ..slang import Node
from .definite import Assigned
from .parts import Part, Parts, Symbol


@dataclass(frozen=True)
class Sources:
    """Where a value comes from: the names in it, and whether it may be x though none of these is."""

    names: frozenset[Symbol]
    may_be_x: bool

    def __or__(self, other: Sources) -> Sources:
        return Sources(self.names | other.names, self.may_be_x or other.may_be_x)


CONSTANT = Sources(frozenset(), False)
ANYTHING = Sources(frozenset(), True)


@dataclass(frozen=True)
class Comparison:
    """An expression in which x is a value like others: what it is part of, its names, and whether it has such a literal
    itself.
    """

    location: Node
    what: str
    names: frozenset[Symbol]
    unknown: bool
    others: frozenset[Symbol] | None = None
    """The names of the other side, where only x on both sides matters."""


@dataclass
class Activity:
    """What a process does."""

    kind: str
    """``combinational``, ``listed`` (with a sensitivity list), ``clocked``, ``initial``, ``final``, ``continuous``,
    ``connection``, ``function``, ``constant``; ``unknown`` starts at something else.
    """
    location: Node
    body: str | None
    """Path of the instance that it is in."""
    reads: Parts = field(default_factory=Parts)
    """What it has not certainly written before."""
    hidden: Parts = field(default_factory=Parts)
    """What functions that it calls read beside their arguments."""
    hidden_in_tasks: Parts = field(default_factory=Parts)
    """The same of tasks, whose reads start no block."""
    blocking: Parts = field(default_factory=Parts)
    """What it writes with ``=``, on some path at least."""
    assigned: Assigned = field(default_factory=Assigned)
    """What it has written where the walk over it is."""
    nonblocking: Parts = field(default_factory=Parts)
    delays: dict[Part, set[float | None]] = field(default_factory=dict)
    """After how many units of time that is written with ``<=``; None where that is not known."""
    listed: set[Symbol] = field(default_factory=set)
    """What stands in its sensitivity list: whole names, or those of which an edge starts it."""
    sources: dict[Symbol, Sources] = field(default_factory=dict)
    """Where that comes from which it writes."""
    held: set[Symbol] = field(default_factory=set)
    """What keeps a value from before, which is x at first."""
    comparisons: list[Comparison] = field(default_factory=list)
    sees_functions: bool = False
    """Whether it starts at what functions read, as ``always_comb`` does."""

    result: Part | None = None
    """The variable in which a function gives its value."""

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
