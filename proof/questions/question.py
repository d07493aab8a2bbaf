"""A question to a solver: a file of SMT-LIB, and the answer that is expected."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Question:
    """SMT-LIB text without its last command, and the expected answer: ``unsat`` where a counterexample is
    sought, ``sat`` where something must be possible."""

    name: str
    description: str
    """What the expected answer means."""
    text: str
    expected: str
    names: tuple[str, ...]
    mode: int = 0
    has_block: bool = False
    """Whether the other answer comes with a block, or with what makes one."""
    is_inner: bool = False
    """Whether the other answer comes with values inside of the design, which need not be those of a block."""
    eased: str | None = None
    """A text that says more and is answered faster: where it has the expected answer, so has the other one."""


def text(about: str, *parts: str) -> str:
    return "".join([f"; {about}\n", "(set-logic ALL)\n", "(set-option :produce-models true)\n", *parts])


def vector(wire: str, width: int) -> str:
    """A wire as a bit-vector: Yosys makes one bit a Bool."""
    return f"(ite {wire} #b1 #b0)" if width == 1 else wire


def constant(name: str, width: int, term: str) -> str:
    """A name that a solver gives a value for."""
    return f"(declare-const {name} {f'(_ BitVec {width})' if width else 'Bool'})\n(assert (= {name} {term}))\n"
