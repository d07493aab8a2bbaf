"""What became of the tensors of a file."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from operator import add
from pathlib import Path

from ..models import Statistics
from ..spec import Numerics

__all__ = ["FileReport", "TensorReport", "WayBack"]


@dataclass(frozen=True, kw_only=True)
class TensorReport:
    """What became of one tensor; ``shape`` is that before padding."""

    name: str
    shape: tuple[int, ...]
    statistics: Statistics

    def to_dict(self) -> dict:
        return {"name": self.name, "shape": self.shape, **self.statistics.to_dict()}


@dataclass(frozen=True, kw_only=True)
class FileReport:
    """The outcome of `quantize_file`; ``copied`` are the tensors that were left as they are."""

    path: Path
    numerics: Numerics
    profile: str | None
    tensors: tuple[TensorReport, ...]
    copied: tuple[str, ...]

    @property
    def total(self) -> Statistics:
        return reduce(add, (t.statistics for t in self.tensors), Statistics())

    def to_dict(self) -> dict:
        return {
            "path": str(self.path),
            "profile": self.profile,
            "numerics": self.numerics.to_dict(),
            "tensors": [t.to_dict() for t in self.tensors],
            "total": self.total.to_dict(),
            "copied": self.copied,
        }


@dataclass(frozen=True, kw_only=True)
class WayBack:
    """The outcome of `dequantize_file`: shapes by name, and the tensors that were left as they are."""

    path: Path
    numerics: Numerics
    tensors: dict[str, tuple[int, ...]]
    copied: tuple[str, ...]

    def to_dict(self) -> dict:
        return {
            "path": str(self.path),
            "numerics": self.numerics.to_dict(),
            "tensors": self.tensors,
            "copied": self.copied,
        }
