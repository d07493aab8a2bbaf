"""A module for block designs of Vivado: the pins of an AXI component, with attributes that name its interfaces.

Vivado guesses interfaces from the names of pins. The attributes also say which streams belong to the clock, and that
the reset is active low. Nobody has loaded them into Vivado yet.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...spec import Port, Role
from ..registers.table import ADDRESS_BITS, WIDTH

CLOCK = "xilinx.com:signal:clock:1.0"
RESET = "xilinx.com:signal:reset:1.0"
STREAM = "xilinx.com:interface:axis:1.0"
MEMORY = "xilinx.com:interface:aximm:1.0"
LITE = f"PROTOCOL AXI4LITE, DATA_WIDTH {WIDTH}, ADDR_WIDTH {ADDRESS_BITS}"


def block_design(pins: Sequence[Port], name: str, inner: str) -> str:
    """The text of the module ``name`` around the module ``inner``, which has these pins."""
    buses = list(dict.fromkeys(_bus(pin) for pin in pins if pin.role not in (Role.CLOCK, Role.RESET)))
    ports = ",\n".join(
        "".join(f'  (* {key} = "{value}" *)\n' for key, value in _attributes(pin, pins, buses).items())
        + f"  {pin.direction} wire {f'[{pin.width - 1}:0] ' if pin.width > 1 else ''}{pin.name}"
        for pin in pins
    )
    connections = ",\n".join(f"    .{pin.name}({pin.name})" for pin in pins)
    return f"module {name}(\n{ports}\n);\n  {inner} inner (\n{connections}\n  );\nendmodule\n"


def _bus(pin: Port) -> str:
    """The name of a bus, which begins the names of its pins."""
    return pin.name.rpartition("_")[0]


def _attributes(pin: Port, pins: Sequence[Port], buses: Sequence[str]) -> dict[str, str]:
    """The attributes of a pin. The first pin of AXI4-Lite has the parameters of the bus."""
    reset = next(one.name for one in pins if one.role is Role.RESET)
    if pin.role is Role.CLOCK:
        belongs = f"XIL_INTERFACENAME {pin.name}, ASSOCIATED_BUSIF {':'.join(buses)}, ASSOCIATED_RESET {reset}"
        return {"X_INTERFACE_INFO": f"{CLOCK} {pin.name} CLK", "X_INTERFACE_PARAMETER": belongs}
    if pin.role is Role.RESET:
        polarity = f"XIL_INTERFACENAME {pin.name}, POLARITY ACTIVE_LOW"
        return {"X_INTERFACE_INFO": f"{RESET} {pin.name} RST", "X_INTERFACE_PARAMETER": polarity}
    bus, is_lite = _bus(pin), pin.role is Role.BUS
    signal = pin.name.removeprefix(f"{bus}_").upper()
    found = {"X_INTERFACE_INFO": f"{MEMORY if is_lite else STREAM} {bus} {signal}"}
    if is_lite and pin == next(one for one in pins if one.role is Role.BUS):
        found["X_INTERFACE_PARAMETER"] = f"XIL_INTERFACENAME {bus}, {LITE}"
    return found
