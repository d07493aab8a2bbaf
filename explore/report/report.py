"""The report of an exploration: one HTML file that needs no network, and no JavaScript to be read."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from .columns import BUILT, GROUPS, NAMES, TEXTS, Column, known_figures, shown_figures, varies
from .method_section import method_section
from .recommendation import named, recommended
from .scatter import (
    DARK,
    HEIGHT,
    LIGHT,
    SPAN,
    STEP,
    STYLE,
    WIDTH,
    encoding,
    line_swatch,
    scatter,
    swatch,
    upright,
    values,
)
from .tables import MISSING, Head, count, number, table, text

FURTHER = '<label class="switch"><input type="checkbox" id="further"> further figures</label>'
"""The switch of hidden columns."""

FIRST = ("profile", "scale_rule")
"""First columns of the table."""


BUILT_AS = {key: TEXTS[key] for key in BUILT[:-1]} | {"build": "Built as"} | {key: TEXTS[key] for key in BUILT[-1:]}
"""Columns in which entries of the ablation may differ; shown if they do."""
ABLATION = {
    "target": "Target",
    "format": "Format",
    **BUILT_AS,
    "clause": "Clause",
    "without": "Without",
    "with": "With",
    "luts": "LUTs",
    "percent": "LUTs, %",
    "levels": "Levels",
    "sqnr_db": "SQNR, dB",
    "most_db": "Most, dB",
    "most_on": "On",
}
SIGNED = {"luts": "+,.0f", "percent": "+.1f", "levels": "+.0f", "sqnr_db": "+.2f", "most_db": "+.2f"}


TEMPLATE = Environment(
    loader=FileSystemLoader(Path(__file__).parent),
    undefined=StrictUndefined,
    keep_trailing_newline=True,
    autoescape=False,
).get_template("report.html")
"""Its parts are HTML."""


def report(
    rows: list[dict], ablation: list[dict], method: dict, missing: int = 0, left_out: Mapping[str, int] | None = None
) -> str:
    """The page; the same arguments give the same text.

    ``rows`` are the points of a sweep, and ``ablation`` the entries of its ablation. ``method`` contains a text, list
    or table by heading; ``sweep`` and ``objectives`` are printed in the lead. Failed points are in a section with their
    logs. ``missing`` is the number of points that are not on record, and ``left_out`` the number of combinations that
    cannot be built, by reason.
    """
    left_out = left_out or {}
    done, failed = ([row for row in rows if (row["status"] == "done") == good] for good in (True, False))
    texts, figures = [key for key in TEXTS if varies(done, key)], shown_figures(done)
    objectives = method.get("objectives", [])
    tensors = list(dict.fromkeys(name for row in done for name in row.get("accuracy") or {}))
    parts = {
        "title": escape(f"mxcast explore: {method.get('sweep', 'a sweep')}"),
        "light": LIGHT,
        "dark": DARK,
        "drawing": STYLE,
        "recommendation": _recommendation(done),
        "lead": _lead(done, failed, objectives, missing, sum(left_out.values())),
        "filters": "".join(_select(key, values(done, key)) for key in GROUPS if len(values(done, key)) > 1),
        "legend": _legend(done),
        "size": f"0 0 {WIDTH} {HEIGHT}",
        "scatter": scatter(done, [named(row, texts) for row in done]),
        "same": _same(done, texts, figures),
        "table": _points(done, texts, figures, objectives),
        "further": FURTHER if any(one.is_further and one.key not in objectives for one in figures) else "",
        "failed": _failures(failed, [key for key in TEXTS if varies(rows, key)]),
        "ablation": _ablation(ablation),
        "method": method_section(method, done, left_out),
        "step": STEP,
        "span": SPAN,
        "data": _json(done, figures, tensors if len(tensors) > 1 else []),
    }
    return TEMPLATE.render(parts)


def _recommendation(done: list[dict]) -> str:
    lines = []
    for one in recommended(done):
        others = f"<p>Or {_kept_together('; '.join(one.others))}.</p>" if one.others else ""
        lines.append(
            f"<li><strong>{escape(one.about)}</strong>: {_kept_together(one.text)}"
            f"{_command(one.command, one.about) if one.command else ''}{others}</li>"
        )
    return f'<ul class="recommendation">{"".join(lines)}</ul>' if lines else ""


def _kept_together(sentence: str) -> str:
    """The sentence as HTML, without line breaks before units."""
    return re.sub(r"(?<=\d) (?=%|dB)", "&nbsp;", escape(sentence))


def _command(text: str, of: str) -> str:
    """A command with line breaks between its options, and a button that copies it."""
    first, *options = escape(text).split(" --")
    shown = " ".join([first, *(f"<span>--{option}</span>" for option in options)])
    button = f'<button type="button" class="copy" aria-label="Copy the command of {escape(of)}">Copy</button>'
    return f'<div class="command"><code>{shown}</code>{button}</div>'


def _lead(done: list[dict], failed: list[dict], objectives: Sequence[str], missing: int, left_out: int) -> str:
    total = len(done) + len(failed)
    said = [f"{count(total, 'point')}: {len(done):,} done, {len(failed):,} failed."]
    if missing:
        said.append(
            f"{missing:,} of {count(total + missing, 'point')} {'is' if missing == 1 else 'are'} not on record."
        )
    if left_out:
        said.append(f"{count(left_out, 'combination')} cannot be built (the reasons are under Method).")
    if best := sum(bool(row["pareto"]) for row in done):
        goals = f" of {' × '.join(NAMES.get(goal, goal).split(',')[0] for goal in objectives)}" if objectives else ""
        said.append(
            f"{best:,} {'is' if best == 1 else 'are'} on the front{goals}: no other point of the target is at least "
            "as good in all and better in one."
        )
    elif objectives and done:
        said.append(f"The front is empty: no point has all of {', '.join(objectives)}.")
    if exact := sum(row["sqnr_db"] == math.inf for row in done):
        said.append(
            f"{count(exact, 'point')} lose{'s' if exact == 1 else ''} nothing on the tensors that count: an SQNR "
            "of ∞ has no mark if SQNR is an axis."
        )
    proofs = Counter(row["proof"] for row in done)
    said.append(f"Proofs: {', '.join(f'{count:,} {proof}' for proof, count in sorted(proofs.items())) or 'none'}.")
    text = escape(" ".join(said))
    if proofs.keys() - {"proved"}:
        text += " The command of a point with <code>prove</code> in place of <code>emit</code> proves it."
    return text


def _select(key: str, options: Sequence[object]) -> str:
    choices = "".join(f"<option>{escape(str(option) or MISSING)}</option>" for option in options)
    return f'<label>{TEXTS[key]}<select data-filter="{key}"><option value="">all</option>{choices}</select></label>'


def _legend(rows: list[dict]) -> str:
    colour, marker = encoding(rows)
    lists = []
    for key in dict.fromkeys(filter(None, (colour, marker))):
        entries = (
            f"<li>{swatch(i if key == colour else None, i if key == marker else None)}{text(value)}</li>"
            for i, value in enumerate(values(rows, key))
        )
        lists.append(f'<ul class="legend"><li>{TEXTS[key]}:</li>{"".join(entries)}</ul>')
    if len(targets := values(rows, "target")) > 1:
        entries = (f"<li>{line_swatch(i)}{text(target)}</li>" for i, target in enumerate(targets))
        lists.append(f'<ul class="legend"><li>Front of the target:</li>{"".join(entries)}</ul>')
    return "".join(lists)


def _same(rows: list[dict], texts: Sequence[str], figures: Sequence[Column]) -> str:
    """A sentence that lists the columns with one value in all points."""
    if not rows:
        return ""
    same = [
        f"{TEXTS[key]} {text(rows[0][key])}" for key in TEXTS if key not in texts and rows[0].get(key) not in (None, "")
    ]
    same += [
        f"{column.name} {number(rows[0][column.key], column.form, column.factor)}"
        for column in known_figures(rows)
        if column not in figures
    ]
    return f"<p>The same in all points: {'; '.join(same)}.</p>" if same else ""


def _points(rows: list[dict], texts: Sequence[str], figures: Sequence[Column], objectives: Sequence[str]) -> str:
    """The table of points: columns that differ, profile and rule first, then the figures. The command is below each
    point.
    """
    keys = sorted(texts, key=lambda key: key not in FIRST) or ["format"]
    heads = [
        *(Head(TEXTS[key]) for key in keys),
        Head("Front"),
        Head("Proof"),
        *(Head(one.name, one.meaning, True, one.is_further and one.key not in objectives) for one in figures),
    ]
    lines = (
        [
            *(text(row.get(key)) for key in keys),
            "yes" if row["pareto"] else "",
            text(row["proof"]),
            *(number(row.get(column.key), column.form, column.factor) for column in figures),
        ]
        for row in rows
    )
    below = [
        f"<div>Point <code>{escape(row['id'])}</code>{_command(row['emit'], 'point ' + row['id'])}</div>"
        for row in rows
    ]
    return table("Points", heads, lines, name="points", below=below)


def _ablation(rows: list[dict]) -> str:
    if not rows:
        return "<p>No two points of this sweep differ by one clause only.</p>"
    keys = [key for key in ABLATION if key not in BUILT_AS or varies(rows, key)]
    heads = [Head(ABLATION[key], is_figure=key in SIGNED) for key in keys]
    lines = ([number(row[key], SIGNED[key]) if key in SIGNED else text(row.get(key)) for key in keys] for row in rows)
    return table("Ablation", heads, lines, name="ablation")


def _failures(rows: list[dict], keys: Sequence[str]) -> str:
    if not rows:
        return ""
    found = "\n".join(
        f"<details><summary><code>{escape(row['id'])}</code> {escape(named(row, keys))}: "
        f"{text(row['error'])}</summary>{_command(row['emit'], 'point ' + row['id'])}{_log(row['log'])}</details>"
        for row in rows
    )
    return f"<section><h2>Failed points</h2>{found}</section>"


def _log(text: str | None) -> str:
    return f"<pre>{escape(text)}</pre>" if text else ""


def _json(rows: list[dict], figures: Sequence[Column], tensors: Sequence[str]) -> str:
    """The data of the page's script, in the order of the table: axes with figures, and values of filters."""
    axes = [
        {
            "name": column.name,
            "label": column.label,
            "key": column.key,
            "better": column.better,
            "values": [_plain(row.get(column.key), column.factor) for row in rows],
        }
        for column in figures
    ]
    axes += [
        {
            "name": f"SQNR, dB: {name}",
            "label": f"SQNR of {name}, dB (more is better)",
            "key": "",
            "better": 1,
            "values": [_plain(((row.get("accuracy") or {}).get(name) or {}).get("sqnr_db"), 1) for row in rows],
        }
        for name in tensors
    ]
    data = {
        "axes": axes,
        "up": upright(rows)[0],
        "front": [bool(row["pareto"]) for row in rows],
        "groups": {key: [_option(row.get(key)) for row in rows] for key in GROUPS if len(values(rows, key)) > 1},
    }
    return json.dumps(data, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")  # no </script> in a script


def _option(value: object) -> str:
    return MISSING if value is None or value == "" else str(value)


def _plain(value: float | None, factor: float) -> float | str | None:
    """A figure for JSON: None for NaN, and infinities as texts that JavaScript's Number() reads."""
    if value is None or math.isnan(value):
        return None
    return float(format(value * factor, ".9g")) if math.isfinite(value) else ("Infinity" if value > 0 else "-Infinity")
