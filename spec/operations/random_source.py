"""The on-chip source of random bits for stochastic rounding: its generators and their initial states.

Every 32 bits come from their own generator, Marsaglia's xorshift32 with the shifts 13, 17 and 5 (G. Marsaglia,
"Xorshift RNGs", Journal of Statistical Software 8, 2003), whose period is 2**32 - 1.
"""

from __future__ import annotations

SHIFTS = (13, -17, 5)
"""Left shifts whose result is exclusive-ored with the state, one after another; negative ones shift right."""

SPREAD = 0x9E3779B9
"""2**32 divided by the golden ratio: multiples of it are far apart from each other."""


def _mixed(state: int) -> int:
    """A state unrelated to its neighbours: the finaliser of MurmurHash3, which is one to one."""
    for shift, factor in ((16, 0x85EBCA6B), (13, 0xC2B2AE35)):
        state = (state ^ state >> shift) * factor % (1 << 32)
    return state ^ state >> 16


def initial_states(width: int, seed: int = 0) -> list[int]:
    """States after reset of the generators for ``width`` bits, lowest bits first.

    They differ from each other and are never 0, because a generator never leaves 0.

    >>> len(set(initial_states(1024)))
    32
    """
    if width < 1:
        raise ValueError(f"width must be at least 1, not {width}")
    if not 0 <= seed < 1 << 32:
        raise ValueError(f"seed must be a number of 32 bits, not {seed}")
    states = (_mixed((seed + (number + 1) * SPREAD) % (1 << 32)) for number in range(-(-width // 32) + 1))
    return [state for state in states if state][: -(-width // 32)]
