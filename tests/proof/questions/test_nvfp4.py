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
from mxcast.models.exact.nvfp4_encode import ORDERS, block_scale, element_code, tensor_constants
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
from mxcast.proof.specification.nvfp4_divisor import LARGEST_K, SMALLEST_K
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
    "modelopt": {
        "six times the constant is cut off": ("sixfold", r"(assign threefold = \S+) \+ threefold_up;", r"\1;"),
        "equal significands count as less": ("quotient-first", r"(assign is_less = dividend_significand) <", r"\1 <="),
        "a digit without equality": ("quotient-odd", r"(assign digit_3 = .*) >=", r"\1 >"),
        "half a place without equality": ("scale", r"(assign at_next = .*) <=", r"\1 <"),
        "the divisor is cut off": ("factor", r"(assign v_pattern = \S+) \+ \S+;", r"\1;"),
        "all numbers of a cell pass its mark": ("element", r"(assign is_passed = entry\[3\]) & \S+;", r"\1;"),
    },
    "compressed_tensors": {
        "a number is left out": ("maximum", r"(assign level1_0 = ).*\? (.*) : .*;", r"\1\2;"),
        "a scale of zero stays": ("scale", r"8'h20", "8'h00"),
        "subnormal scales are zero": ("divisor-operands", r"(assign s_significand = .* :) s_moved;", r"\1 4'h0;"),
        "a digit without equality": ("divisor-even", r"(assign quotient_digit3 = .*) >=", r"\1 >"),
        "the rest of the division is lost": ("factor", r"= \| quotient_left0;", "= | quotient_left0[23:1];"),
        "the divisor Inf is ignored": ("element", r"(assign underflow = by_inf \? 31'h)7f7fffff", r"\g<1>0"),
    },
}
"""By order and bug, the lemma that refutes it, and the change of the emitted text."""

IN_EVERY_FORM = ("maximum", "scale", "sixth", "quotient-first", "quotient-odd", "element")

OTHERS = {
    "ao": {
        "half a place above without equality": ("scale", r"(assign at_digit = .*) <=", r"\1 <"),
        "the smallest scale is forgotten": ("scale", r"_\d+_ \? 8'h08 : (_\d+_;)", r"\1"),
        "invalid NaN without a sign": ("scale", r"8'hff", "8'h7f"),
        "a scale of NaN under k = 0": ("scale", r"8'h7e( : _\d+_;)", r"8'h7f\1"),
        "no limit above": ("scale", r"8'h7e( : code;)", r"8'h7d\1"),
        "NaN of the block without its sign": ("element", r"\{ nan_sign, 3'h4 \}", "4'h4"),
        "Inf is no factor": ("element", r"(assign is_infinite =) .*", r"\1 1'h0;"),
    },
    "modelopt": {
        "zero has the smallest scale": ("scale", r"8'h38", "8'h01"),
        "a quotient is never zero": ("scale", r"(quotient_exponent == 11'h76)a", r"\1b"),
        "subnormal scales have all digits": ("scale", r"(assign places =) .*;", r"\1 2'h0;"),
        "Inf is no divisor": ("factor", r"(assign by_inf =) .*", r"\1 1'h0;"),
        "zero by zero has a sign": ("element", r"(= x\[15\]) & _\d+_;", r"\1;"),
        "NaN of the block is zero": ("element", r"(assign p = is_nan \?) 4'h7", r"\1 4'h0"),
        "no quotient is zero": ("element", r"(assign underflow_pattern = by_inf .*) _\d+_;", r"\1 31'h0;"),
    },
    "compressed_tensors": {
        "the sixth is cut off": ("scale", r"(assign sixth = \S+) \+ _\d+_;", r"\1;"),
        "zero times Inf has no sign": ("scale", r"(assign scale = \S+ \? \{) \S+ 7'h7f", r"\1 1'h0, 7'h7f"),
        "subnormal divisors are larger": ("factor", r"(assign v_below =) .*;", r"\1 5'h00;"),
        "NaN of the block is the largest": ("element", r"(assign p = is_nan \?) 4'h0", r"\1 4'h7"),
    },
}
"""More bugs, each in a part that already has one."""

ORDERS_BY_DIVISOR = ("modelopt", "compressed_tensors")


def fields_of(order, form="thresholds"):
    """Fields of a configuration whose questions are small."""
    return {"form": form, **({} if order == "compressed_tensors" else {"source": "bf16"})}


def failing(config, text, folder):
    """The lemmas that fail for a text, as one reader reads it."""
    design, asked = Design(plain(text), "dut", folder), provable(config)
    return [
        question.name
        for question in asked.composed(config, design, asked.specification)
        if solve(question.eased or question.text, question.names).result != question.expected
    ]


@pytest.mark.sampled(2)
@pytest.mark.parametrize("order", ["te", "paper", "ao", *ORDERS_BY_DIVISOR])
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


@pytest.mark.sampled(8)
@pytest.mark.parametrize("k", [0, 1, 0x78F3CF3C, 0x7F800000, 0x7FC00000])
@pytest.mark.parametrize("order", ["ao", *ORDERS_BY_DIVISOR])
def test_the_specification_of_scales_under_extreme_constants(order, k):
    """ModelOpt's quotient is zero for the smallest numbers in tensors of the largest."""
    rules = nvfp4_encoding("nvfp4", f"nvfp4_{order}")
    s = ProvableNvfp4().specification(rules)
    definitions, is_scale = s.scale("b", "k", "scale")
    if order == "compressed_tensors" and k not in (0, 0x78F3CF3C):
        return  # its constant is 0 or a normal number
    for b in (0, 3, 0x006DB6DB, 0x3F800000, 0x7F800000, 0x7FC00001):
        assert_scale(s, rules, b, k, f"{cast_to(E4M3)}{definitions}", is_scale)


@pytest.mark.slow
@pytest.mark.parametrize("order", ORDERS_BY_DIVISOR)
def test_the_specification_of_elements_is_the_exact_definition(order):
    """At limits of every code and next to them, and where the quotient is zero."""
    rules, rng = nvfp4_encoding("nvfp4", f"nvfp4_{order}"), np.random.default_rng(4)
    s, scale = ProvableNvfp4().specification(rules), 0x38
    cases = []
    for exponent in (-149, -127, 0, 30, 125):
        v = Fraction(int(rng.integers(1 << 23, 5 << 21)), 1 << 23) * Fraction(2) ** exponent
        v = fp32(v)
        near = [float32(v * boundary.value) for boundary in BOUNDARIES] + [float32(v / 2**150)]
        cases += [(max(x + step, 0), v) for x in near for step in (-1, 0, 1) if x + step < 0x7F800000]
    if order == "modelopt":  # the other one never divides by zero
        cases += [(x, Fraction(0)) for x in (0, 1)]
    cases += [(0, Fraction(1)), (0x7F800000, Fraction(1))]
    for x, v in cases:
        pattern = x | int(rng.integers(0, 2)) << 31
        number = decode(pattern, FP32)
        y = ORDERS[rules.order].scaled(value_of(number), v)
        right = element_code(number, y, scale, rules, Fraction(0))
        words = f"(define-fun x () (_ BitVec 32) {bits(pattern, 32)})\n{divisor_words(v)}"
        text = (
            f"(set-logic ALL)\n(set-option :produce-models true)\n(declare-const p (_ BitVec 4))\n{words}"
            f"{s.number('x64', '((_ extract 30 0) x)', 31)}"
            f"(assert {s.specials('x', 'p', s.is_passed())})\n"
        )
        assert solve(text, ("p",)).values == {"p": right}
        assert solve(f"{text}(assert (distinct p {bits(right, 4)}))\n", ("p",)).result == "unsat"


def divisor_words(v):
    """Definitions of a divisor that is finite."""
    exponent = v.numerator.bit_length() - v.denominator.bit_length() if v else 0
    exponent -= v < Fraction(2) ** exponent and v > 0
    words = {"R": (int(v / Fraction(2) ** (exponent - 23)), 24), "n": (exponent % 512, 9)}
    flags = {"by_zero": v == 0, "by_inf": False, "is_nan": False}
    return "".join(
        [f"(define-fun {name} () (_ BitVec {width}) {bits(value, width)})\n" for name, (value, width) in words.items()]
        + [f"(define-fun {name} () Bool {str(bool(is_set)).lower()})\n" for name, is_set in flags.items()]
    )


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


@pytest.mark.parametrize("order", ORDERS_BY_DIVISOR)
def test_constants_of_divisors_are_what_lemmas_assume(order):
    for a in [*EXTREME, *([Special.NAN] if order == "modelopt" else [])]:
        constants = tensor_constants(a, nvfp4_encoding("nvfp4", f"nvfp4_{order}"))
        assert constants.k == constants.d
        k = constants.k
        if order == "modelopt":
            assert k in (Special.INF, Special.NAN) or 0 <= k <= fp32(LARGEST_K)
        else:
            assert k == 0 or SMALLEST_K <= k <= FP32.max_value


@pytest.mark.sampled(2)
@pytest.mark.parametrize("order", ["te", "paper", "ao", *ORDERS_BY_DIVISOR])
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


@pytest.mark.sampled(4)
@pytest.mark.parametrize(
    "order, form",
    [
        *((order, "table") for order in PLANTED if order not in ORDERS_BY_DIVISOR),
        *((order, "thresholds") for order in ORDERS_BY_DIVISOR),
        *(pytest.param(order, "thresholds", marks=pytest.mark.slow) for order in ("te", "ao")),
    ],
)
def test_planted_bugs_are_refuted_by_the_lemmas_about_their_parts(order, form, tmp_path):
    config = nvfp4_config("nvfp4", f"nvfp4_{order}", **fields_of(order, form))
    text, found = verilog(config, "dut"), []
    for lemma, pattern, planted in PLANTED[order].values():
        text, count = re.subn(pattern, planted, text)
        found += [lemma] * count
    assert found == [lemma for lemma, *_ in PLANTED[order].values() if form == "thresholds" or lemma in IN_EVERY_FORM]
    assert failing(config, text, tmp_path) == found


@pytest.mark.sampled(11, first=1)
@pytest.mark.parametrize(
    "order, bug",
    [
        pytest.param(order, bug, marks=[] if order in ORDERS_BY_DIVISOR else pytest.mark.slow)
        for order, bugs in OTHERS.items()
        for bug in bugs
    ],
)
def test_more_planted_bugs_are_refuted(order, bug, tmp_path):
    lemma, pattern, planted = OTHERS[order][bug]
    form = "thresholds" if order in ORDERS_BY_DIVISOR else "table"
    config = nvfp4_config("nvfp4", f"nvfp4_{order}", **fields_of(order, form))
    text, count = re.subn(pattern, planted, verilog(config, "dut"))
    assert count == 1 and failing(config, text, tmp_path) == [lemma]


def test_nan_is_refuted(tmp_path):
    config = nvfp4_config("nvfp4", source="bf16", form="table")
    text, count = re.subn(r"assign p = _\d+_ \? 4'h7 : ", "assign p = ", verilog(config, "dut"))
    assert count == 1 and failing(config, text, tmp_path) == ["element"]


def test_the_other_order_is_refuted_by_a_block(tmp_path):
    """A sixth of the largest magnitude times k, instead of the largest magnitude times k. The solver is not asked."""
    config, file = nvfp4_config("nvfp4", source="bf16"), tmp_path / "other.v"
    file.write_text(verilog(nvfp4_config("nvfp4", "nvfp4_paper", source="bf16"), "other"))
    proof = prove(config, rtl=file)
    assert proof.status is Status.FAIL and not proof.steps
    assert "scale expected 0x" in proof.counterexample.report


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    "order, fields",
    [
        ("te", {"source": "bf16", "form": "table"}),
        ("modelopt", {"source": "bf16"}),
        ("compressed_tensors", {}),
        pytest.param("modelopt", {"source": "fp32", "block_size": 32}, marks=pytest.mark.slow),
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
    [
        ("te", "level1,scale_exponent,digits8,left,entry"),
        ("ao", "input,level0,amax,scale,least4,factor,entry,output"),
        ("modelopt", "input,level0,amax,scale,factor,entry,output"),
        ("compressed_tensors", "level1,scale,factor,entry"),
    ],
)
def test_registers_are_proved(order, registers, tmp_path):
    config = nvfp4_config("nvfp4", f"nvfp4_{order}", **fields_of(order), registered_after=registers)
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


def test_other_wiring_is_not_proved(tmp_path):
    """Two lanes exchanged."""
    config = nvfp4_config("nvfp4", source="bf16", form="table")
    text = verilog(config, "dut").replace("p[3:0]", "p[x]").replace("p[7:4]", "p[3:0]").replace("p[x]", "p[7:4]")
    assert text != verilog(config, "dut")
    asked = provable(config)
    with pytest.raises(StructureError, match="is not wired as the element 0"):
        list(asked.composed(config, Design(text, "dut", tmp_path), asked.specification))
