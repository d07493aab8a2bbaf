"""Blocks that take every branch are found, and show faults that random blocks do not show."""

from __future__ import annotations

import importlib
import shutil
from pathlib import Path

import numpy as np
import pytest

from mxcast.hdl import converter_config, verilog
from mxcast.proof import prove
from mxcast.proof.foreign.check_rtl import check_rtl
from mxcast.proof.netlist.design import Design
from mxcast.proof.netlist.pipeline import combinational
from mxcast.proof.solve import argument, branches
from mxcast.proof.solve.argument import Status
from mxcast.proof.solve.branches import branch_blocks
from mxcast.sim.transactions import Transactions
from mxcast.spec import Role

CONFIG = converter_config("e2m1", block_size=2)
PORTS = "input [63:0] x, output [7:0] scale, output [7:0] p"
RARE = "wire rare = x[63:40] == 24'hCAFEBA;"
NONE = Transactions({Role.NUMBERS: np.zeros((0, 2), np.uint32)})
CONVERTER = verilog(CONFIG, "core")
GATES = " & ".join(f"{'' if 0xCAFEBA >> bit & 1 else '~'}x[{bit + 40}]" for bit in range(24))
"""The condition of `RARE` as gates."""
ASKERS = ("mxcast.proof.solve.prove", "mxcast.proof.foreign.check_rtl")
"""Modules that look for branches."""


def blocks_of(body: str, folder: Path, ports: str = PORTS, latency: int = 0) -> np.ndarray:
    design = Design(f"module base({ports}); {body} endmodule", "base", folder, "slang")
    return branch_blocks(CONFIG, combinational(design, latency)[0] if latency else design, lambda _: None)[Role.NUMBERS]


def whole(blocks: np.ndarray) -> np.ndarray:
    """Blocks as the vector x: element 0 in the low bits."""
    return blocks[:, 0].astype(np.uint64) | blocks[:, 1].astype(np.uint64) << np.uint64(32)


@pytest.mark.parametrize(
    "body",
    [
        "assign p = rare ? x[7:0] : x[15:8];",
        "assign p = x[7:0] ^ {7'd0, rare};",  # no multiplexer, but a comparison
        f"assign p = x[7:0] ^ {{7'd0, {GATES}}};",  # only gates
        "reg [7:0] y; assign p = y; always @* case (x[63:40]) 24'hCAFEBA: y = 1; 24'h123456: y = 2; default: y = 3; "
        "endcase",
        "reg [7:0] y; assign p = y; always @* if (x[63]) begin if (x[62:40] == 23'h4AFEBA && x[0]) y = 1; else y = 2; "
        "end else y = 3;",
    ],
)
def test_a_rare_condition_is_met(body, tmp_path):
    found = whole(blocks_of(f"{RARE} {body} assign scale = 0;", tmp_path))
    met = found >> np.uint64(40) == 0xCAFEBA
    assert met.any() and not met.all() and len(found) % (2 * branches.VARIANTS + 1) == 0


@pytest.mark.parametrize("sign", ["+", "-"])
def test_a_rare_carry_or_borrow_is_met(sign, tmp_path):
    """The carry is one bit of a sum: there is no choice, no comparison, and no gate of one bit."""
    body = f"wire [39:0] sum = {{8'd0, x[39:8]}} {sign} 40'd3; assign p = x[7:0] ^ sum[39:32]; assign scale = 0;"
    number = whole(blocks_of(body, tmp_path)) >> np.uint64(8) & np.uint64(0xFFFF_FFFF)
    is_met = number > 0xFFFF_FFFC if sign == "+" else number < 3
    assert is_met.any() and not is_met.all()


def test_both_sides_and_conditions_within_conditions(tmp_path):
    found = whole(blocks_of(f"{RARE} assign p = rare ? (x[39:24] < 3 ? 1 : 2) : 3; assign scale = 0;", tmp_path))
    inner = found[found >> np.uint64(40) == 0xCAFEBA] >> np.uint64(24) & np.uint64(0xFFFF)
    assert (inner < 3).any() and (inner >= 3).any()


def test_registers_are_no_obstacle(tmp_path):
    ports = "input clk, input [63:0] x, output reg [7:0] scale, output reg [7:0] p"
    body = f"{RARE} always @(posedge clk) begin scale <= 0; p <= rare ? 1 : 2; end"
    assert (whole(blocks_of(body, tmp_path, ports, 1)) >> np.uint64(40) == 0xCAFEBA).any()


def test_the_time_is_limited(tmp_path, monkeypatch):
    monkeypatch.setattr(branches, "SECONDS", 0)
    assert blocks_of(f"{RARE} assign p = rare ? 1 : 2; assign scale = 0;", tmp_path).shape == (0, 2)


# ---- without the gate: tools disagree under a rare condition

TOOLS_DISAGREE = {
    "Verilator": "r = p0; j = 3'd0; if (rare) {j, r[j]} = {3'd1, p0[0]};",  # which index is meant?
    "Icarus": "r = p0; j = 3'd0; if (rare) {r[j], j} = {p0[0], 3'd1};",
}
FILLER = "logic [7:0] w, q; always_comb foreach (w[m]) q[m] = w[m]; assign w = p0;"
"""Text that read_verilog, which would notice the ambiguity, cannot read."""


@pytest.fixture(params=TOOLS_DISAGREE)
def ambiguous(request, tmp_path, monkeypatch) -> tuple[str, Path]:
    if request.param == "Icarus":
        if shutil.which("iverilog") is None:
            pytest.skip("Icarus is optional: apt-get install iverilog")
    monkeypatch.setattr(argument, "objections", lambda _: [])
    path = tmp_path / "base.v"
    path.write_text(
        f"{CONVERTER} module base({PORTS}); {RARE} {FILLER} wire [7:0] p0; core core(.x(x), .scale(scale), .p(p0)); "
        f"reg [7:0] r; reg [2:0] j; always @* begin {TOOLS_DISAGREE[request.param]} end assign p = r; endmodule\n"
    )
    return request.param, path


def proved(path: Path) -> tuple[Status, str]:
    proof = prove(CONFIG, rtl=path, name="base", force=True)
    return proof.status, proof.remark or ""


def checked(path: Path) -> tuple[Status, str]:
    check = check_rtl([path], "base", CONFIG, out=path.parent, blocks=1000)
    return check.status, " ".join(check.remarks)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("question", [proved, checked])
def test_what_tools_read_differently_under_a_rare_condition(ambiguous, question, monkeypatch):
    simulator, path = ambiguous
    status, remark = question(path)
    assert status is Status.UNKNOWN and f"{simulator} converts a block otherwise" in remark
    for module in ASKERS:  # without these blocks nothing shows it
        monkeypatch.setattr(importlib.import_module(module), "branch_blocks", lambda *_: NONE)
    assert question(path)[0] is Status.PASS
