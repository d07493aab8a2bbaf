"""NVFP4 tile encoders against the golden model: rows and columns of every tile, under random gaps on both sides."""

from __future__ import annotations

import re

import numpy as np
import pytest

import mxcast
from mxcast.hdl import nvfp4_tile_config, verilog
from mxcast.models import quantize_both_ways
from mxcast.models.exact.binary32 import value_of
from mxcast.models.exact.encode import decode
from mxcast.models.exact.tile import quantize_tile
from mxcast.models.fast.nvfp4_encode import tensor_constants
from mxcast.sim import test as regress
from mxcast.sim import verify
from mxcast.sim.operations import golden, of
from mxcast.sim.run.verilator.verilated import driver_of
from mxcast.spec import FP32, Role, nvfp4_tile_encoding

from ...hdl.planted import planted
from ..cocotb.test_regression import needs_icarus

NAME = "square"

CONFIGS = [
    ("nvfp4", {"source": "bf16"}),
    ("nvfp4", {"order": "modelopt", "source": "bf16", "columns": "in_place"}),
    ("nvfp4", {"order": "ao_single", "registered_after": "input,level1,factor,output"}),
    pytest.param("nvfp4", {"order": "modelopt", "source": "bf16", "registered_after": "amax"}, marks=pytest.mark.slow),
    pytest.param("nvfp4", {"order": "compressed_tensors"}, marks=pytest.mark.slow),
    pytest.param("nvfp4", {"order": "paper", "form": "product", "registered_after": "output"}, marks=pytest.mark.slow),
    pytest.param("nvfp4_32", {"order": "ao", "source": "bf16"}, marks=pytest.mark.slow),
]


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("format", "fields"), CONFIGS)
def test_tiles_give_the_bits_of_the_model(format, fields, record_property):
    config = nvfp4_tile_config(format, **fields)
    result = verify(config, blocks=5000)
    record_property("blocks", result.blocks)
    assert result.passed and result.counts["random"] == -(-5000 // config.beats), result.report


@pytest.mark.parametrize(("order", "columns"), [("te", "transposed"), ("ao", "in_place"), ("modelopt", "transposed")])
def test_the_golden_model_is_the_exact_definition(order, columns):
    """Tiles whose rows and columns differ, in tensors of known largest magnitudes."""
    rules, rng = nvfp4_tile_encoding("nvfp4", order=order, columns=columns), np.random.default_rng(4)
    numbers = (rng.normal(size=(6, 16, 16)) * np.exp2(-rng.integers(0, 6, (6, 16, 1)))).astype(np.float32)
    numbers[0, 3] = 0
    numbers[1, 2, 5] = np.inf
    a = np.array([5, 6, 1e-20, 4, 300, 4.5], np.float32)
    constants = tensor_constants(a, rules.rows)
    given = {Role.NUMBERS: numbers.view(np.uint32).reshape(6, -1)}
    given |= {Role.SCALE_CONSTANT: constants.k.view(np.uint32)[:, None]}
    given |= {Role.ELEMENT_CONSTANT: constants.d.view(np.uint32)[:, None]}
    made = golden(rules, of(rules).usual(1, 0).rows(np.zeros(6, int)).with_arrays(given))
    for row, pattern in enumerate(a.view(np.uint32)):
        exact = quantize_tile(numbers[row].view(np.uint32).tolist(), rules, value_of(decode(int(pattern), FP32)))
        for role, expected in zip((Role.ROW_SCALES, Role.CODES, Role.COLUMN_SCALES, Role.COLUMN_CODES), exact):
            assert made[role][row].tolist() == expected


@pytest.fixture(scope="module")
def sound():
    config = nvfp4_tile_config("nvfp4", source="bf16")
    return config, verilog(config, NAME)


@pytest.mark.slow
def test_a_verilated_design_takes_a_matrix():
    design = mxcast.verilate("nvfp4", op="tile", source="bf16")
    x = (np.random.default_rng(2).normal(size=(48, 32)).astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)
    assert design(x) == quantize_both_ways(x, "nvfp4", source="bf16")
    assert design(x, tensor_amax=9.0) == quantize_both_ways(x, "nvfp4", source="bf16", tensor_amax=9.0)
    in_place = mxcast.verilate("nvfp4", op="tile", source="bf16", columns="in_place")
    assert in_place(x) == quantize_both_ways(x, "nvfp4", source="bf16", columns="in_place")
    with pytest.raises(ValueError, match=r"^x must be a matrix of 16 x 16 tiles, not of the shape \(48, 20\)$"):
        design(x[:, :20])


BUGS = {
    "columns in the order of the banks": (
        r"(exchange exchange \([^;]*\.place\()place_output_q",
        r"\g<1>4'h0",
        "column",
    ),
    "codes exchanged one result early": (
        r"if \(back_enable\) place_output_q <=",
        "if (1'h1) place_output_q <=",
        "changed while",
    ),
    "rows not exchanged": (r"(number_exchange \([^;]*\.place\()write_beat\[3:0\]", r"\g<1>4'h0", "column"),
    "numbers of all tiles stored alike": (r"(\.write_crossed\()write_beat\[4\]", r"\g<1>1'h0", "column"),
    "bank read at another place": (r"assign read_crossed = ~ read_beat", "assign read_crossed = read_beat", "column"),
    "constants of the row before": (r"(column_encoder \([^;]*\.d\()stored\[319:288\]", r"\1d", "column"),
    "store overwritten one cycle early": (
        r"assign i_ready = [^;]*;",
        "assign i_ready = 1'h1;",
        "before its|after the|expected",
    ),
    "a cycle lost for each tile": (
        r"assign i_ready = ([^;]*);",
        r"assign i_ready = (\1) & ~(has_block & (write_beat[3:0] == 4'h0) & (read_beat[3:0] == 4'h0));",
        "no beat could enter although nothing waited",
    ),
}


@pytest.mark.sampled(8)
@pytest.mark.parametrize("bug", BUGS)
def test_planted_bugs_are_found(bug, sound):
    config, text = sound
    *edit, sentence = BUGS[bug]
    result = verify(
        config, blocks=2000, stimuli="random", design=driver_of(planted(text, *edit), NAME, config, lint=False)
    )
    assert not result.passed and re.search(sentence, result.report), result.report


IN_PLACE = {
    "codes not turned back": (r"(code_store \([^;]*\.write_crossed\()\w+", r"\g<1>1'h0", "column"),
    "codes in the order of the banks": (r"(exchange exchange \([^;]*\.place\()[^)]*", r"\g<1>4'h0", "column"),
    "rows that do not wait": (r"if \(turning_back_enable\) scale <=", "if (1'h1) scale <=", "changed while"),
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("bug", IN_PLACE)
def test_planted_bugs_of_columns_in_place_are_found(bug):
    config = nvfp4_tile_config("nvfp4", source="bf16", columns="in_place")
    *edit, sentence = IN_PLACE[bug]
    design = driver_of(planted(verilog(config, NAME), *edit), NAME, config, lint=False)
    result = verify(config, blocks=2000, stimuli="random", design=design)
    assert not result.passed and re.search(sentence, result.report), result.report


@needs_icarus
def test_the_bench_streams_rows(tmp_path, record_property):
    config = nvfp4_tile_config("nvfp4", "nvfp4_ao_single", source="bf16")
    result = regress(config, simulator="icarus", out=tmp_path, random_blocks=64)
    record_property("blocks", result.comparisons)
    assert result.passed, result.report
    assert min(result.tests[name] for name in ("full_rate", "interleaved", "random")) >= 2
