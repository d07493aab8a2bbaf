"""A converter of others behind our ports: its text, a map of its ports, and a thin wrapper around it."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import groupby
from pathlib import Path

from ...hdl import HardwareConfig
from ...sim.run.verilator.beats import BeatDriver
from ...sim.run.verilator.driver import Driver, build
from ...sim.run.verilator.stream import streamed
from ...sim.run.verilator.verilated import driver_of
from ...sim.stored import behind_ports
from ...spec import BlockOperation, Port, Role
from ..netlist.beats.parts import AXIS_CLOCK, AXIS_RESET
from ..netlist.design import Design
from ..solve.counterexample import settling, verilator_reads
from ..verilog.elaboration import Elaboration, elaborated
from ..verilog.text import free_name
from .mapping import COUNTED, Bit, Connections, PortMap, connections


@dataclass
class Adapter:
    """The module ``top`` of ``text`` behind the ports of an operation, or behind the pins of a configuration with
    lanes. Works in ``folder``.

    Raises ValueError if slang cannot read the text, the text has no such module, or the map does not fit its ports.
    """

    text: str
    top: str
    asked: PortMap
    config: HardwareConfig
    folder: Path
    parameters: dict[str, str]
    seed: int = 0

    def __post_init__(self) -> None:
        if self.config.interval > 1:
            raise ValueError(
                "check-rtl takes a design of any form by its ports: leave out form, and give --map "
                f"interval={self.config.interval}, or use mxcast prove --rtl"
            )
        if self.config.pause:
            raise ValueError(
                "check-rtl takes designs whose blocks never stop: leave out form, or use mxcast prove --rtl"
            )
        if self.config.in_beats:
            self.asked = self._with_clock()
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
        return connections(self.asked, ports, self.top, self.numerics, self.ours)

    @property
    def numerics(self) -> BlockOperation:
        return self.config.numerics

    @property
    def ours(self) -> tuple[Port, ...]:
        """Our ports, without clock and reset."""
        pins = self.config.pins if self.config.in_beats else self.numerics.ports
        return tuple(pin for pin in pins if pin.role not in (Role.CLOCK, Role.RESET))

    def _with_clock(self) -> PortMap:
        """The map with the clock and the reset of a design with lanes, which may have our names."""
        asked, ports = self.asked, self.elaboration.ports
        if asked.latency or asked.interval > 1:
            raise ValueError("a design with lanes has a handshake: leave out latency and interval")
        level = "@low" if self.config.has_axis else ""
        chosen = {"clk": asked.clk or self._called("clk"), "rst": asked.rst or f"{self._called('rst')}{level}"}
        if missing := [key for key, name in chosen.items() if name.partition("@")[0] not in ports]:
            raise ValueError(f"a design with lanes needs a clock and a reset: map {missing[0]}=PORT")
        return replace(asked, clk=chosen["clk"], rst=chosen["rst"])

    @cached_property
    def wrapper_name(self) -> str:
        """The name of the module with our ports."""
        return free_name("mxcast_check", self.text)

    def wrapper(self, reset: bool) -> str:
        """The wrapper as SystemVerilog; without ``reset`` the reset of the design is tied to its inactive level."""
        ports, unpacked = self.elaboration.ports, self.elaboration.unpacked
        ours = self.ours
        inputs = [f"input wire [{port.width - 1}:0] {port.name}" for port in ours if port.direction == "input"]
        clock = [("clk", self.asked.clk is not None), ("rst", reset and self.asked.rst is not None)]
        inputs += [f"input wire {self._called(name)}" for name, is_there in clock if is_there]
        outputs = [f"output wire [{port.width - 1}:0] {port.name}" for port in ours if port.direction == "output"]
        tied = {} if reset else {"rst": "1'b0", "~rst": "1'b1", "~clk": "clk"}  # a proof needs one edge, either one
        wholes = {port: f"u{number}" for number, port in enumerate(unpacked)}
        lines = [f"  {declaration.format(wholes[port])};" for port, declaration in unpacked.items()]
        pins, signals = [], {}
        if self.config.has_axis:
            lines += [f"  wire clk = {AXIS_CLOCK};", f"  wire rst = ~{AXIS_RESET};"]
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
                *self._counted(),
                "endmodule",
                "",
            ]
        )

    def _called(self, signal: str) -> str:
        """The pin of the clock or of the reset."""
        return {"clk": AXIS_CLOCK, "rst": AXIS_RESET}[signal] if self.config.has_axis else signal

    def _counted(self) -> list[str]:
        """The lines that count beats, for outputs that the design lacks."""
        last = self.config.beats - 1
        values = dict(zip(COUNTED, ("beat == 0", f"beat == {last}")))
        lacking = [pin.name for pin in self.ours if pin.name in values and pin.name not in self.connections.outputs]
        if not lacking:
            return []
        after = f"beat == {last} ? 0 : beat + 1"
        return [
            "  integer beat = 0;",
            f"  always @(posedge clk) if (rst) beat <= 0; else if (o_valid & o_ready) beat <= {after};",
            *(f"  assign {name} = {values[name]};" for name in lacking),
        ]

    @property
    def verilog(self) -> str:
        """The design in its wrapper, for a simulator."""
        return f"{self.wrapper(True)}\n{self.text}"

    def simulated(self) -> Driver:
        """The Verilated design. Raises `DesignError` if Verilator cannot read it."""
        text, name, asked = settling(self.verilog), self.wrapper_name, self.asked
        with verilator_reads():
            if self.config.in_beats:
                text, name = behind_ports(self.config, text, name)
                library = build(text, name, self.config.ports, lint=False)
                return BeatDriver(library, self.config, self.seed, is_ours=False)
            if asked.clk is None:
                return driver_of(text, name, self.numerics, lint=False)
            return streamed(text, name, self.numerics, asked.latency, asked.interval, asked.rst is not None)

    def design(self, reader: str) -> Design:
        """The design in its wrapper, as a reader of Yosys reads it."""
        text = f"{self.wrapper(self.config.in_beats)}\n{self.text}"  # the handshake is proved with its reset
        return Design(text, self.wrapper_name, self.folder / reader, reader)


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
