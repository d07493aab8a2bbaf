"""The registers of an encoder with AXI4-Stream as data: the source of the Verilog and of the SystemRDL file."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from ...spec import Encode, Port, Role
from ..config.hardware import HardwareConfig
from ..lanes.keys import EncoderConfig

WIDTH = 32
"""Bits of a register."""
ADDRESS_BITS = 8
"""Bits of an address in bytes."""
MAP = 0x4D584301
"""Content of the register ``id``: "MXC" and the version of this map, 1."""


USER = "s_axis_tuser"
"""The pin of an encoder with the mode and the random bits, which registers replace."""
PREFIX = "s_axil_"

AXIL_PINS: dict[str, tuple[str, int]] = {
    "awaddr": ("input", ADDRESS_BITS),
    "awprot": ("input", 3),
    "awvalid": ("input", 1),
    "awready": ("output", 1),
    "wdata": ("input", WIDTH),
    "wstrb": ("input", WIDTH // 8),
    "wvalid": ("input", 1),
    "wready": ("output", 1),
    "bresp": ("output", 2),
    "bvalid": ("output", 1),
    "bready": ("input", 1),
    "araddr": ("input", ADDRESS_BITS),
    "arprot": ("input", 3),
    "arvalid": ("input", 1),
    "arready": ("output", 1),
    "rdata": ("output", WIDTH),
    "rresp": ("output", 2),
    "rvalid": ("output", 1),
    "rready": ("input", 1),
}
"""Direction and width of the pins, without `PREFIX`."""


class Access(Enum):
    """The properties of a field in SystemRDL: constant, changed by hardware, by software, or set for one cycle."""

    CONSTANT = "sw = r; hw = na"
    STATE = "sw = r; hw = w"
    SETTING = "sw = rw; hw = r"
    PULSE = "sw = w; hw = r; singlepulse"


@dataclass(frozen=True, kw_only=True)
class Field:
    """Bits ``low`` to ``low + width - 1`` of a register."""

    name: str
    access: Access
    words: str
    low: int = 0
    width: int = WIDTH
    value: int = 0
    """The constant, or the value after reset."""
    choices: tuple[str, ...] = ()
    """The names of the values; if there are some, other values are refused."""


@dataclass(frozen=True, kw_only=True)
class Register:
    """A word of 32 bits at an address in bytes. Bits without a field read as 0."""

    name: str
    address: int
    fields: tuple[Field, ...]


COUNTERS = {
    "blocks": "blocks whose scale was taken",
    "saturated": "elements taken whose code has the largest finite magnitude",
    "zeros": "elements taken that are zero, also if they complete a block",
    "nan_blocks": "blocks taken whose scale is NaN",
}
"""The counters, which start at `FIRST_COUNTER` in this order."""

FIRST_COUNTER = 0x20
TENSOR_CONSTANTS = 0x40
"""The address of the first constant of a tensor (NVFP4)."""


def encoder_with_axis(config: HardwareConfig) -> EncoderConfig:
    """The same configuration. Raises ValueError if it is not an encoder with AXI4-Stream."""
    if not isinstance(config, EncoderConfig) or not config.has_axis:
        raise ValueError("registers are for encoders with AXI4-Stream: give interface=axis too")
    return config


def constants_of(config: EncoderConfig) -> tuple[Port, ...]:
    """The inputs of an encoder with the constants of a tensor."""
    return tuple(port for port in config.of_block if port.role is not Role.MODE)


def has_counters(config: EncoderConfig) -> bool:
    """Are codes and scales counted? It needs streams of their own, in which their places are known."""
    return config.is_even


def registers_of(config: EncoderConfig) -> tuple[Register, ...]:
    """The registers of a configuration in the order of their addresses."""
    rules, constant, constants = config.numerics, Access.CONSTANT, constants_of(config)
    last = constants[-1].name if constants else ""
    when = f"; packets that begin after a write of {last} have it" if len(constants) > 1 else ""

    def one(name: str, address: int, access: Access, words: str, value: int = 0) -> Register:
        return Register(
            name=name, address=address, fields=(Field(name="value", access=access, words=words, value=value),)
        )

    shape = {
        "block_size": (rules.block_size, 16, "numbers of a block"),
        "lanes": (config.lanes, 8, "numbers of a beat"),
        "modes": (len(config.modes), 8, "modes of the encoder"),
    }
    low, shape_fields = 0, list[Field]()
    for name, (value, width, words) in shape.items():
        shape_fields.append(Field(name=name, access=constant, words=words, low=low, width=width, value=value))
        low += width
    busy = Field(name="busy", access=Access.STATE, words="a packet is inside, or has entered in part", width=1)
    clear = Field(name="clear", access=Access.PULSE, words="1 sets all counters to 0", width=1)
    mode = Field(
        name="value",
        access=Access.SETTING,
        words="mode of the packets that follow; others are inside until they have left",
        width=config.mode_bits,
        choices=tuple(_mode_name(mode) for mode in config.modes if isinstance(mode, Encode)),
    )
    return (
        one("id", 0x00, constant, "MXC in ASCII, and the version of the map of registers", MAP),
        one("config_id", 0x04, constant, "configuration of the encoder", int(config.config_id, 16)),
        Register(name="shape", address=0x08, fields=tuple(shape_fields)),
        Register(name="status", address=0x0C, fields=(busy,)),
        *([Register(name="control", address=0x10, fields=(clear,))] if has_counters(config) else []),
        *([Register(name="mode", address=0x14, fields=(mode,))] if config.alternatives else []),
        *(
            [one("seed", 0x18, Access.SETTING, "writing restarts the random bits before the next packet")]
            if rules.random_bits
            else []
        ),
        *(
            one(name, FIRST_COUNTER + 4 * place, Access.STATE, f"{words}; stops at 2**32 - 1")
            for place, (name, words) in enumerate(COUNTERS.items() if has_counters(config) else ())
        ),
        *(
            one(port.name, TENSOR_CONSTANTS + 4 * place, Access.SETTING, f"{port.role.__doc__}, fp32{when}")
            for place, port in enumerate(constants)
        ),
    )


def controlled_pins(config: EncoderConfig) -> tuple[Port, ...]:
    """The pins of the module with the registers: of the encoder without ``s_axis_tuser``, and AXI4-Lite."""
    streams = tuple(pin for pin in config.pins if pin.name != USER)
    bus = (
        Port(name=PREFIX + name, role=Role.BUS, direction=direction, bits=width)
        for name, (direction, width) in AXIL_PINS.items()
    )
    return (*streams, *bus)


def _mode_name(mode: Encode) -> str:
    return f"{mode.block.element.name}_{mode.scale_rule}"
