"""Hardware with blocks on its pins as a library stores them, behind the ports of its operation."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

import numpy as np

from ..hdl import HardwareConfig
from ..models.arrays.packing import stored_blocks
from ..spec import Role
from .run.axis import around_axis


@lru_cache(maxsize=16)
def _places(config: HardwareConfig) -> dict[str, tuple[str, list[int]]]:
    """For each port that is not a pin the pin with its bits, and their places there. The golden model packs each bit
    alone to find them.
    """
    layout, pin, found = config.layout, config.stored_pin, {}
    if layout is None or pin is None:
        return {}
    for port in config.ports:
        if port not in config.pins:
            ones = np.eye(port.width, dtype=np.uint8).reshape(port.width, port.lanes, port.bits)
            values = np.packbits(ones, axis=-1, bitorder="little")[..., 0]
            blank = np.zeros((port.width, config.numerics.block_size), np.uint8)
            codes, scales = (values, blank[:, 0]) if port.role is Role.CODES else (blank, values[:, 0])
            stored = np.unpackbits(stored_blocks(codes, scales, layout), axis=-1, bitorder="little")
            found[port.name] = pin.name, np.nonzero(stored)[1].tolist()
    return found


def on_pins(config: HardwareConfig, values: Mapping[str, int]) -> dict[str, int]:
    """The values of pins from the values of ports, for one direction."""
    found = dict(values)
    for name, (pin, places) in _places(config).items():
        if name in values:
            value = found.pop(name)
            found[pin] = found.get(pin, 0) | sum((value >> bit & 1) << place for bit, place in enumerate(places))
    return found


def bits_on_pins(config: HardwareConfig, bits: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The bits (n, width) of pins from the bits of ports, for one direction."""
    found, pin = dict(bits), config.stored_pin
    for name, (stored, places) in _places(config).items():
        if name in bits and pin is not None:
            inner = found.pop(name)
            found.setdefault(stored, np.zeros((len(inner), pin.width), bool))[:, places] = inner
    return found


def behind_ports(config: HardwareConfig, text: str, top: str) -> tuple[str, str]:
    """A Verilog text with a module that has the ports of a configuration around the module ``top`` with its pins, and
    the name of this module. The text of a converter with these pins stays the same.
    """
    if config.has_axis:
        around, name = around_axis(config, top)
        return f"{text}\n{around}", name
    places = _places(config)
    if not places:
        return text, top
    ports = [f"{port.direction} wire [{port.width - 1}:0] {port.name}" for port in config.ports]
    lines = []
    pin = config.stored_pin
    assert pin is not None
    lines.append(f"  wire [{pin.width - 1}:0] {pin.name};")
    if pin.direction == "input":
        bits = ["1'b0"] * pin.width
        for name, (_, at) in places.items():
            for bit, place in enumerate(at):
                bits[place] = f"{name}[{bit}]"
        lines.append(f"  assign {pin.name} = {{{', '.join(reversed(bits))}}};")
    else:
        for name, (_, at) in places.items():
            bits = [f"{pin.name}[{place}]" for place in reversed(at)]
            lines.append(f"  assign {name} = {{{', '.join(bits)}}};")
    name = f"{top}_ports"
    pins = ", ".join(f".{pin.name}({pin.name})" for pin in config.pins)
    waiver = "/* verilator lint_off UNUSEDSIGNAL */\n"
    module = [f"module {name}({', '.join(ports)});", *lines, f"  {top} dut ({pins});", "endmodule", ""]
    return f"{text}\n{waiver}" + "\n".join(module), name
