"""Casts by AXI4-Stream: packets of words of any length are proved, and planted faults are refuted."""

from __future__ import annotations

from pathlib import Path

import pytest

from mxcast.hdl import cast_config, default_name, emitted
from mxcast.proof import prove
from mxcast.proof.netlist.beats.axis_cast import AxisCast
from mxcast.proof.netlist.design import Design
from mxcast.proof.specification.beats.axis_through import through_questions
from mxcast.proof.specification.beats.stream_path import path_of_cast
from mxcast.spec import SCALARS

from .test_lanes import first_trace, proof_of

CONFIG = cast_config("e4m3", lanes=2, source="bf16", interface="axis", registered_after="input,output")


@pytest.fixture(scope="module")
def verilog(tmp_path_factory: pytest.TempPathFactory) -> str:
    return emitted(CONFIG, tmp_path_factory.mktemp("casts"), default_name(CONFIG)).read_text()


def test_every_packet_is_proved(tmp_path: Path) -> None:
    proof = prove(CONFIG, out=tmp_path)
    assert proof.passed, proof.remark
    assert {"join", "join-tready", "pass", "pass-valid", "elements"} <= {step.question.name for step in proof.steps}
    assert [argument.reader for argument in proof.arguments] == ["read_verilog", "slang"]


ORDER = {
    "a beat that waits is replaced": ("if (!beat_held) beat_words_held_q", "beat_words_held_q", "other words"),
    "a beat that waits is lost": ("beat_held <= _08_", "beat_held <= 1'h0", "one is lost"),
    "a beat is taken twice": ("_06_ = beat_offered & _05_", "_06_ = beat_offered", "none waits"),
    "a beat without bytes is taken": ("_02_ = s_axis_tkeep[0] | s_axis_tlast", "_02_ = 1'h1", "twice"),
    "a beat enters before the reset ends": ("tready = beat_ready & running_q", "tready = beat_ready", "after a reset"),
    "a valid bit is lost": ("valid_input_q <= reads", "valid_input_q <= reads & beat_marks[0]", "too long"),
    "tkeep is read a byte too early": ("{ s_axis_tkeep[3],", "{ s_axis_tkeep[2],", "marks"),
    "tlast is another mark": ("m_axis_tlast = marks_output_q[0]", "m_axis_tlast = marks_output_q[1]", "tlast"),
    "tkeep is of another word": ("tkeep = marks_output_q[3:2]", "tkeep = {2{marks_output_q[2]}}", "tkeep"),
    "marks move without their enable": ("if (back_enable) marks_input_q", "marks_input_q", "tkeep"),
    "a result goes while it waits": ("if (_09_) m_axis_tvalid", "m_axis_tvalid", "while it waits"),
}
"""Edits of the emitted file, and a word of what its trace shows."""


@pytest.mark.sampled(4)
@pytest.mark.parametrize(("old", "new", "word"), ORDER.values(), ids=ORDER)
def test_a_fault_in_the_order_has_a_trace(old: str, new: str, word: str, verilog: str, tmp_path: Path) -> None:
    text = verilog.replace(old, new)
    assert text != verilog
    design = Design(text, default_name(CONFIG), tmp_path)
    questions = through_questions(path_of_cast(AxisCast(design, CONFIG)))
    assert word in first_trace(questions, CONFIG, design, tmp_path).words[-1]


DATAPATH = {
    "a bit of a cast is wrong": [("_19_ = _17_ ? 7'h7e", "_19_ = _17_ ? 7'h7d")],
    "tready reaches a result": [("result_0_output_q <= y", "result_0_output_q <= y ^ {8{m_axis_tready}}")],
    "words are exchanged": [("x_input_q <= beat_words", "x_input_q <= { beat_words[15:0], beat_words[31:16] }")],
}


@pytest.mark.sampled(2)
@pytest.mark.parametrize("edits", DATAPATH.values(), ids=DATAPATH)
def test_a_fault_of_the_datapath_has_a_block(edits: list[tuple[str, str]], verilog: str, tmp_path: Path) -> None:
    proof = proof_of(CONFIG, verilog, edits, tmp_path)
    assert proof.trace is None and proof.counterexample is not None


EVERY = [(format, lanes, {}) for format in SCALARS for lanes in (1, 2, 4)]
EVERY += [
    ("e4m3", 4, {"registered_after": "input,exponent,shifted,rounded,output"}),
    ("e2m1", 2, {"rounding": "sr", "random_bits": 4}),
    *((format, 4, {"destination": "fp32"}) for format in ("e5m2", "e4m3", "e2m1")),
]


@pytest.mark.slow
@pytest.mark.parametrize(("format", "lanes", "fields"), EVERY)
def test_every_format(format: str, lanes: int, fields: dict[str, str], tmp_path: Path) -> None:
    try:
        config = cast_config(format, lanes=lanes, interface="axis", **fields)  # type: ignore[arg-type]
    except ValueError as error:
        pytest.skip(str(error))
    proof = prove(config, out=tmp_path)
    assert proof.passed, proof.remark
