"""`check_rtl` of designs with lanes, of tile encoders and of Hadamard transforms. A file of emit behind other ports is
proved, a design of others is compared, and planted faults are found.
"""

from __future__ import annotations

import re

import pytest

from mxcast.hdl import cast_config, configuration, converter_config, decoder_config, verilog
from mxcast.proof.foreign.check_rtl import check_rtl
from mxcast.proof.solve.argument import Status

CONFIG = converter_config("e2m1", lanes=2, block_size=8)
MAP = {
    "x": "data",
    "i_valid": "valid",
    "i_ready": "ready",
    "p": "codes",
    "o_valid": "out_valid",
    "o_ready": "out_ready",
    "rst": "rst_n@low",
}
GEAR = """
module gear(input clk, input rst_n, input [63:0] data, input valid, output ready,
            output reg [7:0] scale, output [7:0] codes, output out_valid, input out_ready);
  reg [255:0] block;
  reg [2:0] filled, left;
  reg [31:0] waiting;
  wire [31:0] p;
  wire [7:0] s;
  conv conv(.x(block), .scale(s), .p(p));
  assign ready = filled != 4;
  assign out_valid = left != 0;
  assign codes = waiting[7:0];
  always @(posedge clk)
    if (!rst_n) begin
      filled <= 0;
      left <= 0;
    end else begin
      if (valid && ready) begin
        block <= {data, block[255:64]};
        filled <= filled + 1;
      end
      if (filled == 4 && left == 0) begin
        waiting <= p;
        scale <= s;
        left <= 4;
        filled <= 0;
      end else if (out_valid && out_ready) begin
        waiting <= waiting >> 8;
        left <= left - 1;
      end
    end
endmodule
"""
"""A converter that fills a block, converts it at once, and empties it: with another rate and latency than ours, and
without ports for the place of a beat."""


def checked(text, top, config, asked, folder):
    file = folder / "design.v"
    file.write_text(text)
    return check_rtl([file], top, config, asked, out=folder, blocks=2000)


def gear(folder, pattern=r"$^", planted=""):
    text, count = re.subn(pattern, planted, GEAR)
    assert count == (pattern != r"$^")
    inside = verilog(converter_config("e2m1", block_size=8), "conv")
    return checked(f"{text}\n{inside}", "gear", CONFIG, MAP, folder)


def test_a_design_of_others_is_compared(tmp_path):
    check = gear(tmp_path)
    assert check.status is Status.UNKNOWN and not check.first
    assert sum(row["blocks"] for row in check.stimuli) > 10_000
    assert check.remarks == ["no proof was possible: gear has no beat_keys"]
    assert "ocp" in check.matches[0].names


@pytest.mark.sampled(6)
@pytest.mark.parametrize(
    "pattern, planted, words",
    [
        ("filled <= 0;\n      left <= 0;", "left <= 0;", "a beat came before its inputs were complete"),
        ("out_valid && out_ready", "out_valid", "a beat changed while it was not taken"),
        ("left <= 4", "left <= 3", "a beat came before its inputs were complete|o_first or o_last|have no result"),
        ("scale <= s;\n", "", "minimised|scale expected"),
        ("scale <= s;", "scale <= s ^ (s == 8'h7f);", "scale expected 0x7F, got 0x7E"),
        ("block <= .*;", "block <= {block[191:0], data};", "scale expected|expected 0x"),
    ],
)
def test_a_planted_fault_of_its_handshake_or_its_bits_is_found(pattern, planted, words, tmp_path):
    check = gear(tmp_path, pattern, planted)
    assert check.status is Status.FAIL and re.search(words, check.first + check.smallest)


@pytest.mark.sampled(4, first=3)
@pytest.mark.parametrize(
    "config",
    [
        CONFIG,
        decoder_config("e2m1", interface="skid", block_size=8),
        converter_config("e2m1", lanes=4, block_size=8, interface="axis"),
        cast_config("e2m1", interface="axis"),
        pytest.param(configuration("hadamard", "hadamard16"), marks=pytest.mark.slow),
        pytest.param(configuration("tile", "e2m1"), marks=pytest.mark.slow),
    ],
    ids=["lanes", "skid", "axis", "cast", "hadamard", "tile"],
)
def test_ours_behind_other_ports_is_proved(config, tmp_path):
    """The first data pin has another name."""
    pin = next(
        pin for pin in config.pins if pin.is_result or pin.role.value in ("codes", "numbers") or "data" in pin.name
    )
    head, _, rest = verilog(config, "dut").partition("\nmodule ")
    top, end, others = rest.partition("endmodule\n")
    top = re.sub(rf"(?<!\.)\b{pin.name}\b", "other_name", top)
    check = checked(f"{head}\nmodule {top}{end}{others}", "dut", config, {pin.name: "other_name"}, tmp_path)
    assert check.passed, check.remarks


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    "op, subject, pattern, planted",
    [
        ("hadamard", "hadamard16", r"\.x\(x\[15:0\]\)", ".x(x[31:16])"),
        ("tile", "e2m1", r"(assign p = nan \? 4'h0 : \{ x\[31\]),", r"\1 & |magnitude,"),
    ],
)
def test_faults_of_transforms_and_tiles_are_found(op, subject, pattern, planted, tmp_path):
    config = configuration(op, subject)
    text, count = re.subn(pattern, planted, verilog(config, "dut"))
    assert count == 1
    check = checked(text, "dut", config, {}, tmp_path)
    assert check.status is Status.FAIL and "expected 0x" in check.smallest


@pytest.mark.slow
def test_limbs_are_compared_by_their_interval(tmp_path):
    config = configuration("hadamard", "hadamard16", form="limbs")
    text = verilog(config, "dut")
    with pytest.raises(ValueError, match="^check-rtl takes a design of any form .* give --map interval=17, or use"):
        checked(text, "dut", config, {}, tmp_path)
    timing = {"clk": "clk", "rst": "rst", "latency": str(config.latency), "interval": str(config.interval)}
    mapped = {**timing, "i_valid": "1", "o_ready": "1"}
    assert checked(text, "dut", configuration("hadamard", "hadamard16"), mapped, tmp_path).status is Status.UNKNOWN
    wrong = text.replace("is_first ? 5'h00 : carried", "carried", 1)
    check = checked(wrong, "dut", configuration("hadamard", "hadamard16"), mapped, tmp_path)
    assert check.status is Status.FAIL and "expected 0x" in check.first


def test_lanes_have_a_clock_and_a_handshake(tmp_path):
    text = "module dut(input x); endmodule\n"
    with pytest.raises(ValueError, match="a design with lanes needs a clock and a reset: map clk=PORT"):
        checked(text, "dut", CONFIG, {}, tmp_path)
    with pytest.raises(ValueError, match="a design with lanes has a handshake: leave out latency and interval"):
        checked(text, "dut", CONFIG, {"clk": "x", "latency": 3}, tmp_path)


@pytest.mark.slow
def test_a_design_that_lacks_a_port_inside_is_not_proved(tmp_path):
    """Its bits are right, but the proof does not find the scale of a part."""
    text = re.sub(r"\bscale\b", "other_name", verilog(CONFIG, "dut"))
    check = checked(text, "dut", CONFIG, {"scale": "other_name"}, tmp_path)
    assert check.status is Status.UNKNOWN and not check.first
    assert check.remarks[0] == "no proof was possible: dut has no part with the name 'scale', which the proof needs"


@pytest.mark.slow
@pytest.mark.sampled(2)
@pytest.mark.parametrize("is_free, status", [(False, Status.FAIL), (True, Status.UNKNOWN)])
def test_free_codes_of_nan_are_compared_and_not_proved(is_free, status, tmp_path):
    text, count = re.subn(r"(assign p = nan \? 4'h)0", r"\g<1>1", verilog(CONFIG, "dut"))
    assert count == 1
    file = tmp_path / "design.v"
    file.write_text(text)
    check = check_rtl([file], "dut", CONFIG, out=tmp_path, blocks=2000, nan_codes_free=is_free)
    assert check.status is status, check.remarks
