"""Smaller blocks that show the same fault: fewest elements that are not zero, then the smallest patterns."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations

import numpy as np

Differs = Callable[[np.ndarray], np.ndarray]
"""(n, block_size) patterns -> (n,) whether the results of the design are wrong."""

PAIRS = 2048
"""Most blocks of two elements that are tried."""


def smallest(block: np.ndarray, differs: Differs) -> np.ndarray:
    """A smaller block (block_size,) of patterns that still differs: a local minimum. No element can become zero, no set
    bit be cleared, and no power of two be subtracted without losing the difference.

    Blocks of one or two elements that are not zero are tried first, then zeros one after the other. Elements that are
    not zero come first if the block then still differs.
    """
    block = _shrunk(_sparse(block, differs), _simpler, differs)
    block = _shrunk(_shrunk(block, _with_one_zero_more, differs), _simpler, differs)
    in_front = np.concatenate([block[block != 0], block[block == 0]])
    return in_front if differs(in_front[None])[0] else block


def fewest(block: np.ndarray, differs: Differs) -> np.ndarray:
    """The block with as many zeros as possible that still differs."""
    return _shrunk(_sparse(block, differs), _with_one_zero_more, differs)


def _sparse(block: np.ndarray, differs: Differs) -> np.ndarray:
    lanes = np.flatnonzero(block)
    for count in (0, 1, 2):
        kept = [list(chosen) for chosen in combinations(lanes, count)][:PAIRS]
        candidates = np.zeros((len(kept), len(block)), block.dtype)
        for row, chosen in enumerate(kept):
            candidates[row, chosen] = block[chosen]
        if len(kept) and (found := np.flatnonzero(differs(candidates))).size:
            return candidates[found[0]]
    return _shrunk(block, _with_one_zero_more, differs)


def _shrunk(block: np.ndarray, steps: Callable[[np.ndarray], np.ndarray], differs: Differs) -> np.ndarray:
    """Take the first step that still differs, until no step does."""
    while len(candidates := steps(block)):
        found = np.flatnonzero(differs(candidates))
        if not found.size:
            break
        block = candidates[found[0]]
    return block


def _with_one_zero_more(block: np.ndarray) -> np.ndarray:
    lanes = np.flatnonzero(block)
    candidates = np.repeat(block[None], len(lanes), axis=0)
    candidates[np.arange(len(lanes)), lanes] = 0
    return candidates


def _simpler(block: np.ndarray) -> np.ndarray:
    """Blocks in which one pattern has one bit less, is smaller by a power of two, or is one bit; large steps first."""
    candidates = []
    for bit in reversed(range(block.dtype.itemsize * 8)):
        for lane in np.flatnonzero(block):
            number = int(block[lane])
            for smaller in dict.fromkeys((number & ~(1 << bit), number - (1 << bit), 1 << bit)):
                if 0 < smaller < number:
                    candidate = block.copy()
                    candidate[lane] = smaller
                    candidates.append(candidate)
    return np.array(candidates, block.dtype).reshape(-1, len(block))
