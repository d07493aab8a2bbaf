"""Check valid and ready of a converter with registers on the netlist, so that the rest can be proved as a pure delay.

The check shows three facts. The enable of every register equals i_ready: o_ready, or not o_valid. The valid bits are a
chain from i_valid to o_valid with as many registers as the latency, and the reset clears only them. No control signal
reaches the data. So data registers and valid bits make the same steps as in the converter with o_ready tied high, and
hold between steps. Together with the proof of that converter (`moving`, `pipeline.combinational`) this means: each
block that enters gives one result, in order, which does not change while it waits.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

from ...hdl import HardwareConfig
from ..verilog.text import free_name
from .design import Design, provide
from .pipeline import PREPARATION, WITH_ENABLES, bypassed, combinational
from .structure import StructureError

PROVED = (
    "all registers move with i_ready = o_ready or not o_valid, the valid bits are a chain from i_valid to o_valid "
    "that rst clears, "
    "and neither touches the data"
)
"""The result of `check_handshake` in words."""

CONTROL = {"rst": "1'b0", "o_ready": "1'b1"}
"""Values of control inputs while everything moves."""
STORAGE = ("$dff", "$adff", "$sdff", "$aldff", "$dlatch", "$adlatch", "$sr", "$ff", "$mem", "$_")
Bits = list[bool]
GATES: dict[str, Callable[[Bits, Bits], bool]] = {
    "$not": lambda a, b: not a[0],
    "$or": lambda a, b: a[0] or b[0],
    "$and": lambda a, b: a[0] and b[0],
    "$logic_not": lambda a, b: not any(a),
    "$logic_or": lambda a, b: any(a) or any(b),
    "$logic_and": lambda a, b: any(a) and any(b),
    "$reduce_bool": lambda a, b: any(a),
    "$reduce_or": lambda a, b: any(a),
    "$eq": lambda a, b: a == b,
    "$ne": lambda a, b: a != b,
    "$_NOT_": lambda a, b: not a[0],
    "$_AND_": lambda a, b: a[0] and b[0],
    "$_OR_": lambda a, b: a[0] or b[0],
    "$_XOR_": lambda a, b: a != b,
}
"""Cells of one output bit that control may consist of, by the bits of their inputs."""


def moving(design: Design, config: HardwareConfig) -> Design:
    """The converter with o_ready tied high and without reset: its ports are ``clk``, ``i_valid`` and data."""
    kept = [port for port in config.pins if port.name not in CONTROL and (port.direction == "input" or port.is_result)]
    declared = [f"{port.direction} wire [{port.width - 1}:0] {port.name}" for port in kept]
    pins = [f".{port}({value})" for port, value in [*((port.name, port.name) for port in kept), *CONTROL.items()]]
    name = free_name("mxcast_moving", design.text)
    text = (
        f"{design.text}\nmodule {name}({', '.join(declared)});\n  {design.top} "
        f"converter({', '.join(pins)});\nendmodule\n"
    )
    return Design(text, name, design.folder / "moving", design.reader)


def without_registers(design: Design, config: HardwareConfig, latency: int, is_whole: bool = False) -> Design:
    """The design with wires in place of registers, after a check of its handshake, if the configuration has one. It is
    flat if it ``is_whole``, or without a handshake.

    Raises `StructureError` unless it is a pipeline of ``latency`` registers.
    """
    if not config.latency:
        return combinational(design, latency)[0]
    check_handshake(design, config)
    wires, _ = combinational(moving(design, config), latency)
    return wires if is_whole else bypassed(design)


def check_handshake(design: Design, config: HardwareConfig) -> None:
    """Raise `StructureError`, one sentence, unless the facts above hold."""
    provide(design.folder)
    module = design.netlist_after([*PREPARATION, *WITH_ENABLES])[design.top]
    ports = {name: port["bits"] for name, port in module["ports"].items()}
    cells = {name: cell for name, cell in module["cells"].items() if not cell["type"].startswith("$scopeinfo")}
    registers = {name: cell for name, cell in cells.items() if cell["type"].startswith(STORAGE)}
    control = _Control(cells, ports)
    for cell in registers.values():
        _check_register(cell, ports, control)
        cell["connections"]["D"] = [control.captured(bit, cell["type"] == "$sdffe") for bit in cell["connections"]["D"]]
    chain, bit = {}, ports["i_valid"]
    while bit != ports["o_valid"]:
        found = [name for name, cell in registers.items() if cell["connections"]["D"] == bit and name not in chain]
        if len(found) != 1 or registers[found[0]]["type"] != "$sdffe":
            raise StructureError("the valid bits are not a chain from i_valid to o_valid")
        chain[found[0]] = bit = registers[found[0]]["connections"]["Q"]
    if len(chain) != config.latency:
        raise StructureError(f"registers between i_valid and o_valid: {len(chain)}, not {config.latency}")
    if any(cell["type"] == "$sdffe" and name not in chain for name, cell in registers.items()):
        raise StructureError("the reset clears more than the valid bits")
    if not control.is_ready(ports["i_ready"][0]):
        raise StructureError("i_ready is not: o_ready, or not o_valid")
    signals = {bit for port in (*CONTROL, "i_valid", "i_ready", "o_valid") for bit in ports[port]}
    signals |= {bit for name in control.used for bit in cells[name]["connections"]["Y"]} | {
        bit for bits in chain.values() for bit in bits
    }
    outputs = [bit for port in config.pins if port.is_result for bit in ports[port.name]]
    if signals & _data(cells, outputs):
        raise StructureError("valid, ready or reset reach the data")


def _data(cells: dict[str, dict], outputs: list) -> set:
    """All bits on which outputs depend, except through clock, enable and reset of registers."""
    driver = {
        bit: cell
        for cell in cells.values()
        for port, bits in cell["connections"].items()
        if cell["port_directions"][port] == "output"
        for bit in bits
    }
    found, waiting = set(), list(outputs)
    while waiting:
        bit = waiting.pop()
        if bit in found:
            continue
        found.add(bit)
        cell = driver.get(bit)
        if cell is not None:
            pins = (
                ["D"]
                if cell["type"].startswith(STORAGE)
                else [port for port, way in cell["port_directions"].items() if way == "input"]
            )
            waiting += [other for port in pins for other in cell["connections"][port]]
    return found


def _check_register(cell: dict, ports: dict[str, list], control: _Control) -> None:
    pins, parameters = (
        cell["connections"],
        {name: int(value, 2) for name, value in cell["parameters"].items() if set(value) <= {"0", "1"}},
    )
    if cell["type"] not in ("$dffe", "$sdffe") or pins["CLK"] != ports["clk"] or not parameters["CLK_POLARITY"]:
        raise StructureError("it has storage other than registers with an enable at the rising edge of clk")
    # the reset of $sdffe has priority over its enable, which then may be set too
    resets = (False,) if cell["type"] == "$sdffe" else (False, True)
    is_enabled = pins["EN"] == ports["i_ready"] or control.is_ready(pins["EN"][0], resets)
    if not parameters["EN_POLARITY"] or not is_enabled:
        raise StructureError("it has a register whose enable is not i_ready")
    if cell["type"] == "$sdffe" and (
        not control.is_reset(pins["SRST"][0], parameters["SRST_POLARITY"] == 1) or parameters.get("SRST_VALUE") != 0
    ):
        raise StructureError("it has a register that is cleared by something else than rst")


class _Control:
    """The cells that compute signals from o_ready, o_valid and rst; ``used`` collects the cells that were evaluated."""

    def __init__(self, cells: dict[str, dict], ports: dict[str, list]) -> None:
        self.cells = cells
        self.used: set[str] = set()
        self.ready, self.valid, self.reset, self.moves = (
            ports[name][0] for name in ("o_ready", "o_valid", "rst", "i_ready")
        )
        self.driver = {bit: name for name, cell in cells.items() for bit in cell["connections"].get("Y", ())}

    def is_ready(self, bit: object, resets: tuple[bool, ...] = (False,)) -> bool:
        """Is a signal o_ready or not o_valid, while the reset has one of these values? Raises `StructureError` if it
        depends on more."""
        return all(
            self._value(bit, {self.ready: ready, self.valid: valid, self.reset: reset, "0": False, "1": True})
            == (ready or not valid)
            for ready, valid, reset in product((False, True), (False, True), resets)
        )

    def is_reset(self, bit: object, is_high: bool) -> bool:
        """Is a signal the reset, or its inverse unless ``is_high``?"""
        try:
            return all(self._value(bit, {self.reset: reset}) == (reset == is_high) for reset in (False, True))
        except StructureError:  # it depends on more
            return False

    def captured(self, bit: object, is_reset: bool) -> object:
        """The data bit that a register takes while i_ready is set and its reset is not: a multiplexer that control
        selects is replaced by its chosen input."""
        now = {self.moves: True, "0": False, "1": True} | ({self.reset: False} if is_reset else {})
        while (cell := self.cells.get(self.driver.get(bit, ""))) is not None and cell["type"] == "$mux":
            before = set(self.used)
            try:
                chosen = "B" if self._value(cell["connections"]["S"][0], now) else "A"
            except StructureError:  # data selects
                self.used = before
                break
            bit = cell["connections"][chosen][cell["connections"]["Y"].index(bit)]
        return bit

    def _value(self, bit: object, known: dict[object, bool]) -> bool:
        if bit in known:
            return known[bit]
        cell = self.cells.get(self.driver.get(bit, ""))
        if cell is None or cell["type"] not in GATES or len(cell["connections"]["Y"]) > 1:
            raise StructureError("i_ready or an enable depends on more than o_ready and o_valid")
        self.used.add(self.driver[bit])
        return GATES[cell["type"]](
            *([self._value(one, known) for one in cell["connections"].get(port, ())] for port in ("A", "B"))
        )
