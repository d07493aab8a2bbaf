"""Micro-architectures: different hardware, equal bits."""

from fractions import Fraction
from itertools import product

import pytest
from amaranth.hdl import Const

from mxcast.hdl import BEST, BEST_DECODERS, Goal, Quantizer, converter_config, decoder_config, supports, verilog
from mxcast.hdl.config.goals import decoder_fields_of
from mxcast.hdl.emission.modules import ModuleLibrary
from mxcast.hdl.encode.table_codes import Element
from mxcast.hdl.encode.threshold import LIMITS, Limit
from mxcast.hdl.primitives.normalise import normalised
from mxcast.hdl.primitives.table import Table
from mxcast.proof import prove
from mxcast.sim import verify
from mxcast.spec import FloatFormat, ScaleRule, numerics

from ...configurations import in_turn


@pytest.mark.parametrize("element", ["e2m1", "e3m2", "e4m3", "int8"])
def test_the_fewest_fields_give_the_same_decoder(element):
    """For every target and goal, with and without the target."""
    for target, goal in product(BEST_DECODERS, Goal):
        config = decoder_config(element, target=target, optimize=goal, registered_after="scale")
        fields = decoder_fields_of(config.microarchitecture, config.numerics)
        assert decoder_config(element, **fields) == config
        beside = decoder_fields_of(config.microarchitecture, config.numerics, [target])
        assert decoder_config(element, **{"target": target} | beside) == config
        assert len(fields) <= len(beside | {"target": target})


CASES = [
    ("area", "e4m3", "ocp", {"input_subnormals": "flush", "block_size": 32}),
    ("area", "e4m3", "ocp", {"rounding": "rna", "specials": "drop"}),
    ("area", "e5m2", "te", {}),
    ("area", "e5m2", "samson", {}),
    ("area", "e3m2", "gorodecky_sousa", {}),
    ("area", "e2m3", "nvidia", {"rounding": "rtz"}),
    ("area", "e2m1", "torchao_even", {"element_subnormals": "flush"}),
    ("area", "int8", "nvidia", {"specials": "inf_scale"}),
    ("speed", "e4m3", "nvidia", {"source": "fp16"}),
    ("speed", "e2m1", "ocp", {"specials": "inf_scale"}),
    ("speed", "int8", "gorodecky_sousa", {}),
    (
        "area",
        "e2m3",
        "ocp",
        {"scale_rule": "bias_floor", "rounding": "rtz", "specials": "drop"},
    ),  # a number left out at the top itself
    (
        "area",
        "e4m3",
        "nvidia",
        {"registered_after": "input,key,digit1,digit2,digit3,digit4,scale,top,distance,chosen,output"},
    ),
    ("speed", "int8", "ocp", {"registered_after": "level1,distance,chosen"}),
    ("speed", "int8", "ocp", {"registered_after": "scale,top,chosen", "specials": "drop"}),
    (
        "speed",
        "e4m3",
        "ocp",
        {"registered_after": "level1,scale,top,distance,chosen", "input_subnormals": "flush", "specials": "drop"},
    ),
    ("speed", "e2m1", "te", {"registered_after": "key,top", "input_subnormals": "flush"}),
    ("area", "e2m2", "ocp", {"rounding": "guard_half_up", "block_size": 4}),
    ("speed", "e5m2", "ocp", {"scale_rule": "pow2_ceil", "specials": "drop", "block_size": 4}),
    ("speed", "e2m3", "ocp", {"block_size": 16}),  # nodes of four only
    ("speed", "e4m3", "nvidia", {"block_size": 2}),  # and of two only
    ("area", "e4m3,e5m2", "ocp", {"scale_rule": "floor,ceil"}),
]

LONG = [case for case in CASES if case[3].keys() <= {"rounding", "specials", "element_subnormals"}][1:]
LONG += [case for number, case in enumerate([case for case in CASES if case not in LONG]) if number % 8]
"""More of what others show too: left out of the quick run are those that differ from the defaults in their rules only,
and four fifths of the others.
"""


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("goal", "format", "profile", "rules"),
    [pytest.param(*case, marks=pytest.mark.slow if case in LONG else ()) for case in CASES],
    ids=lambda value: str(value),
)
def test_a_goal_changes_no_bit(goal, format, profile, rules):
    config = converter_config(format, profile, optimize=goal, target="xcu", **{"block_size": 8, **rules})
    assert config.microarchitecture.amax is BEST["xcu"][Goal(goal)]["amax"]
    for stimuli in ("corner", "random"):
        result = verify(config, stimuli=stimuli, blocks=100_000)
        assert result.blocks > 1000 and result.mismatched_blocks == 0


@pytest.mark.sampled(12)
@pytest.mark.parametrize("rule, element", in_turn(list(ScaleRule), ["int8", "e4m3"]))
@pytest.mark.parametrize("goal", [Goal.AREA, Goal.SPEED])
def test_every_scale_rule_under_every_goal(rule, element, goal):
    config = converter_config(element, scale_rule=rule, optimize=goal, target="xcu", block_size=4)
    assert verify(config, stimuli="corner").mismatched_blocks == 0


def test_tables_need_numbers_near_the_top(monkeypatch):
    """A rule that leaves the top binade empty needs the quantizer that shifts."""
    for element, most in (("int8", 0), ("e4m3", 8), ("e2m1", 2)):
        for offset in (most, most + 1):
            monkeypatch.setitem(LIMITS, ScaleRule.FLOOR, lambda _, offset=offset: Limit(Fraction(2) ** offset))
            assert supports(Quantizer.TABLE, (numerics(element),)) is (offset == most), (element, offset)


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("format", "profile", "goal"),
    [
        pytest.param("e5m2", "ocp", "area", marks=pytest.mark.slow),
        ("e4m3", "ocp", "area"),
        pytest.param("e2m3", "nvidia", "area", marks=pytest.mark.slow),
        pytest.param("e2m1", "te", "speed", marks=pytest.mark.slow),
        ("e2m1", "ocp", "speed"),
        pytest.param("e3m2", "ocp", "area", marks=pytest.mark.slow),
        pytest.param("e5m3", "ocp", "area", marks=pytest.mark.slow),  # moves in three steps
        pytest.param("e3m3", "gorodecky_sousa", "area", marks=pytest.mark.slow),
    ],
)
def test_it_is_proved(tmp_path, format, profile, goal):
    rules = {"block_size": 8, "input_subnormals": "exact"}
    proof = prove(converter_config(format, profile, optimize=goal, target="xcu", **rules), out=tmp_path)
    assert proof.passed and proof.method == "composed"


def test_an_element_with_emax_zero_is_proved(tmp_path):
    """Then a subnormal number under the smallest scale can be rounded above the largest element."""
    element = FloatFormat(name="low", exp_bits=2, man_bits=2, bias=3, specials="none", source="this test")
    proof = prove(converter_config(element, "ocp", target="xcu", block_size=4), out=tmp_path)
    assert proof.passed and proof.method == "composed"


@pytest.mark.parametrize("max_shift", [1, 2, 3, 7, 11, 15, 31])
def test_numbers_are_shifted_to_their_leading_one(max_shift):
    """Every function is called with the bits of numbers with one or two bits set, instead of signals."""

    def value(bit) -> int:
        return bit.value

    def make(name, function, *bits):
        return Const(bool(function(*map(value, bits))), 1)

    for places in range(1, 24):
        for other in range(places, 24):
            bits = [Const(place in (places, other), 1) for place in range(1, 24)]
            moved = normalised(make, [Const(0, 1)], bits, 4, max_shift, unnormalised_matters=True)
            up = min(places, max_shift)
            after = [*map(value, bits), *[0] * (max_shift + 4)][up:]
            assert [*map(value, moved.kept)] == after[:4]
            assert moved.bare.value == (places > max_shift)
            assert moved.exponent(*map(value, moved.choices)) == 1 - up - (places > max_shift)
            assert any(term.function(*map(value, term.inputs)) for term in moved.rest) == any(after[4:])


def test_subnormals_of_the_source_are_no_shifter():
    text = verilog(converter_config("e2m1", target="xcu"), "dut")
    assert text.count("module dut_moved") == 2 and "dut_is_zero" not in text


def test_a_wrong_table_is_found(monkeypatch):
    right = Element.subnormal
    monkeypatch.setattr(
        Element, "subnormal", lambda self, places, kept, sticky, *bare: right(self, places, kept, 0, *bare)
    )
    config = converter_config("e4m3", "ocp", target="xcu", block_size=8)
    assert verify(config, stimuli="corner").mismatched_blocks > 0


@pytest.mark.parametrize("rules", [{"rounding": "sr", "random_bits": 8}, {"scale_rule": "floor,ceil"}])
def test_unsupported_tables_are_refused(rules):
    with pytest.raises(ValueError, match="table quantizer makes one format"):
        converter_config("e4m3", quantizer="table", **rules)
    assert converter_config("e4m3", target="xcu", **rules).microarchitecture.quantizer is Quantizer.SHIFT


def test_goals_keep_given_fields():
    config = converter_config("e4m3", target="xcu", structure="flat", amax_key="magnitude")
    assert str(config.microarchitecture.structure) == "flat" and str(config.microarchitecture.amax) == "compare"
    with pytest.raises(ValueError, match="carry_chain"):
        converter_config("e4m3", amax="carry_chain", amax_key="magnitude")
    with pytest.raises(ValueError, match="did you mean 'area'"):
        converter_config("e4m3", optimize="aera")


def test_kept_functions_fit_in_a_lut():
    text = verilog(converter_config("e4m3", target="xcu", input_subnormals="flush"), "dut")
    kept = text.split('(* keep_hierarchy = "yes" *)\n')[1:]
    tables = [module for module in kept if ">>" in module.split("endmodule")[0]]
    assert len(tables) > 15
    for module in tables:
        width = next(
            (int(line.split("[")[1].split(":")[0]) + 1 for line in module.splitlines() if "input [" in line), 1
        )
        assert width <= 6, module.splitlines()[0]


def test_two_functions_of_one_name_are_refused():
    library = ModuleLibrary("dut")
    library.instance(Table("f", 2, 0b1000))
    library.instance(Table("f", 2, 0b1000))
    with pytest.raises(RuntimeError, match="two modules would have the name dut_f"):
        library.instance(Table("f", 2, 0b1110))
