"""Devices for place and route: the nextpnr program, its options, and its name for a logic cell."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Device:
    """A device by name. ``program`` is the nextpnr of its family."""

    name: str
    description: str
    program: str
    options: tuple[str, ...]
    logic_cells: str
    """The cell of nextpnr's report that holds a LUT: a TRELLIS_COMB is one LUT4 or half a carry cell, an ICESTORM_LC
    one LUT4, one carry bit and one flip-flop.
    """

    @property
    def identity(self) -> str:
        """Part of the cache key, with the netlist and the version of the program."""
        return repr((self.program, self.options, self.logic_cells))

    @property
    def package(self) -> str:
        """Name of the program's wheel."""
        return f"yowasp-{self.program}"


DEVICES: dict[str, Device] = {
    d.name: d
    for d in (
        Device(
            name="ecp5",
            description="Lattice ECP5 LFE5U-85F-6, CABGA381",
            program="nextpnr-ecp5",
            options=("--85k", "--speed", "6", "--package", "CABGA381", "--lpf-allow-unconstrained"),
            logic_cells="TRELLIS_COMB",
        ),
        Device(
            name="ice40",
            description="Lattice iCE40 HX8K, CT256",
            program="nextpnr-ice40",
            options=("--hx8k", "--package", "ct256", "--pcf-allow-unconstrained"),
            logic_cells="ICESTORM_LC",
        ),
    )
}
