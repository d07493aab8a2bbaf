"""From a format, the name of a profile and single fields to an operation, and back to the profile."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import TypeVar, Unpack

from ..catalogue import constructed, known_name
from ..formats.block import BlockFormat
from ..formats.names import block_format, scalar_format
from ..formats.number import FloatFormat, NumberFormat
from ..operations.block_operation import BlockOperation
from ..operations.cast import CAST_SOURCES, SCALARS, Cast, CastFields, check_fields
from ..operations.decode import Decode, DecodeFields
from ..operations.encode import Encode, EncodeFields
from ..operations.hadamard import Hadamard
from ..operations.nvfp4 import is_nvfp4
from ..operations.nvfp4_decode import Nvfp4Decode, Nvfp4DecodeFields
from ..operations.nvfp4_encode import Nvfp4Encode, Nvfp4Fields
from ..operations.operation import Operation
from ..operations.ptx import INSTRUCTIONS, is_instruction
from ..operations.tile import Nvfp4TileEncode, Nvfp4TileFields, TileEncode, TileFields
from .casts import CASTS
from .decoders import DECODERS
from .encoders import PROFILES
from .nvfp4 import HADAMARDS, NVFP4_DECODERS, NVFP4_ENCODERS

Made = TypeVar("Made", bound=BlockOperation)

PROFILES_OF = {
    Encode.name: PROFILES,
    Decode.name: DECODERS,
    Cast.name: CASTS,
    Nvfp4Encode.name: NVFP4_ENCODERS,
    Nvfp4Decode.name: NVFP4_DECODERS,
    Hadamard.name: HADAMARDS,
    TileEncode.name: PROFILES,
    Nvfp4TileEncode.name: NVFP4_ENCODERS,
}
"""Profiles by the name of the operation. The first profile is the default."""

NVFP4_OPERATIONS = {Encode.name: Nvfp4Encode.name, Decode.name: Nvfp4Decode.name, TileEncode.name: Nvfp4TileEncode.name}
"""The operation that replaces another one for NVFP4 formats, both by name."""


def option_of(operation: Operation) -> str:
    """The name of an operation for ``--op``.

    >>> option_of(nvfp4_encoding("nvfp4"))
    'encode'
    """
    return next((name for name, other in NVFP4_OPERATIONS.items() if other == operation.name), operation.name)


def numerics(
    block: str | BlockFormat | NumberFormat | Encode, profile: str | None = None, **fields: Unpack[EncodeFields]
) -> Encode:
    """`Encode` to a block format under a profile, ``ocp`` by default. ``fields`` replace rules of the profile.

    ``block`` can also be a complete operation; then there is no profile. Raises ValueError for an unknown format,
    profile, field or rule, and for an element that the profile does not define. Raises TypeError for an operation with
    a profile.

    >>> numerics("e2m1", "nvidia").scale_rule.value
    'ceil'
    """
    return under(Encode, block, profile, fields)


def decoding(
    block: str | BlockFormat | NumberFormat | Decode, profile: str | None = None, **fields: Unpack[DecodeFields]
) -> Decode:
    """`Decode` of a block format under a profile, ``ocp`` by default. See `numerics`.

    >>> decoding("e2m1", "gpt_oss").destination.name
    'bf16'
    """
    return under(Decode, block, profile, fields)


def nvfp4_encoding(
    block: str | BlockFormat | NumberFormat | Nvfp4Encode, profile: str | None = None, **fields: Unpack[Nvfp4Fields]
) -> Nvfp4Encode:
    """`Nvfp4Encode` to a block format under a profile, ``nvfp4_te`` by default. See `numerics`.

    >>> nvfp4_encoding("nvfp4", "nvfp4_ao").order.value
    'ao'
    """
    return under(Nvfp4Encode, block, profile, fields)


def nvfp4_decoding(
    block: str | BlockFormat | NumberFormat | Nvfp4Decode,
    profile: str | None = None,
    **fields: Unpack[Nvfp4DecodeFields],
) -> Nvfp4Decode:
    """`Nvfp4Decode` of a block format under a profile, ``nvfp4_te`` by default. See `numerics`.

    >>> nvfp4_decoding("nvfp4", "nvfp4_ao").convention.value
    'multiplier'
    """
    return under(Nvfp4Decode, block, profile, fields)


def tile_encoding(
    block: str | BlockFormat | NumberFormat | TileEncode, profile: str | None = None, **fields: Unpack[TileFields]
) -> TileEncode:
    """`TileEncode` to a block format under a profile of `Encode`, ``ocp`` by default. See `numerics`.

    >>> tile_encoding("e4m3", "nvidia", columns="in_place").rows.scale_rule.value
    'ceil'
    """
    return under(TileEncode, block, profile, fields)


def nvfp4_tile_encoding(
    block: str | BlockFormat | NumberFormat | Nvfp4TileEncode,
    profile: str | None = None,
    **fields: Unpack[Nvfp4TileFields],
) -> Nvfp4TileEncode:
    """`Nvfp4TileEncode` to a block format under a profile of `Nvfp4Encode`, ``nvfp4_te`` by default. See `numerics`.

    >>> nvfp4_tile_encoding("nvfp4", "nvfp4_ao").rows.order.value
    'ao'
    """
    return under(Nvfp4TileEncode, block, profile, fields)


def casting(format: str | FloatFormat | Cast, profile: str | None = None, **fields: Unpack[CastFields]) -> Cast:
    """`Cast` to a scalar format under a profile, ``ocp`` by default. ``fields`` replace rules of the profile.

    The source is FP32 unless given. With ``destination`` the cast goes back, from the scalar format to numbers.
    ``format`` can also be an instruction of PTX (`ptx.INSTRUCTIONS`), whose profile is ``ptx``, or a complete `Cast`.

    Raises ValueError for an unknown format, profile, field or rule, for a destination that the profile does not define,
    and for an instruction under another profile. Raises TypeError for a `Cast` with a profile.

    >>> casting("cvt.rz.ue8m0x2.bf16x2").by_name()["overflow"], casting("e4m3", destination="bf16").subject
    ('inf', 'e4m3_to_bf16')
    """
    if isinstance(format, Cast):
        _require_no_profile(profile)
        return format.replace(**fields)
    given: dict[str, object] = {**fields}
    scalar: object = format
    if is_instruction(format):
        if profile not in (None, "ptx"):
            raise ValueError(f"an instruction has the profile ptx, not {profile}")
        given = INSTRUCTIONS[known_name("instruction", format, INSTRUCTIONS)] | given
        scalar, profile = given.pop("format"), "ptx"
    if "source" in given and "destination" in given:
        raise ValueError("a cast has one format of numbers: give source, or destination for the way back")
    given["source" if "destination" in given else "destination"] = scalar_format(scalar, "format", SCALARS)
    to = scalar_format(given["destination"], "destination", CAST_SOURCES | SCALARS).name
    profile = profile_named(Cast.name, "ocp" if profile is None else profile)
    rules = dict(CASTS[profile].by_destination)
    if to not in rules:
        raise ValueError(f"{profile} has no cast to {to}: it has {', '.join(rules)}")
    check_fields(given)
    return constructed(Cast, {**dict(CASTS[profile].rules), **dict(rules[to]), **given})


def encoding(block: object, profile: str | None = None, **fields: object) -> Encode | Nvfp4Encode:
    """`numerics` or `nvfp4_encoding`, as the block format requires.

    >>> encoding("nvfp4").name, encoding("e4m3").name
    ('two_level_encode', 'encode')
    """
    if is_nvfp4(block):
        return under(Nvfp4Encode, block, profile, fields)
    return under(Encode, block, profile, fields)


class OperationFields(EncodeFields, DecodeFields, CastFields, Nvfp4Fields, total=False):
    """Fields of any operation except its format."""


def operation_of(
    op: str, format: object, profile: str | None = None, **fields: Unpack[OperationFields]
) -> Encode | Nvfp4Encode | Decode | Nvfp4Decode | Cast:
    """The operation ``encode``, ``decode`` or ``cast`` of a format, for NVFP4 the one with a scale of the tensor.

    >>> operation_of("decode", "nvfp4").name, operation_of("cast", "e8m0").name
    ('two_level_decode', 'cast')
    """
    op = known_name("operation", op, ("encode", "decode", "cast"))
    if op == "encode":
        return encoding(format, profile, **fields)
    if op == "cast":
        return constructed(casting, {"format": format, "profile": profile, **fields})
    if is_nvfp4(format):
        return under(Nvfp4Decode, format, profile, fields)
    return under(Decode, format, profile, fields)


def under(operation: type[Made], block: object, profile: str | None, fields: Mapping[str, object]) -> Made:
    """The operation on a block format under a profile, with ``fields`` in place of rules of the profile."""
    if isinstance(block, operation):
        _require_no_profile(profile)
        return block.replaced(**fields) if fields else block
    try:
        found = resolved(operation, block, profile, **fields)
    except TypeError:  # an argument without a hash; a TypeError of the resolution itself is raised again
        found = resolved.__wrapped__(operation, block, profile, **fields)
    assert isinstance(found, operation)
    return found


@lru_cache(maxsize=256, typed=True)
def resolved(operation: type[BlockOperation], block: object, profile: str | None, **fields: object) -> BlockOperation:
    """`under` for a block format."""
    known = PROFILES_OF[operation.name]
    profile = profile_named(operation.name, next(iter(known)) if profile is None else profile)
    chosen, blocks = known[profile], block_format(block)
    rules = dict(chosen.rules)
    if chosen.by_element:
        own = dict(chosen.by_element)
        if blocks.element.name not in own:
            raise ValueError(f"{profile} has no blocks of {blocks.element.name}: it has {', '.join(own)}")
        rules |= own[blocks.element.name]
    return operation.of_block(blocks).replaced(**rules).replaced(**fields)


def _require_no_profile(profile: str | None) -> None:
    if profile is not None:
        raise TypeError(f"an operation contains all rules: leave out the profile {profile}")


def profile_named(operation: str, name: str) -> str:
    """The name of a profile of an operation, read without regard to case.

    Raises ValueError for an unknown name. The message lists the operations that have a profile of this name.
    """
    known = PROFILES_OF[operation]
    others = [other for other, profiles in PROFILES_OF.items() if name in list(profiles)]
    if others and name not in list(known):
        raise ValueError(f"unknown profile {name!r}: known are {', '.join(known)}; {name} is of {', '.join(others)}")
    return known_name("profile", name, known)


def formats_of(operation: str, profile: str, formats: Iterable[str]) -> list[str]:
    """The formats that a profile defines, out of these: elements of blocks, or destinations of casts.

    >>> formats_of("encode", "ggml", ["e4m3", "e2m1"]), formats_of("cast", "ocp", ["e4m3"])
    (['e2m1'], ['e4m3'])
    """
    chosen = PROFILES_OF[operation][profile_named(operation, profile)]
    known = dict(chosen.by_element + chosen.by_destination)
    return [name for name in formats if not known or name in known]


def profile_of(rules: Operation, preferred: str | None = None) -> str | None:
    """The first profile that has exactly these rules, the preferred one if it has them; None if no profile does.

    >>> profile_of(numerics("e4m3", "ocp", scale_rule="ceil"))
    'nvidia'
    """
    known = PROFILES_OF[rules.name]
    candidates = [*([] if preferred is None else [profile_named(rules.name, preferred)]), *known]
    return next((name for name in candidates if like(rules, name) == rules), None)


def like(rules: Operation, profile: str) -> Operation | None:
    """The operation on the same formats under a profile; None if the profile does not define it."""
    if isinstance(rules, Hadamard):
        return Hadamard(size=rules.size)
    if isinstance(rules, BlockOperation):
        try:
            return under(type(rules), rules.block, profile, {})
        except ValueError:  # the profile lacks the element, or 4 over 6 lacks the block size
            return None
    if not isinstance(rules, Cast) or rules.destination.name not in dict(CASTS[profile].by_destination):
        return None
    numbers: CastFields = {"destination": rules.destination} if rules.is_back else {"source": rules.source}
    return casting(rules.scalar, profile, **numbers).replace(lanes=rules.lanes)
