"""The ports of hardware: names, purposes and widths."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

from ..catalogue import Rule
from ..formats.number import NumberFormat


class Role(Rule):
    """The purpose of a port."""

    NUMBERS = "numbers", "the numbers of a block"
    MODE = "mode", "selects the numerics of a converter"
    SCALE_CONSTANT = "scale_constant", "the constant of the tensor that the scale of a block depends on"
    ELEMENT_CONSTANT = "element_constant", "the constant of the tensor that scales elements"
    TENSOR_AMAX = "tensor_amax", "the largest magnitude of the tensor"
    TENSOR_SCALE = "tensor_scale", "the scale of the tensor"
    ROTATED = "rotated", "the numbers of a block after a Hadamard transform"
    # emitted Verilog contains the next three definitions
    ROW_START = "row_start", "of a row of thresholds, the exponent at which codes begin"
    ROW_CELLS = "row_cells", "of a row of thresholds, what each eighth of a binade has"
    ROW_THRESHOLDS = "row_thresholds", "of a row of thresholds, their last bits"
    RANDOM = "random", "the random bits of a block"
    SCALE = "scale", "the scale of a block"
    CODES = "codes", "the codes of a block"
    ROW_SCALES = "row_scales", "the scales of the rows of a tile"
    COLUMN_SCALES = "column_scales", "the scales of the columns of a tile"
    COLUMN_CODES = "column_codes", "the codes of a tile under the scales of its columns"
    STORED_CODES = "stored_codes", "the codes of a block in bytes, as a library stores them"
    STORED_BLOCK = "stored_block", "the codes and the scale of a block in bytes, as a library stores them"
    CLOCK = "clock", "every register changes at its rising edge"
    RESET = "reset", "discards the data inside"
    VALID = "valid", "the data of its direction belong to a block"
    READY = "ready", "the receiver takes the data of its direction"
    FIRST = "first", "the data of its direction begin a block"
    LAST = "last", "the data of its direction end a block, or a packet"
    KEEP = "keep", "which bytes of the data of its direction are there"
    USER = "user", "goes with the data of its direction"
    BUS = "bus", "reads and writes registers"

    @property
    def is_data(self) -> bool:
        """Does it carry data of a block, rather than the clock or the handshake?"""
        return self not in CONTROL


CONTROL = (Role.CLOCK, Role.RESET, Role.VALID, Role.READY, Role.FIRST, Role.LAST, Role.KEEP, Role.USER, Role.BUS)
"""The clock, the handshake, marks of data, and the bus of registers."""


@dataclass(frozen=True, kw_only=True)
class Port:
    """A port of ``lanes`` fields of ``bits`` each; element 0 is in the low bits."""

    name: str
    role: Role
    direction: str
    """``input`` or ``output``."""
    bits: int = 1
    lanes: int = 1
    format: NumberFormat | None = None
    """Format of a field; in a converter with modes the format in mode 0."""

    @classmethod
    def of_format(cls, name: str, role: Role, direction: str, format: NumberFormat, lanes: int = 1) -> Self:
        return cls(name=name, role=role, direction=direction, bits=format.bits, lanes=lanes, format=format)

    @property
    def width(self) -> int:
        return self.lanes * self.bits

    @property
    def is_result(self) -> bool:
        """Do data of a block leave through this port?"""
        return self.role.is_data and self.direction == "output"
