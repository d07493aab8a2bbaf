"""Is a block put together from its parts as the composition of their proofs needs it? Checked on the netlist."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ...hdl import HardwareConfig
from ...spec import Encode, Port, Role


class StructureError(ValueError):
    """A block is not wired as a composition of proofs needs it. The message is one sentence."""


@dataclass(frozen=True, kw_only=True)
class Wiring:
    """How the lanes of a block hang together."""

    elements: tuple[str, ...]
    """The module of every lane: the same, or as many as Yosys has made of it."""
    element_cells: tuple[str, ...]
    wideners: tuple[str, ...]
    """The module that widens the number of every lane first; none where it is not widened."""
    flags: dict[str, str]
    """The wire of the top module that tells each flag to every lane."""


def check_ports(modules: dict[str, dict], top: str, config: HardwareConfig, registered: bool = False) -> None:
    """Raise ValueError unless a module has exactly the ports of a converter, with ``clk`` where it is registered, and
    with reset and handshake where the configuration says so.
    """
    wanted = {pin.name: (pin.direction, pin.width) for pin in config.pins}
    if registered:
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
    """Check that every lane is one cell, with the number, the random bits and the code of its lane, and
    with the scale output, the flags and the mode of all; raises `StructureError` otherwise.

    Together with a statement about these modules for every number and byte that it can meet, and one about the byte and
    the flags for every block, this gives the statement about the whole block: nothing else can reach a code.
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
            raise StructureError(f"{what} of {top} is not that of one module")
        return found[0]

    names, kinds, wideners = [], [], []
    told: dict[str, Any] = {}
    for lane in range(codes.lanes):
        name, cell = cell_with(codes.name, slice_of(codes, lane), f"the code of element {lane}")
        bits, number = dict(cell["connections"]), slice_of(numbers, lane)
        if bits[numbers.name] != number:  # widened on its way
            _, widen = cell_with("wide", bits[numbers.name], f"the number of element {lane}")
            given = widen["connections"]
            if given[numbers.name] != number or set(given) != {numbers.name, "wide"}:
                raise StructureError(f"element {lane} of {top} does not get its number")
            wideners.append(widen["type"])
        expected = {  # a lane of what has lanes, and the whole of what has not
            port.name: slice_of(port, lane) if port.lanes > 1 else ports[port.name]
            for port in (ours.get(role) for role in (Role.SCALE, Role.MODE, Role.RANDOM))
            if port is not None
        }
        for port, wires in expected.items():
            if bits.get(port) != wires:
                raise StructureError(f"element {lane} of {top} does not get {port}")
        for flag in flags:
            if told.setdefault(flag, bits.get(flag)) != bits.get(flag) or not bits.get(flag):
                raise StructureError(f"element {lane} of {top} is not told {flag} like the others")
        if more := set(bits) - {numbers.name, codes.name, *expected, *flags}:
            raise StructureError(f"element {lane} of {top} has more ports: {', '.join(sorted(more))}")
        names.append(name)
        kinds.append(cell["type"])
    if len(wideners) not in (0, len(kinds)):
        raise StructureError(f"some elements of {top} are widened and some are not")
    nets = {
        flag: next((name for name, net in module["netnames"].items() if net["bits"] == wires), "")
        for flag, wires in told.items()
    }
    if not all(nets.values()):
        raise StructureError(f"a flag of {top} has no name")
    return Wiring(elements=tuple(kinds), element_cells=tuple(names), wideners=tuple(wideners), flags=nets)
