"""Definite assignment: the bits that a process has written on every path to a point."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

from .parts import Part, Symbol

Masks = dict[Symbol, int]


class Assigned:
    """The bits that are written on every path to the current point; all bits if no path leads there."""

    def __init__(self) -> None:
        self._masks: Masks | None = {}
        self._leaving: dict[str, list[list[Masks | None]]] = {}

    @property
    def is_reached(self) -> bool:
        return self._masks is not None

    def write(self, part: Part) -> None:
        """Add all bits of a part, if it is certain which they are."""
        if self._masks is not None and part.is_certain:
            self._masks[part.symbol] = self._masks.get(part.symbol, 0) | part.mask

    def include(self, other: Assigned) -> None:
        """Add the bits that a function has written at its end."""
        if self._masks is not None and other._masks is not None:
            for symbol, mask in other._masks.items():
                self._masks[symbol] = self._masks.get(symbol, 0) | mask

    def forget(self, symbol: Symbol) -> None:
        """Remove a variable."""
        if self._masks is not None:
            self._masks.pop(symbol, None)

    def covers(self, part: Part) -> bool:
        """Is every bit of a part written?"""
        return self._masks is None or not part.mask & ~self._masks.get(part.symbol, 0)

    def mask(self, symbol: Symbol) -> int:
        """The written bits of a net or variable; all if no path leads here."""
        return -1 if self._masks is None else self._masks.get(symbol, 0)

    def branch(self, ways: Iterable[Callable[[], None]], is_certain: bool = True) -> None:
        """Walk several ways from here, exactly one of which is taken; or perhaps none, unless ``is_certain``."""
        start, ends = self._masks, []
        for way in ways:
            self._masks = None if start is None else dict(start)
            way()
            ends.append(self._masks)
        self._masks = _common(ends if is_certain else [*ends, start])

    def unreached(self, way: Callable[[], None]) -> None:
        """Walk a way that is never taken."""
        start, self._masks = self._masks, None
        way()
        self._masks = start

    @contextmanager
    def left_by(self, word: str) -> Iterator[None]:
        """A block; every `leave` with this word continues at its end."""
        self._leaving.setdefault(word, []).append([])
        yield
        self._masks = _common([self._masks, *self._leaving[word].pop()])

    def leave(self, word: str) -> None:
        """Jump to the end of the innermost block of this word."""
        self._leaving[word][-1].append(self._masks)
        self._masks = None


def _common(ends: list[Masks | None]) -> Masks | None:
    """The bits that are written on every way that arrives."""
    arriving = [end for end in ends if end is not None]
    if not arriving:
        return None
    first, *others = arriving
    return {
        symbol: mask
        for symbol in first
        if (mask := _all_of([first[symbol], *(other.get(symbol, 0) for other in others)]))
    }


def _all_of(masks: list[int]) -> int:
    found = -1
    for mask in masks:
        found &= mask
    return found
