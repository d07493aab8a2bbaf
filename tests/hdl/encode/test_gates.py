"""The forms for gates and LUTs of four inputs: the bits of the golden model, for every input, and planted bugs."""

import pytest

from mxcast.hdl import Quantizer, converter_config, supports
from mxcast.hdl.encode.gates import element as gate_element
from mxcast.hdl.encode.gates import fixed as gate_fixed
from mxcast.hdl.primitives import msb_first
from mxcast.proof import prove
from mxcast.proof.solve.argument import Status
from mxcast.sim import verify
from mxcast.spec import ELEMENTS, FloatFormat, numerics

GATES = {"amax": "bit_by_bit", "quantizer": "gates"}
FLUSH = {"input_subnormals": "flush"}
slow = pytest.mark.slow

CASES = [
    ("e2m1", "ocp", {}),
    ("int8", "ocp", {}),
    *(
        pytest.param(name, profile, rules, marks=slow)
        for name in ELEMENTS
        for profile, rules in (
            ("ocp", FLUSH),
            ("ocp", {}),
            ("nvidia", {}),
            ("te", {}),
            ("ocp", {"source": "bf16"}),
            ("ocp", {"source": "fp16"}),
            ("ocp", {"rounding": "rtz"}),
            ("ocp", {"rounding": "rna"}),
        )
        if (name, profile, rules) not in (("e2m1", "ocp", {}), ("int8", "ocp", {}))
    ),
    pytest.param(
        FloatFormat(name="e4m3b8", exp_bits=4, man_bits=3, bias=8, specials="nan_only", source="this test"),
        "ocp",
        {},
        marks=slow,
    ),
    pytest.param(
        FloatFormat(name="low", exp_bits=2, man_bits=2, bias=3, specials="none", source="this test"),
        "ocp",
        {},
        marks=slow,
    ),
    pytest.param("e2m2", "nvidia", {}, marks=slow),
    pytest.param("e3m3", "ocp", {}, marks=slow),
    pytest.param("int6", "ocp", {}, marks=slow),
]


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name, profile, rules", CASES, ids=str)
def test_the_bits_are_those_of_the_model(name, profile, rules):
    result = verify(converter_config(name, profile, **GATES, **rules), blocks=5000)
    assert result.passed, result.report


@pytest.mark.parametrize("name, profile, rules", CASES[:1] + CASES[2:], ids=str)
def test_it_is_proved(name, profile, rules, tmp_path):
    """A block of two for the quick run, of 32 for the others."""
    size = {"block_size": 2} if (name, profile, rules) == ("e2m1", "ocp", {}) else {}
    proof = prove(converter_config(name, profile, **GATES, **rules, **size), out=tmp_path)
    assert proof.status is Status.PASS, proof.remark


@pytest.mark.parametrize("name", ["e4m3", pytest.param("int8", marks=slow)])
def test_registers_everywhere(name):
    config = converter_config(name, "ocp", **GATES, block_size=2)
    config = converter_config(name, "ocp", **GATES, block_size=2, registered_after=config.stages)
    assert "top" in config.stages and "digit8" in config.stages
    result = verify(config, blocks=2000)
    assert result.passed, result.report


def _without_sticky(module):
    return lambda monkeypatch: monkeypatch.setattr(
        module, "rounds_up", lambda rounding, last, below, sticky, random: below & last
    )


def _line_of_another_place(monkeypatch):
    line = gate_element.GateQuantizer.line

    def moved(self, name, valid, field, wanted):
        return line(self, name, valid, field, (lambda f: f in (0, -1)) if name == "down1" else wanted)

    monkeypatch.setattr(gate_element.GateQuantizer, "line", moved)


def _lanes_that_stay_in(monkeypatch):
    step = msb_first.BitByBit.step

    def first_only(self, m, platform, number, now, found, has_flag):
        following, found = step(self, m, platform, number, now, found, has_flag)
        return [
            msb_first.Lane(lane.rest, lane.flag, before.still_in) if number == 3 else lane
            for lane, before in zip(following, now)
        ], found

    monkeypatch.setattr(msb_first.BitByBit, "step", first_only)


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    "name, plant",
    [
        ("e4m3", _without_sticky(gate_element)),
        ("int8", _without_sticky(gate_fixed)),
        ("e2m1", _line_of_another_place),
        ("e2m1", _lanes_that_stay_in),
    ],
    ids=["sticky", "sticky of int8", "line", "lanes that stay in"],
)
def test_a_planted_bug_is_found(name, plant, monkeypatch):
    plant(monkeypatch)
    result = verify(converter_config(name, "ocp", **GATES, block_size=2), blocks=500)
    assert not result.passed


def test_rules_without_this_form():
    for rules in ({"rounding": "rnz"}, {"specials": "drop"}, {"element_subnormals": "flush"}):
        assert not supports(Quantizer.GATES, (numerics("e4m3", "ocp", **rules),))
        assert converter_config("e4m3", target="asic", **rules).microarchitecture.quantizer is Quantizer.SHIFT
        with pytest.raises(ValueError, match="the gates quantizer makes what the table quantizer makes"):
            converter_config("e4m3", quantizer="gates", **rules)
