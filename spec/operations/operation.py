"""Operations: what is computed, as frozen values that say their formats, their rules and their ports."""

from __future__ import annotations

import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import ClassVar

from ..catalogue import Rule, excerpt, known_name
from ..formats.names import format_fields, is_spelt
from ..formats.number import NumberFormat
from .ports import Port

OPERATIONS: dict[str, type[Operation]] = {}
"""The operations by name."""


class Operation(ABC):
    """A frozen value that decides every bit of a result. Two operations are equal if their `identity` is.

    An operation is registered in `OPERATIONS` by its ``name``. What it cannot compute it refuses when it is made.
    """

    name: ClassVar[str]
    random_bits: int
    """Random bits that each number takes."""

    def __init_subclass__(cls, **arguments: object) -> None:
        super().__init_subclass__(**arguments)
        if "name" in vars(cls):  # others are what operations have in common
            OPERATIONS[cls.name] = cls

    @property
    @abstractmethod
    def subject(self) -> str:
        """What is converted, in a word: part of the names of files and modules."""

    @property
    @abstractmethod
    def block_size(self) -> int:
        """How many numbers are converted together."""

    @property
    @abstractmethod
    def formats(self) -> dict[str, NumberFormat]:
        """The number formats by their role."""

    @property
    @abstractmethod
    def ports(self) -> tuple[Port, ...]:
        """The data that enter and leave hardware for it, in the order of the Verilog: the only place that knows names
        and widths."""

    @abstractmethod
    def by_name(self) -> dict[str, object]:
        """The fields as plain strings and numbers, formats by their names."""

    @classmethod
    @abstractmethod
    def from_dict(cls, fields: Mapping[str, object]) -> Operation:
        """The operation whose fields `to_dict` wrote."""

    def to_dict(self) -> dict[str, object]:
        """The fields by name, and under ``formats`` every format in full: what files carry."""
        formats = {role: format_fields(one) for role, one in self.formats.items()}
        return {"operation": self.name, **self.by_name(), "formats": formats}

    def identity(self) -> dict[str, object]:
        """The same in short: without the formats whose names say all of them."""
        own = {role: format_fields(one) for role, one in self.formats.items() if not is_spelt(one)}
        return {"operation": self.name, **self.by_name()} | ({"formats": own} if own else {})

    @property
    def id(self) -> str:
        """`short_id` of `identity`."""
        return short_id(self.identity())


def without_signed_zero(fields: Mapping[str, object]) -> dict[str, object]:
    """Fields of an operation without ``zero`` where it is signed, which files of earlier versions do not mention."""
    return {name: value for name, value in fields.items() if (name, value) != ("zero", "signed")}


def random_bits_under(rounding: Rule, given: object) -> int:
    """How many random bits each number takes: those given, and 8 under the rounding ``sr`` where 0 were given. Raises
    ValueError for what no rounding takes.
    """
    is_random = rounding == "sr"
    bits = 8 if is_random and given == 0 else given
    if type(bits) is not int or bits not in (range(1, 17) if is_random else [0]):
        raise ValueError(
            f"random_bits must be 1 to 16, not {excerpt(given)}"
            if is_random
            else f"random_bits are for the rounding sr, not for {rounding}"
        )
    return bits


def short_id(identity: Mapping[str, object]) -> str:
    """First eight hex digits of the SHA-256 of the canonical JSON."""
    text = json.dumps(identity, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def operation_of(fields: Mapping[str, object]) -> Operation:
    """The operation that `Operation.to_dict` wrote. Raises ValueError for what is none.

    >>> operation_of({"operation": "encode", "block": "e4m3", "scale_rule": "ceil"}).id
    'c44a323b'
    """
    if not isinstance(fields, Mapping):
        raise TypeError(f"an operation must have fields by name, not {excerpt(fields)}")
    name = fields.get("operation", "encode")  # files of version 0.1 know no other
    return OPERATIONS[known_name("operation", name, OPERATIONS)].from_dict(fields)
