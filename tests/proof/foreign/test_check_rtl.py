"""Converters of our own making, by another hand than the emitted ones: the right ones pass, each planted departure is
found and named.
"""

from __future__ import annotations

import importlib

import numpy as np
import pytest

from mxcast.hdl import converter_config
from mxcast.models import quantize
from mxcast.proof.foreign.check_rtl import Check, check_rtl
from mxcast.sim.operations import golden
from mxcast.sim.transactions import Transactions
from mxcast.spec import Encode, Role

from ..foreign_designs import CONFIG, FIELDS, PIPE, PORTS, TURN, emitted


def names(check: Check) -> list[str]:
    return [name for candidate in check.matches for name in candidate.names]


@pytest.mark.parametrize(
    "define, parameters, matches, remark, rate",
    [
        ("HALF_UP", {}, ["ocp with rounding=rna"], None, (0, 0.001)),
        ("FLUSH", {}, ["ocp with element_subnormals=flush"], None, (0.2, 0.5)),
        (
            "X",
            {"EMAX": 1},
            ["ocp with scale_rule=bias_floor"],
            "every scale byte is 1 too large",
            (1, 1),
        ),  # emax is the bias
        ("X", {"EMAX": 3}, [], "every scale byte is 1 too small", (1, 1)),  # emax of no rule
        (
            "SHORT_LABEL",
            {},
            [],
            "the blocks that differ have their largest magnitude in [2^1, 2^2), where all differ",
            (0.1, 0.3),
        ),
    ],
)
def test_a_planted_departure_is_found_and_named(check, define, parameters, matches, remark, rate):
    result = check("e2m1_block", PORTS, define, parameters=parameters)
    assert result.status == "FAIL" and not result.steps
    assert names(result) == matches
    assert remark in [*result.remarks, None]
    assert rate[0] <= result.divergence.differing_blocks / result.divergence.blocks <= rate[1]
    assert "to explain: mxcast explain mxfp4_e2m1" in result.first and "minimised counterexample" in result.smallest
    assert min(np.count_nonzero(found.block) for found in result.counterexamples) <= 1
    assert result.counterexamples[-1].title == "N(0,1)" or not result.divergence.differing_blocks
    assert np.load(result.folder / "counterexample.npz")["x"].tolist() == [result.counterexample.tolist()]
    assert result.rules[0].normal <= result.divergence.differing_blocks


def test_nan_for_two_to_four(check):
    """The smallest counterexample is the smallest number of that binade."""
    result = check("e2m1_block", PORTS, "SHORT_LABEL")
    assert result.counterexample.tolist() == [0x40000000, 0, 0, 0]
    assert "expected 0x7E, got 0xFF" in result.smallest
    assert "ocp" in result.rules[0].names and result.rules[0].normal == result.divergence.differing_blocks


def test_elements_in_the_wrong_order(check):
    result = check("e2m1_block", PORTS | {"p": "out_{n-1-i}"})
    assert result.status == "FAIL" and not result.matches
    assert any("reverse order" in remark for remark in result.remarks)


@pytest.mark.parametrize("latency", [1, 3])
def test_wrong_latency(check, latency):
    result = check("e2m1_pipe", PIPE | {"latency": latency})
    assert result.status == "FAIL" and "with latency=2 nothing differs" in result.remarks


def test_a_wrong_profile_is_named(check):
    result = check("e2m1_block", PORTS, config=converter_config("e2m1", "nvidia", block_size=4))
    assert result.status == "FAIL" and names(result)[:1] == ["ocp"]


def test_what_simulation_cannot_find(check):
    result = check("e2m1_block", PORTS, "RARE")
    assert result.status == "FAIL" and not any(row["differ"] for row in result.stimuli)
    assert result.steps[-1].answer.result == "sat" and "the solver's block" in result.first
    assert result.counterexample.tolist() == [0xC0490FDB, 0, 0, 0x3F9D70A4]


def test_codes_that_no_reader_looks_at(check):
    """A block with NaN has the byte 255, and the design gives codes to it."""
    exact = check("e2m1_block", PORTS, "NAN_CODES")
    assert exact.status == "FAIL"
    assert (
        "only codes under scale byte 255 differ, at which no reader looks (--nan-codes free leaves them out)"
        in exact.remarks
    )
    assert [found.title for found in exact.counterexamples] == ["blocks of scale byte 255: codes only"]
    free = check("e2m1_block", PORTS, "NAN_CODES", nan_codes_free=True)
    assert free.passed and not free.remarks and free.to_dict()["nan_codes"] == "free"


def test_free_codes_free_nothing_else(check):
    result = check("e2m1_block", PORTS, "FLUSH", nan_codes_free=True)
    assert result.status == "FAIL" and "byte 255" not in " ".join(found.title for found in result.counterexamples)
    result = check("e2m1_block", PORTS, "RARE", nan_codes_free=True)
    assert result.status == "FAIL" and result.counterexample.tolist() == [0xC0490FDB, 0, 0, 0x3F9D70A4]


def test_only_byte_0_differs(check):
    result = check("e2m1_block", PORTS, "SMALLEST")
    assert (
        result.status == "FAIL"
        and "only blocks of scale byte 0 differ" in result.remarks
        and not result.divergence.differing_blocks
    )
    assert {found.title.partition(":")[0] for found in result.counterexamples} == {
        "blocks of scale byte 0",
        "blocks of zeros",
    }


def test_a_counterexample_for_each_cause(check):
    """The block of zeros does not hide other faults; the smallest of each cause is one block only of what is
    wrong.
    """
    result = check("e2m1_block", PORTS, "SMALLEST", "FLUSH", "NAN_CODES")
    titles = [found.title for found in result.counterexamples]
    assert {
        "blocks of zeros: the scale byte",
        "blocks of scale byte 0: the scale byte",
        "subnormal elements: codes only",
        "blocks of scale byte 255: codes only",
        "N(0,1)",
    } <= set(titles)
    assert all(found.blocks > 0 for found in result.counterexamples)


def test_the_nearest_rules_are_said_where_most_is_alike(check):
    """No rule is near if all scale bytes are wrong; ties to even is nearest to half up for both."""
    result = check("e2m1_block", PORTS, "X", parameters={"EMAX": 4})
    normal = result.divergence
    assert min(one.words[Role.SCALE] for one in result.rules) == normal.blocks
    result = check("e2m1_block", PORTS, "FLUSH", "HALF_UP")
    normal = result.divergence
    assert (
        min(one.words[Role.SCALE] for one in result.rules) == 0
        and min(one.words[Role.CODES] for one in result.rules) < normal.elements / 2
    )


def test_a_result_that_depends_on_x(check):
    """The design is not right, whichever value the simulator chooses."""
    result = check("e2m1_block", PORTS, "UNDEFINED")
    if any(row["differ"] for row in result.stimuli):
        assert result.status == "FAIL"
    else:  # no simulator confirms it
        assert result.status == "UNKNOWN" and result.steps[-1].status == "FAIL"
        assert all("undefined" in remark for remark in result.remarks)


@pytest.mark.parametrize(
    "top, asked",
    [
        ("e2m1_in_turn", TURN),
        (
            "e2m1_slow",
            TURN | {"latency": 2, "interval": 3, "rst": "rst"},
        ),  # a block every third cycle, counted from the reset
    ],
)
def test_feedback_is_simulated_only(check, top, asked):
    result = check(top, asked)
    assert result.status == "UNKNOWN" and not result.steps and not result.first
    assert result.remarks == ["no proof was possible: a register feeds back into itself: it is no pipeline"]


def test_a_design_that_remembers(check, monkeypatch):
    """Smaller counterexamples are tried many at a time, and it must not see one after the other."""
    known = []
    checks = importlib.import_module("mxcast.proof.foreign.check_rtl")
    original = checks.Comparison
    monkeypatch.setattr(checks, "Comparison", lambda *given: known.append(original(*given)) or known[-1])
    result = check("e2m1_remembers", TURN)
    assert result.status == "FAIL" and not result.smallest
    assert (
        "the block that differs does not differ on its own: the design keeps something from the blocks before"
        in result.remarks
    )
    comparison, numbers = known[0], np.full((3, 4), 0x3F800000, np.uint32)
    numbers[0, 0] = 0x7FC00000  # after which all scales are NaN
    given = Transactions({Role.NUMBERS: numbers})
    in_turn = comparison.causes(given, golden(comparison.rules, given), comparison.design(given))
    assert (in_turn >= 0).tolist() == [False, True, True]
    assert (comparison.why(given) >= 0).tolist() == [False, False, False]


def test_no_time(check):
    result = check(
        "e2m1_vector", FIELDS, parameters={"N": 8}, timeout=0.01, config=converter_config("e2m1", block_size=8)
    )
    assert result.status == "TIMEOUT" and result.steps and not result.remarks


def test_the_format_is_a_rule_too(tmp_path):
    path = emitted(tmp_path)
    result = check_rtl([path], "ours", converter_config("e5m2", block_size=2), out=tmp_path, blocks=20_000)
    assert result.status == "FAIL" and names(result)[0] == "ocp with format=mxfp8_e4m3"


def test_the_counterexample_is_one_for_the_golden_model(check):
    """The design converts the shrunk block differently from the rules that it follows elsewhere."""
    result = check("e2m1_block", PORTS, "FLUSH")
    x = result.counterexample[None].view(np.float32)
    asked, followed = (quantize(x, numerics) for numerics in (CONFIG.numerics, result.matches[0].numerics))
    assert isinstance(result.matches[0].numerics, Encode)
    assert (asked.codes != followed.codes).any() or (asked.scales != followed.scales).any()
