"""The widths of the streams of a bus, and the pins of the module that has them."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass

from ...spec import Port, Role
from ...spec.catalogue import excerpt
from ..config.axis import BYTE
from ..config.hardware import HardwareConfig
from ..lanes.keys import EncoderConfig

POSSIBLE = tuple(1 << place for place in range(5, 11))
"""Bits of a word of a bus."""


@dataclass(frozen=True, kw_only=True)
class BusWidths:
    """The bits of the words of a bus: of streams that enter, and of streams that leave.

    >>> BusWidths.parsed("128"), BusWidths.parsed("256,64").leaving
    (BusWidths(entering=128, leaving=128), 64)
    """

    entering: int
    leaving: int

    def __post_init__(self) -> None:
        for bits in (self.entering, self.leaving):
            if bits not in POSSIBLE:
                raise ValueError(f"a bus has words of {', '.join(map(str, POSSIBLE))} bits, not {excerpt(bits)}")

    @classmethod
    def parsed(cls, text: str) -> BusWidths:
        """The widths in a text: one number for all streams, or one for those that enter and one for those that leave.
        Raises ValueError for others.
        """
        numbers = [part.strip() for part in text.split(",")]
        if len(numbers) > 2 or not all(part.isascii() and part.isdigit() for part in numbers):
            raise ValueError(f"give a bus as 128, or 256,64 to enter and to leave, not {excerpt(text)}")
        return cls(entering=int(numbers[0]), leaving=int(numbers[-1]))


@dataclass(frozen=True, kw_only=True)
class Stream:
    """A stream of the hardware: the beginning of the names of its pins, its direction, and the bytes of its words."""

    name: str
    enters: bool
    inside: int
    """Bytes of a word of the hardware."""
    outside: int
    """Bytes of a word of the bus."""
    user: int
    """Bits of ``tuser``."""
    has_keep: bool
    """Has the hardware ``tkeep``? Without it, each word has all its bytes."""

    @property
    def kind(self) -> str:
        """The end of the name of its module."""
        return f"{self.name.removesuffix('_')}_words"

    @property
    def sides(self) -> tuple[int, int]:
        """Bytes of the words that enter and that leave."""
        return (self.outside, self.inside) if self.enters else (self.inside, self.outside)


def streams_of(pins: Sequence[Port], widths: BusWidths) -> tuple[Stream, ...]:
    """The streams with data among the pins of hardware with AXI4-Stream."""
    bits = {pin.name: pin.width for pin in pins}
    found = []
    for pin in pins:
        name = pin.name.removesuffix("tdata")
        if name != pin.name:
            enters = pin.direction == "input"
            found.append(
                Stream(
                    name=name,
                    enters=enters,
                    inside=-(-pin.width // BYTE),
                    outside=(widths.entering if enters else widths.leaving) // BYTE,
                    user=bits.get(f"{name}tuser", 0),
                    has_keep=f"{name}tkeep" in bits,
                )
            )
    return tuple(found)


def bus_pins(pins: Sequence[Port], widths: BusWidths) -> tuple[Port, ...]:
    """The pins of the module around hardware with these pins."""
    streams = {f"{stream.name}tdata": stream for stream in streams_of(pins, widths)}
    found = []
    for pin in pins:
        if pin.name in streams:
            stream = streams[pin.name]
            keep = Port(
                name=f"{stream.name}tkeep", role=Role.KEEP, direction=pin.direction, bits=1, lanes=stream.outside
            )
            found += [dataclasses.replace(pin, bits=BYTE, lanes=stream.outside), keep]
        elif not pin.name.endswith("tkeep"):
            found.append(pin)
    return tuple(found)


def checked(config: HardwareConfig, has_registers: bool) -> None:
    """Raise ValueError if hardware cannot be on a bus."""
    if not config.has_axis:
        raise ValueError("words of a bus need AXI4-Stream: give interface=axis too")
    if config.numerics.random_bits and not has_registers:
        way_out = "give --registers too" if isinstance(config, EncoderConfig) else "leave out --bus"
        raise ValueError(f"random bits enter with each beat, and a word of a bus is no beat: {way_out}")
