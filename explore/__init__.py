"""Design-space exploration: cost and loss of rules, architectures and targets."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..host.callable_package import callable_package
from ..host.lazy import lazy

if TYPE_CHECKING:
    from .engine import Exploration, Progress, chosen_sweep, exploration, explore
    from .points import Explored, Point
    from .sweep import SWEEPS, Lists, Sweep, point_of, read_sweep

__all__ = [
    "SWEEPS",
    "Exploration",
    "Explored",
    "Lists",
    "Point",
    "Progress",
    "Sweep",
    "chosen_sweep",
    "exploration",
    "explore",
    "point_of",
    "read_sweep",
]

__getattr__ = lazy(
    __name__,
    {
        **dict.fromkeys(("Exploration", "Progress", "chosen_sweep", "exploration", "explore"), "engine"),
        **dict.fromkeys(("Explored", "Point"), "points"),
        **dict.fromkeys(("SWEEPS", "Lists", "Sweep", "point_of", "read_sweep"), "sweep"),
    },
)

callable_package(__name__, "explore")
