"""The random Hadamard transform in Verilog: the golden model, the exact definition, registers, and planted bugs."""

from __future__ import annotations

import re
from functools import lru_cache

import numpy as np
import pytest

import mxcast
from mxcast.hdl import HadamardTransform, Nvfp4Converter, StreamConverter, config_of, hadamard_config, verilog
from mxcast.hdl.config.command import command_line
from mxcast.hdl.emission.emit import describe
from mxcast.models import rotate
from mxcast.models.exact.hadamard import rotate_block
from mxcast.sim import verify
from mxcast.sim.hadamard.simulation import HadamardSimulation
from mxcast.sim.run.verilator.verilated import driver_of
from mxcast.sim.transactions import Transactions
from mxcast.spec import Hadamard, Role
from mxcast.synth import constrained

from ...hdl.planted import planted

SKID = {"interface": "skid"}


@lru_cache
def made(**fields):
    """The configuration, and its Verilated design."""
    config = hadamard_config("hadamard16", **fields)
    return config, driver_of(verilog(config, "dut"), "dut", config)


def test_the_golden_model(record_property):
    config, design = made()
    result = verify(config, design=design, blocks=4000)
    assert result.passed, result.report
    record_property("blocks", result.blocks)


@pytest.mark.slow
def test_other_signs_and_registers():
    places = "input,aligned,level1,level2,level3,level4,output"
    config, design = made(signs=0x1234, registered_after=places)
    result = verify(config, design=design, stimuli="corner")
    assert result.passed, result.report


@pytest.mark.parametrize(
    "fields",
    [
        {},
        *(pytest.param(fields, marks=pytest.mark.slow) for fields in ({"registered_after": "", "signs": 0x1234}, SKID)),
    ],
)
def test_limb_by_limb(fields):
    config, design = made(form="limbs", **fields)
    result = verify(config, design=design, blocks=4000)
    assert result.passed, result.report


@pytest.mark.slow
def test_a_block_enters_in_17_cycles():
    """A block that enters earlier is a fault, and one that could enter and does not."""
    config = hadamard_config("hadamard16", form="limbs")
    text = verilog(config, "dut")
    assert (config.interval, config.latency, describe(config)["initiation_interval"]) == (17, 44, 17)
    assert "a block can enter every 17 cycles" in text
    for right, wrong in (
        ("= limb == 5'h10", "= limb == 5'h0f"),
        ("i_ready = enable & enters", "i_ready = enable & _000_"),
    ):
        design = driver_of(planted(text, re.escape(right), wrong), "dut", config)
        result = verify(config, design=design, stimuli="corner")
        assert not result.passed and "or a block can enter in the interval of another" in result.report


@pytest.mark.slow
@pytest.mark.parametrize(
    "right, wrong, stimuli, says",
    [
        # only a limb that was the last one when a reset came shows it
        ("valid_level2_q <= valid_aligned_q;", "valid_level2_q <= 1'h1;", "corner", "a result came without a block"),
        # the sign of the last number is lost if a result waits in one cycle of 17
        (
            "if (enable) specials_total_q <= specials_digits_q;",
            "specials_total_q <= enable ? specials_digits_q : specials_total_q | 33'h100000000;",
            "random",
            "of 60000 blocks differ",
        ),
    ],
)
def test_rare_faults_of_limbs_are_found(right, wrong, stimuli, says):
    config = hadamard_config("hadamard16", form="limbs")
    design = driver_of(planted(verilog(config, "dut"), re.escape(right), wrong), "dut", config)
    result = verify(config, design=design, stimuli=stimuli, blocks=60_000)
    assert not result.passed and says in result.report


@pytest.mark.sampled(2, first=1)
@pytest.mark.parametrize("form", ["parallel", "limbs"])
def test_by_definition(form):
    """Directed blocks by rational arithmetic: cancelling ones, subnormal numbers, Inf and NaN."""
    config, design = made(form=form)
    blocks = HadamardSimulation(config.numerics).corners(seed=1).rows(slice(None, None, 7))
    expected = [rotate_block(block, config.numerics) for block in blocks[Role.NUMBERS].tolist()]
    assert design(blocks)[Role.ROTATED].tolist() == expected


def test_numbers_that_cancel_leave_the_smallest():
    """Large numbers cancel, and the sum is the smallest number of BF16."""
    _, design = made()
    block = np.zeros((1, 16), np.uint16)
    block[0, :3] = 0x7F7F, 0xFF7F, 0x0004  # the third is four times the smallest number
    found = design(Transactions({Role.NUMBERS: block}))[Role.ROTATED][0]
    assert found[[0, 2]].tolist() == [0x0001, 0x8001] and found[1] == 0x7EFF


def test_it_is_called_like_rotate():
    x = (np.random.default_rng(3).standard_normal((5, 32), np.float32).view(np.uint32) >> 16).astype(np.uint16)
    assert np.array_equal(mxcast.verilate("hadamard16", op="hadamard")(x), rotate(x))


def entering(change):
    return lambda design: lambda given: design(given.with_arrays({Role.NUMBERS: change(given[Role.NUMBERS])}))


def leaving(change):
    def planted(design):
        def wrong(given):
            found = design(given)
            return found.with_arrays({Role.ROTATED: change(found[Role.ROTATED])})

        return wrong

    return planted


def bounded(x: np.ndarray) -> np.ndarray:
    """Numbers that an alignment to 40 binades below the largest number keeps."""
    fields = x >> 7 & 0xFF
    return np.where(fields + 40 < fields.max(axis=1, keepdims=True), x & 0x8000, x).astype(np.uint16)


PLANTED = {
    "a bounded alignment": entering(bounded),
    "subnormal numbers as zero": entering(lambda x: np.where(x & 0x7F80, x, x & 0x8000).astype(np.uint16)),
    "NaN as Inf": entering(lambda x: np.where((x & 0x7FFF) > 0x7F80, x & 0xFF80, x).astype(np.uint16)),
    "-0 of a sum": leaving(lambda y: np.where(y == 0, 0x8000, y).astype(np.uint16)),
    "one ulp up": leaving(lambda y: np.where((y & 0x7FFF) < 0x7F7F, y + 1, y).astype(np.uint16)),
    "two results exchanged": leaving(lambda y: y[:, [1, 0, *range(2, 16)]]),
}


@pytest.mark.sampled(6)
@pytest.mark.parametrize("bug", PLANTED)
def test_planted_bugs_are_found(bug):
    config, design = made()
    result = verify(config, design=PLANTED[bug](design), stimuli="corner")
    assert not result.passed and "results differ" in result.report


def test_the_signs_are_found():
    _, other = made()
    assert not verify(hadamard_config("hadamard16", signs=0), design=other, stimuli="corner").passed


def test_configurations_survive_json_and_the_command_line():
    config = hadamard_config("hadamard16", signs=5)
    assert config_of(config.to_dict()) == config
    assert command_line(config) == "hadamard16 --op hadamard --profile te --set signs=5"
    assert command_line(Hadamard()) == "hadamard16 --op hadamard --profile te"
    assert hadamard_config(Hadamard()) == hadamard_config("hadamard16", "te")


@pytest.mark.parametrize(
    "arguments, error, sentence",
    [
        (("hadamard32",), ValueError, "unknown format 'hadamard32'"),
        (("hadamard16", "ocp"), ValueError, "unknown profile 'ocp'"),
        ((Hadamard(), "te"), TypeError, "an operation has all its rules"),
        ((hadamard_config("hadamard16"), "te"), TypeError, "a HadamardConfig is complete"),
    ],
)
def test_what_is_none_is_refused(arguments, error, sentence):
    with pytest.raises(error, match=f"^{sentence}"):
        hadamard_config(*arguments)


def test_signs_of_more_bits_are_refused():
    with pytest.raises(ValueError, match="^signs must be a number of 16 bits, not 65536$"):
        hadamard_config("hadamard16", signs=1 << 16)


def test_a_component_of_another_form_is_refused():
    with pytest.raises(ValueError, match="^Nvfp4Converter takes a block in each cycle, not nvfp4 .* form=cache: take"):
        Nvfp4Converter("nvfp4", form="cache")
    config = hadamard_config("hadamard16", form="limbs")
    with pytest.raises(
        ValueError, match="^HadamardTransform takes a block in each cycle, not hadamard16 .* form=limbs"
    ):
        HadamardTransform(config)
    assert StreamConverter(config).config == config


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"form": "digits"}, "unknown form 'digits'"),
        ({"registered_after": "placed"}, "unknown stage boundary 'placed'"),
        ({"form": "limbs", "registered_after": "level5"}, "unknown stage boundary 'level5'"),
    ],
)
def test_other_hardware_is_refused(fields, sentence):
    with pytest.raises(ValueError, match=f"^{sentence}"):
        hadamard_config("hadamard16", **fields)


def test_registers_of_limbs_are_not_planned():
    with pytest.raises(ValueError, match="^the form limbs has its own registers: leave out latency"):
        constrained(hadamard_config("hadamard16", form="limbs"), {"latency": 40})
