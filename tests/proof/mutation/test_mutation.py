"""Mutation: real stimuli and the real solver decide about planted faults."""

import pytest

from mxcast.hdl import converter_config, nvfp4_tile_config
from mxcast.proof import mutation
from mxcast.proof.mutation import Fate, mutate
from mxcast.proof.questions.encode import ProvableEncode
from mxcast.proof.refutation import refute
from mxcast.proof.specification.encode import Specification
from mxcast.proof.specification.mutants.encode import ENCODE_MUTANTS
from mxcast.proof.specification.mutants.mutant import FunctionMutant
from mxcast.sim.encode.simulation import EncodeSimulation, blocks_of
from mxcast.sim.operations import OPERATIONS


@pytest.mark.parametrize("element, profile", [("e4m3", "ocp"), ("int8", "nvidia"), ("e2m1", "te")])
def test_no_fault_survives(element, profile, tmp_path):
    result = mutate(converter_config(element, profile, block_size=4), 40, out=tmp_path)
    assert len(result.mutants) == 40 and result.count(Fate.SURVIVED) == result.count(Fate.UNDECIDED) == 0
    assert result.suite == result.faults == result.count(Fate.KILLED)
    assert result.count(Fate.KILLED) + result.count(Fate.EQUIVALENT) == 40 and result.count(Fate.KILLED) > 20


def test_a_weak_regression_shows(tmp_path, monkeypatch):
    """Faults survive zeros as stimuli, each with a block that the model converts differently."""
    zeros = blocks_of(mutation.np.zeros((4, 4), "u4"))

    class Weak(EncodeSimulation):
        def regression(self, blocks, seed):
            return {"zeros": zeros}

        def stimuli(self, kind, blocks, seed):
            yield kind, [zeros]

    monkeypatch.setitem(OPERATIONS, "encode", Weak)
    result = mutate(converter_config("e4m3", "ocp", block_size=4), 8, out=tmp_path)
    assert result.count(Fate.SURVIVED) > 2
    assert all("expected" in mutant.by for mutant in result.mutants if mutant.fate is Fate.SURVIVED)


@pytest.mark.parametrize(
    "element, profile, count", [("e4m3", "ocp", 11), ("int8", "te", 9), ("e5m2", "gorodecky_sousa", 5)]
)
def test_every_mistake_in_the_specification_is_refuted(element, profile, count, tmp_path):
    outcomes = refute(converter_config(element, profile, block_size=4), tmp_path)
    assert len(outcomes) == count and all(outcome.by for outcome in outcomes), [o for o in outcomes if not o.by]


@pytest.mark.parametrize(
    "profile, refuted",
    [
        ("modelopt", {"ties up", "sticky", "zero", "other zero"}),
        ("mlx_round", {"ties up", "sticky", "negative zero", "limit", "scale"}),
        ("compressed_tensors", {"ties up", "sticky", "zero", "other zero"}),
    ],
)
def test_mistakes_about_zero_and_ties_are_refuted(profile, refuted, tmp_path):
    outcomes = refute(converter_config("e2m1", profile, block_size=2), tmp_path)
    assert refuted <= {one.mutant for one in outcomes} and all(one.by for one in outcomes), outcomes


def test_a_specification_without_a_mistake_is_not_refuted(tmp_path, monkeypatch):
    same = FunctionMutant(description="nothing", function="is_nan", body=lambda s: "({right} x)")
    monkeypatch.setattr(ProvableEncode, "mutants", {"same": same})
    (outcome,) = refute(converter_config("e2m1", block_size=2), tmp_path)
    assert outcome.mutant == "same" and outcome.by is None


def test_a_mistake_changes_one_function():
    numerics = converter_config("e4m3", "ocp").numerics
    right = Specification(numerics).definitions.splitlines()
    for mutant in ENCODE_MUTANTS.values():
        wrong = mutant.planted(Specification(numerics)).definitions.splitlines()
        assert len(wrong) == len(right) + 1 and len(set(right) - set(wrong)) == 1


@pytest.mark.parametrize(
    ("kind", "port", "is_possible"), [("$memrd", "EN", 0), ("$memrd", "DATA", 1), ("$and", "A", 1)]
)
def test_a_memory_that_is_read_within_the_cycle_stays_enabled(kind, port, is_possible):
    """Yosys cannot write another one."""
    line = f"mutate -mode const1 -module dut_store -cell $memrd\\bank1$2 -port {port} -portbit 0 -src dut.v:4.1-4.9"
    cells = {"$memrd\\bank1$2": {"type": kind}}
    assert mutation._is_possible(line, {"dut_store": {"cells": cells}}) == bool(is_possible)


def test_a_fault_that_yosys_cannot_write_is_left_out(tmp_path, monkeypatch):
    """One of these 16 faults disables a memory that is read within the cycle."""

    def make_again(kind, contents, make):
        make(tmp_path)
        return tmp_path

    monkeypatch.setattr(mutation, "kept_folder", make_again)
    folder, faults = mutation._planted(nvfp4_tile_config("nvfp4", source="bf16", columns="in_place"), 16, 0)
    assert len(faults) == 15 and (folder / "mutants.v").exists()
