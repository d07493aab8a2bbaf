"""Rules, numerics, profiles and configurations: what they hold, refuse and are called."""

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

import pytest

from mxcast.spec import (BF16, BLOCKS, FP32, PROFILES, RULES, AmaxKey, ConverterConfig, Microarchitecture, Numerics, Rounding, Rule,
                         ScaleRule, SpecialCodes, Specials, converter_config, numerics)


# ---- rules

def rules() -> list[type[Rule]]:
    return sorted(Rule.__subclasses__(), key=lambda rule: rule.__name__)


def test_the_rules_are_all_here():
    assert {rule.__name__ for rule in rules()} == {
        "AmaxKey", "Overflow", "Rounding", "ScaleRule", "SpecialCodes", "Specials", "Subnormals"}
    assert set(RULES.values()) == set(rules()) - {AmaxKey, SpecialCodes}


@pytest.mark.parametrize("member", [m for rule in rules() for m in rule], ids=lambda m: f"{type(m).__name__}-{m}")
def test_every_rule_is_documented(member):
    assert len(member.__doc__) > 10 and member.__doc__ != type(member).__doc__
    assert "\n" not in member.__doc__                       # printed in a table
    assert re.fullmatch(r"[a-z][a-z0-9_]*", member.value)   # typed on a command line
    assert str(member) == member.value == member
    assert type(member)(member.value) is member is pickle.loads(pickle.dumps(member))


@pytest.mark.parametrize("rule", [ScaleRule, Rounding, Specials])
def test_every_numeric_rule_has_a_source(rule):
    for member in rule:
        assert re.search(r"\((OCP|NVIDIA|Gorodecky|torchao)", member.__doc__), f"{member} has no source"


# ---- numerics

def test_defaults():
    assert Numerics(block="e4m3").to_dict() == {
        "block": "mxfp8_e4m3", "block_size": 32, "source": "fp32", "scale_rule": "floor", "rounding": "rne",
        "specials": "nan_block", "input_subnormals": "exact", "element_subnormals": "exact", "overflow": "saturate"}


def test_names_and_members_are_the_same():
    by_name = Numerics(block="int8", source="fp32", scale_rule="ceil", specials="drop")
    by_member = Numerics(block=BLOCKS["mxint8"], source=FP32, scale_rule=ScaleRule.CEIL, specials=Specials.DROP)
    assert by_name == by_member and hash(by_name) == hash(by_member)
    assert by_name.scale_rule is ScaleRule.CEIL


@pytest.mark.parametrize("fields, sentence", [
    ({"block": "e4m4"}, "unknown format 'e4m4': did you mean 'e4m3'?"),
    ({"scale_rule": "flor"}, "unknown scale_rule 'flor': did you mean 'floor'?"),
    ({"scale_rule": "rceil"}, "unknown scale_rule 'rceil': did you mean 'ceil'?"),
    ({"rounding": "rnee"}, "unknown rounding 'rnee': did you mean 'rne'?"),
    ({"specials": "nan"}, "unknown specials 'nan': known are nan_block, inf_scale, drop"),
    ({"input_subnormals": "flushed"}, "unknown input_subnormals 'flushed': did you mean 'flush'?"),
    ({"element_subnormals": "exakt"}, "unknown element_subnormals 'exakt': did you mean 'exact'?"),
    ({"overflow": "saturated"}, "unknown overflow 'saturated': did you mean 'saturate'?"),
    ({"overflow": None}, "unknown overflow None: known are saturate"),
    ({"source": "bf16"}, "source must be fp32, not bf16"),                     # a known format that nothing converts from yet
    ({"source": BF16}, "source must be fp32, not bf16"),
    ({"source": "fp23"}, "unknown source 'fp23': did you mean 'fp32'?"),
])
def test_impossible_numerics(fields, sentence):
    with pytest.raises(ValueError) as error:
        Numerics(**{"block": "e4m3"} | fields)
    assert str(error.value) == sentence


def test_block_is_asked_for():
    with pytest.raises(TypeError, match="block"):
        Numerics()


def test_replace():
    old = Numerics(block="e4m3")
    new = old.replace(scale_rule="ceil", block="int8", block_size=32)
    assert (new.block.name, new.scale_rule, old.scale_rule) == ("mxint8", "ceil", "floor")
    with pytest.raises(ValueError, match="^block_size must be 32, not 64$"):
        old.replace(block_size=64)


# ---- profiles

# numerics.md, section 0.1
@pytest.mark.parametrize("name, rules", [
    ("ocp", {"scale_rule": "floor", "rounding": "rne", "specials": "nan_block",
             "input_subnormals": "exact", "element_subnormals": "exact", "overflow": "saturate"}),
    ("nvidia", {"scale_rule": "ceil", "rounding": "rne", "specials": "nan_block",
                "input_subnormals": "exact", "element_subnormals": "exact", "overflow": "saturate"}),
    ("gorodecky_sousa", {"scale_rule": "bias_floor", "rounding": "guard_half_up", "specials": "drop",
                         "input_subnormals": "exact", "element_subnormals": "flush", "overflow": "saturate"}),
])
@pytest.mark.parametrize("block", BLOCKS)
def test_profiles(block, name, rules):
    made = numerics(block, name)
    assert {field: str(getattr(made, field)) for field in RULES} == rules
    assert made.block == BLOCKS[block] and made.source is FP32


def test_every_profile_is_dated_and_sourced():
    assert list(PROFILES) == ["ocp", "nvidia", "gorodecky_sousa"]  # a new one needs a row above
    for name, profile in PROFILES.items():
        assert profile.name == name
        assert re.fullmatch(r"20\d\d-\d\d", profile.date) and len(profile.source) > 10
        assert {field for field, _ in profile.rules} <= set(RULES)


def test_overrides_go_over_the_profile():
    assert numerics("e4m3", "nvidia", scale_rule="floor") == numerics("e4m3", "ocp")


def test_unknown_profile():
    with pytest.raises(ValueError) as error:
        numerics("e4m3", "nvida")
    assert str(error.value) == "unknown profile 'nvida': did you mean 'nvidia'?"


# ---- configurations

def test_converter_config_sorts_the_overrides():
    made = converter_config("e4m3", "nvidia", amax_key="magnitude", specials="inf_scale")
    assert made == ConverterConfig(numerics=numerics("e4m3", "nvidia", specials="inf_scale"),
                                   microarchitecture=Microarchitecture(amax_key=AmaxKey.MAGNITUDE), profile="nvidia")
    assert converter_config(made) is made


@pytest.mark.parametrize("fields, kind, sentence", [
    ({"scale_rul": "ceil"}, ValueError, "unknown field 'scale_rul': did you mean 'scale_rule'?"),
    ({"amaxkey": "reduced"}, ValueError, "unknown field 'amaxkey': did you mean 'amax_key'?"),
    ({"amax_key": "magnitud"}, ValueError, "unknown amax_key 'magnitud': did you mean 'magnitude'?"),
    ({"block_size": 16}, ValueError, "block_size must be 32, not 16"),
    ({"profile": "ocpp"}, ValueError, "unknown profile 'ocpp': did you mean 'ocp'?"),
])
def test_impossible_configurations(fields, kind, sentence):
    with pytest.raises(kind) as error:
        converter_config("e4m3", **fields)
    assert str(error.value) == sentence


@pytest.mark.parametrize("arguments, fields", [
    ((), {"scale_rule": "ceil"}),
    (("nvidia",), {}),                # said, and would be dropped
])
def test_a_configuration_is_complete(arguments, fields):
    with pytest.raises(TypeError):
        converter_config(converter_config("e4m3"), *arguments, **fields)


@pytest.mark.parametrize("made", [numerics("e4m3"), Microarchitecture(), converter_config("e4m3")], ids=lambda m: type(m).__name__)
def test_frozen_and_hashable(made):
    same = dataclasses.replace(made)
    assert same == made and hash(same) == hash(made) and same is not made
    assert pickle.loads(pickle.dumps(made)) == made  # travels to worker processes
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(made, dataclasses.fields(made)[0].name, None)


@pytest.mark.parametrize("kind", [Numerics, Microarchitecture, ConverterConfig])
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
    for field, rule in {**RULES, "amax_key": AmaxKey}.items():
        old = getattr(plain.microarchitecture if field == "amax_key" else plain.numerics, field)
        for member in set(rule) - {old}:
            yield f"{field}={member}", converter_config("e4m3", **{field: member})


def test_config_id_tells_every_field():
    made = dict(variants())
    assert len(made) == 1 + 5 + 2 + 1 + 2 + 1 + 1 + 0 + 1  # blocks, then the rules in their order, then amax_key
    assert len({config.config_id for config in made.values()}) == len(made)


def test_config_id_is_the_hash_of_the_canonical_json():
    config = converter_config("e2m1", "nvidia")
    text = json.dumps({"numerics": {"block": "mxfp4_e2m1", "block_size": 32, "source": "fp32", "scale_rule": "ceil", "rounding": "rne",
                                    "specials": "nan_block", "input_subnormals": "exact", "element_subnormals": "exact",
                                    "overflow": "saturate"}, "microarchitecture": {"amax_key": "reduced"}},
                      sort_keys=True, separators=(",", ":"))
    assert config.config_id == hashlib.sha256(text.encode()).hexdigest()[:8]


def test_config_id_leaves_the_profile_out():
    """The bits are the identity, not the road to them."""
    assert converter_config("e4m3", "nvidia", scale_rule="floor").config_id == converter_config("e4m3", "ocp").config_id


def test_config_id_is_the_same_in_every_process():
    script = ("from mxcast.spec import BLOCKS, PROFILES, converter_config\n"
              "print(*(converter_config(b, p).config_id for b in BLOCKS for p in PROFILES))")
    printed = {subprocess.run([sys.executable, "-c", script], env={**os.environ, "PYTHONHASHSEED": seed}, capture_output=True,
                              text=True, check=True).stdout for seed in ("1", "2", "random")}
    assert printed == {" ".join(converter_config(b, p).config_id for b in BLOCKS for p in PROFILES) + "\n"}
    assert len(set(printed.pop().split())) == len(BLOCKS) * len(PROFILES)


def test_spec_imports_nothing_heavy():
    script = "import sys, mxcast.spec; print([m for m in ('numpy', 'amaranth', 'typer') if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout == "[]\n"
