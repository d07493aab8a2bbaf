"""What others have published, typed in once, with where it stands."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["NOTE", "PUBLISHED", "Published"]


@dataclass(frozen=True)
class Published:
    luts: int
    ns: float


PUBLISHED: dict[str, Published] = {
    "e5m2": Published(2319, 51.4),
    "e4m3": Published(2776, 80.2),
    "e3m2": Published(2230, 52.8),
    "e2m3": Published(2039, 62.6),
    "e2m1": Published(1896, 65.2),
    "int8": Published(1614, 50.6),
}
"""LUTs and critical path by element: Gorodecky and Sousa, table VIII."""

NOTE = (
    "Table VIII of Gorodecky and Sousa is Vivado 2019.1, placed and routed on Virtex UltraScale xcvu440, and its "
    "design "
    "does less (no ties to even, no subnormals). Ours is Yosys, synthesis only, so the columns are not one comparison."
)
