"""Proofs of casts: the specification agrees with the exact definition, emitted files are proved for every input, and
mistakes in either are refuted.
"""

from itertools import product

import numpy as np
import pytest

from mxcast.hdl import cast_config, verilog
from mxcast.models.exact.cast import cast_number
from mxcast.proof import prove
from mxcast.proof.foreign.check_rtl import check_rtl
from mxcast.proof.mutation import Fate, mutate
from mxcast.proof.refutation import refute
from mxcast.proof.solve.argument import Status
from mxcast.proof.solve.solver import solve
from mxcast.proof.specification.cast import CastSpecification
from mxcast.proof.specification.encode import bits
from mxcast.proof.specification.mutants.cast import CAST_MUTANTS
from mxcast.spec import CAST_SOURCES, CASTS, SCALARS, SOURCES, Role, casting

RULES = [
    ("e4m3", "ocp", {}),
    ("e5m2", "torch", {"source": "bf16"}),
    ("e3m2", "ml_dtypes", {"source": "fp16"}),
    ("e2m1", "onnx", {}),
    ("e8m0", "ptx", {"rounding": "rp"}),
    ("e8m0", "ml_dtypes", {"source": "fp16"}),
    ("e8m0", "gfloat", {"overflow": "inf"}),
    ("e5m2", "ocp", {"rounding": "sr", "random_bits": 5, "overflow": "inf"}),
    ("e2m3", "ocp", {"rounding": "rtz", "nan_substitute": "zero"}),
    ("e4m3", "torch", {"destination": "fp16"}),
    ("e5m2", "torch", {"destination": "bf16"}),
    ("e8m0", "ocp", {"destination": "bf16"}),
    ("ue5m3", "ptx", {"rounding": "rp", "overflow": "ieee", "source": "fp64"}),
    ("e4m3", "riscv", {"rounding": "rtz", "zero": "positive"}),
    ("e5m2fnuz", "torch", {"rounding": "rnz"}),
    ("e4m3fnuz", "ocp", {"destination": "bf16", "zero": "taken_negative", "nan": "signed"}),
]


@pytest.mark.parametrize("scalar, profile, fields", RULES)
def test_the_specification_agrees_with_the_exact_definition(scalar, profile, fields):
    """On the codes and midpoints of the destination, their neighbours, and random patterns: does it refuse a result of
    the exact definition, or allow its neighbour?
    """
    rules = casting(scalar, profile, **fields)
    s, rng = CastSpecification(rules), np.random.default_rng(5)
    source, to = rules.source, rules.destination
    corners = [0, 1, source.max_code, source.max_code - 1, source.magnitude_mask, source.magnitude_mask - 1]
    top = 1 << source.bits
    near = [int(one) for one in rng.integers(0, top, 60, np.uint64)]
    if source.bits > 8:  # with few bits, so that ties and codes are among them
        near += [
            int(one) << (source.man_bits - 5) for one in rng.integers(0, top >> (source.man_bits - 5), 150, np.uint64)
        ]
    codes = {code ^ sign for code in [*corners, *near] for sign in ((0, source.sign_mask) if source.signed else (0,))}
    claims = []
    for code in sorted(codes):
        random = int(rng.integers(1 << rules.random_bits)) if rules.random_bits else None
        result = cast_number(code, rules, random or 0)
        given = bits(code, source.bits), None if random is None else bits(random, rules.random_bits)
        claims.append(s.element_of(*given, bits(result, to.bits)))
        claims.append(f"(not {s.element_of(*given, bits(result ^ 1, to.bits))})")
    numbered = " ".join(f"(ite {claim} false (= wrong {bits(i, 32)}))" for i, claim in enumerate(claims))
    answer = solve(
        f"(set-logic ALL)\n(set-option :produce-models true)\n{s.definitions}(declare-const wrong (_ BitVec 32))\n"
        f"(assert (or {numbered}))\n",
        ("wrong",),
    )
    assert answer.result == "unsat", claims[answer.values["wrong"]]


EVERY = [
    (scalar, profile, {key: source})
    for profile, one in CASTS.items()
    for scalar in SCALARS
    for key, ends in (("source", CAST_SOURCES), ("destination", SOURCES))
    for source in ends
    if (scalar if key == "source" else source) in dict(one.by_destination)
]
"""Every cast of every profile, there and back."""
OTHERS = [
    ("e4m3", {"source": "fp64"}),
    ("ue5m3", {"rounding": "rp", "overflow": "ieee"}),
    ("ue4m3", {"destination": "fp32", "nan": "payload"}),
    ("e4m3", {"profile": "riscv", "rounding": "rtz", "source": "bf16"}),
    ("e2m1", {"zero": "positive", "rounding": "rnz"}),
    ("e4m3fnuz", {"zero": "taken_negative", "source": "fp16"}),
    ("e5m2fnuz", {"destination": "fp16", "nan": "payload", "zero": "positive"}),
    ("e5m2", {"zero": "taken_negative", "rounding": "sr", "random_bits": 3, "source": "bf16"}),
    ("e3m2", {"zero": "taken_positive", "nan_substitute": "zero"}),
]


@pytest.mark.sampled(123)
@pytest.mark.parametrize("cast", EVERY, ids=str)
def test_every_cast_is_proved(cast, tmp_path):
    """For every input."""
    scalar, profile, fields = cast
    proof = prove(cast_config(scalar, profile, **fields), out=tmp_path)
    assert proof.passed and proof.method == "composed", proof.remark


@pytest.mark.sampled(6)
@pytest.mark.parametrize("scalar, fields", OTHERS, ids=str)
def test_other_rules_are_proved(scalar, fields, tmp_path):
    assert prove(cast_config(scalar, **fields), out=tmp_path).passed


@pytest.mark.parametrize("fields", [{"lanes": 2, "rounding": "sr"}, {"lanes": 4, "registered_after": "output"}])
def test_lanes_random_bits_and_registers(fields, tmp_path):
    proof = prove(cast_config("e4m3", **fields), out=tmp_path)
    assert proof.passed and (proof.handshake is not None) == ("registered_after" in fields)


def test_one_number_of_all_is_found(tmp_path):
    """Another code for one number in 2^32, and the verdict."""
    config, file = cast_config("e4m3"), tmp_path / "planted.v"
    file.write_text(
        "module planted(input [31:0] x, output [7:0] p); wire [7:0] q; right right(.x(x), .p(q));\n"
        f"assign p = q ^ (x == 32'h3F5A1234); endmodule\n{verilog(config, 'right')}"
    )
    proof = prove(config, rtl=file)
    assert proof.status is Status.FAIL and proof.counterexample.block[Role.NUMBERS].tolist() == [[0x3F5A1234]]


def test_check_rtl_names_what_a_cast_follows(tmp_path):
    """The profiles gfloat and ptx differ in NaN; and a right cast back passes."""
    config, file = cast_config("e4m3", "gfloat", source="bf16"), tmp_path / "theirs.v"
    file.write_text(verilog(config, "theirs"))
    check = check_rtl([file], "theirs", cast_config("e4m3", "ptx", source="bf16"), {}, out=tmp_path, blocks=1000)
    assert check.status is Status.FAIL and "gfloat" in check.rules[0].names and not check.rules[0].blocks
    back = cast_config("e4m3", destination="bf16")
    file.write_text(verilog(back, "theirs"))
    assert check_rtl([file], "theirs", back, {}, out=tmp_path, blocks=1000).passed


def test_every_mistake_in_the_specification_is_refuted(tmp_path):
    found: dict[str, str | None] = {}
    for scalar, fields in (("e5m2", {"source": "bf16"}), ("e4m3", {"destination": "fp32"})):
        found |= {one.mutant: one.by for one in refute(cast_config(scalar, **fields), tmp_path / scalar)}
    assert found.keys() == CAST_MUTANTS.keys() and all(found.values()), found


@pytest.mark.sampled(2)
@pytest.mark.parametrize("scalar, profile", list(product(["e8m0"], ["ml_dtypes"])) + [("e3m2", "ocp")])
def test_no_fault_survives(scalar, profile, tmp_path):
    result = mutate(cast_config(scalar, profile), 30, out=tmp_path)
    assert result.count(Fate.KILLED) + result.count(Fate.EQUIVALENT) == 30 and result.faults > 15
