"""Encoders with lanes against the golden model: every block, in beats, under random gaps on both sides."""

import re

import pytest

from mxcast.hdl import ConverterConfig, converter_config, nvfp4_config, verilog
from mxcast.sim import test as regress
from mxcast.sim import verify
from mxcast.sim.run.verilator.verilated import driver_of

from ...configurations import ELEMENTS
from ...hdl.planted import planted
from ..cocotb.test_regression import needs_icarus

NAME = "narrow"

CONFIGS = [
    ("e4m3", {"lanes": 8, "target": "xcu"}),
    ("e2m1", {"lanes": 1, "target": "xcu", "block_size": 8, "input_subnormals": "flush", "registered_after": "key"}),
    ("e5m2", {"lanes": 2, "rounding": "sr", "random_bits": 5, "registered_after": "input,output"}),
    ("e4m3,e5m2", {"lanes": 4, "scale_rule": "floor,ceil", "source": "fp16", "registered_after": "widened"}),
    ("int8", {"lanes": 16, "target": "xcu", "specials": "te", "registered_after": "top,distance,chosen"}),
    ("e4m3", {"lanes": 8, "interface": "skid", "target": "xcu"}),
    ("e2m1,int4", {"lanes": 2, "interface": "skid", "block_size": 4, "rounding": "sr", "registered_after": "input"}),
    ("e3m2", {"lanes": 8, "interface": "axis", "target": "ecp5", "registered_after": "level3,rounded"}),
    ("e2m3,e3m2", {"lanes": 1, "interface": "axis", "block_size": 8, "rounding": "sr", "random_bits": 3}),
    ("e4m3,e5m2", {"interface": "skid", "scale_rule": "floor,ceil", "registered_after": "level2,rounded"}),
    ("e2m1", {"interface": "axis", "layout": "ggml", "target": "xcu", "rounding": "sr", "random_bits": 4}),
]
MORE = [
    (element, {"lanes": lanes, "target": target, "input_subnormals": subnormals, **rules})
    for element in ELEMENTS
    for lanes, target, subnormals, rules in (
        (1, "xcu", "exact", {"scale_rule": "rceil"}),
        (2, "ecp5", "flush", {"specials": "drop", "registered_after": "key,output"}),
        (4, "asic", "exact", {"source": "bf16", "zero": "positive"}),
        (8, "xcu", "flush", {"source": "fp16", "scale_rule": "even"}),
        (
            16,
            "generic",
            "exact",
            {"specials": "inf_scale", "element_subnormals": "flush", "registered_after": "level4"},
        ),
    )
]


@pytest.mark.sampled(8)
@pytest.mark.parametrize(
    ("element", "fields"), [*CONFIGS, *(pytest.param(*one, marks=pytest.mark.slow) for one in MORE)]
)
def test_lanes_give_the_bits_of_the_model(element, fields, record_property):
    result = verify(converter_config(element, **fields), blocks=5000)
    record_property("blocks", result.blocks)
    assert result.passed and result.blocks > 5000, result.report


EVERYWHERE = "level0,amax,leading,partials,nearest,scale_shifted,scale,rows,divisor,digits12,reciprocal,least2,entry"
NVFP4 = [
    {"source": "bf16", "lanes": 4, "registered_after": EVERYWHERE},
    {"source": "fp32", "lanes": 1, "interface": "skid"},
    {"source": "bf16", "lanes": 8, "interface": "axis", "order": "modelopt", "registered_after": "input,amax,factor"},
    {"source": "bf16", "lanes": 2, "interface": "axis", "rounding": "sr", "random_bits": 3},
    {"source": "bf16", "interface": "axis", "order": "paper", "four_over_six": "mae", "scale_place": "before"},
]


@pytest.mark.sampled(5, first=1)
@pytest.mark.parametrize("fields", NVFP4, ids=["registers", "skid", "axis", "random", "4 over 6"])
def test_lanes_of_nvfp4_give_the_bits_of_the_model(fields, record_property):
    result = verify(nvfp4_config("nvfp4", **fields), blocks=5000)
    record_property("blocks", result.blocks)
    assert result.passed and result.blocks > 5000, result.report


@pytest.fixture(scope="module")
def sound() -> tuple[ConverterConfig, str]:
    config = converter_config("e2m1", block_size=8, lanes=2)
    return config, verilog(config, NAME)


FIRST_READ = r"(narrow_beat_codes beat_codes \([^;]*\.is_first\()\w+\)"
STORED = r"(narrow_block_store block_store \([^;]*\.{}\(){}\)"

BUGS = {
    "dropped beat": (
        r"assign (enable|writes) = i_valid & i_ready;",
        r"assign \1 = i_valid & i_ready & ~(has_block & (write_beat == 2'h2));",
        "no result|expected|before its|after the latency",
    ),
    "doubled beat": (r"o_valid <= reads;", "o_valid <= reads | (o_valid & o_last);", "o_first or o_last|before its"),
    "exchanged beats": (STORED.format("write_beat", "write_beat"), r"\1write_beat ^ 2'h1)", "expected"),
    "amax of the previous block": (r"(\.is_first\()is_first\)", r"\g<1>1'h0)", "scale expected"),
    "scale of every beat": (FIRST_READ, r"\g<1>1'h1)", "o_first or o_last|scale changes within result"),
    "scale one beat late": (FIRST_READ, r"\1read_beat == 2'h1)", "o_first or o_last|scale changes within result"),
    "store overwritten one beat early": (
        r"assign i_ready = [^;]*;",
        "assign i_ready = 1'h1;",
        "expected|before its|after the",
    ),
    "a cycle lost for each block": (
        r"assign i_ready = ([^;]*);",
        r"assign i_ready = (\1) & ~(has_block & (write_beat == 2'h0) & (read_beat == 2'h0));",
        "no beat could enter although nothing waited",
    ),
    "no reset of the counters": (r"rst \? 2'h0 : ", "", "o_first or o_last|before its|expected"),
    "last beat not marked": (r"(\.o_last\()o_last\)", r"\1)", "o_first or o_last is wrong"),
    "result changes while it waits": (
        r"(narrow_beat_codes beat_codes \([^;]*\.enable\()back_enable\)",
        r"\1back_enable | reads | i_valid)",
        "changed while it was not taken",
    ),
}


@pytest.mark.sampled(6)
@pytest.mark.parametrize("bug", BUGS)
def test_planted_bugs_are_found(bug, sound):
    config, text = sound
    *edit, sentence = BUGS[bug]
    text = planted(text, *edit)
    result = verify(config, blocks=2000, design=driver_of(text, NAME, config, lint=False))
    assert not result.passed and re.search(sentence, result.report), result.report


ELASTIC_BUGS = {
    "ready follows ready": [
        (r"reg i_ready;", "reg ready_q;\n  assign i_ready = ready_q & (o_ready | ~o_valid);"),
        (r"i_ready <=", "ready_q <="),
    ],
    "valid waits for ready": [
        (r"reg o_valid;", "reg valid_q;\n  assign o_valid = valid_q & o_ready;"),
        (r"o_valid <=", "valid_q <="),
    ],
    "key replaced before it is used": [(r"(assign \w+ = )key_waits_(moved|stopped) & \w+;", r"\g<1>1'h0;")],
    "half overwritten while it is read": [(r"(assign can_write_(moved|stopped) = \w+ \? )\w+", r"\g<1>1'h1")],
}


@pytest.mark.sampled(2)
@pytest.mark.parametrize("bug", ELASTIC_BUGS)
def test_planted_bugs_of_two_blocks_are_found(bug):
    config = converter_config("e2m1", block_size=8, lanes=2, interface="skid")
    text = verilog(config, NAME)
    for pattern, replacement in ELASTIC_BUGS[bug]:
        text = planted(text, pattern, replacement)
    result = verify(config, blocks=2000, design=driver_of(text, NAME, config, lint=False))
    assert not result.passed and result.report


@pytest.mark.slow
@pytest.mark.sampled(2)
@pytest.mark.parametrize("simulator", ["verilator", pytest.param("icarus", marks=needs_icarus)])
def test_the_bench_streams_beats(simulator, tmp_path, record_property):
    config = converter_config("e2m1", block_size=8, lanes=2, scale_rule="floor,ceil", rounding="sr", random_bits=2)
    result = regress(config, simulator=simulator, out=tmp_path, random_blocks=200)
    record_property("blocks", result.comparisons)
    assert result.passed, result.report
    assert min(result.tests[name] for name in ("full_rate", "interleaved", "random mode 0", "random mode 1")) > 50


@pytest.mark.sampled(3, first=1)
@needs_icarus
@pytest.mark.parametrize(
    "config",
    [
        converter_config("e2m1", block_size=8, lanes=2, interface="skid", registered_after="input"),
        converter_config("e2m1", block_size=8, lanes=2, interface="axis"),
        nvfp4_config("nvfp4", source="bf16", lanes=4, order="modelopt", interface="axis"),
    ],
    ids=["skid", "axis", "nvfp4"],
)
def test_the_bench_takes_every_interface(config, tmp_path):
    """Ready may be low at the first edge after a reset."""
    result = regress(config, simulator="icarus", out=tmp_path, random_blocks=50)
    assert result.passed, result.report


@pytest.mark.sampled(3)
@needs_icarus  # which compiles sooner
@pytest.mark.parametrize("bug", ["doubled beat", "exchanged beats", "store overwritten one beat early"])
def test_the_bench_finds_planted_bugs(bug, sound, tmp_path):
    config, text = sound
    file = tmp_path / "planted.v"
    file.write_text(planted(text, *BUGS[bug][:2]))
    result = regress(config, simulator="icarus", out=tmp_path, name=NAME, verilog=file, random_blocks=100)
    assert not result.passed and {"full_rate", "interleaved"} & result.failures.keys(), result.report
