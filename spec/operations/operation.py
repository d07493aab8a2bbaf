"""Operations: frozen values that contain formats, rules and ports, and so decide every bit of a result."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import ClassVar, Self

from ..catalogue import Rule, cut, excerpt, known_name
from ..formats.names import format_fields, format_of, is_spelt
from ..formats.number import NumberFormat
from .ports import Port, Role

OPERATIONS: dict[str, type[Operation]] = {}
"""The operations by name."""


class Operation(ABC):
    """A frozen value that decides every bit of a result. Two operations are equal if their `identity` is.

    A subclass with a ``name`` is registered in `OPERATIONS`. Its constructor raises ValueError for anything that it
    cannot compute.
    """

    name: ClassVar[str]
    random_bits: int
    """Random bits per number."""

    def __init_subclass__(cls, **arguments: object) -> None:
        super().__init_subclass__(**arguments)
        if "name" in vars(cls):
            OPERATIONS[cls.name] = cls

    @property
    @abstractmethod
    def subject(self) -> str:
        """A word for the conversion, which names of files and modules contain."""

    @property
    @abstractmethod
    def block_size(self) -> int:
        """Numbers that are converted together."""

    @property
    @abstractmethod
    def formats(self) -> dict[str, NumberFormat]:
        """The number formats by their role."""

    @property
    @abstractmethod
    def ports(self) -> tuple[Port, ...]:
        """The data ports of hardware, in the order of the Verilog. Names and widths are defined here alone."""

    @property
    def random_ports(self) -> tuple[Port, ...]:
        """``random``, if the rounding takes random bits."""
        if not self.random_bits:
            return ()
        return (Port(name="random", role=Role.RANDOM, direction="input", bits=self.random_bits, lanes=self.block_size),)

    @abstractmethod
    def by_name(self) -> dict[str, object]:
        """The fields as plain strings and numbers, formats by their names."""

    @classmethod
    @abstractmethod
    def of_fields(cls, fields: dict[str, object], formats: Mapping[str, Mapping[str, object]]) -> Self:
        """The operation with the fields that `by_name` wrote, and the formats in full by their role, if any."""

    @classmethod
    def from_dict(cls, fields: Mapping[str, object]) -> Self:
        """The operation that `to_dict` wrote. Raises ValueError or TypeError for other fields."""
        given = dict(fields)
        if (operation := given.pop("operation", cls.name)) != cls.name:
            raise ValueError(f"the operation must be {cls.name}, not {excerpt(operation)}")
        formats = given.pop("formats", {})
        if not isinstance(formats, Mapping):
            raise TypeError(f"formats must be fields by role, not {excerpt(formats)}")
        made = cls.of_fields(given, formats)
        for role, one in made.formats.items():
            if role in formats and (other := format_of(formats[role])) != one:
                raise ValueError(f"the {role} format must be {one.name} as its name defines it, not {cut(other.name)}")
        return made

    def to_dict(self) -> dict[str, object]:
        """The fields by name, and under ``formats`` every format in full: the form that files contain."""
        formats = {role: format_fields(one) for role, one in self.formats.items()}
        return {"operation": self.name, **self.by_name(), "formats": formats}

    def identity(self) -> dict[str, object]:
        """`to_dict` without the formats that their names define completely."""
        own = {role: format_fields(one) for role, one in self.formats.items() if not is_spelt(one)}
        return {"operation": self.name, **self.by_name()} | ({"formats": own} if own else {})

    @property
    def id(self) -> str:
        """`short_id` of `identity`."""
        return short_id(self.identity())


def without_signed_zero(fields: Mapping[str, object]) -> dict[str, object]:
    """Fields without ``zero`` if it is signed: earlier versions wrote no such field."""
    return {name: value for name, value in fields.items() if (name, value) != ("zero", "signed")}


def random_bits_under(rounding: Rule, given: object) -> int:
    """Random bits per number. 0 means 8 under the rounding ``sr``. Raises ValueError for an impossible number."""
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
    import hashlib

    text = json.dumps(identity, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def operation_of(fields: Mapping[str, object]) -> Operation:
    """The operation that `Operation.to_dict` wrote. Raises ValueError for an unknown operation.

    >>> operation_of({"operation": "encode", "block": "e4m3", "scale_rule": "ceil"}).id
    'c44a323b'
    """
    if not isinstance(fields, Mapping):
        raise TypeError(f"an operation must have fields by name, not {excerpt(fields)}")
    name = fields.get("operation", "encode")  # version 0.1 wrote no other operation
    return OPERATIONS[known_name("operation", name, OPERATIONS)].from_dict(fields)
