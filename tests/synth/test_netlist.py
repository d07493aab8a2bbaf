"""Cost of netlists: cell types of every target, and small netlists whose levels can be counted by hand."""

from __future__ import annotations

import json
from collections.abc import Iterable

import pytest

from mxcast.synth import TARGETS
from mxcast.synth.netlist import cost, delay_ps

# cell types by target, as the Yosys manual and its techlibs name them
CELLS = {
    "xcu": {
        "luts": "LUT1 LUT2 LUT3 LUT4 LUT5 LUT6",
        "carries": "CARRY4 CARRY8",
        "muxes": "MUXF7 MUXF8 MUXF9",
        "ffs": "FDRE FDSE FDCE FDPE",
        "inverters": "INV",
        "others": "VCC GND IBUF OBUF BUFG LDCE DSP48E2 RAMB18E2",
    },
    "ecp5": {
        "luts": "LUT4",
        "carries": "CCU2C",
        "muxes": "PFUMX L6MUX21",
        "ffs": "TRELLIS_FF",
        "inverters": "INV",
        "others": "DP16KD MULT18X18D TRELLIS_IO",
    },
    "ice40": {
        "luts": "SB_LUT4",
        "carries": "SB_CARRY",
        "ffs": "SB_DFF SB_DFFE SB_DFFSR SB_DFFESR SB_DFFR SB_DFFN SB_DFFNESS",
        "inverters": "INV $_NOT_",
        "others": "SB_RAM40_4K SB_IO SB_GB SB_MAC16",
    },
    "asic": {
        "luts": "$_NAND_ $_NOR_ $_XOR_ $_XNOR_ $_MUX_ $_NMUX_ $_AOI3_ $_OAI3_ $_AOI4_ $_OAI4_ $_NOT_",
        "ffs": "$_DFF_P_ $_SDFFE_PP0P_",
        "others": "$lut $_DLATCH_P_ $mem_v2",
    },
    "lut6": {
        "luts": "$lut",
        "ffs": "$_DFF_P_ $_DFFE_PP_ $_SDFF_PP0_ $_SDFFE_PP0P_ $_DFF_PN0_",
        "inverters": "$_NOT_",
        "others": "$_AND_ $add $_DLATCH_P_ $mem_v2",
    },
    "lut4": {"luts": "$lut", "ffs": "$_DFF_P_ $_SDFF_PP0_", "inverters": "$_NOT_", "others": "$_XOR_ $_DLATCH_N_"},
}
CELLS |= {f"{name}-relaxed": CELLS[name] for name in ("xcu", "ecp5", "ice40")}
CELLS |= {f"{name}-nodsp": CELLS[name] for name in ("xcu", "ecp5")}


def test_every_target_is_here():
    assert list(TARGETS) == list(CELLS)
    for name, target in TARGETS.items():
        assert target.name == name and target.description and target.script.count("{top}") == 1


@pytest.mark.parametrize(
    "target, kind, cell",
    [
        (target, kind, cell)
        for target, kinds in CELLS.items()
        for kind, cells in kinds.items()
        for cell in cells.split()
    ],
)
def test_kinds(target, kind, cell):
    assert TARGETS[target].kind(cell) == kind
    assert TARGETS[target].kind(f"x{cell}") == "others"  # whole names


# ---- netlists: rows of cell type, input nets and output nets, as "type a b > y"; nets 0 and 1 are constants


def netlist(rows: Iterable[str]) -> dict:
    """Yosys' JSON of a module ``top`` with these cells."""
    nets: dict[str, int | str] = {"0": "0", "1": "1"}

    def bits(names: str) -> list[int | str]:
        return [nets.setdefault(name, len(nets)) for name in names.split()]

    cells = {}
    for number, row in enumerate(rows):
        (kind, *ins), outs = row.split(">")[0].split(), row.split(">")[1]
        cells[f"c{number}"] = {
            "type": kind,
            "port_directions": {"I": "input", "O": "output"},
            "connections": {"I": bits(" ".join(ins)), "O": bits(outs)},
        }
    return {"modules": {"top": {"cells": cells}, "another": {"cells": {"x": {"type": "LUT6"}}}}}


@pytest.mark.parametrize(
    "rows, levels",
    [
        (["LUT2 a b > y"], 1),
        (["LUT2 a b > y", "LUT2 c d > z"], 1),  # side by side
        (["LUT2 a b > y", "LUT2 y d > z"], 2),  # one after the other
        (["LUT2 y d > z", "LUT2 a b > y"], 2),  # whatever the order
        (["LUT2 a 1 > n1", "LUT2 n1 0 > n2", "LUT2 n2 n1 > y"], 3),  # the longest of two ways
        (["LUT6 a b > y", "FDRE y clk > q", "LUT6 q > z"], 1),  # a flip-flop ends a path and starts one
        (["LUT6 q > d", "FDRE d clk > q"], 1),  # a state is no loop
        (["LUT2 a b > n", "LUT2 n b > d", "FDRE d clk > q", "LUT2 q a > y"], 2),
        (["LUT6 a > n", "LUT6 b > m", "MUXF7 n m s > y"], 2),  # a multiplexer counts
        (["LUT6 a > n", "CARRY4 n > c1 s1", "CARRY4 c1 > c2 s2", "LUT6 s2 > y"], 4),  # and every carry cell
        (["INV a > n", "LUT1 n > y"], 1),  # an inverter does not
        (["LUT1 a > n", "INV n > m", "LUT1 m > y"], 2),  # and is no border either
        (["IBUF a > n", "LUT1 n > m", "OBUF m > y"], 1),  # nor a buffer
    ],
)
def test_levels(rows, levels):
    assert cost(netlist(rows), {}, "top", TARGETS["xcu"]).levels == levels


def test_cells_are_counted():
    found = cost(
        netlist(
            [
                "LUT6 a > b",
                "LUT2 a > c",
                "CARRY4 b > d",
                "MUXF7 b c > e",
                "FDRE e > f",
                "INV f > g",
                "VCC > h",
                "LUT6 h > i",
            ]
        ),
        {},
        "top",
        TARGETS["xcu"],
    )
    assert (found.luts, found.carries, found.muxes, found.ffs, found.inverters) == (3, 1, 1, 1, 1)
    assert found.cells == {"CARRY4": 1, "FDRE": 1, "INV": 1, "LUT2": 1, "LUT6": 2, "MUXF7": 1, "VCC": 1}
    assert list(found.cells) == sorted(found.cells)
    assert json.loads(json.dumps(found.to_dict())) == found.to_dict()


def test_notes_of_yosys_are_no_cells():
    found = netlist(["LUT2 a b > y"])
    found["modules"]["top"]["cells"]["scope"] = {"type": "$scopeinfo", "port_directions": {}, "connections": {}}
    assert cost(found, {}, "top", TARGETS["xcu"]).cells == {"LUT2": 1}


@pytest.mark.parametrize(
    "target, rows, statistics, logic_cells",
    [
        ("xcu", ["LUT2 a b > y"], {"design": {"estimated_num_lc": 17}}, 17),  # Yosys' own estimate
        ("ecp5", ["LUT4 a b > y", "CCU2C y > z", "PFUMX z > x"], {"design": {}}, 3),  # a carry cell takes two
        ("lut6", ["$lut a b > y"], {"design": {"num_cells": 1}}, None),  # nobody estimates
        ("lut6", ["$lut a b > y"], {}, None),
        ("asic", ["$_NAND_ a b > y"], {"design": {"estimated_num_transistors": "4210+"}}, 1052),  # NAND gates of four
    ],
)
def test_logic_cells(target, rows, statistics, logic_cells):
    assert cost(netlist(rows), statistics, "top", TARGETS[target]).logic_cells == logic_cells


@pytest.mark.parametrize(
    "log, delay",
    [
        (
            "ABC: P:  Del = 15812.00.  Ar =    8789.0.  Edge =     8666.\nABC: A:  Del = 15344.00.  Ar =    4909.0. "
            " Edge = 5892.\n",
            15344,
        ),
        ("ABC: A:  Del =    0.40.  Ar = 1.0.\n", 0),
        ("Deleting now unused module t.\n", None),  # no abc9, or nothing for it to do
        ("", None),
    ],
)
def test_delay(log, delay):
    assert delay_ps(log) == delay


@pytest.mark.parametrize(
    "rows",
    [
        [],  # a stage of wires
        ["FDRE d clk > q"],  # registers alone
        ["INV a > y", "CARRY4 y > z"],
        ["$lut a b > y"],  # the cells of another target
    ],
)
def test_a_netlist_without_luts(rows):
    """It has no delay. `synth` decides whether that is an error."""
    assert cost(netlist(rows), {}, "top", TARGETS["xcu"]).luts == 0


def test_distributed_ram_counts_as_the_luts_of_its_slices():
    cells = {"ram": {"type": "RAM32M16", "port_directions": {}, "connections": {}}}
    netlist = {"modules": {"top": {"cells": cells}}}
    found = cost(netlist, {"design": {"estimated_num_lc": 0}}, "top", TARGETS["xcu"])
    assert (found.luts, found.ram_luts, found.logic_cells) == (8, 8, 8)  # UG574: eight LUTs of a SLICEM
