"""Delays of cells and wires, by target: estimates of paths without placement."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Delays:
    """Delays for the estimate of paths, in nanoseconds. Without placement, a wire has an average delay."""

    lut: float
    mux: float
    """A multiplexer behind LUTs, with its fixed wire."""
    carry: float
    """One carry cell behind another."""
    wire: float
    """Before a LUT, and before a carry cell that is not behind another."""
    register: float
    """From the clock to the output of a register, and before the next edge at the input of another."""


DELAYS = {
    # close to nextpnr's report for speed grade 6: LUT4 0.24, PFUMX and L6MUX21 0.2, CCU2C 0.07, clock to output
    # 0.52
    "ecp5": Delays(lut=0.24, mux=0.2, carry=0.07, wire=0.8, register=0.52),
    # Yosys' techlibs/xilinx/cells_sim.v (7 series; UltraScale is faster) and the wire that abc9 takes for it
    "xcu": Delays(lut=0.45, mux=0.2, carry=0.23, wire=0.3, register=0.4),
    # Yosys' techlibs/ice40/cells_sim.v, HX
    "ice40": Delays(lut=0.4, mux=0.0, carry=0.126, wire=0.6, register=0.54),
}
"""Targets with an estimate of paths. A choice of stage boundaries depends on differences only; the clock is a rough
estimate.
"""
