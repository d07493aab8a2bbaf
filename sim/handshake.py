"""A converter with registers as a NumPy function: Verilated, with valid and ready, and gaps on both sides."""

from __future__ import annotations

import ctypes
from importlib.resources import files
from pathlib import Path

from ..hdl import ConverterConfig
from ..spec import Numerics
from .verilated import Verilated, build

__all__ = ["HandshakeError", "Stalled", "stalled_text"]

FAULTS = (
    "",
    "i_ready is not o_ready or else no o_valid",
    "a result changed while it was not taken",
    "a result came without a block",
    "a block has no result",
    "a result did not come after the latency",
)
"""What `handshake.cpp` returns."""


class HandshakeError(RuntimeError):
    """A converter loses, adds or moves blocks. The message says which result, and with which seed."""


class Stalled(Verilated):
    """A Verilated converter of some ``latency`` in cycles. Blocks enter with gaps between them, and results are taken
    with gaps; ``seed`` says where. In a gap the inputs are others, under another mode. Every call starts with a reset,
    which has blocks to drop.

    Raises `HandshakeError` where not every block has its one result in its place.
    """

    def __init__(
        self, library: Path, modes: tuple[Numerics, ...], latency: int, number: int = 0, seed: int = 0
    ) -> None:
        super().__init__(library, modes, number)
        self.latency, self.seed = latency, seed
        self._stream = ctypes.CDLL(str(library)).mxcast_handshake
        self._stream.restype = ctypes.c_uint32
        self._stream.argtypes = [
            ctypes.c_void_p,
            ctypes.c_void_p,
            *[ctypes.c_uint32] * 3,
            ctypes.c_void_p,
            ctypes.c_void_p,
            ctypes.c_uint64,
            ctypes.POINTER(ctypes.c_uint64),
        ]
        self._convert = self._stall

    def mode(self, number: int) -> Stalled:
        super().mode(number)  # is there one?
        return Stalled(self.library, self.modes, self.latency, number, self.seed)

    def seeded(self, seed: int) -> Stalled:
        """The same design with other gaps."""
        return Stalled(self.library, self.modes, self.latency, self.number, seed)

    def _stall(self, x: int, random: int | None, mode: int, scales: int, codes: int, blocks: int) -> None:
        left = ctypes.c_uint64()
        fault = self._stream(
            x, random, mode, self.latency, self.seed & 0xFFFFFFFF, scales, codes, blocks, ctypes.byref(left)
        )
        if fault:
            raise HandshakeError(f"{FAULTS[fault]}: after {left.value} results, with the gaps of seed {self.seed}")


def stalled_text(text: str, top: str, config: ConverterConfig, lint: bool = True) -> Stalled:
    """The Verilated design of a Verilog text with the ports of a configuration that has registers."""
    loop = (files(__package__) / "handshake.cpp").read_text()
    library = build(text, top, config.numerics, modes=len(config.modes), lint=lint, loop=loop)
    return Stalled(library, config.modes, config.latency)
