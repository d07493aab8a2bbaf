"""Hardware whose pins carry blocks in the layout of a library: the netlist with the ports of the operation.

Every bit of these ports is a bit of a pin, at its place in the layout, and all other bits of pins are 0. So a proof
about the ports holds for the pins.
"""

from __future__ import annotations

from collections.abc import Callable

from ...hdl import HardwareConfig
from ...spec import Layout, Packing, Role, ScalePlace
from .design import Design
from .structure import StructureError


def _high_parts(lane: int, bit: int, width: int) -> int:
    group, member = divmod(lane, 4)
    if bit >= 4:
        return 24 * group + 6 - 2 * member + bit - 4
    return 24 * group + 8 + 8 * (member // 2) + 4 * (1 - member % 2) + bit


PLACES: dict[Packing, Callable[[int, int, int], int]] = {
    Packing.BYTES: lambda lane, bit, width: 8 * lane + bit,
    Packing.LOW_FIRST: lambda lane, bit, width: 8 * (lane // 2) + 4 * (lane % 2) + bit,
    Packing.HIGH_FIRST: lambda lane, bit, width: 8 * (lane // 2) + 4 * (1 - lane % 2) + bit,
    Packing.HALVES: lambda lane, bit, width: 8 * (lane % (width // 2)) + 4 * (lane // (width // 2)) + bit,
    Packing.LITTLE_ENDIAN: lambda lane, bit, width: 24 * (lane // 4) + 6 * (lane % 4) + bit,
    Packing.HIGH_PARTS: _high_parts,
}
"""The place of a bit of a code among the bytes of its block, which has ``width`` elements."""


def _places(layout: Layout, role: Role, bits: int, lanes: int) -> list[int]:
    """The places of the bits of a port in the pin."""
    if role is Role.SCALE:
        first = 8 * layout.block_bytes if layout.place is ScalePlace.AFTER else 0
        return list(range(first, first + bits))
    first = 8 if layout.place is ScalePlace.BEFORE else 0
    place = PLACES[layout.packing]
    return [first + place(lane, bit, lanes) for lane in range(lanes) for bit in range(bits)]


def with_ports(design: Design, config: HardwareConfig) -> Design:
    """The design with the ports of a configuration in place of its pins. Raises `StructureError` if a bit of a pin that
    belongs to no port is not 0."""
    layout, pin = config.layout, config.stored_pin
    if layout is None or pin is None:
        return design
    modules = design.modules
    top = modules[design.top]
    stored = top["ports"].pop(pin.name)
    rest = set(range(pin.width))
    for port in config.ports:
        if port not in config.pins:
            places = _places(layout, port.role, port.bits, port.lanes)
            rest -= set(places)
            bits = [stored["bits"][place] for place in places]
            top["ports"][port.name] = {**stored, "bits": bits}
            top["netnames"][port.name] = {"hide_name": 0, "bits": bits, "attributes": {}}
    if pin.direction == "output" and (wrong := [place for place in sorted(rest) if stored["bits"][place] != "0"]):
        raise StructureError(f"bit {wrong[0]} of {pin.name} is not 0, and no code has it")
    return design.of_netlist(modules)
