"""What operations on blocks have in common: a block format, a format of numbers, rules by name, and random bits."""

from __future__ import annotations

import dataclasses
import re
from abc import abstractmethod
from collections.abc import Callable, Container, Mapping
from functools import cached_property
from operator import index
from typing import Any, ClassVar, Self

from ..catalogue import Rule, cut, excerpt, unknown_name
from ..formats.block import TILED, BlockFormat
from ..formats.names import block_format, format_of, source_format
from ..formats.number import BF16, E8M0, FP16, FP32, FixedFormat, FloatFormat, Kind, Negatives, NumberFormat
from .operation import Operation, random_bits_under


class BlockOperation(Operation):
    """An operation between blocks of numbers and blocks of codes under scales, E8M0 unless it says otherwise; a frozen
    dataclass.

    Formats and rules are accepted by name. Under the rounding ``sr`` there are 1 to 16 random bits, 8 unless given.
    """

    NUMBERS: ClassVar[str]
    """The field that is the format of the numbers."""
    SIZES: ClassVar[Container[int]]
    """How many elements a block can have."""
    SIZES_IN_WORDS: ClassVar[str]
    TILE: ClassVar[tuple[int, ...]] = ()
    """The shape of the tiles that are converted, besides blocks along one axis; empty if none are."""

    block: BlockFormat
    rounding: Rule
    random_bits: int

    @classmethod
    @abstractmethod
    def rules(cls) -> Mapping[str, type[Rule]]:
        """The fields that are enumerations."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "block", block_format(self.block))
        numbers = source_format(getattr(self, self.NUMBERS), self.NUMBERS)
        object.__setattr__(self, self.NUMBERS, numbers)
        if numbers not in (FP32, BF16, FP16):
            raise ValueError(f"{self.NUMBERS} must be fp32, bf16 or fp16, not {numbers.name}")
        self._check_block()
        for name, rule in self.rules().items():
            object.__setattr__(self, name, rule.named(name, getattr(self, name)))
        object.__setattr__(self, "random_bits", random_bits_under(self.rounding, self.random_bits))

    def _check_block(self) -> None:
        """Raises ValueError for a block format that nothing here converts."""
        block, element, name = self.block, self.block.element, self.block.element.name
        alone = f"{self.name} takes only E8M0 scales"
        refused = {
            f"{block.name} has the scale format {block.scale.name}: {alone}": block.scale != E8M0,
            f"{block.name} has a scale of the whole tensor: {alone}": block.tensor_scale is not None,
            f"{block.name} has a second scale within a block: {alone}": block.sub_scale is not None,
            self._size_sentence(block.block_size): block.shape != self.TILE
            and (len(block.shape) > 1 or block.block_size not in self.SIZES),
            "an element format's name must be lower-case letters, digits and underscores, not "
            f"{excerpt(name)}": not re.fullmatch("[a-z][a-z0-9_]*", name),
            **ELEMENT_CHECKS[element.kind](element),
        }
        for sentence, is_refused in refused.items():
            if is_refused:
                raise ValueError(sentence)

    @classmethod
    def _size_sentence(cls, size: object) -> str:
        return f"block_size must be {cls.SIZES_IN_WORDS}, not {excerpt(size)}"

    @cached_property
    def block_size(self) -> int:
        return self.block.block_size

    @property
    def subject(self) -> str:
        return self.block.name

    @property
    def formats(self) -> dict[str, NumberFormat]:
        return {self.NUMBERS: getattr(self, self.NUMBERS), "element": self.block.element, "scale": self.block.scale}

    def by_name(self) -> dict[str, object]:
        """The fields as plain strings and numbers, formats by their names."""
        fields: dict[str, object] = {
            "block": self.block.name,
            "block_size": self.block_size,
            self.NUMBERS: getattr(self, self.NUMBERS).name,
            **{name: str(getattr(self, name)) for name in self.rules()},
        }
        return fields | ({"random_bits": self.random_bits} if self.random_bits else {})

    @classmethod
    def from_dict(cls, fields: Mapping[str, object]) -> Self:
        """The operation that `to_dict` wrote. Raises ValueError and TypeError for what it cannot have written."""
        given: dict[str, Any] = dict(fields)  # of a file: checked where they are used
        if "block" not in given:
            raise ValueError("numerics must have a block")
        if (operation := given.pop("operation", cls.name)) != cls.name:
            raise ValueError(f"the operation must be {cls.name}, not {excerpt(operation)}")
        block, formats = given.pop("block"), given.pop("formats", {})
        if not isinstance(formats, Mapping):
            raise TypeError(f"formats must be fields by role, not {excerpt(formats)}")
        if (element := formats.get("element")) is not None:
            own = dataclasses.replace(block_format(format_of(element)), name=str(block).removesuffix(TILED))
            block = own.tiled() if str(block).endswith(TILED) else own
        if given.get("block_size") == (block := block_format(block)).block_size:
            del given["block_size"]
        numbers = source_format(str(given.get(cls.NUMBERS, "fp32")), cls.NUMBERS)
        for role, known in (("scale", E8M0), (cls.NUMBERS, numbers)):
            if role in formats and format_of(formats[role]) != known:
                raise ValueError(f"the {role} format {cut(format_of(formats[role]).name)} is not the one of this name")
        return cls.of_block(block).replaced(**given)

    @classmethod
    def of_block(cls, block: str | BlockFormat) -> Self:
        """The operation with the rules that its fields have unless given."""
        return cls(block=block)  # type: ignore[call-arg]  # a dataclass with defaults

    def replaced(self, block: str | BlockFormat | NumberFormat | None = None, **fields: Any) -> Self:
        """A copy with this block format and these fields; an unknown field name is an error. `replace` of an operation
        is this with the types of its fields.
        """
        changed, chosen = dict(fields), self.block if block is None else block_format(block)
        if "block_size" in changed:
            chosen = chosen.resized(self._whole_size(changed.pop("block_size")))
        known = [f.name for f in dataclasses.fields(self)]  # type: ignore[arg-type]
        for name in changed:
            if name not in known:
                raise ValueError(unknown_name(f"field of {type(self).__name__}", name, known))
        before = self.rounding
        rounding = self.rules()["rounding"].named("rounding", changed.get("rounding", before))
        if rounding == "sr" and changed.get("random_bits") == 0:
            raise ValueError("random_bits must be 1 to 16, not 0")
        if "random_bits" not in changed and rounding is not before:
            changed["random_bits"] = 0
        return dataclasses.replace(self, block=chosen, **changed)  # type: ignore[type-var]

    @classmethod
    def _whole_size(cls, size: object) -> int:
        try:
            number = 0 if isinstance(size, bool) else index(size)  # type: ignore[arg-type]  # what is none is refused
        except TypeError:
            number = 0
        if number < 1:
            raise ValueError(cls._size_sentence(size))
        return number


def _float_checks(element: FloatFormat) -> dict[str, bool]:
    return {
        "an element must have 1 to 5 exponent bits and 0 to 10 fraction bits, not those of "
        f"{element.name}": element.exp_bits > 5 or element.man_bits > 10,
        f"an element must have a sign and subnormals, which {element.name} has not": not (
            element.signed and element.subnormals
        ),
        f"the bias of an element must not be negative, not {element.bias}": element.bias < 0,
        f"{element.name} is a format of casts, not of elements: its negative zero is NaN": not element.signed_zero,
    }


def _fixed_checks(element: FixedFormat) -> dict[str, bool]:
    most = (1 << (element.bits - 1)) - 1
    return {
        f"a fixed-point element must be two's complement from {-most} to {most}, which {element.name} is not": (
            element.lowest,
            element.highest,
        )
        != (-most, most)
        or element.negatives is not Negatives.TWOS_COMPLEMENT
    }


ELEMENT_CHECKS: dict[Kind, Callable[..., dict[str, bool]]] = {Kind.FLOAT: _float_checks, Kind.FIXED: _fixed_checks}
