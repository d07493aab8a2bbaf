"""Synthesis results as rows of a table."""

from __future__ import annotations

from .published import NOTE as PUBLISHED_NOTE, PUBLISHED
from .synthesis import Synthesis

__all__ = ["NOTE", "table"]

NOTE = ("Whole converters are flattened; a tree, a scale unit and an element quantizer are each synthesised alone and do not "
        f"add up to the whole. {PUBLISHED_NOTE}")


def table(results: list[Synthesis]) -> list[dict[str, object]]:
    """One row a converter: column heading -> value; None where there is no figure."""
    rows = []
    for result in results:
        element, whole = result.config.numerics.block.element.name, result.whole
        published = PUBLISHED.get(element)
        rows.append({
            "format": result.config.numerics.block.name, "profile": result.config.profile or "-", "target": result.target,
            "LUTs": whole.luts, "carries": whole.carries, "muxes": whole.muxes, "FFs": whole.ffs, "LCs": whole.logic_cells,
            "levels": whole.levels,
            **{f"{name} LUTs": cost.luts for name, cost in result.stages.items()},
            "paper LUTs": published and published.luts, "paper ns": published and published.ns,
        })
    return rows
