"""Tables of qor.py: the records, the baselines, place and route, and the limits. README.md has a short one."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict

from mxcast.synth.baselines import BASELINES, FIGURES, MEASURED

from ..pages import filled, table
from .limits import ALL, LIMITS, Check, checks

Row = dict[str, object]


def _cell(value: object) -> str:
    return "-" if value is None else f"{value:.2f}" if isinstance(value, float) else str(value)


def _markdown(rows: Iterable[Row], texts: int = 1) -> str:
    """A table of these rows, whose keys are its columns."""
    rows = list(rows)
    return table(list(rows[0]), ([_cell(value) for value in row.values()] for row in rows), texts)


def _pair(result: dict | None) -> str | None:
    """LUTs and carries; LUTs alone without a count of carries."""
    if not result or result.get("luts") is None:
        return None
    return f"{result['luts']}/{result['carries']}" if result.get("carries") else str(result["luts"])


def _flows(by_flow: dict[str, dict]) -> Row:
    """The columns of one converter, from its results by flow."""
    xcu, ecp5 = (by_flow.get(flow, {}) for flow in ("xcu", "ecp5"))
    xcu_relaxed, ecp5_relaxed = (by_flow.get(f"{flow}-relaxed", {}) for flow in ("xcu", "ecp5"))
    return {
        "xcu": _pair(xcu),
        "LCs": xcu.get("logic_cells"),
        "levels": xcu.get("levels"),
        "FFs": xcu.get("ffs"),
        "ps": xcu.get("delay_ps"),
        "xcu relaxed": _pair(xcu_relaxed),
        "relaxed LCs": xcu_relaxed.get("logic_cells"),
        "ecp5": _pair(ecp5),
        "ecp5 LCs": ecp5.get("logic_cells"),
        "ecp5 ps": ecp5.get("delay_ps"),
        "ecp5 relaxed": _pair(ecp5_relaxed),
        "ecp5 relaxed LCs": ecp5_relaxed.get("logic_cells"),
        "ice40": _pair(by_flow.get("ice40")),
        "lut6": _pair(by_flow.get("lut6")),
    }


def _by_flow(rows: Iterable[tuple[tuple, str, dict]]) -> dict[tuple, dict[str, dict]]:
    found: dict[tuple, dict[str, dict]] = {}
    for key, flow, result in rows:
        found.setdefault(key, {})[flow] = result
    return found


def _own(records: list[dict]) -> str:
    synthesised = _by_flow(
        ((r["job"], r["variant"], r["format"]), r["flow"], r["result"]) for r in records if r["flow"] != "pnr"
    )
    if not synthesised:
        return ""
    rows = [
        {
            "job": job,
            "variant": variant,
            "format": name,
            **_flows(flows),
            "proved": flows.get("proof", {}).get("status"),
        }
        for (job, variant, name), flows in synthesised.items()
    ]
    versions = ", ".join(dict.fromkeys(r["yosys"] for r in records))
    return (
        f"### mxcast\n\n{_markdown(rows, 3)}\npyosys {versions}. LUTs/carries; `bf16` is the source, FP32 "
        "otherwise. Proved: the "
        "Verilog for xcu, for every block.\n\n"
    )


def _baselines() -> str:
    synthesised = _by_flow(((f.design, f.format), f.flow, vars(f)) for f in FIGURES if f.flow != "pnr")
    rows = [{"design": design, "format": name, **_flows(flows)} for (design, name), flows in synthesised.items()]
    about = "".join(
        f"* `{d.name}`, from {d.source.upper()}: {d.origin}. {d.remark[:1].upper()}{d.remark[1:]}.\n"
        for d in BASELINES.values()
    )
    return f"### Others\n\n{_markdown(rows, 2)}\n{MEASURED}. LUTs/carries, whole converters of 32 lanes.\n\n{about}\n"


def _placed(records: list[dict]) -> str:
    ours = [r for r in records if r["flow"] == "pnr"]
    rows = [
        {
            "design": f"mxcast {r['job']}, {r['variant']}",
            "format": r["format"],
            "COMB": found["logic_cells"],
            "FFs": found["ffs"],
            "own FFs": found["own_ffs"],
            "Fmax, MHz": f"{found['fmax_mhz']:.1f}",
            "range": " to ".join(f"{mhz:.1f}" for mhz in found["fmax_range_mhz"]),
        }
        for r in ours
        for found in (r["result"],)
    ]
    rows += [
        {
            "design": f.design,
            "format": f.format,
            "COMB": f.logic_cells,
            "FFs": f.ffs,
            "own FFs": None,
            "Fmax, MHz": f"{f.fmax_mhz:.1f}",
            "range": None,
        }
        for f in FIGURES
        if f.flow == "pnr"
    ]
    tools = "".join(f" Ours: nextpnr {r['nextpnr']}, {r['seeds']} seeds." for r in ours[:1])
    return (
        f"### Placed and routed\n\n{_markdown(rows, 2)}\nECP5 LFE5U-85F-6, between registers; medians over the "
        f"seeds.{tools} "
        "COMB and FFs include the wrapper's.\n\n"
    )


def _limits(records: list[dict]) -> str:
    """One row a limit; a ratio that misses its limit is bold."""
    found = checks(records)
    if all(check.ratio is None for check in found):
        return ""

    def cell(o: Check) -> str | None:
        if o.ratio is None:
            return None
        text = f"{o.ratio:.2f}" + (f" ({o.cells_ratio:.2f})" if o.cells_ratio else "")
        return text if o.holds else f"**{text}**"

    rows = [
        {
            "comparison": limit.description,
            "job": f"{limit.job}, {limit.variant}",
            "against": limit.baseline or (f"our {limit.own}" if limit.own else "-"),
            "figure": f"{limit.measure}, {limit.flow}",
            "limit": f"{'>=' if limit.at_least else '<='} {limit.bound:g}",
            **{name: next((cell(o) for o in found if o.limit is limit and o.format == name), "") for name in ALL},
        }
        for limit in LIMITS
    ]
    decided = [o.holds for o in found if o.holds is not None]
    return (
        f"### Limits\n\n{sum(decided)} of {len(decided)} measured limits hold, {len(found) - len(decided)} are not "
        "measured (-). "
        "Ratios of ours to theirs, in brackets the ratios of LCs; bold if the limit is missed.\n\n"
        f"{_markdown(rows, 5)}\n"
    )


SHORT = {
    "`xcu`, LUTs": ("xcu", "luts"),
    "`ecp5`, logic cells": ("ecp5", "logic_cells"),
    "`ecp5-relaxed`, logic cells": ("ecp5-relaxed", "logic_cells"),
    "`ice40`, LUTs": ("ice40", "luts"),
    "`asic`, um2": ("asic", "area"),
}
"""Rows of the short table: a target, and the figure that says its area."""


def _short(records: list[dict], cells: list[dict]) -> str:
    """Table of README.md: areas by target, each with the ratio of the flushed converter to the paper's."""
    found = {(r["job"], r["format"], r["flow"]): r["result"] for r in records if r["variant"] == "smallest"}
    found |= {(f.design, f.format, f.flow): asdict(f) for f in FIGURES}
    found |= {(kept["design"], kept["format"], "asic"): kept for kept in cells}

    def cell(name: str, target: str, measure: str) -> str | None:
        lines = [found.get((design, name, target)) for design in ("ocp", "ocp flush", "paper")]
        exact, flushed, paper = (line and line[measure] for line in lines)
        return f"{exact} ({flushed / paper:.2f})" if exact and flushed and paper else None

    rows = [{"`--target`": label} | {name: cell(name, *of) for name in ALL} for label, of in SHORT.items()]
    return (
        _markdown(rows) + "\nArea of converters of 32 FP32 numbers under `ocp`. In brackets: with FP32 subnormals "
        "flushed, as a multiple of\nGorodecky and Sousa's Verilog, which does less.\n"
    )


def rendered(page: str, records: list[dict], cells: list[dict]) -> str:
    """A page with its tables, of records in LUTs and in standard cells."""
    long = _own(records) + _baselines() + _placed(records) + _limits(records)
    blocks = {"qor": long, "qor: short": _short(records, cells)}
    return filled(page, {name: text.rstrip("\n") + "\n" * bool(text) for name, text in blocks.items()})
