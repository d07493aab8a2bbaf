"""The modules around a converter with AXI4-Stream: with registers, with words of a bus, and for block designs."""

from __future__ import annotations

from dataclasses import dataclass

from ...spec import Port
from ..bus.pins import BusWidths, bus_pins, checked
from ..bus.top import OnBus
from ..config.hardware import HardwareConfig
from ..registers.rdl import rdl
from ..registers.table import AXIL_PINS, PREFIX, Register, controlled_pins, encoder_with_axis, registers_of
from ..registers.top import ControlledConverter
from .block_design import block_design
from .emit import GENERATOR, header, helper

CONTROLLED, ON_BUS, BLOCK_DESIGN = "_axil", "_bus", "_bd"
"""Ends of the names of the modules."""


@dataclass(frozen=True, kw_only=True)
class Around:
    """The modules that are wanted, each around the one before it."""

    registers: bool = False
    """Registers behind AXI4-Lite: the module ``NAME_axil``."""
    bus: BusWidths | None = None
    """Words of a bus: the module ``NAME_bus``."""
    block_design: bool = False
    """Attributes for block designs of Vivado: the module ``NAME_bd``."""

    def __str__(self) -> str:
        """The words behind the name of a format, for these modules."""
        words = f"{self.bus.entering},{self.bus.leaving}" if self.bus else ""
        return " with registers" * self.registers + f" on a bus of {words}" * bool(words)

    def to_dict(self) -> dict[str, object]:
        found: dict[str, object] = {"registers": True} if self.registers else {}
        found |= {"bus": [self.bus.entering, self.bus.leaving]} if self.bus else {}
        return found | ({"block_design": True} if self.block_design else {})

    def top(self, name: str) -> str:
        """The outermost module with the pins, around the converter ``name``."""
        return name + ON_BUS if self.bus else self.inner(name)

    def outermost(self, name: str) -> str:
        """`top`, or the module for block designs around it."""
        return name + BLOCK_DESIGN if self.block_design else self.top(name)

    def inner(self, name: str) -> str:
        """The module in the one with words of a bus."""
        return name + CONTROLLED * self.registers

    def inside(self, config: HardwareConfig) -> tuple[Port, ...]:
        """The pins of `inner`. Raises ValueError for a configuration that cannot have these modules."""
        if self.bus:
            checked(config, self.registers)
        return controlled_pins(encoder_with_axis(config)) if self.registers else config.pins

    def pins(self, config: HardwareConfig) -> tuple[Port, ...]:
        """The pins of `top`, with the errors of `inside`."""
        pins = self.inside(config)
        return bus_pins(pins, self.bus) if self.bus else pins

    def pin_words(self) -> dict[str, str]:
        """Descriptions of the pins that these modules add or change, by name."""
        found = {PREFIX + name: f"{name.upper()} of AXI4-Lite; addresses in bytes" for name in AXIL_PINS}
        if self.bus is None:
            return found
        data = {f"{end}tdata": what for end, what in STREAMS.items()}
        keep = {f"{end}tkeep": "the bytes that count; all but in the last word of a packet" for end in STREAMS}
        user = {
            "s_axis_tuser": "counts with the first word of a packet",
            "m_axis_tuser": "a mark of a byte of the word",
        }
        return found | data | keep | user

    def register_map(self, config: HardwareConfig) -> tuple[Register, ...]:
        return registers_of(encoder_with_axis(config)) if self.registers else ()

    def modules(self, config: HardwareConfig, name: str) -> dict[str, tuple[str, str]]:
        """Name and text of the Verilog file of each module by its kind: ``controlled``, ``bus`` and ``block_design``.

        Raises ValueError for a configuration that cannot have them.
        """
        found = dict[str, tuple[str, str]]()
        if self.registers:
            found["controlled"] = (f"{name}{CONTROLLED}.v", controlled(config, name))
        if self.bus:
            found["bus"] = (f"{name}{ON_BUS}.v", self._on_bus(config, name, self.bus))
        if self.block_design:
            if not config.has_axis:
                raise ValueError("a block design connects AXI4-Stream: give interface=axis too")
            top, inner = name + BLOCK_DESIGN, self.top(name)
            about = f"{inner} with attributes that name its interfaces to Vivado"
            text = f"{header(top, about)}\n{block_design(self.pins(config), top, inner)}"
            found["block_design"] = (f"{top}.v", text)
        return found

    def _on_bus(self, config: HardwareConfig, name: str, bus: BusWidths) -> str:
        inner = self.inner(name)
        about = f"{inner} with words of {bus.entering} bits that enter, and of {bus.leaving} bits that leave"
        note = "The bytes of a packet stay in order; only its last word is short."
        return helper(name + ON_BUS, about, note, OnBus(self.inside(config), bus, inner))


NOTHING = Around()
"""No modules."""

STREAMS = {
    "s_axis_": "bytes of the packet, in order",
    "s_axis_scale_": "scales, one for each block, in order",
    "m_axis_": "bytes of the packet, in order",
    "m_axis_scale_": "scales, one for each block, in order",
}
"""The data of each stream."""


def controlled(config: HardwareConfig, name: str) -> str:
    """The Verilog file of the module around a converter that adds registers. Raises ValueError without AXI4-Stream."""
    component = ControlledConverter(encoder_with_axis(config), name)
    note = "Registers at multiples of 4 bytes: " + ", ".join(register.name for register in component.registers) + "."
    return helper(name + CONTROLLED, f"{name} with registers behind AXI4-Lite", note, component)


def registers_file(config: HardwareConfig, name: str) -> str:
    """The SystemRDL file of the registers that `controlled` adds. Raises ValueError without AXI4-Stream."""
    return rdl(encoder_with_axis(config), name + CONTROLLED, f"Made by mxcast {GENERATOR}.")
