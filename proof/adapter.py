"""Anybody's converter behind our ports: its files as one text, its port list, and a thin wrapper around it."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from pathlib import Path

from ..host.errors import ToolError
from ..host.files import write_whole
from ..sim.stream import stream_text
from ..sim.verilated import Verilated, verilate_text
from ..spec import Numerics
from ..synth.yosys import execute, yosys_version
from .design import Design
from .mapping import Bit, Connections, Port, PortMap, connections
from .pipeline import combinational

__all__ = ["WRAPPER", "Adapter"]

WRAPPER = "mxcast_check"
"""The module that has our ports."""

FRONTENDS = {
    "read_verilog": "read_verilog -sv {file}",
    "read_slang": "read_slang --allow-use-before-declare -Wno-error --top {top} {file}",
}
"""Yosys' readers of SystemVerilog, the one that goes first being tried first."""


@dataclass
class Adapter:
    """The module ``top`` of ``text`` behind the ports ``x``, ``scale`` and ``p``, besides ``random`` where the rounding is
    stochastic. Works in ``folder``.

    Raises ValueError where Yosys cannot read the text, has no such module, or the map does not fit its ports.
    """

    text: str
    top: str
    asked: PortMap
    numerics: Numerics
    folder: Path
    parameters: dict[str, str]

    def __post_init__(self) -> None:
        if not re.search(rf"\bmodule\s+(automatic\s+|static\s+)?\\?{re.escape(self.top)}(?![\w$])", self.text):
            found = re.findall(r"^\s*module\s+(?:automatic\s+|static\s+)?([A-Za-z_][\w$]*)", self.text, re.M)
            raise ValueError(f"the files have no module {self.top}: they have {', '.join(found) or 'none'}")
        self.folder.mkdir(parents=True, exist_ok=True)
        yosys_version()
        self.connections  # what is wrong with the map is said first

    @cached_property
    def _read(self) -> tuple[str, dict[str, Port]]:
        """The reader that understands the text, and the ports of its top module."""
        source, netlist = write_whole(self.folder / "design.sv", self.text), self.folder / "ports.json"
        errors = []
        for frontend, command in FRONTENDS.items():
            netlist.unlink(missing_ok=True)
            reading, chosen = command.format(file=source.name, top=self.top), "".join(
                f" -chparam {name} {value}" for name, value in self.parameters.items())
            if frontend == "read_slang":
                reading += "".join(f" -G {name}={value}" for name, value in self.parameters.items())
                chosen = ""
            try:
                execute([reading, f"hierarchy -check -top {self.top}{chosen}", "proc", f"write_json {netlist.name}"], self.folder)
                modules = json.loads(netlist.read_text())["modules"]
            except (ToolError, OSError) as error:
                errors.append(str(error).removeprefix("Yosys stopped: "))
                continue
            netlist.unlink()
            top = next(module for module in modules.values() if int(module["attributes"].get("top", "0"), 2))
            return frontend, {name: Port(name, port["direction"], len(port["bits"]), port.get("offset", 0), bool(port.get("upto")))
                              for name, port in top["ports"].items()}
        raise ValueError(f"Yosys cannot read the files: {errors[0]}")

    @property
    def ports(self) -> dict[str, Port]:
        return self._read[1]

    @cached_property
    def connections(self) -> Connections:
        if both := [port.name for port in self.ports.values() if port.direction == "inout"]:
            raise ValueError(f"{self.top} has the inout {both[0]}: converters have inputs and outputs")
        return connections(self.asked, self.ports, self.top, self.numerics)

    def wrapper(self, reset: bool) -> str:
        """The wrapper as Verilog; without ``reset`` that of the design is tied to where it is not active."""
        n = self.numerics
        sizes = {"x": n.block_size * n.source.bits, "random": n.block_size * n.random_bits}
        inputs = [f"input wire [{size - 1}:0] {name}" for name, size in sizes.items() if size]
        inputs += ["input wire clk"] * (self.asked.clk is not None) + ["input wire rst"] * self._has_reset(reset)
        outputs = [f"output wire [{size - 1}:0] {name}" for name, size in
                   (("scale", 8), ("p", n.block_size * n.block.element.bits))]
        wires = {port.name: f"o{number}" for number, port in enumerate(self.ports.values()) if port.direction == "output"}
        tied = {} if reset else {"rst": "1'b0", "~rst": "1'b1", "~clk": "clk"}  # a proof asks for one edge, whichever
        pins = [f".{_escaped(name)}({wires[name] if name in wires else _joined(self.connections.inputs[name], tied)})"
                for name in self.ports]
        chosen = ", ".join(f".{name}({value})" for name, value in self.parameters.items())
        return "\n".join([
            f"module {WRAPPER}({', '.join([*inputs, *outputs])});",
            *(f"  wire [{self.ports[name].width - 1}:0] {wire};" for name, wire in wires.items()),
            f"  {_escaped(self.top)}{f'#({chosen}) ' if chosen else ''}dut(" + ",\n    ".join(pins) + ");",
            *(f"  assign {quantity} = {_joined([(wires[name], place) for name, place in bits], {})};"
              for quantity, bits in self.connections.outputs.items()), "endmodule", ""])

    def _has_reset(self, reset: bool) -> bool:
        return reset and self.asked.rst is not None

    @property
    def verilog(self) -> str:
        """The design in its wrapper, for a simulator."""
        return self.wrapper(True) + self.text

    def simulated(self) -> Verilated:
        """The Verilated design. Raises ValueError where Verilator cannot read it."""
        # delays mean nothing to a design that is given time to settle
        text, asked = f"/*verilator timing_off*/\n{self.verilog}", self.asked
        try:
            if asked.clk is None:
                return verilate_text(text, WRAPPER, self.numerics, lint=False)
            return stream_text(text, WRAPPER, self.numerics, asked.latency, asked.interval, self._has_reset(True))
        except ToolError as error:
            if str(error).startswith("verilator_bin failed"):
                raise ValueError(f"Verilator cannot read the files: {str(error).removeprefix('verilator_bin failed: ')}") from None
            raise

    def design(self) -> Design:
        """The design without its registers, for a proof. Raises `StructureError` where it is no pipeline of the latency."""
        frontend, _ = self._read
        file = write_whole(self.folder / "wrapped.sv", self.wrapper(False) + self.text)
        return combinational([FRONTENDS[frontend].format(file=file.name, top=WRAPPER)], WRAPPER, self.asked.latency, self.folder)


def _escaped(name: str) -> str:
    return f"{name} " if re.fullmatch(r"[A-Za-z_][\w$]*", name, re.ASCII) else f"\\{name} "


def _joined(bits: list[Bit], tied: dict[str, str]) -> str:
    """Bits, from the lowest up, as one expression: runs of a signal are slices of it.

    >>> _joined([("x", 0), ("x", 1), ("0", 0), ("o2", 0)], {})
    "{o2[0:0], 1'b0, x[1:0]}"
    """
    parts = []
    for (name, _), run in groupby(enumerate(bits), key=lambda item: (item[1][0], item[1][1] - item[0])):
        places = [place for _, (_, place) in run]
        if name in ("0", "1"):
            parts += [f"1'b{name}"] * len(places)
        elif name.lstrip("~") in ("clk", "rst"):
            parts.append(tied.get(name, name))
        else:
            parts.append(f"{name}[{places[-1]}:{places[0]}]")
    return "{" + ", ".join(reversed(parts)) + "}"
