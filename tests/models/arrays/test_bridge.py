"""Bridges between block formats: the same numbers, and the condition by enumeration."""

from fractions import Fraction

import numpy as np
import pytest

from mxcast.models import bridge, dequantize, quantize, quantize_nvfp4, survives
from mxcast.models.arrays.block_array import BlockArray
from mxcast.spec import BLOCKS, E4M3, FP32, OTHER_BLOCKS, BlockFormat, Convention

MXFP4, NVFP4 = BLOCKS["mxfp4_e2m1"], OTHER_BLOCKS["nvfp4"]
EXACT = {  # by element: elements that contain all of its values
    "e2m1": {"e2m1", "e2m3", "e3m2", "e4m3", "e5m2"},
    "e2m3": {"e2m3", "e4m3"},
    "e3m2": {"e3m2", "e4m3", "e5m2"},
    "e4m3": {"e4m3"},
    "e5m2": {"e5m2"},
}


def every_code(element: str, scales: object) -> BlockArray:
    """A row for each scale, with all codes of the element."""
    block = next(one for one in BLOCKS.values() if one.short_name == element)
    scales = np.asarray(scales, np.uint8)
    codes = np.resize(np.arange(1 << block.element.bits, dtype=np.uint8), max(32, 1 << block.element.bits))
    return BlockArray(
        codes=np.tile(codes, (len(scales), 1)), scales=np.tile(scales[:, None], (1, len(codes) // 32)), block=block
    )


def same(mine: np.ndarray, other: np.ndarray) -> bool:
    """Are two arrays bit for bit the same, but for the bits of NaN?"""
    return np.array_equal(np.isnan(mine), np.isnan(other)) and np.array_equal(
        mine[~np.isnan(mine)].view(np.uint32), other[~np.isnan(other)].view(np.uint32)
    )


@pytest.mark.parametrize("other", EXACT)
@pytest.mark.parametrize("element", EXACT)
def test_elements_keep_their_values(element, other):
    """All codes under all scales; a pair that is not exact loses the blocks that have such a value."""
    q = every_code(element, range(256))
    if other not in EXACT[element]:
        assert not survives(q, other).all()
        with pytest.raises(ValueError, match=r"block \(0, \d\) of .* has no counterpart"):
            bridge(q, other)
        return
    assert survives(q, other).all()
    assert same(dequantize(bridge(q, other)), dequantize(q))


def test_the_condition_of_nvfp4():
    """Every pair of scales, a block each: exact rational numbers say which pairs some tensor scale has."""
    powers = {value for code in range(0x7F) if (value := E4M3.decode(code).value) > 0 and is_power(value)}
    assert (min(powers), max(powers), len(powers)) == (Fraction(1, 512), Fraction(256), 18)
    for low in (*range(0, 220, 7), *range(230, 255)):
        for high in (low + 16, low + 17, low + 18):
            if high > 254:
                continue
            q = every_code("e2m1", [low, high])
            can = any(value * Fraction(2) ** (high - low) in powers for value in powers)
            assert survives(q, NVFP4).all() == can == (high - low <= 17)
            if can:
                assert same(dequantize(bridge(q, NVFP4)), dequantize(q))


def is_power(value: Fraction) -> bool:
    return value.numerator & value.numerator - 1 == 0 == value.denominator & value.denominator - 1


@pytest.mark.parametrize("convention", [Convention.MULTIPLIER, Convention.DIVISOR, Convention.AMAX])
def test_all_scales_in_all_conventions(convention):
    """Readers of the convention compute the same numbers as before. NaN blocks stay NaN, and blocks of zeros survive
    under every scale. A tensor scale outside float32 is refused.
    """
    block, refused = NVFP4.scaled_by(convention), []
    for top in (*range(20), *range(20, 235, 10), *range(235, 255)):
        q = every_code("e2m1", [top, max(top - 17, 0), 255, 0, 254])
        q.codes[3:] &= 8
        try:
            found = bridge(q, block)
        except ValueError as error:
            assert f"2**{top - 127}" in str(error)
            refused.append(top)
            continue
        assert same(dequantize(found), dequantize(q)), top
    assert refused == {"multiplier": [], "divisor": [*range(8)], "amax": [*range(241, 255)]}[str(convention)]


def test_an_array_of_a_model():
    rng = np.random.default_rng(1)
    x = (rng.standard_normal((64, 72)) * np.exp2(rng.integers(-5, 5, (64, 1)))).astype(np.float32)
    for axis in (-1, 0):
        q = quantize(x, "e2m1", axis=axis, pad=True)
        found = bridge(q, NVFP4)
        assert found.shape == x.shape and same(dequantize(found), dequantize(q))
    q.scales[0, 3] = 200
    kept = survives(q, NVFP4)
    assert 0 < np.count_nonzero(kept) < kept.size and kept[0, 3]


def test_scales_of_fp32():
    """Powers of two that E8M0 has survive, and NaN, and zeros under any positive number; nothing else does."""
    block = BlockFormat(name="fp8_e4m3", element=E4M3, scale=FP32, shape=(128,))
    scales = [1.0, 2.0**-127, 2.0**127, np.nan, 3.0, 2.0**-128, 0.0, -1.0, np.inf, np.nextafter(np.float32(1), 2)]
    patterns = np.array(scales, np.float32).view(np.uint32)[:, None]
    for zeros, kept in (False, 4), (True, 6):
        codes = np.resize(np.arange(256, dtype=np.uint8), (len(scales), 128)) & (0x80 if zeros else 0xFF)
        q = BlockArray(codes=codes, scales=patterns, block=block)
        survivors = survives(q, "e4m3")
        if zeros:  # also 3, 2**-128 and the number next to 1
            assert survivors[:, 0].tolist() == [True] * 6 + [False] * 3 + [True]
        else:
            assert survivors[:, 0].tolist() == [True] * 4 + [False] * 6
        part = BlockArray(codes=codes[:kept], scales=patterns[:kept], block=block)
        assert same(dequantize(bridge(part, "e4m3")), dequantize(part))
        with pytest.raises(ValueError, match="no power of two"):
            bridge(q, "e4m3")


def test_what_has_no_bridge():
    q = quantize(np.ones((2, 32), np.float32), "e2m1")
    refused = {
        "from formats with E8M0 or FP32 scales, not from nvfp4": (
            quantize_nvfp4(np.ones((2, 32), np.float32), "nvfp4"),
            "e4m3",
        ),
        "to E8M0 scales or to a tensor scale, not to mx9": (q, "mx9"),
        "to blocks along one axis that are parts of 32": (q, "nvfp4_2d"),
    }
    for sentence, (array, block) in refused.items():
        with pytest.raises(ValueError, match=sentence):
            bridge(array, OTHER_BLOCKS.get(block, block))
    with pytest.raises(TypeError, match="a bridge takes what quantize returns"):
        bridge(np.ones(32), "nvfp4")
