"""Matrices quantized along rows and columns."""

from __future__ import annotations

import numpy as np
import pytest

from mxcast.models import dequantize, philox_random, quantize_both_ways, quantize_nvfp4, rotate, tensor_amax
from mxcast.spec import Hadamard

X = np.random.default_rng(5).normal(size=(64, 48)).astype(np.float32)
BF16 = (X.view(np.uint32) >> 16).astype(np.uint16)


def test_columns_are_rows_of_the_transpose():
    both = quantize_both_ways(X, "nvfp4", tensor_amax=7.0)
    assert both.rowwise == quantize_nvfp4(X, "nvfp4", tensor_amax=7.0)
    assert both.columnwise == quantize_nvfp4(X.T.copy(), "nvfp4", tensor_amax=7.0)
    assert both.columnwise.scales.shape == (48, 4)


def test_blocks_of_two_axes_stand_for_the_same_numbers():
    both = quantize_both_ways(X, "nvfp4_2d")
    assert np.array_equal(dequantize(both.rowwise), dequantize(both.columnwise).T)


@pytest.mark.parametrize("source", ["fp32", "bf16"])
def test_columns_after_a_rotation(source):
    both = quantize_both_ways(BF16, "nvfp4", rotation=Hadamard(), source=source)
    rotated = rotate(BF16.T.copy())
    expected = quantize_nvfp4(rotated, "nvfp4", source="bf16")
    assert (
        np.array_equal(both.columnwise.codes, expected.codes) and both.columnwise.tensor_scale == expected.tensor_scale
    )
    assert both.rowwise.tensor_scale == tensor_amax(BF16) != both.columnwise.tensor_scale


def test_random_bits_of_either():
    bits = philox_random(X.shape, seed=1), philox_random(X.T.shape, seed=2)
    both = quantize_both_ways(X, "nvfp4", rounding="sr", random=bits)
    assert both.columnwise == quantize_nvfp4(X.T.copy(), "nvfp4", rounding="sr", random=bits[1])


def test_only_matrices():
    with pytest.raises(ValueError, match=r"^x must be a matrix, not of the shape \(16,\)$"):
        quantize_both_ways(X[0, :16], "nvfp4")
