"""An encoder with AXI4-Stream as a function over packets, with stalls on all three streams."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ....hdl import ConverterConfig
from .driver import build, called, loaded
from .handshake import HandshakeError

FAULTS = ("", "a beat changed while it was not taken", "more came than was sent", "packets do not come")
"""Faults that `packets.cpp` finds, by their number."""


@dataclass(frozen=True, kw_only=True)
class Streamed:
    """The packets that left, and the clock cycles that they took. Packed blocks are all in ``codes``.

    ``stalls`` is the number of cycles in which a valid beat of numbers, codes or scales was not taken. ``rate`` is the
    number of beats of codes for each cycle, from the first to the last.
    """

    codes: list[bytes]
    scales: list[bytes]
    cycles: int
    beats: int
    stalls: int
    rate: float


class PacketDriver:
    """The library that `build` made for the pins of an encoder with AXI4-Stream, without ``s_axis_tuser``."""

    def __init__(self, library: Path, config: ConverterConfig) -> None:
        self.library, self.config = library, config
        self._library = loaded(library)

    def __call__(self, packets: Sequence[bytes], seed: int = 0) -> Streamed:
        """The results of packets, each the bytes of its numbers. ``seed`` gives the stalls; 0 is without stalls.

        Raises `HandshakeError` if a beat changes before it is taken, and if packets are lost or added.
        """
        size, lanes = self.config.numerics.block_size, self.config.lanes
        (codes_of_beat,) = (pin.width // 8 for pin in self.config.pins if pin.name == "m_axis_tdata")
        blocks = sum(-(-len(packet) * 8 // (size * self.config.numerics.source.bits)) for packet in packets)
        room = blocks * (size // lanes * codes_of_beat + (not self.config.is_even)), blocks
        whole = np.frombuffer(b"".join(packets), np.uint8)
        lengths = np.array([len(packet) for packet in packets], np.uint64)
        leaving = [np.zeros(most, np.uint8) for most in room]
        taken = [np.zeros(len(packets), np.uint64) for _ in room]
        given = seed & 0xFFFFFFFF, *room
        fault, done, *found = called(
            self._library, "mxcast_packets", [whole, lengths], [*leaving, *taken], len(packets), given, 10
        )
        if fault:
            raise HandshakeError(f"{FAULTS[fault]}: after {done} packets, with the stalls of seed {seed}")
        cycles, beats, beats_of_codes, _, *waits, span = found
        codes, scales = (_cut(data, each) for data, each in zip(leaving, taken))
        rate = beats_of_codes / span
        return Streamed(codes=codes, scales=scales, cycles=cycles, beats=beats, stalls=sum(waits), rate=rate)


def _cut(data: np.ndarray, lengths: np.ndarray) -> list[bytes]:
    """Data of packets one after the other, packet by packet."""
    ends = np.cumsum(lengths).astype(int).tolist()
    return [data[start:end].tobytes() for start, end in zip([0, *ends], ends)]


def packet_driver(text: str, top: str, config: ConverterConfig) -> PacketDriver:
    """The Verilated design of a Verilog text, whose module ``top`` has the pins of a configuration with AXI4-Stream.

    Raises ValueError for other pins, and `ToolError` if Verilator or the C++ compiler is missing or fails.
    """
    if not config.has_axis or any(pin.name == "s_axis_tuser" for pin in config.pins):
        raise ValueError("packets need interface=axis, one mode, and no random bits")
    return PacketDriver(build(text, top, config.pins), config)
