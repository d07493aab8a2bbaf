"""Place and route between registers: the wrapper, what nextpnr is asked and what is believed of its report, and real
runs.
"""

from __future__ import annotations

import importlib
import json
import re
from dataclasses import replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import pytest

from mxcast.hdl import converter_config, describe
from mxcast.host.errors import ToolError
from mxcast.synth import TARGETS, Cost, place_and_route, place_and_route_all
from mxcast.synth import nextpnr as child
from mxcast.synth.devices import DEVICES
from mxcast.synth.netlist import cost
from mxcast.synth.tables import pnr_table
from mxcast.synth.wrapper import WRAPPER, wrapper
from mxcast.synth.yosys import run

pnr = importlib.import_module("mxcast.synth.pnr")
CONFIG = converter_config("e2m1", block_size=2, source="bf16")


def installed(device: str) -> bool:
    try:
        return bool(version(DEVICES[device].package))
    except PackageNotFoundError:
        return False


def needs(device: str):
    return pytest.mark.skipif(not installed(device), reason=f"{DEVICES[device].program} is optional: {child.ADVICE}")


# ---- the wrapper


def port(name: str, direction: str, width: int) -> dict:
    return {"name": name, "direction": direction, "width": width}


PIPELINED = """
module converter(input clk, input rst, input i_valid, output i_ready, input [7:0] x,
                 output o_valid, input o_ready, output [4:0] p);
  reg full; reg [7:0] held;
  assign i_ready = ~full | o_ready;
  assign o_valid = full;
  assign p = held[7:3] ^ held[4:0];
  always @(posedge clk) if (rst) full <= 0; else if (i_ready) begin full <= i_valid; held <= x; end
endmodule
"""
PIPELINED_PORTS = [
    port("clk", "input", 1),
    port("rst", "input", 1),
    port("i_valid", "input", 1),
    port("i_ready", "output", 1),
    port("x", "input", 8),
    port("o_valid", "output", 1),
    port("o_ready", "input", 1),
    port("p", "output", 5),
]


def map_small(folder: Path, text: str, ports: list[dict], target: str) -> dict:
    (folder / "converter.v").write_text(text)
    (folder / "wrapper.v").write_text(wrapper("converter", ports))
    return run(["read_verilog converter.v wrapper.v", TARGETS[target].script.format(top=WRAPPER)], folder)[0]


def test_every_bit_of_every_port_is_connected_once():
    config = converter_config("e3m2,e2m3", rounding="sr", random_bits=3, block_size=4)
    ports = describe(config)["ports"]
    text = wrapper("converter", ports)
    for direction in ("input", "output"):
        slices = [(int(high), int(low)) for high, low in re.findall(rf"\({direction}s\[(\d+):(\d+)\]\)", text)]
        widths = [p["width"] for p in ports if p["direction"] == direction]
        assert [high - low + 1 for high, low in slices] == widths
        assert sorted(bit for high, low in slices for bit in range(low, high + 1)) == list(range(sum(widths)))


def test_a_clock_is_connected_and_the_rest_is_data(tmp_path):
    """The design keeps its registers, and the wrapper has one for each input, output and fold."""
    netlist = map_small(tmp_path, PIPELINED, PIPELINED_PORTS, "ice40")
    design, around = (cost(netlist, {}, name, TARGETS["ice40"]) for name in ("converter", WRAPPER))
    assert design.ffs == 9 and design.luts >= 5
    assert around.ffs == 11 + 7 + 2 + 1 and around.luts == 3  # inputs, outputs, folds of 7 and of 2


def test_the_fold_of_many_outputs_is_one_lut_deep(tmp_path):
    netlist = map_small(
        tmp_path,
        "module converter(input a, output [99:0] p); assign p = {50{a, ~a}}; endmodule",
        [port("a", "input", 1), port("p", "output", 100)],
        "ice40",
    )
    around = cost(netlist, {}, WRAPPER, TARGETS["ice40"])
    assert around.ffs == 1 + 100 + 25 + 7 + 2 + 1 and around.levels == 1


@pytest.mark.parametrize("ports", [[port("clk", "input", 1), port("p", "output", 1)], [port("x", "input", 1)]])
def test_a_design_without_data_cannot_be_measured(ports):
    with pytest.raises(ValueError, match="must have data inputs and outputs"):
        wrapper("converter", ports)


# ---- what is asked, how often, and what is kept


class FakeNextpnr:
    """Instead of Yosys and nextpnr: Fmax by seed, slower in each new run."""

    def __init__(self) -> None:
        self.seeds: list[int] = []
        self.mapped = 0

    def map(self, text: str, around: str, target, folder: Path) -> None:
        self.mapped += 1
        (folder / "netlist.json").write_text("{}")
        (folder / "cost.json").write_text(
            json.dumps(
                Cost(
                    luts=7, carries=1, muxes=0, ffs=2, inverters=0, levels=3, logic_cells=9, cells={"LUT4": 7}
                ).to_dict()
            )
        )

    def route(self, device, folder: Path, seed: int) -> dict:
        assert (folder / "netlist.json").exists()
        self.seeds.append(seed)
        return {"seed": seed, "fmax_mhz": [40.0, 30.0, 38.0][seed % 3], "used": {device.logic_cells: 10 + seed}}


@pytest.fixture
def fake(cache, monkeypatch) -> FakeNextpnr:
    made = FakeNextpnr()
    monkeypatch.setattr(pnr, "_map", made.map)
    monkeypatch.setattr(pnr, "route", made.route)
    monkeypatch.setattr(pnr, "nextpnr_version", lambda device: "0.0")
    return made


def test_median_and_range(fake, cache):
    found = place_and_route(CONFIG, seeds=3)
    assert fake.seeds == [1, 2, 3] and fake.mapped == 1
    assert (found.fmax_mhz, found.fmax_range_mhz, found.logic_cells) == (38.0, (30.0, 40.0), 12)
    assert place_and_route(CONFIG, seeds=2).fmax_mhz == 34.0 and len(fake.seeds) == 3  # kept, each seed by itself
    assert len(list(cache.rglob("netlist.json"))) == 1  # large
    place_and_route(CONFIG, seeds=4)
    assert fake.seeds == [1, 2, 3, 4] and fake.mapped == 1
    place_and_route(CONFIG, seeds=1, force=True)
    assert fake.seeds == [1, 2, 3, 4, 1] and fake.mapped == 2
    document = json.loads(json.dumps(found.to_dict()))
    assert (
        document["fmax_range_mhz"] == [30.0, 40.0] and document["design"]["luts"] == 7 and document["nextpnr"] == "0.0"
    )
    (row,) = pnr_table([found])
    assert [row[name] for name in ("LUTs", "FFs", "logic cells", "Fmax MHz", "lowest", "highest", "seeds")] == [
        7,
        2,
        12,
        38,
        30,
        40,
        3,
    ]


@pytest.mark.parametrize(
    "config, target", [(CONFIG, "ice40"), (CONFIG, "ecp5-relaxed"), (converter_config("e2m1", block_size=4), "ecp5")]
)
def test_results_of_something_else_are_not_taken(fake, config, target):
    place_and_route(CONFIG, seeds=1)
    place_and_route(config, target, seeds=1)
    assert fake.seeds == [1, 1] and fake.mapped == 2


def test_another_header_or_description_is_no_reason_to_route_again(fake, monkeypatch):
    place_and_route(CONFIG, seeds=1)
    emission = importlib.import_module("mxcast.hdl.emission.emit")
    header = emission._header
    monkeypatch.setattr(emission, "_header", lambda *arguments: "// another header\n" + header(*arguments))
    for catalogue in (TARGETS, DEVICES):
        monkeypatch.setitem(catalogue, "ecp5", replace(catalogue["ecp5"], description="in other words"))
    place_and_route(CONFIG, seeds=1)
    assert fake.seeds == [1] and fake.mapped == 1
    monkeypatch.setitem(DEVICES, "ecp5", replace(DEVICES["ecp5"], options=("--25k",)))
    place_and_route(CONFIG, seeds=1)
    assert fake.seeds == [1, 1] and fake.mapped == 1


def test_progress(fake):
    steps = []
    results = place_and_route_all([CONFIG, CONFIG], seeds=2, progress=lambda done, total: steps.append((done, total)))
    assert steps == [(0, 6), (1, 6), (2, 6), (3, 6), (3, 6), (4, 6), (5, 6), (6, 6)] and len(results) == 2


@pytest.mark.parametrize(
    "target, sentence",
    [
        (
            "xcu",
            "place and route is for ecp5, ice40, ecp5-relaxed, ice40-relaxed, ecp5-nodsp, not xcu",
        ),  # there is no such program
        ("ecp6", "unknown target 'ecp6': did you mean 'ecp5'?"),
    ],
)
def test_targets_that_cannot_be_placed(fake, target, sentence):
    with pytest.raises(ValueError) as error:
        place_and_route(CONFIG, target)
    assert str(error.value) == sentence and not fake.mapped


def test_seeds_are_counted_from_one(fake):
    with pytest.raises(ValueError, match="^seeds must be at least 1, not 0$"):
        place_and_route(CONFIG, seeds=0)


def test_nextpnr_is_missing(cache, monkeypatch):
    def nothing(name: str) -> str:
        raise PackageNotFoundError(name)

    monkeypatch.setattr(child, "version", nothing)
    with pytest.raises(ToolError) as error:
        place_and_route(CONFIG)
    assert str(error.value) == "nextpnr-ecp5 is missing: pip install '.[pnr]' in a checkout of mxcast"
    assert not list(cache.rglob("script.ys"))  # before anything is synthesised


# ---- what is believed: the child is Python with a body of ours


def planted(monkeypatch, tmp_path, body: str) -> dict:
    monkeypatch.setattr(child, "nextpnr_version", lambda device: "0.0")
    monkeypatch.setattr(child, "RUNNER", body.replace("{", "{{").replace("}", "}}"))
    return child.route(DEVICES["ecp5"], tmp_path, 1)


REPORT = {
    "fmax": {"clk": {"achieved": 33.333, "constraint": 100}},
    "utilization": {"TRELLIS_COMB": {"used": 5}, "DP16KD": {"used": 0}},
}


def writes(report: object) -> str:
    return f"open('report.json', 'w').write({json.dumps(report)!r})"


def test_a_report_is_read(monkeypatch, tmp_path):
    assert planted(monkeypatch, tmp_path, writes(REPORT)) == {"seed": 1, "fmax_mhz": 33.33, "used": {"TRELLIS_COMB": 5}}


@pytest.mark.parametrize(
    "body",
    [
        "pass",  # an exit status is not trusted
        "open('report.json', 'w').write('{')",
        writes({**REPORT, "fmax": {}}),  # a design without a clock
        writes({**REPORT, "fmax": {"a": {"achieved": 30}, "b": {"achieved": 40}}}),  # which one?
        writes({**REPORT, "fmax": {"clk": {"achieved": 0}}}),
        writes({**REPORT, "fmax": {"clk": {"constraint": 100}}}),
        writes({**REPORT, "utilization": {"TRELLIS_COMB": {"used": 0}}}),  # an empty design is fast
        writes({"fmax": REPORT["fmax"]}),
        writes([]),
    ],
)
def test_a_report_without_an_fmax_is_an_error(monkeypatch, tmp_path, body):
    (tmp_path / "report.json").write_text(json.dumps(REPORT))  # the report of another run
    with pytest.raises(ToolError, match="^nextpnr-ecp5 reported no Fmax"):
        planted(monkeypatch, tmp_path, body)


@pytest.mark.parametrize(
    "body, sentence",
    [
        (
            "import sys; open('nextpnr.log', 'w').write('Info: a\\nERROR: Failed to route net.\\n'); sys.exit(1)",
            "ERROR: Failed to route net.",
        ),
        ("import os; os.abort()", "exit status -6"),
    ],
)
def test_a_run_that_fails(monkeypatch, tmp_path, body, sentence):
    with pytest.raises(ToolError) as error:
        planted(monkeypatch, tmp_path, body)
    assert str(error.value) == f"nextpnr-ecp5 stopped: {sentence}"


# ---- real runs


@pytest.mark.slow
@needs("ice40")
def test_a_design_that_does_not_fit(tmp_path):
    map_small(
        tmp_path,
        "module converter(input [1399:0] x, output p); assign p = x[0] ^ x[1399]; endmodule",
        [port("x", "input", 1400), port("p", "output", 1)],
        "ice40",
    )
    small = replace(
        DEVICES["ice40"], description="an HX1K", options=("--hx1k", "--package", "tq144", "--pcf-allow-unconstrained")
    )
    with pytest.raises(
        ValueError, match=r"^the design between its registers does not fit an HX1K: 14\d\d of 1280 ICESTORM_LC$"
    ) as error:
        child.route(small, tmp_path, 1)
    assert error.value.log == (tmp_path / "nextpnr.log").read_text() and "ICESTORM_LC" in error.value.log


@pytest.mark.slow
@needs("ecp5")
def test_a_wrong_part(tmp_path):
    map_small(
        tmp_path,
        "module converter(input x, output p); assign p = ~x; endmodule",
        [port("x", "input", 1), port("p", "output", 1)],
        "ecp5",
    )
    wrong = replace(DEVICES["ecp5"], options=("--85k", "--package", "CABGA382"))
    with pytest.raises(ToolError, match="^nextpnr-ecp5 stopped: ERROR: .*CABGA382"):
        child.route(wrong, tmp_path, 1)


@needs("ice40")
def test_a_pipelined_design(tmp_path):
    map_small(tmp_path, PIPELINED, PIPELINED_PORTS, "ice40")
    found = child.route(DEVICES["ice40"], tmp_path, 1)
    assert found["used"]["ICESTORM_LC"] >= 21 + 9 and 100 < found["fmax_mhz"] < 1000


@pytest.mark.sampled(2)
@pytest.mark.parametrize("device", [pytest.param(name, marks=needs(name)) for name in DEVICES])
def test_a_converter(cache, device):
    found = place_and_route(CONFIG, device, seeds=1)
    assert found.design.luts > 20 and found.design.ffs == 0 and found.logic_cells > found.design.luts
    assert 20 < found.fmax_mhz < 200 and found.nextpnr.startswith("0.")
