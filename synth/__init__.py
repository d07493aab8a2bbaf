"""Cost of converters: Yosys and nextpnr in child processes, and reports of their results.

Targets are data. Modules that need Amaranth are imported when they are used first.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..host.callable_package import callable_package
from ..host.lazy import lazy
from .delays import DELAYS
from .targets import TARGETS, Target

if TYPE_CHECKING:
    from .constraints import constrained
    from .netlist import Cost
    from .pipeline import Plan, pipelined, plan
    from .pnr import PlaceAndRoute, place_and_route, place_and_route_all
    from .synthesis import STAGES, Synthesis, synth, synth_all

__all__ = [
    "DELAYS",
    "STAGES",
    "TARGETS",
    "Cost",
    "PlaceAndRoute",
    "Plan",
    "Synthesis",
    "Target",
    "constrained",
    "pipelined",
    "place_and_route",
    "place_and_route_all",
    "plan",
    "synth",
    "synth_all",
]

__getattr__ = lazy(
    __name__,
    {
        "constrained": "constraints",
        "Cost": "netlist",
        **dict.fromkeys(("Plan", "pipelined", "plan"), "pipeline"),
        **dict.fromkeys(("PlaceAndRoute", "place_and_route", "place_and_route_all"), "pnr"),
        **dict.fromkeys(("STAGES", "Synthesis", "synth", "synth_all"), "synthesis"),
    },
)

callable_package(__name__, "synth")
