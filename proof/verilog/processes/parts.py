"""Parts of nets and variables."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ..slang import Node


@dataclass(frozen=True)
class Symbol:
    """A net or variable of the elaborated design."""

    path: str
    offset: int

    @property
    def text(self) -> str:
        return self.path.rpartition(".")[2]

    @classmethod
    def of(cls, symbol: Node) -> Symbol:
        symbol = getattr(symbol, "internalSymbol", None) or symbol  # a modport is another name
        return cls(symbol.hierarchicalPath, symbol.location.offset)


@dataclass(frozen=True)
class Part:
    """``width`` bits of a net or variable from ``low`` on; bits of arrays and structures are numbered consecutively."""

    symbol: Symbol
    low: int
    width: int
    is_certain: bool = True
    """Whether it means all of these bits, or some that a variable index chooses."""

    @property
    def mask(self) -> int:
        return ((1 << self.width) - 1) << self.low

    def meets(self, other: Part) -> bool:
        """Whether the two share a bit."""
        return self.symbol == other.symbol and self.low < other.low + other.width and other.low < self.low + self.width


class Parts:
    """Parts, each with the place of its first occurrence."""

    def __init__(self) -> None:
        self._found: dict[Symbol, dict[Part, Node]] = {}

    def add(self, part: Part, place: Node) -> None:
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

    def __iter__(self) -> Iterator[tuple[Part, Node]]:
        for parts in self._found.values():
            yield from parts.items()

    @property
    def symbols(self) -> set[Symbol]:
        return set(self._found)
