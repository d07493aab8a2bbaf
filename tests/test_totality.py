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
    TWO_LEVEL_DECODE_RULES,
    TWO_LEVEL_RULES,
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
from mxcast.spec.layouts import Packing, ScaleByte, ScaleOrder

TABLES = {
    Packing: {"models.packing": "PACKINGS", "spec.layouts": "PACKED_BITS"},
    ScaleByte: {"models.packing": "SCALE_BYTES"},
    ScaleOrder: {"models.packing": "ORDERS"},
    ScaleRule: {
        "models.exact": "SCALE_RULES",
        "models.scale": "SCALE_RULES",
        "models.bit_trace": "SCALE_RULES",
        "hdl.threshold": "LIMITS OFFSETS",
        "sim.stimuli.corners": "LAST_FRACTIONS",
        "sim.stimuli.boundary": "OTHER_FRACTIONS",
        "hdl.scale": "LEAVES_ABOVE",
        "hdl.operand": "ROUNDS_UP",
        "proof.specification": "LIMITS READS",
    },
    Rounding: {
        "models.exact": "ROUNDINGS",
        "models.bit_trace": "INCREMENTS",
        "models.rounding": "CORRECTIONS",
        "models.element": "FIXED_ROUNDINGS",
        "hdl.rounding": "ROUNDINGS",
        "proof.specification": "ADDED",
    },
    Specials: {
        "models.exact": "SPECIALS",
        "models.special": "SPECIALS",
        "models.explain": "DECISIVE REPLACED REMARKS",
        "hdl.operand": "FLAGS",
        "proof.specification": "FLAGS",
    },
    Kind: {
        "models.exact": "GUARD_HALF_UP",
        "models.element": "MAGNITUDES",
        "spec.names": "KINDS",
        "spec.block_operation": "ELEMENT_CHECKS",
        "hdl.element_decoder": "READERS",
    },
    Convention: {
        "models.exact": "CONVENTIONS",
        "models.two_level": "STORED",
        "models.exact_two_level_decode": "FACTORS",
        "models.two_level_decode": "FACTORS",
    },
    Order: {
        "spec.two_level": "TENSOR_SCALES",
        "models.exact_two_level": "ORDERS",
        "models.two_level": "ORDERS",
        "models.explain_two_level": "TRACES",
    },
    FourOverSix: {"models.exact_two_level": "POWERS", "models.two_level": "POWERS"},
    ScaleReading: {
        "models.exact_decode": "SCALE_READINGS",
        "models.decode": "READINGS",
        "models.explain_decode": "MEANINGS",
        "hdl.factor": "EXPONENTS FLAGS",
    },
    DecodedRounding: {"models.exact_decode": "ROUNDINGS", "models.decode": "ROUNDINGS"},
    DecodedOverflow: {
        "models.exact_decode": "OVERFLOWS",
        "models.decode": "OVERFLOWS",
        "models.explain_decode": "BEYOND",
        "hdl.decoded_word": "OVERFLOWS",
    },
    DecodedNan: {
        "models.exact_decode": "NANS",
        "models.decode": "NANS",
        "models.exact_two_level_decode": "NANS",
        "models.two_level_decode": "NANS",
        "hdl.element_decoder": "NANS",
        "hdl.decoded_word": "NANS",
    },
    DecodedZero: {"models.exact_decode": "ZEROS"},
    EncodedZero: {
        "models.exact": "ZEROS ROUNDED_TO_ZERO",
        "models.block": "TAKEN_FOR",
        "models.element": "SIGNS",
        "models.exact_cast": "ZEROS",
        "models.cast": "ZEROS",
        "hdl.operand": "ZEROS",
        "hdl.number_cast": "ZEROS",
        "proof.specification": "ZEROS SIGNS",
        "proof.cast_specification": "SIGNS",
    },
    CastRounding: {
        "models.explain_cast": "INCREMENTS",
        "models.exact_cast": "ROUNDINGS",
        "models.cast": "ROUNDINGS",
        "hdl.number_cast": "ROUNDINGS",
        "proof.cast_specification": "ADDED IS_REACHED",
    },
    CastOverflow: {
        "models.exact_cast": "OVERFLOWS",
        "models.cast": "OVERFLOWS",
        "hdl.number_cast": "OVERFLOWS",
        "proof.cast_specification": "OVERFLOWS",
    },
    CastNan: {"models.exact_cast": "NANS", "models.cast": "NANS", "hdl.number_cast": "NANS"},
    CastNegative: {"models.exact_cast": "NEGATIVES", "models.cast": "NEGATIVES", "hdl.number_cast": "NEGATIVES"},
    CastUnderflow: {"models.exact_cast": "UNDERFLOWS", "models.cast": "UNDERFLOWS", "hdl.number_cast": "UNDERFLOWS"},
    NanSubstitute: {"models.exact_cast": "SUBSTITUTES", "models.cast": "SUBSTITUTES", "hdl.number_cast": "SUBSTITUTES"},
}
"""By enumeration, the tables of each package."""

REASONS = {
    ("models.rounding.CORRECTIONS", "guard_half_up"): "is no correction of nearest even: a function of its own",
    ("models.exact_two_level.POWERS", "off"): "has no error",
    ("models.two_level.POWERS", "off"): "has no error",
    ("models.block.TAKEN_FOR", "signed"): "is not taken for anything else",
}
"""Members that a table leaves out."""

ALONE = {Subnormals: "two members: a package asks whether it is FLUSH", Overflow: "one member"}
"""Enumerations of `Encode` without tables."""


def missing(members: Iterable[StrEnum], name: str, table: Mapping) -> list[str]:
    """What is neither in a table nor has a reason not to be."""
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
    from mxcast.hdl.block import QUANTIZERS

    assert set(QUANTIZERS) == {(quantizer, kind) for quantizer in Quantizer for kind in Kind}


def test_every_lane_is_made():
    from mxcast.hdl.decoder import FORMS

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
    from mxcast.models.exact import SCALE_RULES

    table = dict(SCALE_RULES)
    del table[ScaleRule.EVEN]
    assert missing([ScaleRule.EVEN], "models.exact.SCALE_RULES", table) == ["models.exact.SCALE_RULES: no even"]


def test_every_rule_of_the_numerics_is_here():
    from mxcast.spec import RULES

    of_operations = RULES, DECODE_RULES, CAST_RULES, TWO_LEVEL_RULES, TWO_LEVEL_DECODE_RULES
    assert {rule for rules in of_operations for rule in rules.values()} <= {*TABLES, *ALONE}


def test_reasons_are_of_members_that_are_left_out():
    for (name, member), _ in REASONS.items():
        package, _, table = name.rpartition(".")
        assert member not in {str(key) for key in getattr(import_module(f"mxcast.{package}"), table)}
