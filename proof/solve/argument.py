"""Questions about one text as one reader has it, and their answers."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from ...host.files import write_whole
from ..questions.question import Question
from .solver import Answer, solve


class Status(StrEnum):
    """What became of a proof, the worst of its steps."""

    PASS = "PASS"
    UNKNOWN = "UNKNOWN"
    TIMEOUT = "TIMEOUT"
    FAIL = "FAIL"


def worst(found: Iterable[Status]) -> Status:
    """The status of all together; `Status.UNKNOWN` of none."""
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
    """What was asked about a text as one of Yosys' readers has it."""

    reader: str
    macros: str
    """Which macros of tools are defined in this text, where it depends on that."""
    steps: list[Step]
    remark: str | None = None
    """Why it was asked as a whole although that was not wanted, or why nothing was asked."""
    doubt: str | None = None
    """Why what the solver found is no counterexample."""
    is_unshown: bool = False
    """Whether no simulator shows what the solver found."""
    edges: int = 0
    """Edges of the clock after which it holds."""

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
            "steps": [step.to_dict() for step in self.steps],
        }


def doubtful(arguments: Iterable[Argument]) -> None:
    """Say of a solver's block that no simulator shows which readers are alone with it, of those of one text."""
    arguments = list(arguments)
    right = [argument.reader for argument in arguments if argument.status is Status.PASS]
    for argument in arguments:
        if argument.is_unshown and argument.doubt is None:
            found = (
                f"{argument.reader} reads a converter that is wrong for some block, and a simulator converts the block "
                "as it should be"
            )
            argument.doubt = (
                f"{found}: {right[0]} reads a right one, and {argument.reader} is alone"
                if right
                else f"{found}: its result depends on what the text leaves undefined (x), or a tool is wrong"
            )


def answered(
    questions: Iterable[Question],
    folder: Path,
    *,
    solver: str,
    timeout: float,
    force: bool = False,
    say: Callable[[str], None],
) -> list[Step]:
    """Ask questions, whose files stay in ``folder``, until one fails."""
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
