"""Questions about one text, as one reader reads it, and their answers."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from ...hdl import HardwareConfig
from ...host.files import write_whole
from ..operations import provable
from ..questions.question import Question
from ..verilog.elaboration import Elaboration
from ..verilog.gate import Objection, objections
from .solver import Answer, solve
from .trace import Trace


class Status(StrEnum):
    """The outcome of a proof: the worst of its steps."""

    PASS = "PASS"
    UNKNOWN = "UNKNOWN"
    TIMEOUT = "TIMEOUT"
    FAIL = "FAIL"


def worst(found: Iterable[Status]) -> Status:
    """The worst status; `Status.UNKNOWN` without any."""
    found = set(found)
    return next(
        (status for status in (Status.FAIL, Status.TIMEOUT, Status.UNKNOWN, Status.PASS) if status in found),
        Status.UNKNOWN,
    )


@dataclass(frozen=True, kw_only=True)
class Step:
    """One question and its answer."""

    question: Question
    answer: Answer
    file: Path

    @property
    def status(self) -> Status:
        if self.answer.result in ("unknown", "timeout"):
            return Status[self.answer.result.upper()]
        return Status.PASS if self.answer.result == self.question.expected else Status.FAIL

    def to_dict(self) -> dict:
        return {
            "question": self.question.name,
            "says": self.question.description,
            "file": self.file.name,
            "status": self.status,
            "expected": self.question.expected,
            "result": self.answer.result,
            "seconds": self.answer.seconds,
        }


@dataclass(kw_only=True)
class Argument:
    """The questions about a text, as one reader of Yosys reads it, and their answers."""

    reader: str
    macros: str
    """Macros of tools that are defined in this text, if it depends on them."""
    steps: list[Step]
    remark: str | None = None
    """Why the design was asked about as a whole, not in parts, or why nothing was asked."""
    doubt: str | None = None
    """Why the values of the solver are not a counterexample."""
    is_unshown: bool = False
    """Whether no simulator confirms the values of the solver."""
    trace: Trace | None = None
    """Beats that leave in a wrong order or with the scale of another block."""
    edges: int = 0
    """Clock edges after which the proof holds."""

    @property
    def status(self) -> Status:
        found = worst(step.status for step in self.steps)
        return Status.UNKNOWN if found is Status.FAIL and self.doubt else found

    def to_dict(self) -> dict:
        return {
            "reader": self.reader,
            "macros": self.macros,
            "status": self.status,
            "remark": self.remark,
            "doubt": self.doubt,
            "after_edges": self.edges,
            "trace": None if self.trace is None else [*self.trace.words, self.trace.file.name],
            "steps": [step.to_dict() for step in self.steps],
        }


def objected(config: HardwareConfig, elaboration: Elaboration) -> list[Objection]:
    """The objections of the gate to a text, without those to addresses that the proof knows."""
    found = objections(elaboration)
    written = [objection.index for objection in found if objection.index]
    is_known = provable(config).knows_addresses(config, written)
    return [objection for objection in found if not (is_known and objection.index)]


def doubtful(arguments: Iterable[Argument]) -> None:
    """Set the doubt about blocks of the solver that no simulator confirms, from the readers of one text."""
    arguments = list(arguments)
    right = [argument.reader for argument in arguments if argument.status is Status.PASS]
    for argument in arguments:
        if argument.is_unshown and argument.doubt is None:
            found = (
                f"{argument.reader} reads a converter that is wrong for some block, but a simulator converts the block "
                "right"
            )
            argument.doubt = (
                f"{found}: {right[0]} reads a right one, and {argument.reader} is alone"
                if right
                else f"{found}: its result depends on what the text leaves undefined (x), or a tool is wrong"
            )


def of_latches(modules: list[str]) -> str | None:
    """The doubt about a block of the solver in a design whose modules have latches, or None without latches."""
    if not modules:
        return None
    return f"the module {modules[0]} has a latch: an output or variable that keeps its value for some inputs"


def without_a_block(question: Question) -> str:
    """The doubt about a lemma that fails, although no simulated block differs."""
    return f"no block is known that shows it, but it does not hold: {question.description}"


def without_a_trace(question: Question) -> str:
    """The doubt about an order of beats that is not proved, although no trace is known in which it is wrong."""
    return f"no sequence of beats is known that shows it, but it does not hold: {question.description}"


def answered(
    questions: Iterable[Question],
    folder: Path,
    *,
    solver: str,
    timeout: float,
    force: bool = False,
    say: Callable[[str], None],
) -> list[Step]:
    """Ask questions until one fails; their files stay in ``folder``."""
    steps = []
    for question in questions:
        say(question.description)
        for asked in filter(None, (question.eased, question.text)):
            file = write_whole(folder / f"{question.name}.smt2", asked + "(check-sat)\n")
            answer = solve(asked, question.names, solver=solver, timeout=timeout, force=force)
            if answer.result == question.expected:
                break
        steps.append(Step(question=question, file=file, answer=answer))
        if steps[-1].status is Status.FAIL:
            break
    return steps
