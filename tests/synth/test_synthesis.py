"""Synthesis of whole converters: commands to Yosys, their number, and cached results."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mxcast.hdl import converter_config, verilog
from mxcast.host.errors import ToolError
from mxcast.synth import STAGES, TARGETS, Cost, synth, synth_all, synthesis
from mxcast.synth.baselines import PUBLISHED
from mxcast.synth.tables import table

CONFIG = converter_config("e2m1", "ocp")


class FakeYosys:
    """Instead of Yosys: a netlist whose number of LUTs is the number of the run."""

    def __init__(self) -> None:
        self.tops: list[str] = []
        self.fails = False

    def __call__(self, commands: list[str], folder: Path, technology: str | None = None) -> tuple[dict, dict]:
        read, script, _ = commands
        assert (folder / read.removeprefix("read_verilog ")).read_text().startswith("module converter(")
        top = script.split("-top ")[1]
        self.tops.append(top)
        if self.fails and len(self.tops) == 3:
            raise ToolError("Yosys wrote no netlist: ERROR: planted")
        (folder / "netlist.json").write_text("large")
        cell = {"type": "$lut", "port_directions": {}, "connections": {}}
        return {"modules": {top: {"cells": {str(n): cell for n in range(len(self.tops))}}}}, {}


@pytest.fixture
def fake(cache, monkeypatch) -> FakeYosys:
    made = FakeYosys()
    monkeypatch.setattr(synthesis, "run", made)
    return made


def test_what_is_synthesised(fake, cache):
    found = synth(CONFIG, "lut6")
    assert fake.tops == ["converter", "converter_amax_tree", "converter_scale_unit", "converter_element_quantizer"]
    assert (found.whole.luts, {name: part.luts for name, part in found.stages.items()}) == (
        1,
        {"tree": 2, "scale": 3, "element": 4},
    )
    assert (found.config, found.target, found.yosys) == (CONFIG, "lut6", synthesis.yosys_version())
    assert len(list((cache / "synth").iterdir())) == 4  # each kept by itself
    assert not list(cache.rglob("netlist.json"))  # it is large, and the script next to it makes it again
    assert synth(converter_config("int8"), "lut6", stages=False).stages == {} and len(fake.tops) == 5
    assert json.loads(json.dumps(found.to_dict()))["whole"]["luts"] == 1


def test_every_stage_is_a_module_of_the_verilog():
    text = verilog(converter_config("e2m1", source="fp16", lanes=8), synthesis.TOP)
    for module in STAGES.values():
        assert f"\nmodule {synthesis.TOP}_{module}(" in text


def test_numbers_are_widened_where_they_are_fp16(fake):
    found = synth(converter_config("e2m1", source="fp16"), "lut6")
    assert fake.tops == [
        "converter",
        "converter_widen",
        "converter_amax_tree",
        "converter_scale_unit",
        "converter_element_quantizer",
    ]
    assert list(found.stages) == ["widen", "tree", "scale", "element"]


def test_results_are_kept(fake):
    first = synth(CONFIG, "lut6")
    assert synth(CONFIG, "lut6") == first and len(fake.tops) == 4


@pytest.mark.parametrize(
    "config, target, runs",
    [
        (CONFIG, "lut4", 8),  # another script
        (converter_config("e2m1", "nvidia"), "lut6", 8),  # other bits
        (converter_config("e2m1", "ocp", amax_key="magnitude"), "lut6", 8),  # the same bits, made otherwise
        (converter_config("e2m1", "ocp", scale_rule="floor"), "lut6", 4),  # the same
    ],
)
def test_results_of_something_else_are_not_taken(fake, config, target, runs):
    synth(CONFIG, "lut6")
    synth(config, target)
    assert len(fake.tops) == runs


def test_results_of_another_yosys_are_not_taken(fake, monkeypatch):
    synth(CONFIG, "lut6")
    monkeypatch.setattr(synthesis, "yosys_version", lambda: "0.99")
    assert synth(CONFIG, "lut6").yosys == "0.99" and len(fake.tops) == 8


def test_force(fake):
    synth(CONFIG, "lut6")
    assert synth(CONFIG, "lut6", force=True).whole.luts == 5  # the fifth run
    assert synth(CONFIG, "lut6").whole.luts == 5 and len(fake.tops) == 8


def test_a_failure_is_not_kept(fake, cache):
    fake.fails = True
    with pytest.raises(ToolError, match="planted"):
        synth(CONFIG, "lut6")
    assert len(list((cache / "synth").iterdir())) == 2  # results before it are kept; half a result is not
    fake.fails = False
    found = synth(CONFIG, "lut6")
    assert (found.whole.luts, {name: part.luts for name, part in found.stages.items()}) == (
        1,
        {"tree": 2, "scale": 4, "element": 5},
    )


def test_a_failure_of_force_keeps_the_old_result(fake):
    first = synth(CONFIG, "lut6")
    fake.tops.clear()
    fake.fails = True
    with pytest.raises(ToolError, match="planted"):
        synth(CONFIG, "lut6", force=True)
    assert synth(CONFIG, "lut6") == first


def test_several_come_in_their_order(fake):
    configs = [converter_config(short) for short in ("int8", "e2m1", "e4m3")]
    for jobs in (1, 2):
        assert [result.config for result in synth_all(configs, "lut6", jobs=jobs)] == configs
    assert len(fake.tops) == 12
    assert synth_all([], "lut6") == []


def test_a_whole_without_luts_is_a_failure_and_a_stage_of_wires_is_not(fake, monkeypatch):
    monkeypatch.setattr(
        synthesis,
        "cost",
        lambda netlist, statistics, top, target: Cost(
            luts=0, carries=0, muxes=0, ffs=0, inverters=0, levels=0, logic_cells=None, cells={}
        ),
    )
    with pytest.raises(ToolError, match="left no LUT"):
        synth(CONFIG, "lut6")
    assert synthesis.cost_of("module converter(); ", f"{synthesis.TOP}_scale_unit", TARGETS["lut6"]).luts == 0


def test_unknown_target(fake):
    with pytest.raises(ValueError) as error:
        synth(CONFIG, "xcv")
    assert str(error.value) == "unknown target 'xcv': did you mean 'xcu'?"
    assert not fake.tops


def test_table(fake):
    rows = table([synth(CONFIG, "lut6"), synth(converter_config("int8", "nvidia"), "lut6")])
    assert [(row["format"], row["profile"], row["target"], row["paper LUTs"], row["paper ns"]) for row in rows] == [
        ("mxfp4_e2m1", "ocp", "lut6", 1896, 65.2),
        ("mxint8", "nvidia", "lut6", 1614, 50.6),
    ]
    assert {
        heading: value for heading, value in rows[0].items() if heading.endswith(" LUTs") and heading != "paper LUTs"
    } == {"tree LUTs": 2, "scale LUTs": 3, "element LUTs": 4}
    assert rows[0]["LCs"] is None


def test_table_of_different_kinds(fake):
    """One set of columns, with the paper's figures in the rows of its formats."""
    configs = [
        CONFIG,
        converter_config("e2m1", source="fp16"),
        converter_config("e2m1,int4"),
        converter_config("e2m1", block_size=16),
    ]
    rows = table([synth(config, "lut6") for config in configs])
    assert len({tuple(row) for row in rows}) == 1
    assert [row["widen LUTs"] is None for row in rows] == [True, False, True, True]
    assert [row["format"] for row in rows] == ["mxfp4_e2m1", "mxfp4_e2m1", "mxfp4_e2m1 or mxint4", "mxfp4_e2m1"]
    assert [row["paper LUTs"] for row in rows] == [1896, None, None, None]


def test_published():
    """Gorodecky and Sousa, table VIII."""
    assert {name: (row.luts, row.ns) for name, row in PUBLISHED.items()} == {
        "e5m2": (2319, 51.4),
        "e4m3": (2776, 80.2),
        "e3m2": (2230, 52.8),
        "e2m3": (2039, 62.6),
        "e2m1": (1896, 65.2),
        "int8": (1614, 50.6),
    }


@pytest.mark.parametrize(
    "formats, rules",
    [
        pytest.param("e2m1", {"block_size": 16}, marks=pytest.mark.slow),
        (
            "e2m1,int4",
            {"block_size": 4, "source": "fp16", "scale_rule": "floor,ceil", "rounding": "sr", "random_bits": 3},
        ),
    ],
    ids=["plain", "everything"],
)
def test_a_real_synthesis(cache, formats, rules):
    config = converter_config(formats, **rules)
    found, lanes = synth(config, "lut4"), rules["block_size"]
    assert set(found.whole.cells) == {"$lut"}
    assert list(found.stages) == [*(["widen"] if "source" in rules else []), "tree", "scale", "element"]
    assert all(isinstance(part, Cost) and part.luts > 0 for part in (found.whole, *found.stages.values()))
    # not the sum of the stages, and not far from it
    times = {"widen": lanes, "element": lanes}
    together = sum(times.get(name, 1) * part.luts for name, part in found.stages.items())
    assert together / 2 < found.whole.luts < 2 * together
    # levels of eight-bit comparators, then the rest: a wrong `levels` would be 1 or hundreds
    assert (
        max(part.levels for part in found.stages.values())
        <= found.whole.levels
        <= sum(p.levels for p in found.stages.values())
    )
    assert found.stages["tree"].levels >= 2 * (lanes.bit_length() - 1)
    scripts = {path.read_text().splitlines()[2] for path in cache.rglob("script.ys")}
    tops = [synthesis.TOP, *(f"{synthesis.TOP}_{STAGES[name]}" for name in found.stages)]
    assert scripts == {TARGETS["lut4"].script.format(top=top) for top in tops}


@pytest.mark.slow
@pytest.mark.parametrize(
    "formats, rules",
    [
        pytest.param("e4m3,e5m2", "floor", marks=pytest.mark.slow),
        pytest.param("e4m3", "floor,ceil", marks=pytest.mark.slow),
        pytest.param("e4m3,e5m2", "floor,ceil", marks=pytest.mark.slow),
        ("int4,e2m1", "rceil"),
    ],
)
def test_modes_share_their_cost(formats, rules, cache):
    """A converter with modes costs what the most expensive one of them does, and less than a third of the others."""

    def luts(formats: str, rules: str) -> int:
        return synth(converter_config(formats, scale_rule=rules, block_size=4), "lut6", stages=False).whole.luts

    alone = [luts(element, rule) for element in formats.split(",") for rule in rules.split(",")]
    together = luts(formats, rules)
    assert max(alone) < together < max(alone) + (sum(alone) - max(alone)) / 3, (alone, together)


@pytest.mark.parametrize("target, timed", [("ecp5", True), ("ecp5-relaxed", False), ("lut4", False)])
def test_the_delay(cache, target, timed):
    """abc9's, in picoseconds, of a path of levels; a relaxed script is given all the time there is, and says so
    instead.
    """
    found = synth(converter_config("e2m1", block_size=2, source="bf16"), target, stages=False).whole
    assert found.delay_ps is None if not timed else 150 * found.levels < found.delay_ps < 1000 * found.levels
    (log,) = cache.rglob("yosys.log")
    assert ("Del = 100000.00" in log.read_text()) is target.endswith("-relaxed")
