"""Proofs of decoders: the specification agrees with the exact definition, emitted files are proved, planted bugs are
refuted with a block, and foreign decoders are checked and named.
"""

from itertools import product

import numpy as np
import pytest

from mxcast.hdl import decoder_config, verilog
from mxcast.models.exact.decode import decode_block
from mxcast.proof import prove
from mxcast.proof.foreign.check_rtl import check_rtl
from mxcast.proof.mutation import Fate, mutate
from mxcast.proof.refutation import refute
from mxcast.proof.solve.argument import Status
from mxcast.proof.solve.solver import solve
from mxcast.proof.specification.decode import DecodeSpecification
from mxcast.proof.specification.encode import bits
from mxcast.proof.specification.mutants.decode import DECODE_MUTANTS
from mxcast.spec import DECODERS, Role, decoding

from ...configurations import ELEMENTS, in_turn

NAME = "decoder"

RULES = [
    ("e4m3", "ocp", {}),
    ("e5m2", "idma", {}),
    ("e5m2", "te", {"destination": "fp16"}),
    ("int8", "torchao", {"destination": "bf16"}),
    ("e3m2", "ggml", {"destination": "fp16", "rounding": "rna"}),
    ("e2m3", "ocp", {"destination": "fp16", "rounding": "rtz", "overflow": "saturate", "nan": "payload"}),
    ("e5m2", "ocp", {"destination": "fp16", "rounding": "sr", "random_bits": 5, "nan": "payload"}),
    ("e2m1", "gpt_oss", {"destination": "fp16", "rounding": "sr", "random_bits": 3, "overflow": "saturate"}),
    ("e5m10", "ocp", {"destination": "bf16", "nan": "payload"}),
    ("int4", "ocp", {"destination": "fp16", "subnormals": "flush", "zero": "positive", "nan": "all_ones"}),
]


@pytest.mark.parametrize("element, profile, fields", RULES)
def test_the_specification_agrees_with_the_exact_definition(element, profile, fields):
    """On pairs at the limits of all formats and random ones, all in one question: does it refuse a result of the exact
    definition, or allow its neighbour?
    """
    rules = decoding(element, profile, **fields)
    s, rng = DecodeSpecification(rules), np.random.default_rng(5)
    width, to = rules.block.element.bits, rules.destination
    codes = rng.choice(1 << width, min(1 << width, 24), replace=False).tolist()
    codes += [0, (1 << width) - 1, 1 << (width - 1), (1 << (width - 1)) - 1]
    claims = []
    for byte, code in product([0, 1, 2, 100, 103, 104, 110, 127, 128, 141, 142, 253, 254, 255], codes):
        random = int(rng.integers(1 << rules.random_bits)) if rules.random_bits else None
        (y,) = decode_block(byte, [code], rules, None if random is None else [random])
        given = [bits(code, width), bits(byte, 8), None if random is None else bits(random, rules.random_bits)]
        claims.append(s.element_of(*given, bits(y, to.bits)))
        claims.append(f"(not {s.element_of(*given, bits(y ^ 1, to.bits))})")
    numbered = " ".join(f"(ite {claim} false (= wrong {bits(i, 32)}))" for i, claim in enumerate(claims))
    answer = solve(
        f"(set-logic ALL)\n(set-option :produce-models true)\n{s.definitions}(declare-const wrong (_ BitVec 32))\n"
        f"(assert (or {numbered}))\n",
        ("wrong",),
    )
    assert answer.result == "unsat", claims[answer.values["wrong"]]


@pytest.mark.sampled(6)
@pytest.mark.parametrize("destination", ["fp32", "bf16", "fp16"])
@pytest.mark.parametrize("element, profile", in_turn(ELEMENTS, list(DECODERS), 2))
def test_every_decoder_is_proved(element, profile, destination, tmp_path):
    config = decoder_config(element, profile, destination=destination, block_size=4)
    proof = prove(config, out=tmp_path)
    assert proof.passed and proof.method == "composed", proof.remark
    assert [argument.reader for argument in proof.arguments] == ["read_verilog", "slang"]


@pytest.mark.parametrize("fields", [{"rounding": "sr", "destination": "fp16"}, {"registered_after": "scale,output"}])
def test_random_bits_and_registers(fields, tmp_path):
    proof = prove(decoder_config("e2m1", block_size=2, **fields), out=tmp_path)
    assert proof.passed and (proof.handshake is not None) == ("registered_after" in fields)


def test_registers_that_take_what_should_wait_are_refused(tmp_path):
    """Every lane has an enable of its own; all must be equal."""
    config, file = decoder_config("e2m1", block_size=2, registered_after="read,output"), tmp_path / f"{NAME}.v"
    right = verilog(config, NAME)
    assert "assign y = ready | _0_;" in right
    file.write_text(right.replace("assign y = ready | _0_;", "assign y = ready;"))
    proof = prove(config, rtl=file, out=tmp_path)
    assert not proof.passed and "a register whose enable is not i_ready" in proof.remark


CHANGED = "e2m1", "ocp", 2
"""A small decoder, followed by a module that changes a result."""

BUGS = {
    "under one byte only": "scale == 8'h7b & ^p[3:0]",
    "for one code only": "p[3:0] == 4'h9",
    "a lane sees another": "p[7:4] == 4'h3 & scale == 8'h01",
}


@pytest.mark.sampled(2)
@pytest.mark.parametrize("bug", BUGS)
@pytest.mark.parametrize("whole", [False, True])
def test_a_planted_bug_is_refuted_with_a_block(bug, whole, tmp_path):
    element, profile, size = CHANGED
    config, file = decoder_config(element, profile, block_size=size), tmp_path / f"{NAME}.v"
    file.write_text(_changed(config, BUGS[bug]))
    proof = prove(config, rtl=file, whole=whole)
    assert proof.status is Status.FAIL
    found = proof.counterexample
    assert "expected 0x" in found.report and found.block[Role.CODES].shape == (1, 2)
    if bug == "a lane sees another" and not whole:
        assert "element 0 depends on element 1: asked as a whole" in proof.remark
    vectors = np.load(found.vectors)
    assert vectors["p"].tolist() == found.block[Role.CODES].tolist() and vectors["scale"].shape == (1, 1)


def _changed(config, when: str) -> str:
    """A right decoder whose bit 0 is inverted under a condition."""
    inner = verilog(config, "right")
    return (
        f"module {NAME}(input [7:0] p, input [7:0] scale, output [63:0] y);\n  wire [63:0] z;\n"
        f"  right right(.p(p), .scale(scale), .y(z));\n  assign y = z ^ {{63'b0, {when}}};\nendmodule\n{inner}"
    )


def test_every_mistake_in_the_specification_is_refuted(tmp_path):
    found: dict[str, str | None] = {}
    for name, fields in (("e5m2", {"destination": "fp16"}), ("e2m1", {})):
        found |= {one.mutant: one.by for one in refute(decoder_config(name, block_size=2, **fields), tmp_path / name)}
    assert found.keys() == DECODE_MUTANTS.keys() and all(found.values()), found


def test_no_fault_survives(tmp_path):
    result = mutate(decoder_config("e3m2", block_size=2), 40, out=tmp_path)
    assert result.count(Fate.KILLED) + result.count(Fate.EQUIVALENT) == 40 and result.faults > 25


FOREIGN = """module theirs(input [15:0] codes, input [7:0] exponent, output [31:0] y0, output [31:0] y1);
  right right(.p(codes), .scale(exponent), .y({y1, y0}));
endmodule
"""
MAP = {"p": "codes", "scale": "exponent", "y": "y{i}"}


def test_a_foreign_decoder_is_proved_or_named(tmp_path):
    config = decoder_config("e5m2", "te", block_size=2)
    file = tmp_path / "theirs.v"
    file.write_text(FOREIGN + verilog(config, "right"))
    check = check_rtl([file], "theirs", config, MAP, out=tmp_path, blocks=2000)
    assert check.passed and not check.remarks
    wrong = check_rtl([file], "theirs", decoder_config("e5m2", "ocp", block_size=2), MAP, out=tmp_path, blocks=2000)
    assert wrong.status is Status.FAIL and "te" in [name for one in wrong.matches for name in one.names]
    assert "expected 0x7FC00000, got 0x7FFFFFFF" in wrong.smallest
    reversed_map = MAP | {"y": "y{1-i}"}
    turned = check_rtl([file], "theirs", config, reversed_map, out=tmp_path, blocks=2000)
    assert any("reverse order" in remark for remark in turned.remarks)
    with pytest.raises(ValueError, match="^x is mapped, but decode has the ports p, scale, y$"):
        check_rtl([file], "theirs", config, MAP | {"x": "codes"}, out=tmp_path)
