"""The data pins of a design inside a simulator: numbers by port name in and out. For `bench` and `flow`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, TypeAlias

from cocotb.types import LogicArray

from ...spec import Port
from ..check.unknowns import four_state
from ..transactions import data_ports

Design: TypeAlias = Any
"""A handle of cocotb; its pins are known at run time only."""


class Pins:
    """The data pins of ``dut``. Handles are looked up once, because work for every block takes most of the time."""

    def __init__(self, dut: Design, ports: Sequence[Port]) -> None:
        self.inputs, self.outputs = (
            [(port, getattr(dut, port.name)) for port in data_ports(ports, direction)]
            for direction in ("input", "output")
        )

    def drive(self, inputs: Mapping[str, int], unknown: Mapping[str, int] = MappingProxyType({})) -> None:
        """Inputs by port name, with X where bits are unknown."""
        for port, pin in self.inputs:
            value, missing = inputs[port.name], unknown.get(port.name, 0)
            pin.value = LogicArray(four_state(value, missing, port.width)) if missing else value

    def seen(self) -> dict[str, str]:
        """The digits of each output."""
        return {port.name: str(pin.value) for port, pin in self.outputs}


def number(digits: str) -> int | None:
    """The number of binary digits; None if one is unknown."""
    return None if digits.strip("01") else int(digits, 2)


def numbers(seen: Mapping[str, str]) -> dict[str, int] | None:
    """The number of each output; None if any bit is unknown."""
    if any(number(digits) is None for digits in seen.values()):
        return None
    return {name: int(digits, 2) for name, digits in seen.items()}
