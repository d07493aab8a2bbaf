"""Hadamard transforms that add limb by limb: the way of blocks and all bits are proved, and planted faults are not."""

from __future__ import annotations

from pathlib import Path

import pytest

from mxcast.hdl import hadamard_config, verilog
from mxcast.proof import prove
from mxcast.proof.netlist.beats.limbs import LimbParts
from mxcast.proof.netlist.design import Design
from mxcast.proof.netlist.structure import StructureError
from mxcast.proof.operations import provable
from mxcast.proof.questions.limbs import flow
from mxcast.proof.solve.argument import Status
from mxcast.proof.solve.solver import solve
from mxcast.proof.verilog.text import plain

from ...hdl.planted import planted
from .test_lanes import first_trace

CONFIG = hadamard_config("hadamard16", form="limbs")


@pytest.mark.slow
@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"registered_after": "", "signs": 0x1234},
        {"registered_after": "placed,level3,leading"},
        {"registered_after": ",".join(CONFIG.stages)},
    ],
)
def test_transforms_are_proved(fields, tmp_path):
    proof = prove(hadamard_config("hadamard16", form="limbs", **fields), out=tmp_path)
    assert proof.passed and proof.method == "composed", proof.remark
    asked = {"flow-step", "flow", "limbs", "level-4", "about", "flags", "range", "carry", "keeps", "digits", "results"}
    for argument in proof.arguments:
        assert {step.question.name for step in argument.steps} >= asked
    assert [argument.reader for argument in proof.arguments] == ["read_verilog", "slang"]


@pytest.fixture(scope="module")
def text() -> str:
    return verilog(CONFIG, "square")


def design_of(text: str, folder: Path) -> Design:
    return Design(plain(text), "square", folder)


FLOW = {
    "a block enters early": (r"= limb == 5'h10", "= limb == 5'h0f", "i_ready is not"),
    "no block enters behind another": (r"assign enters = _000_ \| _011_", "assign enters = _000_", "i_ready is not"),
    "a reset leaves results": (r"if \(rst\) valid_chosen_q <= 1'h0;\n    else if", "if", "o_valid is not"),
    "registers move while a result waits": (r"= o_ready \| _009_", "= o_ready | _009_ | complete", "do not move"),
    "numbers change": (r"if \(i_ready\) x_input_q", "if (enable) x_input_q", "other numbers"),
    "a limb is skipped": (r"= limb \+ 1'h1", "= limb + 2'h2", "another limb"),
    "results are late": (
        r"valid_leading_q <= valid_chosen_q",
        "valid_leading_q <= valid_chosen_q & i_valid",
        "o_valid",
    ),
    "NaN of another block": (r"if \(_021_\) specials <= ", "if (enable) specials <= ", "the flags of another"),
    "NaN of another result": (
        r"(flags flags \([^;]*\.result\()result",
        r"\g<1>{ result[3:1], ~result[0] }",
        "the flags of another",
    ),
    "sums of another block": (
        r"if \(_021_\) windows_held_q <= ",
        "if (enable) windows_held_q <= ",
        "the window or the flags",
    ),
    "a result of another sum": (r"result\[2\] \? _029_", "result[1] ? _029_", "the window or the flags"),
    "a flag of another result": (
        r"if \(enable\) is_nan <= ",
        "if (enable & ~reads) is_nan <= ",
        "the window or the flags",
    ),
    "a result at another place": (r"y <= \{ (_\d+_), y\[255:16\] \}", r"y <= { y[239:0], \1 }", "the place of another"),
}
"""Edits of the control, and what is wrong then. One trace is asked for, as each has the edges of a whole block."""


@pytest.mark.sampled(13, first=2)
@pytest.mark.parametrize("fault", FLOW)
def test_a_fault_of_the_flow_is_refuted(fault, text, tmp_path):
    *edit, words = FLOW[fault]
    design = design_of(planted(text, *edit), tmp_path)
    questions = list(flow(LimbParts(design, CONFIG)).questions())
    broken = next(one for one in questions if solve(one.text, one.names).result != one.expected)
    assert broken.is_of_order
    if fault == "a block enters early":
        trace = first_trace(questions, CONFIG, design, tmp_path)
        assert "reset" in trace.words[0] and words in trace.words[-1]


BITS = {
    "a subnormal number has a hidden bit": ("limbs", r"\{ _\d+_, x\[6:0\] \}", "{ 1'h1, x[6:0] }"),
    "a limb too high": ("limbs", r"= limb_placed_q - first", "= limb_placed_q + 1'h1 - first"),
    "a difference is a sum": (
        "level-1",
        r"= sum_04_aligned_q - sum_05_aligned_q",
        "= sum_04_aligned_q + sum_05_aligned_q",
    ),
    "a sum of another level": ("level-4", r"(level4_sum_03 = .*)level3_sum_03", r"\1level3_sum_02"),
    "NaN of a number is not noticed": ("about", r"x\[62:48\] > 15'h7f80", "1'h0 & x[62:48] > 15'h7f80"),
    "the second limb is the first": ("about", r"assign _000_ = \| limb;", "assign _000_ = | limb[4:1];"),
    "a sign of another number": ("flags", r"(_\d+_ = \^ \{ result\[3:2\]), result\[0\]", r"\1, result[1]"),
    "Inf of both signs is Inf": ("flags", r"is_nan = specials\[0\] \| _11_", "is_nan = specials[0]"),
    "a carry is lost": (
        "carry",
        r"is_first \? 5'h00 : carried",
        "is_first ? 5'h00 : { carried[4], 1'h0, carried[2:0] }",
    ),
    "a carry of another block": ("carry", r"is_first \? 5'h00 : carried", "carried"),
    "a change at the border of limbs is not seen": (
        "keeps",
        r"digits_digits_q\[14:0\], previous\[15\]",
        "digits_digits_q[14:0], digits_digits_q[0]",
    ),
    "lower bits of another block": ("keeps", r"assign _23_ = _20_ & _22_", "assign _23_ = _22_"),
    "a lower bit is forgotten": ("keeps", r"= has_lower \| _21_", "= _21_"),
    "the limb before is kept": ("keeps", r"number <= limb_digits_q", "number <= limb"),
    "a bit does not decide a tie": ("results", r"\| rest_leading_q", "| rest_leading_q & number_leading_q[0]"),
}
"""By fault, the lemma that refutes it, and the change of the emitted text."""


@pytest.mark.sampled(16)
@pytest.mark.parametrize("fault", BITS)
def test_each_lemma_can_fail(fault, text, tmp_path):
    lemma, *edit = BITS[fault]
    design, asked = design_of(planted(text, *edit), tmp_path), provable(CONFIG)
    questions = asked.composed(CONFIG, design, asked.specification)
    assert lemma == next(one.name for one in questions if solve(one.text, one.names).result != one.expected)


IN_FLAGS = "reg p; always @(posedge result[0]) p <= | _10_; assign positive = p;"
WIRES = [
    (r"assign positive = \| _10_;", IN_FLAGS, "flags has a register without an enable"),
    (r"(running_03 \([^;]*limb_sum\()sums\[83:63\]", r"\1sums[62:42]", "running_03 of square has another limb_sum"),
    (r"(running_03 \([^;]*\.limb\()sums_limb", r"\1limb", "running_03 of square has another limb"),
    (r"(running_03 \([^;]*enable\()enable", r"\1i_ready", "running_03 of square has another enable"),
    (r"(limb_sums limb_sums \([^;]*enable\()enable", r"\1i_ready", "an instance of square does not move with enable"),
    (r"(limb_04 \([^;]*\.x\()x\[79:64\]", r"\1x[95:80]", "the limb 4 of square does not come from one module"),
    (r"(limb_04 \([^;]*is_negated\()1'h0", r"\g<1>1'h1", "the limb 4 of square does not come from one module"),
    (r"if \(enable\) limb_aligned_q", "if (enable & limb[0]) limb_aligned_q", "an enable in limb_sums depends on more"),
    (r"= top_shifted_q \+", "= _027_ +", "registers between a beat and its result: 2 or 3, not 3"),
    (
        r"(sum_03_level4_q\[19\], sum_03_level4_q), (sum_02_level4_q\[19\], sum_02_level4_q)",
        r"\2, \1",
        "the results of the limb_sums are exchanged",
    ),
    (
        r"assign _23_ = _20_ & _22_;",
        "reg q; always @(posedge clk) if (enable) q <= _20_ & _22_; assign _23_ = q;",
        "running_.. has other registers",
    ),
    (r"limb_placed_q <= limb;", "limb_placed_q <= limb + 1'h1;", "the limb_sums have another limb"),
]


@pytest.mark.sampled(4)
@pytest.mark.parametrize(("right", "wrong", "sentence"), WIRES)
def test_parts_that_are_exchanged_are_not_proved(right, wrong, sentence, text, tmp_path):
    design, asked = design_of(planted(text, right, wrong), tmp_path), provable(CONFIG)
    with pytest.raises(StructureError, match=f"^{sentence}"):
        list(asked.composed(CONFIG, design, asked.specification))


@pytest.mark.slow
def test_a_planted_bug_is_refuted_with_a_block(tmp_path):
    file = tmp_path / "dut.v"
    file.write_text(planted(verilog(CONFIG, "dut"), r"x\[62:48\] > 15'h7f80", "x[62:48] > 15'h7f81"))
    proof = prove(CONFIG, rtl=file)
    assert proof.status is Status.FAIL and "expected 0x7FC0" in proof.counterexample.report
