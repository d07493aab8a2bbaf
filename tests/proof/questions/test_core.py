"""Skids and AXI4-Stream around a core: both are proved, and planted faults are refuted."""

from __future__ import annotations

import pytest

from mxcast.hdl import cast_config, hadamard_config, tile_config, verilog
from mxcast.hdl.config.build import configuration
from mxcast.proof import prove
from mxcast.proof.netlist.beats.core import AroundCore
from mxcast.proof.netlist.design import Design
from mxcast.proof.netlist.structure import StructureError
from mxcast.proof.operations import provable
from mxcast.proof.solve.solver import solve
from mxcast.proof.specification.beats.around_core import around_questions

from ...hdl.planted import planted
from .test_lanes import first_trace

TILE = tile_config("e2m1", source="bf16", block_size=4, interface="axis", columns="in_place")
VECTOR = hadamard_config("hadamard16", interface="axis")
CAST = cast_config("e4m3", lanes=2, source="bf16", interface="skid")
NAME = "square"


@pytest.mark.sampled(2, first=1)
@pytest.mark.parametrize("config", [TILE, CAST], ids=["a tile", "a cast"])
def test_every_block_is_proved(config, tmp_path):
    proof = prove(config, out=tmp_path)
    assert proof.passed, proof.remark
    own = (
        {"enter", "leave", "leave-valid3", "leave-ready", "leave-can-happen", "row-element"}
        if config.has_axis
        else {"elements"}
    )
    assert {"place", "place-ready", *own} <= {step.question.name for step in proof.steps}
    assert [argument.reader for argument in proof.arguments] == ["read_verilog", "slang"]


@pytest.fixture(scope="module")
def text() -> str:
    return verilog(TILE, NAME)


FAULTS = {
    "a result twice": (r"(assign m_axis_scale_tvalid = o_valid) & \w+", r"\1", "one that it has already"),
    "a stream that waits for another": (
        r"(assign m_axis_tvalid = o_valid)",
        r"\1 & m_axis_scale_tready",
        "offers no result",
    ),
    "a result given away early": (r"assign o_ready = [^;]*;", "assign o_ready = m_axis_takes;", "gives a result away"),
    "a result kept": (r"assign o_ready = ", "assign o_ready = m_axis_tready & ", "keeps one that all have"),
    "marks of the last block": (
        r"assign oldest = [^;]*;",
        "assign oldest = marks_inside[1:0];",
        "belong to another block",
    ),
    "marks of each beat": (
        r"if \(block_enters\) marks_inside",
        "if (i_valid & i_ready) marks_inside",
        "belong to another block",
    ),
    "tlast with each result": (r"(assign m_axis_tlast = )o_last & ", r"\1", "tlast with another result"),
    "bytes not kept": (r"assign m_axis_tkeep = 2'h3", "assign m_axis_tkeep = 2'h1", "other bytes"),
    "core not reset": (r"(square_buffered core \([^;]*\.rst\()rst", r"\g<1>1'h0", "not reset with the module"),
    "a row lost": (
        r"assign core_ready = i_ready & has_room",
        "assign core_ready = has_room",
        "does not enter the core",
    ),
    "a row twice": (r"assign i_valid = valid_q & has_room", "assign i_valid = valid_q", "stays at the input"),
    "a row that waits": (r"assign has_room = [^;]*;", "assign has_room = blocks_inside == 2'h0;", "there is room"),
    "ready in a reset": (r"(assign s_axis_tready = \w+) & running_q", r"\1", "the edge after a reset"),
    "scales exchanged": (
        r"\.column_scale\(m_axis_column_scale_tdata\)(,[^;]*)\.scale\(m_axis_scale_tdata\)",
        r".column_scale(m_axis_scale_tdata)\1.scale(m_axis_column_scale_tdata)",
        "other data",
    ),
    "rows not completed": (r"assign pads = [^;]*;", "assign pads = 1'h0;", "completes a block|one is lost"),
    "a sent result forgotten": (r"assign (\w+) = aresetn \? _031_ : 1'h0;", r"assign \1 = 1'h0;", "it has already"),
}
"""Edits of what is around a skid, and words of the last line of the trace."""


@pytest.mark.sampled(16)
@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_around_a_core_has_a_trace(fault, text, tmp_path):
    *edit, words = FAULTS[fault]
    design = Design(planted(text, *edit), NAME, tmp_path)
    last = first_trace(around_questions(AroundCore(design, TILE)), TILE, design, tmp_path).words[-1]
    assert any(word in last for word in words.split("|")), last


@pytest.mark.slow
def test_more_blocks_than_marks_have_a_trace(tmp_path):
    wrong = planted(verilog(VECTOR, NAME), r"assign has_room = [^;]*;", "assign has_room = 1'h1;")
    design = Design(wrong, NAME, tmp_path)
    assert first_trace(around_questions(AroundCore(design, VECTOR)), VECTOR, design, tmp_path).words


def test_a_path_between_neighbours_is_refused(tmp_path):
    """A beat that enters as soon as a block leaves is right, but its ready would follow the ready of the receiver."""
    wrong = planted(verilog(VECTOR, NAME), r"assign has_room = ([^;]*);", r"assign has_room = \1 | block_leaves;")
    asked = around_questions(AroundCore(Design(wrong, NAME, tmp_path), VECTOR))
    found = [q.name for q in asked if solve(q.text, q.names, solver="bitwuzla", timeout=100).result != q.expected]
    assert found == ["leave-ready"]


PLACE = {
    "a beat that waits is replaced": (r"if \(!beat_held\) (beat_x_held_q)", r"\1", "other values"),
    "a beat that waits is lost": (r"beat_held <= \w+", "beat_held <= 1'h0", "one is lost"),
    "a beat is not offered": (r"(assign beat_offered = beat_held \| i_valid)", r"\1 & x[0]", "is not offered"),
    "a beat is taken twice": (r"= beat_offered & \w+", "= beat_offered", "none waits"),
    "a reset leaves a beat": (r"_02_ = rst \? 1'h0 : _01_", "_02_ = _01_", "twice"),
    "the place is never used": (r"i_ready = ~ beat_held", "i_ready = ~ beat_held & o_ready", "no beat is taken"),
}


@pytest.mark.sampled(6)
@pytest.mark.parametrize("fault", PLACE)
def test_a_fault_of_a_skid_has_a_trace(fault, text, tmp_path):
    *edit, words = PLACE[fault]
    design = Design(planted(text, *edit), NAME, tmp_path)
    questions = provable(TILE).of_beats(TILE, design)
    assert words in first_trace(questions, TILE, design, tmp_path).words[-1]


WIRES = {
    "a result changed": (r"(\(beat_offered\),[^;]*\.p\()p", r"\1other", "p of the core is not p"),
    "another ready": (r"(\(beat_offered\),[^;]*\.o_ready\()o_ready", r"\1 ~ o_ready", "o_ready of the core"),
    "another reset": (r"(\(beat_offered\),[^;]*\.rst\()rst", r"\g<1>1'h0", "rst of the core"),
    "another clock": (r"(square_core core \(\n    \.clk\()clk", r"\1i_valid", "the clock of the core"),
    "no core": ("square_core core ", "square_core renamed ", "has no core"),
    "another edge": (r"posedge clk\)\n(    if \(!beat_held\))", r"negedge clk)\n\1", "at the rising edge of clk"),
    "a register without a reset": (r"_02_ = rst \? 1'h0 : _01_", "_02_ = _01_", "rst does not clear beat_held"),
}


@pytest.mark.parametrize("fault", WIRES)
def test_wrong_wires_of_a_skid_are_refused(fault, text, tmp_path):
    *edit, sentence = WIRES[fault]
    head = r"(module square_buffered\([^;]*;)"
    other = planted(text, head, r"\1 wire [15:0] other; assign p = ~ other;") if "other" in edit[1] else text
    design = Design(planted(other, *edit), NAME, tmp_path)
    inner = AroundCore(design, TILE).inner
    with pytest.raises(StructureError, match=sentence):
        list(around_questions(AroundCore(inner, TILE.core)))


def test_each_beat_of_a_cast_is_a_block(tmp_path):
    design = Design(planted(verilog(CAST, NAME), r"assign o_first = 1'h1", "assign o_first = x[0]"), NAME, tmp_path)
    with pytest.raises(StructureError, match="^o_first is not set, although each beat is a block$"):
        list(around_questions(AroundCore(design, CAST)))


def test_blocks_that_are_counted_from_an_unknown_number_are_refused(text, tmp_path):
    design = Design(planted(text, r"= aresetn \? (\w+) : 2'h0;", r"= \1;"), NAME, tmp_path)
    with pytest.raises(StructureError, match="^aresetn does not clear (blocks_inside|beat)$"):
        list(around_questions(AroundCore(design, TILE)))


def test_a_bit_of_a_core_that_is_wrong_has_a_block(tmp_path):
    file = tmp_path / f"{NAME}.v"
    file.write_text(planted(verilog(CAST, NAME), r"7'h7e", "7'h7d"))
    proof = prove(CAST, rtl=file, out=tmp_path)
    assert proof.trace is None and proof.counterexample is not None


def test_rows_that_a_core_loses_have_a_trace(text, tmp_path):
    wrong = planted(text, r"(?s)(module square_core\(.*?)assign i_ready = [^;]*;", r"\1assign i_ready = 1'b1;")
    design = Design(wrong, NAME, tmp_path)
    assert "reset" in first_trace(provable(TILE).of_beats(TILE, design), TILE, design, tmp_path).words[0]


EVERY = [
    ("hadamard", "hadamard16", {"registered_after": "aligned,level2"}),
    ("hadamard", "hadamard16", {"form": "limbs"}),
    ("tile", "e4m3", {}),
    ("tile", "int8", {"columns": "in_place", "source": "bf16"}),
    ("tile", "nvfp4", {"order": "ao", "registered_after": "scale"}),
    ("tile", "nvfp4_32", {"source": "bf16"}),
    ("cast", "e2m1", {"lanes": 4, "rounding": "sr", "random_bits": 4, "registered_after": "exponent"}),
    ("cast", "e5m2", {"lanes": 2, "destination": "fp32"}),
]


@pytest.mark.slow
@pytest.mark.parametrize("interface", ["skid", "axis"])
@pytest.mark.parametrize(("op", "format", "fields"), EVERY)
def test_every_operation(op, format, fields, interface, tmp_path):
    if op == "cast" and interface == "axis":
        pytest.skip("its path is proved as a whole (test_cast_streams)")
    proof = prove(configuration(op, format, interface=interface, **fields), out=tmp_path)
    assert proof.passed, proof.remark
