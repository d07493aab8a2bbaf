"""Decoders with lanes against the golden model: every block, in beats, under random gaps on both sides."""

import re

import pytest

from mxcast.hdl import decoder_config, nvfp4_decoder_config, verilog
from mxcast.sim import test as regress
from mxcast.sim import verify
from mxcast.sim.run.verilator.verilated import driver_of
from mxcast.spec import ELEMENTS

from ...hdl.planted import planted
from ..cocotb.test_regression import needs_icarus

NAME = "narrow"

CONFIGS = [
    ("e4m3", {"lanes": 8, "target": "xcu"}),
    ("int8", {"lanes": 2, "block_size": 8, "interface": "skid", "registered_after": "input,sum"}),
    ("e2m3", {"lanes": 1, "block_size": 8, "interface": "axis", "destination": "bf16", "rounding": "sr"}),
]
MORE = [
    (element, {"lanes": lanes, "target": target, "interface": interface, **rules})
    for element in ELEMENTS
    for lanes, target, interface, rules in (
        (1, "xcu", "stream", {"registered_after": "input,read,output"}),
        (2, "ecp5", "skid", {"destination": "bf16", "rounding": "sr", "random_bits": 4}),
        (4, "asic", "axis", {"destination": "fp16", "registered_after": "sum"}),
        (16, "xcu", "axis", {}),
    )
]


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("element", "fields"), [*CONFIGS, *(pytest.param(*one, marks=pytest.mark.slow) for one in MORE)]
)
def test_lanes_give_the_bits_of_the_model(element, fields, record_property):
    result = verify(decoder_config(element, **fields), blocks=2000)
    record_property("blocks", result.blocks)
    assert result.passed and result.blocks > 2000, result.report


NVFP4 = [
    ("nvfp4_te", {"lanes": 4, "destination": "bf16"}),
    ("nvfp4_ao", {"lanes": 1, "interface": "skid", "registered_after": "input,scaled"}),
    ("nvfp4_modelopt", {"lanes": 8, "interface": "axis", "registered_after": "scaled,products"}),
    ("nvfp4_compressed_tensors", {"interface": "axis"}),
]


@pytest.mark.sampled(6)
@pytest.mark.parametrize(("profile", "fields"), NVFP4, ids=[profile for profile, _ in NVFP4])
def test_lanes_of_nvfp4_give_the_bits_of_the_model(profile, fields, record_property):
    result = verify(nvfp4_decoder_config("nvfp4", profile, **fields), blocks=2000)
    record_property("blocks", result.blocks)
    assert result.passed and result.blocks > 2000, result.report


CONFIG = decoder_config("e2m1", block_size=8, lanes=2)
FIRST = r"(narrow_beat_numbers beat_numbers \([^;]*\.is_first\()\w+\)"
BUGS = {
    "scale of every beat": (FIRST, r"\g<1>1'h1)", "o_first or o_last|expected"),
    "scale kept from the last beat": (
        r"assign (_\d+_) = enable & is_first;",
        r"assign \1 = enable & is_last;",
        "expected",
    ),
    "scale of the block before": (FIRST, r"\1beat == 2'h1)", "o_first or o_last|expected"),
    "last beat not marked": (r"(\.o_last\()o_last\)", r"\1)", "o_first or o_last is wrong"),
    "beats counted without valid": (
        r"assign reads = i_valid & i_ready;",
        "assign reads = i_ready;",
        "before its|expected",
    ),
    "no reset of the place": (r"\{ rst, reads \} != 2'h0", "reads", "o_first or o_last|expected"),
    "a result changes while it waits": (
        r"(narrow_beat_numbers beat_numbers \([^;]*\.enable\()i_ready\)",
        r"\1i_ready | i_valid)",
        "changed while it was not taken|o_first or o_last",
    ),
}


@pytest.mark.sampled(2)
@pytest.mark.parametrize("bug", BUGS)
def test_planted_bugs_are_found(bug):
    pattern, replacement, sentence = BUGS[bug]
    text = planted(verilog(CONFIG, NAME), pattern, replacement)
    result = verify(CONFIG, blocks=1000, design=driver_of(text, NAME, CONFIG, lint=False))
    assert not result.passed and re.search(sentence, result.report), result.report


@pytest.mark.parametrize(
    ("pattern", "replacement"),
    [
        (r"assign i_ready = ~ beat_held;", "assign i_ready = ~ beat_held & o_ready;"),
        (r"if \(!beat_held\) beat_p_held_q", "beat_p_held_q"),
    ],
    ids=["ready follows ready", "a held beat is overwritten"],
)
def test_planted_bugs_of_a_held_beat_are_found(pattern, replacement):
    config = decoder_config("e2m1", block_size=8, lanes=2, interface="skid")
    text = planted(verilog(config, NAME), pattern, replacement)
    result = verify(config, blocks=1000, design=driver_of(text, NAME, config, lint=False))
    assert not result.passed and result.report


@needs_icarus
def test_the_bench_streams_beats(tmp_path, record_property):
    result = regress(CONFIG, simulator="icarus", out=tmp_path, random_blocks=200)
    record_property("blocks", result.comparisons)
    assert result.passed, result.report
    assert min(result.tests[name] for name in ("full_rate", "interleaved", "pairs", "random")) > 50
