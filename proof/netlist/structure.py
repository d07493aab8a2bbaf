"""Check on the netlist that the parts of a block are wired as their proofs need it."""

from __future__ import annotations

from dataclasses import dataclass

from ...hdl import HardwareConfig
from ...spec import Encode, Port, Role


class StructureError(ValueError):
    """A design is not wired as a proof needs it. The message is one sentence."""


@dataclass(frozen=True, kw_only=True)
class Wiring:
    """The modules of the lanes of a block, and its flags."""

    elements: tuple[str, ...]
    """The module of every lane: one module, or its copies in the netlist of Yosys."""
    element_cells: tuple[str, ...]
    wideners: tuple[str, ...]
    """The module that widens the number of every lane; empty if no number is widened."""
    flags: dict[str, str]
    """The wire of the top module that carries each flag to every lane."""


class Instances:
    """The modules in a module of a netlist: their connections and kinds, and the ports of the module itself."""

    def __init__(self, modules: dict[str, dict], name: str) -> None:
        self.modules, self.name, module = modules, name, modules[name]
        self.ports: dict[str, list] = {port: known["bits"] for port, known in module["ports"].items()}
        cells = {name: cell for name, cell in module["cells"].items() if cell["type"] in modules}
        self.cells: dict[str, dict[str, list]] = {name: cell["connections"] for name, cell in cells.items()}
        self.kinds: dict[str, str] = {name: cell["type"] for name, cell in cells.items()}
        self.has_logic = len(cells) < len(module["cells"])

    def inputs(self, cell: str) -> dict[str, list]:
        """The inputs of an instance."""
        known = self.modules[self.kinds[cell]]["ports"]
        return {port: bits for port, bits in self.cells[cell].items() if known[port]["direction"] == "input"}

    def making(self, port: str) -> list[str]:
        """The instances that have this output."""
        return [cell for cell, bits in self.cells.items() if port in bits and port not in self.inputs(cell)]

    def check_inputs(self, cell: str, wanted: dict[str, list]) -> None:
        """Raise `StructureError` unless an instance has exactly these inputs."""
        if self.inputs(cell) != wanted:
            raise StructureError(f"{cell} of {self.name} has other inputs")


def drivers_of(module: dict) -> dict[object, str]:
    """The cell that drives each bit of a module."""
    return {
        bit: name
        for name, cell in module["cells"].items()
        for pin, bits in cell["connections"].items()
        if cell["port_directions"][pin] == "output"
        for bit in bits
    }


def in_lanes(bits: list, width: int) -> list[list]:
    """Bits in parts of a width, the lowest first."""
    return [bits[place : place + width] for place in range(0, len(bits), width)]


def net_of(module: dict, bits: list) -> str:
    """The name of a net, a written one if it has several. Raises `StructureError` without a name."""
    nets = module["netnames"]
    found = [name for name, net in nets.items() if net["bits"] == bits]
    if not found:
        raise StructureError("a part is connected to what has no name")
    return min(found, key=lambda name: nets[name]["hide_name"])


def check_ports(modules: dict[str, dict], top: str, config: HardwareConfig, registered: bool = False) -> None:
    """Raise ValueError unless a module has exactly the pins of a configuration, and ``clk`` if it is registered."""
    wanted = {pin.name: (pin.direction, pin.width) for pin in config.pins}
    if registered and not config.has_axis:
        wanted["clk"] = "input", 1
    ports = {name: (port["direction"], len(port["bits"])) for name, port in modules[top]["ports"].items()}
    for name in [*wanted, *ports]:
        if name not in wanted:
            if name == "clk":
                raise ValueError(f"{top} has a clock: say after how many of its cycles a result comes (latency)")
            raise ValueError(
                f"{top} has an unexpected port {name}, which is none of {config.formats}: mxcast check-rtl takes other "
                "ports with --map"
            )
        if ports.get(name) != wanted[name]:
            found = "there is none" if name not in ports else f"it is an {ports[name][0]} of {ports[name][1]}"
            raise ValueError(
                f"the port {name} of {top} must be an {wanted[name][0]} of {wanted[name][1]} bits: {found}"
            )


def wiring(modules: dict[str, dict], top: str, config: HardwareConfig[Encode], flags: tuple[str, ...]) -> Wiring:
    """Check that every lane is one cell that is connected to the number, the random bits and the code of its lane, and
    to the scale output, the flags and the mode of the block; raises `StructureError` otherwise.

    Nothing else can reach a code. So the statement about a whole block follows from a statement about these modules for
    every number and byte that they can meet, and one about the byte and the flags of every block.
    """
    module = modules[top]
    ports = {name: port["bits"] for name, port in module["ports"].items()}
    cells = {name: cell for name, cell in module["cells"].items() if cell["type"] in modules}
    ours = {port.role: port for port in config.ports}
    numbers, codes = ours[Role.NUMBERS], ours[Role.CODES]

    def slice_of(port: Port, lane: int) -> list:
        return ports[port.name][port.bits * lane : port.bits * (lane + 1)]

    def cell_with(port: str, bits: list, what: str) -> tuple[str, dict]:
        found = [(name, cell) for name, cell in cells.items() if cell["connections"].get(port) == bits]
        if len(found) != 1:
            raise StructureError(f"{what} of {top} does not come from one module")
        return found[0]

    names, kinds, wideners = [], [], []
    received: dict[str, list] = {}
    for lane in range(codes.lanes):
        name, cell = cell_with(codes.name, slice_of(codes, lane), f"the code of element {lane}")
        bits, number = dict(cell["connections"]), slice_of(numbers, lane)
        if bits[numbers.name] != number:  # widened
            _, widen = cell_with("wide", bits[numbers.name], f"the number of element {lane}")
            given = widen["connections"]
            if given[numbers.name] != number or set(given) != {numbers.name, "wide"}:
                raise StructureError(f"element {lane} of {top} does not get its number")
            wideners.append(widen["type"])
        expected = {  # one lane of a port with lanes, or the whole port
            port.name: slice_of(port, lane) if port.lanes > 1 else ports[port.name]
            for port in (ours.get(role) for role in (Role.SCALE, Role.MODE, Role.RANDOM))
            if port is not None
        }
        for port, wires in expected.items():
            if bits.get(port) != wires:
                raise StructureError(f"element {lane} of {top} does not get {port}")
        for flag in flags:
            if not bits.get(flag) or received.setdefault(flag, bits[flag]) != bits[flag]:
                raise StructureError(f"element {lane} of {top} does not get {flag} like the others")
        if more := set(bits) - {numbers.name, codes.name, *expected, *flags}:
            raise StructureError(f"element {lane} of {top} has more ports: {', '.join(sorted(more))}")
        names.append(name)
        kinds.append(cell["type"])
    if len(wideners) not in (0, len(kinds)):
        raise StructureError(f"some elements of {top} are widened and some are not")
    nets = {
        flag: next((name for name, net in module["netnames"].items() if net["bits"] == wires), "")
        for flag, wires in received.items()
    }
    if not all(nets.values()):
        raise StructureError(f"a flag of {top} has no name")
    return Wiring(elements=tuple(kinds), element_cells=tuple(names), wideners=tuple(wideners), flags=nets)
