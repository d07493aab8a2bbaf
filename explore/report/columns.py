"""Columns of a report: headings, formats of figures, and meanings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Column:
    """A column of figures."""

    key: str
    """Key in a row."""
    name: str
    """Heading."""
    meaning: str
    form: str = ",.0f"
    """Format of a figure."""
    factor: float = 1
    """Factor from the unit of the row to the unit of the heading."""
    better: int = -1
    """-1 less, 1 more, 0 neither."""
    is_further: bool = False
    """Shown when further figures are asked for, unless it is an objective of the sweep."""

    @property
    def label(self) -> str:
        """The heading, and which figures are better."""
        return self.name + {-1: " (less is better)", 0: "", 1: " (more is better)"}[self.better]


@dataclass(frozen=True)
class Text:
    """A column of texts, and its other uses in the report."""

    key: str
    name: str
    rank: int | None = None
    """Order in which columns are drawn as colour or marker; None for columns that never are."""
    named: bool = False
    """Do its values need the heading to be understood?"""
    built: bool = False
    """May entries of the ablation differ in it?"""


COLUMNS_OF_TEXT = (
    Text("format", "Format", 2),
    Text("target", "Target", 15),
    Text("profile", "Profile"),
    Text("source", "Source", 11, built=True),
    Text("destination", "Destination", 16),
    Text("block_size", "Block size", 12, named=True, built=True),
    Text("scale_rule", "Scale rule", 0),
    Text("scale_reading", "Scale byte", 17, named=True),
    Text("rounding", "Rounding", 1),
    Text("random_bits", "Random bits", 14, named=True, built=True),
    Text("specials", "NaN and Inf", 7, named=True),
    Text("input_subnormals", "Input subnormals", 8, named=True),
    Text("element_subnormals", "Element subnormals", 9, named=True),
    Text("subnormals", "Subnormal results", 18, named=True),
    Text("overflow", "Overflow", 10, named=True),
    Text("nan", "NaN", 19, named=True),
    Text("nan_substitute", "NaN of a format without it", 20, named=True),
    Text("zero", "Zero", 21, named=True),
    Text("negative", "Below zero", 22, named=True),
    Text("underflow", "Underflow", 23, named=True),
    Text("amax", "Maximum", 4),
    Text("amax_key", "Key of the maximum", 5),
    Text("quantizer", "Quantizer", 3),
    Text("lane", "Lane", 24),
    Text("structure", "Structure", 6),
    Text("interface", "Interface", 28),
    Text("scale_place", "Scale place", 29, named=True),
    Text("order", "Order", 25, named=True),
    Text("four_over_six", "4 over 6", 26, named=True),
    Text("form", "Form", 27, named=True),
    Text("registered_after", "Registers after", 13, named=True, built=True),
)
"""Every rule and choice of a point, in the order of the tables."""

TEXTS = {column.key: column.name for column in COLUMNS_OF_TEXT}
"""Headings by key."""
GROUPS = tuple(column.key for column in sorted(COLUMNS_OF_TEXT, key=lambda c: c.rank or 0) if column.rank is not None)
"""Columns that are drawn as colour or marker, best first."""
NAMED = {column.key for column in COLUMNS_OF_TEXT if column.named}
BUILT = [column.key for column in COLUMNS_OF_TEXT if column.built]

SHARE = "Share of the non-zero finite numbers that"
FIGURES = (
    Column("luts", "LUTs", "Look-up tables of the whole converter, mapped to the target."),
    Column("levels", "Levels", "LUT, multiplexer and carry cells on the longest path between ports or flip-flops."),
    Column(
        "delay_ps", "Delay, ns", "Estimate of the longest path by the delays of its cells, without wires.", ".2f", 1e-3
    ),
    Column(
        "sqnr_db",
        "SQNR, dB",
        "Signal to quantization noise ratio: 10 log₁₀ of Σx² / Σ(y − x)², over the numbers x given and what "
        "they became, y, where both are finite; ∞ without noise, which is null in JSON.",
        ".2f",
        1,
        1,
    ),
    Column(
        "fmax_mhz",
        "Fmax, MHz",
        "Largest clock frequency between registers after place and route: the median over the seeds.",
        ".1f",
        better=1,
    ),
    Column("fmax_lowest_mhz", "Fmax lowest, MHz", "Frequency with the worst seed.", ".1f", better=1, is_further=True),
    Column("fmax_highest_mhz", "Fmax highest, MHz", "Frequency with the best seed.", ".1f", better=1, is_further=True),
    Column("blocks_per_s", "Blocks, millions/s", "Blocks at the median Fmax.", ".1f", 1e-6, 1),
    Column(
        "gbytes_per_s",
        "Throughput, GB/s",
        "Numbers at that rate, at the input, or at the output of a decoder; 10⁹ bytes.",
        ".2f",
        1,
        1,
    ),
    Column("latency_cycles", "Latency, cycles", "Clock cycles from input to output; 0 without registers."),
    Column("numbers_per_cycle", "Numbers/cycle", "Numbers that enter in a clock cycle.", better=1),
    Column("carries", "Carries", "Carry cells.", is_further=True),
    Column("muxes", "Muxes", "Multiplexers behind LUTs.", is_further=True),
    Column("ffs", "FFs", "Flip-flops.", is_further=True),
    Column(
        "logic_cells",
        "Logic cells",
        "Estimate of the physical sites (LCs) that LUTs and carries fill; none for targets without one.",
        is_further=True,
    ),
    Column("pnr_seeds", "Seeds", "Runs of place and route.", better=0, is_further=True),
    Column(
        "max_relative_error",
        "Largest error\N{NO-BREAK SPACE}/ block\N{NO-BREAK SPACE}maximum",
        "Largest |y − x| of a block over the largest |x| of that block; for decoders and casts, of single numbers.",
        ".3g",
        is_further=True,
    ),
    Column("differing", "Differing, %", f"{SHARE} became another value; for decoders and casts.", ".3g", 100),
    Column(
        "saturated",
        "Saturated, %",
        f"{SHARE} lie beyond the largest magnitude of the result.",
        ".3g",
        100,
        is_further=True,
    ),
    Column("flushed", "Flushed, %", f"{SHARE} became zero.", ".3g", 100, is_further=True),
    Column("lost", "Lost, %", f"{SHARE} became NaN or infinite.", ".3g", 100),
    Column(
        "mean_bias",
        "Mean bias",
        "Growth of magnitudes, (Σ|y| − Σ|x|) / Σ|x|: above 0 if numbers became larger.",
        ".3g",
        better=0,
        is_further=True,
    ),
)
LABELS = {column.key: column.label for column in FIGURES}
NAMES = TEXTS | {column.key: column.name for column in FIGURES}
ALWAYS = {"luts", "sqnr_db"}
"""Columns that are shown even if all points are equal: axes of the first drawing."""


def varies(rows: Sequence[dict], key: str) -> bool:
    return len({row.get(key) for row in rows}) > 1


def known_figures(rows: Sequence[dict]) -> list[Column]:
    """The figures of at least one row; the share of lost numbers only if it is not zero."""
    return [
        column
        for column in FIGURES
        if any(row.get(column.key) is not None and (row[column.key] or column.key != "lost") for row in rows)
    ]


def shown_figures(rows: Sequence[dict]) -> list[Column]:
    """The figures that differ between points."""
    known = known_figures(rows)
    return [column for column in FIGURES if column.key in ALWAYS or (column in known and varies(rows, column.key))]
