"""Valid and ready of a converter with registers: checked on the netlist, so that the rest can be proved as a pure delay.

Shown is: all registers share one enable, which is i_ready and is set where o_ready is or o_valid is not; the valid bits are a chain of as
many registers as the latency, from i_valid to o_valid, which alone the reset clears; and nothing of all this reaches the
data. So the data registers and the valid bits make the same steps as those of the converter with o_ready tied high, and
stand still in between. With the proof of that one (`moving`, `pipeline.combinational`) follows: the results that leave are those of
the blocks that entered, one each, in order, and do not change while they wait.
"""

from __future__ import annotations

from itertools import product
from pathlib import Path

from ..host.files import write_whole
from ..spec import ConverterConfig
from .design import provide
from .pipeline import PREPARATION, flat_netlist
from .structure import StructureError

__all__ = ["PROVED", "check_handshake", "moving"]

PROVED = ("all registers move with i_ready = o_ready or not o_valid, the valid bits are a chain from i_valid to o_valid that rst clears, "
          "and neither touches the data")
"""What `check_handshake` shows, in words."""

MOVING = "mxcast_moving"
CONTROL = {"rst": "1'b0", "i_valid": "1'b1", "o_ready": "1'b1"}
"""Control inputs as they are while everything moves."""
# valid bits first, by name: their reset goes before the enable
REGISTERS = ["opt_clean", "opt_dff w:valid_*_q w:o_valid %u %ci:+$dff[Q]", "opt_dff -nosdff", "opt_clean"]
STORAGE = ("$dff", "$adff", "$sdff", "$aldff", "$dlatch", "$adlatch", "$sr", "$ff", "$mem", "$_")
GATES = {"$not": lambda bits: not bits[0], "$or": any, "$and": all, "$logic_not": lambda bits: not bits[0], "$logic_or": any,
         "$logic_and": all}


def moving(reading: list[str], top: str, config: ConverterConfig, folder: Path) -> tuple[list[str], str]:
    """Yosys' commands, and the top module, of the converter in which nothing ever waits: of the ports only ``clk`` and data."""
    numerics = config.numerics
    widths = {"clk": 1, "x": numerics.block_size * numerics.source.bits, "mode": config.mode_bits,
              "random": numerics.block_size * numerics.random_bits}
    inputs = {port: width for port, width in widths.items() if width}
    outputs = {"scale": numerics.block.scale.bits, "p": numerics.block_size * numerics.block.element.bits}
    ports = [f"{way} wire [{width - 1}:0] {port}" for way, some in (("input", inputs), ("output", outputs)) for port, width in some.items()]
    pins = [f".{port}({value})" for port, value in [*((port, port) for port in [*inputs, *outputs]), *CONTROL.items()]]
    file = write_whole(folder / "moving.v", f"module {MOVING}({', '.join(ports)});\n  {top} converter({', '.join(pins)});\nendmodule\n")
    return [*reading, f"read_verilog -sv {file.resolve()}"], MOVING


def check_handshake(reading: list[str], top: str, latency: int, folder: Path) -> None:
    """Raise `StructureError`, one sentence, unless the converter that Yosys' commands ``reading`` read is as said above."""
    provide(folder)
    module = flat_netlist([*reading, *(command.format(top=top) for command in PREPARATION), *REGISTERS], top, folder)[top]
    ports = {name: port["bits"] for name, port in module["ports"].items()}
    cells = {name: cell for name, cell in module["cells"].items() if not cell["type"].startswith("$scopeinfo")}
    registers = {name: cell for name, cell in cells.items() if cell["type"].startswith(STORAGE)}
    for cell in registers.values():
        _check_register(cell, ports)
    chain, bit = {}, ports["i_valid"]
    while bit != ports["o_valid"]:
        found = [name for name, cell in registers.items() if cell["connections"]["D"] == bit and name not in chain]
        if len(found) != 1 or registers[found[0]]["type"] != "$sdffe":
            raise StructureError("the valid bits are no chain from i_valid to o_valid")
        chain[found[0]] = bit = registers[found[0]]["connections"]["Q"]
    if len(chain) != latency:
        raise StructureError(f"registers between i_valid and o_valid: {len(chain)}, not {latency}")
    if any(cell["type"] == "$sdffe" and name not in chain for name, cell in registers.items()):
        raise StructureError("the reset clears more than the valid bits")
    logic = _check_ready(cells, ports)
    control = {bit for port in (*CONTROL, "i_ready", "o_valid") for bit in ports[port]}
    control |= {bit for name in logic for bit in cells[name]["connections"]["Y"]} | {bit for bits in chain.values() for bit in bits}
    for name, cell in cells.items():
        pins = {"CLK", "EN", "SRST", *(["D"] if name in chain else [])} if name in registers else set()
        seen = {bit for port, bits in cell["connections"].items() if port not in pins and cell["port_directions"][port] == "input"
                for bit in bits}
        if name not in logic and seen & control:
            raise StructureError("valid, ready or reset reach the data")
    if control & {*ports["scale"], *ports["p"]}:
        raise StructureError("valid, ready or reset reach the data")


def _check_register(cell: dict, ports: dict[str, list]) -> None:
    pins, parameters = cell["connections"], {name: int(value, 2) for name, value in cell["parameters"].items() if set(value) <= {"0", "1"}}
    if cell["type"] not in ("$dffe", "$sdffe") or pins["CLK"] != ports["clk"] or not parameters["CLK_POLARITY"]:
        raise StructureError("it has storage that is no register with an enable at the rising edge of clk")
    if pins["EN"] != ports["i_ready"] or not parameters["EN_POLARITY"]:
        raise StructureError("it has a register whose enable is not i_ready")
    if cell["type"] == "$sdffe" and (pins["SRST"] != ports["rst"] or not parameters["SRST_POLARITY"] or parameters.get("SRST_VALUE") != 0):
        raise StructureError("it has a register that is cleared by something else than rst")


def _check_ready(cells: dict[str, dict], ports: dict[str, list]) -> set[str]:
    """The cells that make i_ready out of o_ready and o_valid."""
    driver = {bit: name for name, cell in cells.items() for bit in cell["connections"].get("Y", ())}
    used: set[str] = set()

    def value(bit: object, known: dict) -> bool:
        if bit in known:
            return known[bit]
        cell = cells.get(driver.get(bit, ""))
        if cell is None or cell["type"] not in GATES:
            raise StructureError("i_ready depends on more than o_ready and o_valid")
        used.add(driver[bit])
        return GATES[cell["type"]]([value(cell["connections"][port][0], known) for port in ("A", "B") if port in cell["connections"]])

    for ready, valid in product((False, True), repeat=2):
        if value(ports["i_ready"][0], {ports["o_ready"][0]: ready, ports["o_valid"][0]: valid}) != (ready or not valid):
            raise StructureError("i_ready is not: o_ready, or no o_valid")
    return used
