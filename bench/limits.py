"""What the converters have to reach, as data: which of our figures, against whose, and how far.

A bar holds where ours / theirs is at most (LUTs, delays) or at least (Fmax) the limit.
"""

from __future__ import annotations

from dataclasses import dataclass

from mxcast.synth.baselines import figure

__all__ = ["ALL", "BARS", "Bar", "Outcome", "outcomes"]

WIDE, NARROW = ("e5m2", "e4m3"), ("e3m2", "e2m3", "e2m1")
FLOATS = WIDE + NARROW
ALL = (*FLOATS, "int8")


@dataclass(frozen=True, kw_only=True)
class Bar:
    """One line of what is asked, for each of ``formats``. ``job`` and ``variant`` are those of qor.py, ``flow`` a
    target or ``pnr``.
    """

    says: str
    job: str
    formats: tuple[str, ...]
    limit: float
    variant: str = "smallest"
    flow: str = "xcu"
    measure: str = "luts"
    peer: str | None = None
    """The design of `synth.baselines` that ours is compared with."""
    own: str | None = None
    """The job of ours that it is compared with, of the same variant. With neither the limit is absolute."""

    @property
    def at_least(self) -> bool:
        return self.measure == "fmax_mhz"


@dataclass(frozen=True, kw_only=True)
class Outcome:
    bar: Bar
    format: str
    ours: float | None
    theirs: float | None
    cells_ratio: float | None
    """Ratio of logic cells, beside that of LUTs."""

    @property
    def ratio(self) -> float | None:
        """Ours over theirs; ours itself where the limit is absolute."""
        if self.ours is None or (self.bar.peer is None and self.bar.own is None):
            return self.ours
        return self.ours / self.theirs if self.theirs else None

    @property
    def holds(self) -> bool | None:
        """None where one of the two was not measured."""
        if self.ratio is None:
            return None
        return self.ratio >= self.bar.limit if self.bar.at_least else self.ratio <= self.bar.limit


BARS: tuple[Bar, ...] = (
    Bar(says="the paper's job", job="gorodecky_sousa", formats=WIDE, limit=0.95, peer="paper"),
    Bar(says="the paper's job", job="gorodecky_sousa", formats=NARROW, limit=0.75, peer="paper"),
    Bar(
        says="the paper's job, as asked of vendors' primitives",
        job="gorodecky_sousa",
        formats=FLOATS,
        limit=0.72,
        peer="paper",
    ),
    Bar(says="all rules, FP32 subnormals flushed", job="ocp flush", formats=WIDE, limit=1.25, peer="paper"),
    Bar(says="all rules, FP32 subnormals flushed", job="ocp flush", formats=NARROW, limit=1.0, peer="paper"),
    Bar(says="all rules, FP32 subnormals flushed", job="ocp flush", formats=("int8",), limit=1.3, peer="paper"),
    Bar(says="the same, as asked of vendors' primitives", job="ocp flush", formats=WIDE, limit=0.92, peer="paper"),
    Bar(
        says="price of exact FP32 subnormals", job="ocp", formats=("e2m3", "e2m1", "int8"), limit=1.05, own="ocp flush"
    ),
    Bar(
        says="price of exact FP32 subnormals", job="ocp", formats=("e5m2", "e4m3", "e3m2"), limit=1.35, own="ocp flush"
    ),
    Bar(says="BF16 input", job="ocp bf16", formats=FLOATS, limit=0.45, peer="mx_for_fpga"),
    Bar(says="BF16 input", job="ocp bf16", formats=("int8",), limit=0.65, peer="mx_for_fpga"),
    Bar(says="FP32 input", job="ocp flush", formats=WIDE, limit=0.68, peer="mxcore"),
    Bar(says="FP32 input, as asked of vendors' primitives", job="ocp flush", formats=WIDE, limit=0.50, peer="mxcore"),
    Bar(says="price of ceil", job="nvidia", formats=ALL, limit=1.05, own="ocp"),
    Bar(says="price of ceil, FP32 subnormals flushed", job="nvidia flush", formats=ALL, limit=1.05, own="ocp flush"),
    Bar(
        says="price of NaN and Inf, against leaving them out",
        job="ocp flush",
        formats=ALL,
        limit=1.03,
        own="ocp flush drop",
    ),
    Bar(says="delay", job="ocp flush", formats=ALL, variant="speed", measure="delay_ps", limit=0.78, peer="paper"),
    Bar(says="delay", job="ocp flush", formats=WIDE, variant="speed", measure="delay_ps", limit=0.58, peer="mxcore"),
    Bar(
        says="Fmax, combinational",
        job="ocp flush",
        formats=ALL,
        variant="speed",
        flow="pnr",
        measure="fmax_mhz",
        limit=1.1,
        peer="paper",
    ),
    Bar(
        says="Fmax, combinational",
        job="ocp flush",
        formats=WIDE,
        variant="speed",
        flow="pnr",
        measure="fmax_mhz",
        limit=1.9,
        peer="mxcore",
    ),
    Bar(
        says="Fmax, pipelined, MHz",
        job="ocp flush",
        formats=ALL,
        variant="pipelined",
        flow="pnr",
        measure="fmax_mhz",
        limit=150,
    ),
    Bar(
        says="Fmax, pipelined",
        job="ocp bf16",
        formats=ALL,
        variant="pipelined",
        flow="pnr",
        measure="fmax_mhz",
        limit=1.7,
        peer="mx_for_fpga_pipelined",
    ),
    Bar(
        says="LUTs, pipelined",
        job="ocp bf16",
        formats=ALL,
        variant="pipelined",
        limit=1.0,
        peer="mx_for_fpga_pipelined",
    ),
)


def outcomes(records: list[dict]) -> list[Outcome]:
    """What became of each bar in each of its formats, from the records of qor.py."""
    kept = {(r["job"], r["variant"], r["format"], r["flow"]): r["result"] for r in records}

    def ours(bar: Bar, job: str | None, name: str, measure: str) -> float | None:
        return kept.get((job, bar.variant, name, bar.flow), {}).get(measure)

    def theirs(bar: Bar, name: str, measure: str) -> float | None:
        if bar.peer:
            return getattr(figure(bar.peer, name, bar.flow), measure, None)
        return ours(bar, bar.own, name, measure)

    found = []
    for bar in BARS:
        for name in bar.formats:
            cells = (
                [ours(bar, bar.job, name, "logic_cells"), theirs(bar, name, "logic_cells")]
                if bar.measure == "luts"
                else [None]
            )
            found.append(
                Outcome(
                    bar=bar,
                    format=name,
                    ours=ours(bar, bar.job, name, bar.measure),
                    theirs=theirs(bar, name, bar.measure),
                    cells_ratio=cells[0] / cells[1] if all(cells) else None,
                )
            )
    return found
