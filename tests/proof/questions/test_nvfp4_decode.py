"""Proofs of NVFP4 decoders: the specification agrees with the exact definition, emitted files are proved for every
input, and planted bugs are refuted with a block.
"""

from itertools import product

import numpy as np
import pytest

from mxcast.hdl import nvfp4_decoder_config, verilog
from mxcast.models.exact.binary32 import value_of
from mxcast.models.exact.nvfp4_decode import decode_block
from mxcast.proof import prove
from mxcast.proof.foreign.check_rtl import check_rtl
from mxcast.proof.mutation import Fate, mutate
from mxcast.proof.solve.argument import Status
from mxcast.proof.solve.solver import solve
from mxcast.proof.specification.encode import bits
from mxcast.proof.specification.nvfp4_decode import Nvfp4DecodeSpecification
from mxcast.spec import FP32, NVFP4_DECODE_RULES, Convention, DecodedNan, Role, nvfp4_decoding

NAME = "decoder"
PROVED = [convention for convention in Convention if convention is not Convention.DIVISOR]
SMALL = {"convention": "none", "block_size": 2}
"""A decoder whose proof takes a second."""


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


@pytest.mark.parametrize("destination, nan", list(zip(["fp32", "bf16", "bf16"], DecodedNan)))
def test_scales_without_a_tensor_are_proved(destination, nan, tmp_path):
    proof = prove(nvfp4_decoder_config("nvfp4", convention="none", destination=destination, nan=nan), out=tmp_path)
    assert proof.passed and proof.method == "composed", proof.remark
    assert [argument.reader for argument in proof.arguments] == ["read_verilog", "slang"]


@pytest.mark.slow  # half a minute to two minutes of the solver for each reader
@pytest.mark.parametrize("destination", ["fp32", "bf16"])
@pytest.mark.parametrize("convention", [one for one in PROVED if one is not Convention.NONE])
def test_every_decoder_is_proved(convention, destination, tmp_path):
    proof = prove(nvfp4_decoder_config("nvfp4", convention=convention, destination=destination), out=tmp_path)
    assert proof.passed and proof.method == "composed", proof.remark


@pytest.mark.parametrize("form", [{"registered_after": "scaled,products"}, {"layout": "compressed_tensors"}], ids=str)
def test_registers_and_layouts(form, tmp_path):
    proof = prove(nvfp4_decoder_config("nvfp4", convention="none", **form), out=tmp_path)
    assert proof.passed and (proof.handshake is not None) == ("registered_after" in form), proof.remark


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


@pytest.mark.parametrize("bug", CONDITIONS)
def test_a_planted_bug_is_refuted_with_a_block(bug, tmp_path):
    convention = "multiplier" if "tensor" in bug else "none"
    config = nvfp4_decoder_config("nvfp4", **SMALL | {"convention": convention})
    file = tmp_path / f"{NAME}.v"
    file.write_text(planted(config, CONDITIONS[bug]))
    proof = prove(config, rtl=file)
    assert proof.status is Status.FAIL and "expected 0x" in proof.counterexample.report


def test_mutants_of_the_verilog_are_refuted(tmp_path):
    result = mutate(nvfp4_decoder_config("nvfp4", **SMALL, destination="bf16"), 12, seed=3, out=tmp_path)
    assert result.count(Fate.SURVIVED) == 0 and result.faults >= 5


def test_a_foreign_decoder_is_checked(tmp_path):
    config, file = nvfp4_decoder_config("nvfp4", **SMALL), tmp_path / f"{NAME}.v"
    file.write_text(verilog(config, NAME))
    assert check_rtl([file], NAME, config, out=tmp_path, blocks=2000).passed
    file.write_text(planted(config, CONDITIONS["for one code only"]))
    assert check_rtl([file], NAME, config, out=tmp_path, blocks=2000).status is Status.FAIL


def test_division_is_refused():
    config = nvfp4_decoder_config("nvfp4", convention="divisor")
    with pytest.raises(ValueError, match="^decoders of nvfp4 that divide by the tensor scale are not proved yet"):
        prove(config)
