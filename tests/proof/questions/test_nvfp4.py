"""Proofs of converters to NVFP4: the specification agrees with the exact definition, emitted files are proved for every
input, and each planted bug is refuted by the lemma about its part.
"""

import re
from fractions import Fraction

import numpy as np
import pytest

from mxcast.hdl import nvfp4_config, verilog
from mxcast.models.exact.binary32 import Special, fp32, value_of
from mxcast.models.exact.encode import decode, nearest_code
from mxcast.models.exact.nvfp4_encode import ORDERS, block_scale, tensor_constants
from mxcast.proof import prove
from mxcast.proof.netlist.design import Cut, Design
from mxcast.proof.netlist.handshake import check_handshake, moving
from mxcast.proof.netlist.nvfp4_structure import nvfp4_wiring
from mxcast.proof.netlist.pipeline import bypassed, combinational
from mxcast.proof.netlist.structure import StructureError
from mxcast.proof.operations import provable
from mxcast.proof.questions.nvfp4.element import of_products
from mxcast.proof.questions.nvfp4.encoder import ProvableNvfp4
from mxcast.proof.solve.argument import Status
from mxcast.proof.solve.solver import solve
from mxcast.proof.specification.encode import bits
from mxcast.proof.specification.nvfp4 import BOUNDARIES, LARGEST_D, SMALLEST_D, cast_to, times
from mxcast.proof.specification.nvfp4_quotient import SMALLEST_D as SMALLEST_QUOTIENT_D
from mxcast.proof.verilog.text import plain
from mxcast.sim.operations import of
from mxcast.spec import E2M1, E4M3, FP32, Role, nvfp4_encoding

PLANTED = {
    "te": {
        "NaN counts in the largest magnitude": ("maximum", r"(level0_0 =) _\d+_ \? 15'h0000 :", r"\1"),
        "the product of b and k is cut off": ("scale", r"(assign t_total = \S+) \+ _\d+_;", r"\1;"),
        "the remainder of a step is two up": (
            "reciprocal-5",
            r"(assign \{ reciprocal_remainder11, .*);",
            r"\1 + 3'h4;",
        ),
        "the divisor is not rounded": ("factor", r"(assign v_total = \S+) \+ _\d+_;", r"\1;"),
        "a tie goes to the odd element": (
            "threshold-limits",
            r"(assign mark5_left = .signed\(27'h)2000000",
            r"\g<1>1ffffff",
        ),
        "a threshold is one place up": ("threshold-corrections", r"(assign mark7_least = .*);", r"\1 + $signed(4'h4);"),
        "-0 loses its sign": ("element", r"(4'h7 : \{ x\[15\])", r"\1 & (|x[14:0])"),
    },
    "ao": {
        "a number is left out": ("maximum", r"(assign level1_0 = ).*\? (.*) : .*;", r"\1\2;"),
        "the sixth is cut off": ("sixth", r"(assign sixth = \S+) \+ _\d+_;", r"\1;"),
        "equal significands count as less": ("quotient-first", r"(assign is_less = dividend_significand) <", r"\1 <="),
        "a digit without equality": ("quotient-odd", r"(assign digit_3 = .*) >=", r"\1 >"),
        "half a place without equality": ("scale", r"(assign at_next = .*) <=", r"\1 <"),
        "the quotient is cut off": ("factor", r"(assign total = \{.*\}) \+ _\d+_;", r"\1;"),
        "the companion is one up": ("companion", r"(25'h)1000000;", r"\g<1>1000001;"),
        "a threshold is one place up": ("threshold-corrections", r"(assign mark7_least = .*);", r"\1 + $signed(4'h4);"),
        "zero times Inf is zero": ("element", r"4'hb :", "4'h0 :"),
    },
}
"""By order and bug, the lemma that refutes it, and the change of the emitted text."""

IN_EVERY_FORM = ("maximum", "scale", "sixth", "quotient-first", "quotient-odd", "element")

OTHERS_IN_AO = {
    "half a place above without equality": ("scale", r"(assign at_digit = .*) <=", r"\1 <"),
    "the smallest scale is forgotten": ("scale", r"_\d+_ \? 8'h08 : (_\d+_;)", r"\1"),
    "invalid NaN without a sign": ("scale", r"8'hff", "8'h7f"),
    "a scale of NaN under k = 0": ("scale", r"8'h7e( : _\d+_;)", r"8'h7f\1"),
    "no limit above": ("scale", r"8'h7e( : code;)", r"8'h7d\1"),
    "NaN of the block without its sign": ("element", r"\{ nan_sign, 3'h4 \}", "4'h4"),
    "Inf is no factor": ("element", r"(assign is_infinite =) .*", r"\1 1'h0;"),
}
"""More bugs in the order ao, each in a part that already has one."""


def failing(config, text, folder):
    """The lemmas that fail for a text, as one reader reads it."""
    design, asked = Design(plain(text), "dut", folder), provable(config)
    return [
        question.name
        for question in asked.composed(config, design, asked.specification)
        if solve(question.eased or question.text, question.names).result != question.expected
    ]


@pytest.mark.parametrize("order", ["te", "paper", "ao"])
def test_the_specification_of_scales_is_the_exact_definition(order):
    """It allows only the scale of the definition."""
    rules, rng = nvfp4_encoding("nvfp4", f"nvfp4_{order}"), np.random.default_rng(3)
    s = ProvableNvfp4().specification(rules)
    definitions, is_scale = s.scale("b", "k", "scale")
    for b in (0, 1, 0x7F7FFFFF, 0x7F800000, *rng.integers(0x3F000000, 0x41000000, 2).tolist()):
        k = tensor_constants(Fraction(int(rng.integers(1, 3000))), rules).k
        assert_scale(s, rules, b, float32(k), f"{cast_to(E4M3)}{definitions}", is_scale)


def float32(value):
    """The pattern of a value in binary32."""
    return int(np.float32(float(value)).view(np.uint32))


def assert_scale(s, rules, b, k, definitions, is_scale):
    right = block_scale(ORDERS[rules.order].ratio(value_of(decode(b, FP32)), value_of(decode(k, FP32)), E4M3), rules)
    text = (
        "(set-logic ALL)\n(set-option :produce-models true)\n(declare-const scale (_ BitVec 8))\n"
        f"(define-fun b () (_ BitVec 31) {bits(b, 31)})\n(define-fun k () (_ BitVec 32) {bits(k, 32)})\n"
        f"{times(s.scaled_size, is_free=False)}{definitions}(assert {is_scale})\n"
    )
    assert solve(text, ("scale",)).values == {"scale": right}
    assert solve(f"{text}(assert (distinct scale {bits(right, 8)}))\n", ("scale",)).result == "unsat"


@pytest.mark.parametrize("k", [0, 1, 0x7F800000, 0x7FC00000])
def test_the_specification_of_quotients_without_a_divisor(k):
    rules = nvfp4_encoding("nvfp4", "nvfp4_ao")
    s = ProvableNvfp4().specification(rules)
    definitions, is_scale = s.scale("b", "k", "scale")
    for b in (0, 3, 0x3F800000, 0x7F800000, 0x7FC00001):
        assert_scale(s, rules, b, k, definitions, is_scale)


def test_limits_are_those_of_two_roundings():
    """At a limit and next to it, for exact numbers of 48 bits."""
    for code, boundary in enumerate(BOUNDARIES, 1):
        for step in (-1, 0, 1):
            number = boundary.limit + step * boundary.value / 2**60
            passes = number > boundary.limit if boundary.is_beyond else number >= boundary.limit
            assert (nearest_code(fp32(number), E2M1) >= code) == passes


EXTREME = [value_of(decode(code, FP32)) for start in (0, 0x80000, 0x7F7FFFF0) for code in range(start, start + 16)] + [
    value_of(decode(0x7F800000, FP32))
]
"""The largest magnitudes with extreme constants of a tensor, and their neighbours."""


@pytest.mark.parametrize("order", ["te", "paper"])
def test_constants_are_within_what_lemmas_assume(order):
    for a in EXTREME:
        constants = tensor_constants(a, nvfp4_encoding("nvfp4", f"nvfp4_{order}"))
        assert Fraction(2) ** FP32.emin <= constants.k <= FP32.max_value and SMALLEST_D <= constants.d <= LARGEST_D


def test_constants_of_quotients_are_what_lemmas_assume():
    """d is zero only if k is Inf, NaN only if k is NaN, and otherwise at least the smallest."""
    for a in [*EXTREME, Special.NAN]:
        k, d = (getattr(tensor_constants(a, nvfp4_encoding("nvfp4", "nvfp4_ao")), name) for name in "kd")
        assert d in (Special.INF, Special.NAN) or (d == 0 and k is Special.INF) or d >= SMALLEST_QUOTIENT_D
        assert (d is Special.NAN) == (k is Special.NAN)


@pytest.mark.parametrize("order", ["te", "paper", "ao"])
def test_simulated_constants_are_within_what_lemmas_assume(order):
    """Every simulated block is in the domain of the proof."""
    rules = nvfp4_encoding("nvfp4", f"nvfp4_{order}")
    know, roles = of(rules), (Role.SCALE_CONSTANT, Role.ELEMENT_CONSTANT)
    parts = [part for _, some in know.swept(2000, 0, False) for part in some]
    parts += [know.hard(2000, 0), know.few(600, 600)]
    pairs = np.unique(np.concatenate([np.hstack([part[role] for role in roles]) for part in parts]), axis=0)
    assert len(pairs) > 2000
    inside = (
        ProvableNvfp4().domain(rules, dict(zip(roles, (bits(k, 32), bits(d, 32)))))
        for k, d in pairs[:: len(pairs) // 2000].tolist()
    )
    text = f"(set-logic ALL)\n(declare-const any Bool)\n(assert (not (and {' '.join(inside)})))\n"
    assert solve(text, ("any",)).result == "unsat"


@pytest.mark.parametrize("form", ["table", pytest.param("thresholds", marks=pytest.mark.slow)])
@pytest.mark.parametrize("order", PLANTED)
def test_planted_bugs_are_refuted_by_the_lemmas_about_their_parts(order, form, tmp_path):
    config = nvfp4_config("nvfp4", f"nvfp4_{order}", source="bf16", form=form)
    text, found = verilog(config, "dut"), []
    for lemma, pattern, planted in PLANTED[order].values():
        text, count = re.subn(pattern, planted, text)
        found += [lemma] * count
    assert found == [lemma for lemma, *_ in PLANTED[order].values() if form == "thresholds" or lemma in IN_EVERY_FORM]
    assert failing(config, text, tmp_path) == found


@pytest.mark.slow
@pytest.mark.parametrize("bug", OTHERS_IN_AO)
def test_more_planted_bugs_are_refuted(bug, tmp_path):
    lemma, pattern, planted = OTHERS_IN_AO[bug]
    config = nvfp4_config("nvfp4", "nvfp4_ao", source="bf16", form="table")
    text, count = re.subn(pattern, planted, verilog(config, "dut"))
    assert count == 1 and failing(config, text, tmp_path) == [lemma]


def test_nan_is_refuted(tmp_path):
    config = nvfp4_config("nvfp4", source="bf16", form="table")
    text, count = re.subn(r"assign p = _\d+_ \? 4'h7 : ", "assign p = ", verilog(config, "dut"))
    assert count == 1 and failing(config, text, tmp_path) == ["element"]


@pytest.mark.slow
def test_the_other_order_is_refuted_with_a_block(tmp_path):
    """A sixth of the largest magnitude times k, instead of the largest magnitude times k."""
    config, file = nvfp4_config("nvfp4", source="bf16"), tmp_path / "other.v"
    file.write_text(verilog(nvfp4_config("nvfp4", "nvfp4_paper", source="bf16"), "other"))
    proof = prove(config, rtl=file)
    assert proof.status is Status.FAIL and proof.steps[-1].question.name == "scale"
    assert "scale expected 0x" in proof.counterexample.report


@pytest.mark.parametrize(
    "order, fields",
    [
        ("te", {"source": "bf16", "form": "table"}),
        *(
            pytest.param(order, {"source": source, "form": form}, marks=pytest.mark.slow)
            for order in ("te", "paper", "ao")
            for source in ("bf16", "fp32")
            for form in ("thresholds", "product", "table")
            if (order, source, form) != ("te", "bf16", "table")
        ),
        *(
            pytest.param("ao_single", {"source": "bf16", "form": form, "block_size": 32}, marks=pytest.mark.slow)
            for form in ("thresholds", "product", "table")
        ),
    ],
)
def test_converters_are_proved(order, fields, tmp_path):
    proof = prove(nvfp4_config("nvfp4", f"nvfp4_{order}", **fields), out=tmp_path)
    assert proof.passed and proof.method == "composed", proof.remark


@pytest.mark.parametrize(
    "source, bits",
    [
        ("bf16", 8),
        *(
            pytest.param(source, bits, marks=pytest.mark.slow)
            for source, bits in (("bf16", 1), ("bf16", 16), ("fp32", 1), ("fp32", 8), ("fp32", 16))
        ),
    ],
)
def test_elements_under_random_bits_are_proved_and_a_lost_carry_is_refuted(source, bits, tmp_path):
    """The rounding to binary32 carries into the bits that random ones are added to for few numbers of BF16."""
    config = nvfp4_config("nvfp4", source=source, rounding="sr", random_bits=bits)
    text = verilog(config, "dut")
    assert answer_of_element(config, text, tmp_path) == "unsat"
    lost, count = re.subn(r"(assign top = \S+) \+ _\d+_;", r"\1;", text)
    assert count == 1 and answer_of_element(config, lost, tmp_path) == "sat"


def answer_of_element(config, text, folder):
    """The answer to the lemma about a lane that multiplies: for any function in place of the multiplication, then for
    the multiplication."""
    design, s = Design(plain(text), "dut", folder), ProvableNvfp4().specification(config.numerics)
    lanes = [part.named("lane") for part in design.parts(Cut("dut_lane"))]
    (question,) = (question for question in of_products(lanes, s) if question.name == "element")
    eased = solve(question.eased, question.names).result
    return eased if eased == "unsat" else solve(question.text, question.names).result


@pytest.mark.slow
def test_a_bug_inside_comes_with_a_block(tmp_path):
    """A lemma about wires has no block; a simulation finds one."""
    config, file = nvfp4_config("nvfp4", source="bf16"), tmp_path / "planted.v"
    _, pattern, planted = PLANTED["te"]["a threshold is one place up"]
    file.write_text(re.sub(pattern, planted, verilog(config, "planted")))
    proof = prove(config, rtl=file)
    assert proof.status is Status.FAIL and proof.steps[-1].question.name == "threshold-corrections"


def test_what_is_not_proved_is_refused(tmp_path):
    with pytest.raises(ValueError, match="is proved in parts only"):
        prove(nvfp4_config("nvfp4"), out=tmp_path, whole=True)


@pytest.mark.slow
def test_random_bits_are_proved(tmp_path):
    proof = prove(nvfp4_config("nvfp4", rounding="sr", random_bits=16), out=tmp_path)
    assert proof.passed and proof.method == "composed", proof.remark


@pytest.mark.slow
@pytest.mark.parametrize(
    "order, registers",
    [("te", "level1,scale_exponent,digits8,left,entry"), ("ao", "input,level0,amax,scale,least4,factor,entry,output")],
)
def test_registers_are_proved(order, registers, tmp_path):
    config = nvfp4_config("nvfp4", f"nvfp4_{order}", source="bf16", registered_after=registers)
    proof = prove(config, out=tmp_path)
    assert proof.passed and proof.method == "composed" and proof.handshake, proof.remark


@pytest.mark.parametrize(
    "pattern, planted, sentence",
    [
        (r"\.x\(x_factor_q\[15:0\]\)", ".x(x[15:0])", "registers between a block and its result: 0 or 1, not 1"),
        pytest.param(
            r"(x_factor_q <= )x;",
            r"\1{ x[239:0], x[255:240] };",
            "is not wired as the element 0",
            marks=pytest.mark.slow,
        ),
        pytest.param(
            r"(if \()i_ready(\) x_factor_q)",
            r"\1o_ready\2",
            "it has a register whose enable is not i_ready",
            marks=pytest.mark.slow,
        ),
    ],
)
def test_wrong_registers_are_not_proved(pattern, planted, sentence, tmp_path):
    config = nvfp4_config("nvfp4", source="bf16", registered_after="factor")
    text, count = re.subn(pattern, planted, verilog(config, "dut"))
    assert count == 1
    design = Design(plain(text), "dut", tmp_path)
    with pytest.raises(StructureError, match=sentence):
        check_handshake(design, config)
        combinational(moving(design, config), config.latency)
        nvfp4_wiring(bypassed(design).modules, "dut", config)


def test_other_wiring_is_unknown(tmp_path):
    """Two lanes exchanged: nothing is proved, and no verdict is better than UNKNOWN."""
    config, file = nvfp4_config("nvfp4", source="bf16", form="table"), tmp_path / "dut.v"
    text = verilog(config, "dut").replace("p[3:0]", "p[x]").replace("p[7:4]", "p[3:0]").replace("p[x]", "p[7:4]")
    assert text != verilog(config, "dut")
    file.write_text(text)
    proof = prove(config, rtl=file)
    assert not proof.passed and "is not wired as the element 0" in proof.remark
