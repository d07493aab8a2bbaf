"""A design with a clock and without a handshake: its results come after a number of cycles."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from ....spec import Operation, Port, Role
from .driver import Driver, build


class StreamedDriver(Driver):
    """A design whose results come ``latency`` rising edges of its clock after their blocks, which enter ``interval``
    edges after each other. Every call starts with eight edges, in reset if there is one.
    """

    has_clock = True

    def __init__(self, library: Path, ports: Sequence[Port], latency: int, interval: int = 1) -> None:
        super().__init__(library, ports)
        self.latency, self.interval = latency, interval

    def with_latency(self, latency: int) -> StreamedDriver:
        """The design with results read at another time."""
        other = copy.copy(self)
        other.latency = latency
        return other

    def fill(self, inputs: Mapping[str, np.ndarray], outputs: Mapping[str, np.ndarray]) -> None:
        self._call("mxcast_stream", inputs, outputs, self.latency, self.interval)


def clocked_ports(operation: Operation, reset: bool = False) -> tuple[Port, ...]:
    """The ports of an operation, behind a clock ``clk`` and, with ``reset``, a reset ``rst``."""
    control = [("clk", Role.CLOCK), *([("rst", Role.RESET)] if reset else [])]
    return (*(Port(name=name, role=role, direction="input") for name, role in control), *operation.ports)


def streamed(
    text: str, top: str, operation: Operation, latency: int, interval: int = 1, reset: bool = False
) -> StreamedDriver:
    """The Verilated design of a Verilog text. Its module ``top`` has the ports of the operation, a clock ``clk`` and,
    with ``reset``, a reset ``rst`` that is active high.
    """
    ports = clocked_ports(operation, reset)
    return StreamedDriver(build(text, top, ports, lint=False), ports, latency, interval)
