"""Search for the named causes that explain wrong results."""

from __future__ import annotations

import numpy as np

from ....sim.operations import golden
from ....sim.transactions import Transactions
from ....spec import Role
from ..candidates import Converted, Rules
from .faults import FAULTS, Named

ALONE = 0.02
"""The share of all elements that may be wrong for other causes."""
CHOSEN = 2000
"""Blocks of each kind on which causes are tried."""


def named_causes(rules: Rules, normal: Converted, hard: Converted) -> list[Named]:
    """The causes that hold for blocks of N(0,1) and for hard ones, the one that explains most results first. Causes
    that depend on other blocks are judged by blocks of N(0,1), which are one call.

    Each must explain half of the wrong results that the causes before it leave, or leave few wrong elements.
    """
    parts = [_known(rules, normal), _known(rules, hard)]
    if not any(expected.differ(blocks.made).any() for blocks, expected in parts):
        return []
    first = _known(rules, normal.first(CHOSEN))
    some = _joined([first, _known(rules, _chosen(rules, hard))])
    counted = []
    for named in FAULTS[rules.name](rules, *some):
        if named.explained(rules, *(first if named.is_of_batch else some)):
            counts = [named.explained(rules, *part) for part in ([first] if named.is_of_batch else parts)]
            known = [count for count in counts if count is not None]
            counted.append((sum(known) if len(known) == len(counts) else 0, named))
    every, kept = _joined(parts), []
    wrong = _wrong(*every)
    for count, named in sorted(counted, key=lambda one: -one[0]):
        left = wrong[named.role]
        explained = named.explains(*every) & left
        others = int(left.sum()) - int(explained.sum())
        is_alone = named.role is not Role.SCALE and others <= ALONE * left.size
        if count and explained.any() and (others <= explained.sum() or is_alone):
            kept.append(named)
            wrong[named.role] = left & ~explained
    return kept


def _wrong(blocks: Converted, expected: Transactions) -> dict[Role, np.ndarray]:
    """(n, lanes) wrong results by role; elements count under right scales only."""
    found = {role: array != blocks.made[role] for role, array in expected.arrays.items()}
    if Role.CODES in found and Role.SCALE in found:
        found[Role.CODES] &= ~found[Role.SCALE]
    return found


def _known(rules: Rules, blocks: Converted) -> tuple[Converted, Transactions]:
    return blocks, golden(rules, blocks.given)


def _joined(parts: list[tuple[Converted, Transactions]]) -> tuple[Converted, Transactions]:
    blocks, expected = zip(*parts)
    return Converted.joined(blocks), Transactions.joined(expected)


def _chosen(rules: Rules, blocks: Converted) -> Converted:
    """An even choice of wrong blocks and of right ones."""
    wrong = golden(rules, blocks.given).differ(blocks.made)
    rows = [np.flatnonzero(kind) for kind in (wrong, ~wrong)]
    spread = [some[np.linspace(0, len(some) - 1, min(CHOSEN, len(some))).astype(int)] for some in rows]
    return blocks.rows(np.sort(np.concatenate(spread)))
