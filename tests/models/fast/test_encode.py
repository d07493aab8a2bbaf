"""The fast model against the exact definition, bit for bit, for every combination of rules."""

import numpy as np
import pytest

from mxcast.models import Quantized, dequantize, error_statistics, quantize
from mxcast.models.arrays.source import DTYPES
from mxcast.models.exact.encode import element_value, quantize_block
from mxcast.sim import stimuli
from mxcast.spec import BLOCKS, FloatFormat, numerics

from ...configurations import ELEMENTS, every_numerics, short_id


def disagreements(patterns: np.ndarray, rules) -> list[str]:
    random = stimuli.random_bits(rules, patterns.shape, seed=21)
    q = quantize(patterns.view(DTYPES[rules.source.name]), rules, random=random)
    wrong = []
    for row, (block, scale, codes) in enumerate(zip(patterns.tolist(), q.scales[:, 0].tolist(), q.codes.tolist())):
        expected = quantize_block(block, rules, None if random is None else random[row].tolist())
        if expected != (scale, codes):
            lanes = [lane for lane in range(len(block)) if expected[1][lane] != codes[lane]][:3]
            wrong.append(
                f"scale {expected[0]} vs {scale}; "
                + "; ".join(f"0x{block[lane]:08X}: {expected[1][lane]:#x} vs {codes[lane]:#x}" for lane in lanes)
            )
    return wrong


@pytest.mark.sampled(14)
@pytest.mark.parametrize("rules", every_numerics(), ids=short_id)
def test_model_equals_the_exact_definition(rules, record_property):
    corner, random = stimuli.corner_blocks(rules, most=100), stimuli.random_blocks(rules, 150, seed=7)
    boundary = stimuli.boundary_blocks(rules)
    boundary = boundary[:: -(-len(boundary) // 500)]  # the next test takes them all
    patterns = np.concatenate([corner, boundary, random])
    wrong = disagreements(patterns, rules)
    record_property("blocks", len(patterns))
    assert len(patterns) > 500
    assert not wrong, f"{len(wrong)} of {len(patterns)} blocks differ (exact vs model): " + " | ".join(wrong[:3])


@pytest.mark.sampled(2)
@pytest.mark.parametrize("element", ELEMENTS)
def test_all_boundary_neighbours(element, record_property):
    blocks = 0
    for profile in ("ocp", "te"):
        rules = numerics(element, profile)
        patterns = stimuli.boundary_blocks(rules)
        assert not disagreements(patterns, rules)
        blocks += len(patterns)
    record_property("blocks", blocks)


@pytest.mark.parametrize("element", ELEMENTS)
def test_dequantize_is_exact(element):
    """Every code under scales at the bottom, middle and top; beyond float32 the result is Inf."""
    block = next(b for b in BLOCKS.values() if b.short_name == element)
    codes = np.resize(np.arange(1 << block.element.bits, dtype=np.uint8), (256, 256))[:, :256]
    scales = np.repeat(np.arange(256, dtype=np.uint8)[:, None], 8, axis=1)
    y = dequantize(Quantized(scales=scales, codes=codes, numerics=numerics(element)))
    assert np.isnan(y[255]).all() and y.dtype == np.float32
    compared = 0
    for scale in (0, 1, 2, 30, 127, 200, 253, 254):
        for code in range(1 << block.element.bits):
            negative, magnitude = _sign_and_magnitude(code, block.element)
            if magnitude > block.element.max_code:
                continue  # NaN, Inf and INT8's unused code
            exact = element_value(magnitude, block.element) * (-1 if negative else 1)
            exact = float(exact) * 2.0 ** (scale - 127)  # at most eight bits and far from the limits of float64: exact
            got = float(y[scale, code])
            assert got == exact or (np.isinf(got) and abs(exact) >= 2.0**128), (scale, code)
            assert np.signbit(got) == (negative and (magnitude > 0 or isinstance(block.element, FloatFormat)))
            compared += 1
    assert compared >= 8 * 15


def _sign_and_magnitude(code, element):
    if isinstance(element, FloatFormat):
        return bool(code & element.sign_mask), code & element.magnitude_mask
    return (True, 256 - code) if code > 127 else (False, code)


def test_shapes_axes_and_padding():
    x = np.random.default_rng(0).standard_normal((4, 64, 3)).astype(np.float32)
    q = quantize(x, "e4m3", axis=1)
    assert q.codes.shape == (4, 64, 3) and q.scales.shape == (4, 2, 3)
    np.testing.assert_array_equal(q.codes, np.moveaxis(quantize(np.moveaxis(x, 1, -1).copy(), "e4m3").codes, -1, 1))
    padded = quantize(x[:, :40], "e4m3", axis=1, pad=True)
    assert padded.codes.shape == (4, 64, 3) and padded.scales.shape == (4, 2, 3)
    assert dequantize(padded).shape == (4, 40, 3)
    np.testing.assert_array_equal(padded.scales[:, :1], quantize(x[:, :32], "e4m3", axis=1).scales)
    assert quantize(np.zeros((0, 32), np.float32), "int8").scales.shape == (0, 1)
    assert (
        quantize(x[0, :, 0].byteswap().view(">f4"), "e4m3").codes.tobytes()
        == quantize(x[0, :, 0].copy(), "e4m3").codes.tobytes()
    )


def test_chunks_do_not_show():
    x = np.random.default_rng(1).standard_normal((5000, 32)).astype(np.float32)
    whole, parts = quantize(x, "e3m2", "nvidia"), [quantize(row, "e3m2", "nvidia") for row in x[::617]]
    np.testing.assert_array_equal(whole.codes[::617], [p.codes for p in parts])
    before = x.copy()
    quantize(x, "int8")
    np.testing.assert_array_equal(x, before)  # inputs are not written to


@pytest.mark.parametrize(
    "x, message, error",
    [
        (np.zeros(33, np.float32), "multiple of the block size 32", ValueError),
        (np.zeros(32), "must be float32, float16 or bfloat16, not float64", TypeError),
        (np.float32(1), "must have at least one axis", ValueError),
    ],
)
def test_bad_arrays_get_one_sentence(x, message, error):
    with pytest.raises(error, match=message):
        quantize(x, "e4m3")


def test_statistics_count_what_was_lost():
    x = np.zeros((3, 32), np.float32)
    x[0, :5] = [1.0, 1.9, 1e-9, 464 / 256, np.float32(448 / 256)]  # 1.9 and 464/256 are beyond 448 at X = -8
    x[1, :3] = [128, 252, 255]
    x[2, 0] = np.nan
    lost = error_statistics(x, quantize(x, "e4m3"))
    assert (lost.elements, lost.blocks, lost.saturated, lost.flushed, lost.nan) == (96, 3, 4, 1, 32)
    paper = error_statistics(x[1:2], quantize(x[1:2], "e4m3", "gorodecky_sousa"))
    assert paper.saturated == 2  # beyond 240, where the paper's recipe stops
    parts = error_statistics(x[:1], quantize(x[:1], "e4m3")) + error_statistics(x[1:], quantize(x[1:], "e4m3"))
    assert (parts.elements, parts.saturated, parts.flushed, parts.nan) == (96, 4, 1, 32)
    noise = (1.9 - 1.75) ** 2 + (464 / 256 - 1.75) ** 2 + 28**2 + 31**2  # the rest is below 1e-6
    assert abs(lost.noise - noise) < 1e-6 and abs(parts.noise - noise) < 1e-6
