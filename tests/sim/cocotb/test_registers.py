"""Encoders behind registers: AXI4-Lite and the streams under the bus models of cocotbext-axi."""

from functools import cache

import pytest

from mxcast.hdl import HardwareConfig, converter_config, nvfp4_config, verilog
from mxcast.hdl.emission.around import controlled

from ...hdl.planted import planted
from .test_axis import NAME, drive
from .test_regression import needs_icarus

PLAIN = converter_config("e2m1", lanes=4, interface="axis", target="xcu", block_size=16)
MODES = converter_config(
    "e4m3,e5m2,int8", lanes=4, interface="axis", block_size=8, rounding="sr", random_bits=5, registered_after="input"
)
NVFP4 = nvfp4_config("nvfp4", lanes=4, interface="axis")
ALL = {"registers": True, "packets": True, "full_rate": True, "counters_stop": True}


@cache
def texts(config: HardwareConfig) -> tuple[str, str]:
    """The encoder, and the module with registers around it."""
    return verilog(config, NAME), controlled(config, NAME)


def driven(config: HardwareConfig, text: str, folder, simulator: str, packets: int) -> dict[str, bool]:
    deposits = simulator == "icarus" and config.is_even  # Verilator keeps no internal signals
    whole = f"{texts(config)[0]}\n{text}"
    top = f"{NAME}_axil"
    return drive(
        config, whole, folder, simulator, packets, top=top, bench="axil_registers", more={"deposits": deposits}
    )


@pytest.mark.parametrize(
    "simulator", [pytest.param("verilator", marks=pytest.mark.slow), pytest.param("icarus", marks=needs_icarus)]
)
def test_modes_seed_and_counters(simulator, tmp_path):
    found = driven(MODES, texts(MODES)[1], tmp_path, simulator, 40)
    assert found == ALL


@needs_icarus
def test_counters_of_one_mode(tmp_path):
    assert driven(PLAIN, texts(PLAIN)[1], tmp_path, "icarus", 40) == ALL


@needs_icarus
def test_constants_of_tensors(tmp_path):
    assert driven(NVFP4, texts(NVFP4)[1], tmp_path, "icarus", 20) == ALL


WHOLE = {
    "modes": converter_config("e4m3,e5m2", interface="axis", block_size=8, rounding="sr", random_bits=5),
    "4 over 6": nvfp4_config("nvfp4", interface="axis", order="paper", four_over_six="mae"),
}


@pytest.mark.slow
@pytest.mark.parametrize("config", WHOLE.values(), ids=WHOLE)
def test_registers_around_whole_blocks(config, tmp_path):
    assert driven(config, texts(config)[1], tmp_path, "verilator", 40) == ALL


PACKED = {
    "a block in bytes": nvfp4_config("nvfp4", lanes=4, interface="axis", scale_place="before"),
    "a code in a byte": converter_config("e3m2", lanes=8, interface="axis", layout="torchao"),
}


@pytest.mark.sampled(2)
@needs_icarus
@pytest.mark.parametrize("name", PACKED)
def test_registers_around_packed_blocks(name, tmp_path):
    """Codes in bytes are counted; blocks with their scales are not."""
    config = PACKED[name]
    assert driven(config, texts(config)[1], tmp_path, "icarus", 20) == ALL


BUGS = {
    "a new mode does not wait": (r"assign waits = [^;]*;", "assign waits = 1'h0;"),
    "a seed restarts inside a packet": (r"assign restart = [^;]*;", "assign restart = restarts;"),
    "random bits step without a beat": (r"= takes \? (step\d_2) : state\d;", r"= \1;"),
    "beats without bytes begin a packet": (r"assign takes = [^;]*;", "assign takes = s_axis_tvalid & s_axis_tready;"),
    "a counter wraps": (r"zeros_added\[32\] \? 32'd4294967295 : ", ""),
    "a counter is not cleared": (r"(zeros_added\[32\][^\n]*\n  assign \w+ = )clear_pulse \? 32'd0 : ", r"\1"),
    "byte strobes are not used": (r"write_strobes\[0\] \? (write_data\[\d+\]) : seed_setting\[\d+\]", r"\1"),
    "an answer does not wait": (r"= s_axil_rvalid & s_axil_rready;", "= s_axil_rvalid;"),
    "a refused write is answered by OKAY": (r"is_accepted \? 2'h0 : 2'h2", "2'h0"),
    "a mode that is missing is accepted": (r"assign mode_accepted = [^;]*;", "assign mode_accepted = writes_mode;"),
}


OF_CONSTANTS = {
    "constants change inside a packet": (
        r"assign takes_constants = [^;]*;",
        "assign takes_constants = constants_wait;",
    ),
    "one constant is taken too early": (r"takes_constants \? k_setting : k_of_packets", "k_setting"),
}


@pytest.mark.sampled(2)
@needs_icarus
@pytest.mark.parametrize("bug", OF_CONSTANTS)
def test_planted_bugs_of_constants_are_found(bug, tmp_path):
    text = planted(texts(NVFP4)[1], *OF_CONSTANTS[bug])
    assert driven(NVFP4, text, tmp_path, "icarus", 40) != ALL


@pytest.mark.sampled(6)
@needs_icarus  # which compiles sooner
@pytest.mark.parametrize("bug", BUGS)
def test_planted_bugs_are_found(bug, tmp_path):
    text = planted(texts(MODES)[1], *BUGS[bug])
    assert driven(MODES, text, tmp_path, "icarus", 20) != ALL
