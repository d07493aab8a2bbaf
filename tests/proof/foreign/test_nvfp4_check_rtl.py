"""`check_rtl` of designs of others for NVFP4: simulation distinguishes the orders, and what differs is
explained. Converters of ours are proved behind any ports.
"""

import pytest

from mxcast.hdl import nvfp4_config, nvfp4_decoder_config, verilog
from mxcast.proof.foreign.check_rtl import check_rtl
from mxcast.proof.solve import branches
from mxcast.proof.solve.argument import Status

PORTS = {"x": "numbers", "k": "gain", "d": "back", "scale": "shared", "p": "out_{i}"}
OUTPUTS = ", ".join(f"output wire [3:0] out_{i}" for i in range(16))
GATE = " | {63'd0, ^shared ^ ^{shared[6:0], shared[7]}}"
FOREIGN = f"""
module quantizer(input wire [255:0] numbers, input wire [31:0] gain, back, output wire [7:0] shared, {OUTPUTS});
  wire [63:0] p;
  inner inner(.x(numbers), .k(gain), .d(back), .scale(shared), .p(p));
  assign {{{", ".join(f"out_{i}" for i in reversed(range(16)))}}} = p{GATE};
endmodule
"""
"""Ports of its own around a converter, and a gate that changes nothing."""


@pytest.fixture(scope="module")
def quantizer(tmp_path_factory):
    """A converter in the order paper."""
    path = tmp_path_factory.mktemp("foreign") / "quantizer.v"
    path.write_text(verilog(nvfp4_config("nvfp4", "nvfp4_paper", source="bf16"), "inner") + FOREIGN)
    return path


def checked(path, profile, out, top="quantizer", ports=PORTS, **form):
    asked = nvfp4_config("nvfp4", profile, source="bf16", **form)
    return check_rtl([path], top, asked, ports, out=out, blocks=2000)


@pytest.mark.slow
def test_the_order_that_it_has(quantizer, tmp_path):
    """Nothing differs, a remark says why nothing is proved, and no other profile is possible."""
    check = checked(quantizer, "nvfp4_paper", tmp_path)
    assert check.status is Status.UNKNOWN and not check.first
    assert [candidate.names for candidate in check.matches] == [("nvfp4_paper",)]
    (remark,) = check.remarks
    assert remark.startswith(
        "no proof was possible: quantizer does not consist of maximum, scale_unit, factor_unit and"
    )


def test_designs_whose_blocks_stop_are_refused(quantizer, tmp_path):
    with pytest.raises(ValueError, match="whose blocks never stop: leave out form, or use mxcast prove --rtl"):
        checked(quantizer, "nvfp4_te", tmp_path, form="cache")


@pytest.mark.slow
@pytest.mark.parametrize("registers", [(), ("level1", "factor")], ids=["", "registers"])
def test_one_converter_with_ports_of_its_own_is_proved(registers, tmp_path, monkeypatch):
    monkeypatch.setattr(branches, "SECONDS", 4)
    config = nvfp4_config("nvfp4", "nvfp4_paper", source="bf16", form="product", registered_after=registers)
    clocked = ", .clk(clock), .rst(clear), .i_valid(1'b1), .o_ready(1'b1)" if registers else ""
    path = tmp_path / "quantizer.v"
    text = FOREIGN.replace(GATE, "").replace(".p(p)", f".p(p){clocked}")
    if registers:
        text = text.replace("(input wire", "(input wire clock, clear, input wire", 1)
    path.write_text(verilog(config, "inner") + text)
    ports = PORTS | ({"clk": "clock", "rst": "clear", "latency": 2} if registers else {})
    assert checked(path, "nvfp4_paper", tmp_path, ports=ports, form="product").status is Status.PASS
    wrong = text.replace(".x(numbers)", ".x({numbers[239:0], numbers[255:240]})")
    path.write_text(verilog(config, "inner") + wrong)
    assert checked(path, "nvfp4_paper", tmp_path, ports=ports).status is Status.FAIL


def test_another_order(quantizer, tmp_path):
    check = checked(quantizer, "nvfp4_te", tmp_path)
    assert check.status is Status.FAIL and [candidate.names for candidate in check.matches] == [("nvfp4_paper",)]
    assert "mxcast explain nvfp4 --profile nvfp4_te --set source=bf16 --constants" in check.smallest


def test_a_fault_is_explained(quantizer, tmp_path):
    """A lane that loses the sign of -0: the witness is one number."""
    wrong = tmp_path / "quantizer.v"
    text = quantizer.read_text()
    assert text.count("4'h7 : { x[15]") == 1
    wrong.write_text(text.replace("4'h7 : { x[15]", "4'h7 : { x[15] & (|x[14:0])"))
    check = checked(wrong, "nvfp4_paper", tmp_path)
    assert check.status is Status.FAIL and not check.matches
    assert "input 0x8000, expected 8 (-0), got 0 (0)" in check.smallest
    assert sorted(check.counterexample.tolist()) == [0] * 15 + [0x8000]


@pytest.mark.slow
def test_a_constant_that_the_design_makes_itself(quantizer, tmp_path):
    """One of k and d may be missing in the map if the design has no port for it."""
    one = tmp_path / "one.v"
    one.write_text(
        quantizer.read_text()
        .replace("input wire [31:0] gain, back,", "input wire [31:0] gain,")
        .replace(".d(back)", ".d(32'h3F800000)")
    )
    ports = {name: pattern for name, pattern in PORTS.items() if name != "d"}
    assert checked(one, "nvfp4_paper", tmp_path, ports=ports).status is Status.FAIL


def test_a_decoder(tmp_path):
    """A decoder with the convention of torchao differs from Transformer Engine, and is named."""
    path = tmp_path / "decoder.v"
    path.write_text(verilog(nvfp4_decoder_config("nvfp4", "nvfp4_ao", destination="bf16"), "decoder"))
    asked = nvfp4_decoder_config("nvfp4", "nvfp4_te", destination="bf16")
    check = check_rtl([path], "decoder", asked, out=tmp_path, blocks=2000)
    assert check.status is Status.FAIL and [one.names for one in check.matches] == [("nvfp4_ao", "nvfp4_modelopt")]
