"""What it costs: Yosys and nextpnr in child processes, and reports of what they make."""

import sys
from types import ModuleType

from .exploration import Explored, explore
from .netlist import Cost
from .pipeline import DELAYS, Plan, pipelined, plan
from .pnr import PlaceAndRoute, place_and_route, place_and_route_all
from .synthesis import STAGES, Synthesis, synth, synth_all
from .targets import TARGETS, Target

__all__ = [
    "DELAYS",
    "STAGES",
    "TARGETS",
    "Cost",
    "Explored",
    "PlaceAndRoute",
    "Plan",
    "Synthesis",
    "Target",
    "explore",
    "pipelined",
    "place_and_route",
    "place_and_route_all",
    "plan",
    "synth",
    "synth_all",
]


class _Room(ModuleType):
    """``mxcast.synth`` is this room, and the function of the interface: importing the room would hide the function
    otherwise.
    """

    def __call__(self, *arguments: object, **options: object) -> Synthesis:
        from .synthesis import synth

        return synth(*arguments, **options)


sys.modules[__name__].__class__ = _Room
