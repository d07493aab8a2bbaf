"""The section Method of the report: how figures were measured, and their meaning."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

from .columns import known_figures
from .tables import Head, count, table, text

HEADINGS = {"description": "Design space", "device": "Place and route on"}
"""Headings by key, if they are not the key itself."""


def method_section(method: Mapping[str, object], rows: Sequence[dict], left_out: Mapping[str, int]) -> str:
    """The HTML of the method of a sweep, of the meaning of its figures, and of the number of combinations left out, by
    reason.
    """
    return _method(method) + _meanings(rows) + _reasons(left_out)


def _heading(key: str) -> str:
    return HEADINGS.get(key, key.replace("_", " ").capitalize())


def _method(method: Mapping[str, object]) -> str:
    """Short entries in one list, then longer ones with headings: lists of sentences, mappings and tables."""
    short, long = {}, []
    for key, value in method.items():
        if key in ("sweep", "objectives") or not value:
            continue
        if isinstance(value, list | tuple) and not any(isinstance(entry, dict) or " " in str(entry) for entry in value):
            value = ", ".join(map(str, value))
        if isinstance(value, list | tuple | dict):
            long.append(f"<h3>{escape(_heading(key))}</h3>{_several(_heading(key), value)}")
        else:
            short[_heading(key)] = value
    return (_several("", short) if short else "") + "".join(long)


def _meanings(rows: Sequence[dict]) -> str:
    """Definitions of all figures, including those that are the same in all points."""
    return (
        f"<h3>Figures</h3>{_several('', {column.name: column.meaning for column in known_figures(rows)})}"
        if rows
        else ""
    )


def _reasons(left_out: Mapping[str, int]) -> str:
    if not left_out:
        return ""
    said = [f"{count(number, 'combination')}: {reason}" for reason, number in left_out.items()]
    return f"<h3>Combinations that cannot be built</h3>{_several('', said)}"


def _several(name: str, value: dict | Sequence) -> str:
    if isinstance(value, dict):
        return f"<dl>{''.join(f'<dt>{text(key)}</dt><dd>{text(entry)}</dd>' for key, entry in value.items())}</dl>"
    if not isinstance(value[0], dict):
        return f"<ul>{''.join(f'<li>{text(entry)}</li>' for entry in value)}</ul>"
    heads = [Head(_heading(key)) for key in value[0]]
    return table(name, heads, ([text(entry) for entry in row.values()] for row in value))
