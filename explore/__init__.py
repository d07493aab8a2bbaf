"""Design-space exploration: which rounding, on which device, costs and loses what."""

from ..host.callable_package import callable_package
from . import jobs
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
    "jobs",
    "point_of",
    "read_sweep",
]

callable_package(__name__, explore)
