"""A block array as a value of Python: equality, hash, shape, numbers, and what it prints."""

from dataclasses import replace

import numpy as np
import pytest

from mxcast.models import dequantize, quantize

X = np.random.default_rng(2).standard_normal((3, 40), np.float32)


def test_equal_if_everything_is():
    q = quantize(X, "e4m3", pad=True)
    assert q == quantize(X, "e4m3", pad=True) == quantize(X, "e4m3", pad=True, axis=1)
    assert q != quantize(X[:, :32], "e4m3") and q != quantize(X, "e4m3", "nvidia", pad=True) and q != 1
    codes, scales = q.codes.copy(), q.scales.copy()
    codes[2, 5] ^= 1
    scales[0, 1] ^= 1
    assert q != replace(q, codes=codes) and q != replace(q, scales=scales) and q != replace(q, length=None)


def test_no_hash():
    with pytest.raises(TypeError, match="^a Quantized has no hash, as its arrays can be written to$"):
        hash(quantize(X, "e4m3", pad=True))


@pytest.mark.parametrize("axis", [0, 1, -1, -2])
def test_shape_and_numbers(axis):
    q = quantize(X, "e2m1", axis=axis, pad=True)
    assert q.shape == X.shape and repr(q) == "<Quantized (3, 40) mxfp4_e2m1>"
    assert np.array_equal(np.asarray(q), dequantize(q)) and np.array_equal(q.dequantize(), dequantize(q))
    assert np.asarray(q, np.float64).dtype == np.float64 and np.asarray(q).dtype == np.float32
    with pytest.raises(ValueError, match="copy cannot be False"):
        np.asarray(q, copy=False)
