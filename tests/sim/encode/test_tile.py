"""Tile encoders against the golden model: rows and columns of every tile, under random gaps on both sides."""

from __future__ import annotations

import re

import numpy as np
import pytest

import mxcast
from mxcast.hdl import TileConfig, tile_config, verilog
from mxcast.models import quantize_both_ways
from mxcast.models.exact.tile import quantize_tile
from mxcast.sim import test as regress
from mxcast.sim import verify
from mxcast.sim.operations import golden, of
from mxcast.sim.run.verilator.verilated import driver_of
from mxcast.spec import ELEMENTS, Role, tile_encoding

from ...hdl.planted import planted
from ..cocotb.test_regression import needs_icarus

NAME = "square"

CONFIGS = [
    ("e2m1", {"source": "bf16", "block_size": 4, "target": "xcu"}),
    (
        "e4m3",
        {"block_size": 8, "input_subnormals": "flush", "columns": "in_place", "registered_after": "level2,output"},
    ),
    ("int8", {"block_size": 2, "source": "fp16", "specials": "te", "registered_after": "input,widened,key,aligned"}),
]
MORE = [
    (element, {"block_size": size, "target": target, "input_subnormals": subnormals, "columns": columns, **rules})
    for element in ELEMENTS
    for size, target, subnormals, columns, rules in (
        (32, "xcu", "exact", "transposed", {"scale_rule": "rceil", "source": "bf16"}),
        (32, "generic", "flush", "in_place", {"specials": "drop", "registered_after": "key,output"}),
        (16, "asic", "exact", "transposed", {"zero": "positive", "registered_after": "input,digit2,output"}),
        (8, "xcu", "flush", "transposed", {"source": "fp16", "scale_rule": "even", "registered_after": "top,distance"}),
        (4, "ecp5", "exact", "in_place", {"specials": "inf_scale", "element_subnormals": "flush"}),
    )
]


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("element", "fields"), [*CONFIGS, *(pytest.param(*one, marks=pytest.mark.slow) for one in MORE)]
)
def test_tiles_give_the_bits_of_the_model(element, fields, record_property):
    result = verify(tile_config(element, **fields), blocks=5000)
    record_property("blocks", result.blocks)
    assert result.passed and result.counts["random"] == -(-5000 // fields["block_size"]), result.report


@pytest.mark.parametrize("columns", ["transposed", "in_place"])
def test_the_golden_model_is_the_exact_definition(columns):
    rules = tile_encoding("e3m2", "te", block_size=4, columns=columns)
    tiles = of(rules).hard(64, 3)
    made = golden(rules, tiles)
    for row in range(0, len(tiles), 7):
        exact = quantize_tile(tiles[Role.NUMBERS][row].reshape(4, 4).tolist(), rules)
        for role, expected in zip((Role.ROW_SCALES, Role.CODES, Role.COLUMN_SCALES, Role.COLUMN_CODES), exact):
            assert made[role][row].tolist() == expected


@pytest.mark.parametrize("columns", ["transposed", "in_place"])
def test_a_verilated_design_takes_a_matrix(columns):
    design = mxcast.verilate("e2m1", op="tile", block_size=4, columns=columns)
    x = np.random.default_rng(2).normal(size=(12, 8)).astype(np.float32)
    assert design(x) == quantize_both_ways(x, "e2m1", columns=columns, block_size=4)
    with pytest.raises(ValueError, match=r"^x must be a matrix of 4 x 4 tiles, not of the shape \(4, 6\)$"):
        design(x[:4, :6])


@pytest.fixture(scope="module")
def sound() -> tuple[TileConfig, str]:
    config = tile_config("e2m1", source="bf16", block_size=4)
    return config, verilog(config, NAME)


def _of(module: str, port: str, signal: str) -> str:
    """A pattern for a port of the instances of a module, up to the signal."""
    return rf"({NAME}_{module} \w+ \([^;]*\.{port}\(){signal}\)"


BUGS = {
    "maximum of the previous tile": (_of("key_accumulator", "is_first", "writes_first"), r"\g<1>1'h0)", "column"),
    "maximum of the column without its last row": (
        _of("key_accumulator", "enable", "writes"),
        r"\1writes & ~(&write_beat))",
        "column",
    ),
    "columns exchanged": (_of("exchange", "by_column", "codes"), r"\1{codes[7:0], codes[15:8]})", "column"),
    "scale of the neighbour column": (r"(column_codes_1 \([^;]*\.key\()amax_1\)", r"\1amax_2)", "column 1"),
    "scale of the neighbour column at the port": (r"column_scale_q\[0\] \?", "~column_scale_q[0] ?", "column"),
    "scale of the first row for all rows": (_of("beat_codes", "is_first", "1'h1"), r"\1reads_first)", "row"),
    "store overwritten one cycle early": (
        r"assign i_ready = [^;]*;",
        "assign i_ready = 1'h1;",
        "before its|expected|after the",
    ),
    "second store overwritten one cycle early": (
        r"assign takes_result = [^;]*;",
        "assign takes_result = 1'h1;",
        "before its|expected|no result|after the",
    ),
    "numbers of all tiles stored alike": (
        _of("column_store", "write_crossed", r"write_beat\[2\]"),
        r"\g<1>1'h0)",
        "column",
    ),
    "codes of all tiles stored alike": (_of("code_store", "write_crossed", r"\w+"), r"\g<1>1'h0)", "column"),
    "exchange one row late": (
        _of("exchange", "place", r"turning_write_beat\[1:0\]"),
        r"\1turning_write_beat[1:0] - 2'h1)",
        "column",
    ),
    "rows exchanged": (
        _of("result_store", "write_beat", r"turning_write_beat\[1:0\]"),
        r"\1turning_write_beat[1:0] ^ 2'h1)",
        "row",
    ),
    "second store not cleared by the reset": (
        r"(assign \w+ = )rst( \? 1'h0 : _\w+;\n  assign \w+ = turning_reads)",
        r"\g<1>1'h0\2",
        "before its|expected|after the",
    ),
    "a cycle lost for each tile": (
        r"assign i_ready = ([^;]*);",
        r"assign i_ready = (\1) & ~(has_block & (write_beat[1:0] == 2'h0) & (read_beat[1:0] == 2'h0));",
        "no beat could enter although nothing waited",
    ),
}


@pytest.mark.sampled(8)
@pytest.mark.parametrize("bug", BUGS)
def test_planted_bugs_are_found(bug, sound):
    config, text = sound
    *edit, sentence = BUGS[bug]
    text = planted(text, *edit)
    result = verify(config, blocks=2000, stimuli="random", design=driver_of(text, NAME, config, lint=False))
    assert not result.passed and re.search(sentence, result.report), result.report


@pytest.mark.parametrize(
    "simulator", [pytest.param("verilator", marks=pytest.mark.slow), pytest.param("icarus", marks=needs_icarus)]
)
def test_the_bench_streams_rows(simulator, tmp_path, record_property):
    config = tile_config("e2m1", source="bf16", block_size=4)
    result = regress(config, simulator=simulator, out=tmp_path, random_blocks=200)
    record_property("blocks", result.comparisons)
    assert result.passed, result.report
    assert min(result.tests[name] for name in ("full_rate", "interleaved", "random")) >= 13


@needs_icarus  # which compiles sooner
@pytest.mark.parametrize("bug", ["maximum of the previous tile", "codes of all tiles stored alike"])
def test_the_bench_finds_planted_bugs(bug, sound, tmp_path):
    config, text = sound
    file = tmp_path / "planted.v"
    file.write_text(planted(text, *BUGS[bug][:2]))
    result = regress(config, simulator="icarus", out=tmp_path, name=NAME, verilog=file, random_blocks=100)
    assert not result.passed and {"full_rate", "interleaved"} & result.failures.keys(), result.report
