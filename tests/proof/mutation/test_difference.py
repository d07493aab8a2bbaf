"""Questions whether a module of two designs differs: the first wires behind a change, and the answers."""

from __future__ import annotations

import pytest

from mxcast.proof.netlist.design import Design
from mxcast.proof.questions.difference import Netlist, changed, constants, differences, has_constants
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


INSTANCES = """
module inner(input [3:0] x, input [3:0] k, input is_on, output [7:0] y);
  assign y = is_on ? x * k : 8'h00;
endmodule
module outer(input [3:0] x, input [3:0] k, output [7:0] y);
  inner one(.x(x), .k(k), .is_on(1'b1), .y(y));
endmodule
module m(input [3:0] a, input [3:0] b, output [7:0] y, output [7:0] z);
  outer one(.x(a), .k(4'd2), .y(y));
  outer two(.x(b), .k(4'd2), .y(z));
endmodule
"""


def of_instances(tmp_path, old: str = "", new: str = "") -> tuple[Design, Design]:
    assert not old or INSTANCES.count(old) == 1
    texts = INSTANCES, INSTANCES.replace(old, new) if old else INSTANCES
    one, other = (Design(text, "m", tmp_path / name) for text, name in zip(texts, ("one", "other")))
    return one, other


@pytest.mark.parametrize(
    "module, old, new, expected",
    [
        ("inner", "", "", {"k": "2", "is_on": "1"}),
        ("outer", "", "", {"k": "2"}),
        ("m", "", "", {}),
        # two instances have two constants
        ("inner", ".x(b), .k(4'd2)", ".x(b), .k(4'd3)", {"is_on": "1"}),
        ("outer", ".x(b), .k(4'd2)", ".x(b), .k(4'd3)", {}),
        # one is given no constant
        ("outer", ".x(b), .k(4'd2)", ".x(b), .k(b)", {}),
        ("outer", ".x(b), .k(4'd2)", ".x(b), .k({b[0], 3'd2})", {}),
    ],
)
def test_inputs_that_are_constants_in_all_instances(module, old, new, expected, tmp_path):
    _, design = of_instances(tmp_path, old, new)
    found = {port: str(int("".join(reversed(bits)), 2)) for port, bits in constants(design, module).items()}
    assert found == expected


@pytest.mark.parametrize(
    "old, new, known, answers",
    [
        # changes that only other inputs show
        ("x * k", "x + x", 2, ["sat", "unsat"]),
        ("8'h00", "8'h01", 2, ["sat", "unsat"]),
        ("x * k", "x + k", 2, ["sat", "sat"]),
        # nothing is known of constants that differ
        (".x(a), .k(4'd2)", ".x(a), .k(4'd3)", 0, ["unsat", "unsat"]),
    ],
)
def test_a_module_is_asked_about_its_constants(old, new, known, answers, tmp_path):
    designs = of_instances(tmp_path, old, new)
    domains = "true", has_constants(*designs, "inner")
    assert domains[1].count("=") == known
    asked = [list(differences(*designs, "inner", domain))[-1] for domain in domains]
    assert [solve(one.text, one.names, timeout=60).result for one in asked] == answers
