"""Mutation of converters to and from NVFP4: the number of faults that their regression finds, and the mutants of the
specification.
"""

import re

import numpy as np
import pytest

from mxcast.hdl import configuration, verilog
from mxcast.proof import mutation
from mxcast.proof.mutation import Fate, mutate
from mxcast.proof.netlist.design import Design
from mxcast.proof.operations import provable
from mxcast.proof.refutation import refute
from mxcast.proof.solve.solver import solve
from mxcast.proof.specification.mutants.nvfp4_decode import NVFP4_DECODE_MUTANTS
from mxcast.proof.specification.mutants.nvfp4_encode import NVFP4_ENCODE_MUTANTS
from mxcast.sim.nvfp4.encode import Nvfp4EncodeSimulation
from mxcast.sim.operations import OPERATIONS, of

SOONER = {
    "random bits": configuration("encode", "nvfp4", "nvfp4_te", source="bf16", rounding="sr"),
    "modelopt": configuration("encode", "nvfp4", "nvfp4_modelopt"),
    "no tensor scale": configuration("decode", "nvfp4", "nvfp4_ao_single"),
}
LATER = {
    "te": configuration("encode", "nvfp4", "nvfp4_te"),
    "ao": configuration("encode", "nvfp4", "nvfp4_ao"),
    "compressed_tensors": configuration("encode", "nvfp4", "nvfp4_compressed_tensors"),
    "4 over 6": configuration("encode", "nvfp4", "nvfp4_te_4over6", four_over_six="mse"),
    "a table": configuration("encode", "nvfp4", "nvfp4_te", form="table"),
    "a cache": configuration("encode", "nvfp4", "nvfp4_te", form="cache", source="bf16"),
    "a tile": configuration("tile", "nvfp4", "nvfp4_te", source="bf16"),
    "a reduction": configuration("decode", "nvfp4", "nvfp4_te"),
    "a divisor": configuration("decode", "nvfp4", "nvfp4_compressed_tensors"),
}


def test_every_mutant_of_the_specification_has_its_design():
    found = (provable(config).mutants_of(config) for config in (*SOONER.values(), *LATER.values()))
    assert set().union(*found) == NVFP4_ENCODE_MUTANTS.keys() | NVFP4_DECODE_MUTANTS.keys()


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    "config",
    [*SOONER.values(), *(pytest.param(config, marks=pytest.mark.slow) for config in LATER.values())],
    ids=[*SOONER, *LATER],
)
def test_every_mutant_of_the_specification_is_refuted(config, tmp_path):
    refuted = refute(config, tmp_path)
    assert {one.mutant for one in refuted} == provable(config).mutants_of(config).keys() and len(refuted) > 6
    assert [one for one in refuted if one.by is None] == []


@pytest.mark.parametrize(
    "pattern, by, fate",
    [
        # a subnormal number that is too small for any scale is moved wrongly: the product is bounded by its operands
        (
            r"amax\[2\] \? { amax\[2:0\], 21'h000000 }",
            "amax[2] ? { amax[2:0], 21'h040000 }",
            "equivalent: proved composed",
        ),
        # the remainder of the mark 1 is never negative at first
        (
            r"mark4_left\[27\] \? { 1'h0, significand, 3'h0 }",
            "mark4_left[27] ? { 1'h0, significand, 3'h1 }",
            "equivalent: proved composed",
        ),
        pytest.param(
            r"= { mark6_left3, 1'h1 } \+",
            "= { mark6_left3[27:9], 1'b0, mark6_left3[7:0], 1'h1 } +",
            "undecided: the lemma threshold-even-6 does not hold",
            marks=pytest.mark.slow,
        ),
        # nothing reads the sign of the scale
        (r"(?<=factor_unit \().*?\.scale\(scale\)", None, "equivalent: the whole is what it was"),
    ],
    ids=["a small number", "a branch", "a remainder", "a sign"],
)
def test_a_change_without_effect_is_equivalent(pattern, by, fate, tmp_path):
    config = configuration("encode", "nvfp4", "nvfp4_te")
    right = verilog(config, "dut")
    changed = by if by else lambda found: found[0].replace("(scale)", "({ ~scale[7], scale[6:0] })")
    wrong, count = re.subn(pattern, changed, right, flags=re.DOTALL)
    assert count == 1
    for name, text in (("dut.v", right), (mutation.MUTANT, wrong)):
        (tmp_path / name).write_text(text)
    designs = (Design(text, "dut", tmp_path / name) for text, name in ((right, "right"), (wrong, "wrong")))
    planted = mutation.Planted(
        module="dut_factor_unit", right=next(designs), wrong=next(designs), folder=tmp_path, has_clock=False
    )
    assert ": ".join(mutation._judged(config, planted, lambda *answer: False, 10)) == fate


def test_a_changed_threshold_is_seen(tmp_path):
    """The facts about a factor and its companion leave the faults that matter."""
    config = configuration("encode", "nvfp4", "nvfp4_te")
    right = verilog(config, "dut")
    wrong, count = re.subn(r"= ~ mark5_left\[27\];", "= mark5_left[27];", right)
    assert count > 0
    one, other = (Design(text, "dut", tmp_path / name) for text, name in ((right, "right"), (wrong, "wrong")))
    question = provable(config).unchanged(config, one, other)
    assert [solve(text, question.names).result for text in (question.eased, question.text)] == ["sat", "sat"]


@pytest.mark.slow
@pytest.mark.parametrize(
    "op, profile, fields, least",
    [
        ("encode", "nvfp4_te", {"source": "bf16", "form": "product"}, 24),
        ("encode", "nvfp4_te", {"source": "bf16", "rounding": "sr"}, 26),
        ("encode", "nvfp4_ao", {"source": "fp32"}, 34),
        ("decode", "nvfp4_te", {"destination": "bf16"}, 26),
    ],
)
def test_the_regression_kills_most_faults(op, profile, fields, least, tmp_path, monkeypatch):
    """Most other mutants change no result, which costs a solver minutes to prove: they are left out."""
    monkeypatch.setattr(mutation, "_judged", lambda *arguments: (Fate.UNDECIDED, "not asked"))
    monkeypatch.setattr(mutation.Planted, "is_same", lambda *arguments: False)
    monkeypatch.setattr(mutation, "MORE_BLOCKS", 1)
    result = mutate(configuration(op, "nvfp4", profile, **fields), 40, out=tmp_path)
    assert result.suite >= least and result.count(Fate.SURVIVED) == 0


@pytest.mark.slow
def test_a_lemma_gives_the_block_that_shows_a_survivor(tmp_path, monkeypatch):
    """Faults of the largest magnitude and of the scale survive zeros as stimuli."""
    config = configuration("encode", "nvfp4", "nvfp4_te", source="bf16", form="product")
    zeros = of(config.numerics).of_tensor(np.zeros((4, 16), np.uint16))

    class Weak(Nvfp4EncodeSimulation):
        def regression(self, blocks, seed):
            return {"zeros": zeros}

        def stimuli(self, kind, blocks, seed):
            yield kind, [zeros]

    monkeypatch.setitem(OPERATIONS, config.numerics.name, Weak)
    found = [mutant.by for mutant in mutate(config, 8, out=tmp_path).mutants if mutant.fate is Fate.SURVIVED]
    assert found and all(re.match(r"the lemma (maximum|scale) does not hold: .*b 0x", by) for by in found)
