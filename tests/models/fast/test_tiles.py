"""One scale for a tile of 32 x 32 numbers: the exact definition gives the expected bits, tile by tile."""

import numpy as np
import pytest

import mxcast
from mxcast.hdl import converter_config
from mxcast.models.exact.encode import quantize_block
from mxcast.spec import Encode, numerics

RULES = [
    ("e4m3", "nvidia", {}),
    ("e2m1", "ocp", {"source": "bf16"}),
    ("int8", "ocp", {"scale_rule": "rceil", "specials": "te"}),
    ("e3m3", "ocp", {"scale_rule": "even"}),
]


def numbers(*shape: int) -> np.ndarray:
    rng = np.random.default_rng(5)
    return (rng.standard_normal(shape) * np.exp2(rng.integers(-12, 12, shape))).astype(np.float32)


@pytest.mark.parametrize("element, profile, fields", RULES)
def test_tiles_are_blocks_of_1024_numbers(element, profile, fields):
    x = numbers(2, 64, 96)
    if fields.get("source") == "bf16":
        x = (x.view(np.uint32) >> 16).astype(np.uint16)
    x[0, 5, 7] = 0x7F80 if x.dtype == np.uint16 else np.nan
    rules = numerics(f"{element}_2d", profile, **fields)
    q = mxcast.quantize(x, f"{element}_2d", profile=profile, **fields)
    assert q.codes.shape == x.shape and q.scales.shape == (2, 64, 3) and q.numerics == rules
    for plane, row, column in np.ndindex(2, 2, 3):
        tile = np.s_[plane, 32 * row : 32 * row + 32, 32 * column : 32 * column + 32]
        patterns = x[tile].reshape(-1)
        patterns = patterns if x.dtype == np.uint16 else patterns.view(np.uint32)
        scale, codes = quantize_block(patterns.tolist(), rules)
        assert set(q.scales[plane, 32 * row : 32 * row + 32, column].tolist()) == {scale}
        assert q.codes[tile].reshape(-1).tolist() == codes


def test_rows_and_columns_have_the_same_numbers():
    x = numbers(64, 96)
    q, transposed = mxcast.quantize(x, "mxfp8_e5m2_2d"), mxcast.quantize(x.T.copy(), "mxfp8_e5m2_2d")
    np.testing.assert_array_equal(q.codes, transposed.codes.T)
    np.testing.assert_array_equal(mxcast.dequantize(q), mxcast.dequantize(transposed).T)
    scales = np.repeat(q.scales, 32, axis=1).astype(np.int32) - 127
    np.testing.assert_array_equal(mxcast.dequantize(q), np.ldexp(elements(q.codes), scales))


def elements(codes: np.ndarray) -> np.ndarray:
    """E5M2 codes are the upper halves of FP16 numbers."""
    return (codes.astype(np.uint16) << 8).view(np.float16).astype(np.float32)


def test_the_format_is_in_the_fields():
    rules = numerics("e4m3_2d", "nvidia")
    assert rules.block.name == "mxfp8_e4m3_2d" and rules.block_size == 1024
    assert Encode.from_dict(rules.to_dict()) == rules and rules.id != numerics("e4m3", "nvidia").id


@pytest.mark.parametrize(
    "call, sentence",
    [
        (
            lambda: mxcast.quantize(numbers(64), "e4m3_2d"),
            r"x must have at least 2 axes for blocks of \(32, 32\), not ",
        ),
        (
            lambda: mxcast.quantize(numbers(48, 64), "e4m3_2d"),
            "the length of axis -2 must be a multiple of the block size 32, not 48",
        ),
        (lambda: mxcast.quantize(numbers(32, 32), "e4m3_2d", axis=0), "blocks of two axes lie along the last two axes"),
        (
            lambda: mxcast.quantize(numbers(32, 32), "e4m3_2d", block_size=16),
            "mxfp8_e4m3_2d has tiles of 32 x 32: leave out",
        ),
        (lambda: converter_config("e4m3_2d"), "hardware converts blocks along one axis, not mxfp8_e4m3_2d"),
        (lambda: mxcast.quantize(numbers(32, 32), "mx6_2d"), "unknown format 'mx6': "),
    ],
)
def test_one_sentence(call, sentence):
    with pytest.raises(ValueError, match=f"^{sentence}"):
        call()
