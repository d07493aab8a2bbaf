"""NVFP4 encoders with a cache: the order of blocks, the rows and all bits are proved, and planted faults are not."""

from __future__ import annotations

from pathlib import Path

import pytest

from mxcast.hdl import nvfp4_config, verilog
from mxcast.proof import prove
from mxcast.proof.netlist.beats.cached import CachedParts
from mxcast.proof.netlist.design import Design
from mxcast.proof.netlist.structure import StructureError
from mxcast.proof.questions.cached import ProvableCached
from mxcast.proof.questions.question import constant, question
from mxcast.proof.solve.solver import solve
from mxcast.proof.specification.beats.cached import flow, rows
from mxcast.proof.specification.nvfp4 import Nvfp4Specification

from ...hdl.planted import planted
from .test_lanes import first_trace

CONFIG = nvfp4_config("nvfp4", source="bf16", form="cache", registered_after="amax,ratio,entry")


@pytest.mark.slow
def test_all_blocks_are_right(tmp_path: Path) -> None:
    proof = prove(CONFIG, out=tmp_path)
    assert proof.passed, proof.remark
    for argument in proof.arguments:
        asked = {step.question.name for step in argument.steps}
        assert asked >= {
            "flow-step",
            "flow",
            "rows-step",
            "rows",
            "scale-sum",
            "scale",
            "row-cycle",
            "factor",
            "element",
        }
    assert [argument.reader for argument in proof.arguments] == ["read_verilog", "slang"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("format", "fields"),
    [
        ("nvfp4", {}),
        ("nvfp4", {"source": "bf16"}),
        ("nvfp4", {"source": "bf16", "registered_after": ""}),
        ("nvfp4", {"order": "paper", "registered_after": "input,amax,output"}),
        ("nvfp4_32", {"order": "paper", "source": "bf16"}),
    ],
)
def test_other_encoders_are_right(format, fields, tmp_path):
    proof = prove(nvfp4_config(format, form="cache", **fields), out=tmp_path)
    assert proof.passed, proof.remark


@pytest.mark.slow
@pytest.mark.parametrize(
    ("interface", "around"), [("skid", ["place-step"]), ("axis", ["enter-step", "leave-step", "place-step"])]
)
def test_other_handshakes_are_right(interface, around, tmp_path):
    config = nvfp4_config("nvfp4", source="bf16", form="cache", interface=interface)
    proof = prove(config, out=tmp_path)
    assert proof.passed, proof.remark
    asked = {step.question.name for argument in proof.arguments for step in argument.steps}
    assert asked >= {"flow-step", "rows-step", *around}


@pytest.fixture(scope="module")
def text() -> str:
    return verilog(CONFIG, "square")


def parts_of(text: str, folder: Path) -> CachedParts:
    return CachedParts(Design(text, "square", folder), CONFIG)


FLOW = {
    "blocks move while a row is computed": (r"assign _3_ = _2_ \| done", "assign _3_ = ~ _2_ | done", "i_ready is not"),
    "a block leaves without its row": (r"valid_factor_q <= reads", "valid_factor_q <= valid_lookup_q", "o_valid is"),
    "a reset leaves a block": (r"if \(rst\) o_valid <= 1'h0;\n    else if", "if", "o_valid is"),
    "a result that waits is replaced": (
        r"assign back_enable = o_ready \| _00_",
        "assign back_enable = o_ready | _00_ | done",
        "behind the cache",
    ),
    "numbers of another block": (r"(assign _\d+_ = _\d+_) - 1'h1", r"\1", "another place"),
    "the cache moves alone": (
        r"(cache cache \([^;]*\.moves\()i_ready",
        r"\1i_ready & i_valid",
        "a register in front of the cache",
    ),
    "a block in front of the cache is lost": (
        r"else if \(i_ready\) valid_ratio_q <= valid_amax_q",
        "else if (i_ready) valid_ratio_q <= valid_amax_q & ~done",
        "another block enters",
    ),
}
"""Edits of the way of blocks, and words of the last line of the trace."""


@pytest.mark.sampled(8)
@pytest.mark.parametrize("fault", FLOW)
def test_a_fault_of_the_flow_has_a_trace(fault, text, tmp_path):
    *edit, words = FLOW[fault]
    parts = parts_of(planted(text, *edit), tmp_path)
    trace = first_trace(flow(parts).questions(), CONFIG, parts.design, tmp_path)
    assert "reset" in trace.words[0] and words in trace.words[-1]


ROWS = {
    "rows of another constant": (r"\.b\(\{ has_d, known_d \}\)", ".b({ has_d, known_d[30:1], d[0] })"),
    "rows of another constant stay": (r"= is_last \| clears", "= is_last | clears & d_lookup_q[0]"),
    "a row is stored early": (r"count == 8'hbe", "count == 8'hbd"),
    "a block goes on early": (r"= computes & is_last", "= computes & count[7]"),
    "a block never waits": (r"= i_valid & _04_", "= i_valid & _04_ & clears"),
    "a reset keeps rows": (r"assign _16_ = rst \? 1'h0 : _30_", "assign _16_ = _30_"),
    "a row is not remembered": (r"\.word\(is_last\)", ".word(clears)"),
    "a row of another scale": (r"\.read_beat\(scale_bank_q\)", ".read_beat(next_scale)"),
    "a row at another scale": (r"( rows\d \([^;]*\.scale\()block_scale\[6:0\]", r"\1count[6:0]"),
    "a part of another row": (r"( rows2 \([^;]*\.next_scale\()scale\[6:0\]", r"\1block_scale[6:0]"),
    "a row is computed without an end": (r"(assign _\d+_ = count) \+ 1'h1", r"\1"),
    "a constant of another block": (r"\.d\(d_lookup_q\)", ".d(d)"),
    "bits of rows are not cleared": (r"= clears & _23_", "= clears & _23_ & d_lookup_q[0]"),
}
"""Edits of the cache. A trace of most of them has as many edges as a row, and is not asked for."""


@pytest.mark.sampled(8)
@pytest.mark.parametrize("fault", ROWS)
def test_a_fault_of_the_cache_is_refuted(fault, text, tmp_path):
    parts = parts_of(planted(text, *ROWS[fault]), tmp_path)
    found = [
        q.name
        for q in rows(parts).questions()
        if solve(q.text, q.names, solver="bitwuzla", timeout=100).result == "sat"
    ]
    assert found


def test_every_fault_of_rows_can_be_said(text, tmp_path):
    found = rows(parts_of(text, tmp_path))
    wrong = constant("wrong", len(found.wrong), found.wire("wrong", "s"))
    for bit, words in enumerate(found.wrong):
        said = question(
            "said", words, ("wrong",), found.steps("s"), wrong, f"(assert (= ((_ extract {bit} {bit}) wrong) #b1))\n"
        )
        assert solve(said.text, said.names, solver="bitwuzla", timeout=100).result == "sat", words


WIRES = {
    "the cache moves alone": (r"(cache cache \([^;]*\.moves\()i_ready", r"\1back_enable", "move with front_enable"),
    "the scale moves alone": (r"(scale front \([^;]*\.enable\()i_ready", r"\1back_enable", "move with front_enable"),
    "numbers of another register": (r"(codes back \([^;]*\.x\()x_lookup_q", r"\1~ x_lookup_q", "x of the back"),
    "a constant too early": (r"(scale front \([^;]*\.k\()stored", r"\1k", "read at read_k"),
    "a memory always written": (r"(d_delay d_delay \([^;]*\.enable\()i_ready", r"\g<1>i_valid", "the memory of d"),
    "a row changed": (r"(codes back \([^;]*\.cells\()cells", r"\1~ cells", "cells of the back"),
    "another clock": (r"(cache cache \([^;]*\.clk\()clk", r"\1i_valid", "another clock"),
    "no reset": (r"(cache cache \([^;]*\.rst\()rst", r"\g<1>1'h0", "a reset is lost"),
    "a row stored late": (
        r"( rows0 \([^;]*\.word\()row_q\[14:0\]",
        r"\1{ row_q[14:1], ~ row_q[0] }",
        "one cycle before",
    ),
    "a part that is always written": (r"( rows1 \([^;]*\.enable\()is_last", r"\1computes", "write whole rows"),
    "another memory": (
        r"assign computes = (waits & _\d+_);",
        r"reg other [127:0]; always @(posedge clk) other[count[6:0]] <= is_last; "
        r"assign computes = \1 | other[count[6:0]];",
        "write whole rows",
    ),
    "a bit of a row twice": (
        r"(?s)(module square_row_cache\(.*?;)(.*?\.stored\()cells\[19:5\](\)[^;]*;)",
        r"\1 wire other;\2{ cells[19:6], other }\3 assign cells[5] = cells[4];",
        "does not give the row",
    ),
    "parts of a row exchanged": (r"(rows1 \([^;]*\.word\(row_q\[)29:15", r"\g<1>44:30", "one cycle before"),
    "a register that always moves": (r"if \(enable\) (parts\w+_factor_q <=)", r"\1", "without an enable"),
    "lanes exchanged": (r"\.parts\(parts2_factor_q\)", ".parts(parts1_factor_q)", "two modules"),
}


@pytest.mark.slow
def test_wrong_wires_are_refused(text, tmp_path):
    for number, (fault, (*edit, sentence)) in enumerate(WIRES.items()):
        with pytest.raises(StructureError, match=sentence):
            parts = parts_of(planted(text, *edit), tmp_path / str(number))
            parts.check_ways()
            _ = parts.flow, parts.rows, parts.lanes(), parts.division
            raise AssertionError(fault)


BITS = {
    "a comparison of the division": (
        r"\{ remainder, dividend_bit \} >= divisor",
        "{ remainder, dividend_bit } > divisor",
        "row-cycle",
    ),
    "a dividend": ("24'h5fffff", "24'h5ffffe", "row-cycle"),
    "the rounding of the factor": (r"(nearest\[23:0\], _\d+_\[0\] \} = quotients\[24:0\]) \+ 1'h1", r"\1", "factor"),
    "the exponent of a power": (r"assign factor = is_beyond", "assign factor = is_power", "factor"),
    "the cell of a threshold": (r"(assign passed3 = _\d+_) \+ less", r"\1", "element"),
    "a sum of the product": (r"assign t_rows1 = ", "assign t_rows1 = 1'h1 + ", "scale-rows"),
    "a tie of the product goes up": (r"(assign _\d+_ = t_total\[0\]) & _\d+_;", r"\1;", "scale"),
}


@pytest.mark.sampled(6, first=1)
@pytest.mark.parametrize("fault", BITS)
def test_a_wrong_bit_is_refuted(fault, text, tmp_path):
    *edit, wrong = BITS[fault]
    design = Design(planted(text, *edit), "square", tmp_path)
    asked = ProvableCached().composed(CONFIG, design, Nvfp4Specification)
    found = next(q for q in asked if solve(q.text, q.names, solver="bitwuzla", timeout=100).result != q.expected)
    assert found.name == wrong
