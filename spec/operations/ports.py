"""The ports of hardware: their names, what they are for, and how wide they are."""

from __future__ import annotations

from dataclasses import dataclass

from ..catalogue import Rule
from ..formats.number import NumberFormat


class Role(Rule):
    """What a port is for."""

    NUMBERS = "numbers", "the numbers of a block"
    MODE = "mode", "which of its numerics a converter follows"
    SCALE_CONSTANT = "scale_constant", "the constant of the tensor with which the scale of a block is found"
    ELEMENT_CONSTANT = "element_constant", "the constant of the tensor with which elements are scaled"
    TENSOR_AMAX = "tensor_amax", "the largest magnitude of the tensor"
    TENSOR_SCALE = "tensor_scale", "the scale of the tensor"
    ROTATED = "rotated", "the numbers of a block after a Hadamard transform"
    ROW_START = "row_start", "of a row of thresholds, the exponent at which codes begin"
    ROW_CELLS = "row_cells", "of a row of thresholds, what each eighth of a binade has"
    ROW_THRESHOLDS = "row_thresholds", "of a row of thresholds, their last bits"
    RANDOM = "random", "the random bits of a block"
    SCALE = "scale", "the scale of a block"
    CODES = "codes", "the codes of a block"
    STORED_CODES = "stored_codes", "the codes of a block in bytes, as a library stores them"
    STORED_BLOCK = "stored_block", "the codes and the scale of a block in bytes, as a library stores them"
    CLOCK = "clock", "all registers change at its rising edge"
    RESET = "reset", "drops what is inside"
    VALID = "valid", "the data of its direction are of a block"
    READY = "ready", "the data of its direction are taken"

    @property
    def is_data(self) -> bool:
        """Does it belong to a block, and not to the clock or the handshake?"""
        return self not in (Role.CLOCK, Role.RESET, Role.VALID, Role.READY)


@dataclass(frozen=True, kw_only=True)
class Port:
    """A port of ``lanes`` fields of ``bits`` each, that of element 0 in the low bits."""

    name: str
    role: Role
    direction: str
    """``input`` or ``output``."""
    bits: int = 1
    lanes: int = 1
    format: NumberFormat | None = None
    """That of a field; in a converter with modes that of mode 0."""

    @property
    def width(self) -> int:
        return self.lanes * self.bits

    @property
    def is_result(self) -> bool:
        """Do data of a block leave here?"""
        return self.role.is_data and self.direction == "output"
