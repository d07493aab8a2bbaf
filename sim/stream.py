"""A registered design as a NumPy function: Verilated, with a clock."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ..spec import Encode, Port, Role
from .driver import Driver, build
from .verilated import Verilated

__all__ = ["Streamed", "stream_text"]


class Streamed(Verilated):
    """A Verilated converter whose results come ``latency`` rising edges of its clock after their blocks, which enter
    ``interval`` edges after each other. Every call starts with eight edges, in reset if there is one."""

    def __init__(self, driver: Driver, numerics: Encode, latency: int, interval: int = 1) -> None:
        super().__init__(driver, (numerics,))
        self.latency, self.interval = latency, interval

    def with_latency(self, latency: int) -> Streamed:
        """The same design, read at another time."""
        return Streamed(self.driver, self.numerics, latency, self.interval)

    def drive(self, inputs: Mapping[str, np.ndarray], outputs: Mapping[str, np.ndarray]) -> None:
        self.driver(inputs, outputs, self.latency, self.interval, entry="mxcast_stream")


def stream_text(
    text: str, top: str, numerics: Encode, latency: int, interval: int = 1, reset: bool = False
) -> Streamed:
    """The Verilated design of a Verilog text whose module ``top`` has, beside the ports of the numerics, a clock
    ``clk`` and, with ``reset``, a reset ``rst`` that is active high.
    """
    control = [("clk", Role.CLOCK), *([("rst", Role.RESET)] if reset else [])]
    ports = (*(Port(name=name, role=role, direction="input") for name, role in control), *numerics.ports)
    return Streamed(Driver(build(text, top, ports, lint=False), ports), numerics, latency, interval)
