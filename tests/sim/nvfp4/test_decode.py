"""Decoders of NVFP4 in Verilog: the golden model, every convention, registers, and planted bugs."""

from __future__ import annotations

import re
from functools import lru_cache

import numpy as np
import pytest

import mxcast
from mxcast.hdl import config_of, nvfp4_decoder_config, verilog
from mxcast.hdl.config.command import command_line
from mxcast.hdl.nvfp4.decoder import FACTORS, NANS
from mxcast.models.exact.nvfp4_decode import decode_block
from mxcast.sim import verify
from mxcast.sim.nvfp4.decode import Nvfp4DecodeSimulation
from mxcast.sim.run.verilator.verilated import driver_of
from mxcast.sim.transactions import Transactions
from mxcast.spec import Convention, DecodedNan, Nvfp4Decode, Role

from ...models.fast.test_nvfp4_encode import WORKED, value


@lru_cache
def made(profile: str = "nvfp4_te", **fields):
    """The configuration, and its Verilated design."""
    config = nvfp4_decoder_config("nvfp4", profile, **fields)
    return config, driver_of(verilog(config, "dut"), "dut", config)


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    "profile, fields",
    [
        ("nvfp4_te", {}),
        ("nvfp4_ao", {"destination": "bf16"}),
        ("nvfp4_ao_single", {"destination": "bf16"}),
        ("nvfp4_compressed_tensors", {}),
        ("nvfp4_te", {"destination": "bf16", "scale_max": 256, "nan": "canonical", "block_size": 32}),
        pytest.param("nvfp4_te", {"destination": "bf16"}, marks=pytest.mark.slow),
        pytest.param("nvfp4_ao", {}, marks=pytest.mark.slow),
        pytest.param("nvfp4_ao_single", {}, marks=pytest.mark.slow),
        pytest.param("nvfp4_compressed_tensors", {"destination": "bf16"}, marks=pytest.mark.slow),
    ],
)
def test_the_golden_model(profile, fields, record_property):
    config, design = made(profile, **fields)
    result = verify(config, design=design, blocks=50_000)
    assert result.passed, result.report
    record_property("blocks", result.blocks)


def test_registers():
    config, design = made("nvfp4_te", destination="bf16", registered_after="input,scaled,reduced,products,output")
    result = verify(config, design=design, stimuli="pairs")
    assert result.passed, result.report


@pytest.mark.parametrize("profile", ["nvfp4_te", "nvfp4_compressed_tensors"])
def test_by_definition(profile):
    """Every step by rational arithmetic, also where results are subnormal or beyond the largest number."""
    config, design = made(profile)
    for g in map(np.float32, (2688, 3, 1e-37, 5e-39, 1.4e-45, 3e38, np.inf, np.nan, 0)):
        for scale in (0, 1, 7, 0x3A, 0x7E, 0x7F, 0x81):
            entering = {
                Role.CODES: np.arange(16, dtype=np.uint8)[None],
                Role.SCALE: np.array([[scale]], np.uint8),
                Role.TENSOR_SCALE: g.reshape(1, 1).view(np.uint32),
            }
            expected = decode_block(scale, range(16), config.numerics, value(g))
            assert design(Transactions(entering))[Role.NUMBERS][0].tolist() == expected, (scale, g)


def test_it_is_called_like_dequantize():
    x = np.random.default_rng(7).standard_normal((3, 40), np.float32)
    decode = mxcast.verilate("nvfp4", op="decode")
    for given in ({}, {"tensor_amax": 10.0}, {"row_scaled": True}):
        q = mxcast.quantize(x, "nvfp4", pad=True, **given)
        assert np.array_equal(decode(q), mxcast.dequantize(q))
    q = mxcast.quantize(WORKED, "nvfp4", tensor_amax=10.0)
    assert np.array_equal(decode(q), mxcast.dequantize(q))


def magnitudes(change):
    """A change of the magnitudes of binary32 patterns, which keeps the signs."""
    return lambda words: words & np.uint32(0x80000000) | change(words & np.uint32(0x7FFFFFFF)).astype(np.uint32)


PLANTED = {
    "-0": (Role.NUMBERS, lambda y: np.where(y == 0x80000000, np.uint32(0), y)),
    "subnormal results as zero": (Role.NUMBERS, magnitudes(lambda y: np.where(y < 0x00800000, 0, y))),
    "Inf as the largest number": (Role.NUMBERS, magnitudes(lambda y: np.where(y == 0x7F800000, 0x7F7FFFFF, y))),
    "a subnormal tensor scale as zero": (Role.TENSOR_SCALE, magnitudes(lambda g: np.where(g < 0x00800000, 0, g))),
    "a tensor scale one ulp up": (Role.TENSOR_SCALE, magnitudes(lambda g: np.where(g < 0x7F7FFFFF, g + 1, g))),
    "NaN of a scale ignored": (Role.SCALE, lambda scale: scale - (scale & 0x7F == 0x7F).astype(np.uint8)),
}


@pytest.mark.parametrize("bug", PLANTED)
def test_planted_bugs_are_found(bug):
    config, design = made()

    role, change = PLANTED[bug]

    def changed(side: Transactions) -> Transactions:
        return side if side.get(role) is None else side.with_arrays({role: change(side[role])})

    result = verify(config, design=lambda given: changed(design(changed(given))), blocks=5000)
    assert not result.passed and "scale 0x" in result.report


def changed(pattern: str, by: str, **fields):
    """The configuration, and the Verilated design whose text is changed at one place."""
    config, _ = made(**fields)
    text, count = re.subn(pattern, by, verilog(config, "dut"))
    assert count == 1
    return config, driver_of(text, "dut", config, lint=False)


@pytest.mark.parametrize(
    "profile, leading",
    [
        ("nvfp4_te", 2),
        ("nvfp4_te", 14),
        ("nvfp4_modelopt", 7),
        ("nvfp4_compressed_tensors", 13),  # with any lower bit alone the results are Inf
        pytest.param("nvfp4_te", 7, marks=pytest.mark.slow),
        pytest.param("nvfp4_modelopt", 21, marks=pytest.mark.slow),
    ],
)
def test_each_bit_of_a_subnormal_tensor_scale_is_seen(profile, leading):
    """The last bit is wrong below one leading bit."""
    moved = rf"g\[{leading}\] \? {{ g\[{leading}:0\]"
    config, design = changed(moved, f"g[{leading}] ? {{ g[{leading}:1], ~g[0]", profile=profile)
    assert not verify(config, design=design, stimuli="bits").passed


@pytest.mark.sampled(4)
@pytest.mark.parametrize("profile", ["nvfp4_modelopt", "nvfp4_compressed_tensors"])
@pytest.mark.parametrize("product", ["one_and_half", "two", "three", "four", "six"])
@pytest.mark.parametrize("bit", [0, 3, 22])
def test_products_that_exceed_infinity_by_one_bit_are_seen(profile, product, bit):
    """These products stay numbers, or become NaN in place of Inf."""
    config, design = changed(
        f"{product} >= 31'h7f800000", f"{product} >= 31'h{0x7F800001 + (1 << bit):08x}", profile=profile
    )
    assert not verify(config, design=design, stimuli="bits").passed


@pytest.mark.parametrize("bit", [32, 44])
def test_single_bits_beyond_the_middle_are_seen(bit):
    """A bit is missing among those that decide about a result just above the middle of two subnormal numbers."""
    others = f"| {{ reduced_moved[47:{bit + 1}], reduced_moved[{bit - 1}:0] }}"
    config, design = changed(r"\| reduced_moved\[47:0\]", others)
    assert not verify(config, design=design, stimuli="bits").passed


@pytest.mark.parametrize(
    "place, changed_step",
    [
        (13, r"{ \1[23:4], \1[3] ^ \1[13], \1[2:0], 1'h0 }"),
        (6, r"{ \1[23:1], 1'h1, 1'h0 }"),  # wrong for two of 2**26 divisions
    ],
)
def test_one_bit_of_a_remainder_is_seen(place, changed_step):
    config, design = changed(
        rf"(?<=ratio_digit{place} = ){{ (\w+), 1'h0 }}", changed_step, profile="nvfp4_compressed_tensors"
    )
    assert not verify(config, design=design, stimuli="bits").passed


def test_the_other_order_is_found():
    """s * (a / C) in place of (s * a) / C."""
    config, design = made()
    _, other = made("nvfp4_ao", nan="all_ones")
    simulation = Nvfp4DecodeSimulation(config.numerics)
    given = simulation.usual(1000, 0)
    g = given[Role.TENSOR_SCALE].view(np.float32) * (np.float32(1) / np.float32(2688))
    found = other(given.with_arrays({Role.TENSOR_SCALE: g.view(np.uint32)}))
    assert set(simulation.why(given, design(given), found, False)) == {-1, 0}


def test_every_rule_is_made():
    assert set(NANS) == set(DecodedNan)
    assert set(FACTORS) == set(Convention)


def test_configurations_survive_json_and_the_command_line():
    config = nvfp4_decoder_config("nvfp4", "nvfp4_ao", destination="bf16")
    assert config_of(config.to_dict()) == config
    assert command_line(config) == "nvfp4 --op decode --profile nvfp4_ao --set destination=bf16"
    assert verilog(nvfp4_decoder_config("nvfp4")).startswith("// nvfp4_decode_nvfp4_te: nvfp4 to fp32")


@pytest.mark.parametrize(
    "block, fields, sentence",
    [
        ("nvfp4", {"destination": "fp16"}, "hardware decodes nvfp4 to fp32 and bf16 numbers, not fp16"),
        ("nvfp4_2d", {}, "hardware converts blocks along one axis, not nvfp4_2d"),
        ("fp4_ue5m3", {}, "hardware reads scales e4m3, not ue5m3"),
    ],
)
def test_what_hardware_does_not_make_is_refused(block, fields, sentence):
    with pytest.raises(ValueError, match=f"^{sentence}"):
        nvfp4_decoder_config(block, **fields)
    assert Nvfp4Decode(block=block, **fields)
