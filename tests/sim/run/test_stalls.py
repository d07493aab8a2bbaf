"""Converters with registers: equal to the golden model whatever waits for what, and what is late, lost or doubled is
found.
"""

import re

import numpy as np
import pytest

from mxcast.hdl import ConverterConfig, converter_config, verilog
from mxcast.models import quantize
from mxcast.proof import prove
from mxcast.proof.solve.argument import Status
from mxcast.sim import test as regress
from mxcast.sim import verify, verilate
from mxcast.sim.run.verilator.handshake import HandshakeError
from mxcast.sim.run.verilator.verilated import Verilated, driver_of

from ..cocotb.test_regression import needs_icarus

NAME = "stalled"


def everywhere(block: str, profile: str = "ocp", **rules: object) -> ConverterConfig:
    """With registers at all places."""
    return converter_config(block, profile, registered_after=converter_config(block, profile, **rules).stages, **rules)


WIDE = "e4m3", "te", {"source": "fp16", "block_size": 2}  # widened, and what NaN and Inf do last
MODES = "e2m1,int4", "ocp", {"scale_rule": "floor,ceil", "rounding": "sr", "random_bits": 5, "block_size": 4}


def test_a_design_says_with_which_gaps_it_failed():
    config = converter_config("e2m1", block_size=2, registered_after="key,scale")
    design, x = verilate(config), np.ones((50, 2), np.float32)
    seeded = Verilated(design.driver.seeded(7), design.modes)
    assert np.array_equal(seeded(x).codes, quantize(x, config.numerics).codes)
    seeded.driver.latency = 3
    with pytest.raises(
        HandshakeError, match="a result did not come after the latency: after 0 results, with the gaps of seed 7"
    ):
        seeded(x)


BUGS = {  # pattern, replacement, whose fault it is
    "skew_of_x": (
        r"x_1_scale_q <= [^;]*;",
        "x_1_scale_q <= x[63:32];",
        "registers between a block and its result: 3 or 4, not 4",
    ),
    "skew_of_the_scale": (
        r"<= scale_normalised_q;",
        "<= ~not_scale_scale_q;",
        "registers between a block and its result: 3 or 4, not 4",
    ),
    "register_without_enable": (
        r"if \(enable\) top_normalised_q",
        "top_normalised_q",
        "storage other than registers with an enable",
    ),
    "valid_bit_not_reset": (r"if \(rst\) valid_scale_q <= 1'h0;\s*else if", "if", "the valid bits are not a chain"),
    "valid_bit_missing": (
        r"(<= )valid_scale_q;",
        r"\1valid_level1_q;",
        "the valid bits are not a chain|registers between i_valid and o_valid: 3, not 4",
    ),
    "ready_without_valid": (
        r"assign i_ready = [^;]*;",
        "assign i_ready = o_ready;",
        "i_ready is not: o_ready, or not o_valid",
    ),
    "ready_always": (r"assign i_ready = [^;]*;", "assign i_ready = 1;", "enable|i_ready"),
    "data_seen_by_valid": (
        r"assign p = \{ p_1",
        "assign p = {8{i_valid}} & { p_1",
        "valid, ready or reset reach the data",
    ),
}
"""In a converter with registers at level1, scale, normalised and output."""


@pytest.fixture(scope="module")
def sound() -> tuple[ConverterConfig, str]:
    config = converter_config("e2m1", block_size=2, registered_after="level1,scale,normalised,output")
    return config, verilog(config, NAME)


@pytest.mark.parametrize("bug", BUGS)
def test_planted_bugs_are_found(bug, sound, tmp_path):
    """By blocks with gaps, and by the proof, which says why it proves nothing."""
    config, text = sound
    pattern, replacement, sentence = BUGS[bug]
    text, count = re.subn(pattern, replacement, text)
    assert count == 1, f"{pattern} occurs {count} times"
    result = verify(config, blocks=3000, design=driver_of(text, NAME, config, lint=False))
    assert not result.passed and result.report
    file = tmp_path / f"{NAME}.v"
    file.write_text(text)
    proof = prove(config, rtl=file)
    assert proof.status is Status.FAIL and re.search(sentence, proof.remark), proof.remark
    assert proof.counterexample.report


@pytest.mark.parametrize("simulator", ["verilator", pytest.param("icarus", marks=needs_icarus)])
def test_the_bench_streams_blocks(simulator, tmp_path, record_property):
    config = everywhere("e2m1", scale_rule="floor,ceil", rounding="sr", random_bits=2, block_size=2, source="fp16")
    result = regress(config, simulator=simulator, out=tmp_path, random_blocks=200)
    record_property("blocks", result.comparisons)
    assert result.passed, result.report
    assert (
        min(result.tests[name] for name in ("full_rate", "interleaved", *(f"random mode {mode}" for mode in range(2))))
        > 50
    )


@needs_icarus  # which compiles sooner
def test_the_bench_finds_a_skew(sound, tmp_path):
    config, text = sound
    file = tmp_path / "planted.v"
    file.write_text(re.sub(*BUGS["skew_of_x"][:2], text))
    result = regress(config, simulator="icarus", out=tmp_path, name=NAME, verilog=file, random_blocks=200)
    assert not result.passed and re.search("element 1: input|unknown bits in result", result.failures["full_rate"])


def test_the_proof_has_the_latency_of_the_configuration(sound):
    for latency, netlist, sentence in (
        (3, None, "latency must be .*, not 3"),
        (0, "ecp5", "a netlist must have no registers to be proved"),
    ):
        with pytest.raises(ValueError, match=sentence):
            prove(sound[0], latency=latency, netlist=netlist)
