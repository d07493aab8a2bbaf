"""What it costs: Yosys in a child process, and reports of its netlists."""

from .netlist import Cost
from .pipeline import DELAYS, Plan, pipelined, plan
from .synthesis import STAGES, Synthesis, synth, synth_all
from .targets import TARGETS, Target

__all__ = ["Cost", "DELAYS", "Plan", "STAGES", "Synthesis", "pipelined", "plan", "synth", "synth_all", "TARGETS", "Target"]
