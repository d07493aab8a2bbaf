"""What the processes of a design read and write."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from .elaboration import Node

__all__ = ["Activity", "Comparison", "Part", "Parts", "Symbol"]


@dataclass(frozen=True)
class Symbol:
    """A net or variable; equal where it is the same one of the elaborated design."""

    path: str
    offset: int

    @property
    def text(self) -> str:
        return self.path.rpartition(".")[2]

    @classmethod
    def of(cls, symbol: Node) -> Symbol:
        return cls(symbol.hierarchicalPath, symbol.location.offset)


@dataclass(frozen=True)
class Part:
    """A net or variable, or what constant indices choose of it: for each dimension the lowest and highest."""

    symbol: Symbol
    indices: tuple[tuple[int, int], ...] = ()

    def meets(self, other: Part) -> bool:
        """Have the two a bit in common?"""
        return self.symbol == other.symbol and all(
            low <= highest and lowest <= high for (low, high), (lowest, highest) in zip(self.indices, other.indices)
        )


class Parts:
    """Parts, with the place where each stands first."""

    def __init__(self) -> None:
        self._found: dict[Symbol, dict[Part, object]] = {}

    def add(self, part: Part, place: object) -> None:
        self._found.setdefault(part.symbol, {}).setdefault(part, place)

    def update(self, others: Parts) -> None:
        for part, place in others:
            self.add(part, place)

    def remove(self, symbol: Symbol) -> None:
        self._found.pop(symbol, None)

    def meets(self, part: Part) -> bool:
        return any(own.meets(part) for own in self._found.get(part.symbol, ()))

    def __contains__(self, symbol: Symbol) -> bool:
        return symbol in self._found

    def __iter__(self) -> Iterator[tuple[Part, object]]:
        for parts in self._found.values():
            yield from parts.items()

    @property
    def symbols(self) -> set[Symbol]:
        return set(self._found)


@dataclass(frozen=True)
class Comparison:
    """An expression in which x is a value like others: what it is part of, its names, and whether it has such a literal
    itself.
    """

    location: object
    what: str
    names: frozenset[Symbol]
    unknown: bool


@dataclass
class Activity:
    """What a process does."""

    kind: str
    """``combinational``, ``listed`` (with a sensitivity list), ``clocked``, ``initial``, ``final``, ``continuous``,
    ``connection``, ``function``; ``unknown`` starts at something else.
    """
    location: object
    body: str | None
    """Path of the instance that it is in."""
    reads: Parts = field(default_factory=Parts)
    """What it has not written before, in the order of the text."""
    hidden: Parts = field(default_factory=Parts)
    """What functions that it calls read beside their arguments."""
    hidden_in_tasks: Parts = field(default_factory=Parts)
    """The same of tasks, whose reads start no block."""
    blocking: Parts = field(default_factory=Parts)
    nonblocking: Parts = field(default_factory=Parts)
    listed: set[Symbol] = field(default_factory=set)
    flows: set[tuple[Symbol, Symbol]] = field(default_factory=set)
    """To what a value flows, and from where."""
    unknown: set[Symbol] = field(default_factory=set)
    """What is assigned an expression with x or z in it."""
    comparisons: list[Comparison] = field(default_factory=list)
    sees_functions: bool = False
    """Whether it starts at what functions read, as ``always_comb`` does."""

    def read(self, part: Part, place: object) -> None:
        if not self.blocking.meets(part):
            self.reads.add(part, place)
