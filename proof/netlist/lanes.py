"""Check on the netlist, bit by bit, that a lane of a block depends on its own inputs only."""

from __future__ import annotations

from ...spec import Operation, Port
from .design import DISSOLVED, FREED, UNSAID, Design, provide
from .structure import StructureError, drivers_of

GATES = [*DISSOLVED, "proc -norom", "flatten", *UNSAID, *FREED, "opt_clean", "simplemap", "techmap", "opt_clean"]
"""Split cells to one output bit, so that lanes that share an operation on vectors are separated."""


def check_lanes(design: Design, operation: Operation) -> None:
    """Raise `StructureError` if a lane of a result depends on another lane of an input. Inputs with one lane belong to
    all lanes."""
    provide(design.folder)
    module = design.netlist_after(GATES)[design.top]
    ports = {name: port["bits"] for name, port in module["ports"].items()}
    lanes = operation.block_size

    def of_lane(port: Port, lane: int) -> list:
        return ports[port.name][port.bits * lane : port.bits * (lane + 1)]

    drivers, cells = drivers_of(module), module["cells"]
    owner = {
        bit: lane
        for port in operation.ports
        if port.direction == "input" and port.lanes == lanes
        for lane in range(lanes)
        for bit in of_lane(port, lane)
    }
    results = [port for port in operation.ports if port.direction == "output" and port.lanes == lanes]
    for lane in range(lanes):
        found: set = set()
        waiting = [bit for port in results for bit in of_lane(port, lane)]
        while waiting:
            bit = waiting.pop()
            if bit in found:
                continue
            found.add(bit)
            if owner.get(bit, lane) != lane:
                raise StructureError(f"element {lane} depends on element {owner[bit]}")
            if (cell := cells.get(drivers.get(bit, ""))) is not None:
                pins = [pin for pin, way in cell["port_directions"].items() if way == "input"]
                waiting += [other for pin in pins for other in cell["connections"][pin]]
