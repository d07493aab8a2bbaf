"""Decoders with lanes: the order of their beats and their bits are proved, and planted faults are refuted."""

from __future__ import annotations

from pathlib import Path

import pytest

from mxcast.hdl import decoder_config, default_name, emitted, nvfp4_decoder_config
from mxcast.hdl.decode.beats import AnyDecoder
from mxcast.proof import prove
from mxcast.proof.netlist.beats.parts import Beats
from mxcast.proof.netlist.design import Design
from mxcast.proof.solve.argument import answered
from mxcast.proof.specification.beats.axis_through import through_questions
from mxcast.proof.specification.beats.order import WRONG
from mxcast.proof.specification.beats.stream_path import path_of_decoder
from mxcast.spec import ELEMENTS

from ...hdl.planted import edited
from .test_lanes import first_trace, proof_of

E4M3 = decoder_config("e4m3", lanes=8, registered_after="read")


def test_every_beat_of_every_block(tmp_path: Path) -> None:
    proof = prove(E4M3, out=tmp_path)
    assert proof.passed, proof.remark
    asked = {step.question.name for step in proof.steps}
    assert asked == {"order-reset", "order-step", "order", "order-valid", "order-can-happen", "one-result", "elements"}
    assert [argument.reader for argument in proof.arguments] == ["read_verilog", "slang"]


ORDER = {
    "a beat is dropped": ([("valid_scale_q <= reads;", "valid_scale_q <= reads & (beat != 2'h2);")], None),
    "a beat is doubled": ([("o_valid <= valid_scale_q;", "o_valid <= valid_scale_q | (o_valid & o_last);")], None),
    "the scale is of the second beat": ([(".is_first(is_first)", ".is_first(beat == 2'h1)")], None),
    "o_last is set a beat early": ([("is_last = & beat", "is_last = beat == 2'h2")], 5),
    "a result goes while it waits": ([("else if (i_ready) o_valid", "else o_valid")], None),
    "no beat is taken in time": (
        [("assign i_ready = o_ready | _01_;", "assign i_ready = (o_ready | _01_) & ~is_last;")],
        6,
    ),
    "the place is not reset": ([("rst ? 2'h0 : ", "1'h0 ? 2'h0 : ")], None),
}
"""Edits of the emitted file, and the place in `WRONG` of what a trace shows, if only one fits."""


@pytest.fixture(scope="module")
def verilog(tmp_path_factory: pytest.TempPathFactory) -> str:
    return emitted(E4M3, tmp_path_factory.mktemp("lanes"), default_name(E4M3)).read_text()


@pytest.mark.sampled(4)
@pytest.mark.parametrize(("edits", "wrong"), ORDER.values(), ids=ORDER)
def test_a_fault_in_the_order_has_a_trace(
    edits: list[tuple[str, str]], wrong: int | None, verilog: str, tmp_path: Path
) -> None:
    proof = proof_of(E4M3, verilog, edits, tmp_path)
    assert proof.trace is not None
    assert any(
        "of block 0 enters, p = 0x" in sentence and "with the scale 0x" in sentence for sentence in proof.trace.words
    )
    if wrong is not None:
        assert WRONG[wrong] in proof.trace.words[-1]


BITS = {
    "a bit of an element is wrong": [("- $signed({ 1'h0, zeros_read_q })", "+ $signed({ 1'h0, zeros_read_q })")],
    "lanes are exchanged": [(".p(p[7:0])", ".p(p[15:8])")],
    "the scale is kept with the last beat": [("= enable & is_first;", "= enable & is_last;")],
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("edits", BITS.values(), ids=BITS)
def test_a_fault_in_the_bits_has_a_block(edits: list[tuple[str, str]], verilog: str, tmp_path: Path) -> None:
    proof = proof_of(E4M3, verilog, edits, tmp_path)
    assert proof.trace is None and proof.counterexample is not None


SKID = decoder_config("e4m3", lanes=2, block_size=8, interface="skid")


@pytest.mark.slow
def test_a_skid_is_proved(tmp_path: Path) -> None:
    proof = prove(SKID, out=tmp_path)
    assert proof.passed, proof.remark
    assert {"order", "place", "place-ready", "elements"} <= {step.question.name for step in proof.steps}


AXIS = decoder_config("e4m3", lanes=2, block_size=8, interface="axis")
STREAMS = {
    "a beat that waits is replaced": ("if (!beat_held) beat_codes_held_q", "beat_codes_held_q", "other words"),
    "a beat that waits is lost": ("_17_ = aresetn ? _08_", "_17_ = 1'h0 ? _08_", "one is lost"),
    "a beat is decoded twice": ("_08_ = beat_offered & _07_", "_08_ = beat_offered", "none waits"),
    "a beat without bytes is decoded": ("_11_ = s_axis_tkeep[0] | s_axis_tlast", "_11_ = 1'h1", "none waits"),
    "a beat does not wait for its scale": ("_05_ = beat_offered & _04_", "_05_ = beat_offered", "without a scale"),
    "a scale that waits is lost": ("_18_ = aresetn ? _10_", "_18_ = 1'h0 ? _10_", "scale"),
    "a scale is of two blocks": ("takes_scale = reads & _25_", "takes_scale = reads & _25_ & beat_held", "scale"),
    "an empty packet takes a scale": ("_25_ = _24_ & beat_has_bytes", "_25_ = _24_", "scale"),
    "a beat enters before the reset ends": (
        "s_axis_tready = beat_ready & running_q",
        "s_axis_tready = beat_ready",
        "after a reset",
    ),
    "a block does not end with its packet": ("_13_ = beat_marks[0] ? 2'h0 : _12_", "_13_ = _12_", "another scale"),
    "tlast is lost": ("m_axis_tlast = o_marks[0]", "m_axis_tlast = 1'h0", "tlast"),
    "tkeep is of another lane": ("m_axis_tkeep = { o_marks[3]", "m_axis_tkeep = { o_marks[2]", "tkeep"),
    "a result goes while it waits": ("if (_29_) m_axis_tvalid", "m_axis_tvalid", "while it waits"),
}
"""Edits of the emitted file with ``interface=axis``, and a word of what its trace shows."""


def first_fault(config: AnyDecoder, edits: list[tuple[str, str]], folder: Path) -> str:
    """The last sentence of the trace for the first question that the edited file does not pass."""
    verilog, name = emitted(config, folder / "right", default_name(config)).read_text(), default_name(config)
    design = Design(edited(verilog, edits), name, folder)
    return first_trace(through_questions(path_of_decoder(Beats(design, config))), config, design, folder).words[-1]


@pytest.mark.sampled(8)
@pytest.mark.parametrize(("old", "new", "word"), STREAMS.values(), ids=STREAMS)
def test_a_fault_of_streams_has_a_trace(old: str, new: str, word: str, tmp_path: Path) -> None:
    assert word in first_fault(AXIS, [(old, new)], tmp_path)


PACKED = decoder_config("e2m1", lanes=4, block_size=8, interface="axis", scale_place="before")
BLOCKS = {
    "a word that waits is lost": ("_012_ = aresetn ? _002_", "_012_ = 1'h0 ? _002_", "one is lost"),
    "the window begins a byte late": ("{ word, word_q[15:8] }", "{ word[7:0], word }", "layout"),
    "the register keeps an older word": ("if (enable) word_q <= word", "if (enable & offset) word_q <= word", "layout"),
    "a block does not move the next one": ("_005_ = offset ? 1'h0 : _004_", "_005_ = offset", None),
    "a word that only fills makes a beat": ("_022_ = is_filled | beat_last", "_022_ = 1'h1", "not with this word"),
    "an incomplete beat has no mark": ("_019_ = offset ? beat_keep[1]", "_019_ = offset ? beat_keep[0]", "marks"),
    "bytes of another packet go on": ("_041_ = beat_last ? 1'h0 : _040_", "_041_ = _040_", None),
    "the scale is a byte of codes": (".scale(window[7:0])", ".scale(window[15:8])", "layout"),
    "codes are exchanged": (".p(window[23:8])", ".p({ window[19:8], window[23:20] })", "layout"),
    "tlast is lost": ("m_axis_tlast = o_marks[0]", "m_axis_tlast = 1'h0", "tlast"),
}
"""The same for packed blocks."""


@pytest.mark.sampled(8)
@pytest.mark.parametrize(("old", "new", "word"), BLOCKS.values(), ids=BLOCKS)
def test_a_fault_of_packed_blocks_has_a_trace(old: str, new: str, word: str | None, tmp_path: Path) -> None:
    words = first_fault(PACKED, [(old, new)], tmp_path)
    assert word is None or word in words


@pytest.mark.slow
@pytest.mark.sampled(4, first=1)
@pytest.mark.parametrize(
    ("format", "fields"),
    [
        ("e2m1", {"lanes": 4, "block_size": 8, "scale_place": "before"}),
        ("e4m3", {"lanes": 1, "block_size": 4, "scale_place": "before"}),
        ("e2m1", {"block_size": 8, "scale_place": "after"}),
        ("e3m2", {"lanes": 8, "layout": "quark_pack"}),
        pytest.param("e2m1", {"layout": "ggml"}, marks=pytest.mark.slow),
        pytest.param("e2m1", {"layout": "quark_pack"}, marks=pytest.mark.slow),
        pytest.param("e2m1", {"layout": "compressed_tensors", "lanes": 8}, marks=pytest.mark.slow),
        *(
            pytest.param(format, {"scale_place": "before", "lanes": lanes}, marks=pytest.mark.slow)
            for format in ELEMENTS
            for lanes in (0, 8)
        ),
    ],
)
def test_blocks_of_a_layout_are_proved(format: str, fields: dict[str, str], tmp_path: Path) -> None:
    proof = prove(decoder_config(format, interface="axis", **fields), out=tmp_path)  # type: ignore[arg-type]
    assert proof.passed, proof.remark


OF_A_TENSOR = nvfp4_decoder_config(
    "nvfp4", block_size=4, lanes=2, destination="bf16", interface="axis", scale_place="before"
)


def test_packed_blocks_have_the_scale_of_their_tensor(tmp_path: Path) -> None:
    """The questions about the stream; those about numbers do not depend on it."""
    verilog, name = emitted(OF_A_TENSOR, tmp_path).read_text(), default_name(OF_A_TENSOR)
    questions = through_questions(path_of_decoder(Beats(Design(verilog, name, tmp_path), OF_A_TENSOR)))
    steps = answered(questions, tmp_path, solver="bitwuzla", timeout=300, say=lambda text: None)
    assert {str(step.status) for step in steps} == {"PASS"}
    assert {"join", "unpack", "pass", "pass-can-happen"} <= {step.question.name for step in steps}


@pytest.mark.slow  # a minute
def test_packed_blocks_of_nvfp4_are_proved(tmp_path: Path) -> None:
    assert prove(OF_A_TENSOR, out=tmp_path).passed


def test_the_scale_of_another_tensor_has_a_trace(tmp_path: Path) -> None:
    """A beat that waits gets the scale of the tensor before it."""
    edit = "if (!beat_held) beat_g_held_q <=", "if (beat_held) beat_g_held_q <="
    assert "other words" in first_fault(OF_A_TENSOR, [edit], tmp_path)


@pytest.mark.slow
def test_streams_are_proved(tmp_path: Path) -> None:
    proof = prove(AXIS, out=tmp_path)
    assert proof.passed, proof.remark
    assert {"join", "join-tready", "pass", "pass-valid", "elements"} <= {step.question.name for step in proof.steps}


@pytest.mark.sampled(2)
@pytest.mark.parametrize("interface", ["skid", "axis"])
def test_whole_blocks_with_an_interface_are_proved(interface: str, tmp_path: Path) -> None:
    proof = prove(decoder_config("e2m1", block_size=4, interface=interface), out=tmp_path)
    assert proof.passed, proof.remark


EVERY = [(format, lanes, {}) for format in ELEMENTS for lanes in (1, 2, 4, 8, 16)]
EVERY += [
    ("e4m3", 4, {"target": "xcu", "registered_after": "input,read,output"}),
    *(("e5m2", lanes, {"interface": face}) for lanes in (0, 1, 2, 4, 8, 16) for face in ("skid", "axis")),
    ("e2m1", 8, {"destination": "bf16", "rounding": "sr", "random_bits": 4}),
    ("e2m1", 8, {"destination": "bf16", "rounding": "sr", "random_bits": 4, "interface": "axis"}),
    ("e4m3", 4, {"target": "xcu", "registered_after": "input,read,output", "interface": "axis"}),
]


@pytest.mark.slow
@pytest.mark.parametrize(("format", "lanes", "fields"), EVERY)
def test_every_format_and_number_of_lanes(format: str, lanes: int, fields: dict[str, str], tmp_path: Path) -> None:
    proof = prove(decoder_config(format, lanes=lanes, **fields), out=tmp_path)  # type: ignore[arg-type]
    assert proof.passed, proof.remark
