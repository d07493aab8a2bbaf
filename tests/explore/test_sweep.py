"""Sweeps: which points they mean, and what is refused."""

import dataclasses
import re
import shlex
from pathlib import Path

import numpy as np
import pytest

from mxcast.cli.options.assignments import assignment
from mxcast.explore import SWEEPS, Point, Sweep, chosen_sweep, read_sweep
from mxcast.explore.ablation import CLAUSES
from mxcast.explore.points import Explored
from mxcast.explore.sweep import USUAL, Lists, keys_of
from mxcast.hdl import ConverterConfig, DecoderArchitecture, Microarchitecture, converter_config, decoder_config
from mxcast.hdl.config.architecture import CastArchitecture
from mxcast.spec import Cast, Decode, Encode
from mxcast.spec.operations.encode import ScaleRule


def configs(sweep):
    return [point.config for point in sweep.points()[0]]


def test_a_grid_is_the_product_of_its_lists():
    sweep = Sweep(
        name="two", grids=({"scale_rule": ("floor", "ceil"), "target": ("xcu", "ecp5")}, {"rounding": ("rtz",)})
    )
    points, left_out = sweep.points()
    assert [(p.config.numerics.scale_rule, p.config.numerics.rounding, p.target) for p in points] == [
        ("floor", "rne", "xcu"),
        ("ceil", "rne", "xcu"),
        ("floor", "rne", "ecp5"),
        ("ceil", "rne", "ecp5"),
        ("floor", "rtz", "xcu"),
    ]
    assert not left_out


def test_a_point_that_comes_again_is_one():
    sweep = Sweep(
        name="again", grids=({"scale_rule": ("floor", "ceil")}, {"profile": ("nvidia", "ocp", "torchao_floor")})
    )
    assert configs(sweep) == [converter_config("e4m3", profile, target="xcu") for profile in ("ocp", "nvidia")]
    assert [config.profile for config in configs(sweep)] == ["ocp", "nvidia"], (
        "a rule set over a profile is the profile that says the same"
    )


def test_lists_replace_those_of_every_grid():
    sweep = chosen_sweep("formats", format=["int8"], target="ecp5")
    assert {(c.numerics.block.short_name) for c in configs(sweep)} == {"int8"} and {
        p.target for p in sweep.points()[0]
    } == {"ecp5"}


def test_what_cannot_be_built_is_left_out_and_said():
    points, left_out = Sweep(name="sr", grids=({"rounding": ("rne", "sr"), "quantizer": ("table",)},)).points()
    assert len(points) == 1 and len(left_out) == 1
    assert left_out[0].fields["rounding"] == "sr" and "table quantizer" in left_out[0].reason
    with pytest.raises(ValueError, match="none of the 1 combinations can be built: the table quantizer"):
        Sweep(name="sr", grids=({"rounding": ("sr",), "quantizer": ("table",)},)).points()


@pytest.mark.parametrize(
    "lists, error, says",
    [
        ({"scale_rul": ("ceil",)}, ValueError, "unknown key of a sweep 'scale_rul': did you mean 'scale_rule'"),
        ({"scale_rule": ("cail",)}, ValueError, "unknown scale_rule 'cail': did you mean 'ceil'"),
        ({"format": ("e4m9x",)}, ValueError, "unknown format 'e4m9x'"),
        ({"target": ("xci",)}, ValueError, "unknown target 'xci': did you mean 'xcu'"),
        ({"profile": ("ocq",)}, ValueError, "unknown profile 'ocq': did you mean 'ocp'"),
        ({"amax": ("radix",)}, ValueError, "unknown amax 'radix': did you mean 'radix4'"),
        ({"optimize": ("aria",)}, ValueError, "unknown optimize 'aria': did you mean 'area'"),
        ({"rounding": ()}, ValueError, "rounding needs at least one value"),
        ({"rounding": (1,)}, TypeError, "rounding takes texts, not 1"),
        ({"seeds": ("3",)}, TypeError, "seeds takes whole numbers, not '3'"),
        ({"block_size": (True,)}, TypeError, "block_size takes whole numbers, not True"),
    ],
)
def test_what_is_refused(lists, error, says):
    with pytest.raises(error, match=says):
        Sweep(name="wrong", grids=(lists,))


def test_unknown_sweeps_and_objectives():
    with pytest.raises(ValueError, match="unknown sweep 'roundin': did you mean 'rounding'"):
        chosen_sweep("roundin")
    with pytest.raises(ValueError, match="unknown objective 'lut': did you mean 'luts'"):
        Sweep(name="wrong", grids=({},), objectives=("lut",))
    assert Sweep(name="twice", grids=({},), objectives=("luts", "levels", "luts")).objectives == ("luts", "levels")


def test_place_and_route_needs_a_device():
    with pytest.raises(ValueError, match="place and route is for ecp5, ice40, not xcu"):
        Sweep(name="wrong", grids=({"seeds": (1,)},)).points()


def test_registers_by_latency_are_placed():
    (config,) = configs(Sweep(name="latency", grids=({"latency": (3,), "target": ("ecp5",), "block_size": (4,)},)))
    assert config.latency == 3


def test_toml(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text(
        'target = ["xcu", "lut6"]\nobjectives = ["luts", "sqnr_db"]\n'
        '[[grid]]\nscale_rule = ["floor", "even"]\n[[grid]]\nformat = "int8"\ntarget = "ecp5"\n'
    )
    sweep = read_sweep(path)
    assert sweep.name == "mine" and sweep.objectives == ("luts", "sqnr_db")
    assert [
        (p.config.numerics.block.short_name, p.config.numerics.scale_rule, p.target) for p in sweep.points()[0]
    ] == [
        ("e4m3", "floor", "xcu"),
        ("e4m3", "even", "xcu"),
        ("e4m3", "floor", "lut6"),
        ("e4m3", "even", "lut6"),
        ("int8", "floor", "ecp5"),
    ]


@pytest.mark.parametrize(
    "text, error, says",
    [
        ("", ValueError, "is empty: a sweep has at least one key"),
        ("scale_rule = [", ValueError, "is not TOML"),
        ("scale_rul = ['ceil']", ValueError, "unknown key of a sweep 'scale_rul': did you mean 'scale_rule'"),
        ("[[gird]]", ValueError, "'gird': did you mean 'grid'"),
        ("grids = 3", ValueError, "'grids': did you mean 'grid'"),
        ("opration = 'cast'", ValueError, "'opration': did you mean 'operation'"),
        ("objektives = ['luts']", ValueError, "'objektives': did you mean 'objectives'"),
        ("operation = 'cast'\nscale_rule = 'ceil'", ValueError, "'scale_rule': known are name, operation, "),
        ("[[grid]]\noperation = 'cast'", ValueError, "the key operation is for the whole sweep"),
        ("[[grid]]\nzzz = 1", ValueError, "'zzz': known are target, format"),
        ("operation = 'cats'", ValueError, "unknown operation 'cats': did you mean 'cast'"),
        ("grid = 3", TypeError, r"a grid is a table, written \[\[grid\]\]"),
        ("grid = []", ValueError, r"grid needs at least one table, written \[\[grid\]\]"),
        ("name = 3", TypeError, "name must be a string"),
        ("objectives = 'luts'", TypeError, "objectives must be a list of names"),
        ("objectives = ['lut']", ValueError, "did you mean 'luts'"),
        ("objectives = []", ValueError, "objectives needs at least one column"),
    ],
)
def test_wrong_toml_names_the_file(tmp_path, text, error, says):
    (tmp_path / "wrong.toml").write_text(text)
    with pytest.raises(error, match=f"wrong.toml.*{says}"):
        read_sweep(tmp_path / "wrong.toml")


@pytest.mark.parametrize("operation", ["encode", "decode", "cast", "two_level_encode"])
@pytest.mark.parametrize("key", ["zzz", "formt", "nme", "gridd"])
def test_an_unknown_key_has_all_others(key, operation, tmp_path):
    """Whether or not one of them is suggested."""
    (tmp_path / "wrong.toml").write_text(f"operation = '{operation}'\n{key} = 'e4m3'")
    with pytest.raises(ValueError, match="nown are ") as error:
        read_sweep(tmp_path / "wrong.toml")
    listed = str(error.value).partition("nown are ")[2].split(", ")
    assert listed == ["name", "operation", "objectives", "grid", *keys_of(operation)]


@pytest.mark.parametrize("name", [name for name in SWEEPS if name != "pipeline"])  # whose places need synthesis
def test_the_command_of_a_job_means_the_same_point(name):
    """Every point of every sweep, through the flags that a shell would give."""
    for point in SWEEPS[name].points()[0]:
        mxcast, explore, sweep, *words = shlex.split(point.job)
        assert (mxcast, explore) == ("mxcast", "explore")
        lists, operation = {}, "encode"
        for flag, value in zip(words[::2], words[1::2]):
            if flag == "--no-report":
                break
            key, value = assignment(value) if flag == "--set" else (flag.removeprefix("--"), value)
            if key == "op":
                operation = value
                continue
            lists.setdefault(key, []).append(int(value) if flag == "--seeds" else value)
        (found,), _ = chosen_sweep(sweep, operation, **lists).points()
        assert found.id == point.id


def test_ids_name_the_question():
    a, b = (
        Point(config=converter_config("e4m3"), target="xcu"),
        Point(config=converter_config("e4m3"), target="xcu", seeds=1),
    )
    assert a.id != b.id and len(a.id) == 12
    assert Point.from_dict(a.to_dict()) == a and Point.from_dict(b.to_dict()).id == b.id
    assert dataclasses.replace(a, config=dataclasses.replace(a.config, profile=None)).id == a.id, (
        "a profile is a name of rules"
    )
    assert isinstance(a.config, ConverterConfig)


def test_the_default_sweep_has_every_scale_rule_and_both_sides_of_every_clause():
    found = [config.numerics for config in configs(SWEEPS["rounding"])]
    assert {rules.scale_rule for rules in found} == set(ScaleRule)
    for _, field, without, with_ in CLAUSES:
        assert {without, with_} <= {str(getattr(rules, field)) for rules in found}


def test_smallest_is_that_of_the_target():
    """Also under the name that the goal had before."""
    sweep = Sweep(name="small", grids=({"target": ("xcu", "ice40")}, {"rounding": ("sr",)}))
    assert [
        (c.microarchitecture.amax, c.microarchitecture.quantizer, c.microarchitecture.structure) for c in configs(sweep)
    ] == [("carry_chain", "table", "kept"), ("compare", "gates", "flat"), ("carry_chain", "shift", "kept")]
    with pytest.warns(FutureWarning, match="optimize smallest is called area now"):
        assert configs(sweep.replace(optimize="smallest")) == configs(sweep)


@pytest.mark.parametrize("name", ["", "../evil", "a/b", ".", "a\0"])
def test_names_that_are_no_files(name, tmp_path):
    with pytest.raises(ValueError, match="the name of a sweep is letters"):
        Sweep(name=name, grids=({},))


def test_values_as_python_and_numpy_have_them():
    """One value is read as a list of one. Whole numbers of NumPy, ranges and generators are accepted."""
    one = Sweep(name="s", grids=({"format": "e2m1", "block_size": np.int64(4)},))
    assert one.grids == ({"format": ("e2m1",), "block_size": (4,)},) and type(one.grids[0]["block_size"][0]) is int
    assert one.replace(block_size=range(2, 4)).grids[0]["block_size"] == (2, 3)
    with pytest.raises(TypeError):
        one.replace(block_size={2, 4})


def test_any_file_is_a_sweep(tmp_path):
    for name in ("sweep.conf", "my sweep.toml"):
        (tmp_path / name).write_text('format = "e2m1"')
        assert [point.config.formats for point in chosen_sweep(str(tmp_path / name)).points()[0]] == ["mxfp4_e2m1"]


@pytest.mark.parametrize(
    "operation, architecture", [(Encode, Microarchitecture), (Decode, DecoderArchitecture), (Cast, CastArchitecture)]
)
def test_every_field_is_a_key(operation, architecture):
    """Each of them, but for ways to say the format, has a column too. A layout is wires only."""
    fields = {field.name for one in (operation, architecture) for field in dataclasses.fields(one)}
    fields -= {"block", "layout"}
    sizes = set() if operation is Cast else {"block_size"}
    keys = set(keys_of(operation.name))
    assert fields | sizes | {"optimize", "latency", "frequency_mhz"} | set(USUAL) == keys <= set(Lists.__annotations__)
    assert fields - {"lanes"} | {"numbers_per_cycle"} <= set(Explored.__dataclass_fields__)


def test_sweeps_of_decoders_and_casts(tmp_path):
    """A file says the operation, and for the sweep of one point somebody; keys, profiles and objectives are its own."""
    path = tmp_path / "decoders.toml"
    path.write_text(
        'operation = "decode"\nformat = ["e4m3", "e2m1"]\nprofile = ["ocp", "te"]\n'
        '[[grid]]\ndestination = ["fp32", "bf16"]\n[[grid]]\nlane = "tables"\ntarget = "asic"\n'
    )
    sweep = chosen_sweep(path)
    points, left_out = sweep.points()
    assert sweep.objectives == ("luts", "levels", "differing") and len(points) == 8 + 2 and len(left_out) == 2
    assert points[0].config == decoder_config("e4m3", "ocp", target="xcu") and points[-1].config.profile == "ocp"
    assert "tables decode elements of" in left_out[0].reason
    (point,), _ = chosen_sweep("point", "cast", format="ue8m0", rounding="rp").points()
    assert point.config.numerics == Cast(destination="e8m0", rounding="rp")
    assert chosen_sweep(op="decode").name == "decoders" and chosen_sweep(op="cast").name == "casts"
    for asked, sentence in (
        ({"op": "decod"}, "unknown operation 'decod': did you mean 'decode'?"),
        ({"sweep": "formats", "op": "decode"}, "the sweep formats has the operation encode, not decode"),
        ({"op": "decode", "scale_rule": "ceil"}, "unknown key of a sweep 'scale_rule'"),
        ({"op": "decode", "profile": "nvidia"}, "gpt_oss, ggml, idma; nvidia is of encode"),
        ({"op": "cast", "format": "e3m3"}, "unknown format 'e3m3'"),
        ({"op": "cast", "destination": "fp64"}, "unknown destination 'fp64'"),
    ):
        with pytest.raises(ValueError, match=re.escape(sentence)):
            chosen_sweep(**asked)


def test_the_sweeps_of_the_guide(tmp_path):
    """They have as many points as the text says."""
    found = {}
    for said, text in sweeps_of_the_guide():
        (tmp_path / "my_sweep.toml").write_text(text)
        sweep = read_sweep(tmp_path / "my_sweep.toml")
        found[sweep.operation], left_out = sweep.points()
        assert len(found[sweep.operation]) == int(said) and not left_out
    assert {point.target for point in found["encode"]} == {"xcu", "ecp5"} and len(found) == 2


def sweeps_of_the_guide() -> list[tuple[str, str]]:
    """The number of points in the text, and the file."""
    guide = (Path(__file__).parents[2] / "docs" / "guide.md").read_text()
    return re.findall(r"has (\d+) points:\n\n```toml\n(.*?)```", guide, re.DOTALL)
