"""Questions whether a module of two designs differs: the first wires behind a change, and the answers."""

from __future__ import annotations

import pytest

from mxcast.proof.netlist.design import Design
from mxcast.proof.questions.difference import Netlist, changed, differences
from mxcast.proof.solve.solver import solve

TEXT = """
module m(input [7:0] x, input [7:0] other, output [15:0] y, output z);
  wire [7:0] low = x & 8'h0f;
  wire [7:0] next = (low > 8'h0f) ? 8'hff : low + 8'h01;
  wire [15:0] square = next * next;
  wire [3:0] unread = {other[3], x[2:0]};
  assign y = square * other;
  assign z = unread[0];
endmodule
"""


def made(tmp_path, old: str, new: str) -> tuple[Design, Design]:
    assert TEXT.count(old) == 1
    texts = TEXT, TEXT.replace(old, new)
    one, other = (Design(text, "m", tmp_path / name) for text, name in zip(texts, ("one", "other")))
    return one, other


@pytest.mark.parametrize(
    "old, new, bits",
    [
        ("8'hff :", "8'hfe :", {("next", place) for place in range(8)}),
        ("{other[3]", "{other[4]", set()),
        ("= unread[0]", "= unread[1]", {("z", 0)}),
        ("module m", "module  m", set()),
    ],
)
def test_the_first_wires_behind_a_change(old, new, bits, tmp_path):
    """Wires behind them are not among them, nor bits that nothing reads."""
    designs = made(tmp_path, old, new)
    assert set(changed(*(Netlist(design, "m") for design in designs))) == bits


@pytest.mark.parametrize(
    "old, new, domain, answer",
    [
        # the wire before never exceeds 15
        ("8'hff :", "8'hfe :", "true", "unsat"),
        # another wire, from which the same follows
        ("x & 8'h0f", "{4'h1, x[3:0]} & 8'h0f", "true", "unsat"),
        # a small number becomes larger, a step later
        ("8'hff : low + 8'h01", "8'hff : low + 8'h02", "true", "sat"),
        ("8'hff : low", "8'hff : x", "true", "sat"),
        # there is no difference in the domain
        ("8'hff : low", "8'hff : x", "(bvult (|m_n x| s) #x10)", "unsat"),
    ],
)
def test_answers(old, new, domain, answer, tmp_path):
    asked = list(differences(*made(tmp_path, old, new), "m", domain))
    assert [solve(one.text, one.names, timeout=60).result for one in asked] == [answer] * 4


def test_a_later_wire_hides_a_difference(tmp_path):
    """The first wire can differ, but not the next."""
    hidden = TEXT.replace("low > 8'h0f", "x > 8'h0f").replace("x & 8'h0f", "(x > 8'h0f) ? 8'h21 : x")
    texts = hidden, hidden.replace("8'h21", "8'h12")
    one, other = (Design(text, "m", tmp_path / f"hidden{n}") for n, text in enumerate(texts))
    results = [solve(asked.text, asked.names, timeout=60).result for asked in differences(one, other, "m")]
    assert results == ["sat", "unsat", "unsat", "unsat"]
