"""Every package has an entry for every rule and every kind of format, in a table of its own, or a reason why it needs
none.

A new rule without an entry would be an error where it is used; here it is one of the tests, with the names of the
packages.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import StrEnum
from importlib import import_module

import pytest

from mxcast.hdl import Lane, Quantizer
from mxcast.spec import (
    CAST_RULES,
    DECODE_RULES,
    NVFP4_DECODE_RULES,
    NVFP4_RULES,
    CastNan,
    CastNegative,
    CastOverflow,
    CastRounding,
    CastUnderflow,
    Convention,
    DecodedNan,
    DecodedOverflow,
    DecodedRounding,
    DecodedZero,
    EncodedZero,
    FourOverSix,
    Kind,
    NanSubstitute,
    Order,
    Overflow,
    Rounding,
    ScaleReading,
    ScaleRule,
    Specials,
    Subnormals,
)
from mxcast.spec.layouts.catalogue import Packing, ScaleByte, ScaleOrder

TABLES = {
    Packing: {"models.arrays.stored_bytes": "PACKINGS", "spec.layouts.catalogue": "PACKED_BITS"},
    ScaleByte: {"models.arrays.stored_bytes": "SCALE_BYTES"},
    ScaleOrder: {"models.arrays.stored_bytes": "ORDERS"},
    ScaleRule: {
        "models.exact.scale": "SCALE_RULES",
        "models.fast.scale": "SCALE_RULES",
        "hdl.encode.threshold": "LIMITS",
        "proof.specification.encode": "SCALE_RULES",
    },
    Rounding: {
        "models.exact.encode": "ROUNDINGS",
        "explain.rounding": "INCREMENTS",
        "models.fast.rounding": "CORRECTIONS",
        "models.fast.element": "FIXED_ROUNDINGS",
        "hdl.primitives.rounding": "ROUNDINGS",
        "proof.specification.encode": "ADDED",
    },
    Specials: {
        "models.exact.encode": "SPECIALS",
        "models.fast.special": "SPECIALS",
        "explain.encode": "DECISIVE REPLACED REMARKS",
        "hdl.encode.operand": "FLAGS",
        "proof.specification.encode": "FLAGS",
    },
    Kind: {
        "models.exact.encode": "GUARD_HALF_UP",
        "models.fast.element": "MAGNITUDES",
        "spec.formats.names": "KINDS",
        "spec.operations.block_operation": "ELEMENT_CHECKS",
        "hdl.decode.element": "READERS",
    },
    Convention: {
        "models.exact.decode": "CONVENTIONS",
        "models.fast.nvfp4_encode": "STORED",
        "models.exact.nvfp4_decode": "FACTORS",
        "models.fast.nvfp4_decode": "FACTORS",
    },
    Order: {
        "spec.operations.nvfp4_encode": "TENSOR_SCALES",
        "models.exact.nvfp4_encode": "ORDERS",
        "models.fast.nvfp4_encode": "ORDERS",
        "explain.nvfp4_encode": "TRACES",
    },
    FourOverSix: {"models.exact.nvfp4_encode": "POWERS", "models.fast.nvfp4_encode": "POWERS"},
    ScaleReading: {
        "models.exact.decode": "SCALE_READINGS",
        "models.fast.decode": "READINGS",
        "explain.decode": "MEANINGS",
        "hdl.decode.factor": "EXPONENTS FLAGS",
    },
    DecodedRounding: {
        "explain.rounding": "INCREMENTS",
        "models.exact.decode": "ROUNDINGS",
        "models.fast.decode": "ROUNDINGS",
    },
    DecodedOverflow: {
        "models.exact.decode": "OVERFLOWS",
        "models.fast.decode": "OVERFLOWS",
        "explain.decode": "BEYOND",
        "hdl.decode.word": "OVERFLOWS",
    },
    DecodedNan: {
        "models.exact.decode": "NANS",
        "models.fast.nan": "NANS",
        "hdl.decode.element": "NANS",
        "hdl.decode.word": "NANS",
    },
    DecodedZero: {"models.exact.decode": "ZEROS"},
    EncodedZero: {
        "models.exact.encode": "ZEROS ROUNDED_TO_ZERO",
        "models.fast.encode": "TAKEN_FOR",
        "models.fast.element": "SIGNS",
        "models.exact.cast": "ZEROS",
        "models.fast.cast": "ZEROS",
        "hdl.encode.operand": "ZEROS",
        "hdl.cast.number": "ZEROS",
        "proof.specification.encode": "ZEROS SIGNS",
        "proof.specification.cast": "SIGNS",
    },
    CastRounding: {
        "explain.rounding": "INCREMENTS",
        "models.exact.cast": "ROUNDINGS",
        "models.fast.cast": "ROUNDINGS",
        "hdl.cast.number": "ROUNDINGS",
        "proof.specification.cast": "ADDED IS_REACHED",
    },
    CastOverflow: {
        "models.exact.cast": "OVERFLOWS",
        "models.fast.cast": "OVERFLOWS",
        "hdl.cast.number": "OVERFLOWS",
        "proof.specification.cast": "OVERFLOWS",
    },
    CastNan: {"models.exact.cast": "NANS", "models.fast.cast": "NANS", "hdl.cast.number": "NANS"},
    CastNegative: {"models.exact.cast": "NEGATIVES", "models.fast.cast": "NEGATIVES", "hdl.cast.number": "NEGATIVES"},
    CastUnderflow: {
        "models.exact.cast": "UNDERFLOWS",
        "models.fast.cast": "UNDERFLOWS",
        "hdl.cast.number": "UNDERFLOWS",
    },
    NanSubstitute: {
        "models.exact.cast": "SUBSTITUTES",
        "models.fast.cast": "SUBSTITUTES",
        "hdl.cast.number": "SUBSTITUTES",
    },
}
"""By enumeration, the tables of each package."""

REASONS = {
    ("models.fast.rounding.CORRECTIONS", "guard_half_up"): "is no correction of nearest even: a function of its own",
    ("models.exact.nvfp4_encode.POWERS", "off"): "has no error",
    ("models.fast.nvfp4_encode.POWERS", "off"): "has no error",
    ("models.fast.encode.TAKEN_FOR", "signed"): "is not taken for anything else",
}
"""Members that a table leaves out."""

ALONE = {Subnormals: "two members: a package asks whether it is FLUSH", Overflow: "one member"}
"""Enumerations of `Encode` without tables."""


def missing(members: Iterable[StrEnum], name: str, table: Mapping) -> list[str]:
    """Members that a table lacks without a reason."""
    keys = {member for key in table for member in (key if isinstance(key, tuple) else (key,))}
    return [f"{name}: no {member}" for member in members if member not in keys and (name, str(member)) not in REASONS]


CASES = [
    (enumeration, f"{package}.{table}")
    for enumeration, packages in TABLES.items()
    for package, tables in packages.items()
    for table in tables.split()
]


@pytest.mark.parametrize(
    "enumeration, name", CASES, ids=lambda value: value if isinstance(value, str) else value.__name__
)
def test_every_member_has_an_entry(enumeration, name):
    package, _, table = name.rpartition(".")
    table = getattr(import_module(f"mxcast.{package}"), table)
    assert missing(enumeration, name, table) == []
    assert not {key for key in table if isinstance(key, enumeration)} - set(enumeration)


def test_every_quantizer_is_made_for_every_kind():
    from mxcast.hdl.encode.quantizers import QUANTIZERS

    assert set(QUANTIZERS) == {(quantizer, kind) for quantizer in Quantizer for kind in Kind}


def test_every_lane_is_made():
    from mxcast.hdl.decode.block import FORMS

    assert set(FORMS) == set(Lane)


def test_a_planted_rule_is_missed_everywhere():
    """A member without entries: each table of its enumeration is named."""

    class Planted(StrEnum):
        NEW = "new"

    for _, name in CASES:
        package, _, table = name.rpartition(".")
        table = getattr(import_module(f"mxcast.{package}"), table)
        assert missing([Planted.NEW], name, table) == [f"{name}: no new"]


def test_a_removed_entry_is_missed():
    from mxcast.models.exact.scale import SCALE_RULES

    table = dict(SCALE_RULES)
    del table[ScaleRule.EVEN]
    assert missing([ScaleRule.EVEN], "models.exact.scale.SCALE_RULES", table) == [
        "models.exact.scale.SCALE_RULES: no even"
    ]


def test_every_rule_of_the_numerics_is_here():
    from mxcast.spec import RULES

    of_operations = RULES, DECODE_RULES, CAST_RULES, NVFP4_RULES, NVFP4_DECODE_RULES
    assert {rule for rules in of_operations for rule in rules.values()} <= {*TABLES, *ALONE}


def test_reasons_are_of_members_that_are_left_out():
    for (name, member), _ in REASONS.items():
        package, _, table = name.rpartition(".")
        assert member not in {str(key) for key in getattr(import_module(f"mxcast.{package}"), table)}
