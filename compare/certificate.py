"""Results of comparisons of two operations over all of their inputs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Generic, TypeVar

import numpy as np

from ..spec import BlockFormat, Operation

Op = TypeVar("Op", bound=Operation)
Result = TypeVar("Result")
"""A dataclass of an input and the results of both sides."""


@dataclass(frozen=True, kw_only=True)
class Comparison(ABC, Generic[Op]):
    """Two operations, and where their results differ."""

    a: Op
    b: Op

    @property
    @abstractmethod
    def equal(self) -> bool: ...

    @abstractmethod
    def results(self) -> dict[str, object]:
        """The other fields for JSON."""

    def to_dict(self) -> dict[str, object]:
        return {"a": self.a.to_dict(), "b": self.b.to_dict(), "equal": self.equal, **self.results()}


@dataclass(frozen=True, kw_only=True)
class ElementFinding(Generic[Result]):
    """Number of inputs that differ for one cause, and the first of them."""

    differing: int
    first: Result


Finding = TypeVar("Finding", bound=ElementFinding)


@dataclass(frozen=True, kw_only=True)
class ElementCertificate(Comparison[Op], Generic[Op, Finding]):
    """The comparison of two operations whose results depend on one element each."""

    compared: int
    causes: Mapping[str, Finding]
    """Findings by the name of their cause; only causes with differences."""

    @property
    def differing(self) -> int:
        return sum(finding.differing for finding in self.causes.values())

    @property
    def equal(self) -> bool:
        return not self.causes

    def results(self) -> dict[str, object]:
        return {
            "compared": self.compared,
            "differing": self.differing,
            "causes": {cause: asdict(finding) for cause, finding in self.causes.items()},
        }


def require_same(what: str, a: object, b: object) -> None:
    """Raise ValueError unless both sides have the same format, given by name."""
    if a != b:
        raise ValueError(f"both sides must have the same {what}, not {a} and {b}")


def require_same_block(a: BlockFormat, b: BlockFormat) -> None:
    """Raise ValueError unless both block formats are equal."""
    if a != b:
        require_same("block format", f"{a.name} x {a.block_size}", f"{b.name} x {b.block_size}")


def require_no_random_bits(a: Operation, b: Operation) -> None:
    """Raise ValueError for stochastic rounding."""
    if a.random_bits or b.random_bits:
        raise ValueError(
            "stochastic rounding (sr) cannot be compared, because its results depend on random bits: choose another "
            "rounding"
        )


def by_cause(differ: np.ndarray, causes: Mapping[str, np.ndarray]) -> Iterator[tuple[str, np.ndarray]]:
    """Indices (n, axes) of differences by the first cause that fits; ``causes`` says where each of them fits."""
    for cause, fits in causes.items():
        places = np.argwhere(differ & fits)
        if len(places):
            yield cause, places
        differ = differ & ~fits
