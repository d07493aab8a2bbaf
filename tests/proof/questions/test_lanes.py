"""Encoders with lanes: the order of their beats and their bits are proved, and planted faults are refuted."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest

from mxcast.hdl import ConverterConfig, ConverterFields, HardwareConfig, converter_config, default_name, emitted
from mxcast.proof import Proof, prove
from mxcast.proof.netlist.design import Design
from mxcast.proof.questions.lanes import order_of
from mxcast.proof.questions.question import Question
from mxcast.proof.solve.solver import solve
from mxcast.proof.solve.trace import Trace, trace_of
from mxcast.proof.specification.beats.axis import around, axis_questions
from mxcast.proof.specification.beats.order import WRONG

from ...configurations import ELEMENTS
from ...hdl.planted import edited, planted

SMALL = converter_config("e4m3", lanes=2, block_size=8)
SKID = converter_config("e4m3", lanes=2, block_size=8, interface="skid")
"""Converters with as many beats as one of 8 lanes, which take a seventh of the time. Faults are planted in them."""


@pytest.mark.slow
def test_every_beat_of_every_block(tmp_path: Path) -> None:
    proof = prove(converter_config("e4m3", lanes=8), out=tmp_path)
    assert proof.passed, proof.remark
    asked = {step.question.name for step in proof.steps}
    assert {"order-reset", "order-step", "order", "order-valid", "order-can-happen", "element", "scale"} <= asked
    assert [argument.reader for argument in proof.arguments] == ["read_verilog", "slang"]


VALID_WAITS = [
    ("  reg o_valid;", "  wire o_valid; reg waiting; assign o_valid = waiting & o_ready;"),
    ("if (rst) o_valid <= 1'h0;", "if (rst) waiting <= 1'h0;"),
    ("else if (back_enable) o_valid <= reads", "else if (back_enable) waiting <= reads"),
    ("= ~ o_valid;", "= ~ waiting;"),
    ("valid_scale_q = o_valid", "valid_scale_q = waiting"),
]
KEY_BEFORE = [
    (".key(amax),", ".key(earlier),"),
    ("  wire [7:0] amax;\n  wire back", "  wire [7:0] amax; reg [7:0] earlier;\n  wire back"),
    (
        "assign can_write",
        "always @(posedge clk) if (i_valid & i_ready & is_first) earlier <= amax;\n  assign can_write",
    ),
]
ORDER = {
    "a beat is dropped": ([("words[write_beat] <= word", "if (write_beat != 2'h2) words[write_beat] <= word")], 1),
    "a beat is doubled": ([("= read_beat + 1'h1", "= read_beat + (read_beat != 2'h1)")], None),
    "beats are exchanged": ([("  assign stored = words[read_beat]", "  assign stored = words[read_beat ^ 2'h1]")], 1),
    "the key of the block before counts too": ([("_1_ = is_first | _0_", "_1_ = _0_")], 2),
    "the key of the block before is kept": ([("_2_ = enable & _1_", "_2_ = enable & ~is_first & _1_")], 2),
    "the scale is of the block before": (KEY_BEFORE, 2),
    "a beat is overwritten one beat early": ([(" | back_enable;", " | 1'h1;")], None),
    "o_last is set a beat early": ([("is_last = & read_beat", "is_last = read_beat == 2'h2")], 5),
    "a block is ready before the reset ends": ([("rst ? 1'h0 : ", "1'h0 ? 1'h0 : ")], None),
    "a result goes while it waits": ([("else if (back_enable) o_valid", "else o_valid")], 7),
    "no beat is taken in time": ([(" | back_enable;", " & ~has_block;")], 6),
    "valid waits for ready": (VALID_WAITS, None),
}
"""Edits of the emitted file, and the place in `WRONG` of what a trace shows, if only one fits."""


@pytest.fixture(scope="module")
def verilog(tmp_path_factory: pytest.TempPathFactory) -> str:
    return emitted(SMALL, tmp_path_factory.mktemp("lanes"), default_name(SMALL)).read_text()


def proof_of(config: HardwareConfig, verilog: str, edits: list[tuple[str, str]], folder: Path) -> Proof:
    """The proof of an edited file. A fault in the order of beats has a trace, which ends with the wrong edge."""
    file = folder / f"{default_name(config)}.v"
    file.write_text(edited(verilog, edits))
    proof = prove(config, rtl=file, out=folder)
    assert proof.status == "FAIL", proof.remark
    if proof.trace is not None:
        assert proof.trace.words[0].startswith("edge 0: reset")
        assert proof.trace.words[-1].startswith(f"wrong at edge {len(proof.trace.words) - 2}: ")
    return proof


@pytest.mark.sampled(12)
@pytest.mark.parametrize(("edits", "wrong"), ORDER.values(), ids=ORDER)
def test_a_fault_in_the_order_has_a_trace(
    edits: list[tuple[str, str]], wrong: int | None, verilog: str, tmp_path: Path
) -> None:
    proof = proof_of(SMALL, verilog, edits, tmp_path)
    assert proof.trace is not None
    assert any("of block 0 enters, x = 0x" in sentence for sentence in proof.trace.words)
    if wrong is not None:
        assert WRONG[wrong] in proof.trace.words[-1]
    waves = proof.trace.file.read_text()
    assert waves.count("1~") == len(proof.trace.words) - 1


READY_FOLLOWS = [
    ("  reg i_ready;", "  wire i_ready; reg room; assign i_ready = room & o_ready;"),
    ("i_ready <= ", "room <= "),
]
SKID_ORDER = {
    "a beat is overwritten early": ([("can_write_stopped = _18_ ? _21_ : _24_", "can_write_stopped = 1'h1")], None),
    "a key is replaced before it is used": ([("_24_ = ~ _23_", "_24_ = 1'h1")], 2),
    "a block is read before it is whole": ([("whole = key_waits | _27_", "whole = 1'h1")], None),
    "a key lacks the last beat": ([("amax <= largest", "amax <= largest_q")], 2),
    "no beat is taken in time": ([("_28_ = back_enable ? can_write_moved", "_28_ = back_enable ? 1'h0")], 6),
    "ready waits for the receiver": (READY_FOLLOWS, 6),
    "a reset leaves a key": ([("_31_ = rst ? 1'h0", "_31_ = 1'h0 ? 1'h0")], None),
}
"""The same for ``interface=skid``, with two halves of the store."""


def first_trace(questions: Iterable[Question], config: HardwareConfig, design: Design, folder: Path) -> Trace:
    """The trace for the first question that a design does not pass."""
    for asked in questions:
        if solve(asked.text, asked.names, solver="bitwuzla", timeout=100).result != asked.expected:
            found = trace_of(asked, config, design, folder, solver="bitwuzla", timeout=100)
            assert found is not None, asked.name
            return found
    raise AssertionError("it passes")


def trace_in(config: ConverterConfig, edits: list[tuple[str, str]], folder: Path) -> Trace:
    """The trace of the first question about the order of beats that the edited file does not pass."""
    verilog, name = emitted(config, folder / "right", default_name(config)).read_text(), default_name(config)
    design = Design(edited(verilog, edits), name, folder)
    order = order_of(config, design)
    axis = axis_questions(*around(order.beats)) if config.has_axis else ()
    return first_trace([*order.questions(), *axis], config, design, folder)


@pytest.mark.sampled(8)
@pytest.mark.parametrize(("edits", "wrong"), SKID_ORDER.values(), ids=SKID_ORDER)
def test_a_fault_between_two_halves_has_a_trace(
    edits: list[tuple[str, str]], wrong: int | None, tmp_path: Path
) -> None:
    trace = trace_in(SKID, edits, tmp_path)
    assert wrong is None or WRONG[wrong] in trace.words[-1]


TABLES = converter_config("e4m3", lanes=2, block_size=8, target="xcu")
"""Its lanes take one bit more, a function of the scale that is computed once for all of them."""


@pytest.mark.slow
def test_a_function_of_the_scale_belongs_to_each_lane(tmp_path: Path) -> None:
    assert prove(TABLES, out=tmp_path).passed
    file = tmp_path / f"{default_name(TABLES)}.v"
    verilog = emitted(TABLES, tmp_path, default_name(TABLES)).read_text()
    old = "if (_00_) is_large <= _01_;"
    assert verilog.count(old) == 1
    file.write_text(verilog.replace(old, old.replace("_01_", "~_01_")))
    proof = prove(TABLES, rtl=file, out=tmp_path)
    assert proof.status == "FAIL", proof.remark
    assert proof.counterexample is not None


KEY_ENDS = r"\1found\2wire [7:0] found; assign key = marks[0] ? 8'h0 : found; \3"
AXIS = converter_config("e4m3", lanes=2, block_size=8, interface="axis")
PACKETS = {
    "tlast is lost": ("last_q <= s_axis_tlast", "last_q <= 1'h0", "core"),
    "tkeep is read a byte too early": ("_054_ = ~ s_axis_tkeep[3]", "_054_ = ~ s_axis_tkeep[2]", "core"),
    "zeros end a beat too early": ("_034_ = & beat", "_034_ = beat == 2'h2", "one is lost"),
    "a beat enters before the reset ends": ("= _066_ & running_q", "= _066_", "s_axis_tready"),
    "tlast comes with every beat": ("_043_ = _042_ & marks_of_block[0]", "_043_ = marks_of_block[0]", "last beat"),
    "marks are of the other block": ("= read_beat[2] ? marks", "= ~ read_beat[2] ? marks", "marks"),
    "tkeep is wrong": ("m_axis_tkeep = 2'h3", "m_axis_tkeep = 2'h1", "m_axis_tkeep"),
    "tlast marks a whole block": ("m_axis_tlast = o_marks[0]", "m_axis_tlast = o_marks[1]", "tlast"),
    "a scale is replaced": ("_013_ = scale_blocks & _012_", "_013_ = scale_blocks & next_beat[0]", "replaced"),
    "a scale is replaced by the next one": ("= | beat_after", "= | next_beat", "replaced"),
    "a scale has the tlast of a beat": (
        "m_axis_scale_tlast <= next_marks[1]",
        "m_axis_scale_tlast <= next_marks[0]",
        "scale",
    ),
}
"""Edits of the emitted file with ``interface=axis``, and a word of what its trace shows."""


@pytest.mark.sampled(12)
@pytest.mark.parametrize(("old", "new", "word"), PACKETS.values(), ids=PACKETS)
def test_a_fault_of_packets_has_a_trace(old: str, new: str, word: str, tmp_path: Path) -> None:
    assert word in trace_in(AXIS, [(old, new)], tmp_path).words[-1]


def test_zeros_have_the_mode_of_their_block(tmp_path: Path) -> None:
    fields: ConverterFields = {"lanes": 2, "block_size": 8, "interface": "axis", "scale_rule": "floor,ceil"}
    config = converter_config("e4m3,e5m2", **fields)
    edit = "if (_070_) user_q <= s_axis_tuser", "if (moves) user_q <= s_axis_tuser"
    assert "other user bits than the last beat" in trace_in(config, [edit], tmp_path).words[-1]


def test_a_key_that_depends_on_the_end_of_a_packet_is_refused(tmp_path: Path) -> None:
    text = emitted(AXIS, tmp_path / "right", "axis").read_text()
    text = planted(text, r"(?s)(amax_tree amax_tree \(\n +\.amax\()key(\).*?)(assign amax = key)", KEY_ENDS)
    (tmp_path / "axis.v").write_text(text)
    proof = prove(AXIS, rtl=tmp_path / "axis.v", name="axis", out=tmp_path)
    assert proof.status == "UNKNOWN" and "the key of a beat depends on its marks" in proof.remark


def test_packets_are_proved(tmp_path: Path) -> None:
    proof = prove(AXIS, out=tmp_path)
    assert proof.passed, proof.remark
    assert {"order", "enter", "leave", "element", "scale"} <= {step.question.name for step in proof.steps}


def test_a_path_from_ready_to_ready_is_found(verilog: str, tmp_path: Path) -> None:
    """With the interface stream, i_ready follows o_ready: the question whether it does is answered so."""
    order = order_of(SMALL, Design(verilog, default_name(SMALL), tmp_path))
    question = order.system.depends_on_registers("order-ready", "i_ready", "")
    assert solve(question.text, question.names, solver="bitwuzla", timeout=60).result == "sat"


BITS = {
    "a bit of a quantizer is wrong": [("aligned[3:1] } + up", "aligned[3:2], 1'h0 } + up")],
    "a scale is one too large": [("_1_ = key - 4'h8", "_1_ = key - 4'h7")],
    "a stored number lacks its sticky bit": [("numbers[21] = | x[43:32]", "numbers[21] = | x[42:32]")],
    "the key of a block is taken with its last beat": [("_0_ = enable & is_first", "_0_ = enable & is_last")],
}


@pytest.mark.sampled(4)
@pytest.mark.parametrize("edits", BITS.values(), ids=BITS)
def test_a_fault_in_the_bits_has_a_block(edits: list[tuple[str, str]], verilog: str, tmp_path: Path) -> None:
    proof = proof_of(SMALL, verilog, edits, tmp_path)
    assert proof.trace is None
    assert proof.counterexample is not None
    assert "expected" in proof.counterexample.report or "from this block on" in proof.counterexample.report


EVERY = [(format, lanes, {}) for format in ELEMENTS for lanes in (1, 2, 4, 8, 16)]
EVERY += [
    ("e4m3,e5m2", 16, {"scale_rule": "floor,ceil", "registered_after": "level2,scale,output"}),
    *((format, 8, {"target": "xcu"}) for format in ELEMENTS),
    ("e2m1", 8, {"source": "fp16", "rounding": "sr", "random_bits": 4}),
    ("e4m3", 8, {"input_subnormals": "flush", "element_subnormals": "flush"}),
    *(("e4m3", lanes, {"interface": face}) for lanes in (1, 2, 4, 8, 16) for face in ("skid", "axis")),
    ("e2m1", 8, {"interface": "axis", "rounding": "sr", "random_bits": 4}),
    ("e4m3,e5m2", 4, {"interface": "axis", "scale_rule": "floor,ceil", "registered_after": "input,key,scale,output"}),
    ("e4m3,e5m2", 4, {"interface": "skid", "scale_rule": "floor,ceil", "registered_after": "input,key,scale,output"}),
]


@pytest.mark.slow
@pytest.mark.parametrize(("format", "lanes", "fields"), EVERY)
def test_every_format_and_number_of_lanes(format: str, lanes: int, fields: dict[str, str], tmp_path: Path) -> None:
    proof = prove(converter_config(format, lanes=lanes, **fields), out=tmp_path)  # type: ignore[arg-type]
    assert proof.passed, proof.remark
