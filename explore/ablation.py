"""The ablation: cost and gain of each clause of the standard.

An entry is the difference of two points that differ in one clause only; OCP defines their other rules.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import product

from ..spec import numerics
from .points import Explored
from .report.columns import TEXTS

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

RULES = tuple(dict.fromkeys(field for _, field, _, _ in CLAUSES))
EQUAL = tuple(key for key in TEXTS if key not in (*RULES, "profile", "random_bits"))
"""Fields that two points of an entry have in common, in addition to the other rules. Random bits are not among them: a
table quantizer has no random bits.
"""


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One line of the ablation: figures with the clause minus figures without it."""

    target: str
    format: str
    source: str
    block_size: int
    build: str
    """How both are built: amax, quantizer, structure."""
    registered_after: str
    random_bits: int
    """Random bits of the point with the clause."""
    clause: str
    without: str
    with_: str
    luts: int
    percent: float
    """Difference in per cent of the LUTs without the clause."""
    levels: int
    sqnr_db: float | None
    """Over the tensors that count; None if the two points lose different numbers."""
    most_db: float | None
    """On the tensor with the largest difference."""
    most_on: str | None

    def to_dict(self) -> dict:
        return {"with" if name == "with_" else name: value for name, value in asdict(self).items()}


def ablation(rows: Sequence[Explored]) -> list[Entry]:
    """An entry for each clause and each architecture with both points done, in the order of the points."""
    usual = {name: str(getattr(numerics("e4m3", "ocp"), name)) for name in RULES}
    by: dict[tuple, list[Explored]] = {}  # several, if only the random bits differ
    for row in rows:
        if row.status == "done":
            by.setdefault(
                (*(getattr(row, name) for name in EQUAL), *(getattr(row, name) for name in RULES)), []
            ).append(row)
    groups = dict.fromkeys(key[: len(EQUAL)] for key in by)
    return [
        _entry(clause, without, with_, a, b)
        for group in groups
        for clause, field, without, with_ in CLAUSES
        for a, b in product(*(by.get((*group, *(usual | {field: value}).values()), []) for value in (without, with_)))
    ]


def _entry(clause: str, without: str, with_: str, a: Explored, b: Explored) -> Entry:
    on = {
        name: difference
        for name, figures in (a.accuracy or {}).items()
        if (difference := _gain((b.accuracy or {}).get(name, {}), figures)) is not None
    }
    most = max(on, key=lambda name: (abs(on[name]), name), default=None)
    assert (
        a.luts is not None and b.luts is not None and a.levels is not None and b.levels is not None
    )  # of points that are done
    return Entry(
        target=a.target,
        format=a.format,
        source=a.source,
        block_size=a.block_size,
        build=f"{a.amax}, {a.quantizer}, {a.structure}",
        registered_after=a.registered_after,
        random_bits=b.random_bits,
        clause=clause,
        without=without,
        with_=with_,
        luts=b.luts - a.luts,
        percent=round(100 * (b.luts - a.luts) / a.luts, 1),
        levels=b.levels - a.levels,
        sqnr_db=_gain(vars(b), vars(a)),
        most_db=None if most is None else on[most],
        most_on=most,
    )


def _gain(b: Mapping, a: Mapping) -> float | None:
    """Gain in SQNR from figures ``a`` to figures ``b``."""
    with_, without = (figures.get("sqnr_db") for figures in (b, a))
    if with_ is None or without is None or b.get("lost") != a.get("lost"):
        return None
    return with_ - without if with_ != without else 0.0  # both may be infinite
