"""The model against libraries that others wrote: ml_dtypes for element casts, gfloat for whole blocks.

Where they are known to differ from the specification the case is listed, not tolerated.
"""

import gfloat
import ml_dtypes
import numpy as np
import pytest
from gfloat.formats import (
    format_info_mxfp4_e2m1,
    format_info_mxfp6_e2m3,
    format_info_mxfp6_e3m2,
    format_info_mxfp8_e4m3,
    format_info_mxfp8_e5m2,
    format_info_mxint8,
)

from mxcast.models import dequantize, quantize
from mxcast.sim import stimuli
from mxcast.spec import PROFILES, FixedFormat, FloatFormat, SpecialCodes, numerics

CASTS = {
    "e5m2": ml_dtypes.float8_e5m2,
    "e4m3": ml_dtypes.float8_e4m3fn,
    "e3m2": ml_dtypes.float6_e3m2fn,
    "e2m3": ml_dtypes.float6_e2m3fn,
    "e2m1": ml_dtypes.float4_e2m1fn,
}
BLOCK_FORMATS = {
    "e5m2": format_info_mxfp8_e5m2,
    "e4m3": format_info_mxfp8_e4m3,
    "e3m2": format_info_mxfp6_e3m2,
    "e2m3": format_info_mxfp6_e2m3,
    "e2m1": format_info_mxfp4_e2m1,
    "int8": format_info_mxint8,
}


def finite_blocks(rules) -> np.ndarray:
    patterns = np.concatenate(
        [stimuli.corner_blocks(rules), stimuli.boundary_blocks(rules), stimuli.random_blocks(rules, 20_000, seed=3)]
    )
    return patterns[((patterns & 0x7F800000) != 0x7F800000).all(axis=1)].view(np.float32)


@pytest.mark.parametrize("profile", ["ocp", "nvidia"])
@pytest.mark.parametrize("element", CASTS)
def test_codes_equal_an_ml_dtypes_cast_of_the_scaled_numbers(element, profile):
    """ml_dtypes does not saturate, so numbers are clamped first; the clamp is on the grid and changes nothing else."""
    rules = numerics(element, profile)
    x = finite_blocks(rules)
    q = quantize(x, rules)
    limit = float(rules.block.element.max_value)
    scaled = np.clip(np.ldexp(x.astype(np.float64), 127 - q.scales.astype(np.int32)), -limit, limit)
    # float64 to float32 could round twice; it does not, because float32 holds every input exactly unless it is so
    # small that the code is zero both ways
    expected = scaled.astype(np.float32).astype(CASTS[element]).view(np.uint8)
    assert x.size > 500_000
    np.testing.assert_array_equal(q.codes, expected)


@pytest.mark.parametrize("element", CASTS)
def test_dequantized_elements_equal_ml_dtypes(element):
    codes = np.arange(1 << numerics(element).block.element.bits, dtype=np.uint8)
    q = quantize(np.ones(codes.size if codes.size >= 32 else 32, np.float32), element)
    codes = np.resize(codes, q.codes.shape)
    scales = np.full(q.scales.shape, 127, np.uint8)
    ours = dequantize(type(q)(scales=scales, codes=codes, numerics=q.numerics))
    np.testing.assert_array_equal(ours, codes.view(CASTS[element]).astype(np.float32))


@pytest.mark.parametrize("element", BLOCK_FORMATS)
def test_blocks_equal_gfloat(element):
    """gfloat 0.5: scale by `compute_scale_amax`, codes by `encode_block`. Its INT8 reaches -128, whose use OCP MX
    leaves open, where ours stops at -127.
    """
    info, rules = BLOCK_FORMATS[element], numerics(element)
    x = finite_blocks(rules)
    x = x[::97][:300]
    q = quantize(x, rules)
    compared = 0
    for values, byte, codes in zip(x.astype(np.float64), q.scales[:, 0], q.codes):
        scale = gfloat.compute_scale_amax(info.etype.emax, values)
        assert scale == 2.0 ** (int(byte) - 127)
        encoded = list(gfloat.encode_block(info, scale, (values / scale).tolist(), gfloat.RoundMode.TiesToEven))
        assert encoded[0] == byte
        theirs = np.array(encoded[1:], np.uint8)
        if element == "int8":
            theirs = np.where(theirs == 0x80, 0x81, theirs)
        np.testing.assert_array_equal(codes, theirs)
        compared += codes.size
    assert compared >= 100 * 32


def gfloat_format(element: FloatFormat | FixedFormat) -> gfloat.FormatInfo:
    """The same format in gfloat's terms."""
    if isinstance(element, FixedFormat):
        return gfloat.FormatInfo(
            element.name,
            element.bits,
            element.bits,
            bias=0,
            is_signed=True,
            domain=gfloat.Domain.Finite,
            has_nz=False,
            num_high_nans=0,
            has_subnormals=True,
            is_twos_complement=True,
        )
    nans = {SpecialCodes.NONE: 0, SpecialCodes.NAN_ONLY: 1, SpecialCodes.IEEE: (1 << element.man_bits) - 1}[
        element.specials
    ]
    domain = gfloat.Domain.Extended if element.specials is SpecialCodes.IEEE else gfloat.Domain.Finite
    return gfloat.FormatInfo(
        element.name,
        element.bits,
        element.man_bits + 1,
        bias=element.bias,
        is_signed=True,
        domain=domain,
        has_nz=True,
        num_high_nans=nans,
        has_subnormals=True,
        is_twos_complement=False,
    )


OTHER_FORMATS = [
    "e2m0",
    "e3m0",
    "e1m2",
    "e2m2_nan_only",
    "e3m3",
    "e4m2",
    "e3m4_ieee",
    "e5m1_ieee",
    "e4m7",
    "e5m10",
    "int4",
    "int12",
]
MODES = {
    "rne": gfloat.RoundMode.TiesToEven,
    "rna": gfloat.RoundMode.TiesToAway,
    "rtz": gfloat.RoundMode.TowardZero,
    "sr": gfloat.RoundMode.StochasticFastest,
}


@pytest.mark.parametrize("rounding", MODES)
@pytest.mark.parametrize("element", [*BLOCK_FORMATS, *OTHER_FORMATS])
def test_every_rounding_to_every_kind_of_format_equals_gfloat(element, rounding):
    """gfloat rounds numbers that were scaled exactly. Its "fastest" stochastic rounding adds the random bits to the
    part below the last place, as ours does. Its fixed-point formats reach the most negative code, where ours stop
    before.
    """
    rules = numerics(element, rounding=rounding, **({"random_bits": 5} if rounding == "sr" else {}))
    x = finite_blocks(rules)
    x = x[:: len(x) // 3000]
    random = np.random.default_rng(13).integers(0, 32, x.shape) if rounding == "sr" else None
    q = quantize(x, rules, random=random)
    info, given = gfloat_format(rules.block.element), {} if random is None else {"srbits": random, "srnumbits": 5}
    scaled = np.ldexp(x.astype(np.float64), 127 - q.scales.astype(np.int32))
    rounded = gfloat.round_ndarray(info, scaled, MODES[rounding], sat=True, **given)
    expected = gfloat.encode_ndarray(info, rounded).astype(np.int64)
    if isinstance(rules.block.element, FixedFormat):
        lowest = 1 << (rules.block.element.bits - 1)
        expected %= 1 << rules.block.element.bits
        expected = np.where(expected == lowest, lowest + 1, expected)
    assert x.size > 50_000
    np.testing.assert_array_equal(q.codes, expected)


def test_fp32_log2_is_one_too_big_for_7404_largest_magnitudes():
    """The remark of the profile `microxcaling` on the library: log2 of numbers just below a power of two, in FP32."""
    steps_below = np.tile(np.arange(1, 129, dtype=np.uint32), 254)
    patterns = np.arange(2, 256, dtype=np.uint32).repeat(128) * np.uint32(1 << 23) - steps_below
    log2 = np.log2(patterns.view(np.float32).astype(np.float64)).astype(np.float32)
    too_big = np.floor(log2) > (patterns >> 23).astype(int) - 127
    assert np.count_nonzero(too_big) == 7404 and not too_big[127::128].any()
    assert "7404" in PROFILES["microxcaling"].remark


@pytest.mark.parametrize("element", BLOCK_FORMATS)
def test_linear_nearest_is_a_cast_of_the_quotient_to_e8m0(element):
    """ml_dtypes rounds what is subnormal in FP32 up too where the first bit of its fraction is set, but for 2**-127. It
    casts 0 to NaN.
    """
    rules = numerics(element, scale_rule="linear_nearest")
    drawn = np.random.default_rng(8).integers(0, 1 << 23, 2000)
    fields = np.array([*range(40), *range(120, 135), *range(250, 255)])
    edges = np.arange(1 << 7) << 16  # with every fraction at which a product is 1.5
    fractions = np.unique(np.clip([*drawn, *(edges - 1), *edges, *(edges + 1), *(edges - 2)], 0, (1 << 23) - 1))
    a = (fields[:, None] << 23 | fractions).astype(np.uint32).reshape(-1).view(np.float32)
    p = a * (np.float32(1) / np.float32(float(rules.block.element.max_value)))
    theirs = np.where(p > 0, p.astype(ml_dtypes.float8_e8m0fnu).view(np.uint8), 0)
    np.testing.assert_array_equal(quantize(np.repeat(a[:, None], 32, 1), rules).scales[:, 0], theirs)
