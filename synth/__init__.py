"""Cost of converters: Yosys and nextpnr in child processes, and reports of their results."""

from ..host.callable_package import callable_package
from .constraints import constrained
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

callable_package(__name__, synth)
