"""OpenSTA: the longest path and the energy of a block, in the cells of a small library that is written for the test."""

from __future__ import annotations

import itertools
import json
import re
import shutil
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from mxcast.cli import main
from mxcast.hdl import configuration
from mxcast.host.errors import ToolError, ToolMissing
from mxcast.sim.stimuli.weights import weights, weights_of
from mxcast.synth import synth
from mxcast.synth.asic.activity import simulated
from mxcast.synth.asic.liberty import asic_cells
from mxcast.synth.asic.timing import Blocks, opensta_version, timed
from mxcast.synth.synthesis import TOP, modules_of

from ..hdl.planted import edited
from .test_liberty import FUNCTIONS, _arc, library

needs_opensta = pytest.mark.skipif(shutil.which("sta") is None, reason="OpenSTA is not installed")

CONFIG = configuration("encode", "e2m1", block_size=2, target="asic", source="bf16")
PIN, VOLTAGE = 0.0015, 2.0
"""The capacitance of an input of a cell, in pF, and the voltage."""
ENERGY = 0.001
"""Energy in the units of the library of each edge of each output of a cell."""
POWER = (
    f'internal_power() {{ related_pin : "A"; rise_power(scalar) {{ values("{ENERGY}"); }} '
    f'fall_power(scalar) {{ values("{ENERGY}"); }} }}'
)

UNITS = "".join(
    [
        'voltage_unit : "1V"; current_unit : "1mA"; leakage_power_unit : "1nW"; nom_voltage : 2.0; ',
        *(f"{end}put_threshold_pct_{way} : 50; " for end in ("in", "out") for way in ("rise", "fall")),
        *(
            f"slew_{bound}_threshold_pct_{way} : {at}; "
            for bound, at in (("upper", 80), ("lower", 20))
            for way in ("rise", "fall")
        ),
        "operating_conditions(typical) { process : 1; voltage : 2.0; temperature : 25; } ",
        "default_operating_conditions : typical; time_unit",
    ]
)
"""Attributes that OpenSTA needs."""

CLOCKED = _arc("C", "non_unate").replace("timing_sense : non_unate", "timing_type : rising_edge")
SETUP = 'timing() { related_pin : "C"; timing_type : setup_rising; ' + "".join(
    f'{way}_constraint(scalar) {{ values("0.01"); }} ' for way in ("rise", "fall")
)
SETUP += "}"
"""The times of a flip-flop."""


@pytest.fixture
def cells(tmp_path: Path) -> Path:
    """A library with energies."""
    path = tmp_path / "cells.lib"
    text = re.sub(r"(function : \"[^I][^\"]*\";)", rf"\1 {POWER}", library()).replace("time_unit", UNITS, 1)
    text = edited(text, [("pin(D) { direction : input;", f"pin(D) {{ direction : input; {SETUP}")])
    path.write_text(edited(text, [('function : "IQ";', f'function : "IQ"; {CLOCKED}')]))
    return path


def blocks(repeat: int = 1) -> Blocks:
    given, expected = weights_of(CONFIG)
    return Blocks(*({name: bits.repeat(repeat, axis=0) for name, bits in part.items()} for part in (given, expected)))


def run(cells: Path, folder: Path, given: Blocks | None, text: str | None = None) -> object:
    folder.mkdir()
    return timed(text or modules_of(CONFIG), TOP, asic_cells(cells), folder, given)


def test_weights_are_those_of_the_package():
    from importlib.resources import files

    from safetensors.numpy import load

    tensors = load((files("mxcast.data") / "minilm_sample.safetensors").read_bytes())
    assert weights().size == sum(tensor.size for tensor in tensors.values())
    assert any(np.array_equal(weights()[: tensor.size], tensor.reshape(-1)) for tensor in tensors.values())


@needs_opensta
def test_energy_on_nets_is_half_c_v_squared(cells, tmp_path):
    """Without energy inside cells: of every net that switches, by the pins that it drives."""
    plain = tmp_path / "plain.lib"
    plain.write_text(cells.read_text().replace(POWER, ""))
    timing = run(plain, tmp_path / "plain", blocks())
    design, modules = (
        json.loads((tmp_path / "plain" / name).read_text())["modules"] for name in ("mapped.json", "cells.json")
    )
    nets = simulated(modules | {TOP: design[TOP]}, TOP, blocks().given)
    wanted = 0.0
    driven = [cell["connections"]["Y"][0] for cell in design[TOP]["cells"].values()]
    taken = Counter(
        bits[0] for cell in design[TOP]["cells"].values() for pin, bits in cell["connections"].items() if pin != "Y"
    )
    for net in driven:
        switches = np.count_nonzero(nets[net][1:] != nets[net][:-1]) / (len(blocks()) - 1)
        wanted += switches * 0.5 * taken[net] * PIN * VOLTAGE**2
    assert timing.energy_pj == round(wanted, 3) > 0.1
    assert run(cells, tmp_path / "inside", blocks()).energy_pj > timing.energy_pj


@pytest.mark.slow
@needs_opensta
def test_energy_is_that_of_the_blocks(cells, tmp_path):
    once, twice = (run(cells, tmp_path / str(times), blocks(times)) for times in (1, 2))
    count = len(blocks())
    assert (once.blocks, twice.blocks, once.voltage, once.opensta) == (count, 2 * count, VOLTAGE, opensta_version())
    # a block that follows itself switches nothing
    assert once.energy_pj > 0.1
    assert once.energy_pj * (count - 1) == pytest.approx(twice.energy_pj * (2 * count - 1), rel=4e-3)
    still = Blocks({name: bits[:1].repeat(9, axis=0) for name, bits in blocks().given.items()}, {})
    assert run(cells, tmp_path / "still", still).energy_pj == 0
    assert run(cells, tmp_path / "none", None).energy_pj is None
    (tmp_path / "bare.lib").write_text(cells.read_text().replace(POWER, "").replace("voltage : 2.0", "voltage : 0"))
    assert run(tmp_path / "bare.lib", tmp_path / "bare", blocks()).energy_pj is None


@needs_opensta
def test_the_longest_path_is_that_of_its_cells(cells, tmp_path):
    timing = run(cells, tmp_path / "given", None)
    assert len(timing.path) >= 10 and set(timing.path) <= {*FUNCTIONS, "in", "out"}
    assert 0.015 * len(timing.path) < timing.delay_ns < 0.3 * len(timing.path)
    doubled = re.sub(r"\d\.\d{5}", lambda delay: str(2 * float(delay[0])), cells.read_text())
    (tmp_path / "slow.lib").write_text(doubled)
    assert run(tmp_path / "slow.lib", tmp_path / "slow", None).delay_ns > 1.5 * timing.delay_ns


@needs_opensta
def test_a_netlist_with_other_results_is_refused(cells, tmp_path):
    given = blocks()
    wrong = {name: bits.copy() for name, bits in given.expected.items()}
    wrong["p"][7, 3] ^= True
    with pytest.raises(ToolError, match="the mapped design has another p than the golden model"):
        run(cells, tmp_path / "wrong", Blocks(given.given, wrong))


def test_cells_compute_their_functions():
    """All inputs of every cell, next to Python's reading of its function."""
    gate = {"!": "$_NOT_", "*": "$_AND_", "+": "$_OR_"}
    for kind, (a, b) in itertools.product(("*", "+"), itertools.product((False, True), repeat=2)):
        module = {
            "ports": {
                pin: {"direction": way, "bits": [bit]}
                for pin, way, bit in (("A", "input", 2), ("B", "input", 3), ("Y", "output", 5))
            },
            "cells": {
                "one": {"type": gate[kind], "connections": {"A": [2], "B": [3], "Y": [4]}},
                "other": {"type": gate["!"], "connections": {"A": [4], "Y": [5]}},
            },
        }
        design = {
            "ports": {"x": {"direction": "input", "bits": [2, 3]}},
            "cells": {"cell": {"type": "GATE", "connections": {"A": [2], "B": [3], "Y": [9]}}},
        }
        found = simulated({"top": design, "GATE": module}, "top", {"x": np.array([[a, b]])})
        assert found[9].tolist() == [not (a and b if kind == "*" else a or b)]


def test_a_register_has_no_function():
    module = {
        "ports": {"D": {"direction": "input", "bits": [2]}, "Q": {"direction": "output", "bits": [3]}},
        "cells": {"flip": {"type": "$_DFF_P_", "connections": {"D": [2], "C": [4], "Q": [3]}}},
    }
    design = {
        "ports": {"x": {"direction": "input", "bits": [2]}},
        "cells": {"q": {"type": "DFF", "connections": {"D": [2], "Q": [3]}}},
    }
    with pytest.raises(ValueError, match="the cell DFF has a register, or no function"):
        simulated({"top": design, "DFF": module}, "top", {"x": np.array([[True]])})


@needs_opensta
def test_registers_have_a_period_and_no_energy(cells, cache):
    """The period is of the longest path between registers, not only of ports."""
    periods = []
    for fields in ({"registered_after": "scale,output"}, {"lanes": 1}, {"lanes": 1, "interface": "axis"}):
        config = configuration("encode", "e2m1", block_size=2, target="asic", **fields)
        timing = synth(config, "asic", liberty=cells, stages=False, blocks_of=weights_of).timing
        assert timing is not None and timing.energy_pj is None
        assert "DFF" in timing.path and len(timing.path) > 8, fields
        periods.append(timing.delay_ns)
    assert min(periods) > 0.2, periods


@pytest.mark.slow
@pytest.mark.sampled(4)
@needs_opensta
@pytest.mark.parametrize(
    "config",
    [
        configuration("encode", "e2m1", target="asic", source="bf16", layout="ggml"),
        configuration("decode", "e2m1", target="asic", destination="bf16", layout="ggml"),
        configuration("encode", "e2m1", target="asic", block_size=2, rounding="sr", random_bits=2),
        configuration("encode", "e2m1,e3m0", target="asic", block_size=2, scale_rule="floor,ceil"),
    ],
    ids=["layout", "decoder with a layout", "random bits", "modes"],
)
def test_all_pins_have_blocks(config, cells, cache):
    """A netlist whose results differ from the golden model would be refused."""
    timing = synth(config, "asic", liberty=cells, stages=False, blocks_of=weights_of).timing
    assert timing is not None and timing.energy_pj is not None and timing.energy_pj > 0


@needs_opensta
def test_the_command_shows_time_and_energy(cells, cache, capsys):
    assert main(["synth", "e2m1", "--set", "block_size=2", "--liberty", str(cells), "--sta"]) == 0
    shown = capsys.readouterr().out
    assert re.search(r"\bns +pJ\b", shown) and "OpenSTA" in shown and "at 2.0 V" in shown


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--sta"], "--sta needs the cells of a library: give --liberty too"),
        (["--sta", "--liberty", "plain.lib"], "OpenSTA needs a Liberty file with delays"),
    ],
)
def test_what_it_needs_is_said(arguments, sentence, tmp_path, monkeypatch, cache, capsys):
    monkeypatch.chdir(tmp_path)
    Path("plain.lib").write_text(library(timed=False))
    assert main(["synth", "e2m1", "--set", "block_size=2", *arguments]) != 0
    assert sentence in capsys.readouterr().err


def test_opensta_may_be_missing(monkeypatch):
    monkeypatch.setenv("PATH", "")
    with pytest.raises(ToolMissing, match="OpenSTA is missing: apt-get install opensta"):
        opensta_version()
