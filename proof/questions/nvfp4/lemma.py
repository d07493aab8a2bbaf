"""Lemmas about divisions and multiplications of significands."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Protocol

from ...netlist.design import Part
from ...specification.encode import bits
from ...specification.nvfp4 import SIGNIFICAND, facts, times
from ..question import Question, constant, lemma

HALF = 1 << SIGNIFICAND - 1
"""The smallest significand."""


class PartWith(Protocol):
    """A module of a design, cut open for a lemma."""

    def __call__(self, *wires: str, without: tuple[str, ...] = (), freed: tuple[str, ...] = ()) -> Part:
        """The module with these inner wires visible, ``without`` some cells, and with other wires ``freed``."""


class DividerWith(Protocol):
    """The division of a row, cut open for a lemma."""

    def __call__(self, *wires: str, freed: tuple[str, ...] = ()) -> Part:
        """The division with these inner wires visible, and with other wires ``freed``."""


def steps(name: str, description: str, part: Part, symbol: str, wire: str, claims: Sequence[str]) -> Question:
    """The lemma that steps of a division are right, for every significand on a wire; the claims call it ``symbol``."""
    return lemma(
        name,
        description,
        (symbol,),
        part.text,
        part.state("s"),
        constant(symbol, SIGNIFICAND, part.wire(wire, "s")),
        f"(assert {is_normalised(symbol)})\n",
        holds=f"(and {' '.join(claims)})",
        is_inner=True,
    )


def is_normalised(significand: str) -> str:
    """Is the first bit of a significand set?"""
    return f"(= ((_ extract {SIGNIFICAND - 1} {SIGNIFICAND - 1}) {significand}) #b1)"


def multiplied(part: Part, size: int) -> Part:
    """A module with `times` in place of its multiplication of two significands, if it has exactly one."""
    found = [line for line in part.text.splitlines() if f"(_ BitVec {size + SIGNIFICAND}) (bvmul " in line]
    if len(found) != 1:  # an edited file: then `times` ends up as the multiplication
        return part
    return Part(part.name, part.text.replace(found[0], found[0].replace("(bvmul ", "(times ")))


def product_facts(part: Part, size: int, state: str) -> str:
    """The assumptions about `times` for the operands in a module. The specification may have others."""
    found = re.search(r"\(times (\(.*\)\)) (\(.*\)\))\)\)", multiplied(part, size).text)
    if found is None:
        return ""
    a, b = (operand.replace(" state)", f" {state})") for operand in found.groups())
    first, second = (bits(1 << one, size + SIGNIFICAND) for one in (size, SIGNIFICAND))
    are_short = f"(and (bvult {a} {first}) (bvult {b} {second}))"  # as `product_range` proves it
    return f"(assert (=> {are_short} {facts(a, b, f'(times {a} {b})', size)}))\n"


def multiplying(size: int, asked: Callable[..., Question], *parts: str, **kind: bool | str) -> Question:
    """A lemma with `times`: first for any function in its place, then for the multiplication."""
    eased, full = (asked(times(size, is_free), *parts, **kind) for is_free in (True, False))
    return replace(full, eased=eased.text)
