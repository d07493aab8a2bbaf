"""The converter with streams of `amaranth.lib.stream`, for designs in Amaranth."""

from __future__ import annotations

from typing import Unpack

from amaranth.hdl import Module
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ...spec import Port, Role
from ..config.encode import ConverterConfig, ConverterFields, Format, converter_config
from ..lanes.encoder import LaneConverter
from ..primitives.elaboration import set_elaborated
from .block import BlockConverter


def payload(config: ConverterConfig, direction: str) -> data.StructLayout:
    """The payload of a transfer: a field for each data port of this direction. A port with lanes is an array. With
    lanes, results have the fields ``first`` and ``last``.
    """
    return data.StructLayout({_field(port): _shape(port) for port in _carried(config, direction)})


def _carried(config: ConverterConfig, direction: str) -> list[Port]:
    """The ports of one direction that are fields of the payload."""
    return [port for port in config.pins if port.direction == direction and (port.role.is_data or port.role in MARKS)]


def _field(port: Port) -> str:
    return str(port.role) if port.role in MARKS else port.name


def _shape(port: Port) -> int | data.ArrayLayout:
    return data.ArrayLayout(port.bits, port.lanes) if port.role in LANES else port.bits


LANES = (Role.NUMBERS, Role.RANDOM, Role.CODES, Role.STORED_CODES, Role.STORED_BLOCK)
"""Ports with a field for each element, or for each byte of a block."""

MARKS = (Role.FIRST, Role.LAST)
"""Ports that say where a beat is in its block."""


class StreamConverter(wiring.Component):
    """`BlockConverter` with registers, or `LaneConverter`. Blocks or their beats enter by the stream ``i`` and leave by
    the stream ``o``.

    Parameters
    ----------
    config, profile, fields : the converter, as `hdl.converter_config` takes it

    Raises
    ------
    ValueError
        for a converter without registers, which has no handshake
    TypeError, ValueError
        as `hdl.converter_config`

    Ports
    -----
    i : in, stream of `payload` (config, "input"): ``x`` and, if the converter has them, ``mode`` and ``random``
    o : out, stream of `payload` (config, "output"): ``scale`` and ``p``; with lanes also ``first`` and ``last``
    """

    def __init__(self, config: Format, profile: str | None = None, **fields: Unpack[ConverterFields]) -> None:
        set_elaborated(self)  # until the configuration is accepted
        self.config = config = converter_config(config, profile, **fields)
        if not config.latency:
            raise ValueError("a converter without registers has no streams: give registered_after")
        self.converter = (LaneConverter if config.in_beats else BlockConverter)(config)
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
