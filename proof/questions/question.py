"""A question to a solver: a file of SMT-LIB, and the answer that is expected."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Question:
    """SMT-LIB text without its last command, and the expected answer: ``unsat`` if the question asks for a
    counterexample, ``sat`` if it asks whether something is possible."""

    name: str
    description: str
    """Meaning of the expected answer."""
    text: str
    expected: str
    names: tuple[str, ...]
    """Constants whose values the solver returns with ``sat``."""
    mode: int = 0
    has_block: bool = False
    """Whether the values of the other answer are a block, or determine one."""
    is_inner: bool = False
    """Whether the values of the other answer are of inner wires, which no block may reach."""
    is_of_order: bool = False
    """Whether the values of the other answer are registers between beats, which no reset may reach."""
    eased: str | None = None
    """A stronger text that solvers answer faster: if it has the expected answer, so does ``text``."""


def question(
    name: str,
    description: str,
    names: tuple[str, ...],
    *parts: str,
    expected: str = "unsat",
    mode: int = 0,
    has_block: bool = False,
    is_inner: bool = False,
    is_of_order: bool = False,
) -> Question:
    """The question whose text consists of these parts."""
    return Question(
        name=name,
        description=description,
        text=text(description, *parts),
        expected=expected,
        names=names,
        mode=mode,
        has_block=has_block,
        is_inner=is_inner,
        is_of_order=is_of_order,
    )


def lemma(
    name: str,
    description: str,
    names: Sequence[str],
    *parts: str,
    holds: str,
    has_block: bool = False,
    is_inner: bool = False,
) -> Question:
    """The question whether a statement can fail to hold."""
    refuted = f"(assert (not {holds}))\n"
    return question(name, description, tuple(names), *parts, refuted, has_block=has_block, is_inner=is_inner)


def can_happen(name: str, names: Sequence[str], *parts: str) -> Question:
    """The question whether the assumptions of a lemma are possible at all."""
    description = f"the assumptions of the lemma about the {name} can hold"
    return question(f"{name}-can-happen", description, tuple(names), *parts, expected="sat")


def text(about: str, *parts: str) -> str:
    return "".join([f"; {about}\n", "(set-logic ALL)\n", "(set-option :produce-models true)\n", *parts])


def vector(wire: str, width: int) -> str:
    """A wire as a bit-vector: Yosys makes one bit a Bool."""
    return f"(ite {wire} #b1 #b0)" if width == 1 else wire


def constant(name: str, width: int, term: str) -> str:
    """A named constant that equals a term, so that the solver returns its value; a Bool if the width is 0."""
    return f"(declare-const {name} {f'(_ BitVec {width})' if width else 'Bool'})\n(assert (= {name} {term}))\n"


def declared(widths: dict[str, int]) -> str:
    """Declarations of free constants by their widths; a Bool if the width is 0."""
    sorts = {name: f"(_ BitVec {width})" if width else "Bool" for name, width in widths.items()}
    return "".join(f"(declare-const {name} {sort})\n" for name, sort in sorts.items())
