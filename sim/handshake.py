"""A converter with registers as a NumPy function: Verilated, with valid and ready, and gaps on both sides."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ..spec import Encode
from .driver import Driver
from .verilated import Verilated

__all__ = ["HandshakeError", "Stalled", "stalled"]

FAULTS = (
    "",
    "i_ready is not o_ready or else no o_valid",
    "a result changed while it was not taken",
    "a result came without a block",
    "a block has no result",
    "a result did not come after the latency",
)
"""What `handshake.cpp` finds."""


class HandshakeError(RuntimeError):
    """A converter loses, adds or moves blocks. The message says which result, and with which seed."""


class Stalled(Verilated):
    """A Verilated converter of some ``latency`` in cycles. Blocks enter with gaps between them, and results are taken
    with gaps; ``seed`` says where. In a gap the inputs are others, under another mode. Every call starts with a reset,
    which has blocks to drop.

    Raises `HandshakeError` where not every block has its one result in its place.
    """

    def __init__(self, driver: Driver, modes: tuple[Encode, ...], latency: int, number: int = 0, seed: int = 0) -> None:
        super().__init__(driver, modes, number)
        self.latency, self.seed = latency, seed

    def mode(self, number: int) -> Stalled:
        super().mode(number)  # is there one?
        return Stalled(self.driver, self.modes, self.latency, number, self.seed)

    def seeded(self, seed: int) -> Stalled:
        """The same design with other gaps."""
        return Stalled(self.driver, self.modes, self.latency, self.number, seed)

    def drive(self, inputs: Mapping[str, np.ndarray], outputs: Mapping[str, np.ndarray]) -> None:
        stalled(self.driver, self.latency, self.seed, inputs, outputs)


def stalled(
    driver: Driver, latency: int, seed: int, inputs: Mapping[str, np.ndarray], outputs: Mapping[str, np.ndarray]
) -> None:
    """Drive transactions with gaps on both sides, and fill the outputs. Raises `HandshakeError`."""
    fault, results = driver(inputs, outputs, latency, seed & 0xFFFFFFFF, entry="mxcast_handshake", found=2)
    if fault:
        raise HandshakeError(f"{FAULTS[fault]}: after {results} results, with the gaps of seed {seed}")
