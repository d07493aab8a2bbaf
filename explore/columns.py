"""The columns of a report: what stands above them, how their figures are printed, and what they mean."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["FIGURES", "NAMES", "TEXTS", "Column", "known_figures", "shown_figures", "varies"]


@dataclass(frozen=True)
class Column:
    """A column of figures: its key in a row, its heading, what it means, how a figure is printed, and which figures are
    better.
    """

    key: str
    name: str
    meaning: str
    form: str = ",.0f"
    factor: float = 1
    """From the unit of the row to that of the heading."""
    better: int = -1
    """-1 less, 1 more, 0 neither."""


TEXTS = {
    "format": "Format",
    "target": "Target",
    "profile": "Profile",
    "source": "Source",
    "block_size": "Block size",
    "scale_rule": "Scale rule",
    "rounding": "Rounding",
    "random_bits": "Random bits",
    "specials": "NaN and Inf",
    "input_subnormals": "Input subnormals",
    "element_subnormals": "Element subnormals",
    "overflow": "Overflow",
    "amax": "Maximum",
    "amax_key": "Key of the maximum",
    "quantizer": "Quantizer",
    "structure": "Structure",
    "registered_after": "Registers after",
}

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
    Column("fmax_lowest_mhz", "Fmax lowest, MHz", "That of the worst seed.", ".1f", better=1),
    Column("fmax_highest_mhz", "Fmax highest, MHz", "That of the best seed.", ".1f", better=1),
    Column("blocks_per_s", "Blocks, millions/s", "One block a cycle at the median Fmax.", ".1f", 1e-6, 1),
    Column("gbytes_per_s", "Throughput, GB/s", "Source numbers taken in at that rate; 10⁹ bytes.", ".2f", 1, 1),
    Column("latency_cycles", "Latency, cycles", "Clock cycles from input to output; 0 without registers."),
    Column("carries", "Carries", "Carry cells."),
    Column("muxes", "Muxes", "Multiplexers behind LUTs."),
    Column("ffs", "FFs", "Flip-flops."),
    Column(
        "logic_cells",
        "Logic cells",
        "Estimate of the physical sites (LCs) that LUTs and carries fill; none for targets without one.",
    ),
    Column("pnr_seeds", "Seeds", "Runs of place and route.", better=0),
    Column(
        "max_relative_error",
        "Largest error\N{NO-BREAK SPACE}/ block\N{NO-BREAK SPACE}maximum",
        "Largest |y − x| of a block over the largest |x| of that block.",
        ".3g",
    ),
    Column(
        "saturated",
        "Saturated, %",
        f"{SHARE} lie beyond the largest magnitude that an element of their block can have.",
        ".3g",
        100,
    ),
    Column("flushed", "Flushed, %", f"{SHARE} became zero.", ".3g", 100),
    Column("lost", "Lost, %", f"{SHARE} became NaN or infinite.", ".3g", 100),
    Column(
        "mean_bias",
        "Mean bias",
        "Of magnitudes, (Σ|y| − Σ|x|) / Σ|x|: above 0 where numbers have become larger.",
        ".3g",
        better=0,
    ),
)
NAMES = TEXTS | {column.key: column.name for column in FIGURES}
ALWAYS = {"luts", "sqnr_db"}
"""Columns that stay even if they are the same in all points: axes that the page may open with."""


def varies(rows: Sequence[dict], key: str) -> bool:
    return len({row.get(key) for row in rows}) > 1


def known_figures(rows: Sequence[dict]) -> list[Column]:
    """The figures that some row has; that of lost numbers only where any are."""
    return [
        column
        for column in FIGURES
        if any(row.get(column.key) is not None and (row[column.key] or column.key != "lost") for row in rows)
    ]


def shown_figures(rows: Sequence[dict]) -> list[Column]:
    """The figures that tell points apart."""
    known = known_figures(rows)
    return [column for column in FIGURES if column.key in ALWAYS or (column in known and varies(rows, column.key))]
