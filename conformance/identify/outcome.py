"""Outcomes of an identification."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import ClassVar

from ...sim.transactions import Transactions
from ...spec import Operation
from .candidates import Candidate, Rules
from .causes.departures import Departure


class Verdict(StrEnum):
    """The outcome in a word."""

    FOLLOWS = "follows"
    """Every tried block has the bits of these rules, and no other rules fit."""
    DIFFERS = "differs"
    """No known rules fit."""
    UNKNOWN = "unknown"
    """Several rules fit, and no block that could be tried separates them."""


@dataclass(frozen=True, kw_only=True)
class Identification:
    """The outcome of `identify`."""

    has_normal: ClassVar[bool] = True
    """Whether blocks of N(0,1) are among those that were tried."""
    rules: Rules
    """The rules asked for."""
    verdict: Verdict
    sentence: str
    """The outcome in words."""
    matches: tuple[Candidate, ...] = ()
    """Rules from which nothing differs."""
    nearest: tuple[Candidate, ...] = ()
    """Other rules, the nearest first."""
    blocks: int = 0
    """Tried blocks; ``normal`` of them are of N(0,1)."""
    normal: int = 0
    witness: str = ""
    """The smallest block found that departs from the rules compared with, in words."""
    witness_block: Transactions | None = None
    """The inputs of this block."""
    causes: Mapping[str, int] = field(default_factory=dict)
    """Departures from the rules compared with: the number of blocks by their kind in words."""
    remarks: tuple[str, ...] = ()
    """Sentences about the differences."""
    departures: tuple[Departure, ...] = ()
    """Causes of differences, the worst first, each with its smallest block; empty for files."""
    pair: tuple[str, ...] = ()
    """Two sets of rules that no block separated."""

    @property
    def witnesses(self) -> tuple[str, ...]:
        """The smallest block of each cause, the worst cause first, in words."""
        several = [one for one in self.departures if one.witness]
        if len(several) < 2:
            return (self.witness,) if self.witness else ()
        return tuple(f"{one.text}: {one.witness}" for one in several)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the rules that it follows: profiles, or departures from them."""
        return tuple(name for one in self.matches for name in one.names) if self.verdict is Verdict.FOLLOWS else ()

    def follows(self, rules: Operation) -> bool:
        """Whether it follows these rules."""
        return self.verdict is Verdict.FOLLOWS and any(one.numerics == rules for one in self.matches)

    def to_dict(self) -> dict[str, object]:
        block = self.witness_block
        return {
            "rules": self.rules.to_dict(),
            "verdict": str(self.verdict),
            "sentence": self.sentence,
            "matches": [one.to_dict(self.has_normal) for one in self.matches],
            "nearest": [one.to_dict(self.has_normal) for one in self.nearest],
            "blocks": self.blocks,
            **({"normal_blocks": self.normal} if self.has_normal else {}),
            "witness": self.witness,
            "witness_block": block and {str(role): array[0].tolist() for role, array in block.arrays.items()},
            "causes": dict(self.causes),
            "departures": [one.to_dict() for one in self.departures],
            "remarks": list(self.remarks),
            "pair": list(self.pair),
        }


def is_departure(one: Candidate) -> bool:
    """Whether it is a profile with a rule changed, not a profile."""
    return all(" with " in name for name in one.names)


NEAREST = 5
"""Most other rules that are named."""


def named(matches: Sequence[Candidate]) -> str:
    """The names of equal rules: profiles, or departures if no profile is among them."""
    every = [name for one in matches for name in one.names]
    return " = ".join([name for name in every if " with " not in name] or every)
