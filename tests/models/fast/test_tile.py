"""Matrices quantized along rows and columns."""

from __future__ import annotations

import numpy as np
import pytest

from mxcast.models import dequantize, philox_random, quantize, quantize_both_ways, quantize_nvfp4, rotate, tensor_amax
from mxcast.models.exact.tile import quantize_tile
from mxcast.spec import Hadamard, tile_encoding

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


@pytest.mark.parametrize("rotation", [None, Hadamard(size=32)])
@pytest.mark.parametrize("order", ["transposed", "in_place"])
@pytest.mark.parametrize("format", ["e4m3", "nvfp4"])
def test_columns_of_either_order(format, order, rotation):
    both = quantize_both_ways(BF16[:, :32], format, columns=order, rotation=rotation, source="bf16")
    lines = BF16[:, :32].T.copy() if rotation is None else rotate(BF16[:, :32].T.copy(), rotation)
    convert = quantize if format == "e4m3" else quantize_nvfp4
    if order == "transposed":
        assert both.columnwise == convert(lines, format, source="bf16")
    else:
        assert both.columnwise == convert(lines.T.copy(), format, source="bf16", axis=0)
    assert both.rowwise == convert(BF16[:, :32], format, source="bf16")


@pytest.mark.parametrize("order", ["transposed", "in_place"])
@pytest.mark.parametrize("profile", ["ocp", "nvidia", "te", "samson"])
@pytest.mark.parametrize("element", ["e4m3", "e5m2", "e2m1", "int8"])
def test_both_copies_of_a_tile_by_the_exact_definition(element, profile, order):
    """Any patterns, NaN and Inf among them."""
    rules = tile_encoding(element, profile, source="bf16", columns=order, block_size=8)
    patterns = np.random.default_rng(6).integers(0, 1 << 16, (32, 8, 8), dtype=np.uint16)
    patterns[::2] = patterns[::2] & 0x8FFF | 0x3000  # finite numbers near each other
    for tile in patterns:
        both, exact = quantize_both_ways(tile, rules.rows, columns=order), quantize_tile(tile.tolist(), rules)
        assert both.rowwise.scales.ravel().tolist() == exact.scales
        assert both.rowwise.codes.ravel().tolist() == exact.codes
        assert both.columnwise.scales.ravel().tolist() == exact.column_scales
        assert both.columnwise.codes.ravel().tolist() == exact.column_codes


def test_mx_formats_have_no_scale_of_the_tensor():
    with pytest.raises(ValueError, match=r"^mxfp8_e4m3 has no scale of the tensor: leave out its largest magnitude$"):
        quantize_both_ways(X, "e4m3", tensor_amax=7.0)
