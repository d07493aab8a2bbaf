"""Transactions: inputs or results of an operation in hardware, by the roles of its ports."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ..spec import Port, Role


def data_ports(ports: Sequence[Port], direction: str) -> list[Port]:
    """The ports of one direction through which transactions enter or leave."""
    return [port for port in ports if port.role.is_data and port.direction == direction]


def word(port: Port) -> np.dtype:
    """The dtype of a lane.

    >>> word(Port(name="x", role=Role.NUMBERS, direction="input", bits=12)).name
    'uint16'
    """
    return np.dtype(
        next(kind for kind in (np.uint8, np.uint16, np.uint32, np.uint64) if port.bits <= 8 * kind().nbytes)
    )


@dataclass(frozen=True)
class Transactions:
    """The inputs or the results of n transactions: arrays (n, lanes) of unsigned words, by role.

    >>> given = Transactions({Role.SCALE: np.array([[127], [128]], np.uint8)})
    >>> len(given), given.rows(slice(1)).differ(given.rows(slice(1, 2))).tolist()
    (2, [True])
    """

    arrays: Mapping[Role, np.ndarray]

    def __len__(self) -> int:
        return len(next(iter(self.arrays.values())))

    def __getitem__(self, role: Role) -> np.ndarray:
        return self.arrays[role]

    def get(self, role: Role) -> np.ndarray | None:
        return self.arrays.get(role)

    def with_arrays(self, arrays: Mapping[Role, np.ndarray]) -> Transactions:
        """The same with these arrays added or replaced."""
        return Transactions({**self.arrays, **arrays})

    def in_mode(self, number: int) -> Transactions:
        """The same in one mode of a converter with several modes."""
        return self.with_arrays({Role.MODE: np.full((len(self), 1), number, np.uint8)})

    def rows(self, chosen: slice | np.ndarray) -> Transactions:
        """Some of the transactions."""
        return Transactions({role: array[chosen] for role, array in self.arrays.items()})

    def spread(self, most: int) -> Transactions:
        """An even choice of at most so many rows."""
        return self.rows(np.linspace(0, len(self) - 1, min(most, len(self))).astype(int))

    def differ(self, other: Transactions) -> np.ndarray:
        """(n,) whether any word differs."""
        found = np.zeros(len(self), bool)
        for role, array in self.arrays.items():
            found |= (_wide(array) != _wide(other[role])).any(axis=1)
        return found

    def values(self, ports: Sequence[Port], direction: str, row: int) -> dict[str, int]:
        """The value of each port for one transaction."""
        return values(ports, direction, {role: array[row] for role, array in self.arrays.items()})

    def bits(self, ports: Sequence[Port], direction: str) -> dict[str, np.ndarray]:
        """The bits (n, width) of each port, by its name."""
        return {
            port.name: (self[port.role][:, :, None] >> np.arange(port.bits, dtype=np.uint8) & 1 != 0).reshape(
                len(self), -1
            )
            for port in data_ports(ports, direction)
        }

    @classmethod
    def joined(cls, parts: Iterable[Transactions]) -> Transactions:
        """The transactions of all parts, which have the same roles."""
        every = list(parts)
        return cls({role: np.concatenate([part[role] for part in every]) for role in every[0].arrays})


def _wide(array: np.ndarray) -> np.ndarray:
    """The rows of an array in the widest words possible, which are faster to compare."""
    rows = np.ascontiguousarray(array)
    length = rows.shape[1] * rows.itemsize
    return rows.view(next(f"u{width}" for width in (8, 4, 2, 1) if length % width == 0))


def values(ports: Sequence[Port], direction: str, lanes: Mapping[Role, Sequence[int] | np.ndarray]) -> dict[str, int]:
    """The value of each port for one transaction, from the fields of its lanes by role."""
    return {port.name: packed(lanes[port.role], port.bits) for port in data_ports(ports, direction)}


WHOLE = {8: "u1", 16: "<u2", 32: "<u4", 64: "<u8"}
"""The dtype of fields of whole bytes, by their bits."""


def packed(fields: Sequence[int] | np.ndarray, bits: int) -> int:
    """One number of all fields, the first in the low bits.

    >>> hex(packed([1, 2, 3], 4))
    '0x321'
    """
    if bits in WHOLE:
        return int.from_bytes(np.asarray(fields, WHOLE[bits]).tobytes(), "little")
    return sum(int(field) << (bits * lane) for lane, field in enumerate(fields))


def fields(value: int, port: Port) -> list[int]:
    """The fields of all lanes in the value of a port."""
    return [value >> (port.bits * lane) & ((1 << port.bits) - 1) for lane in range(port.lanes)]
