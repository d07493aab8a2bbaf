"""Subnormal source numbers as normal ones with a smaller exponent, as far as an element format needs it, in functions
of a LUT.

A number moves up by one place more than it has leading zeros, but by no more than ``max_shift``: what then has no
leading one is unnormalised, in the Verilog ``bare``. It moves in one step, or in several of up to four ways each, which
is what a LUT of six inputs chooses from. A step chooses the first way that brings the leading one to the first places,
which the next step chooses from.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from amaranth.hdl import Const, Value

from .sticky import Term
from .table import LUT_INPUTS, without_zeros

Make = Callable[..., Value]
"""`table` without its first arguments: of the name of a function, the function and its inputs."""
Choice = Callable[[Sequence[int]], int]
"""Which of its ways a step takes, by what was chosen."""

STEPS: tuple[tuple[tuple[int, int], ...], ...] = (
    ((1, 2),),
    ((1, 3),),
    ((1, 4),),
    ((2, 4), (1, 2)),
    ((3, 4), (1, 3)),
    ((4, 4), (1, 4)),
    ((8, 4), (2, 4), (1, 2)),
)
"""Ways to move, cheapest first: for each step by how many places, and how many ways it has."""


def _longest(steps: Sequence[tuple[int, int]]) -> int:
    return sum(by * (ways - 1) for by, ways in steps)


def max_shift_of(least: int) -> int:
    """How far the cheapest steps go that go at least so far."""
    return next(_longest(steps) for steps in STEPS if _longest(steps) >= least)


@dataclass(frozen=True)
class Normalised:
    """A number that has moved."""

    kept: list[Value]
    """The first bits of the fraction behind the leading one, the first one first."""
    rest: list[Term]
    """Whether any bit after those is set: the OR of these."""
    bare: Value
    """No leading one has been found."""
    hidden: Value | None
    """Is the number normal, so that it has not moved? None if that is not known as one bit."""
    choices: list[Value]
    """What was chosen in all steps, whether the number is bare if that is still to be told apart, and `hidden`."""
    exponent: Callable[..., int | None]
    """The exponent of a number that has moved, given the choices as integers: 1 less the places moved, and one less if
    it is bare. 0 for one that has not; None for choices that never happen.
    """


def normalised(
    make: Make, front: list[Value], fraction: Sequence[Value], bits: int, max_shift: int, unnormalised_matters: bool
) -> Normalised:
    """The number of this fraction, its first bit first, which is normal if any of ``front`` is set.

    ``make`` is `table` without its first arguments.
    """
    steps = next(steps for steps in STEPS if _longest(steps) == max_shift)
    if max_shift > 1 or len(front) + 2 > LUT_INPUTS:
        front = [make("hidden", lambda *b: any(b), *front)]
    hidden = front[0] if len(front) == 1 else None
    now, rest, choices, decoders = list(fraction), [], [], []
    for number, (by, ways) in enumerate(steps, 1):
        size = bits + _longest(steps[number:])  # that the next steps need
        now += [0] * max(size + by * (ways - 1) - len(now), 0)
        chosen, choice = _chosen(make, f"{number}", front, now, by, ways)
        rest += _lost(chosen, choice, now[size:], by, ways)

        def moved(
            name: str, ahead: list[Value | int], chosen: list[Value] = chosen, choice: Choice = choice
        ) -> Value | int:
            return _made(make, name, lambda *b: b[len(chosen) + choice(b[: len(chosen)])], chosen, ahead)

        if number == len(steps):
            bare = make(
                "bare", lambda *b: not any(b), *front, *(bit for bit in now[: ways - 1] if not isinstance(bit, int))
            )
        else:
            front = [moved(f"front{number}", [*front, *(now[by * way - 1] for way in range(1, ways))])]
        now = [moved(f"moved{number}_{i}", [now[i + by * way] for way in range(ways)]) for i in range(size)]
        choices += chosen
        decoders.append((len(chosen), choice, by))

    choices += [bare] if unnormalised_matters else []
    choices += [] if hidden is None else [hidden]

    def exponent(*bits: int) -> int | None:
        bits, is_normal = (bits, None) if hidden is None else (bits[:-1], bits[-1])
        bits, is_bare = (bits[:-1], bits[-1]) if unnormalised_matters else (bits, 0)
        moved = 0
        for count, choice, by in decoders:
            moved, bits = moved + by * choice(bits[:count]), bits[count:]
        if (is_bare and moved < max_shift) or is_normal == (moved > 0):
            return None
        return 1 - moved - is_bare if moved else 0

    now = [Const(0, 1) if isinstance(bit, int) else bit for bit in now]
    return Normalised(now, rest, bare, hidden, choices, exponent)


def _chosen(
    make: Make, number: str, front: list[Value], now: list[Value | int], by: int, ways: int
) -> tuple[list[Value], Choice]:
    """A few bits, and how they say by which way the leading one comes to the first ``by`` places, or else the
    last one.
    """
    if by == 1 and ways == 2:
        return front, lambda c: int(not any(c))
    if by == 1 and ways == 3:
        return [*front, now[0]], lambda c: 0 if c[0] else 1 if c[1] else 2
    first, second, third = (
        [bit for bit in part if not isinstance(bit, int)]
        for part in ([*front, *now[: by - 1]], now[by - 1 : 2 * by - 1], now[2 * by - 1 : 3 * by - 1])
    )
    if len(first) + 1 + max(len(second) - 1, len(third)) > LUT_INPUTS:
        first = [_some(make, f"first{number}", first)]
    if by > 4:
        second, third = (
            [_some(make, f"{name}{number}", bits)] if bits else []
            for name, bits in (("second", second), ("third", third))
        )
    far = make(f"far{number}", lambda *b: not any(b), *first, *second)
    odd = make(
        f"odd{number}", lambda far, *b: not any(b[len(first) :] if far else b[: len(first)]), far, *first, *third
    )
    return [far, odd], lambda c: 2 * c[0] + c[1]


def _some(make: Make, name: str, bits: list[Value]) -> Value:
    """Is any of these set?"""
    parts = [bits[first : first + LUT_INPUTS] for first in range(0, len(bits), LUT_INPUTS)]
    if len(parts) > 1:
        return _some(make, name, [_some(make, f"{name}_{i}", part) for i, part in enumerate(parts)])
    return make(name, lambda *b: any(b), *bits)


def _lost(chosen: list[Value], choice: Choice, after: list[Value | int], by: int, ways: int) -> list[Term]:
    """What is behind the bits that are kept: ``by`` places that only the first way leaves there, then those that the
    second leaves there too, and so on.
    """
    count = len(chosen)
    room, masked = LUT_INPUTS - count, by * (ways - 1)
    found = []
    for start in range(0, masked, room):

        def is_set(*b: int, start: int = start) -> bool:
            return any(bit and choice(b[:count]) <= (start + i) // by for i, bit in enumerate(b[count:]))

        found.append(Term(*without_zeros(is_set, *chosen, *after[start : min(start + room, masked)])))
    return [term for term in found if len(term.inputs) > count] + [
        Term(bool, [bit]) for bit in after[masked:] if not isinstance(bit, int)
    ]


def _made(
    make: Make, name: str, function: Callable[..., object], told: list[Value], bits: list[Value | int]
) -> Value | int:
    """The function of what is told and of some bits, as a table of those that are not always zero; 0 if there
    is none.
    """
    if all(isinstance(bit, int) for bit in bits):
        return 0
    function, inputs = without_zeros(function, *told, *bits)
    return make(name, function, *inputs)
