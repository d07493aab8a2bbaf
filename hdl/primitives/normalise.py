"""Normalisation of subnormal source numbers, as far as an element format needs it, in functions of a LUT.

A number is shifted up by its leading zeros plus one, but by no more than ``max_shift``. If it then has no leading one,
it is unnormalised (``bare`` in the Verilog). The shift takes one step or several, each with up to four ways, which fit
in a LUT of six inputs. A step takes the first way that brings the leading one to the places among which the next step
chooses.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from amaranth.hdl import Const, Value

from .sticky import Term
from .table import LUT_INPUTS, without_zeros

Make = Callable[..., Value]
"""`table` without its first arguments. It takes the name of a function, the function and its inputs."""
Choice = Callable[[Sequence[int]], int]
"""The way that a step takes, from the bits that choose it."""

STEPS: tuple[tuple[tuple[int, int], ...], ...] = (
    ((1, 2),),
    ((1, 3),),
    ((1, 4),),
    ((2, 4), (1, 2)),
    ((3, 4), (1, 3)),
    ((4, 4), (1, 4)),
    ((8, 4), (2, 4), (1, 2)),
)
"""Shifters, cheapest first. Each step has a distance between its ways, and a number of ways."""


def _longest(steps: Sequence[tuple[int, int]]) -> int:
    return sum(by * (ways - 1) for by, ways in steps)


def max_shift_of(least: int) -> int:
    """The longest shift of the cheapest shifter that shifts at least so far."""
    return next(_longest(steps) for steps in STEPS if _longest(steps) >= least)


@dataclass(frozen=True)
class Normalised:
    """A normalised number."""

    kept: list[Value]
    """The bits of the fraction after the leading one that are kept, first bit first."""
    rest: list[Term]
    """Terms whose OR says whether any later bit is set."""
    bare: Value
    """Is the number without a leading one?"""
    hidden: Value | None
    """Was the number normal, so that it is not shifted? None if no single bit says so."""
    choices: list[Value]
    """The bits that choose the ways of all steps, `bare` if it matters, and `hidden`."""
    exponent: Callable[..., int | None]
    """The exponent after the shift, from the choices as integers: 1 minus the shift, and one less for a bare number.
    It is 0 for a number that is not shifted, and None for choices that never occur.
    """


def normalised(
    make: Make, front: list[Value], fraction: Sequence[Value], bits: int, max_shift: int, unnormalised_matters: bool
) -> Normalised:
    """The normalised number of a fraction, given first bit first. It is normal if any bit of ``front`` is set."""
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
    """A few bits, and the choice that they make: the first way that brings the leading one to the first ``by`` places,
    or the last way.
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
    """Is any of these bits set?"""
    parts = [bits[first : first + LUT_INPUTS] for first in range(0, len(bits), LUT_INPUTS)]
    if len(parts) > 1:
        return _some(make, name, [_some(make, f"{name}_{i}", part) for i, part in enumerate(parts)])
    return make(name, lambda *b: any(b), *bits)


def _lost(chosen: list[Value], choice: Choice, after: list[Value | int], by: int, ways: int) -> list[Term]:
    """Terms for the bits after those that are kept: first ``by`` places that are kept by all ways but the first, then
    ``by`` places that are kept by all but the first two, and so on.
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
    """A table of a function of the choices and of some bits, without the bits that are always zero; 0 if all are."""
    if all(isinstance(bit, int) for bit in bits):
        return 0
    function, inputs = without_zeros(function, *told, *bits)
    return make(name, function, *inputs)
