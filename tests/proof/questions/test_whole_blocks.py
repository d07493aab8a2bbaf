"""Encoders whose beats are whole blocks: proved with skid and AXI4-Stream, and planted faults are refuted."""

from __future__ import annotations

from pathlib import Path

import pytest

from mxcast.hdl import converter_config, default_name, emitted, nvfp4_config
from mxcast.hdl.lanes.keys import EncoderConfig
from mxcast.proof import prove
from mxcast.proof.netlist.beats.parts import Beats
from mxcast.proof.netlist.design import Design
from mxcast.proof.questions.lanes import order_of
from mxcast.proof.specification.beats.axis import around, axis_questions

from ...configurations import ELEMENTS
from ...hdl.planted import planted
from .test_lanes import first_trace

MODES = converter_config(
    "e4m3,e5m2", block_size=4, interface="axis", scale_rule="floor,ceil", registered_after="level1,scale"
)
CONFIGS: dict[str, EncoderConfig] = {
    "two streams": MODES,
    "valid and ready": converter_config("e2m1", block_size=4, interface="skid", rounding="sr", random_bits=3),
    "blocks of ggml": converter_config("e2m1", interface="axis", layout="ggml"),
    "NVFP4": nvfp4_config("nvfp4", source="bf16", interface="axis", scale_place="after", order="ao"),
}


@pytest.mark.slow
@pytest.mark.sampled(4, first=1)
@pytest.mark.parametrize("config", CONFIGS.values(), ids=CONFIGS)
def test_every_block_of_every_packet(config: EncoderConfig, tmp_path: Path) -> None:
    proof = prove(config, out=tmp_path)
    assert proof.passed, proof.remark
    assert {"order", "order-valid", "order-ready", "order-can-happen"} <= {step.question.name for step in proof.steps}


FAULTS = {
    "a block is overwritten": (r"(can_write <= )\w+", r"\g<1>running_q", ""),
    "a block is left out": (r"words\[write_beat\] <=", "if (~write_beat) words[write_beat] <=", "numbers of another"),
    "a block is read twice": (r"(after_read = read_beat \+ )reads", r"\1(reads & write_beat)", ""),
    "a second block is forgotten": (r"(remains = has_block & )\w+", r"\g<1>~back_enable", ""),
    "the key is of the block that is written": (r"\.key\(stored\[\w+:\w+\]\)", ".key(key)", "numbers of another"),
    "the mode is of the block that is written": (
        r"\.mode\(stored\[\w+:\w+\]\)",
        ".mode(mode_of_beat)",
        "numbers of another",
    ),
    "the end of a packet is of the block that is written": (
        r"\.marks\(\{ stored\[\w+:\w+\], stored\[\w+\] \}\)",
        ".marks({ marks_of_beat, marks_of_beat[0] })",
        "numbers of another",
    ),
    "only a part of a packet ends a block": (r"\.is_first\(1'h1\)", ".is_first(valid_scale_q)", "o_first"),
    "a block in the queue waits for nobody": (r"assign reads = has_block & \w+", "assign reads = has_block", ""),
    "ready follows the receiver": (r"(can_write) <= (\w+)", r"room <= \2; always @* \1 = room & m_axis_tready", ""),
    "a missing number is not zero": (r"s_axis_tkeep\[3\] \? ", "s_axis_tkeep[2] ? ", "other numbers"),
    "a completed block has no mark": (r"completed_q <= \w+", "completed_q <= 1'h0", "marks"),
}
"""A pattern in the emitted file, its replacement, and a part of what the trace shows."""


@pytest.mark.sampled(12)
@pytest.mark.parametrize(("pattern", "replacement", "words"), FAULTS.values(), ids=FAULTS)
def test_a_fault_has_a_trace(pattern: str, replacement: str, words: str, tmp_path: Path) -> None:
    name = default_name(MODES)
    text = planted(emitted(MODES, tmp_path / "right", name).read_text(), pattern, replacement)
    text = text.replace("  reg can_write;", "  reg can_write; reg room;")
    design = Design(text, name, tmp_path)
    asked = [*order_of(MODES, design).questions(), *axis_questions(*around(Beats(design, MODES)))]
    assert words in first_trace(asked, MODES, design, tmp_path).words[-1]


def test_a_key_that_depends_on_another_block_has_a_block(tmp_path: Path) -> None:
    text = emitted(MODES, tmp_path / "right", "axis").read_text()
    held = "reg held; always @(posedge clk) if (enable & is_first & key[0]) held <= key[0];"
    text = planted(text, r"(?s)(module axis_beat_codes.*?;)(.*?)\.key\(key\)", rf"\1 {held}\2.key(key ^ held)")
    (tmp_path / "axis.v").write_text(text)
    proof = prove(MODES, rtl=tmp_path / "axis.v", name="axis", out=tmp_path)
    assert proof.status == "FAIL" and proof.counterexample is not None


def test_another_number_in_the_store_has_a_block(tmp_path: Path) -> None:
    config = CONFIGS["NVFP4"]
    text = emitted(config, tmp_path / "right", "axis").read_text()
    text = planted(text, r"assign numbers = x;", "assign numbers = { x[255:1], x[0] & x[1] };")
    (tmp_path / "axis.v").write_text(text)
    proof = prove(config, rtl=tmp_path / "axis.v", name="axis", out=tmp_path)
    assert proof.status == "FAIL" and proof.counterexample is not None


EVERY: dict[str, EncoderConfig] = {
    **{name: converter_config(name, interface="axis", target="xcu") for name in ELEMENTS},
    "skid": converter_config("e4m3", interface="skid", source="fp16", registered_after="input,level2,rounded"),
    "behind": converter_config("e5m2", interface="axis", scale_place="after"),
    "4 over 6": nvfp4_config("nvfp4", interface="axis", order="paper", four_over_six="mae"),
    "random": nvfp4_config("nvfp4", interface="skid", source="bf16", rounding="sr", random_bits=3),
}


@pytest.mark.slow
@pytest.mark.parametrize("config", EVERY.values(), ids=EVERY)
def test_every_kind(config: EncoderConfig, tmp_path: Path) -> None:
    proof = prove(config, out=tmp_path)
    assert proof.passed, proof.remark
