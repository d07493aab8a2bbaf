"""`dequantize` against the exact definition, also for block formats without an encoder; arrays that it refuses."""

import dataclasses

import numpy as np
import pytest

from mxcast.models import BlockArray, Quantized, dequantize, error_statistics, quantize
from mxcast.models.arrays.codes import code_values
from mxcast.models.arrays.source import code_dtype
from mxcast.models.exact.binary32 import fp32
from mxcast.models.exact.decode import dequantize_block
from mxcast.spec import E4M3, E5M2, E8M0, FP32, TF32, UE4M3, BlockFormat, Encode, FloatFormat, block_format


def exact_float32(number) -> np.float32:
    """The float32 number nearest to an exact one, ties to even."""
    magnitude = float(fp32(number.magnitude) if number.kind == "finite" else number.kind)
    with np.errstate(over="ignore"):
        return np.float32(-magnitude if number.negative else magnitude)


@pytest.mark.parametrize(
    "name",
    [
        "e5m2",
        "e4m3",
        "e3m2",
        "e2m3",
        "e2m1",
        "int8",
        "e4m3_ieee",
        "e5m10",  # its smallest products are below float32's smallest number, and are rounded
        "e5m9",
        "int16",
        "fp4_ue5m3",  # a scale that is no power of two
    ],
)
def test_products_are_the_exact_ones(name):
    block = block_format(name).resized(8)
    rng = np.random.default_rng(1)
    top = 1 << block.element.bits
    low = list(range(min(top, 4)))
    scale_codes = [*range(4), *range(120, 132), *range(250, 1 << block.scale.bits)]
    rows = [[*low, *(c + top // 2 for c in low)][:8] + [0] * (8 - 2 * len(low)) for _ in scale_codes]
    rows += rng.integers(0, top, (len(scale_codes), 8)).tolist()
    scales = np.array(scale_codes * 2, np.uint8)
    codes = np.array(rows, code_dtype(block.element))
    y = dequantize(BlockArray(scales=scales[:, None], codes=codes, block=block))
    assert y.dtype == np.float32 and y.shape == codes.shape
    compared = 0
    for scale, row, got in zip(scales.tolist(), codes.tolist(), y):
        wanted = np.array([exact_float32(number) for number in dequantize_block(scale, row, block)])
        nan = np.isnan(wanted)
        np.testing.assert_array_equal(np.isnan(got), nan)
        np.testing.assert_array_equal(got[~nan].view(np.uint32), wanted[~nan].view(np.uint32))
        compared += np.count_nonzero(~nan)
    assert compared > 100


@pytest.mark.parametrize("element", [E4M3, E5M2], ids=lambda element: element.name)
def test_products_with_scales_of_fp32(element):
    """Rounded once: every code under scales with long fractions, subnormal ones, zeros, negative ones, NaN and Inf."""
    rng = np.random.default_rng(2)
    scales = np.concatenate([rng.integers(0, 1 << 32, 40), [0, 1 << 31, 1, 0x7FFFFF, 0x7F800000, 0x7FC00000]])
    block = BlockFormat(name="fp8", element=element, scale=FP32, shape=(256,))
    codes = np.tile(np.arange(256, dtype=np.uint8), (len(scales), 1))
    y = dequantize(BlockArray(scales=scales.astype(np.uint32)[:, None], codes=codes, block=block))
    for scale, got in zip(scales.tolist(), y):
        wanted = np.array([exact_float32(number) for number in dequantize_block(scale, range(256), block)])
        nan = np.isnan(wanted)
        np.testing.assert_array_equal(np.isnan(got), nan)
        np.testing.assert_array_equal(got[~nan].view(np.uint32), wanted[~nan].view(np.uint32))


def test_inf_times_a_scale_of_zero_is_nan():
    block = BlockFormat(name="odd", element=E5M2, scale=UE4M3, shape=(2,))
    codes = [0x7C, 0x3C]
    q = BlockArray(scales=np.zeros(1, np.uint8), codes=np.array(codes, np.uint8), block=block)
    np.testing.assert_array_equal(dequantize(q), [np.nan, 0])
    assert [number.kind for number in dequantize_block(0, codes, block)] == ["nan", "finite"]


def test_blocks_need_no_numerics_to_be_decoded():
    q = quantize(np.linspace(-3, 3, 64, dtype=np.float32), "e2m3", pad=True)
    plain = BlockArray(scales=q.scales, codes=q.codes, block=q.block, length=q.length)
    np.testing.assert_array_equal(dequantize(plain), dequantize(q))
    with pytest.raises(TypeError, match="^statistics are of Quantized blocks, with their numerics, not of <BlockArray"):
        error_statistics(np.zeros(64, np.float32), plain)


def test_arrays_without_axes_can_be_compared():
    def one(code: int) -> BlockArray:
        return BlockArray(scales=np.array(1, np.uint8), codes=np.array(code, np.uint8), block=block_format("e4m3"))

    assert one(1) == one(1) != one(2)


def test_the_block_format_is_that_of_the_numerics():
    q = quantize(np.zeros(32, np.float32), "e4m3")
    assert q.block is q.numerics.block
    wider = Encode(block="e5m2")
    assert dataclasses.replace(q, numerics=wider).block is wider.block
    with pytest.raises(TypeError):
        Quantized(scales=q.scales, codes=q.codes, numerics=wider, block=q.block)


def wide(element=None, scale=E8M0) -> BlockFormat:
    return BlockFormat(name="wide", element=element or E5M2, scale=scale, shape=(2,))


BEYOND = FloatFormat(name="beyond", exp_bits=9, man_bits=2, bias=255, specials="none", source="")


@pytest.mark.parametrize(
    "block, sentence",
    [
        ("mx9", "mx9 has a field for each sub-block, which dequantize does not support yet"),
        (
            dataclasses.replace(wide(), shape=(2, 2)),
            "wide has blocks of shape (2, 2): dequantize takes blocks along one axis",
        ),
        (wide(scale=TF32), "a table of values is for codes of at most 16 bits, not for tf32"),
        (wide(BEYOND), "an element must have 1 to 5 exponent bits and 0 to 10 fraction bits, unlike beyond"),
        (wide(BEYOND, UE4M3), "beyond has values outside float32"),
    ],
)
def test_what_cannot_be_decoded_yet(block, sentence):
    block = block_format(block)
    size = block.block_size
    q = BlockArray(scales=np.zeros(1, np.uint8), codes=np.zeros(size, np.uint16), block=block)
    with pytest.raises(ValueError) as error:
        dequantize(q)
    assert str(error.value) == sentence


@pytest.mark.parametrize("block", ["e4m3", None, 3])
def test_what_is_no_block_format(block):
    q = quantize(np.ones(32, np.float32), "e4m3")
    with pytest.raises(TypeError, match="the block format of a BlockArray must be a BlockFormat, not"):
        dequantize(BlockArray(scales=q.scales, codes=q.codes, block=block))


@pytest.mark.parametrize("length", [np.uint8(200), np.int8(-1)])
def test_a_length_of_a_narrow_type(length):
    q = quantize(np.ones(480, np.float32), "e4m3")
    with pytest.raises(ValueError, match="length must be the length of the axis"):
        dequantize(BlockArray(scales=q.scales, codes=q.codes, block=q.block, length=length))


def test_as_many_axes_as_an_array_has():
    x = np.linspace(-2, 2, 64, dtype=np.float32)
    deep = quantize(x.reshape((1,) * 62 + (2, 32)), "e4m3")
    assert deep.codes.ndim == 64 and np.array_equal(dequantize(deep).reshape(-1), dequantize(quantize(x, "e4m3")))


def test_what_is_no_block_array():
    with pytest.raises(TypeError, match="^dequantize takes a BlockArray, such as quantize returns, not "):
        dequantize(np.zeros(32, np.uint8))


def test_values_of_the_scale_are_those_of_the_standard():
    """OCP MX v1.0, section 5.4: 2**-127 to 2**127, and NaN."""
    np.testing.assert_array_equal(code_values(E8M0)[:255], 2.0 ** np.arange(-127, 128))
    assert np.isnan(code_values(E8M0)[255])
