"""Cost of a mapped netlist: cells by kind, and the cells on its longest path."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from graphlib import TopologicalSorter

from .targets import DSP, RAM_LUTS, Target

TRANSISTORS = 4
"""Transistors of a NAND gate of two inputs in static CMOS."""


@dataclass(frozen=True, kw_only=True)
class Cost:
    """Cells of a netlist. ``luts`` includes those used as distributed RAM (`ram_luts`).

    ``levels`` is the number of LUT, multiplexer and carry cells on the longest path between ports or flip-flops.
    ``logic_cells`` estimates physical sites, or the area in NAND gates of two inputs or in the units of a Liberty file;
    it is None without an estimate.
    """

    luts: int
    carries: int
    muxes: int
    ffs: int
    inverters: int
    levels: int
    logic_cells: int | None
    cells: dict[str, int]
    """Number of cells by type."""
    delay_ps: int | None = None
    """abc's estimate of the longest path by the delays of the cells, without wires; None without an estimate."""

    @property
    def dsps(self) -> int:
        """Cells that multiply."""
        return sum(count for cell, count in self.cells.items() if re.fullmatch(DSP, cell))

    @property
    def ram_luts(self) -> int:
        """LUTs that are used as distributed RAM."""
        return _ram_luts(self.cells)

    def to_dict(self) -> dict:
        return asdict(self)


def _ram_luts(cells: Mapping[str, int]) -> int:
    return sum(count * RAM_LUTS.get(cell, 0) for cell, count in cells.items())


def cost(netlist: dict, statistics: dict, top: str, target: Target) -> Cost:
    """Cost of module ``top`` in Yosys' JSON netlist (`write_json`) and statistics (`stat -json`).

    A stage may consist of wires only.
    """
    cells = {
        name: cell
        for name, cell in netlist["modules"][top]["cells"].items()
        if not cell["type"].startswith("$scopeinfo")
    }
    types = Counter(cell["type"] for cell in cells.values())
    kinds: Counter[str] = Counter()
    for cell_type, count in types.items():
        kinds[target.kind(cell_type)] += count
    estimates = statistics.get("design", {})
    logic_cells = estimates.get("estimated_num_lc")
    if transistors := estimates.get("estimated_num_transistors"):
        logic_cells = round(int(transistors.rstrip("+")) / TRANSISTORS)  # "+" marks cells without an estimate
    if target.library is not None:
        logic_cells = round(estimates["area"])
    ram_luts = _ram_luts(types)
    if logic_cells is not None:
        logic_cells += ram_luts  # Yosys does not count them
    kinds["luts"] += ram_luts
    if target.luts_per_carry is not None:
        logic_cells = kinds["luts"] + target.luts_per_carry * kinds["carries"]
    return Cost(
        **{kind: kinds[kind] for kind in ("luts", "carries", "muxes", "ffs", "inverters")},
        levels=_levels(cells, target),
        logic_cells=logic_cells,
        cells=dict(sorted(types.items())),
    )


def delay_ps(log: str) -> int | None:
    """The last delay in a log of Yosys, which belongs to the netlist; None if abc has no delays of cells.

    >>> delay_ps("ABC: WireLoad = none  Gates =    446 ( 22.2 %)   Delay =  1158.82 ps  ( 31.6 %)")
    1159
    >>> delay_ps("ABC: P:  Del = 15812.00.  Ar = 8789.0.\\nABC: A:  Del = 15344.00.  Ar = 4909.0.")
    15344
    """
    found = re.findall(r"^ABC: .*\bDel(?:ay)? =\s*(\d+\.\d+)(?:\.| ps)", log, flags=re.M)
    return round(float(found[-1])) if found else None


def _levels(cells: dict[str, dict], target: Target) -> int:
    """Length of the longest path in LUTs, multiplexers and carries; paths start and end at ports and flip-flops."""
    counted = {name: target.kind(cell["type"]) for name, cell in cells.items()}
    driver: dict[int | str, str] = {}
    for name, cell in cells.items():
        for port, direction in cell["port_directions"].items():
            if direction == "output":
                driver.update((bit, name) for bit in cell["connections"][port])
    sources = {
        name: {
            driver[bit]
            for port, direction in cell["port_directions"].items()
            if direction == "input"
            for bit in cell["connections"][port]
            if bit in driver and counted[driver[bit]] != "ffs"
        }
        for name, cell in cells.items()
    }
    depth: dict[str, int] = {}
    for name in TopologicalSorter(sources).static_order():
        own = counted[name] in ("luts", "muxes", "carries")
        depth[name] = own + max((depth[source] for source in sources[name]), default=0)
    return max(depth.values(), default=0)
