"""Unknown inputs: what the bench says of X planted where numbers alone do not show it. Icarus, which has four
states.
"""

import re

import numpy as np
import pytest

from mxcast.hdl import converter_config, verilog
from mxcast.sim import test as regress
from mxcast.sim.check import unknowns

from ...configurations import in_turn
from ..cocotb.test_regression import needs_icarus

NAME = "planted"
STOCHASTIC = converter_config("e2m1", rounding="sr", random_bits=5, block_size=4)
THREE_MODES = converter_config("e4m3,e5m2,e3m4", block_size=4)
CODE = r"(?<=  assign p = )[^;]*(?=;)"

LATCH = """
  reg was_unknown;
  initial was_unknown = 1'h0;
  always @(x) if (^x === 1'hx) was_unknown = 1'hx;
"""


def planted(config, pattern: str, replacement: str, folder):
    """The regression on Icarus of an edited file, and the names of its tests that failed, without their modes."""
    text, count = re.subn(pattern, replacement, verilog(config, NAME))
    assert count == 1, f"{pattern} occurs {count} times"
    file = folder / "planted.v"
    file.write_text(text)
    result = regress(config, simulator="icarus", out=folder, name=NAME, verilog=file, random_blocks=100)
    return result, {name.split(" mode ")[0] for name in result.failures}


@needs_icarus
@pytest.mark.parametrize(
    "pattern, replacement, found_by",
    [
        (r"(?<=assign p = nan \? )4'h0", "4'hx", {"nan", "inf", "nan_and_inf"}),  # a constant
        (r"(?<=assign saturates = )", "(x == 32'h3f800000) ? 1'hx : ", {"one_element", "all_equal"}),  # one number
        (r"(?<=assign is_gone = )", "(field == 10'h3ff) ? 1'hx : ", {"boundary"}),  # one distance
    ],
    ids=["special_blocks", "one", "one_distance"],
)
def test_unknown_outputs_of_known_inputs_are_found(pattern, replacement, found_by, tmp_path):
    result, failed = planted(STOCHASTIC, pattern, replacement, tmp_path)
    assert not result.passed and found_by <= failed, result.report
    for name in found_by:
        assert "unknown bits in the outputs: scale " in result.failures[name] and "for x 0x" in result.failures[name]
    assert "to repeat: mxcast test mxfp4_e2m1" in result.report


@pytest.mark.sampled(2)
@needs_icarus
@pytest.mark.parametrize(
    "config, pattern, replacement, found_by",
    [
        (STOCHASTIC, CODE, r"(\g<0>) ^ {4{random[0] ^ random[0]}}", "unknown_random"),  # where no random bit is used
        (STOCHASTIC, CODE, r"(random[0] === 1'hx) ? 4'h5 : (\g<0>)", "unknown_random"),  # known, and wrong
        (STOCHASTIC, r"(?<=assign magnitude = )saturates[^;]*(?=;)", r"(\g<0>) ^ {3{x[31] ^ x[31]}}", "unknown_signs"),
        (
            STOCHASTIC,
            r"(?<=  assign scale = )[^;]*(?=;)",
            r"(^key === 1'hx) ? 8'h7f : (\g<0>)",
            "unknown_start",
        ),  # as with two states
        (THREE_MODES, CODE, r"(mode == 2'h3) ? 8'hx : (\g<0>)", "unknown_mode"),  # a mode that there is not
        (THREE_MODES, CODE, r"(^mode === 1'hx) ? 8'h00 : (\g<0>)", "unknown_mode"),  # known, and wrong
    ],
    ids=[
        "unused_random_bits",
        "guessed_random_bits",
        "sign_in_the_magnitude",
        "guessed_start",
        "no_mode",
        "guessed_mode",
    ],
)
def test_what_only_unknown_inputs_show_is_found(config, pattern, replacement, found_by, tmp_path):
    """Under known inputs of existing modes these are the right design."""
    result, failed = planted(config, pattern, replacement, tmp_path)
    assert not result.passed and failed == {found_by}, result.report


@needs_icarus
def test_a_latched_x_is_found(tmp_path):
    """A register that an X once came into. Nothing else than its start is unknown: on two states it is the right
    design.
    """
    text = verilog(STOCHASTIC, NAME)
    end = text.index("  assign p = ")
    text = re.sub(CODE, r"(\g<0>) ^ {4{was_unknown}}", text[:end] + LATCH + text[end:])
    file = tmp_path / "planted.v"
    file.write_text(text)
    result = regress(STOCHASTIC, simulator="icarus", out=tmp_path, name=NAME, verilog=file, random_blocks=10)
    assert "unknown bits in the outputs" in result.failures["unknown_start"]
    assert regress(STOCHASTIC, out=tmp_path, name=NAME, verilog=file, random_blocks=10).passed


@needs_icarus
@pytest.mark.parametrize("element, source", in_turn(["e3m0", "e4m0_nan_only", "e1m0"], ["fp32", "fp16"], 2))
def test_the_unused_constant_reaches_no_output(element, source, tmp_path):
    """Without fraction bits nor a bit to round by, an X is printed for a bit that nobody reads."""
    config = converter_config(element, rounding="rtz", source=source, block_size=8)
    assert "1'hx" in verilog(config)
    result = regress(config, simulator="icarus", out=tmp_path, random_blocks=200)
    assert result.passed, result.report


@needs_icarus
@pytest.mark.parametrize(
    "formats, rules",
    [
        pytest.param(
            "e5m2",
            {"specials": "inf_scale", "input_subnormals": "flush", "element_subnormals": "flush"},
            marks=pytest.mark.slow,
        ),
        ("e4m3", {"specials": "drop", "source": "bf16", "scale_rule": "rceil"}),
        pytest.param("e4m3", {"specials": "te", "amax_key": "magnitude", "source": "fp16"}, marks=pytest.mark.slow),
        pytest.param("int8", {"specials": "te"}, marks=pytest.mark.slow),
        pytest.param("e2m1,int4", {"scale_rule": "floor,even"}, marks=pytest.mark.slow),
    ],
    ids=str,
)
def test_unknown_random_bits_stay_where_they_belong(formats, rules, tmp_path, record_property):
    config = converter_config(formats, rounding="sr", random_bits=3, block_size=8, **rules)
    result = regress(config, simulator="icarus", out=tmp_path, random_blocks=50)
    record_property("blocks", result.comparisons)
    assert result.passed, result.report
    assert set(unknowns.tests_of(config)) <= set(result.tests)
    assert sum(count for name, count in result.tests.items() if name.startswith("unknown_random")) > 500 * len(
        config.modes
    )


@pytest.mark.parametrize(
    "config",
    [STOCHASTIC, converter_config("int8", "te", rounding="sr", random_bits=2, block_size=4)],
    ids=["e2m1", "int8"],
)
def test_trials_ask_for_something(config):
    """Many bits must be known, but not all; with unknown random bits of one lane all bits of the other lanes."""
    rng = np.random.default_rng(3)
    patterns = rng.integers(0, 1 << 32, (64, 4), dtype=np.uint64).astype(np.uint32)
    patterns[:8, 2] = 0x7FC00000
    patterns[8:40] &= 0xBFFFFFFF  # neither NaN nor Inf
    bits = config.numerics.block.element.bits
    everything, lane = (1 << 4 * bits) - 1, (1 << bits) - 1
    signs = list(unknowns.sign_trials(config, 0, patterns, seed=1))
    assert len(signs) == 64 and all(
        trial.inputs["x"].count("X") == 4 and trial.known["scale"] == 0xFF for trial in signs
    )
    assert (
        any(trial.known["p"] != everything for trial in signs)
        and sum(trial.known["p"].bit_count() for trial in signs) > 64
    )
    trials = list(unknowns.random_trials(config, 0, patterns, seed=1))
    count = config.numerics.random_bits
    assert [trial.inputs["random"].count("X") for trial in trials] == [4 * count] * 64 + [count] * 64
    assert {trial.known["scale"] for trial in trials} == {0xFF}
    assert all(trial.known["p"] >> 2 * bits & lane == lane for trial in trials[:8]), "the code of a NaN"
    assert any(trial.known["p"] != everything for trial in trials[8:64])
    for row, trial in enumerate(trials[64:]):
        others = everything & ~(lane << bits * (row % 4))
        assert trial.known["p"] & others == others


def test_trials_of_modes():
    patterns = np.full((5, 4), 0x3F800000, np.uint32)
    trials = list(unknowns.mode_trials(THREE_MODES, patterns, seed=1))
    modes = [trial.inputs["mode"] for trial in trials]
    assert modes == ["11", "XX"] * 5
    everything, nothing = {"scale": 0xFF, "p": (1 << 32) - 1}, {"scale": 0, "p": 0}
    assert [trial.known for trial in trials] == [everything, nothing] * 5
    assert [len(trial.possible) for trial in trials] == [1, 3] * 5


def test_names_of_the_tests():
    assert unknowns.tests_of(converter_config("e4m3")) == ["unknown_start", "unknown_signs"]
    assert unknowns.tests_of(STOCHASTIC) == ["unknown_start", "unknown_signs", "unknown_random"]
    assert unknowns.tests_of(THREE_MODES)[-2:] == ["unknown_signs mode 2", "unknown_mode"]
