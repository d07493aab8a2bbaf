"""Proofs by induction about a transition system: a netlist next to statements about it in SystemVerilog.

The statements have the outputs ``assumed``, ``wrong`` (a bit for each thing that must never happen) and ``related``
(the relation of the registers). The relation holds after a reset, each edge keeps it, and it excludes everything wrong.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from itertools import pairwise

from ...netlist.design import Design
from ...questions.question import Question, constant, question


def joined(names: Sequence[str]) -> str:
    """Wires as one, the first in the low bits."""
    return "{" + ", ".join(reversed(names)) + "}"


def transitions(design: Design, control: dict, statements: str, wrapper: str, top: str) -> str:
    """The step from a state to the next one in SMT-LIB, as Yosys writes it: of the module ``control``, which has the
    name of the design, the statements in a file of ``statements/``, and the module ``top`` that connects them."""
    made, folder = design.of_netlist({design.top: control}), design.folder
    (folder / statements).write_text((files(__package__) / "statements" / statements).read_text())
    (folder / f"{top}.sv").write_text(wrapper)
    file = folder / f"{top}.smt2"
    made.run(
        [
            f"read_verilog -sv {statements} {top}.sv",
            f"hierarchy -check -top {top}",
            "proc",
            "flatten",
            "opt_expr -keepdc",
            "setundef -undriven -anyseq",
            "setundef -anyseq",
            "opt_clean",
            "check -assert",
            f"write_smt2 -stbv -wires {file.name}",
        ]
    )
    text = file.read_text()
    file.unlink()
    return text


@dataclass(frozen=True, kw_only=True)
class Induction:
    """A transition system, and what is claimed of it."""

    name: str
    """The beginning of the names of its questions."""
    claim: str
    top: str
    relation: str
    """The text of `transitions`."""
    related: int
    """Bits of ``related``."""
    wrong: tuple[str, ...]
    """Faults by the bits of ``wrong``."""
    shown: dict[str, int] = field(default_factory=dict)
    """The wires of the trace of `fault`, and their widths."""

    def state(self, name: str) -> str:
        return f"(declare-const {name} |{self.top}_s|)\n"

    def wire(self, name: str, state: str) -> str:
        """A wire in a state; Yosys makes one bit a Bool."""
        return f"(|{self.top}_n {name}| {state})"

    def step(self, now: str, then: str) -> str:
        return f"(assert (|{self.top}_t| {now} {then}))\n"

    def steps(self, *states: str) -> str:
        """Consecutive states that the statements assume to be possible."""
        return "".join(
            [
                self.relation,
                *map(self.state, states),
                *(f"(assert {self.wire('assumed', state)})\n" for state in states),
                *(self.step(now, then) for now, then in pairwise(states)),
            ]
        )

    def is_related(self, state: str) -> str:
        return f"(= {self.wire('related', state)} (_ bv{(1 << self.related) - 1} {self.related}))"

    def is_right(self, state: str) -> str:
        return f"(= {self.wire('wrong', state)} (_ bv0 {len(self.wrong)}))"

    def questions(self) -> Iterator[Question]:
        related = f"(assert {self.is_related('s')})\n"
        broken = constant("broken", self.related, self.wire("related", "t"))
        not_related = f"(assert (not {self.is_related('t')}))\n"
        yield question(
            f"{self.name}-reset",
            "after an edge with reset the registers are related as the proof of the next question needs it",
            ("broken",),
            self.steps("s", "t"),
            f"(assert {self.wire('rst', 's')})\n",
            broken,
            not_related,
            is_of_order=True,
        )
        yield question(
            f"{self.name}-step",
            "every edge of the clock keeps this relation, whatever enters, waits or is reset",
            ("broken",),
            self.steps("s", "t"),
            related,
            broken,
            not_related,
            is_of_order=True,
        )
        yield question(
            self.name,
            self.claim,
            ("wrong",),
            self.steps("s"),
            related,
            constant("wrong", len(self.wrong), self.wire("wrong", "s")),
            f"(assert (not {self.is_right('s')}))\n",
            is_of_order=True,
        )

    def fault(self, edges: int) -> Question:
        """The question whether something wrong happens in the first edges after a reset; it returns what is seen."""
        after_reset, states = self.after_reset(edges)
        names, texts = list[str](), [after_reset]
        for state in states:
            for name, width in (self.shown | {"wrong": len(self.wrong)}).items():
                names.append(f"{state}_{name}")
                texts.append(constant(names[-1], 0 if width == 1 else width, self.wire(name, state)))
        wrong = [f"(not {self.is_right(state)})" for state in states[1:]]
        description = f"nothing wrong happens in {edges} edges after a reset"
        return question(f"{self.name}-fault", description, tuple(names), *texts, f"(assert (or {' '.join(wrong)}))\n")

    def after_reset(self, edges: int) -> tuple[str, list[str]]:
        """Statements about the edges after a reset, and the states at them."""
        states = [f"e{edge}" for edge in range(edges + 1)]
        return f"{self.steps(*states)}(assert {self.wire('rst', states[0])})\n", states

    def can_happen(self, meaning: str, edges: int) -> Question:
        """The question whether the last of some beats leaves in the first edges after a reset."""
        after_reset, states = self.after_reset(edges)
        whole = [f"(and {self.wire('o_valid', state)} {self.wire('o_last', state)})" for state in states[1:]]
        seen = constant("rst", 0, self.wire("rst", states[0]))
        asked = f"(assert (or {' '.join(whole)}))\n"
        return question(f"{self.name}-can-happen", meaning, ("rst",), after_reset, seen, asked, expected="sat")

    def depends_on_registers(self, name: str, port: str, meaning: str, *others: str) -> Question:
        """The question whether a port depends on registers, and these other inputs, only."""
        return question(
            name,
            f"{port} is the same for all values of inputs in the same cycle: {meaning}",
            ("one", "other"),
            self.steps("r", "s"),
            self.state("t"),
            self.step("r", "t"),
            *(f"(assert (= {self.wire(one, 's')} {self.wire(one, 't')}))\n" for one in others),
            constant("one", 0, self.wire(port, "s")),
            constant("other", 0, self.wire(port, "t")),
            "(assert (distinct one other))\n",
            is_of_order=True,
        )
