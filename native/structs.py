"""Operations as values of the structs of ``mxcast.h``.

A struct has the formats of an operation, the number of elements in a block, the rules in the order of `spec`, and the
random bits. Every member is an ``int`` or an enumeration, so a struct is also an array of integers.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from ..spec import (
    CAST_RULES,
    BlockOperation,
    Cast,
    Decode,
    Encode,
    FixedFormat,
    FloatFormat,
    Kind,
    NumberFormat,
    Nvfp4Decode,
    Nvfp4Encode,
    Operation,
    Rule,
    SpecialCodes,
)
from ..spec.operations.nvfp4 import Nvfp4Operation
from ..spec.profiles.resolve import option_of

HEADER = Path(__file__).with_name("mxcast.h")
"""The header, which users copy into their own programs."""

Member = int | Rule | NumberFormat
"""A member of a struct before it becomes C."""


def c_name(name: str) -> str:
    """The name of a class in C: words in small letters.

    >>> c_name("ScaleRule"), c_name("FourOverSix")
    ('scale_rule', 'four_over_six')
    """
    return re.sub("(?<!^)(?=[A-Z])", "_", name).lower()


def enumerator(member: Rule) -> str:
    """The C enumerator of a rule.

    >>> from mxcast.spec import ScaleRule
    >>> enumerator(ScaleRule.POW2_CEIL)
    'MXCAST_SCALE_RULE_POW2_CEIL'
    """
    return f"MXCAST_{c_name(type(member).__name__)}_{member.name}".upper()


def _number(member: Rule) -> int:
    """The value of the C enumerator of a rule. The header lists the members in the order of `spec`."""
    return list(type(member)).index(member)


def _float_members(format: FloatFormat) -> tuple[Member, ...]:
    return format.exp_bits, format.man_bits, format.bias, format.specials, int(format.signed), int(format.subnormals)


def _fixed_members(format: FixedFormat) -> tuple[Member, ...]:
    return format.bits, format.frac_bits


KINDS: dict[Kind, tuple[str, Callable[..., tuple[Member, ...]]]] = {
    Kind.FLOAT: ("FLOAT", _float_members),
    Kind.FIXED: ("FIXED", _fixed_members),
}
"""The word for a kind of format in the header, and the members that it uses, in their order."""


def format_initialiser(format: NumberFormat) -> str:
    """A ``mxcast_format`` in C.

    >>> from mxcast.spec import E4M3, INT8
    >>> format_initialiser(E4M3), format_initialiser(INT8)
    ('MXCAST_FLOAT_FORMAT(4, 3, 7, NAN_ONLY, 1, 1)', 'MXCAST_FIXED_FORMAT(8, 6)')
    """
    word, members = KINDS[format.kind]
    texts = (member.name if isinstance(member, Rule) else str(member) for member in members(format))
    return f"MXCAST_{word}_FORMAT({', '.join(texts)})"


def _format_words(format: NumberFormat) -> tuple[int, ...]:
    none = (0, 0, 0, _number(SpecialCodes.NONE), 1, 0)  # what a fixed-point format has in the members of a float
    kind = list(Kind).index(format.kind)
    if isinstance(format, FixedFormat):
        return (kind, *none, format.bits, format.frac_bits)
    members = (_number(member) if isinstance(member, Rule) else member for member in _float_members(format))
    return (kind, *(int(str(member)) for member in members), 0, 0)


def _block_members(operation: Operation, *formats: str) -> Iterator[tuple[str, Member]]:
    """Members of the struct of an operation on blocks. ``formats`` are its format roles."""
    assert isinstance(operation, BlockOperation)
    yield from ((role, operation.formats[role]) for role in formats)
    yield "block_size", operation.block_size
    yield from ((name, getattr(operation, name)) for name in operation.rules())
    if isinstance(operation, Nvfp4Operation):
        yield "scale_max", operation.scale_max
    yield "random_bits", operation.random_bits


def _cast_members(operation: Cast) -> Iterator[tuple[str, Member]]:
    yield from (("source", operation.source), ("destination", operation.destination))
    yield from ((name, getattr(operation, name)) for name in CAST_RULES)
    yield "random_bits", operation.random_bits


MEMBERS: dict[type[Operation], tuple[str, Callable[[Any], Iterator[tuple[str, Member]]]]] = {
    Encode: ("mxcast_encode", lambda one: _block_members(one, "source", "element")),
    Decode: ("mxcast_decode", lambda one: _block_members(one, "destination", "element")),
    Cast: ("mxcast_cast", _cast_members),
    Nvfp4Encode: ("mxcast_nvfp4_encode", lambda one: _block_members(one, "source", "scale")),
    Nvfp4Decode: ("mxcast_nvfp4_decode", lambda one: _block_members(one, "destination", "scale")),
}
"""The struct of an operation in the header, and its members by name in their order."""


def check_supported(operation: Operation) -> None:
    """Raise ValueError unless the header has a struct for an operation."""
    if type(operation) not in MEMBERS:
        raise ValueError(f"the model in C has no operation {option_of(operation)} yet")


def struct_name(operation: Operation) -> str:
    """The type of an operation in C."""
    check_supported(operation)
    return MEMBERS[type(operation)][0]


def initialiser(operation: Operation) -> str:
    """An operation as an initialiser in C99 and C++17, one member a line."""
    check_supported(operation)
    lines = [f"    {_text(member)}, /* {name} */" for name, member in MEMBERS[type(operation)][1](operation)]
    return "\n".join(["{", *lines, "}"])


def words(operation: Operation) -> tuple[int, ...]:
    """An operation as the integers of its struct."""
    check_supported(operation)
    return tuple(word for _, member in MEMBERS[type(operation)][1](operation) for word in _words(member))


def _text(member: Member) -> str:
    if isinstance(member, Rule):
        return enumerator(member)
    return str(member) if isinstance(member, int) else format_initialiser(member)


def _words(member: Member) -> tuple[int, ...]:
    if isinstance(member, Rule):
        return (_number(member),)
    return (member,) if isinstance(member, int) else _format_words(member)
