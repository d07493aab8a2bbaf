"""Edges at which blocks start: those of a clock or a reset as it comes in, and no others.

A simulator sees every change of a net, however short. So a net that is an input by its value may have edges of its own,
which no netlist shows: because it is delayed, because a block writes it more than once, or because two changes of one
moment reach it one after the other.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from .activity import Activity
from .parts import Symbol

__all__ = ["doubtful_edges"]


def doubtful_edges(
    activities: list[Activity], inputs: Iterable[Symbol], outputs: Iterable[Symbol], delayed: set[Symbol]
) -> Iterator[tuple[Activity, str]]:
    """The clocked blocks that start at an edge of such a net, each with a sentence.

    ``inputs`` and ``outputs`` are those of the whole design, ``delayed`` the nets and variables that a delay is for.
    """
    edges = _Edges(activities, set(inputs), delayed, set(outputs))
    for activity in activities:
        if activity.kind == "clocked":
            for symbol in sorted(activity.listed, key=lambda symbol: symbol.path):
                try:
                    edges.origins(symbol)
                except _Doubt as doubt:
                    yield activity, f"a block starts at an edge of {symbol.text}: {doubt}"


class _Doubt(Exception):
    """Why an edge may be none of an input."""


class _Edges:
    def __init__(
        self, activities: list[Activity], inputs: set[Symbol], delayed: set[Symbol], outputs: set[Symbol]
    ) -> None:
        self.inputs, self.delayed = inputs, delayed
        self.writers: dict[Symbol, list[Activity]] = {}
        for activity in activities:
            if activity.kind not in ("initial", "final"):
                for symbol in activity.blocking.symbols | activity.nonblocking.symbols:
                    self.writers.setdefault(symbol, []).append(activity)
        self.data = self._data(outputs)

    def _data(self, outputs: set[Symbol]) -> set[Symbol]:
        """The inputs on which outputs depend, other than by the edges of clocks and resets."""
        found, waiting = set(outputs), list(outputs)
        while waiting:
            for activity in self.writers.get(waiting.pop(), ()):
                more = activity.reads.symbols - found
                if activity.kind == "clocked":
                    more -= activity.listed
                found |= more
                waiting += more
        return found & self.inputs

    def origins(self, symbol: Symbol, above: frozenset[Symbol] = frozenset()) -> frozenset[Symbol]:
        """The inputs that a net comes from. Raises `_Doubt` where its edges may be others than theirs."""
        if symbol in self.delayed:
            raise _Doubt(f"{symbol.text} has a delay, so that values of after the edge may be taken over")
        if symbol in above:
            raise _Doubt(f"{symbol.text} is part of a loop")
        found: set[Symbol] = {symbol} & self.inputs
        for activity in self.writers.get(symbol, ()):
            if activity.kind not in ("continuous", "connection"):
                raise _Doubt(f"a block writes {symbol.text}, perhaps more than once in a moment")
            names = activity.reads.symbols
            for name in sorted(names, key=lambda name: name.path):
                more = self.origins(name, above | {symbol})
                if len(names) > 1 and (both := more & (found | self.data)):
                    raise _Doubt(f"{min(both, key=lambda name: name.path).text} reaches it in two ways, or is data too")
                found |= more
        return frozenset(found)
