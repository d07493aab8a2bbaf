"""The design in a folder: only `emit` with force replaces it, and then nothing of the old design remains."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

from mxcast.hdl import (
    cast_config,
    converter_config,
    decoder_config,
    default_name,
    describe,
    emit,
    emitted,
    hadamard_config,
    nvfp4_config,
    nvfp4_decoder_config,
    verilog,
)
from mxcast.hdl.emission.designs import design_in, design_of, refuse_another

HELD = converter_config("e2m1", "nvidia", block_size=2)
OTHER = converter_config("e2m1", "ocp", block_size=2)
SAME = converter_config("e2m1", "microxcaling", block_size=2)
"""The rules of `OTHER` under another name."""

CONFIGS = [
    HELD,
    converter_config("e4m3,e5m2", scale_rule="floor,ceil", block_size=2),
    converter_config("e2m1", rounding="sr", registered_after="scale", block_size=2),
    decoder_config("e5m2", "te", destination="bf16"),
    cast_config("ue8m0", "ptx", lanes=2),
    nvfp4_config("nvfp4", source="bf16"),
    nvfp4_decoder_config("nvfp4"),
    hadamard_config("hadamard16"),
]


def content(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def written(config, out: Path, name: str) -> Path:
    """The JSON of `emit` alone, from which the design of a folder is read."""
    path = out / name / "rtl" / f"{name}.json"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps(describe(config, name)))
    return path


@pytest.mark.parametrize("config", CONFIGS, ids=default_name)
def test_a_folder_says_which_configuration_it_holds(config, tmp_path):
    written(config, tmp_path, "top")
    assert design_of(tmp_path, "top") == config and design_of(tmp_path, "top").profile == config.profile
    refuse_another(tmp_path, "top", config)


@pytest.mark.parametrize("held, asked", [*zip(CONFIGS, CONFIGS[1:] + CONFIGS[:1])], ids=default_name)
def test_both_configurations_are_named(held, asked, tmp_path):
    written(held, tmp_path, "top")
    with pytest.raises(ValueError) as error:
        refuse_another(tmp_path, "top", asked)
    assert held.config_id in str(error.value) and asked.config_id in str(error.value) and "\n" not in str(error.value)


@pytest.fixture
def held(tmp_path) -> Path:
    """The folder of an emitted design, with evidence."""
    emit(HELD, tmp_path, "top", bench="module top_tb; endmodule\n", vendor="vivado")
    for file in ("proof/top/proof.json", "sim/icarus/log.txt", "mutants/x.smt2", "top-1234/proof/top/proof.json"):
        path = tmp_path / "top" / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("PASS")
    return tmp_path / "top"


ANOTHER = (
    "top holds mxfp4_e2m1 --profile nvidia --set block_size=2 ({}), and mxfp4_e2m1 --profile ocp --set block_size=2 "
    "({}) is asked for, with scale_rule floor instead of ceil: "
)


@pytest.mark.parametrize("function", [emit, emitted])
def test_another_configuration_is_refused(function, held):
    before = content(held)
    with pytest.raises(ValueError) as error:
        function(OTHER, held.parent, "top")
    said = ANOTHER.format(HELD.config_id, OTHER.config_id)
    assert said in str(error.value) and ("--force" in str(error.value)) is (function is emit)
    assert content(held) == before


def test_a_check_changes_nothing(held):
    """A check emits neither a test bench nor the project of a vendor."""
    before = content(held)
    assert emitted(HELD, held.parent, "top") == held / "rtl" / "top.v" and content(held) == before


def test_a_check_emits_a_missing_design(tmp_path):
    assert emitted(OTHER, tmp_path).read_text() == verilog(OTHER)


def test_a_check_takes_the_same_rules_under_another_profile(tmp_path):
    path = emit(OTHER, tmp_path, "top")["verilog"]
    before = path.read_bytes()
    assert emitted(SAME, tmp_path, "top") == path and path.read_bytes() == before


def test_force_removes_the_old_design(held):
    (held / "notes.txt").write_text("mine")
    emit(OTHER, held.parent, "top", force=True)
    kinds = ("v", "f", "core", "json")
    files = {*(f"rtl/top.{kind}" for kind in kinds), "rtl/top_icarus.f", "rtl/top_inst.v", "rtl/top_inst.sv"}
    assert content(held).keys() == files | {"manifest.json", "notes.txt"}
    assert design_of(held.parent, "top") == OTHER
    emit(HELD, held.parent, "top", force=True)
    assert design_of(held.parent, "top") == HELD


def test_the_same_configuration_keeps_its_evidence_and_its_bench(held):
    before = content(held)
    emit(HELD, held.parent, "top")
    assert content(held) == before


def test_evidence_of_an_unknown_design_does_not_stay(held):
    for file in ("manifest.json", "rtl/top.json", "rtl/top.v"):
        (held / file).unlink()
    emit(OTHER, held.parent, "top", force=True)
    assert not any("PASS" in text.decode() for text in content(held).values())


def test_an_edited_file_is_named(held):
    path = held / "rtl" / "top.v"
    path.write_text("// mine")
    with pytest.raises(ValueError, match=f"{path} has been edited since it was emitted"):
        emitted(HELD, held.parent, "top")
    assert path.read_text() == "// mine"


def test_a_file_of_another_version_stays(held):
    """Its manifest says that it is unchanged."""
    path, manifest = held / "rtl" / "top.v", held / "manifest.json"
    old = path.read_text().replace("Made by", "Made long ago by")
    path.write_text(old)
    about = json.loads(manifest.read_text())
    about["sha256"]["rtl/top.v"] = hashlib.sha256(old.encode()).hexdigest()
    manifest.write_text(json.dumps(about))
    with pytest.raises(ValueError, match="made by another version of the generator"):
        emitted(HELD, held.parent, "top")
    assert path.read_text() == old
    emit(HELD, held.parent, "top")
    assert emitted(HELD, held.parent, "top").read_text() == verilog(HELD, "top")


def test_a_renamed_folder_keeps_its_design(held):
    renamed = held.rename(held.with_name("renamed"))
    before = content(renamed)
    for function in (emit, emitted):
        with pytest.raises(ValueError, match="renamed holds .* as top, and "):
            function(HELD, renamed.parent, "renamed")
    assert content(renamed) == before


@pytest.mark.parametrize(
    "damage",
    [
        lambda about: about.pop("config_id"),
        lambda about: about.pop("numerics"),
        lambda about: about.update(numerics=[]),
        lambda about: about.update(config_id="00000000"),
        lambda about: about["numerics"].update(scale_rule="nobodys"),
        lambda about: about.update(profile="nobodys"),
    ],
    ids=["no id", "no rules", "a list", "another id", "an unknown rule", "an unknown profile"],
)
def test_an_undescribed_design_is_not_guessed(damage, tmp_path):
    path = written(HELD, tmp_path, "top")
    about = json.loads(path.read_text())
    damage(about)
    path.write_text(json.dumps(about))
    with pytest.raises(ValueError, match="give its format"):
        design_of(tmp_path, "top")


@pytest.mark.parametrize("text", ["", "[" * 10_000, "null", "7", "[]", "\N{SNOWMAN}", "9" * 5000], ids=lambda t: t[:3])
def test_a_damaged_manifest_is_no_design(text, tmp_path):
    (tmp_path / "manifest.json").write_text(text)
    assert design_in(tmp_path) is None


def test_a_manifest_names_no_file_outside(held):
    """Otherwise the file would be removed with the design."""
    precious = held.parent / "precious"
    precious.write_text("mine")
    about = json.loads((held / "manifest.json").read_text())
    for file in ("../precious", str(precious)):
        about["sha256"][file] = "a9e3f48fbbdb5ae3b1c1d5d1b9d5c4b2"
    (held / "manifest.json").write_text(json.dumps(about))
    found = design_in(held)
    assert found and all(file.startswith(("rtl/", "vivado/")) for file in found.sums)
