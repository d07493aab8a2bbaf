"""What it costs: Yosys and nextpnr in child processes, and reports of what they make."""

from .netlist import Cost
from .pnr import PlaceAndRoute, place_and_route, place_and_route_all
from .synthesis import STAGES, Synthesis, synth, synth_all
from .targets import TARGETS, Target

__all__ = ["Cost", "PlaceAndRoute", "STAGES", "Synthesis", "TARGETS", "Target", "place_and_route", "place_and_route_all", "synth",
           "synth_all"]
