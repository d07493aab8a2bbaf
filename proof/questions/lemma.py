"""Lemmas: questions whether a statement can fail to hold, about modules that may multiply significands."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from ..netlist.design import Part
from ..specification.nvfp4 import SIGNIFICAND, times
from .question import Question, text


def lemma(
    name: str,
    description: str,
    names: tuple[str, ...],
    *parts: str,
    holds: str,
    has_block: bool = False,
    is_inner: bool = False,
) -> Question:
    """The question whether something can fail to hold."""
    return Question(
        name=name,
        description=description,
        expected="unsat",
        names=names,
        text=text(description, *parts, f"(assert (not {holds}))\n"),
        has_block=has_block,
        is_inner=is_inner,
    )


def can_happen(name: str, names: tuple[str, ...], *parts: str) -> Question:
    """The question whether what a lemma assumes is possible at all."""
    description = f"what the lemma about the {name} assumes can happen"
    return Question(
        name=f"{name}-can-happen", description=description, expected="sat", names=names, text=text(description, *parts)
    )


def multiplied(part: Part, size: int) -> Part:
    """The same with `times` as its multiplication of two significands, where it has one."""
    found = [line for line in part.text.splitlines() if f"(_ BitVec {size + SIGNIFICAND}) (bvmul " in line]
    if len(found) != 1:  # of a file that somebody has edited: then `times` is the multiplication in the end
        return part
    return Part(part.name, part.text.replace(found[0], found[0].replace("(bvmul ", "(times ")))


def multiplying(size: int, question: Callable[..., Question], *parts: str, **kind: object) -> Question:
    """A lemma with `times`: for any function in its place, and for the multiplication if that does not hold."""
    eased, full = (question(times(size, is_free), *parts, **kind) for is_free in (True, False))
    return replace(full, eased=eased.text)
