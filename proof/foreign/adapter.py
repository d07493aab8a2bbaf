"""A converter of others behind our ports: its text, a map of its ports, and a thin wrapper around it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from pathlib import Path

from ...sim.run.verilator.driver import Driver
from ...sim.run.verilator.stream import streamed
from ...sim.run.verilator.verilated import driver_of
from ...spec import BlockOperation
from ..netlist.design import Design
from ..solve.counterexample import settling, verilator_reads
from ..verilog.elaboration import Elaboration, elaborated
from ..verilog.text import free_name
from .mapping import Bit, Connections, PortMap, connections


@dataclass
class Adapter:
    """The module ``top`` of ``text`` behind the ports of an operation. Works in ``folder``.

    Raises ValueError if slang cannot read the text, the text has no such module, or the map does not fit its ports.
    """

    text: str
    top: str
    asked: PortMap
    numerics: BlockOperation
    folder: Path
    parameters: dict[str, str]

    def __post_init__(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        _ = self.connections  # report a wrong map first

    @cached_property
    def elaboration(self) -> Elaboration:
        return elaborated(self.text, self.top, self.parameters)

    @cached_property
    def connections(self) -> Connections:
        ports = self.elaboration.ports
        if other := [port for port in ports.values() if port.direction not in ("input", "output")]:
            raise ValueError(
                f"{self.top} has the {other[0].direction} {other[0].name}: converters have inputs and outputs"
            )
        return connections(self.asked, ports, self.top, self.numerics)

    @cached_property
    def wrapper_name(self) -> str:
        """The name of the module with our ports."""
        return free_name("mxcast_check", self.text)

    def wrapper(self, reset: bool) -> str:
        """The wrapper as SystemVerilog; without ``reset`` the reset of the design is tied to its inactive level."""
        ports, unpacked = self.elaboration.ports, self.elaboration.unpacked
        ours = self.numerics.ports
        inputs = [f"input wire [{port.width - 1}:0] {port.name}" for port in ours if port.direction == "input"]
        inputs += ["input wire clk"] * (self.asked.clk is not None) + ["input wire rst"] * (
            reset and self.asked.rst is not None
        )
        outputs = [f"output wire [{port.width - 1}:0] {port.name}" for port in ours if port.direction == "output"]
        tied = {} if reset else {"rst": "1'b0", "~rst": "1'b1", "~clk": "clk"}  # a proof needs one edge, either one
        wholes = {port: f"u{number}" for number, port in enumerate(unpacked)}
        lines, pins, signals = (
            [f"  {declaration.format(wholes[port])};" for port, declaration in unpacked.items()],
            [],
            {},
        )
        for number, port in enumerate(ports.values()):
            whole, bracket, index = port.name.partition("[")
            element = f"{wholes[whole]}{bracket}{index}" if whole in wholes and port.name != whole else None
            if port.direction == "output":
                signals[port.name] = f"o{number}"
                lines.append(f"  wire [{port.width - 1}:0] o{number};")
                if element:
                    lines.append(f"  assign o{number} = {element};")
                else:
                    pins.append(f".{_escaped(port.name)}(o{number})")
            elif element:
                lines.append(f"  assign {element} = {_joined(self.connections.inputs[port.name], tied)};")
            else:
                pins.append(f".{_escaped(port.name)}({_joined(self.connections.inputs[port.name], tied)})")
        pins += [f".{_escaped(port)}({whole})" for port, whole in wholes.items()]
        chosen = ", ".join(f".{name}({value})" for name, value in self.parameters.items())
        return "\n".join(
            [
                f"module {self.wrapper_name}({', '.join([*inputs, *outputs])});",
                *lines,
                f"  {_escaped(self.top)}{f'#({chosen}) ' if chosen else ''}dut(" + ",\n    ".join(pins) + ");",
                *(
                    f"  assign {quantity} = {_joined([(signals[name], place) for name, place in bits], {})};"
                    for quantity, bits in self.connections.outputs.items()
                ),
                "endmodule",
                "",
            ]
        )

    @property
    def verilog(self) -> str:
        """The design in its wrapper, for a simulator."""
        return f"{self.wrapper(True)}\n{self.text}"

    def simulated(self) -> Driver:
        """The Verilated design. Raises `DesignError` if Verilator cannot read it."""
        text, name, asked = settling(self.verilog), self.wrapper_name, self.asked
        with verilator_reads():
            if asked.clk is None:
                return driver_of(text, name, self.numerics, lint=False)
            return streamed(text, name, self.numerics, asked.latency, asked.interval, asked.rst is not None)

    def design(self, reader: str) -> Design:
        """The design in its wrapper, as a reader of Yosys reads it."""
        return Design(f"{self.wrapper(False)}\n{self.text}", self.wrapper_name, self.folder / reader, reader)


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
