"""The faster library of a design computes the same bits, and is refused where it could not."""

from __future__ import annotations

import numpy as np
import pytest

from mxcast.hdl import configuration
from mxcast.models import quantize
from mxcast.sim import verilate
from mxcast.sim.operations import drawn, of
from mxcast.sim.run.verilator import driver, many
from mxcast.spec import Port, Role

ENOUGH = driver.WORTH
PORTS = (
    Port(name="x", role=Role.NUMBERS, direction="input", bits=8, lanes=2),
    Port(name="p", role=Role.CODES, direction="output", bits=8, lanes=2),
)


def _has_faster(design) -> bool:
    """Compile the faster library of a design. Is it in use?"""
    design.driver.prepare(ENOUGH)
    return design.driver._entry == driver.MANY_ENTRY


@pytest.mark.parametrize(
    "op, format, fields",
    [
        ("encode", "e4m3", {"block_size": 4}),
        pytest.param("encode", "e2m1", {"rounding": "sr", "block_size": 8}, marks=pytest.mark.slow),
        pytest.param("encode", "e5m2", {}, marks=pytest.mark.slow),
        pytest.param("encode", "int8", {"source": "bf16"}, marks=pytest.mark.slow),
        pytest.param("decode", "e2m3", {}, marks=pytest.mark.slow),
    ],
)
def test_same_results(op, format, fields):
    """Directed blocks and random ones; their number is no multiple of the transactions that are computed together."""
    config = configuration(op, format, **fields)
    one, faster = verilate(config, op=op), verilate(config, op=op)
    faster.driver.prepare(ENOUGH - 1)
    assert faster.driver._entry == "mxcast_convert", "too few to be worth it"
    assert _has_faster(faster)
    for _, parts in of(config.numerics).stimuli("standard", 203, 1):
        for part in parts:
            entering = drawn(config.numerics, part, 1)
            expected, found = one.driver(entering), faster.driver(entering)
            assert not expected.differ(found).any()


def test_a_changed_expression_is_found(monkeypatch, tmp_path):
    """Planted bug: an expression of the faster library is another one."""
    text = many.many_text

    def planted(generated, ports):
        made = text(generated, ports)
        assert made is not None and "0x0000007fU" in made
        return made.replace("0x0000007fU", "0x0000003fU")

    config = configuration("encode", "e4m3", block_size=2)
    design, x = verilate(config), np.random.default_rng(0).standard_normal((64, 2), dtype=np.float32)
    monkeypatch.setattr(driver, "many_text", planted)
    monkeypatch.setattr(driver, "kept_folder", lambda kind, key, make: make(tmp_path) or tmp_path)
    assert _has_faster(design)
    assert not np.array_equal(design(x).codes, quantize(x, config.numerics).codes)


GENERATED = """void Vdut___024root___ico_sequent__TOP__0(Vdut___024root* vlSelf) {
    auto& vlSelfRef = std::ref(*vlSelf).get();
    vlSelfRef.p = (vlSelfRef.x >> 1U);
}
void Vdut___024root___eval_ico(Vdut___024root* vlSelf) {
        Vdut___024root___ico_sequent__TOP__0(vlSelf);
}
"""


def test_the_function_of_a_design():
    made = many.many_text(GENERATED, PORTS)
    assert made is not None and "many.p[lane] = (many.x[lane] >> 1U);" in made


@pytest.mark.parametrize(
    "what, old, new",
    [
        ("keeps a value", "vlSelfRef.x >>", "vlSelfRef.state >>"),
        ("stops the simulation", "vlSelfRef.p =", 'VL_STOP_MT("dut.v", 3, ""); vlSelfRef.p ='),
        ("has a wide variable", "vlSelfRef.p =", "VlWide<3> wide; vlSelfRef.p ="),
        ("does not assign an output", "vlSelfRef.p =", "CData p ="),
        ("has two functions", "TOP__0(vlSelf);", "TOP__0(vlSelf); Vdut___024root___ico_comb__TOP__1(vlSelf);"),
    ],
)
def test_other_designs_are_refused(what, old, new):
    changed = GENERATED.replace(old, new)
    assert changed != GENERATED and many.many_text(changed, PORTS) is None, what
