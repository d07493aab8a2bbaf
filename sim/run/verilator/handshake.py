"""A design with registers: valid and ready, and gaps on both sides."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from ....hdl import HardwareConfig
from .driver import Driver

FAULTS = (
    "",
    "i_ready is not o_ready or else no o_valid, or a block can enter in the interval of another",
    "a result changed while it was not taken",
    "a result came without a block",
    "a block has no result",
    "a result did not come after the latency",
)
"""Faults that `handshake.cpp` finds, by their number."""


class HandshakeError(RuntimeError):
    """A design loses, adds or moves blocks. The message says which result, and with which seed."""


class StalledDriver(Driver):
    """A design with registers. Blocks enter with gaps, and results are taken with gaps, which depend on
    ``seed``. In a gap the inputs are another block in another mode. Every call starts with a reset, which must
    drop blocks.

    Raises `HandshakeError` if a block does not have its one result in its place.
    """

    has_clock = True

    def __init__(self, library: Path, config: HardwareConfig, seed: int = 0) -> None:
        super().__init__(library, config.ports)
        self.latency, self.pause, self.interval, self.seed = config.latency, config.pause, config.interval, seed

    def seeded(self, seed: int) -> StalledDriver:
        """The design with other gaps."""
        other = copy.copy(self)
        other.seed = seed
        return other

    def fill(self, inputs: Mapping[str, np.ndarray], outputs: Mapping[str, np.ndarray]) -> None:
        given = self.latency, self.seed & 0xFFFFFFFF, self.pause, self.interval
        fault, results = self._call("mxcast_handshake", inputs, outputs, *given, found=2)
        if fault:
            raise HandshakeError(f"{FAULTS[fault]}: after {results} results, with the gaps of seed {self.seed}")
