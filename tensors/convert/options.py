"""Options of conversions: the command makes them once, and files, models and jobs of shards receive them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Self

from ...spec import LAYOUTS, Encode, Nvfp4Encode
from ...spec.catalogue import constructed, entry, known_name
from ..layouts.own_metadata import numerics_of

if TYPE_CHECKING:
    from ..layouts.experts import Experts
    from ..unrecognised.named_arrays import NamedArrays

Progress = Callable[[int, int], None] | None
"""Receives the number of elements, or of shards, that are done, and the number of all."""


@dataclass(frozen=True, kw_only=True)
class Execution:
    """How a conversion runs. No byte of the result depends on it."""

    jobs: int = 1
    """Threads."""
    progress: Progress = None
    unfinished: Path | None = None
    """The folder from which `containers.written` resumes; None if the conversion cannot be resumed."""


class Remaining:
    """Counts the remaining elements of each tensor, and reports progress."""

    def __init__(self, sizes: Mapping[str, int], complete: Collection[str], progress: Progress) -> None:
        self.sizes = {name: size for name, size in sizes.items() if name not in complete}
        self._total, self._progress = sum(sizes.values()), progress
        self._done = self._total - sum(self.sizes.values())

    def finish(self, name: str, count: int) -> bool:
        """Count elements that are done. Is the tensor complete?"""
        self.sizes[name] -= count
        self._done += count
        if self._progress:
            self._progress(self._done, self._total)
        return not self.sizes[name]


PLAIN = Execution()
"""One thread, without a report of progress."""


@dataclass(frozen=True, kw_only=True)
class QuantizeOptions:
    """Options of ``mxcast quantize``."""

    numerics: Encode | Nvfp4Encode
    profile: str | None = None
    layout: str | None = None
    """The layout of a library for the result; None for the layout of mxcast."""
    pad: bool = False
    """Complete the last block of each row with zeros."""
    seed: int = 0
    """Seed of the random bits of stochastic rounding, which depend on nothing else."""
    include: tuple[str, ...] = ()
    """Patterns of names (`fnmatch`): other tensors are copied. All tensors match an empty list."""
    exclude: tuple[str, ...] = ()
    """Patterns of the names of tensors that are copied."""
    is_transposed: bool = False
    """Swap the last two axes of tensors of three axes before they are quantized."""

    def __post_init__(self) -> None:
        """Raises ValueError for an unknown layout."""
        if self.layout is not None:
            object.__setattr__(self, "layout", known_name("layout", self.layout, LAYOUTS))

    def to_dict(self) -> dict[str, object]:
        return {**vars(self), "numerics": self.numerics.to_dict()}

    @classmethod
    def from_dict(cls, given: Mapping[str, object]) -> Self:
        """The inverse of `to_dict`, from JSON."""
        return constructed(cls, {**_with_tuples(given), "numerics": numerics_of(entry(given, "numerics", dict))})


@dataclass(frozen=True, kw_only=True)
class ConvertOptions:
    """Options of ``mxcast convert`` and ``mxcast dequantize``."""

    layout: str | None = None
    """The layout of the result; None for float32 numbers."""
    stored_as: str | None = None
    """The layout of the source: a dialect, or one of its layouts as ``quark:mxfp6_e2m3``. None if the source says it
    itself."""
    format: str | None = None
    """The block format of the source, if its layout has several."""
    profile: str | None = None
    """Rules for reading scales and codes, as `models.dequantize` takes them."""
    include: tuple[str, ...] = ()
    """Patterns of the names of arrays of codes: other arrays are copied. All arrays match an empty list."""
    exclude: tuple[str, ...] = ()
    """Patterns of the names of arrays that are copied."""
    experts: Experts | None = None
    """Arrangement of gate and up in the result; None to leave it."""
    block: str | None = None
    """Another block format with the same numbers (`models.arrays.bridge`), or as ``fp8_e4m3=mxfp8_e4m3`` one for the
    tensors in the first."""
    is_transposed: bool = False
    """Swap the last two axes of tensors of three axes after they are dequantized."""
    named: NamedArrays | None = None
    """Arrays that the user names, for files that no layout explains."""

    def __post_init__(self) -> None:
        """Raises ValueError for unknown names."""
        from ...spec.layouts.scaled import SCALED_LAYOUTS  # `quantize` starts sooner without it
        from ..layouts.experts import Experts

        if self.layout is not None:
            object.__setattr__(self, "layout", known_name("layout", self.layout, LAYOUTS | SCALED_LAYOUTS))
        if self.experts is not None:
            object.__setattr__(self, "experts", Experts.named("arrangement of experts", self.experts))

    def to_dict(self) -> dict[str, object]:
        return {**vars(self), "named": None if self.named is None else asdict(self.named)}

    @classmethod
    def from_dict(cls, given: Mapping[str, object]) -> Self:
        """The inverse of `to_dict`, from JSON."""
        from ..unrecognised.named_arrays import NamedArrays

        named = given["named"]
        arrays = constructed(NamedArrays, named) if isinstance(named, dict) else None
        return constructed(cls, {**_with_tuples(given), "named": arrays})


def _with_tuples(given: Mapping[str, object]) -> dict[str, object]:
    return {key: tuple(value) if isinstance(value, list) else value for key, value in given.items()}
