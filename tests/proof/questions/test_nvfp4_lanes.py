"""NVFP4 with lanes: the order of beats, the constants of tensors and the bits are proved."""

from __future__ import annotations

from pathlib import Path

import pytest

from mxcast.hdl import Nvfp4Config, Nvfp4DecoderFields, Nvfp4HardwareFields, nvfp4_config, nvfp4_decoder_config, verilog
from mxcast.proof import prove
from mxcast.proof.netlist.beats.whole_block import whole_block
from mxcast.proof.netlist.design import Design
from mxcast.proof.netlist.nvfp4_structure import Nvfp4Wiring, nvfp4_wiring
from mxcast.proof.netlist.structure import StructureError
from mxcast.proof.questions.lanes import order_of
from mxcast.proof.specification.beats.axis import around, axis_questions
from mxcast.proof.specification.beats.axis_through import through_questions
from mxcast.proof.specification.beats.order import WRONG
from mxcast.proof.specification.beats.stream_path import path_of_decoder

from ...hdl.planted import planted
from .test_lanes import first_trace

SOON = nvfp4_config("nvfp4", source="bf16", order="modelopt", lanes=4, interface="axis", registered_after="input,amax")
"""A proof that takes 12 s."""
LATE = nvfp4_config("nvfp4", source="bf16", lanes=4, interface="axis", registered_after="ratio,digits12")
"""The scale meets its numbers two registers behind the store."""


@pytest.mark.slow
def test_packets_under_constants_are_proved(tmp_path: Path) -> None:
    proof = prove(SOON, out=tmp_path)
    assert proof.passed, proof.remark
    asked = {step.question.name for step in proof.steps}
    assert {"order", "enter", "leave", "maximum", "scale", "element"} <= asked
    assert [argument.reader for argument in proof.arguments] == ["read_verilog", "slang"]


@pytest.fixture(scope="module")
def text() -> str:
    return verilog(LATE, "late")


def composed(text: str, folder: Path, config: Nvfp4Config = LATE) -> Nvfp4Wiring:
    """The modules of a whole block, after the checks on the netlist."""
    design = Design(text, "late", folder)
    beats = order_of(config, design).beats
    beats.check_delays()
    whole = whole_block(design, config, beats.without_registers(), beats.modules)
    return nvfp4_wiring(whole.modules, whole.top, config.at_once)


EVERYWHERE = nvfp4_config("nvfp4", source="bf16", lanes=4, registered_after=",".join(LATE.stages))
"""A constant feeds one of its registers."""


@pytest.mark.sampled(2)
@pytest.mark.parametrize("config", [LATE, EVERYWHERE], ids=["some", "everywhere"])
def test_a_scale_may_take_several_cycles(config: Nvfp4Config, tmp_path: Path) -> None:
    found = composed(verilog(config, "late"), tmp_path, config)
    assert (found.maximum, found.scale_unit) == ("mxcast_maximum", "late_scale_unit")
    assert [(one.factor_unit, one.lanes) for one in found.codes] == [("late_factor_unit", ("late_lane",))]


KEY = r"(maximum maximum \(\n +\.amax\()key(\).*?)(assign amax = key)"
WIRES = {
    "a key depends on a constant": (KEY, r"\1found\2wire [14:0] found; assign key = found ^ d[0]; \3", "on its d"),
    "a key depends on a mark": (KEY, r"\1found\2wire [14:0] found; assign key = found ^ marks[0]; \3", "on its marks"),
    "constants are exchanged": (
        r"assign d_of_beat = d;\n  assign k_of_beat = k;",
        "assign d_of_beat = k; assign k_of_beat = d;",
        "k_of_beat is not k",
    ),
    "a factor is kept a beat too early": (r"enable & is_first_digits12_q", "enable & is_first_ratio_q", "keeps more"),
    "a factor is kept with the last beat": (
        r"enable & is_first_digits12_q",
        "enable & is_last",
        "an enable in beat_codes",
    ),
    "a register of the scale always moves": (
        r"if \(enable\) (exponent_ratio_q <=)",
        r"\1",
        "has a register without an enable",
    ),
    "a scale follows its key at once": (
        r"if \(enable\) d_ratio_q <= d;",
        "d_ratio_q <= d;",
        "has a register without an enable",
    ),
    "a lane has the number of another one": (
        r"x_factor_q\[31:16\]",
        "x_factor_q[15:0]",
        "lane 1 depend on more than its number",
    ),
    "a constant comes too late": (
        r"(late_lane element_00 \(.*?\.x\()x_factor_q\[15:0\]",
        "reg one, two, three, four; always @(posedge clk) if (enable) begin one <= 1'h1; two <= one; three <= two; "
        r"four <= three; end \1x_factor_q[15:0] & {16{four}}",
        "only a constant feeds",
    ),
    "a constant misses a register": (r"\.d\(d_ratio_q\)", ".d(d)", "registers between a beat and its result"),
}
"""Edits of the emitted file, and a word of the sentence that refuses it."""


@pytest.mark.sampled(8)
@pytest.mark.parametrize(("old", "new", "word"), WIRES.values(), ids=WIRES)
def test_a_fault_of_wires_is_refused(old: str, new: str, word: str, text: str, tmp_path: Path) -> None:
    with pytest.raises(StructureError, match=word):
        composed(planted(text, f"(?s){old}", new), tmp_path)


ORDER = {
    "the constants of the first beat count": (r"(k <= k_of_beat)", r"k <= k_of_beat ^ 32'd1", 3),
    "constants of the block that enters": (r"\.k\(k\),\n    \.key\(amax\)", ".k(k_of_beat),\n    .key(amax)", 3),
    "the largest magnitude of the block before": (r"amax <= largest", "amax <= largest_q", 2),
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("old", "new", "wrong"), ORDER.values(), ids=ORDER)
def test_a_fault_of_the_order_has_a_trace(old: str, new: str, wrong: int, text: str, tmp_path: Path) -> None:
    design = Design(planted(text, old, new), "late", tmp_path)
    order = order_of(LATE, design)
    trace = first_trace([*order.questions(), *axis_questions(*around(order.beats))], LATE, design, tmp_path)
    assert order.in_words(WRONG[wrong]) in trace.words[-1]


DIVIDING = nvfp4_decoder_config(
    "nvfp4", "nvfp4_compressed_tensors", lanes=4, interface="axis", registered_after="scaled"
)
"""A proof that takes 10 s. The scale meets its codes two registers behind the input."""


@pytest.mark.slow
def test_packets_of_codes_are_proved(tmp_path: Path) -> None:
    proof = prove(DIVIDING, out=tmp_path)
    assert proof.passed, proof.remark
    assert {"join", "pass", "factor", "elements"} <= {step.question.name for step in proof.steps}


OF_CODES = {
    "results are kept a beat too early": ("enable & is_first_scaled_q", "enable & is_first", "keeps more"),
    "results are kept with the last beat": ("enable & is_first_scaled_q", "enable & is_last_scaled_q", "an enable in"),
    "a sign is of any beat": (r"if \(_00_\) nan_sign <=", "if (enable) nan_sign <=", "the scale of a block"),
}


@pytest.mark.parametrize(("old", "new", "word"), OF_CODES.values(), ids=OF_CODES)
def test_a_fault_of_a_decoder_is_refused(old: str, new: str, word: str, tmp_path: Path) -> None:
    design = Design(planted(verilog(DIVIDING, "late"), old, new), "late", tmp_path)
    with pytest.raises(StructureError, match=word):
        order_of(DIVIDING, design).beats.check_delays()


def test_the_scale_of_a_tensor_waits_with_its_codes(tmp_path: Path) -> None:
    text = planted(verilog(DIVIDING, "late"), r"if \(!beat_held\) beat_g_held_q", "beat_g_held_q")
    design = Design(text, "late", tmp_path)
    questions = through_questions(path_of_decoder(order_of(DIVIDING, design).beats))
    assert "other words" in first_trace(questions, DIVIDING, design, tmp_path).words[-1]


DECODERS: list[tuple[str, Nvfp4DecoderFields]] = [
    *(("nvfp4_te", {"lanes": lanes, "destination": "bf16"}) for lanes in (1, 2, 8)),
    ("nvfp4_ao", {"lanes": 4, "interface": "axis"}),
    ("nvfp4_modelopt", {"lanes": 2, "interface": "skid", "destination": "bf16"}),
    ("nvfp4_compressed_tensors", {"interface": "axis", "registered_after": "input,scaled,products,output"}),
]


@pytest.mark.slow
@pytest.mark.parametrize(("profile", "fields"), DECODERS, ids=str)
def test_every_decoder(profile: str, fields: Nvfp4DecoderFields, tmp_path: Path) -> None:
    proof = prove(nvfp4_decoder_config("nvfp4", profile, **fields), out=tmp_path)
    assert proof.passed, proof.remark


EVERY: list[Nvfp4HardwareFields] = [
    *({"source": "bf16", "lanes": lanes, "interface": face} for lanes in (1, 2, 4, 8) for face in ("stream", "axis")),
    {"source": "bf16", "lanes": 8, "interface": "skid", "order": "paper", "form": "product"},
    {"source": "fp32", "lanes": 4, "interface": "axis"},
    {"source": "bf16", "lanes": 4, "interface": "axis", "order": "ao"},
    {"source": "fp32", "lanes": 2, "order": "compressed_tensors"},
    {"source": "bf16", "lanes": 4, "interface": "axis", "rounding": "sr", "random_bits": 8},
    {"source": "bf16", "block_size": 32, "lanes": 16},  # type: ignore[typeddict-unknown-key]
]


@pytest.mark.slow
@pytest.mark.parametrize("fields", EVERY, ids=str)
def test_every_order_and_number_of_lanes(fields: Nvfp4HardwareFields, tmp_path: Path) -> None:
    proof = prove(nvfp4_config("nvfp4", **fields), out=tmp_path)
    assert proof.passed, proof.remark


@pytest.mark.slow
def test_many_registers(tmp_path: Path) -> None:
    """One of them is fed by a constant. The induction takes ten minutes with all of them."""
    many = ",".join(nvfp4_config("nvfp4", source="bf16", lanes=4).stages[::3])
    proof = prove(nvfp4_config("nvfp4", source="bf16", lanes=4, registered_after=many), out=tmp_path)
    assert proof.passed, proof.remark
