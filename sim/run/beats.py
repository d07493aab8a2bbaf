"""Conversion between blocks and the beats that hardware with lanes takes and returns."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...spec import Port, Role
from ..transactions import Transactions

OF_TILES = (Role.ROW_SCALES, Role.COLUMN_SCALES, Role.COLUMN_CODES)
OF_ELEMENTS = (Role.NUMBERS, Role.RANDOM, Role.CODES, *OF_TILES)
"""Roles of ports with a part of a block in each beat. Other ports have the same value in all beats of a block."""

OF_FIRST = (Role.SCALE, Role.TENSOR_SCALE)
"""Roles of inputs that count with the first beat of a block only."""


def in_beats(blocks: Transactions, ports: Sequence[Port], beats: int) -> Transactions:
    """The beats of blocks, for ports of a beat.

    >>> from mxcast.spec import FP32
    >>> x = Port.of_format("x", Role.NUMBERS, "input", FP32, 2)
    >>> in_beats(Transactions({Role.NUMBERS: np.arange(4)[None]}), [x], 2)[Role.NUMBERS].tolist()
    [[0, 1], [2, 3]]
    """
    return Transactions(
        {
            port.role: blocks[port.role].reshape(-1, port.lanes)
            if port.role in OF_ELEMENTS
            else _repeated(blocks[port.role], port, beats)
            for port in ports
        }
    )


def _repeated(values: np.ndarray, port: Port, beats: int) -> np.ndarray:
    """Values of blocks in each of their beats. Those that only the first beat gives are complements in the others, so
    that hardware that takes them from another beat is found.
    """
    found = np.repeat(values, beats, axis=0)
    if port.role in OF_FIRST and port.direction == "input":
        later = np.arange(len(found)) % beats > 0
        found[later] ^= found.dtype.type((1 << port.bits) - 1)
    return found


def in_blocks(found: Transactions, ports: Sequence[Port], beats: int) -> Transactions:
    """The blocks of beats. A value of the whole block is taken from its first beat (`unsteady`)."""
    return Transactions(
        {
            port.role: found[port.role].reshape(-1, port.lanes * beats)
            if port.role in OF_ELEMENTS
            else found[port.role][::beats]
            for port in ports
        }
    )


def unsteady(found: Transactions, ports: Sequence[Port], beats: int) -> tuple[Port, int] | None:
    """A port whose value differs between the beats of a block although it is of the whole block, and the number of the
    block. None if all are the same.
    """
    for port in ports:
        if port.role not in OF_ELEMENTS:
            rows = found[port.role].reshape(-1, beats, port.lanes)
            differ = (rows != rows[:, :1]).any(axis=(1, 2))
            if differ.any():
                return port, int(differ.argmax())
    return None
