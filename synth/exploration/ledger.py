"""The cost ledger: what each clause of the standard costs, and what it buys.

An entry is the difference of two points that are equal but for the one clause, both otherwise under the rules of OCP.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass

from ...spec import numerics
from .points import Explored

__all__ = ["CLAUSES", "Entry", "ledger"]

CLAUSES: tuple[tuple[str, str, str, str], ...] = (
    ("FP32 subnormals", "input_subnormals", "flush", "exact"),
    ("element subnormals", "element_subnormals", "flush", "exact"),
    ("rounding to nearest even, not truncation", "rounding", "rtz", "rne"),
    ("stochastic rounding, not truncation", "rounding", "rtz", "sr"),
    ("scale ceil, not floor", "scale_rule", "floor", "ceil"),
    ("scale rceil, not floor", "scale_rule", "floor", "rceil"),
    ("scale pow2_ceil, not floor", "scale_rule", "floor", "pow2_ceil"),
    ("scale even, not floor", "scale_rule", "floor", "even"),
    ("NaN and Inf", "specials", "drop", "nan_block"),
    ("NaN and Inf as in Transformer Engine", "specials", "drop", "te"),
)
"""Name, field, its value without the clause, and with it."""

RULES = ("scale_rule", "rounding", "specials", "input_subnormals", "element_subnormals")
EQUAL = ("format", "source", "block_size", "amax", "amax_key", "quantizer", "structure", "registered_after", "target")
"""What two points of an entry have in common, beside the other rules. A table quantizer has no random bits, so that its entries for
those are against points of the other quantizer."""


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One line of the ledger. Differences are those with the clause less those without."""

    target: str
    format: str
    source: str
    build: str
    """How both are built: amax, quantizer, structure."""
    clause: str
    without: str
    with_: str
    luts: int
    percent: float
    """Of the LUTs without it."""
    levels: int
    sqnr_db: float | None
    """Over the tensors that count."""
    most_db: float | None
    """On the tensor where it buys most, or loses most."""
    most_on: str | None

    def to_dict(self) -> dict:
        return {"with" if name == "with_" else name: value for name, value in asdict(self).items()}


def ledger(rows: Sequence[Explored]) -> list[Entry]:
    """An entry for each clause and each way of building of which both points are there and done; in the order of the points."""
    usual = {name: str(getattr(numerics("e4m3", "ocp"), name)) for name in RULES}
    by = {(*(getattr(row, name) for name in EQUAL), *(getattr(row, name) for name in RULES)): row for row in rows if row.status == "done"}
    groups = dict.fromkeys(key[:len(EQUAL)] for key in by)
    found = []
    for group in groups:
        for clause, field, without, with_ in CLAUSES:
            pair = [by.get((*group, *(usual | {field: value}).values())) for value in (without, with_)]
            if all(pair):
                found.append(_entry(clause, without, with_, *pair))
    return found


def _entry(clause: str, without: str, with_: str, a: Explored, b: Explored) -> Entry:
    on = {name: difference for name in a.accuracy or {}
          if (difference := _difference((b.accuracy or {}).get(name, {}).get("sqnr_db"), a.accuracy[name]["sqnr_db"])) is not None}
    most = max(on, key=lambda name: (abs(on[name]), name), default=None)
    return Entry(target=a.target, format=a.format, source=a.source, build=f"{a.amax}, {a.quantizer}, {a.structure}", clause=clause,
                 without=without, with_=with_, luts=b.luts - a.luts, percent=round(100 * (b.luts - a.luts) / a.luts, 1),
                 levels=b.levels - a.levels, sqnr_db=_difference(b.sqnr_db, a.sqnr_db), most_db=on.get(most), most_on=most)


def _difference(b: float | None, a: float | None) -> float | None:
    return None if a is None or b is None else round(b - a, 3)
