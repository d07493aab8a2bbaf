"""Encoders whose blocks leave in the bytes of a layout: proved, and planted faults are refuted."""

from __future__ import annotations

from pathlib import Path

import pytest

from mxcast.hdl import ConverterConfig, converter_config, default_name, emitted, nvfp4_config
from mxcast.hdl.lanes.keys import EncoderConfig
from mxcast.proof import prove
from mxcast.proof.netlist.beats.parts import Beats
from mxcast.proof.netlist.design import Design
from mxcast.proof.specification.beats.axis import around, axis_questions

from ...hdl.planted import planted
from .test_lanes import first_trace

BEFORE = converter_config("e4m3", lanes=4, block_size=8, interface="axis", scale_place="before")
AFTER = converter_config("int8", lanes=2, block_size=8, interface="axis", scale_place="after")
APART = converter_config("e2m3", lanes=2, interface="axis", layout="torchao")
CONFIGS: dict[str, EncoderConfig] = {
    "the scale is before the codes": BEFORE,
    "the scale is after the codes": AFTER,
    "a code in a byte": APART,
    "four codes in three bytes": converter_config("e3m2", lanes=4, interface="axis", layout="quark_pack"),
    "NVFP4": nvfp4_config("nvfp4", lanes=4, source="bf16", interface="axis", scale_place="before"),
}


@pytest.mark.slow
@pytest.mark.sampled(3, first=1)
@pytest.mark.parametrize(
    "config", [pytest.param(one, marks=[pytest.mark.slow] * (one.beats > 4), id=name) for name, one in CONFIGS.items()]
)
def test_every_byte_of_every_packet(config: EncoderConfig, tmp_path: Path) -> None:
    proof = prove(config, out=tmp_path)
    assert proof.passed, proof.remark
    asked = {step.question.name for step in proof.steps}
    assert {"order", "enter", "leave", "leave-m_axis_tvalid"} <= asked
    assert ("leave-m_axis_scale_tvalid" in asked) == config.is_even


def last_sentence(config: ConverterConfig, pattern: str, replacement: str, folder: Path) -> str:
    """The last sentence of the trace for the first question about streams that the edited file does not pass."""
    verilog, name = emitted(config, folder / "right", default_name(config)).read_text(), default_name(config)
    design = Design(planted(verilog, pattern, replacement), name, folder)
    return first_trace(axis_questions(*around(Beats(design, config))), config, design, folder).words[-1]


FAULTS = {
    "a byte is at the place of another": (
        r"\{ codes\[23:0\], codes\[31:24\] \}",
        "{ codes[7:0], codes[31:8] }",
        "a byte",
    ),
    "the scale is with the last codes": (
        r"\.o_first\(has_scale\),(\s*)\.o_last\((\w+)\)",
        r".o_first(\2),\1.o_last(has_scale)",
        "m_axis_tlast",
    ),
    "the scale has its bits in another order": (r"\? scale :", "? { scale[6:0], scale[7] } :", "a byte"),
    "bytes that wait are replaced": (r"if \(\w+\) waiting_q <=", "if (enable) waiting_q <=", "a byte"),
    "a full word is lost": (r"has_word = \w+ \| has_ended", "has_word = has_ended", ""),
    "the last bytes of a packet are lost": (r"(has_word = \w+) \| has_ended", r"\1", "a beat is taken before"),
    "tkeep is of a whole word": (r"(takes_for_word \? 4'hf : )\{[^}]*\}", r"\g<1>4'hf", "m_axis_tkeep"),
    "tlast is not set with the last bytes": (r"(takes_for_word \? \w+ : )has_ended", r"\g<1>1'h0", "m_axis_tlast"),
    "tuser is not the mark of the block": (
        r"waiting_completed_q <= o_marks\[2\]",
        "waiting_completed_q <= o_marks[1]",
        "the mark",
    ),
    "a word changes while it waits": (r"if \(enable\) word <=", "word <=", "while it waits"),
    "a beat is taken while a word waits": (r"(takes_beat = word_moves) & \w+", r"\1", ""),
    "the core waits for nobody": (r"takes_beat = word_moves &", "takes_beat = m_axis_tready &", "the core waits"),
}
"""A pattern in the emitted file, its replacement, and a part of what the trace shows."""


@pytest.mark.sampled(12)
@pytest.mark.parametrize(("pattern", "replacement", "words"), FAULTS.values(), ids=FAULTS)
def test_a_fault_of_the_packer_has_a_trace(pattern: str, replacement: str, words: str, tmp_path: Path) -> None:
    assert words in last_sentence(BEFORE, pattern, replacement, tmp_path)


def test_a_fault_of_padding_has_a_trace(tmp_path: Path) -> None:
    assert "above the codes" in last_sentence(APART, r"(assign m_axis_tdata = \{ )2'h0", r"\g<1>2'h1", tmp_path)
