"""Pipelines as pure delays: their registers become wires, and the rest is proved as a combinational design.

A design is a pure delay if every path from an input to an output crosses the same number of registers, all on one edge
of one clock, and nothing is fed back. Then a result depends on the one block that entered that number of edges before.
This is checked on the netlist.
"""

from __future__ import annotations

from graphlib import CycleError, TopologicalSorter
from math import inf

from .design import DISSOLVED, FREED, UNSAID, Design, provide
from .structure import StructureError, drivers_of

ROUNDS = 50
"""Runs of Yosys, at most, that propagate the values of registers that constants feed."""

REGISTERS = ("$_DFF_P_", "$_DFF_N_")

# Undefined values become free, so that a proof holds whichever value a tool chooses. Tied resets and enables vanish;
# registers with others are refused below. Initial values are dropped: the results of a pipeline do not depend on them.
PREPARATION = [
    *DISSOLVED,
    "proc -norom",
    "flatten",
    *UNSAID,
    *FREED,
    "opt_expr -keepdc",
    "opt_clean",
    "check -assert",
    "setundef -undriven -anyseq",
    "setattr -unset init",
]
CLEANING = ["opt_clean", "opt_expr", "opt_dff -nodffe -nosdff -keepdc", "opt_clean"]
STEPS = ("clk", "enable")
"""Ports that only registers have."""
FLOW = ("i_ready", "o_valid")
"""Outputs that say when results move."""
# first the valid bits, the registers of the top module that rst reaches: their reset has priority over the enable
WITH_ENABLES = [
    "opt_clean",
    "opt_dff -keepdc i:rst A:top %i %coe* %co t:$dff %i",
    "opt_dff -keepdc -nosdff",
    "opt_clean",
]
BITS = (
    "simplemap t:$dff t:$dffe t:$adff t:$adffe t:$sdff t:$sdffe t:$sdffce t:$dffsr t:$aldff t:$dlatch t:$adlatch t:$sr"
)
"""Split registers into registers of one bit."""


def combinational(design: Design, latency: int, settling: bool = False) -> tuple[Design, int]:
    """The design with wires in place of the ``latency`` registers on every path, and the number of clock edges after
    which the two are equal.

    The only clock is the port ``clk``. Raises `StructureError`, one sentence, if the design is not such a pipeline. A
    register that only constants feed holds any value at first. This does not matter if no path has more than
    ``latency`` registers, because it is over before the first block leaves; otherwise it is refused, unless
    ``settling``.
    """
    provide(design.folder)
    modules = _flat(design, [*PREPARATION])
    _check_memories(modules[design.top])
    design, edges = design.of_netlist(_flat(design.of_netlist(modules), ["memory_map", *CLEANING, BITS])), 0
    late = _longest(design.modules[design.top]) - latency
    for _ in range(ROUNDS):
        _check_written(design.modules[design.top])
        settled = _settled(design.modules[design.top])
        if not settled:
            break
        if not settling and late > 0:
            raise StructureError("it has a register that only a constant feeds: its first value is not known")
        edges += settled
        design = design.of_netlist(_flat(design.of_netlist(design.modules), [*CLEANING, BITS]))
    else:
        raise StructureError(f"registers that constants feed are not settled after {edges} edges")
    module = design.modules[design.top]
    if (found := delays(module)) - {latency}:
        raise StructureError(
            f"registers between a block and its result: {' or '.join(map(str, sorted(found)))}, not {latency}"
        )
    for cell in module["cells"].values():
        if cell["type"] in REGISTERS:
            make_wire(cell)
    return design.of_netlist({design.top: module}), int(max(0, min(edges, late)))


def bypassed(design: Design) -> Design:
    """The modules of the design with wires in place of registers, without the cells that reach no result.

    This is the function of a converter that passes `handshake.check_handshake` and `combinational`: all registers move
    at once, and every path has the same number of them.
    """
    provide(design.folder)
    modules = design.netlist_after([*DISSOLVED, "proc -norom", *UNSAID, *WITH_ENABLES])
    for module in modules.values():
        bypass(module)
    top = modules[design.top]
    needed = reaching(top, [bit for name, port in top["ports"].items() if name not in FLOW for bit in port["bits"]])
    top["cells"] = {name: cell for name, cell in top["cells"].items() if name in needed}
    return design.of_netlist(modules)


def bypass(module: dict) -> None:
    """Replace the registers of a module by wires, and remove the ports that only they have."""
    registers = {name: cell for name, cell in module["cells"].items() if cell["type"].startswith(("$dff", "$sdff"))}
    replaced = {
        taken: given
        for cell in registers.values()
        for taken, given in zip(cell["connections"]["Q"], cell["connections"]["D"])
    }

    def wires(bits: list) -> list:
        while not replaced.keys().isdisjoint(bits):
            bits = [replaced.get(bit, bit) for bit in bits]
        return bits

    module["ports"] = {name: port for name, port in module["ports"].items() if name not in STEPS}
    module["cells"] = {name: cell for name, cell in module["cells"].items() if name not in registers}
    for one in (*module["ports"].values(), *module["netnames"].values()):
        one["bits"] = wires(one["bits"])
    for cell in module["cells"].values():
        cell["connections"] = {port: wires(bits) for port, bits in cell["connections"].items() if port not in STEPS}


def check_delay(module: dict, latency: int) -> None:
    """Raise `StructureError` unless every path in a flat module of gates crosses ``latency`` registers, which move
    together. A register that only constants feed may hold any value at first, if this is over before the first beat
    leaves, as in `combinational`."""
    copied = {**module, "cells": {name: {**cell} for name, cell in module["cells"].items()}}
    if _settled(copied) and _longest(module) > latency:
        raise StructureError("it has a register that only a constant feeds: its first value is not known")
    if (found := delays(module)) - {latency}:
        raise StructureError(
            f"registers between a beat and its result: {' or '.join(map(str, sorted(found)))}, not {latency}"
        )


def _longest(module: dict) -> float:
    """Registers on the longest path to a register or an output, from any start; infinity if one feeds back."""
    graph = _graph(module)
    crossed: dict[str, int] = {}
    try:
        for name in TopologicalSorter(graph).static_order():
            crossed[name] = max((crossed[other] for other in graph[name]), default=0) + (
                module["cells"][name]["type"] in REGISTERS
            )
    except CycleError:
        return inf
    return max(crossed.values(), default=0)


def _settled(module: dict) -> int:
    """Replace the registers that constants feed, directly or through others, by wires; returns how many edges that
    takes."""
    registers = {name: cell for name, cell in module["cells"].items() if cell["type"] in REGISTERS}
    constant, edges = {"0", "1"}, 0
    while now := [name for name, cell in registers.items() if cell["connections"]["D"][0] in constant]:
        edges += 1
        for name in now:
            cell = registers.pop(name)
            constant.add(cell["connections"]["Q"][0])
            make_wire(cell)
    return edges


def _flat(design: Design, commands: list[str]) -> dict[str, dict]:
    """The flat top module after Yosys' commands, by its name."""
    return {design.top: design.netlist_after(commands)[design.top]}


def delays(module: dict) -> set[int]:
    """The numbers of registers on the paths from the inputs of a flat module to its outputs.

    Raises `StructureError` for storage other than plain registers on one edge of ``clk``, and for feedback.
    """
    cells, clock = module["cells"], module["ports"].get("clk", {}).get("bits")
    edges = {cell["type"] for cell in cells.values() if cell["type"] in REGISTERS}
    for cell in cells.values():
        kind = cell["type"]
        if not kind.startswith("$"):
            raise StructureError(f"it has a black box, {kind}")
        if kind not in REGISTERS and kind.startswith(
            ("$_DFF", "$_SDFF", "$_ALDFF", "$_DLATCH", "$_SR", "$dff", "$ff", "$mem")
        ):
            raise StructureError(f"it has storage other than plain registers: {_words(kind)}")
        if kind in REGISTERS and cell["connections"]["C"] != clock:
            raise StructureError("it has a register on another clock than clk")
    if len(edges) > 1:
        raise StructureError("it has registers on both edges of the clock")
    driver, order = drivers_of(module), in_order(module)
    entering = {
        bit
        for name, port in module["ports"].items()
        if port["direction"] == "input" and name != "clk"
        for bit in port["bits"]
    }
    late: dict[str, frozenset[int]] = {}

    def of(bit: object) -> frozenset[int]:
        return frozenset({0}) if bit in entering else late[driver[bit]] if bit in driver else frozenset()

    for name in order:
        found = frozenset().union(*map(of, inputs_of(cells[name])))
        late[name] = frozenset(n + 1 for n in found) if cells[name]["type"] in REGISTERS else found
    return set().union(
        *(of(bit) for port in module["ports"].values() if port["direction"] == "output" for bit in port["bits"])
    )


def in_order(module: dict) -> list[str]:
    """The cells of a flat module, each behind those that drive it. Raises `StructureError` for feedback."""
    try:
        return list(TopologicalSorter(_graph(module)).static_order())
    except CycleError as error:
        registers = any(module["cells"][name]["type"] in REGISTERS for name in error.args[1])
        raise StructureError(
            "a register feeds back into itself: it is no pipeline" if registers else "it has a combinational loop"
        ) from None


def reaching(module: dict, bits: list) -> set[str]:
    """The cells of a module on which these bits depend."""
    driver, waiting = drivers_of(module), list(bits)
    found: set[str] = set()
    while waiting:
        if (name := driver.get(waiting.pop())) is not None and name not in found:
            found.add(name)
            waiting += inputs_of(module["cells"][name])
    return found


def inputs_of(cell: dict) -> list:
    """The bits on which the output of a cell depends; for a register, its data input."""
    if cell["type"] in REGISTERS:
        return cell["connections"]["D"]
    ways = cell["port_directions"]
    return [bit for port, bits in cell["connections"].items() if ways[port] == "input" for bit in bits]


def _graph(module: dict) -> dict[str, set[str]]:
    """The cells that drive the inputs of each cell of a flat module."""
    driver = drivers_of(module)
    return {name: {driver[bit] for bit in inputs_of(cell) if bit in driver} for name, cell in module["cells"].items()}


def _check_memories(module: dict) -> None:
    """Raise `StructureError` for a memory that a signal addresses. Memories with constant addresses are registers, and
    tables are not memories any more."""
    for cell in module["cells"].values():
        if cell["type"] == "$mem_v2":
            size, offset, width = (int(cell["parameters"][name], 2) for name in ("SIZE", "OFFSET", "ABITS"))
            for port in ("RD_ADDR", "WR_ADDR"):
                bits = cell["connections"][port]
                places = [
                    "".join(map(str, reversed(bits[start : start + width]))) for start in range(0, len(bits), width)
                ]
                if not all(set(place) <= {"0", "1"} and 0 <= int(place, 2) - offset < size for place in places):
                    raise StructureError("it has a memory that is written")


def _check_written(module: dict) -> None:
    """Raise `StructureError` for a register that is never written, or by its reset only: Yosys makes it x."""
    ends = [port["bits"] for port in module["ports"].values()]
    ends += [bits for cell in module["cells"].values() for bits in cell["connections"].values()]
    if any("x" in bits for bits in ends):
        raise StructureError("it has a register or latch that nothing writes, or only a reset: its value is not known")


def _words(kind: str) -> str:
    names = {
        "$_DLATCH": "a latch",
        "$_SR": "a latch",
        "$_SDFFE": "an enable and a reset",
        "$_SDFFCE": "an enable and a reset",
        "$_SDFF": "a reset that is not tied",
        "$_DFFE": "an enable",
        "$mem": "a memory",
    }
    return next((words for start, words in names.items() if kind.startswith(start)), "a reset that is not tied")


def make_wire(cell: dict) -> None:
    bits = cell["connections"]
    cell |= {
        "type": "$_BUF_",
        "parameters": {},
        "port_directions": {"A": "input", "Y": "output"},
        "connections": {"A": bits["D"], "Y": bits["Q"]},
    }
