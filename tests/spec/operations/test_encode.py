"""Rules, numerics, profiles and configurations: contents, names and refusals."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
import pickle
import re
import subprocess
import sys
from collections.abc import Iterator
from types import SimpleNamespace

import pytest

from mxcast.hdl import (
    CHOICES,
    DECODER_CHOICES,
    HADAMARD_CHOICES,
    NVFP4_CHOICES,
    AmaxKey,
    ConverterConfig,
    ConverterFields,
    Goal,
    Microarchitecture,
    MicroarchitectureFields,
    converter_config,
)
from mxcast.hdl.config.architecture import Interface
from mxcast.spec import (
    BF16,
    BLOCK_SIZES,
    BLOCKS,
    CAST_RULES,
    DECODE_RULES,
    FP32,
    NVFP4_RULES,
    OPERATIONS,
    OTHER_BLOCKS,
    PROFILES,
    RULES,
    SOURCES,
    TF32,
    ColumnOrder,
    Convention,
    Encode,
    EncodeFields,
    FixedFormat,
    FloatFormat,
    Negatives,
    Role,
    Rounding,
    Rule,
    ScaleRule,
    SpecialCodes,
    Specials,
    numerics,
    profile_of,
)
from mxcast.spec.layouts.catalogue import Packing, ScaleByte, ScaleOrder, ScalePlace
from mxcast.spec.layouts.scaled import Grain
from mxcast.spec.profiles.resolve import like
from mxcast.tensors.convert.not_finite import Cause
from mxcast.tensors.inspect.judging import Kind
from mxcast.tensors.layouts.experts import Experts

# ---- rules


def rules() -> list[type[Rule]]:
    return sorted(Rule.__subclasses__(), key=lambda rule: rule.__name__)


def test_the_rules_are_all_here():
    assert {rule.__name__ for rule in rules()} == {
        "Amax",
        "AmaxKey",
        "CastNan",
        "CastNegative",
        "CastOverflow",
        "CastRounding",
        "CastUnderflow",
        "Cause",
        "ColumnOrder",
        "Convention",
        "DecodedNan",
        "DecodedOverflow",
        "DecodedRounding",
        "DecodedZero",
        "EncodedZero",
        "Experts",
        "FourOverSix",
        "Goal",
        "Grain",
        "Interface",
        "Kind",
        "Lane",
        "NanSubstitute",
        "Negatives",
        "Order",
        "Overflow",
        "Packing",
        "Quantizer",
        "Role",
        "Rounding",
        "ScaleByte",
        "ScaleOrder",
        "ScalePlace",
        "ScaleReading",
        "ScaleRule",
        "SpecialCodes",
        "Specials",
        "Structure",
        "Subnormals",
        "Nvfp4Form",
        "HadamardForm",
    }
    others = {
        Cause,
        ColumnOrder,
        Convention,
        Experts,
        Goal,
        Grain,
        Interface,
        Kind,
        Negatives,
        Packing,
        Role,
        ScaleByte,
        ScaleOrder,
        ScalePlace,
        SpecialCodes,
    }
    tables = RULES, DECODE_RULES, CAST_RULES, NVFP4_RULES, CHOICES, DECODER_CHOICES, NVFP4_CHOICES, HADAMARD_CHOICES
    assert {rule for table in tables for rule in table.values()} == set(rules()) - others


@pytest.mark.parametrize("member", [m for rule in rules() for m in rule], ids=lambda m: f"{type(m).__name__}-{m}")
def test_every_rule_is_documented(member):
    assert len(member.__doc__) > 10 and member.__doc__ != type(member).__doc__
    assert "\n" not in member.__doc__  # printed in a table
    assert re.fullmatch(r"[a-z][a-z0-9_]*", member.value)  # typed on a command line
    assert str(member) == member.value == member
    assert type(member)(member.value) is member is pickle.loads(pickle.dumps(member))


@pytest.mark.parametrize("rule", [ScaleRule, Rounding, Specials])
def test_every_numeric_rule_has_a_source(rule):
    for member in rule:
        assert re.search(r"\([A-Za-z].*\)$", member.__doc__), f"{member} has no source at the end"


# ---- numerics


def test_defaults():
    written = Encode(block="e4m3").to_dict()
    assert {role: one["name"] for role, one in written.pop("formats").items()} == {
        "source": "fp32",
        "element": "e4m3",
        "scale": "e8m0",
    }
    assert written == {
        "operation": "encode",
        "block": "mxfp8_e4m3",
        "block_size": 32,
        "source": "fp32",
        "scale_rule": "floor",
        "rounding": "rne",
        "specials": "nan_block",
        "input_subnormals": "exact",
        "element_subnormals": "exact",
        "overflow": "saturate",
    }


@pytest.mark.parametrize("field", RULES)
def test_the_named_choices(field):
    """The default is the first one (numerics.md, section 0.1)."""
    names = [str(member) for member in RULES[field]]
    assert getattr(Encode(block="e4m3"), field) == names[0]
    assert [str(getattr(Encode(block="e4m3").replace(**{field: name}), field)) for name in names] == names


def test_names_and_members_are_the_same():
    by_name = Encode(block="int8", source="fp32", scale_rule="ceil", specials="drop")
    by_member = Encode(block=BLOCKS["mxint8"], source=FP32, scale_rule=ScaleRule.CEIL, specials=Specials.DROP)
    assert by_name == by_member and hash(by_name) == hash(by_member)
    assert by_name.scale_rule is ScaleRule.CEIL


E4M3B = BLOCKS["mxfp8_e4m3"]
FLOAT = {"name": "t", "exp_bits": 4, "man_bits": 3, "bias": 7, "specials": "none", "source": "a test"}
FIXED = {"name": "t", "bits": 8, "frac_bits": 6, "lowest": -127, "highest": 127, "source": "a test"}


def with_element(fields: dict):
    return dataclasses.replace(E4M3B, element=(FloatFormat if "exp_bits" in fields else FixedFormat)(**fields))


@pytest.mark.parametrize(
    "fields, sentence",
    [
        ({"block": "f4m3"}, "unknown format 'f4m3': did you mean 'e4m3'?"),
        ({"scale_rule": "flor"}, "unknown scale_rule 'flor': did you mean 'floor'?"),
        ({"scale_rule": "rfloor"}, "unknown scale_rule 'rfloor': did you mean 'floor'?"),
        ({"rounding": "rnee"}, "unknown rounding 'rnee': did you mean 'rne'?"),
        ({"specials": "nan"}, "unknown specials 'nan': did you mean 'nan_block'?"),
        ({"specials": "na"}, "unknown specials 'na': known are nan_block, te, inf_scale, drop"),
        ({"input_subnormals": "flushed"}, "unknown input_subnormals 'flushed': did you mean 'flush'?"),
        ({"element_subnormals": "exakt"}, "unknown element_subnormals 'exakt': did you mean 'exact'?"),
        ({"overflow": "saturated"}, "unknown overflow 'saturated': did you mean 'saturate'?"),
        ({"overflow": None}, "unknown overflow None: known are saturate"),
        ({"source": dataclasses.replace(BF16, name="bf17", man_bits=8)}, "source must be fp32, bf16 or fp16, not bf17"),
        ({"source": "fp23"}, "unknown source 'fp23': did you mean 'fp32'?"),
        ({"source": TF32}, "source must be fp32, bf16 or fp16, not tf32"),
        ({"source": "tf32"}, "unknown source 'tf32': did you mean 'fp32'?"),
        ({"block": "nvfp4"}, "nvfp4 has the scale format e4m3: encode takes only E8M0 scales"),
        ({"block": "fp4_ue5m3"}, "fp4_ue5m3 has the scale format ue5m3: encode takes only E8M0 scales"),
        ({"block": "mx9"}, "mx9 has a second scale within a block: encode takes only E8M0 scales"),
        (
            {
                "block": dataclasses.replace(
                    BLOCKS["mxfp4_e2m1"], name="mine", tensor_scale=OTHER_BLOCKS["nvfp4"].tensor_scale
                )
            },
            "mine has a scale of the whole tensor: encode takes only E8M0 scales",
        ),
        *(
            ({"block": E4M3B.resized(size)}, f"block_size must be a power of two from 2 to 128, not {size!r}")
            for size in (1, 12, 256)
        ),
        (
            {"block": dataclasses.replace(E4M3B, shape=(2, 16))},
            "block_size must be a power of two from 2 to 128, not 32",
        ),  # along one axis
        (
            {"block": with_element(FLOAT | {"name": "E4M3"})},  # a part of module and file names
            "an element format's name must be lower-case letters, digits and underscores, not 'E4M3'",
        ),
        (
            {"block": dataclasses.replace(E4M3B, element=FP32)},  # what FP32 converters are made for
            "an element must have 1 to 5 exponent bits and 0 to 10 fraction bits, unlike fp32",
        ),
        (
            {"block": with_element(FLOAT | {"man_bits": 11})},
            "an element must have 1 to 5 exponent bits and 0 to 10 fraction bits, unlike t",
        ),
        ({"block": with_element(FLOAT | {"bias": -1})}, "the bias of an element must not be negative, not -1"),
        (
            {"block": with_element(FLOAT | {"bias": 16})},  # largest 1.875 * 2**-1
            "the largest t must be at least 1, so that no scale of FP32 data is out of range",
        ),
        ({"block": with_element(FLOAT | {"signed": False})}, "an element must have a sign and subnormals, unlike t"),
        (
            {"block": with_element(FLOAT | {"subnormals": False})},
            "an element must have a sign and subnormals, unlike t",
        ),
        (
            {"block": with_element(FIXED | {"frac_bits": 7})},  # largest 127/128
            "the largest t must be at least 1, so that no scale of FP32 data is out of range",
        ),
        (
            {"block": with_element(FIXED | {"lowest": -128})},
            "a fixed-point element must be two's complement from -127 to 127, unlike t",
        ),
        (
            {"block": with_element(FIXED | {"negatives": "sign_magnitude"})},
            "a fixed-point element must be two's complement from -127 to 127, unlike t",
        ),
        *(
            ({"rounding": "sr", "random_bits": bits}, f"random_bits must be 1 to 16, not {bits!r}")
            for bits in (17, -1, True, 8.0, "8")
        ),
        *(
            ({"rounding": rounding, "random_bits": 8}, f"random_bits are for the rounding sr, not for {rounding}")
            for rounding in Rounding
            if rounding is not Rounding.SR
        ),
    ],
)
def test_impossible_numerics(fields, sentence):
    with pytest.raises(ValueError) as error:
        Encode(**{"block": "e4m3"} | fields)
    assert str(error.value) == sentence


def test_block_is_asked_for():
    with pytest.raises(TypeError, match="block"):
        Encode()


def test_replace():
    old = Encode(block="e4m3")
    new = old.replace(scale_rule="ceil", block="int8", block_size=32)
    assert (new.block.name, new.scale_rule, old.scale_rule) == ("mxint8", "ceil", "floor")
    assert (
        old.replace(block_size=64).block_size == 64
        and old.replace(block_size=64).replace(block="int8").block_size == 32
    )
    with pytest.raises(ValueError, match="^block_size must be a power of two from 2 to 128, not 48$"):
        old.replace(block_size=48)


def test_random_bits_come_and_go_with_the_rounding():
    assert Encode(block="e4m3", rounding="sr").random_bits == 8
    sr = Encode(block="e4m3").replace(rounding="sr", random_bits=5)
    assert (sr.random_bits, sr.replace(scale_rule="ceil").random_bits, sr.replace(rounding="sr").random_bits) == (
        5,
        5,
        5,
    )
    assert sr.replace(rounding="rne") == Encode(block="e4m3")
    assert [Encode(block="e4m3", rounding="sr", random_bits=bits).random_bits for bits in (1, 16)] == [1, 16]
    assert sr.to_dict()["random_bits"] == 5 and "random_bits" not in Encode(block="e4m3").to_dict()


@pytest.mark.parametrize(
    "made",
    [
        numerics("e3m3", "te", source="fp16", block_size=2),
        numerics("int12", "gorodecky_sousa", source="bf16", input_subnormals="flush"),
        numerics("e2m1", rounding="sr", random_bits=3, block_size=128),
        numerics(FloatFormat(name="mine", exp_bits=4, man_bits=3, bias=11, specials="ieee", source="a test"), "nvidia"),
        numerics(
            FixedFormat(name="q3_4", bits=8, frac_bits=4, lowest=-127, highest=127, source="a test"), scale_rule="even"
        ),
    ],
    ids=lambda made: made.block.short_name,
)
def test_what_is_written_is_read(made):
    assert Encode.from_dict(json.loads(json.dumps(made.to_dict()))) == made


@pytest.mark.parametrize(
    "fields, kind, sentence",
    [
        ({}, ValueError, "numerics must have a block"),
        ({"block": "e4m3", "element": [1]}, TypeError, "a format must have fields by name, not [1]"),
        (
            {"block": "e4m3", "element": {"bits": 8}},
            ValueError,
            "a fixed format has the fields name, bits, frac_bits, lowest, highest, source, negatives, not ['bits']",
        ),
        ({"block": "e4m3", "formats": []}, TypeError, "formats must be fields by role, not []"),
        (
            {"block": "e4m3", "formats": {"element": {"kind": "code"}}},
            ValueError,
            "unknown kind of number format 'code': known are float, fixed",
        ),
        (
            {"block": "e4m3", "formats": {"element": {"kind": "fixed", "name": "q", "bits": 8}}},
            ValueError,
            "frac_bits of the fixed format 'q' is missing",
        ),
    ],
)
def test_what_was_not_written_is_not_read(fields, kind, sentence):
    with pytest.raises(kind) as error:
        Encode.from_dict(fields)
    assert str(error.value) == sentence


# ---- profiles


# numerics.md, section 0.1: rules of profiles other than rne, nan_block and exact subnormals of FP32 numbers
@pytest.mark.parametrize(
    "name, rules",
    [
        ("ocp", {"scale_rule": "floor"}),
        ("nvidia", {"scale_rule": "ceil"}),
        ("te", {"scale_rule": "rceil", "specials": "te"}),
        ("torchao_floor", {"scale_rule": "floor"}),
        ("torchao_rceil", {"scale_rule": "rceil"}),
        ("torchao_ceil", {"scale_rule": "pow2_ceil"}),
        ("torchao_even", {"scale_rule": "even"}),
        ("microxcaling", {"scale_rule": "floor"}),
        ("samson", {"scale_rule": "floor", "source": "bf16"}),
        (
            "gorodecky_sousa",
            {
                "scale_rule": "bias_floor",
                "rounding": "guard_half_up",
                "specials": "drop",
                "element_subnormals": "flush",
            },
        ),
    ],
)
@pytest.mark.parametrize("block", [*BLOCKS, "mxfp7_e3m3"])
def test_profiles(block, name, rules):
    check_profile(block, name, rules)


# docs/numerics.md, table of profiles, from the sources of the libraries
RNZ, PLUS = {"rounding": "rnz"}, {"zero": "positive"}


@pytest.mark.parametrize(
    "block, name, rules",
    [
        ("mxfp4_e2m1", "compressed_tensors", {"scale_rule": "even", "zero": "taken_positive"}),
        ("mxfp6_e2m3", "compressed_tensors", {"scale_rule": "even"}),
        ("mxfp8_e4m3", "compressed_tensors", {"scale_rule": "even1", "zero": "taken_positive"}),
        ("mxfp4_e2m1", "mlx", {"scale_rule": "rceil"} | RNZ | PLUS),
        ("mxfp8_e4m3", "mlx", {"scale_rule": "rceil"}),
        ("mxfp4_e2m1", "mlx_round", {"scale_rule": "round_log2"} | RNZ | PLUS),
        ("mxfp8_e4m3", "mlx_round", {"scale_rule": "round_log2"}),
        ("mxfp4_e2m1", "modelopt", {"scale_rule": "ceil", "zero": "taken_negative"} | RNZ),
        ("mxfp8_e4m3", "modelopt", {"scale_rule": "ceil", "specials": "te"}),
        ("mxfp4_e2m1", "ggml", {"scale_rule": "floor"} | RNZ | PLUS),
        ("mxfp8_e5m2", "quark", {"scale_rule": "even"}),
        ("mxfp8_e4m3", "quark", {"scale_rule": "even"}),
        *((block, "quark", {"scale_rule": "even"} | PLUS) for block in ("mxfp6_e3m2", "mxfp6_e2m3", "mxfp4_e2m1")),
    ],
)
def test_profiles_of_some_formats(block, name, rules):
    check_profile(block, name, rules)


@pytest.mark.parametrize(
    "format, name, sentence",
    [
        ("e5m2", "mlx", "mlx has no blocks of e5m2: it has e2m1, e4m3"),
        ("int8", "quark", "quark has no blocks of int8: it has e3m2, e2m3, e2m1, e5m2, e4m3"),
        ("e4m3", "ggml", "ggml has no blocks of e4m3: it has e2m1"),
    ],
)
def test_a_profile_has_the_formats_of_its_library(format, name, sentence):
    with pytest.raises(ValueError) as error:
        numerics(format, name)
    assert str(error.value) == sentence
    assert like(numerics(format), name) is None


def check_profile(block: str, name: str, rules: dict[str, str]) -> None:
    usual = {
        "operation": "encode",
        "block": block,
        "block_size": 32,
        "source": "fp32",
        "rounding": "rne",
        "specials": "nan_block",
        "overflow": "saturate",
        "input_subnormals": "exact",
        "element_subnormals": "exact",
    }
    written = numerics(block, name).to_dict()
    written.pop("formats")
    assert written == usual | rules


def test_every_profile_is_dated_and_sourced():
    assert list(PROFILES) == [
        "ocp",
        "nvidia",
        "te",
        "torchao_floor",
        "torchao_rceil",
        "torchao_ceil",
        "torchao_even",
        "microxcaling",
        "samson",
        "gorodecky_sousa",
        "compressed_tensors",
        "mlx",
        "mlx_round",
        "modelopt",
        "ggml",
        "quark",
    ]  # a new one needs a row above
    for name, profile in PROFILES.items():
        assert profile.name == name
        assert re.fullmatch(r"20\d\d-\d\d", profile.date) and len(profile.source) > 10
        rules = (profile.rules, *(own for _, own in profile.by_element))
        assert {field for one in rules for field, _ in one} <= {*RULES, "source"}
        assert {element for element, _ in profile.by_element} <= {block.short_name for block in BLOCKS.values()}


@pytest.mark.parametrize(
    "rules, preferred, profile",
    [
        ({}, None, "ocp"),
        ({}, "torchao_floor", "torchao_floor"),  # whose rules are the same
        ({}, "nvidia", "ocp"),  # whose rules are not
        ({"scale_rule": "rceil"}, None, "torchao_rceil"),
        ({"scale_rule": "rceil", "specials": "te"}, None, "te"),
        ({"source": "bf16"}, None, "samson"),
        ({"block_size": 16}, None, "ocp"),  # a profile is for any block format
        ({"rounding": "rtz"}, "ocp", None),
    ],
)
def test_the_profile_of_rules(rules, preferred, profile):
    assert profile_of(numerics("e4m3", **rules), preferred) == profile


def test_overrides_go_over_the_profile():
    assert numerics("e4m3", "nvidia", scale_rule="floor") == numerics("e4m3", "ocp")


def test_the_fields_by_name_are_those_of_the_values():
    def fields(kind: type) -> set[str]:
        return {field.name for field in dataclasses.fields(kind)}

    assert EncodeFields.__annotations__.keys() == fields(Encode) - {"block"} | {"block_size"}
    assert MicroarchitectureFields.__annotations__.keys() == fields(Microarchitecture)
    assert (
        ConverterFields.__annotations__.keys()
        == EncodeFields.__annotations__.keys() | MicroarchitectureFields.__annotations__.keys() | {"optimize", "target"}
    )


def test_unknown_profile():
    with pytest.raises(ValueError) as error:
        numerics("e4m3", "nvida")
    assert str(error.value) == "unknown profile 'nvida': did you mean 'nvidia'?"


# ---- configurations


def test_converter_config_sorts_the_overrides():
    made = converter_config("e4m3", "nvidia", amax_key="magnitude", specials="inf_scale")
    assert made == ConverterConfig(
        numerics=numerics("e4m3", "nvidia", specials="inf_scale"),
        microarchitecture=Microarchitecture(amax_key=AmaxKey.MAGNITUDE),
        profile="nvidia",
    )
    assert converter_config(made) is made


@pytest.mark.parametrize(
    "fields, kind, sentence",
    [
        ({"scale_rul": "ceil"}, ValueError, "unknown field 'scale_rul': did you mean 'scale_rule'?"),
        ({"amaxkey": "reduced"}, ValueError, "unknown field 'amaxkey': did you mean 'amax_key'?"),
        ({"amax_key": "magnitud"}, ValueError, "unknown amax_key 'magnitud': did you mean 'magnitude'?"),
        ({"block_size": 24}, ValueError, "block_size must be a power of two from 2 to 128, not 24"),
        (
            {"block_size": 10**5000},
            ValueError,
            "block_size must be a power of two from 2 to 128, not a number of 16610 bits",
        ),
        (
            {"profile": "o" * 100},
            ValueError,
            f"unknown profile '{'o' * 60}...': known are ocp, nvidia, te, torchao_floor, torchao_rceil, "
            "torchao_ceil, torchao_even, microxcaling, samson, gorodecky_sousa, compressed_tensors, mlx, mlx_round, "
            "modelopt, ggml, quark",
        ),
        (
            {"registered_after": [10**5000]},
            TypeError,
            "registered_after must be names of stage boundaries, not a value too long to repeat",
        ),
        ({"profile": "ocpp"}, ValueError, "unknown profile 'ocpp': did you mean 'ocp'?"),
        ({"scale_rule": "floor,cell"}, ValueError, "unknown scale_rule 'cell': did you mean 'ceil'?"),
        ({"scale_rule": "floor,"}, ValueError, f"unknown scale_rule '': known are {', '.join(ScaleRule)}"),
        ({"scale_rule": "floor,floor"}, ValueError, "the modes of a converter must differ from each other"),
        (
            {"rounding": "rne,rtz"},
            ValueError,
            "unknown rounding 'rne,rtz': did you mean 'rtz'?",
        ),  # no mode differs in it
    ],
)
def test_impossible_configurations(fields, kind, sentence):
    with pytest.raises(kind) as error:
        converter_config("e4m3", **fields)
    assert str(error.value) == sentence


@pytest.mark.parametrize(
    "arguments, fields",
    [
        ((), {"scale_rule": "ceil"}),
        (("nvidia",), {}),  # said, and would be dropped
    ],
)
def test_a_configuration_is_complete(arguments, fields):
    with pytest.raises(TypeError):
        converter_config(converter_config("e4m3"), *arguments, **fields)


def test_a_configuration_of_another_operation(monkeypatch):
    monkeypatch.setitem(OPERATIONS, "other", SimpleNamespace(from_dict=lambda fields: SimpleNamespace(name="other")))
    with pytest.raises(ValueError, match="^the operation of an encoder must be encode, not other$"):
        ConverterConfig.from_dict({"numerics": {"operation": "other"}, "microarchitecture": {}})


# ---- modes


@pytest.mark.parametrize(
    "block, fields, modes",
    [
        ("e4m3", {"scale_rule": "floor"}, ["e4m3 floor"]),
        ("e4m3", {"scale_rule": "floor, ceil"}, ["e4m3 floor", "e4m3 ceil"]),
        ("e4m3", {"scale_rule": ["ceil", "floor"]}, ["e4m3 ceil", "e4m3 floor"]),  # the first named is mode 0
        ("e4m3", {"scale_rule": (ScaleRule.EVEN, "rceil")}, ["e4m3 even", "e4m3 rceil"]),
        ("e5m2,int8,e4m3", {}, ["e5m2 floor", "int8 floor", "e4m3 floor"]),
        (
            ["e3m2", "e2m3"],
            {"scale_rule": "floor,ceil", "block_size": 16},
            ["e3m2 floor", "e3m2 ceil", "e2m3 floor", "e2m3 ceil"],
        ),
        ("mxfp4_e2m1,e1m2,int4", {}, ["e2m1 floor", "e1m2 floor", "int4 floor"]),
    ],
)
def test_modes(block, fields, modes):
    made = converter_config(block, **fields)
    assert [f"{mode.block.short_name} {mode.scale_rule}" for mode in made.modes] == modes
    assert made.modes == (made.numerics, *made.alternatives)
    assert {mode.block_size for mode in made.modes} == {fields.get("block_size", 32)}
    assert made.mode_bits == next(bits for bits in range(9) if 2**bits >= len(modes))
    assert ConverterConfig.from_dict(json.loads(json.dumps(made.to_dict()))) == made


def test_the_profile_of_modes_is_the_one_that_all_have():
    assert converter_config("e4m3,e5m2", "nvidia").profile == "nvidia"
    assert converter_config("e4m3", "nvidia", scale_rule="floor,ceil").profile is None
    assert converter_config("e4m3", "torchao_floor").profile == "torchao_floor"


@pytest.mark.parametrize(
    "other, sentence",
    [
        (
            numerics("e2m1"),
            "the element formats of one converter must have the same width, not 8 bits (e4m3) and 4 (e2m1)",
        ),
        (numerics("e4m3"), "the modes of a converter must differ from each other"),
        *(
            (numerics("e5m2", **fields), "the modes of one converter may differ in scale_rule and element format only")
            for fields in (
                {"rounding": "rtz"},
                {"specials": "te"},
                {"source": "bf16"},
                {"block_size": 16},
                {"input_subnormals": "flush"},
                {"element_subnormals": "flush"},
            )
        ),
    ],
)
def test_impossible_modes(other, sentence):
    with pytest.raises(ValueError) as error:
        ConverterConfig(numerics=numerics("e4m3"), alternatives=(other,))
    assert str(error.value) == sentence


@pytest.mark.parametrize(
    "made",
    [numerics("e4m3"), Microarchitecture(), converter_config("e4m3"), converter_config("e4m3,e5m2")],
    ids=lambda m: type(m).__name__,
)
def test_frozen_and_hashable(made):
    same = dataclasses.replace(made)
    assert same == made and hash(same) == hash(made) and same is not made
    assert pickle.loads(pickle.dumps(made)) == made  # travels to worker processes
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(made, dataclasses.fields(made)[0].name, None)


@pytest.mark.parametrize("kind", [Encode, Microarchitecture, ConverterConfig])
def test_keyword_only(kind):
    with pytest.raises(TypeError, match="positional"):
        kind("e4m3")


# ---- config_id


def variants() -> Iterator[tuple[str, ConverterConfig]]:
    """A configuration, and others that differ from it in one value of one field."""
    plain = converter_config("e4m3")
    yield "plain", plain
    for block in set(BLOCKS) - {"mxfp8_e4m3"}:
        yield f"block={block}", converter_config(block)
    for field, rule in {**RULES, **CHOICES}.items():
        old = getattr(plain.microarchitecture if field in CHOICES else plain.numerics, field)
        for member in set(rule) - {old}:
            yield f"{field}={member}", converter_config("e4m3", **{field: member})
    for source in set(SOURCES) - {"fp32"}:
        yield f"source={source}", converter_config("e4m3", source=source)
    for size in set(BLOCK_SIZES) - {32}:
        yield f"block_size={size}", converter_config("e4m3", block_size=size)
    yield "random_bits", converter_config("e4m3", rounding="sr", random_bits=7)
    own = FloatFormat(name="mine", exp_bits=4, man_bits=3, bias=11, specials="nan_only", source="a test")
    yield "bias", converter_config(own)
    yield "modes", converter_config("e4m3", scale_rule="floor,ceil")
    yield "modes in another order", converter_config("e4m3", scale_rule="ceil,floor")


def test_config_id_tells_every_field():
    made = dict(variants())
    # blocks, then the other members of every enumeration, sources, block sizes and the last four
    assert len(made) == 1 + 5 + sum(len(rule) - 1 for rule in (*RULES.values(), *CHOICES.values())) + 2 + 6 + 4
    assert len({config.config_id for config in made.values()}) == len(made)


def test_config_id_is_the_hash_of_the_canonical_json():
    config = converter_config("e2m1", "nvidia")
    text = json.dumps(
        {
            "numerics": {
                "block": "mxfp4_e2m1",
                "block_size": 32,
                "source": "fp32",
                "scale_rule": "ceil",
                "rounding": "rne",
                "specials": "nan_block",
                "input_subnormals": "exact",
                "element_subnormals": "exact",
                "overflow": "saturate",
            },
            "microarchitecture": {"amax_key": "reduced"},
        },
        sort_keys=True,
        separators=(",", ":"),
    )
    assert config.config_id == hashlib.sha256(text.encode()).hexdigest()[:8]


def test_config_id_leaves_the_profile_out():
    """The bits are the identity, not the road to them."""
    assert converter_config("e4m3", "nvidia", scale_rule="floor").config_id == converter_config("e4m3", "ocp").config_id


def test_config_id_is_the_same_in_every_process():
    script = (
        "from mxcast.hdl import converter_config\nfrom mxcast.spec import BLOCKS, PROFILES, numerics\n"
        "from mxcast.spec.profiles.resolve import like\n"
        "print(*(converter_config(b, p).config_id for b in BLOCKS for p in PROFILES if like(numerics(b), p)))"
    )
    printed = {
        subprocess.run(
            [sys.executable, "-c", script],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2", "random")
    }
    pairs = [(b, p) for b in BLOCKS for p in PROFILES if like(numerics(b), p)]
    assert printed == {" ".join(converter_config(*pair).config_id for pair in pairs) + "\n"}
    # of every format eight have rules of their own; of some compressed_tensors (2), mlx (1), mlx_round (2), modelopt
    # (2), ggml (1) and quark (3)
    own = len(BLOCKS) * 8 + 2 + 1 + 2 + 2 + 1 + 3
    assert len(set(printed.pop().split())) == len({numerics(*pair) for pair in pairs}) == own


def test_spec_imports_nothing_heavy():
    script = "import sys, mxcast.spec; print([m for m in ('numpy', 'amaranth', 'typer') if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout == "[]\n"


@pytest.mark.parametrize("block", ["E4M3", "MXFP8_E4M3", "mxfp8_E4m3"])
def test_names_may_be_in_capitals(block):
    written = numerics(block, "NVIDIA", rounding="RNA", source="BF16")
    assert written == numerics("e4m3", "nvidia", rounding="rna", source="bf16")
    assert written.block.name == "mxfp8_e4m3" and profile_of(numerics("e4m3"), "OCP") == "ocp"
    assert numerics("E3M4_IEEE").block.name == "mxfp8_e3m4_ieee"


def test_the_class_of_version_0_1_has_a_new_name():
    """An old script works, with a warning."""
    with pytest.warns(FutureWarning, match="^mxcast.spec.Numerics is called Encode now$"):
        from mxcast.spec import Numerics
    assert Numerics is Encode
    with pytest.raises(ImportError, match="Numeric"):
        from mxcast.spec import Numeric  # noqa: F401
