"""Encoders with AXI4-Stream under the bus models of cocotbext-axi: packets of any length, stalls, resets."""

import json
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from xml.etree import ElementTree

import pytest

from mxcast.hdl import ConverterConfig, converter_config, verilog
from mxcast.sim.cocotb.regression import PROCESS, environment_for
from mxcast.sim.run.verilator.runtime import cocotb_library, take_library

from ...configurations import ELEMENTS
from .test_regression import needs_icarus

ROOT = Path(__file__).resolve().parents[3]
E4M3 = converter_config("e4m3", lanes=8, interface="axis", target="ecp5", registered_after="level3,normalised")
E2M1 = converter_config("e2m1", lanes=4, interface="axis", target="xcu", block_size=16)
E3M2 = converter_config("e3m2", lanes=2, interface="axis", block_size=8, registered_after="input,rounded")
NAME = "narrow_axis"


def drive(
    config: ConverterConfig,
    text: str,
    folder: Path,
    simulator: str,
    packets: int,
    resets: int = 5,
    *,
    top: str = NAME,
    bench: str = "axis_packets",
    more: Mapping[str, bool] = MappingProxyType({}),
) -> dict[str, bool]:
    """Whether each test of a bench in this folder passes."""
    (folder / f"{NAME}.v").write_text(text)
    job = {**config.to_dict(), "packets": packets, "resets": resets, "seed": 1, **more}
    (folder / "job.json").write_text(json.dumps(job))
    asked = {"simulator": simulator, "source": f"{NAME}.v", "top": top, "results": "results.xml", "seed": 1}
    asked |= {"waves": False, "bench": f"tests.sim.cocotb.{bench}"}
    environment = environment_for(simulator)
    if simulator == "verilator":
        take_library(cocotb_library(environment), folder, environment)
    subprocess.run(
        [sys.executable, PROCESS],
        cwd=folder,
        input=json.dumps(asked).encode(),
        capture_output=True,
        env={**environment, "PYTHONPATH": str(ROOT), "MXCAST_BENCH": str(folder / "job.json")},
    )
    found = ElementTree.parse(folder / "results.xml").iter("testcase")
    return {case.get("name", "?"): case.find("failure") is None and case.find("error") is None for case in found}


ALL = {"packets": True, "full_rate": True, "resets": True}


@pytest.mark.parametrize("simulator", ["verilator", pytest.param("icarus", marks=needs_icarus)])
def test_packets_have_the_bits_of_the_model(simulator, tmp_path):
    assert drive(E4M3, verilog(E4M3, NAME), tmp_path, simulator, 60) == ALL


@needs_icarus
@pytest.mark.parametrize("config", [E2M1, E3M2], ids=["e2m1", "e3m2"])
def test_packets_of_other_widths(config, tmp_path):
    assert drive(config, verilog(config, NAME), tmp_path, "icarus", 60) == ALL


@pytest.mark.slow
@pytest.mark.parametrize("element", ELEMENTS)
@pytest.mark.parametrize("simulator", ["verilator", pytest.param("icarus", marks=needs_icarus)])
def test_many_packets(element, simulator, tmp_path):
    config = converter_config(element, lanes=8, interface="axis", target="xcu")
    assert drive(config, verilog(config, NAME), tmp_path, simulator, 10_000, 200) == ALL


BUGS = {
    "last of a packet lost": (r"(assign m_axis_tlast = )o_marks\[0\]", r"\1o_marks[0] & o_marks[2]"),
    "completed block not marked": (r"(assign m_axis_tuser = )o_marks\[2\]", r"\g<1>1'h0"),
    "numbers without bytes are not zeros": (r"~ s_axis_tkeep\[31\]", "1'h0"),
    "packet not completed": (r"assign pads = [^;]*;", "assign pads = 1'h0;"),
    "scale overwritten while it waits": (
        r"assign back_enable = [^;]*;",
        "assign back_enable = m_axis_tready | ~m_axis_tvalid;",
    ),
    "no reset of the store": (r"assign (\w+) = aresetn \? (\w+) : 3'h0;", r"assign \1 = \2;"),
}


@needs_icarus  # which compiles sooner
@pytest.mark.parametrize("bug", BUGS)
def test_planted_bugs_are_found(bug, tmp_path):
    pattern, replacement = BUGS[bug]
    text, count = re.subn(pattern, replacement, verilog(E4M3, NAME))
    assert count, f"{pattern} does not occur"
    assert drive(E4M3, text, tmp_path, "icarus", 30, 2) != ALL
