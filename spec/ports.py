"""The ports of a converter: their names, what they are for, and how wide they are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from .catalogue import Rule
from .formats import NumberFormat

if TYPE_CHECKING:
    from .config import ConverterConfig

__all__ = ["Port", "Role", "ports"]


class Role(Rule):
    """What a port is for."""

    NUMBERS = "numbers", "the numbers of a block"
    MODE = "mode", "which of its numerics a converter follows"
    RANDOM = "random", "the random bits of a block"
    SCALE = "scale", "the scale of a block"
    CODES = "codes", "the codes of a block"
    CLOCK = "clock", "all registers change at its rising edge"
    RESET = "reset", "drops what is inside"
    VALID = "valid", "the data of its direction are of a block"
    READY = "ready", "the data of its direction are taken"

    @property
    def is_data(self) -> bool:
        """Does it belong to a block, and not to the clock or the handshake?"""
        return self in (Role.NUMBERS, Role.MODE, Role.RANDOM, Role.SCALE, Role.CODES)


@dataclass(frozen=True, kw_only=True)
class Port:
    """A port of ``lanes`` fields of ``bits`` each, that of element 0 in the low bits."""

    name: str
    role: Role
    direction: str
    """``input`` or ``output``."""
    bits: int = 1
    lanes: int = 1
    format: NumberFormat | None = None
    """That of a field; in a converter with modes that of mode 0."""

    @property
    def width(self) -> int:
        return self.lanes * self.bits


def ports(config: ConverterConfig) -> tuple[Port, ...]:
    """The ports of a converter in the order of its Verilog.

    >>> from .config import converter_config
    >>> [(port.name, port.direction, port.width) for port in ports(converter_config("e2m1"))]
    [('x', 'input', 1024), ('scale', 'output', 8), ('p', 'output', 128)]
    """
    numerics, block = config.numerics, config.numerics.block
    lanes, is_clocked = block.block_size, config.latency > 0

    def control(name: str, role: Role, direction: str) -> list[Port]:
        return [Port(name=name, role=role, direction=direction)] if is_clocked else []

    return (
        *control("clk", Role.CLOCK, "input"),
        *control("rst", Role.RESET, "input"),
        Port(
            name="x",
            role=Role.NUMBERS,
            direction="input",
            bits=numerics.source.bits,
            lanes=lanes,
            format=numerics.source,
        ),
        *([Port(name="mode", role=Role.MODE, direction="input", bits=config.mode_bits)] if config.alternatives else []),
        *(
            [Port(name="random", role=Role.RANDOM, direction="input", bits=numerics.random_bits, lanes=lanes)]
            if numerics.random_bits
            else []
        ),
        *control("i_valid", Role.VALID, "input"),
        *control("i_ready", Role.READY, "output"),
        Port(name="scale", role=Role.SCALE, direction="output", bits=block.scale.bits, format=block.scale),
        Port(name="p", role=Role.CODES, direction="output", bits=block.element.bits, lanes=lanes, format=block.element),
        *control("o_valid", Role.VALID, "output"),
        *control("o_ready", Role.READY, "input"),
    )
