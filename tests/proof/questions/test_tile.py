"""Tile encoders: the order of rows, columns and results and all bits are proved, and planted faults are refuted."""

from __future__ import annotations

from pathlib import Path

import pytest

from mxcast.hdl import TileConfig, default_name, emitted, tile_config, verilog
from mxcast.proof import prove
from mxcast.proof.mutation import PREPARED
from mxcast.proof.netlist.beats.tile import Tile
from mxcast.proof.netlist.design import Design
from mxcast.proof.netlist.structure import StructureError
from mxcast.proof.refutation import refute
from mxcast.proof.verilog.text import plain
from mxcast.synth.yosys import execute

from ...hdl.planted import edited, planted

SMALL = {"source": "bf16", "block_size": 4}
TURNED, IN_PLACE = (tile_config("e2m1", columns=columns, **SMALL) for columns in ("transposed", "in_place"))
"""Tile encoders that are proved in a few seconds. Faults are planted in them."""

ORDERED = {"order-reset", "order-step", "order", "order-valid", "order-can-happen"}
TURNING = {name.replace("order", "turn") for name in ORDERED} | {"exchange"}
BITS = {f"{of}-{name}" for of in ("row", "column") for name in ("one-byte", "one-code", "element", "scale")}


@pytest.mark.sampled(2, first=1)
@pytest.mark.parametrize("reader", ["read_verilog", "slang"])
def test_all_tiles_are_right(reader, tmp_path):
    proof = prove(TURNED, out=tmp_path)
    assert proof.passed, proof.remark
    steps = next(argument.steps for argument in proof.arguments if argument.reader == reader)
    assert {step.question.name for step in steps} >= ORDERED | TURNING | BITS


WHOLE = [
    ("e4m3", {}),
    ("e5m2", {"columns": "in_place", "registered_after": "input,level2,normalised,output"}),
    ("e4m3", {"source": "bf16", "target": "xcu", "scale_rule": "rceil"}),
    ("int8", {"source": "fp16", "registered_after": "output", "input_subnormals": "flush"}),
    ("e2m1", {"columns": "in_place", "target": "asic", "specials": "te"}),
]


@pytest.mark.slow
@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    "config",
    [
        IN_PLACE,
        tile_config("e4m3", block_size=2, specials="te", registered_after="aligned,output"),
        *(pytest.param(tile_config(element, **fields), marks=pytest.mark.slow) for element, fields in WHOLE),
    ],
    ids=lambda config: config.config_id,
)
def test_tiles_of_other_rules_are_right(config, tmp_path):
    proof = prove(config, out=tmp_path)
    assert proof.passed, proof.remark
    assert [argument.reader for argument in proof.arguments] == ["read_verilog", "slang"]


BUGS: dict[str, tuple[str, str, str]] = {
    # the module columns of which it is in: both, or one of the two orders of columns
    "maximum of the previous tile": ("both", r"(_key_0 \([^;]*\.is_first\()writes_first\)", r"\g<1>1'h0)"),
    "maximum of the previous tile everywhere": ("both", r"(_key_\d \([^;]*\.is_first\()writes_first\)", r"\g<1>1'h0)"),
    "key of the neighbour column": ("both", r"(column_codes_1 \([^;]*\.key\()amax_1\)", r"\1amax_2)"),
    "key without its last row": ("both", r"(_key_\d \([^;]*\.enable\()writes\)", r"\1writes & ~&write_beat[1:0])"),
    "number of the neighbour column": ("in_place", r"(_codes_1 \([^;]*\.numbers\()\w+\[\d+:\d+\]", r"\1stored[12:0]"),
    "store overwritten one cycle early": ("both", r"assign i_ready = [^;]*;", "assign i_ready = 1'b1;"),
    "store that is not refilled in time": ("both", r"assign i_ready = [^;]*;", "assign i_ready = ~ has_block;"),
    "a bit is lost in the store": ("both", r"assign stored = words\[read_beat\]", r"\g<0> & ~20'h80000"),
    "rows exchanged": ("in_place", r"assign stored = words\[read_beat\]", "assign stored = words[read_beat ^ 2'h1]"),
    "reset forgotten": ("both", r"= rst \? 1'h0 : ", "= "),
    "result that does not wait": ("both", r"else if \((turning_)?back_enable\) o_valid", "else o_valid"),
    "scale of another column": ("both", r"column_scale_q <= read_beat", "column_scale_q <= ~read_beat"),
    "scale chosen one cycle late": ("transposed", r"if \(back_enable\) column_scale_q", "if (o_ready) column_scale_q"),
    "row of another tile": ("both", r"(row_codes \([^;]*\.is_first\()1'h1", r"\g<1>reads_first"),
    "row of another edge": ("both", r"(row_codes \([^;]*?\.clk\()clk", r"\1~clk"),
    "bank read at another place": (
        "transposed",
        r"assign read_crossed = ~ read_beat",
        "assign read_crossed = read_beat",
    ),
    "bank written at another place": ("transposed", r"(column_store \([^;]*\.write_crossed\()", r"\1~"),
    "codes exchanged": ("transposed", r"(exchange exchange \([^;]*\.place\()", r"\1~"),
    "codes exchanged once too little": (
        "transposed",
        r"assign exchanged_1 = [^;]*;",
        "assign exchanged_1 = by_column;",
    ),
    "codes of the result before": ("transposed", r"(code_store \([^;]*\.enable\()turning_writes", r"\1reads"),
    "codes read crossed": ("transposed", r"(code_store \([^;]*\.read_crossed\()", r"\1~"),
    "blocks of rows overwritten": ("transposed", r"assign takes_result = [^;]*;", "assign takes_result = 1'b1;"),
    "blocks of rows of another place": ("transposed", r"(result_store \([^;]*\.read_beat\()", r"\1~"),
    "first result marked late": ("transposed", r"o_first <= _001_", "o_first <= _002_"),
}
"""The order of columns of the encoders in which a bug is planted, its pattern, and what replaces it."""


@pytest.mark.sampled(24)
@pytest.mark.parametrize(
    ("config", "bug"),
    [
        (config, bug)
        for bug, (columns, _, _) in BUGS.items()
        for config in (TURNED, IN_PLACE)
        if columns in ("both", config.numerics.columns)
    ],
    ids=lambda one: one if isinstance(one, str) else str(one.numerics.columns),
)
def test_a_planted_bug_is_refuted(config: TileConfig, bug: str, tmp_path: Path) -> None:
    name = default_name(config)
    verilog = emitted(config, tmp_path / "right", name).read_text()
    file = tmp_path / f"{name}.v"
    file.write_text(planted(verilog, *BUGS[bug][1:]))
    proof = prove(config, rtl=file, out=tmp_path)
    assert proof.status == "FAIL", (proof.remark, [step.question.name for step in proof.steps])
    assert proof.trace or proof.counterexample


def test_a_trace_shows_rows(tmp_path):
    name = default_name(IN_PLACE)
    file = tmp_path / f"{name}.v"
    verilog = emitted(IN_PLACE, tmp_path / "right", name).read_text()
    file.write_text(planted(verilog, *BUGS["store overwritten one cycle early"][1:]))
    trace = prove(IN_PLACE, rtl=file, out=tmp_path).trace
    assert trace is not None and trace.words[0] == "edge 0: reset"
    assert " a row " in trace.words[-1]
    assert trace.file.read_text().count("1~") == len(trace.words) - 1


@pytest.mark.slow
@pytest.mark.parametrize("config", [TURNED, IN_PLACE], ids=lambda config: str(config.numerics.columns))
def test_wrong_specifications_are_refuted(config, tmp_path):
    refuted = refute(config, tmp_path)
    assert len(refuted) > 10
    assert {one.by for one in refuted if one.by is None} == set(), refuted


def test_more_memories_than_stores_are_refused(tmp_path):
    verilog = plain(emitted(IN_PLACE, tmp_path, "square").read_text())
    more = "  reg [1:0] more [3:0]; always @(posedge clk) more[x[1:0]] <= more[x[3:2]] + i_valid;\n  assign writes = "
    text = edited(verilog, [("  assign writes = ", more + "more[x[5:4]][0] & ")])
    with pytest.raises(StructureError, match="another number of memories than stores"):
        Tile(Design(text, "square", tmp_path), IN_PLACE).check()


def test_text_with_a_mutant_is_taken_apart(tmp_path):
    """Yosys writes it with other enables and words of the memories."""
    config = tile_config("e2m1", source="bf16", block_size=4)
    (tmp_path / "dut.v").write_text(verilog(config, "dut"))
    execute(["read_verilog dut.v", *PREPARED, "opt_clean", "write_verilog -noattr mutant.v"], tmp_path)
    Tile(Design((tmp_path / "mutant.v").read_text(), "dut", tmp_path / "read"), config).check()
