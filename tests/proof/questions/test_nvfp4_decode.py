"""Proofs of NVFP4 decoders: the specification agrees with the exact definition, emitted files are proved for every
input, and planted bugs are refuted with a block.
"""

import re
from itertools import product

import numpy as np
import pytest

from mxcast.hdl import nvfp4_decoder_config, verilog
from mxcast.models.exact.binary32 import value_of
from mxcast.models.exact.nvfp4_decode import decode_block
from mxcast.proof import prove
from mxcast.proof.foreign.check_rtl import check_rtl
from mxcast.proof.mutation import Fate, mutate
from mxcast.proof.netlist.design import Design
from mxcast.proof.operations import provable
from mxcast.proof.solve.argument import Status
from mxcast.proof.solve.solver import solve
from mxcast.proof.specification.encode import bits
from mxcast.proof.specification.nvfp4_decode import Nvfp4DecodeSpecification
from mxcast.proof.verilog.text import plain
from mxcast.spec import FP32, NVFP4_DECODE_RULES, Convention, DecodedNan, Role, nvfp4_decoding

NAME = "decoder"
SMALL = {"convention": "none", "block_size": 2}
"""A decoder whose proof takes a second."""


@pytest.mark.sampled(2)
@pytest.mark.parametrize("destination", ["fp32", "bf16"])
@pytest.mark.parametrize("convention", Convention)
def test_the_specification_agrees_with_the_exact_definition(convention, destination):
    """On scales at the limits and random ones, all in one question: does it refuse a result of the exact definition, or
    allow its neighbour?
    """
    nans = list(NVFP4_DECODE_RULES["nan"])
    rules = nvfp4_decoding(
        "nvfp4", convention=convention, destination=destination, nan=nans[len(convention) % len(nans)]
    )
    s, rng, to = Nvfp4DecodeSpecification(rules), np.random.default_rng(11), rules.destination
    tensors = [0, 1, 0x00800000, 0x3F800000, 0x7F7FFFFF, FP32.inf_field, 0x7FC00001]
    tensors += rng.integers(1, FP32.inf_field, 6).tolist()
    claims = []
    for g, scale in product(tensors, [0, 1, 7, 8, 0x38, 0x7E, 0x7F, 0x80, 0xB9, 0xFF]):
        for code, y in enumerate(decode_block(scale, range(16), rules, value_of(FP32.decode(g)))):
            words = {Role.CODES: bits(code, 4), Role.SCALE: bits(scale, 8), Role.TENSOR_SCALE: bits(g, 32)}
            claims.append(s.element(words | {Role.NUMBERS: bits(y, to.bits)}))
            claims.append(f"(not {s.element(words | {Role.NUMBERS: bits(y ^ 1, to.bits)})})")
    numbered = " ".join(f"(ite {claim} false (= wrong {bits(i, 32)}))" for i, claim in enumerate(claims))
    answer = solve(
        f"(set-logic ALL)\n(set-option :produce-models true)\n{s.definitions}(declare-const wrong (_ BitVec 32))\n"
        f"(assert (or {numbered}))\n",
        ("wrong",),
    )
    assert answer.result == "unsat", claims[answer.values["wrong"]]


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    "convention, destination, nan", [("none", "bf16", "payload"), ("divisor", "fp32", "canonical")]
)
def test_decoders_are_proved(convention, destination, nan, tmp_path):
    config = nvfp4_decoder_config(
        "nvfp4", convention=convention, destination=destination, nan=nan, block_size=2, registered_after="scaled,output"
    )
    proof = prove(config, out=tmp_path)
    assert proof.passed and proof.method == "composed" and proof.handshake is not None, proof.remark
    assert [argument.reader for argument in proof.arguments] == ["read_verilog", "slang"]


@pytest.mark.slow  # up to two minutes of the solver for each reader
@pytest.mark.parametrize("destination, nan", list(zip(["fp32", "bf16", "bf16"], DecodedNan)))
@pytest.mark.parametrize("convention", Convention)
def test_every_decoder_is_proved(convention, destination, nan, tmp_path):
    proof = prove(nvfp4_decoder_config("nvfp4", convention=convention, destination=destination, nan=nan), out=tmp_path)
    assert proof.passed and proof.handshake is None, proof.remark


@pytest.mark.slow
def test_a_layout_is_proved(tmp_path):
    assert prove(nvfp4_decoder_config("nvfp4", convention="none", layout="compressed_tensors"), out=tmp_path).passed


IN_DIVISION = {
    "a step subtracts where it does not fit": ("ratio-3", r"(assign ratio_digit7 = .*) >= ", r"\1 > "),
    "a step loses a bit": ("ratio-6", r"(assign ratio_left0 = ratio_digit0 \? )(\w+)", r"\1{ \2[23:1], 1'h0 }"),
    "the remainder does not count": ("factor", r"(assign \w+ = )\| ratio_left0;", r"\1& ratio_left0;"),
    "a scale of zero gives another number": (
        "factor",
        r"(assign factor =)",
        r"\1 ~ratio_digit25 & ~ratio_digit24 & s_significand == 4'h0 ? 31'h00000001 :",
    ),
    "a subnormal scale is not normalised": (
        "scales",
        r"assign s_significand = .*;",
        "assign s_significand = { 1'h1, scale[2:0] };",
    ),
    "zero times Inf is Inf": ("elements", r"assign is_nan_of_zero = .*;", "assign is_nan_of_zero = is_nan;"),
}
"""By bug, the lemma that refutes it, and the change of the emitted text."""


@pytest.mark.sampled(6, first=1)
@pytest.mark.parametrize("lemma, right, wrong", IN_DIVISION.values(), ids=IN_DIVISION)
def test_each_lemma_of_the_division_can_fail(lemma, right, wrong, tmp_path):
    config = nvfp4_decoder_config("nvfp4", convention="divisor", block_size=2)
    text, count = re.subn(right, wrong, verilog(config, "dut"))
    assert count
    design, asked = Design(plain(text), "dut", tmp_path), provable(config)
    questions = asked.composed(config, design, asked.specification)
    assert lemma in [one.name for one in questions if solve(one.text, one.names).result != one.expected]


def test_a_factor_from_elsewhere_is_not_proved(tmp_path):
    """The lemmas are about the unit, and say nothing about another factor."""
    config, file = nvfp4_decoder_config("nvfp4", convention="divisor", block_size=2), tmp_path / "dut.v"
    text = verilog(config, "dut")
    assert text.count(".g(g),") == 1
    file.write_text(text.replace(".g(g),", ".g(g ^ 32'h1),"))
    proof = prove(config, rtl=file, out=tmp_path)
    assert not proof.passed


def planted(config, when):
    """A right decoder whose bit 0 is inverted under a condition."""
    inner = verilog(config, "right")
    ports = [port for port in config.ports if port.name != "y"]
    words = ", ".join(f"input [{port.width - 1}:0] {port.name}" for port in ports)
    width = next(port.width for port in config.ports if port.name == "y")
    return (
        f"{inner}\nmodule {NAME}({words}, output [{width - 1}:0] y);\n  wire [{width - 1}:0] found;\n"
        f"  right inner({', '.join(f'.{port.name}({port.name})' for port in ports)}, .y(found));\n"
        f"  assign y = found ^ ({when});\nendmodule\n"
    )


CONDITIONS = {
    "under one scale only": "scale == 8'h7b & ^p[3:0]",
    "for one code only": "p[3:0] == 4'h9",
    "a lane sees another": "p[7:4] == 4'h3 & scale == 8'h01",
    "under one tensor of 2**32": "g == 32'h3f812345 & p[3:0] == 4'h7 & scale == 8'h39",
}


@pytest.mark.sampled(4)
@pytest.mark.parametrize("bug", CONDITIONS)
def test_a_planted_bug_is_refuted_with_a_block(bug, tmp_path):
    convention = "multiplier" if "tensor" in bug else "none"
    config = nvfp4_decoder_config("nvfp4", **SMALL | {"convention": convention})
    file = tmp_path / f"{NAME}.v"
    file.write_text(planted(config, CONDITIONS[bug]))
    proof = prove(config, rtl=file)
    assert proof.status is Status.FAIL and "expected 0x" in proof.counterexample.report


@pytest.mark.slow
def test_mutants_of_the_verilog_are_refuted(tmp_path):
    result = mutate(nvfp4_decoder_config("nvfp4", **SMALL, destination="bf16"), 12, seed=3, out=tmp_path)
    assert result.count(Fate.SURVIVED) == 0 and result.faults >= 5


def test_a_foreign_decoder_is_checked(tmp_path):
    config, file = nvfp4_decoder_config("nvfp4", **SMALL), tmp_path / f"{NAME}.v"
    file.write_text(verilog(config, NAME))
    assert check_rtl([file], NAME, config, out=tmp_path, blocks=2000).passed
    file.write_text(planted(config, CONDITIONS["for one code only"]))
    assert check_rtl([file], NAME, config, out=tmp_path, blocks=2000).status is Status.FAIL
