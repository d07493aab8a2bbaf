"""Transactions: what of an operation enters and leaves hardware, by the roles of its ports."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ..spec import Port, Role
from .driver import data_ports

__all__ = ["fields", "named", "packed", "values"]


def named(ports: Sequence[Port], direction: str, arrays: Mapping[Role, np.ndarray]) -> dict[str, np.ndarray]:
    """Arrays by the names of the ports that have these roles. Raises KeyError where one is missing."""
    return {port.name: arrays[port.role] for port in data_ports(ports, direction)}


def values(ports: Sequence[Port], direction: str, lanes: Mapping[Role, Sequence[int] | np.ndarray]) -> dict[str, int]:
    """The value of each port for one transaction, of which the fields are given by role, lane by lane."""
    return {port.name: packed(lanes[port.role], port.bits) for port in data_ports(ports, direction)}


def packed(fields: Sequence[int] | np.ndarray, bits: int) -> int:
    """One number of all fields, the first in the low bits.

    >>> hex(packed([1, 2, 3], 4))
    '0x321'
    """
    return sum(int(field) << (bits * lane) for lane, field in enumerate(fields))


def fields(value: int, port: Port) -> list[int]:
    """The fields of all lanes that the value of a port packs."""
    return [value >> (port.bits * lane) & ((1 << port.bits) - 1) for lane in range(port.lanes)]
