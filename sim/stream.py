"""A registered design as a NumPy function: Verilated, with a clock."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

from ..spec import Numerics
from .verilated import Verilated, build, loaded

__all__ = ["Streamed", "stream_text"]


class Streamed(Verilated):
    """A Verilated converter whose results come ``latency`` rising edges of its clock after their blocks, which enter
    ``interval`` edges after each other. Every call starts with eight edges, in reset if there is one."""

    def __init__(self, library: Path, numerics: Numerics, latency: int, interval: int = 1) -> None:
        super().__init__(library, (numerics,))
        self.latency, self.interval = latency, interval
        stream = loaded(library, "mxcast_stream", 2)
        self._convert = lambda x, random, mode, scales, codes, blocks: stream(
            x, random, latency, interval, scales, codes, blocks
        )

    def with_latency(self, latency: int) -> Streamed:
        """The same design, read at another time."""
        return Streamed(self.library, self.numerics, latency, self.interval)


def stream_text(
    text: str, top: str, numerics: Numerics, latency: int, interval: int = 1, reset: bool = False
) -> Streamed:
    """The Verilated design of a Verilog text whose module ``top`` has, beside the ports that `verilate_text` asks for,
    a clock ``clk`` and, with ``reset``, a reset ``rst`` that is active high.
    """
    loop = f"#define MXCAST_RESET {int(reset)}\n" + (files(__package__) / "stream.cpp").read_text()
    return Streamed(build(text, top, numerics, lint=False, loop=loop), numerics, latency, interval)
