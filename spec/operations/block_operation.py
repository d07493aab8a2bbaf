"""Base of the operations on blocks: a block format, a format of numbers, rules by name, and random bits."""

from __future__ import annotations

import dataclasses
import re
from abc import abstractmethod
from collections.abc import Callable, Container, Mapping
from functools import cached_property
from operator import index
from typing import ClassVar, Self, SupportsIndex

from ..catalogue import Rule, constructed, excerpt, unknown_name
from ..formats.block import OTHER_BLOCKS, TILED, BlockFormat
from ..formats.names import block_format, format_of, source_format
from ..formats.number import BF16, E8M0, FP16, FP32, FixedFormat, FloatFormat, Kind, Negatives, NumberFormat
from .operation import Operation, random_bits_under


class BlockOperation(Operation):
    """An operation between blocks of numbers and blocks of codes under E8M0 scales; a frozen dataclass.

    Formats and rules are accepted by name. The rounding ``sr`` takes 1 to 16 random bits, 8 by default.
    """

    NUMBERS: ClassVar[str]
    """Name of the field with the format of the numbers."""
    SIZES: ClassVar[Container[int]]
    """Possible numbers of elements in a block."""
    SIZES_IN_WORDS: ClassVar[str]
    TILE: ClassVar[tuple[int, ...]] = ()
    """Shape of the supported tiles, in addition to blocks along one axis; empty if tiles are not supported."""

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
        """Raise ValueError for an unsupported block format."""
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
    def numbers(self) -> FloatFormat:
        """The format of the numbers, on whichever side they are."""
        found: FloatFormat = getattr(self, self.NUMBERS)
        return found

    @property
    def subject(self) -> str:
        return self.block.name

    @property
    def formats(self) -> dict[str, NumberFormat]:
        return {self.NUMBERS: self.numbers, "element": self.block.element, "scale": self.block.scale}

    def by_name(self) -> dict[str, object]:
        """The fields as plain strings and numbers, formats by their names."""
        fields: dict[str, object] = {
            "block": self.block.name,
            "block_size": self.block_size,
            self.NUMBERS: self.numbers.name,
            **{name: str(getattr(self, name)) for name in self.rules()},
        }
        return fields | ({"random_bits": self.random_bits} if self.random_bits else {})

    @classmethod
    def of_fields(cls, fields: dict[str, object], formats: Mapping[str, Mapping[str, object]]) -> Self:
        if "block" not in fields:
            raise ValueError("numerics must have a block")
        block = _block_of(fields.pop("block"), formats.get("element"))
        if fields.get("block_size") == block.block_size:  # tiles cannot be resized
            del fields["block_size"]
        return cls.of_block(block).replaced(**fields)

    @classmethod
    def of_block(cls, block: str | BlockFormat) -> Self:
        """The operation with the default rules."""
        return constructed(cls, {"block": block})

    def replaced(self, block: object = None, **fields: object) -> Self:
        """A copy with this block format and these fields. Raises ValueError for an unknown field.

        `replace` of an operation is the same with types.
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
            number = index(size) if isinstance(size, SupportsIndex) and not isinstance(size, bool) else 0
        except TypeError:
            number = 0
        if number < 1:
            raise ValueError(cls._size_sentence(size))
        return number


def _block_of(name: object, element: Mapping[str, object] | None) -> BlockFormat:
    """The block format of this name, with an element whose name need not define it."""
    if element is None or str(name) in OTHER_BLOCKS:
        return block_format(name)
    own = dataclasses.replace(block_format(format_of(element)), name=str(name).removesuffix(TILED))
    return own.tiled() if str(name).endswith(TILED) else own


def _float_checks(element: FloatFormat) -> dict[str, bool]:
    return {
        f"an element must have 1 to 5 exponent bits and 0 to 10 fraction bits, unlike {element.name}": element.exp_bits
        > 5
        or element.man_bits > 10,
        f"an element must have a sign and subnormals, unlike {element.name}": not (
            element.signed and element.subnormals
        ),
        f"the bias of an element must not be negative, not {element.bias}": element.bias < 0,
        f"{element.name} is a format of casts, not of elements: its negative zero is NaN": not element.signed_zero,
    }


def _fixed_checks(element: FixedFormat) -> dict[str, bool]:
    most = (1 << (element.bits - 1)) - 1
    return {
        f"a fixed-point element must be two's complement from {-most} to {most}, unlike {element.name}": (
            element.lowest,
            element.highest,
        )
        != (-most, most)
        or element.negatives is not Negatives.TWOS_COMPLEMENT
    }


ELEMENT_CHECKS: dict[Kind, Callable[..., dict[str, bool]]] = {Kind.FLOAT: _float_checks, Kind.FIXED: _fixed_checks}
