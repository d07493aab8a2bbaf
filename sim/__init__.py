"""Where reference and design meet: stimuli, cocotb benches, and the Verilated design as a NumPy function."""

from .verilated import Verilated, verilate

__all__ = ["Verilated", "verilate"]
