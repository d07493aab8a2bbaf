"""Right designs pass `check_rtl`: hand-written ones of every kind, and emitted ones, which are recognised."""

from __future__ import annotations

import pytest

from mxcast.hdl import converter_config, verilog
from mxcast.proof.foreign.check_rtl import check_rtl

from ..foreign_designs import FIELDS, PIPE, PORTS, emitted

SLOW = pytest.mark.slow


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    "top, asked",
    [
        pytest.param("e2m1_block", PORTS, marks=SLOW),  # a port for each element
        pytest.param("e2m1_vector", FIELDS, marks=SLOW),  # fields apart, codes with ascending indices
        ("e2m1_reversed", FIELDS | {"p": "codes"}),  # only the reader slang of Yosys reads it
        ("e2m1_pipe", PIPE | {"latency": 2}),  # registers, with an enable and resets that are tied
        pytest.param("e2m1_pipe", PIPE | {"latency": 2, "clk": "clk@low"}, marks=SLOW),
    ],
)
def test_a_right_design_passes(check, top, asked):
    result = check(top, asked)
    assert result.passed and not result.remarks and not result.first
    assert [argument.reader for argument in result.arguments] == [
        "slang"
    ] and "read_verilog" in result.unread  # of all files
    assert {step.question.name: step.answer.result for step in result.steps}["block"] == "unsat"
    assert [row["stimulus"] for row in result.stimuli] == [
        "corner",
        "boundary",
        "distance",
        "random",
        "single bits",
        "1/2048 of all",
    ]
    assert all(row["blocks"] and not row["differ"] for row in result.stimuli) and not result.divergence.differing_blocks
    assert (result.folder / "report.json").is_file() and (result.folder / "slang" / "block.smt2").is_file()


@pytest.mark.parametrize(
    "fields, profile",
    [
        pytest.param({}, "ocp", marks=SLOW),
        pytest.param({"scale_rule": "ceil"}, "nvidia", marks=SLOW),
        ({"scale_rule": "rceil", "specials": "te"}, "te"),
        pytest.param({"scale_rule": "even"}, "torchao_even", marks=SLOW),
    ],
)
def test_emitted_verilog_needs_no_map_and_is_recognised(tmp_path, fields, profile):
    """Its own profile is named, also if it is checked against another."""
    path = emitted(tmp_path, **fields)
    result = check_rtl([path], "ours", converter_config("e4m3", profile, block_size=2), out=tmp_path, blocks=20_000)
    assert result.passed
    other = check_rtl(
        [path], "ours", converter_config("e4m3", "gorodecky_sousa", block_size=2), out=tmp_path, blocks=20_000
    )
    assert other.status == "FAIL" and profile in other.matches[0].names


@pytest.mark.parametrize(
    "source, rounding",
    [
        pytest.param("bf16", "rne", marks=SLOW),
        pytest.param("fp16", "rtz", marks=SLOW),
        pytest.param("fp32", "sr", marks=SLOW),
    ],
)
def test_sources_and_random_bits(tmp_path, source, rounding):
    path = emitted(tmp_path, source=source, rounding=rounding)
    config = converter_config("e4m3", block_size=2, source=source, rounding=rounding)
    assert check_rtl([path], "ours", config, out=tmp_path, blocks=20_000).passed
    wrong = config.numerics.replace(element_subnormals="flush")
    result = check_rtl([path], "ours", converter_config(wrong), out=tmp_path, blocks=20_000)
    assert result.status == "FAIL" and result.smallest
    assert result.matches[0].numerics == config.numerics


NAMED = """
module {top}(input clk, input [63:0] x, output reg [7:0] scale, output reg [7:0] p);
  wire [7:0] s0; wire [7:0] p0; core core(.x(x), .scale(s0), .p(p0));
  {body}
endmodule
"""
BODIES = {0: "always @* begin scale = s0; p = p0; end", 1: "always @(posedge clk) begin scale <= s0; p <= p0; end"}


@pytest.mark.slow
@pytest.mark.sampled(4)
@pytest.mark.parametrize("top", ["mxcast_check", "mxcast_moving", "mxcast_bench", "dut"])
def test_a_design_may_be_called_like_something_of_ours(top, tmp_path):
    config = converter_config("e2m1", block_size=2)
    for latency, body in BODIES.items():
        path = tmp_path / f"{latency}.sv"
        path.write_text(verilog(config, "core") + NAMED.format(top=top, body=body))
        check = check_rtl([path], top, config, {"clk": "clk", "latency": latency}, out=tmp_path, blocks=1000)
        assert check.passed, check.remarks
