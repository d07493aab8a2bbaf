"""Synthesis to the cells of a Liberty file: here a small one, which is written for the test."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from mxcast.cli import main
from mxcast.hdl import converter_config
from mxcast.synth import synth
from mxcast.synth.asic.liberty import nand2_area
from mxcast.synth.tables import table

AREAS = {"INV": 1, "BUF": 1.5, "NAND2": 2, "NOR2": 2.25, "XOR2": 5, "AOI21": 3, "DFF": 8}
FUNCTIONS = {
    "INV": "!A",
    "BUF": "A",
    "NAND2": "!(A*B)",
    "NOR2": "!(A+B)",
    "XOR2": "(A*!B)+(!A*B)",
    "AOI21": "!((A*B)+C)",
}
SLEWS, LOADS = (0.002, 0.01, 0.05, 0.2), (0.0005, 0.002, 0.01, 0.05)


def _table(kind: str, base: float, by_load: float) -> str:
    rows = (", ".join(f"{base + 0.2 * slew + by_load * load:.5f}" for load in LOADS) for slew in SLEWS)
    return f"{kind}(one) {{ values({', '.join(f'{chr(34)}{row}{chr(34)}' for row in rows)}); }}"


def _arc(pin: str, sense: str) -> str:
    delays = "".join(_table(kind, 0.015, 2.5) for kind in ("cell_rise", "cell_fall"))
    slews = "".join(_table(kind, 0.004, 3) for kind in ("rise_transition", "fall_transition"))
    return f'timing() {{ related_pin : "{pin}"; timing_sense : {sense}; {delays} {slews} }}'


def library(timed: bool = True, areas: dict[str, float] = AREAS) -> str:
    """The cells of `FUNCTIONS` and a flip-flop."""
    cells = []
    for name, function in FUNCTIONS.items():
        sense = {"BUF": "positive_unate", "XOR2": "non_unate"}.get(name, "negative_unate")
        pins = sorted(set(re.findall("[ABC]", function)))
        inputs = "".join(f"pin({pin}) {{ direction : input; capacitance : 0.0015; }}" for pin in pins)
        arcs = "".join(_arc(pin, sense) for pin in pins) if timed else ""
        output = f'pin(Y) {{ direction : output; max_capacitance : 0.05; function : "{function}"; {arcs} }}'
        cells.append(f"cell({name}) {{ area : {areas[name]}; {inputs} {output} }}")
    index = (", ".join(map(str, values)) for values in (SLEWS, LOADS))
    return (
        '/* cell (none) { ff( } */ library(small) { delay_model : table_lookup; time_unit : "1ns"; '
        "capacitive_load_unit(1, pf); lu_table_template(one) { variable_1 : input_net_transition; "
        'variable_2 : total_output_net_capacitance; index_1("{}"); index_2("{}"); }'.replace("{}", "%s")
        % tuple(index)
        + "\n".join(cells)
        + f'cell("DFF") {{ area : {areas["DFF"]}; ff(IQ, IQN) {{ clocked_on : "C"; next_state : "D"; }} '
        "pin(C) { direction : input; clock : true; capacitance : 0.0015; } "
        "pin(D) { direction : input; capacitance : 0.0015; } "
        'pin(Q) { direction : output; function : "IQ"; } } }'
    )


@pytest.fixture
def small(tmp_path) -> Path:
    path = tmp_path / "small.lib"
    path.write_text(library())
    return path


SMALL = {"block_size": 2, "target": "asic"}


def test_cells_area_and_longest_path(small, cache):
    """The area is the sum over the counted cells. A library with other figures gives another result."""
    config = converter_config("e2m1", **SMALL)
    whole = synth(config, "asic", liberty=small, stages=False).whole
    assert set(whole.cells) <= set(FUNCTIONS) and whole.luts == sum(whole.cells.values()) > 200
    assert whole.logic_cells == round(sum(AREAS[name] * count for name, count in whole.cells.items()))
    # each cell takes 15 ps and more, with what it drives
    assert 15 * 10 < whole.delay_ps < 40 * whole.levels
    small.write_text(library(areas=AREAS | {"NAND2": 20}))
    other = synth(config, "asic", liberty=small, stages=False).whole
    assert other.logic_cells == round(sum((AREAS | {"NAND2": 20})[name] * n for name, n in other.cells.items()))
    assert other != whole


def test_registers_are_its_flip_flops(small, cache):
    config = converter_config("e2m1", **SMALL, registered_after="scale")
    whole = synth(config, "asic", liberty=small, stages=False).whole
    assert whole.ffs == whole.cells["DFF"] > 8 and whole.luts == sum(whole.cells.values()) - whole.ffs


def test_without_timing_there_is_no_delay(tmp_path, cache):
    (tmp_path / "l.lib").write_text(library(timed=False))
    assert synth("e2m1", "asic", liberty=tmp_path / "l.lib", stages=False, block_size=2).whole.delay_ps is None


def test_the_table_has_its_own_words(small, cache):
    (row,) = table([synth("e2m1", "asic", liberty=small, block_size=2)])
    assert row["NAND2"] == round(row["area"] / AREAS["NAND2"], 1) and row["ps (abc)"] > 0
    assert row["area"] > row["cells"] > row["tree cells"] > 0 and "gates" not in " ".join(row)


def test_the_nand_gate_of_a_library():
    """Functions are written with * or & or a blank; the smallest of several gates counts."""

    def area(*cells: tuple[str, float]) -> float | None:
        pins = "".join(f'cell(C{i}) {{ area : {a}; pin(Y) {{ function : "{f}"; }} }}' for i, (f, a) in enumerate(cells))
        return nand2_area(f"library(one) {{ {pins} }}")

    assert area(("(!(A B))", 24), ("!(A*B*C)", 3), ("(A B)", 2)) == 24
    assert area(("!(A & B)", 5), ("!(A1*A2)", 4.5)) == 4.5
    assert area(("!(A+B)", 1)) is None


def test_the_command(small, cache, capsys):
    assert main(["synth", "e2m1", "--set", "block_size=2", "--liberty", str(small)]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith("the cells of small.lib\n") and "amax=bit_by_bit, quantizer=gates" in printed


@pytest.mark.parametrize(
    "text, words, sentence",
    [
        ("{}", [], "is not a Liberty file: it has no library with cells"),
        ("library(a) {}", [], "is not a Liberty file: it has no library with cells"),
        ("\udcff", [], "is not a Liberty file: it is not UTF-8"),
        (
            None,
            [],
            "No such file or directory: give the Liberty file of your library, or get one of OSU 0.18 um: apt-get",
        ),
        (library(), ["--target", "xcu"], "a Liberty file is for the target asic, not xcu"),
        (library(), ["--pnr"], "--liberty maps to an ASIC, and --pnr places on an FPGA: give one of them"),
    ],
)
def test_what_is_refused(text, words, sentence, tmp_path, capsys):
    if text is not None:
        (tmp_path / "l.lib").write_text(text, errors="surrogateescape")
    assert main(["synth", "e2m1", "--liberty", str(tmp_path / "l.lib"), *words]) == 2
    out, err = capsys.readouterr()
    assert out == "" and sentence in err and err.count("\n") == 1


def test_a_library_that_yosys_cannot_use_is_4(tmp_path, cache, capsys):
    (tmp_path / "l.lib").write_text("library(a) { cell(X) { area : 1; } }")
    assert main(["synth", "e2m1", "--set", "block_size=2", "--liberty", str(tmp_path / "l.lib")]) == 4
    assert "Yosys wrote no netlist" in capsys.readouterr().err
