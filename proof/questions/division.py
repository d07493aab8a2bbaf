"""Lemmas about a division without restoring, which adds or subtracts its divisor in each step, by its remainders.

After each step the remainder is twice the one before, less or more the divisor, by its sign. So twenty-four of them
telescope to a product: 2**47 is the divisor times the sum of the signed powers of two, and the last remainder.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ..netlist.design import Part
from ..specification.encode import bits
from ..specification.nvfp4 import SIGNIFICAND, widened
from .lemma import lemma
from .question import Question, constant

REMAINDER = SIGNIFICAND + 2
"""Bits of a remainder."""
TOGETHER = 3
"""Steps in a question: those of more take a solver longer than several questions."""


def remainders(name: str) -> list[str]:
    """The wires of a division, in their order in time."""
    return [f"{name}_remainder{place}" for place in reversed(range(SIGNIFICAND))]


def within(word: str, step: str) -> str:
    """Is a word in two's complement not beyond a step, above or below?"""
    return f"(and (bvsle (bvneg {step}) {word}) (bvsle {word} {step}))"


def digits(part: Part, name: str) -> str:
    """The sum of the signed powers of two, by the signs of the remainders: an odd number."""
    signs = [f"((_ extract {REMAINDER - 1} {REMAINDER - 1}) {part.wire(wire, 's')})" for wire in remainders(name)]
    return f"(concat {' '.join(f'(bvnot {sign})' for sign in signs[:-1])} #b1)"


def division(part_with: Callable[..., Part], name: str, divisor: str) -> Iterator[Question]:
    """Every step of a division: ``part_with`` gives the module with wires, and with others freed."""
    wires, width, v = remainders(name), REMAINDER + 2, "(concat #x0 v)"
    for turn in range(2):
        shown = wires[turn::2]
        part = part_with(*shown, freed=(*wires[1 - turn :: 2], divisor))
        for first in range(0, len(shown), TOGETHER):
            claims, some = [], shown[first : first + TOGETHER]
            for at in map(wires.index, some):
                before = bits(1 << SIGNIFICAND - 1, width)
                if at:
                    before = widened(part.wire(wires[at - 1], "s"), REMAINDER, width)
                after, twice = (
                    widened(part.wire(wires[at], "s"), REMAINDER, width),
                    f"(bvshl {before} {bits(1, width)})",
                )
                step = f"(ite (bvslt {before} {bits(0, width)}) (bvadd {twice} {v}) (bvsub {twice} {v}))"
                claims.append(f"(=> {within(before, v)} (and (= {after} {step}) {within(after, v)}))")
            yield lemma(
                f"{name}-{turn + first // TOGETHER * 2 + 1}",
                f"steps of the division add or subtract the divisor ({', '.join(some)})",
                ("v",),
                part.text,
                part.state("s"),
                constant("v", SIGNIFICAND, part.wire(divisor, "s")),
                f"(assert (= ((_ extract {SIGNIFICAND - 1} {SIGNIFICAND - 1}) v) #b1))\n",
                holds=f"(and {' '.join(claims)})",
                is_inner=True,
            )
