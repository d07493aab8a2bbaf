"""Proofs of converters that try both 4 and 6: the specification of errors agrees with the exact definition, emitted
files are proved, and every lemma can fail.
"""

import re
from fractions import Fraction
from functools import cache

import numpy as np
import pytest

from mxcast.hdl import nvfp4_config, verilog
from mxcast.models.exact.binary32 import Special, add, distance, divide, multiply, value_of
from mxcast.proof import prove
from mxcast.proof.netlist.design import Cut, Design
from mxcast.proof.netlist.structure import StructureError
from mxcast.proof.operations import provable
from mxcast.proof.questions.nvfp4.candidate import choice, four_over_six_wiring, of_candidate
from mxcast.proof.questions.nvfp4.scale import product_scale
from mxcast.proof.solve.solver import solve
from mxcast.proof.specification.encode import bits
from mxcast.proof.specification.nvfp4_error import BEYOND, INF, ErrorSpecification
from mxcast.proof.verilog.text import plain
from mxcast.spec import E2M1, FP32, nvfp4_encoding

PROFILE = "nvfp4_te_4over6"
CONFIG = nvfp4_config("nvfp4", PROFILE)
OTHERS = {"four_over_six": "mse", "source": "bf16", "form": "product", "scale_max": 256}
SQUARED = nvfp4_config("nvfp4", PROFILE, **OTHERS)
REGISTERED = nvfp4_config("nvfp4", PROFILE, **OTHERS, registered_after="input,scale,factor,codes,errors,sum3,output")


def words(count, seed):
    """Patterns of binary32 magnitudes: limits, any, and near ones."""
    rng = np.random.default_rng(seed)
    limits = [0, 1, 2, 0x007FFFFF, 0x00800000, 0x00800001, 0x3F800000, 0x7F7FFFFF]
    near = rng.integers(0x3F000000, 0x41000000, count)
    return [*limits, *rng.integers(0, FP32.inf_field, count).tolist(), *near.tolist()]


def word(value):
    """The word of a value of the exact definition."""
    if value is Special.INF:
        return FP32.inf_field
    return int(np.float32(float(value)).view(np.uint32))


@pytest.mark.parametrize("scale_max", [448, 256])
def test_the_specification_agrees_with_the_exact_definition(scale_max):
    """Does it refuse a result of the exact definition, or allow its neighbour?"""
    e, claims = ErrorSpecification(nvfp4_encoding("nvfp4", PROFILE, scale_max=scale_max)), []

    def only(claim, right):
        claims.extend((claim(bits(right, 32)), f"(not {claim(bits(right ^ 1, 32))})"))

    patterns = words(30, scale_max)
    for one, other in zip(patterns, reversed(patterns)):
        a, b = (value_of(FP32.decode(pattern)) for pattern in (one, other))
        p, q = bits(one, 32), bits(other, 32)
        only(lambda w: e.is_quotient(p, w), word(divide(a, Fraction(e.divisor))))
        only(lambda w: e.is_distance(p, q, w), word(distance(a, False, b, False)))
        claims.append(e.is_sum(p, q, bits(word(add(a, b)), 32)))
        claims.append(f"(= {e.is_less(p, q)} {str(a < b).lower()})")
        exact = f"((_ to_fp 11 53) RNE ((_ to_fp 8 24) {p}))"
        claims.append(e.is_square(p, f"(fp.mul RNE {exact} {exact})", bits(word(multiply(a, a)), 32)))
        for code in range(1, E2M1.max_code + 1):
            value = multiply(a, E2M1.decode(code).magnitude)
            claims.append(e.is_product(exact, code, bits(word(value), 32)))
    claims += [e.is_quotient(INF, BEYOND), e.is_sum(INF, bits(1, 32), BEYOND), f"(not {e.is_less(INF, BEYOND)})"]
    text = f"(set-logic ALL)\n{e.definitions}(assert (not (and {' '.join(claims)})))\n"
    assert solve(text, ("none",)).result == "unsat"


def asked(config, text, folder):
    """The lemmas about the choice between two scales, for a text as one reader reads it."""
    design, s = Design(plain(text), "dut", folder), provable(config).specification(config.numerics)
    wires = four_over_six_wiring(design.modules, "dut", config)
    (unit,) = design.parts(Cut(wires.scale_unit))
    yield from product_scale(lambda: unit, s)
    yield from of_candidate(design, wires.codes[0], s)
    yield choice(design, wires, s)


@cache
def emitted(config):
    return verilog(config, "dut")


def holds(one):
    return solve(one.eased or one.text, one.names).result == one.expected


@pytest.mark.slow
def test_the_choice_is_proved(tmp_path):
    """The lemmas that take a second each; the slow tests have all."""
    found = {one.name: one for one in asked(CONFIG, emitted(CONFIG), tmp_path)}
    for name in ("larger-scale", "grid-quotient-2", "errors", "sum-range", "choice"):
        assert holds(found[name]), name
    assert {"grid-products", *(f"grid-quotient-{code}" for code in range(1, 8)), "distances", "sums"} <= found.keys()


@pytest.mark.slow  # the solver needs minutes
@pytest.mark.parametrize("config", [CONFIG, SQUARED, REGISTERED], ids=["mae", "mse", "registers"])
def test_converters_are_proved(config, tmp_path):
    proof = prove(config, out=tmp_path)
    assert (proof.handshake is not None) == (config is REGISTERED)
    assert proof.passed and proof.method == "composed", proof.remark
    assert [argument.reader for argument in proof.arguments] == ["read_verilog", "slang"]


BUGS = {
    "the larger product is cut off": ("larger-scale", r"(assign larger_t_total = \S+) \+ \S+;", r"\1;"),
    "a product is cut off": ("grid-products", r"(assign product3_pattern = \S+) \+ \S+;", r"\1;"),
    "a step of a division without equality": ("grid-quotient-3", r"(assign value3_digit5 = .*) >=", r"\1 >"),
    "a quotient is cut off": ("grid-quotient-7", r"(assign value7 = \S+) \+ \S+;", r"\1;"),
    "a distance forgets a bit": ("distances", r"(assign distance_left = .*);", r"\1 & 27'h7fffffe;"),
    "the error is another": ("errors", r"(assign distance = error);", r"\1 ^ 32'h1;"),
    "a sum is cut off": ("sums", r"(assign total = \S+) \+ \S+;", r"\1;"),
    "a tie goes to 4": ("choice", r"(assign _\d+_ = error) < ", r"\1 <= "),
    "Inf in number 3 is not noticed": ("choice", r"& x\[126:119\];", "1'h0;"),
    "a code of the other scale": ("choice", r"(assign p\[7:4\] = is_better \? )(\S+) : (\S+);", r"\1\3 : \2;"),
}
"""By bug, the lemma that refutes it, and the change of the emitted text."""


@pytest.mark.sampled(8)
@pytest.mark.parametrize("lemma, right, wrong", BUGS.values(), ids=BUGS)
def test_each_lemma_can_fail(lemma, right, wrong, tmp_path):
    text, count = re.subn(right, wrong, emitted(CONFIG))
    assert count
    assert not holds(next(one for one in asked(CONFIG, text, tmp_path) if one.name == lemma))


@pytest.mark.slow
def test_squares_that_are_cut_off_are_refuted(tmp_path):
    text, count = re.subn(r"(assign error = \S+) \+ \S+;", r"\1;", emitted(SQUARED))
    assert count and not holds(next(one for one in asked(SQUARED, text, tmp_path) if one.name == "errors"))


EXCHANGED = {
    "a port has another name": (r"\blarger\b", "greater", "dut has a part without the port 'larger'"),
    "both candidates try one scale": (
        r"\.scale\(larger\)(,\n\s+\.x\(x\))",
        r".scale(_25_)\1",
        "larger_candidate of dut",
    ),
    "an error counts twice": (
        r"(\.a\(total\),\n\s+\.b\()\w+\)",
        r"\1b)",
        "does not consist of factor_unit, grid_unit, elements, errors",
    ),
    "an error has the code of another": (
        r"(error_01 \([^;]*\.p\()p\[7:4\]",
        r"\1p[3:0]",
        "has no error of the element 1",
    ),
    "the largest magnitude is of another": (r"(grid_unit grid_unit \(\n\s+\.a\()a\)", r"\1d)", "grid_unit of"),
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("right, wrong, sentence", EXCHANGED.values(), ids=EXCHANGED)
def test_parts_that_are_exchanged_are_not_proved(right, wrong, sentence, tmp_path):
    text, count = re.subn(right, wrong, emitted(CONFIG))
    assert count
    with pytest.raises(StructureError, match=sentence):
        list(asked(CONFIG, text, tmp_path))
