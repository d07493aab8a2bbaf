"""Edges that start blocks: only the edges of a clock or reset input are allowed.

A simulator sees every change of a net, however short. So a net with the value of an input may have edges of its own,
which no netlist shows: because it is delayed, because a block writes it more than once, or because two simultaneous
changes reach it one after the other.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from .activity import Activity
from .parts import Part, Symbol


def doubtful_edges(
    activities: list[Activity], inputs: Iterable[Symbol], outputs: Iterable[Symbol], delayed: set[Symbol]
) -> Iterator[tuple[Activity, str]]:
    """The clocked blocks that start at an edge of such a net, each with a sentence.

    ``inputs`` and ``outputs`` belong to the whole design; ``delayed`` are the nets and variables with a delay.
    """
    edges = _Edges(activities, set(inputs), set(outputs), delayed)
    for activity in activities:
        if activity.kind == "clocked":
            for part, _ in activity.reads:
                try:
                    if part.symbol in activity.listed:
                        edges.origins(part)
                except _Doubt as doubt:
                    yield activity, f"a block starts at an edge of {part.symbol.text}: {doubt}"


class _Doubt(Exception):
    """A reason why an edge may not come from an input."""


class _Edges:
    def __init__(
        self, activities: list[Activity], inputs: set[Symbol], outputs: set[Symbol], delayed: set[Symbol]
    ) -> None:
        self.inputs, self.delayed = inputs, delayed
        self.writers: dict[Symbol, list[Activity]] = {}
        for activity in activities:
            if activity.kind not in ("initial", "final"):
                for symbol in activity.blocking.symbols | activity.nonblocking.symbols:
                    self.writers.setdefault(symbol, []).append(activity)
        self.data = self._data(outputs)

    def _writers(self, part: Part) -> list[Activity]:
        return [
            activity
            for activity in self.writers.get(part.symbol, ())
            if activity.blocking.meets(part) or activity.nonblocking.meets(part)
        ]

    def _data(self, outputs: set[Symbol]) -> list[Part]:
        """The parts of inputs on which outputs depend, except through edges of clocks and resets."""
        read: dict[Part, None] = {}
        waiting = [activity for symbol in outputs for activity in self.writers.get(symbol, ())]
        while waiting:
            activity = waiting.pop()
            for part, _ in activity.reads:
                if part not in read and not (activity.kind == "clocked" and part.symbol in activity.listed):
                    read[part] = None
                    waiting += self._writers(part)
        return [part for part in read if part.symbol in self.inputs]

    def origins(self, part: Part, above: tuple[Part, ...] = ()) -> list[Part]:
        """The parts of inputs from which a part of a net comes. Raises `_Doubt` if it may have edges of its own."""
        name = part.symbol.text
        if part.symbol in self.delayed:
            raise _Doubt(f"{name} has a delay, so that registers may take values from after the edge")
        if any(part.meets(other) for other in above):
            raise _Doubt(f"{name} is part of a loop")
        writers = self._writers(part)
        if any(activity.kind not in ("continuous", "connection") for activity in writers):
            raise _Doubt(f"a block writes {name}, perhaps more than once in a moment")
        ways = [read for activity in writers for read, _ in activity.reads]
        found = [part] if part.symbol in self.inputs else []
        for way in ways:
            more = self.origins(way, (*above, part))
            for one in more if len(ways) > 1 else ():
                if any(one.meets(other) for other in (*found, *self.data)):
                    raise _Doubt(f"{one.symbol.text} reaches it in two ways, or is data too")
            found += more
        return found
