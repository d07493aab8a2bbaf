"""Converters of other projects, for comparison: the figures of records/baselines.toml."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from importlib.resources import files


@dataclass(frozen=True, kw_only=True)
class Baseline:
    """A design of another project, with a remark on its features and limits."""

    name: str
    source: str
    """Format of the input numbers."""
    remark: str
    origin: str


@dataclass(frozen=True, kw_only=True)
class Figure:
    """Cost of a baseline's converter in one flow; None if not measured. Our own results have the same fields."""

    design: str
    """Name of the baseline."""
    format: str
    """Short name of the block format."""
    flow: str
    """A target, or ``pnr`` for place and route on ECP5: there logic cells are TRELLIS_COMB, including the wrapper."""
    luts: int | None = None
    carries: int | None = None
    ffs: int | None = None
    logic_cells: int | None = None
    levels: int | None = None
    delay_ps: int | None = None
    fmax_mhz: float | None = None


@dataclass(frozen=True, kw_only=True)
class Published:
    """LUTs and critical path of a converter, as its authors printed them."""

    luts: int
    ns: float


_RECORD = tomllib.loads((files("mxcast.records") / "baselines.toml").read_text(encoding="utf-8"))

MEASURED: str = _RECORD["measured"]
"""Tools with which the figures of the baselines were measured."""

BASELINES: dict[str, Baseline] = {
    one["name"]: Baseline(**{key: text for key, text in one.items() if key != "figures"}) for one in _RECORD["baseline"]
}

FIGURES: tuple[Figure, ...] = tuple(
    Figure(design=one["name"], **measured) for one in _RECORD["baseline"] for measured in one["figures"]
)

PUBLISHED: dict[str, Published] = {
    element: Published(**printed) for element, printed in _RECORD["published"]["figures"].items()
}
"""By element: Gorodecky and Sousa, table VIII."""

NOTE: str = _RECORD["published"]["note"]
"""Why these columns and ours are not one comparison."""


def figure(design: str, format: str, flow: str) -> Figure | None:
    """The figure of a baseline, or None if it is missing.

    >>> figure("paper", "e4m3", "xcu").luts
    1417
    """
    return next((f for f in FIGURES if (f.design, f.format, f.flow) == (design, format, flow)), None)
