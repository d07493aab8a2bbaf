"""Definite assignment: which bits a process has written wherever it is, on every path that leads there."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

from .parts import Part, Symbol

Masks = dict[Symbol, int]


class Assigned:
    """The bits that are written on every path to a place in a process; where no path leads, all are."""

    def __init__(self) -> None:
        self._masks: Masks | None = {}
        self._leaving: dict[str, list[list[Masks | None]]] = {}

    @property
    def is_reached(self) -> bool:
        return self._masks is not None

    def write(self, part: Part) -> None:
        """All bits of a part are written, if it is known which they are."""
        if self._masks is not None and part.is_certain:
            self._masks[part.symbol] = self._masks.get(part.symbol, 0) | part.mask

    def include(self, other: Assigned) -> None:
        """What a function has written when it ends is written."""
        if self._masks is not None and other._masks is not None:
            for symbol, mask in other._masks.items():
                self._masks[symbol] = self._masks.get(symbol, 0) | mask

    def forget(self, symbol: Symbol) -> None:
        """A variable begins anew."""
        if self._masks is not None:
            self._masks.pop(symbol, None)

    def covers(self, part: Part) -> bool:
        """Is every bit of a part written?"""
        return self._masks is None or not part.mask & ~self._masks.get(part.symbol, 0)

    def mask(self, symbol: Symbol) -> int:
        """The bits of a net or variable that are written; all where no path leads."""
        return -1 if self._masks is None else self._masks.get(symbol, 0)

    def branch(self, ways: Iterable[Callable[[], None]], is_certain: bool = True) -> None:
        """Walk several ways from here, of which one is gone; or, unless that ``is_certain``, perhaps none."""
        start, ends = self._masks, []
        for way in ways:
            self._masks = None if start is None else dict(start)
            way()
            ends.append(self._masks)
        self._masks = _common(ends if is_certain else [*ends, start])

    def unreached(self, way: Callable[[], None]) -> None:
        """Walk what is never gone."""
        start, self._masks = self._masks, None
        way()
        self._masks = start

    @contextmanager
    def left_by(self, word: str) -> Iterator[None]:
        """A block at whose end those arrive who ``leave`` by this word."""
        self._leaving.setdefault(word, []).append([])
        yield
        self._masks = _common([self._masks, *self._leaving[word].pop()])

    def leave(self, word: str) -> None:
        """Leave the innermost block of this word."""
        self._leaving[word][-1].append(self._masks)
        self._masks = None


def _common(ends: list[Masks | None]) -> Masks | None:
    """What is written on all of the ways that arrive."""
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
