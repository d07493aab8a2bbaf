"""What the processes of a design read and write."""

from __future__ import annotations

from dataclasses import dataclass, field

from .definite import Assigned
from .parts import Part, Parts, Symbol
from .slang import Node

__all__ = ["Activity", "Comparison"]


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
    ``connection``, ``function``; ``unknown`` starts at something else.
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
    listed: set[Symbol] = field(default_factory=set)
    flows: set[tuple[Symbol, Symbol]] = field(default_factory=set)
    """To what a value flows, and from where."""
    traced: set[Symbol] = field(default_factory=set)
    """What it writes and whose sources are in ``flows``."""
    unknown: set[Symbol] = field(default_factory=set)
    """What is assigned an expression with x or z in it."""
    comparisons: list[Comparison] = field(default_factory=list)
    sees_functions: bool = False
    """Whether it starts at what functions read, as ``always_comb`` does."""

    result: Part | None = None
    """The variable in which a function gives its value."""

    @property
    def untraced(self) -> set[Symbol]:
        """What it writes from who knows where: anything may be in it."""
        return (self.blocking.symbols | self.nonblocking.symbols) - self.traced

    def write(self, part: Part, place: Node) -> None:
        self.blocking.add(part, place)
        self.assigned.write(part)

    def read(self, part: Part, place: Node) -> None:
        if not self.assigned.covers(part):
            self.reads.add(part, place)
