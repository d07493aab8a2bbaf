"""Limits of the converters as data: our figure, the other figure, and the bound of their ratio.

A limit holds where ours / theirs is at most (LUTs, delays) or at least (Fmax) its bound.
"""

from __future__ import annotations

from dataclasses import dataclass

from mxcast.synth.baselines import figure

WIDE, NARROW = ("e5m2", "e4m3"), ("e3m2", "e2m3", "e2m1")
FLOATS = WIDE + NARROW
ALL = (*FLOATS, "int8")

AREA_ECP5 = {"flow": "ecp5-relaxed", "measure": "logic_cells"}
"""LUT4 and two for each CCU2C, mapped for area."""


@dataclass(frozen=True, kw_only=True)
class Limit:
    """A limit for each of ``formats``. ``job`` and ``variant`` are keys of qor.py, ``flow`` is a target or ``pnr``."""

    description: str
    job: str
    formats: tuple[str, ...]
    bound: float
    variant: str = "smallest"
    flow: str = "xcu"
    measure: str = "luts"
    baseline: str | None = None
    """The design of `synth.baselines` that ours is compared with."""
    own: str | None = None
    """The job of ours that it is compared with, of the same variant. With neither the limit is absolute."""

    @property
    def at_least(self) -> bool:
        return self.measure == "fmax_mhz"


@dataclass(frozen=True, kw_only=True)
class Check:
    limit: Limit
    format: str
    ours: float | None
    theirs: float | None
    cells_ratio: float | None
    """Ratio of logic cells, in addition to LUTs."""

    @property
    def ratio(self) -> float | None:
        """Ours over theirs; ours itself where the limit is absolute."""
        if self.ours is None or (self.limit.baseline is None and self.limit.own is None):
            return self.ours
        return self.ours / self.theirs if self.theirs else None

    @property
    def holds(self) -> bool | None:
        """None where one of the two was not measured."""
        if self.ratio is None:
            return None
        return self.ratio >= self.limit.bound if self.limit.at_least else self.ratio <= self.limit.bound


LIMITS: tuple[Limit, ...] = (
    Limit(description="the paper's job", job="gorodecky_sousa", formats=WIDE, bound=0.95, baseline="paper"),
    Limit(description="the paper's job", job="gorodecky_sousa", formats=NARROW, bound=0.75, baseline="paper"),
    Limit(
        description="the paper's job, as asked of vendors' primitives",
        job="gorodecky_sousa",
        formats=FLOATS,
        bound=0.72,
        baseline="paper",
    ),
    Limit(
        description="all rules, FP32 subnormals flushed", job="ocp flush", formats=WIDE, bound=1.25, baseline="paper"
    ),
    Limit(
        description="all rules, FP32 subnormals flushed", job="ocp flush", formats=NARROW, bound=1.0, baseline="paper"
    ),
    Limit(
        description="all rules, FP32 subnormals flushed",
        job="ocp flush",
        formats=("int8",),
        bound=1.3,
        baseline="paper",
    ),
    Limit(
        description="the same, as asked of vendors' primitives",
        job="ocp flush",
        formats=WIDE,
        bound=0.92,
        baseline="paper",
    ),
    Limit(
        description="price of exact FP32 subnormals",
        job="ocp",
        formats=("e2m3", "e2m1", "int8"),
        bound=1.05,
        own="ocp flush",
    ),
    Limit(
        description="price of exact FP32 subnormals",
        job="ocp",
        formats=("e5m2", "e4m3", "e3m2"),
        bound=1.35,
        own="ocp flush",
    ),
    Limit(description="BF16 input", job="ocp bf16", formats=FLOATS, bound=0.45, baseline="mx_for_fpga"),
    Limit(description="BF16 input", job="ocp bf16", formats=("int8",), bound=0.65, baseline="mx_for_fpga"),
    Limit(description="FP32 input", job="ocp flush", formats=WIDE, bound=0.68, baseline="mxcore"),
    Limit(
        description="FP32 input, as asked of vendors' primitives",
        job="ocp flush",
        formats=WIDE,
        bound=0.50,
        baseline="mxcore",
    ),
    Limit(description="price of ceil", job="nvidia", formats=ALL, bound=1.05, own="ocp"),
    Limit(
        description="price of ceil, FP32 subnormals flushed",
        job="nvidia flush",
        formats=ALL,
        bound=1.05,
        own="ocp flush",
    ),
    *(
        Limit(description="price of ceil", job="nvidia", formats=("e4m3",), bound=1.12, own="ocp", **flow)
        for flow in (AREA_ECP5, {"flow": "ice40"})
    ),
    Limit(
        description="all rules, FP32 subnormals flushed",
        job="ocp flush",
        formats=FLOATS,
        bound=1.0,
        baseline="paper",
        **AREA_ECP5,
    ),
    Limit(
        description="all rules, FP32 subnormals flushed",
        job="ocp flush",
        formats=("int8",),
        bound=1.2,
        baseline="paper",
        **AREA_ECP5,
    ),
    Limit(
        description="price of exact FP32 subnormals, ECP5",
        job="ocp",
        formats=ALL,
        bound=1.25,
        own="ocp flush",
        **AREA_ECP5,
    ),
    Limit(
        description="price of NaN and Inf, against leaving them out",
        job="ocp flush",
        formats=ALL,
        bound=1.03,
        own="ocp flush drop",
    ),
    Limit(
        description="delay",
        job="ocp flush",
        formats=ALL,
        variant="speed",
        measure="delay_ps",
        bound=0.78,
        baseline="paper",
    ),
    Limit(
        description="delay",
        job="ocp flush",
        formats=WIDE,
        variant="speed",
        measure="delay_ps",
        bound=0.58,
        baseline="mxcore",
    ),
    Limit(
        description="Fmax, combinational",
        job="ocp flush",
        formats=ALL,
        variant="speed",
        flow="pnr",
        measure="fmax_mhz",
        bound=1.1,
        baseline="paper",
    ),
    Limit(
        description="Fmax, combinational",
        job="ocp flush",
        formats=WIDE,
        variant="speed",
        flow="pnr",
        measure="fmax_mhz",
        bound=1.9,
        baseline="mxcore",
    ),
    Limit(
        description="Fmax, pipelined, MHz",
        job="ocp flush",
        formats=ALL,
        variant="pipelined",
        flow="pnr",
        measure="fmax_mhz",
        bound=150,
    ),
    Limit(
        description="Fmax, pipelined",
        job="ocp bf16",
        formats=ALL,
        variant="pipelined",
        flow="pnr",
        measure="fmax_mhz",
        bound=1.7,
        baseline="mx_for_fpga_pipelined",
    ),
    Limit(
        description="LUTs, pipelined",
        job="ocp bf16",
        formats=ALL,
        variant="pipelined",
        bound=1.0,
        baseline="mx_for_fpga_pipelined",
    ),
)


def checks(records: list[dict]) -> list[Check]:
    """Outcome of each limit in each of its formats, from the records of qor.py."""
    kept = {(r["job"], r["variant"], r["format"], r["flow"]): r["result"] for r in records}

    def ours(limit: Limit, job: str | None, name: str, measure: str) -> float | None:
        return kept.get((job, limit.variant, name, limit.flow), {}).get(measure)

    def theirs(limit: Limit, name: str, measure: str) -> float | None:
        if limit.baseline:
            return getattr(figure(limit.baseline, name, limit.flow), measure, None)
        return ours(limit, limit.own, name, measure)

    found = []
    for limit in LIMITS:
        for name in limit.formats:
            cells = (
                [ours(limit, limit.job, name, "logic_cells"), theirs(limit, name, "logic_cells")]
                if limit.measure == "luts"
                else [None]
            )
            found.append(
                Check(
                    limit=limit,
                    format=name,
                    ours=ours(limit, limit.job, name, limit.measure),
                    theirs=theirs(limit, name, limit.measure),
                    cells_ratio=cells[0] / cells[1] if all(cells) else None,
                )
            )
    return found
