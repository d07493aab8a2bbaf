"""Texts of rules: PROFILE:KEY=VALUE,KEY=VALUE, and KEY=VALUE after --set."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable

from ...spec import (
    CAST_RULES,
    DECODE_RULES,
    NVFP4_DECODE_RULES,
    NVFP4_RULES,
    NVFP4_TILE_RULES,
    TILE_RULES,
    Cast,
    Decode,
    Encode,
    Hadamard,
    Nvfp4Decode,
    Nvfp4Encode,
    Nvfp4TileEncode,
    TileEncode,
)
from ...spec.catalogue import excerpt

RULES: dict[str, tuple[str, ...]] = {
    Encode.name: (*(field.name for field in dataclasses.fields(Encode) if field.name != "block"), "block_size"),
    Decode.name: ("destination", *DECODE_RULES, "random_bits", "block_size"),
    Cast.name: ("source", "destination", "lanes", *CAST_RULES, "random_bits"),
    Nvfp4Encode.name: ("source", "block_size", *NVFP4_RULES, "scale_max", "random_bits"),
    Nvfp4Decode.name: ("destination", "block_size", *NVFP4_DECODE_RULES, "scale_max"),
    Hadamard.name: ("signs",),
    TileEncode.name: ("source", "block_size", *TILE_RULES),
    Nvfp4TileEncode.name: ("source", "block_size", *NVFP4_TILE_RULES, "scale_max"),
}
"""Rules that --set takes, by operation."""

MOST_DIGITS = 18
"""Digits of the largest whole number that is read."""


def profile_and_fields(text: str) -> tuple[str, dict[str, str | int]]:
    """A profile and the fields that replace its rules, from ``ocp:scale_rule=ceil,specials=te`` or ``ocp``."""
    profile, colon, replaced = text.partition(":")
    parts = replaced.split(",") if colon else []
    if not profile or not all("=" in part for part in parts):
        raise ValueError(f"rules are PROFILE or PROFILE:KEY=VALUE,KEY=VALUE, not {excerpt(text)}")
    return profile, assigned(parts)


def assigned(texts: Iterable[str]) -> dict[str, str | int]:
    """Keys and values of texts KEY=VALUE. Raises ValueError for a key with two values."""
    found: dict[str, str | int] = {}
    for key, value in map(assignment, texts):
        if key in found:
            raise ValueError(f"{excerpt(key)} takes one value, not {excerpt(found[key])} and {excerpt(value)}")
        found[key] = value
    return found


def assignment(text: str) -> tuple[str, str | int]:
    """Key and value of KEY=VALUE."""
    key, equals, value = text.partition("=")
    if not equals:
        raise ValueError(f"--set takes KEY=VALUE, not {excerpt(text)}")
    if key == "block":
        raise ValueError("--set takes rules: the block is the format itself")
    # no rule takes a longer number: it stays a text, which the rule refuses
    return key, int(value) if value.isascii() and value.isdecimal() and len(value) <= MOST_DIGITS else value
