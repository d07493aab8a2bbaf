"""Wrappers around a converter: right ones are proved, and a fault in one is found."""

from __future__ import annotations

import pytest

from mxcast.hdl import converter_config, nvfp4_config, verilog
from mxcast.proof import prove
from mxcast.proof.netlist.design import Design
from mxcast.proof.netlist.handshake import check_handshake
from mxcast.proof.netlist.nvfp4_structure import nvfp4_wiring
from mxcast.proof.netlist.pipeline import bypassed
from mxcast.proof.netlist.structure import StructureError
from mxcast.proof.netlist.wrapping import unwrapped
from mxcast.proof.solve.argument import Status
from mxcast.proof.verilog.readers import readers
from mxcast.proof.verilog.text import plain

PIPE = converter_config("e2m1", "ocp", block_size=2, registered_after="key,scale")
BLOCK = converter_config("e4m3", "ocp", block_size=4)
NVFP4 = nvfp4_config("nvfp4", "nvfp4_te", source="bf16", form="table")

SWAPPED = {"x": "{x[31:0], x[63:32]}", "p": "{p[3:0], p[7:4]}"}
RENAMED = {"clk": "ck", "rst": "r", "x": "data", "i_valid": "iv", "i_ready": "ir", "scale": "s", "p": "q"}
RENAMED |= {"o_valid": "ov", "o_ready": "rd"}


def instance(config, module="core", **changed):
    """An instance whose ports are connected to the names of the pins, or to ``changed`` ones."""
    pins = ", ".join(f".{pin.name}({changed.get(pin.name, pin.name)})" for pin in config.pins)
    return f"{module} c({pins});"


def wrapper(config, body, name="wrapper"):
    ports = ", ".join(f"{pin.direction} wire [{pin.width - 1}:0] {pin.name}" for pin in config.pins)
    return f"module {name}({ports});\n{body}\nendmodule\n"


def renamed(config):
    """A wrapper with other port names."""
    ports = ", ".join(f"{pin.direction} wire [{pin.width - 1}:0] {RENAMED[pin.name]}" for pin in config.pins)
    return f"module middle({ports});\n{instance(config, **RENAMED)}\nendmodule\n"


def middle(config):
    return "middle m(" + ", ".join(f".{RENAMED[pin.name]}({pin.name})" for pin in config.pins) + ");"


def proved(config, folder, body, *more):
    file = folder / "wrapper.v"
    file.write_text(verilog(config, "core") + wrapper(config, body) + "".join(more))
    return prove(config, rtl=file)


RIGHT = {
    "its ports, passed on": (instance(PIPE),),
    "other names, two levels": (middle(PIPE), renamed(PIPE)),
    "elements exchanged, and back": (
        instance(PIPE, "other", **SWAPPED),
        wrapper(PIPE, instance(PIPE, **SWAPPED), "other"),
    ),
    "elements exchanged on both sides": (instance(PIPE, **SWAPPED),),
    "a reset inverted twice": (instance(PIPE, "other", rst="~rst"), wrapper(PIPE, instance(PIPE, rst="!rst"), "other")),
    "in a generate block, with gates that do nothing": (
        f"wire [7:0] q; generate if (1) begin : g {instance(PIPE, p='q')} end endgenerate assign p = q | 8'd0;",
    ),
}


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    "what",
    [
        name if name in list(RIGHT)[:2] else pytest.param(name, marks=pytest.mark.slow)  # the next test takes all
        for name in RIGHT
    ],
)
def test_a_pipeline_in_a_wrapper_is_proved(what, tmp_path):
    proof = proved(PIPE, tmp_path, *RIGHT[what])
    assert proof.passed and proof.handshake and len(proof.arguments) == 2, proof.remark


@pytest.mark.sampled(2)
@pytest.mark.parametrize("reader", readers())
@pytest.mark.parametrize("what", RIGHT)
def test_valid_and_ready_in_a_wrapper(what, reader, tmp_path):
    body, *more = RIGHT[what]
    text = verilog(PIPE, "core") + wrapper(PIPE, body) + "".join(more)
    check_handshake(unwrapped(Design(plain(text), "wrapper", tmp_path, reader)), PIPE)


def test_a_block_in_a_wrapper_is_proved_in_parts(tmp_path):
    """Like the block without a wrapper, in any order of its elements."""
    reverse = {
        name: f"{{{', '.join(f'{name}[{w * i + w - 1}:{w * i}]' for i in range(4))}}}"
        for name, w in (("x", 32), ("p", 8))
    }
    proof = proved(BLOCK, tmp_path, instance(BLOCK, **reverse))
    assert proof.passed and proof.method == "composed", proof.remark


WRONG = {
    "elements exchanged on one side": (Status.FAIL, "", instance(PIPE, x=SWAPPED["x"])),
    "a bit dropped": (Status.FAIL, "", instance(PIPE, x="{x[63:1], 1'b0}")),
    "the reset inverted": (Status.FAIL, "cleared by something else than rst", instance(PIPE, rst="~rst")),
    "a register more": (
        Status.FAIL,
        "registers between a block and its result: 2 or 3, not 2",
        f"wire [7:0] q; reg [7:0] r; {instance(PIPE, p='q')} always @(posedge clk) if (i_ready) r <= q; assign p = r;",
    ),
    "ready tied": (Status.FAIL, "it has storage other than registers with an enable", instance(PIPE, o_ready="1'b1")),
    "the reset tied": (Status.FAIL, "the valid bits are not a chain", instance(PIPE, rst="1'b0")),
    "valid tied": (Status.FAIL, "the valid bits are not a chain", instance(PIPE, i_valid="1'b1")),
    "ready to take, always": (
        Status.FAIL,
        "i_ready is not: o_ready, or not o_valid",
        f"wire unused; assign i_ready = 1'b1; {instance(PIPE, i_ready='unused')}",
    ),
    "valid and ready exchanged": (Status.FAIL, "", instance(PIPE, i_ready="o_valid", o_valid="i_ready")),
    "the falling edge": (
        Status.UNKNOWN,
        "registers with an enable at the rising edge of clk",
        instance(PIPE, clk="~clk"),
    ),
    "the result hidden unless it is valid": (
        Status.UNKNOWN,
        "valid, ready or reset reach the data",
        f"wire [7:0] q; {instance(PIPE, p='q')} assign p = o_valid ? q : 8'd0;",
    ),
}


@pytest.mark.sampled(4)
@pytest.mark.parametrize(
    "what", [name if number < 4 else pytest.param(name, marks=pytest.mark.slow) for number, name in enumerate(WRONG)]
)
def test_a_fault_in_a_wrapper_is_found(what, tmp_path):
    status, sentence, body = WRONG[what]
    proof = proved(PIPE, tmp_path, body)
    assert proof.status is status and sentence in (proof.remark or ""), proof.remark
    assert (proof.counterexample is not None) == (status is Status.FAIL)


LANES = {
    name: "{" + ", ".join(f"{name}[{w * i + w - 1}:{w * i}]" for i in range(16)) + "}"
    for name, w in (("x", 16), ("p", 4))
}


@pytest.mark.sampled(4)
@pytest.mark.parametrize("reader", readers())
@pytest.mark.parametrize(
    "sentence, changed",
    [
        (None, {}),
        (None, LANES),  # all elements the other way round
        (None, {"x": "x | 256'd0"}),
        ("is not wired as the element 0", {"x": LANES["x"]}),
        ("maximum of wrapper has other inputs", {"x": "{x[255:1], 1'b0}"}),
        ("maximum of wrapper has other inputs", {"x": "{x[255:16], x[31:16]}"}),
        ("scale_unit of wrapper has other inputs", {"k": "32'h3F800000"}),
        ("factor_unit of wrapper has other inputs", {"scale": "{scale[0], scale[7:1]}"}),
    ],
)
def test_the_parts_of_an_nvfp4_converter_in_a_wrapper(sentence, changed, reader, tmp_path):
    text = verilog(NVFP4, "core") + wrapper(NVFP4, instance(NVFP4, **changed))
    design = unwrapped(Design(plain(text), "wrapper", tmp_path, reader))
    if sentence is None:
        assert len(nvfp4_wiring(design.modules, "wrapper", NVFP4).codes[0].lanes) in (1, 16)
    else:
        with pytest.raises(StructureError, match=sentence):
            nvfp4_wiring(design.modules, "wrapper", NVFP4)


@pytest.mark.slow  # the parts are found above, and the questions about them are those about the emitted file
def test_an_nvfp4_converter_in_a_wrapper_is_proved(tmp_path):
    proof = proved(NVFP4, tmp_path, instance(NVFP4, **LANES))
    assert proof.passed and proof.method == "composed", proof.remark


@pytest.mark.parametrize("reader", readers())
def test_what_is_no_wrapper_stays(reader, tmp_path):
    text = plain(verilog(BLOCK, "core"))
    design = Design(text, "core", tmp_path, reader)
    assert unwrapped(design) is design


@pytest.mark.parametrize("reader", readers())
def test_a_reset_that_data_drives_is_part_of_the_function(reader, tmp_path):
    """A register named like a valid bit, with a reset that data drives, is not a valid bit."""
    text = """
module inner(input clk, rst, input [3:0] a, output [3:0] y); reg [3:0] valid_a_q; assign y = valid_a_q;
always @(posedge clk) if (rst) valid_a_q <= 0; else valid_a_q <= a; endmodule
module top(input clk, rst, input [7:0] a, output [3:0] y, output reg o_valid);
inner i(.clk(clk), .rst(a[0]), .a(a[7:4]), .y(y)); always @(posedge clk) if (rst) o_valid <= 0; else o_valid <= a[1];
endmodule
"""
    modules = bypassed(Design(text, "top", tmp_path, reader)).modules
    (inner,) = (module for name, module in modules.items() if name != "top")
    assert [cell["type"] for cell in inner["cells"].values()] == ["$mux"]
