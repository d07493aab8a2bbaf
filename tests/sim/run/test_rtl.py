"""The emitted Verilog of full size, Verilated, against the model."""

import numpy as np
import pytest

from mxcast.hdl import ConverterConfig, converter_config
from mxcast.models import quantize, quantize_blocks
from mxcast.sim import verify, verilate

from ...configurations import ELEMENTS, every_numerics, in_turn, short_id


@pytest.mark.sampled(58)
@pytest.mark.parametrize("rules", every_numerics(), ids=short_id)
def test_rtl_equals_the_model(rules, record_property):
    result = verify(ConverterConfig(numerics=rules), blocks=60_000, seed=11)
    record_property("blocks", result.blocks)
    assert result.passed, result.report
    assert min(result.counts.values()) > 50 and set(result.counts) == {"corner", "boundary", "distance", "random"}


@pytest.mark.parametrize("element, profile", in_turn(list(ELEMENTS), ["ocp", "te", "gorodecky_sousa"], 6))
def test_a_64th_of_all_inputs(element, profile, record_property):
    """The stratified part of `mxcast verify --exhaustive`."""
    result = verify(converter_config(element, profile), stimuli="stratified", seed=5)
    record_property("blocks", result.blocks)
    assert result.passed, result.report
    assert result.blocks > 2_000_000


@pytest.mark.sampled(2)
@pytest.mark.parametrize("element, profile", in_turn(list(ELEMENTS), ["ocp", "te", "gorodecky_sousa"], 2))
def test_whole_magnitudes_give_the_same_bits(element, profile, record_property):
    """The tree compares whole magnitudes; the other choices are in tests/hdl/config/test_microarchitecture.py."""
    result = verify(converter_config(element, profile, amax_key="magnitude"), blocks=50_000, seed=12)
    assert result.passed, result.report
    record_property("blocks", result.blocks)


def test_a_verilated_design_is_called_like_quantize():
    rng = np.random.default_rng(4)
    x = rng.standard_normal((3, 50, 2), dtype=np.float32)
    x.view(np.uint32)[0, 3, 0] = 0xFFC12345  # a NaN payload must not disturb the others
    rtl, expected = verilate("e2m1", profile="nvidia"), quantize(x, "e2m1", "nvidia", axis=1, pad=True)
    got = rtl(x, axis=1, pad=True)
    np.testing.assert_array_equal(got.scales, expected.scales)
    np.testing.assert_array_equal(got.codes, expected.codes)
    with pytest.raises(ValueError, match="multiple of the block size 32"):
        rtl(x, axis=1)
    with pytest.raises(TypeError, match="must be float32"):
        rtl(x.astype(np.float64))


def test_compiled_results_are_kept_by_content():
    assert verilate("e2m1").driver.library == verilate("mxfp4_e2m1", profile="ocp").driver.library
    assert verilate("e2m1").driver.library != verilate("e2m1", profile="nvidia").driver.library


def test_arrays_that_are_not_blocks_are_refused():
    """Python refuses them before C++ gets them, and `verify` does not count them."""
    rtl, blocks = verilate("e2m1"), np.zeros((4, 32), np.float32)
    rules = rtl.numerics
    for scales, codes, error in (
        (np.zeros(1, np.uint8), np.zeros((4, 32), np.uint8), ValueError),
        (np.zeros(4, np.uint8), np.zeros((32, 4), np.uint8).T, ValueError),
        (np.zeros(4, np.int64), np.zeros((4, 32), np.uint8), TypeError),
    ):
        with pytest.raises(error, match="must be"):
            rtl.convert_blocks(blocks, rules, scales, codes)
        with pytest.raises(error, match="must be"):
            quantize_blocks(blocks, rules, scales, codes)
    for array in (np.arange(64), np.ones((2, 32)), np.ones(64, np.float32)):
        with pytest.raises(ValueError, match="must be float32 blocks"):
            verify(ConverterConfig(numerics=rules), tensors=[("a", array)])
