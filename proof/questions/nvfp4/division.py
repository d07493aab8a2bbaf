"""Lemmas about a non-restoring division, which adds or subtracts the divisor in each step.

Each remainder is twice the one before, minus or plus the divisor, depending on its sign. So twenty-four steps telescope
to a product: 2**47 is the divisor times the sum of the signed powers of two, plus the last remainder.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...netlist.design import Part
from ...specification.encode import bits
from ...specification.nvfp4 import SIGNIFICAND, widened
from ..question import Question
from .lemma import HALF, PartWith, steps

REMAINDER = SIGNIFICAND + 2
"""Bits of a remainder."""
TOGETHER = 3
"""Steps in a question: a solver answers several small questions faster than one large one."""


def remainders(name: str) -> list[str]:
    """The wires of a division, the first step first."""
    return [f"{name}_remainder{place}" for place in reversed(range(SIGNIFICAND))]


def within(word: str, step: str) -> str:
    """Is the magnitude of a word in two's complement at most a step?"""
    return f"(and (bvsle (bvneg {step}) {word}) (bvsle {word} {step}))"


def digits(part: Part, name: str) -> str:
    """The sum of the powers of two with the signs of the remainders: an odd number."""
    signs = [f"((_ extract {REMAINDER - 1} {REMAINDER - 1}) {part.wire(wire, 's')})" for wire in remainders(name)]
    return f"(concat {' '.join(f'(bvnot {sign})' for sign in signs[:-1])} #b1)"


def division(part_with: PartWith, name: str, divisor: str) -> Iterator[Question]:
    """Lemmas about every step of a division."""
    wires, width, v = remainders(name), REMAINDER + 2, "(concat #x0 v)"
    for turn in range(2):
        shown = wires[turn::2]
        part = part_with(*shown, freed=(*wires[1 - turn :: 2], divisor))
        for first in range(0, len(shown), TOGETHER):
            claims, some = [], shown[first : first + TOGETHER]
            for at in map(wires.index, some):
                before = bits(HALF, width)
                if at:
                    before = widened(part.wire(wires[at - 1], "s"), REMAINDER, width)
                after, twice = (
                    widened(part.wire(wires[at], "s"), REMAINDER, width),
                    f"(bvshl {before} {bits(1, width)})",
                )
                step = f"(ite (bvslt {before} {bits(0, width)}) (bvadd {twice} {v}) (bvsub {twice} {v}))"
                claims.append(f"(=> {within(before, v)} (and (= {after} {step}) {within(after, v)}))")
            number = turn + first // TOGETHER * 2 + 1
            about = f"steps of the division add or subtract the divisor ({', '.join(some)})"
            yield steps(f"{name}-{number}", about, part, "v", divisor, claims)
