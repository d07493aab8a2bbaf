"""A pipeline is a pure delay: its registers become wires, and what is left is proved as a combinational design.

That holds where every path from an input to an output crosses the same number of registers, all on one edge of one
clock, and nothing is fed back: a result then depends on the one block that entered so many edges before. It is checked
on the netlist.
"""

from __future__ import annotations

import json
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

from ..host.errors import ToolError
from ..synth.yosys import execute
from .design import DISSOLVED, FREED, UNSAID, Design, provide
from .structure import StructureError

__all__ = ["combinational", "delays", "flat_netlist"]

REGISTERS = ("$_DFF_P_", "$_DFF_N_")

# What is undefined becomes free, so that a proof holds whatever a tool makes of it. Resets and enables that are tied
# vanish; what is left of them is no plain register and is found below. The first value of a register is none of a pipeline's.
PREPARATION = ["hierarchy -check -top {top}", *DISSOLVED, "proc -norom", "flatten", *UNSAID, *FREED, "opt_expr -keepdc", "opt_clean",
               "check -assert", "setundef -undriven -anyseq", "setattr -unset init"]
CLEANING = ["opt_expr", "opt_dff -nodffe -nosdff", "opt_clean"]
BITS = "simplemap t:$dff t:$dffe t:$adff t:$adffe t:$sdff t:$sdffe t:$sdffce t:$dffsr t:$aldff t:$dlatch t:$adlatch t:$sr"
"""Registers become registers of one bit."""


def combinational(reading: list[str], top: str, latency: int, folder: Path) -> Design:
    """The design that Yosys' commands ``reading`` read, its ``latency`` registers on every path being wires.

    The module ``top`` has at most one clock, the port ``clk``. Raises `StructureError`, one sentence, where it is no such
    pipeline.
    """
    provide(folder)
    modules = flat_netlist([*reading, *(command.format(top=top) for command in PREPARATION)], top, folder)
    _check_memories(modules[top])
    modules, before = flat_netlist([_reread(modules, folder), "memory_map", *CLEANING, BITS], top, folder), 0
    while before != len(modules[top]["cells"]):  # a valid bit that is always set is none, and neither is what it enables
        _check_written(modules[top])
        before = len(modules[top]["cells"])
        for cell in modules[top]["cells"].values():
            if cell["type"] in REGISTERS and cell["connections"]["D"][0] in ("0", "1"):
                _make_wire(cell)
        modules = flat_netlist([_reread(modules, folder), *CLEANING, BITS], top, folder)
    found = delays(modules[top])
    if found - {latency}:
        raise StructureError(f"registers between a block and its result: {' or '.join(map(str, sorted(found)))}, not {latency}")
    for cell in modules[top]["cells"].values():
        if cell["type"] in REGISTERS:
            _make_wire(cell)
    design = Design([], top, folder)
    design.reading, design.modules = [_reread(modules, folder)], modules
    return design


def delays(module: dict) -> set[int]:
    """How many registers stand on the paths from the inputs of a flat module to its outputs.

    Raises `StructureError` where there are others than plain registers on one edge of ``clk``, and where something is fed back.
    """
    cells, clock = module["cells"], module["ports"].get("clk", {}).get("bits")
    edges = {cell["type"] for cell in cells.values() if cell["type"] in REGISTERS}
    driver = {}
    for name, cell in cells.items():
        kind = cell["type"]
        if not kind.startswith("$"):
            raise StructureError(f"it has a black box, {kind}")
        if kind not in REGISTERS and kind.startswith(("$_DFF", "$_SDFF", "$_ALDFF", "$_DLATCH", "$_SR", "$dff", "$ff", "$mem")):
            raise StructureError(f"it has storage that is no plain register: {_words(kind)}")
        if kind in REGISTERS and cell["connections"]["C"] != clock:
            raise StructureError("it has a register on another clock than clk")
        driver |= {bit: name for port, bits in cell["connections"].items() if cell["port_directions"][port] == "output"
                   for bit in bits}
    if len(edges) > 1:
        raise StructureError("it has registers on both edges of the clock")

    def inputs(cell: dict) -> list:
        ports = ["D"] if cell["type"] in REGISTERS else [p for p, way in cell["port_directions"].items() if way == "input"]
        return [bit for port in ports for bit in cell["connections"][port]]

    graph = {name: {driver[bit] for bit in inputs(cell) if bit in driver} for name, cell in cells.items()}
    try:
        order = list(TopologicalSorter(graph).static_order())
    except CycleError as error:
        registers = any(cells[name]["type"] in REGISTERS for name in error.args[1])
        raise StructureError("a register feeds back into itself: it is no pipeline" if registers else
                             "it has a combinational loop") from None
    entering = {bit for name, port in module["ports"].items() if port["direction"] == "input" and name != "clk"
                for bit in port["bits"]}
    late: dict[str, frozenset[int]] = {}

    def of(bit: object) -> frozenset[int]:
        return frozenset({0}) if bit in entering else late[driver[bit]] if bit in driver else frozenset()

    for name in order:
        found = frozenset().union(*map(of, inputs(cells[name])))
        late[name] = frozenset(n + 1 for n in found) if cells[name]["type"] in REGISTERS else found
    return set().union(*(of(bit) for port in module["ports"].values() if port["direction"] == "output" for bit in port["bits"]))


def _check_memories(module: dict) -> None:
    """Raise `StructureError` for a memory in which a place is chosen by a signal: others are registers. Tables are none any more."""
    for cell in module["cells"].values():
        if cell["type"] == "$mem_v2":
            size, offset, width = (int(cell["parameters"][name], 2) for name in ("SIZE", "OFFSET", "ABITS"))
            for port in ("RD_ADDR", "WR_ADDR"):
                bits = cell["connections"][port]
                places = ["".join(map(str, reversed(bits[start:start + width]))) for start in range(0, len(bits), width)]
                if not all(set(place) <= {"0", "1"} and 0 <= int(place, 2) - offset < size for place in places):
                    raise StructureError("it has a memory that is written")


def _check_written(module: dict) -> None:
    """Raise `StructureError` for a register that is never written, or by its reset only: Yosys makes it x."""
    ends = [port["bits"] for port in module["ports"].values()]
    ends += [bits for cell in module["cells"].values() for bits in cell["connections"].values()]
    if any("x" in bits for bits in ends):
        raise StructureError("it has a register or latch that nothing writes, or only a reset: what it holds is not known")


def _words(kind: str) -> str:
    names = {"$_DLATCH": "a latch", "$_SR": "a latch", "$_SDFFE": "an enable and a reset", "$_SDFFCE": "an enable and a reset",
             "$_SDFF": "a reset that is not tied", "$_DFFE": "an enable", "$mem": "a memory"}
    return next((words for start, words in names.items() if kind.startswith(start)), "a reset that is not tied")


def _make_wire(cell: dict) -> None:
    bits = cell["connections"]
    cell |= {"type": "$_BUF_", "parameters": {}, "port_directions": {"A": "input", "Y": "output"},
             "connections": {"A": bits["D"], "Y": bits["Q"]}}


def flat_netlist(commands: list[str], top: str, folder: Path) -> dict[str, dict]:
    """The flat module ``top`` after Yosys' commands, by its name."""
    file = folder / "netlist.json"
    file.unlink(missing_ok=True)
    execute([*commands, f"write_json {file.name}"], folder)
    if not file.exists():
        raise ToolError("Yosys wrote no netlist")
    modules = json.loads(file.read_text())["modules"]
    file.unlink()
    return {top: modules[top]}


def _reread(modules: dict[str, dict], folder: Path) -> str:
    """The command that reads modules again."""
    for module in modules.values():
        for net in module["netnames"].values():
            net["attributes"].pop("init", None)  # of a register that is none any more
    (folder / "flat.json").write_text(json.dumps({"creator": "mxcast", "modules": modules}))
    return "read_json flat.json"
