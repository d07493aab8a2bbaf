"""What is equal and what is not between two operations, over all of their inputs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Generic, TypeVar

from ..spec import Operation

Op = TypeVar("Op", bound=Operation)
Result = TypeVar("Result")
"""A dataclass of an input, and of what either side makes of it."""


@dataclass(frozen=True, kw_only=True)
class ElementFinding(Generic[Result]):
    """How many inputs differ from one cause, and the first of them."""

    differing: int
    first: Result


@dataclass(frozen=True, kw_only=True)
class ElementCertificate(Generic[Op, Result]):
    """What is equal and what is not between two operations that make each result of its own element."""

    a: Op
    b: Op
    compared: int
    causes: Mapping[str, ElementFinding[Result]]
    """By the name of a cause; without those from which nothing differs."""

    @property
    def differing(self) -> int:
        return sum(finding.differing for finding in self.causes.values())

    @property
    def equal(self) -> bool:
        return not self.causes

    def to_dict(self) -> dict[str, object]:
        return {
            "a": self.a.to_dict(),
            "b": self.b.to_dict(),
            "compared": self.compared,
            "differing": self.differing,
            "equal": self.equal,
            "causes": {cause: asdict(finding) for cause, finding in self.causes.items()},
        }
