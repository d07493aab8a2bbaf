"""A mutant of a specification: another function in its text, or another statement."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from ....spec import Operation

Op = TypeVar("Op", bound=Operation)
Stated = TypeVar("Stated")


@dataclass(frozen=True, kw_only=True)
class Mutant(ABC, Generic[Op, Stated]):
    """A fault of a specification."""

    description: str
    applies: Callable[[Op], bool] = lambda rules: True
    """Whether the mutant is wrong for an operation."""

    @abstractmethod
    def planted(self, specification: Stated) -> Stated:
        """A specification with this fault."""


class Defining(Protocol):
    """A specification that defines functions."""

    definitions: str


Defined = TypeVar("Defined", bound=Defining)


@dataclass(frozen=True, kw_only=True)
class FunctionMutant(Mutant[Op, Defined]):
    """A faulty function in the ``definitions`` of a specification."""

    function: str
    body: Callable[[Defined], str]
    """The body, from the specification; in it ``{right}`` is the right function."""

    def planted(self, specification: Defined) -> Defined:
        text = specification.definitions
        head = re.compile(rf"^\(define-fun {self.function} (\(\(.*?\)\)\) (?:Bool|\(_ .*?\))) ", re.M)
        found = head.search(text)
        assert found is not None  # a mutant names a function of the specification
        end = text.index("\n", found.end()) + 1
        right = f"right_{self.function}"
        new = f"(define-fun {self.function} {found[1]} {self.body(specification).replace('{right}', right)})\n"
        renamed = text[found.start() : end].replace(self.function, right, 1)
        specification.definitions = text[: found.start()] + renamed + new + text[end:]
        return specification


@dataclass(frozen=True, kw_only=True)
class StatementMutant(Mutant[Op, Stated]):
    """A faulty attribute or method of a specification, or of an object that belongs to it."""

    statement: str
    wrong: Callable[[Stated, Any], object]
    """The fault, from the specification and the right attribute."""
    of: Callable[[Stated], object] = lambda specification: specification
    """The object that has the attribute."""

    def planted(self, specification: Stated) -> Stated:
        owner = self.of(specification)
        setattr(owner, self.statement, self.wrong(specification, getattr(owner, self.statement)))
        return specification
