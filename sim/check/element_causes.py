"""Why results differ whose elements do not depend on each other, and what several causes have in common."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np


@dataclass(frozen=True)
class Cause:
    """In which blocks, by the elements that differ."""

    kind: str
    text: str


class Kinded(Protocol):
    """A cause of a kind."""

    @property
    def kind(self) -> str:
        """Its name."""


def of_elements(causes: Sequence[Cause], kinds: Mapping[str, np.ndarray], wrong: np.ndarray) -> np.ndarray:
    """For each block the number of the last cause that fits all of its elements that are wrong, or -1 where none is:
    (n,) int8. ``kinds`` says by the name of a kind which elements it fits; all arrays are (n, lanes).
    """
    found = np.full(len(wrong), -1, np.int8)
    differs = wrong.any(axis=1)
    for number, cause in enumerate(causes):  # later kinds go before earlier ones
        found[differs & (kinds[cause.kind] | ~wrong).all(axis=1)] = number
    return found


def in_common(found: Sequence[Kinded], sentences: Sequence[tuple[set[str], str]]) -> str | None:
    """The first of the sentences whose kinds include all that were found; None where no sentence does, or nothing was
    found.
    """
    kinds = {cause.kind for cause in found}
    return next((sentence for several, sentence in sentences if kinds and kinds <= several), None)
