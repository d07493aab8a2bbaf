"""Proofs of Hadamard transforms: the specification agrees with the exact definition, emitted files are proved for every
input, and every lemma can fail.
"""

import numpy as np
import pytest

from mxcast.hdl import hadamard_config, verilog
from mxcast.models.exact.hadamard import rotate_block
from mxcast.proof import prove
from mxcast.proof.mutation import Fate, mutate
from mxcast.proof.netlist.design import Design
from mxcast.proof.netlist.structure import StructureError
from mxcast.proof.operations import provable
from mxcast.proof.refutation import refute
from mxcast.proof.solve.argument import Status
from mxcast.proof.solve.solver import solve
from mxcast.proof.specification.encode import bits
from mxcast.proof.specification.hadamard import HadamardSpecification
from mxcast.proof.specification.mutants.hadamard import HADAMARD_MUTANTS
from mxcast.proof.verilog.text import plain
from mxcast.sim.hadamard.simulation import HadamardSimulation
from mxcast.spec import BF16, Hadamard, Role

CONFIG = hadamard_config("hadamard16")
EVERY_STAGE = ",".join(CONFIG.stages)
NAN = BF16.inf_field | 1 << BF16.man_bits - 1


def test_the_specification_agrees_with_the_exact_definition():
    """Does it refuse a result of the exact definition, or allow its neighbour?"""
    rules = Hadamard()
    s, claims = HadamardSpecification(rules), []
    blocks = HadamardSimulation(rules).corners(seed=2)[Role.NUMBERS]
    chosen = np.random.default_rng(5).choice(len(blocks), 60, replace=False)
    for block in blocks[chosen].tolist():
        numbers = [bits(x, BF16.bits) for x in block]
        for j, y in enumerate(rotate_block(block, rules)):
            negative, positive = (s.has_inf(numbers, j, sign) for sign in (True, False))
            if y == NAN:
                claims.append(s.is_nan_of(numbers, j))
                continue
            claims.append(f"(not {s.is_nan_of(numbers, j)})")
            if any(x & BF16.magnitude_mask == BF16.inf_field for x in block):
                claims += [f"(= {negative} {str(y > BF16.inf_field).lower()})", f"(or {negative} {positive})"]
                continue
            total = s.total([f"(integer {x})" for x in numbers], j)
            claims += [
                f"(is_result {total} {bits(y, BF16.bits)})",
                f"(not (is_result {total} {bits(y ^ 1, BF16.bits)}))",
            ]
    assert len(claims) > 1000
    text = f"(set-logic ALL)\n{s.definitions}(assert (not (and {' '.join(claims)})))\n"
    assert solve(text, ("none",)).result == "unsat"


@pytest.mark.slow
@pytest.mark.parametrize("fields", [{}, {"signs": 0x1234, "registered_after": EVERY_STAGE}])
def test_transforms_are_proved(fields, tmp_path):
    proof = prove(hadamard_config("hadamard16", **fields), out=tmp_path)
    assert proof.passed and proof.method == "composed", proof.remark
    assert (proof.handshake is not None) == bool(fields)
    assert [argument.reader for argument in proof.arguments] == ["read_verilog", "slang"]


BUGS = {
    "an integer is one place too high": ("integers", "$signed(number) << place", "$signed(number) << (place + 8'h01)"),
    "a subnormal number has a hidden bit": ("integers", "_03_, x[6:0] }", "1'h1, x[6:0] }"),
    "NaN in number 3 is not noticed": ("specials", "x[62:48] > 15'h7f80", "1'h0 & x[62:48] > 15'h7f80"),
    "a sum is a difference": ("level-2", "$signed(level1_sum_00) + $signed", "$signed(level1_sum_00) - $signed"),
    "a sum adds another": ("level-4", "$signed(level3_sum_03) +", "$signed(level3_sum_02) +"),
    "bit 60 does not decide a tie": ("results", "assign rest =", "assign rest = total[60] ? 1'h0 :"),
}
"""By bug, the lemma that refutes it, and the change of the emitted text."""


@pytest.mark.sampled(6, first=1)
@pytest.mark.parametrize("lemma, right, wrong", BUGS.values(), ids=BUGS)
def test_each_lemma_can_fail(lemma, right, wrong, tmp_path):
    text = verilog(CONFIG, "dut")
    assert right in text
    design, asked = Design(plain(text.replace(right, wrong, 1)), "dut", tmp_path), provable(CONFIG)
    questions = asked.composed(CONFIG, design, asked.specification)
    assert lemma == next(one.name for one in questions if solve(one.text, one.names).result != one.expected)


@pytest.mark.sampled(4)
@pytest.mark.parametrize(
    "right, wrong, sentence",
    [
        (".x(x[31:16]),", ".x(x[47:32]),", "the integer 1 of dut does not come from one module"),
        (".is_negated(1'h1),", ".is_negated(1'h0),", "the integer 3 of dut does not come from one module"),
        (".total(level4_sum_05),", ".total(level4_sum_04),", "dut has no wire level4_sum_05"),
        (".y(y[15:0])", ".y(y[31:16])", "multiple conflicting drivers"),
    ],
)
def test_parts_that_are_exchanged_are_not_proved(right, wrong, sentence, tmp_path):
    text = verilog(CONFIG, "dut")
    assert right in text
    design, asked = Design(plain(text.replace(right, wrong, 1)), "dut", tmp_path), provable(CONFIG)
    with pytest.raises(StructureError, match=sentence):
        list(asked.composed(CONFIG, design, asked.specification))


def test_results_that_are_exchanged_are_not_proved(tmp_path):
    first, second = ".y(y[15:0])", ".y(y[31:16])"
    text = verilog(CONFIG, "dut").replace(first, "here").replace(second, first).replace("here", second)
    design, asked = Design(plain(text), "dut", tmp_path), provable(CONFIG)
    with pytest.raises(StructureError, match="^the results of dut are exchanged$"):
        list(asked.composed(CONFIG, design, asked.specification))


@pytest.mark.slow
def test_a_planted_bug_is_refuted_with_a_block(tmp_path):
    file = tmp_path / "dut.v"
    file.write_text(verilog(CONFIG, "dut").replace("x[62:48] > 15'h7f80", "x[62:48] > 15'h7f81"))
    proof = prove(CONFIG, rtl=file)
    assert proof.status is Status.FAIL and "expected 0x7FC0" in proof.counterexample.report


@pytest.mark.slow
def test_mutants_are_refuted(tmp_path):
    refuted = refute(CONFIG, tmp_path / "specification")
    assert len(refuted) == len(HADAMARD_MUTANTS) and all(one.by for one in refuted)
    result = mutate(CONFIG, 12, seed=1, out=tmp_path)
    assert result.count(Fate.SURVIVED) == 0 and result.suite == result.faults >= 11
