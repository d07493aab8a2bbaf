"""Hardware with streams of `amaranth.lib.stream`, for designs in Amaranth."""

from __future__ import annotations

from typing import Unpack

from amaranth.hdl import Module
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ...spec import Port, Role
from ..config.build import AnyFields, AnyFormat, configuration
from ..config.command import command_line
from ..config.hardware import HardwareConfig
from ..emission.emit import built
from ..primitives.elaboration import set_elaborated

MARKS = (Role.FIRST, Role.LAST)
"""Ports that say where a beat is in its block."""

ARRAYS = (Role.NUMBERS, Role.RANDOM, Role.CODES, Role.COLUMN_CODES, Role.ROTATED, Role.STORED_CODES, Role.STORED_BLOCK)
"""Ports with a field for each element, or for each byte of a block."""


def payload(config: HardwareConfig, direction: str) -> data.StructLayout:
    """The payload of a transfer: a field for each data port of this direction. A port with elements is an array. In
    beats, results have the fields ``first`` and ``last``.
    """
    return data.StructLayout({_field(port): _shape(port) for port in _carried(config, direction)})


def _carried(config: HardwareConfig, direction: str) -> list[Port]:
    """The ports of one direction that are fields of the payload."""
    return [port for port in config.pins if port.direction == direction and (port.role.is_data or port.role in MARKS)]


def _field(port: Port) -> str:
    return str(port.role) if port.role in MARKS else port.name


def _shape(port: Port) -> int | data.ArrayLayout:
    return data.ArrayLayout(port.bits, port.lanes) if port.role in ARRAYS else port.bits


class StreamConverter(wiring.Component):
    """Any hardware with registers or lanes. Blocks or their beats enter by the stream ``i`` and leave by the stream
    ``o``.

    Parameters
    ----------
    config, profile, op, fields : the hardware, as `hdl.configuration` takes it

    Raises
    ------
    ValueError
        for hardware without registers, which has no handshake, and for AXI4-Stream
    TypeError, ValueError
        as `hdl.configuration`

    Ports
    -----
    i : in, stream of `payload` (config, "input"), for example ``x``, with ``mode`` and ``random`` if there are any
    o : out, stream of `payload` (config, "output"), for example ``scale`` and ``p``; in beats also ``first`` and
        ``last``
    """

    def __init__(
        self, config: AnyFormat, profile: str | None = None, *, op: str = "encode", **fields: Unpack[AnyFields]
    ) -> None:
        set_elaborated(self)  # until the configuration is accepted
        if isinstance(config, HardwareConfig):
            op = config.numerics.name
        self.config = config = configuration(op, config, profile, **fields)
        if not config.latency:
            raise ValueError("a converter without registers has no streams: give registered_after")
        if config.has_axis:
            raise ValueError(f"streams of Amaranth have valid and ready, not AXI4-Stream: {command_line(config)}")
        self.converter = built(config)
        set_elaborated(self, False)
        super().__init__(
            {"i": In(stream.Signature(payload(config, "input"))), "o": Out(stream.Signature(payload(config, "output")))}
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.converter = converter = self.converter
        for port in _carried(self.config, "input"):
            m.d.comb += getattr(converter, port.name).eq(self.i.payload[_field(port)])
        for port in _carried(self.config, "output"):
            m.d.comb += self.o.payload[_field(port)].eq(getattr(converter, port.name))
        m.d.comb += [
            converter.i_valid.eq(self.i.valid),
            self.i.ready.eq(converter.i_ready),
            self.o.valid.eq(converter.o_valid),
            converter.o_ready.eq(self.o.ready),
        ]
        return m
