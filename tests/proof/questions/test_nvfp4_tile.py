"""NVFP4 tile encoders: the order of rows and columns and all bits are proved, and planted faults are not."""

from __future__ import annotations

from pathlib import Path

import pytest

from mxcast.hdl import nvfp4_tile_config, verilog
from mxcast.proof import prove
from mxcast.proof.netlist.beats.nvfp4_tile import EXCHANGE, NUMBERS, Nvfp4Tile
from mxcast.proof.netlist.design import Design
from mxcast.proof.netlist.structure import StructureError
from mxcast.proof.solve.solver import solve
from mxcast.proof.specification.beats.tile import exchange, tile_questions

from ...hdl.planted import planted
from .test_lanes import first_trace

SOON = nvfp4_tile_config("nvfp4", "nvfp4_modelopt", source="bf16", registered_after="amax,output")
LATE = nvfp4_tile_config("nvfp4", source="bf16", registered_after="input,ratio")


@pytest.mark.slow
def test_all_tiles_are_right(tmp_path: Path) -> None:
    proof = prove(SOON, out=tmp_path)
    assert proof.passed, proof.remark
    for argument in proof.arguments:
        asked = {step.question.name for step in argument.steps}
        assert asked >= {"order-step", "order", "order-can-happen", "number-exchange", "exchange", "scale", "element"}
    assert [argument.reader for argument in proof.arguments] == ["read_verilog", "slang"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("format", "fields"),
    [
        ("nvfp4", {}),
        ("nvfp4", {"order": "paper", "form": "product", "source": "bf16"}),
        ("nvfp4", {"order": "ao", "registered_after": "input,level1,output"}),
        ("nvfp4", {"order": "ao_single", "source": "bf16"}),
        ("nvfp4", {"order": "compressed_tensors"}),
        ("nvfp4_32", {"source": "bf16", "registered_after": "ratio"}),
        ("nvfp4", {"source": "bf16", "columns": "in_place"}),
        ("nvfp4", {"order": "modelopt", "columns": "in_place", "registered_after": "amax"}),
    ],
)
def test_tiles_of_other_rules_are_right(format, fields, tmp_path):
    proof = prove(nvfp4_tile_config(format, **fields), out=tmp_path)
    assert proof.passed, proof.remark


@pytest.fixture(scope="module")
def text() -> str:
    return verilog(LATE, "square")


def tile_of(text: str, folder: Path) -> Nvfp4Tile:
    return Nvfp4Tile(Design(text, "square", folder), LATE)


@pytest.mark.slow
def test_sound_parts_are_accepted(text, tmp_path):
    tile = tile_of(text, tmp_path)
    tile.check()
    tile.check_known()


MORE = r"  reg [1:0] more [3:0]; always @(posedge clk) more[x[1:0]] <= x[3:2];\n\1more[x[5:4]][0] & "
"""A memory in front of a statement."""

WIRES = {
    "rows not exchanged": (
        r"(number_exchange \([^;]*\.place\()write_beat\[3:0\]",
        r"\g<1>4'h0",
        "place of number_exch",
    ),
    "other numbers exchanged": (r"(number_exchange \([^;]*\.by_column\()x", r"\1~x", "by_column of number_exchange"),
    "codes not exchanged": (
        r"(square_exchange exchange \([^;]*\.place\()\w+",
        r"\g<1>4'h0",
        "o_first|is not set|place",
    ),
    "codes of rows exchanged": (r"(square_exchange exchange \([^;]*\.by_column\()\w+", r"\1p", "by_column of exchange"),
    "place one result late": (r"if \(back_enable\) place_ratio_q", "if (o_ready) place_ratio_q", "other edges"),
    "place of the row that enters": (r"place_input_q <= read_beat", "place_input_q <= write_beat", "place of exchange"),
    "constants of other tensors": (r"(column_encoder \([^;]*\.d\()stored\[319:288\]", r"\1d", "different tensors"),
    "a column in the order of rows": (
        r"(column_encoder \([^;]*\.x\()\w+",
        r"\1stored[255:0]",
        "has no number_exchange",
    ),
    "a row of the row that enters": (r"(row_encoder \([^;]*\.x\()stored\[255:0\]", r"\1x", "rows of square"),
    "numbers of all tiles stored alike": (r"(\.write_crossed\()write_beat\[4\]", r"\g<1>1'h0", "another place"),
    "banks read alike": (r"(\.read_crossed\()read_crossed", r"\g<1>1'h0", "another place"),
    "a row at another place": (r"(tile_store \([^;]*\.read_beat\()read_beat", r"\1write_beat", "another address"),
    "banks written at other edges": (r"(column_store \([^;]*\.enable\()writes", r"\1i_valid", "written at other edges"),
    "encoder of other edges": (r"(column_encoder \([^;]*\.enable\()back_enable", r"\1o_ready", "enable of column_enc"),
    "rows of other edges": (r"(row_encoder \([^;]*\.enable\()back_enable", r"\1o_ready", "enable of row_encoder"),
    **{
        f"{port} is changed": (
            rf"(  square_\w+ {part} \([^;]*\.{pin}\(){port}(\)[^;]*;)",
            rf"  wire [{bits - 1}:0] other; assign {port} = ~ other;\n\1other\2",
            f"^{port} of the top module",
        )
        for part, pin, port, bits in (
            ("row_encoder", "scale", "scale", 8),
            ("row_encoder", "p", "p", 64),
            ("column_encoder", "scale", "column_scale", 8),
            ("exchange", "by_row", "column_p", 64),
        )
    },
    "last result marked late": (r"assign o_last = & place_output_q", "assign o_last = & place_ratio_q", "o_last"),
    "a register of an encoder always moves": (r"if \(enable\) (x_input_q <=)", r"\1", "without an enable"),
    "one more memory": (r"(  assign writes = )", MORE, "number of memories"),
}


@pytest.mark.sampled(12)
@pytest.mark.parametrize("fault", WIRES)
def test_wrong_wires_are_refused(fault, text, tmp_path):
    *edit, sentence = WIRES[fault]
    with pytest.raises(StructureError, match=sentence):
        tile_of(planted(text, *edit), tmp_path).check()


TRACES = {
    "store overwritten one cycle early": (r"assign i_ready = [^;]*;", "assign i_ready = 1'b1;"),
    "store that is not refilled in time": (r"assign i_ready = [^;]*;", "assign i_ready = ~ has_block;"),
    "reset forgotten": (r"= rst \? 1'h0 : ", "= "),
    "result that does not wait": (r"else if \(back_enable\) o_valid", "else o_valid"),
    "rows counted twice": (r"assign _05_ = write_beat \+ 1'h1", "assign _05_ = write_beat + 2'h2"),
    "read before it is whole": (
        r"assign reads = has_block & back_enable",
        "assign reads = write_beat[1] & back_enable",
    ),
}


@pytest.mark.sampled(6, first=2)
@pytest.mark.parametrize("fault", TRACES)
def test_a_wrong_order_has_a_trace(fault, text, tmp_path):
    tile = tile_of(planted(text, *TRACES[fault]), tmp_path)
    trace = first_trace(tile_questions(tile), LATE, tile.design, tmp_path)
    assert "reset" in trace.words[0] and len(trace.words) > 2


@pytest.mark.sampled(2)
@pytest.mark.parametrize("instance", [NUMBERS, EXCHANGE])
def test_a_wrong_exchange_is_refuted(instance, text, tmp_path):
    """One step of both is left out."""
    tile = tile_of(planted(text, r"assign exchanged_4 = [^;]*;", "assign exchanged_4 = exchanged_2;"), tmp_path)
    wrong, right = (exchange(one, instance) for one in (tile, tile_of(text, tmp_path / "right")))
    assert solve(wrong.text, wrong.names, solver="bitwuzla", timeout=100).result == "sat"
    assert solve(right.text, right.names, solver="bitwuzla", timeout=100).result == "unsat" == right.expected


TURNED = nvfp4_tile_config("nvfp4", source="bf16", columns="in_place", registered_after="ratio,output")


@pytest.fixture(scope="module")
def turned() -> str:
    return verilog(TURNED, "square")


@pytest.mark.slow
def test_second_stores_are_accepted(turned, tmp_path):
    tile = Nvfp4Tile(Design(turned, "square", tmp_path), TURNED)
    tile.check()
    tile.check_known()


BACK = {
    "codes not exchanged": (r"(exchange exchange \([^;]*\.place\()[^)]*", r"\g<1>4'h0", "place of exchange"),
    "codes of rows": (r"(code_store \([^;]*\.words\()\w+", r"\1p", "codes of a row|not in one memory"),
    "codes stored alike": (r"(code_store \([^;]*\.write_crossed\()\w+", r"\g<1>1'h0", "another place than its bank"),
    "rows of another place": (r"(result_store \([^;]*\.read_beat\()[^)]*", r"\g<1>4'h0", "another address"),
    "scales of rows twice": (r"column_scale <= stored\[79:72\]", "column_scale <= stored[7:0]", "not in one memory"),
    "codes changed on their way out": (r"column_p <= by_row", "column_p <= ~ by_row", "column_p of the top module"),
    "last result marked late": (r"o_last <= \w+", "o_last <= turning_has_block", "o_last"),
}


@pytest.mark.sampled(8)
@pytest.mark.parametrize("fault", BACK)
def test_wrong_wires_of_second_stores_are_refused(fault, turned, tmp_path):
    *edit, sentence = BACK[fault]
    tile = Nvfp4Tile(Design(planted(turned, *edit), "square", tmp_path), TURNED)
    with pytest.raises(StructureError, match=sentence):
        tile.check()


@pytest.mark.slow
def test_second_stores_overwritten_early_have_a_trace(turned, tmp_path):
    wrong = planted(turned, r"assign takes_result = ([^;]*);", r"assign takes_result = \1 | o_valid;")
    tile = Nvfp4Tile(Design(wrong, "square", tmp_path), TURNED)
    trace = first_trace(tile_questions(tile), TURNED, tile.design, tmp_path)
    assert "reset" in trace.words[0] and len(trace.words) > 2
