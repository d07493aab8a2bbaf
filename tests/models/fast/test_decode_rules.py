"""Decoding under all rules: the golden model against the exact definition, against ml_dtypes, and against the
sources of profiles.
"""

import random

import ml_dtypes
import numpy as np
import pytest

import mxcast
from mxcast.models import BlockArray, quantize
from mxcast.models.arrays.source import DTYPES, code_dtype
from mxcast.models.exact.decode import decode_block
from mxcast.models.fast.decode import decode_blocks
from mxcast.spec import DECODE_RULES, DECODERS, ELEMENTS, Decode, block_format, decoding, operation_of

FORMATS = [*ELEMENTS, "e4m3_ieee", "e5m10", "int16", "e1m1", "e5m0", "int2"]
DESTINATIONS = ["fp32", "bf16", "fp16"]
EDGES = [0, 1, 2, 126, 127, 128, 253, 254, 255]


def rules_of(rng: random.Random) -> Decode:
    """A decoder of random rules, with blocks of eight."""
    rules = {name: rng.choice(list(rule)) for name, rule in DECODE_RULES.items()}
    bits = {"random_bits": rng.randrange(1, 17)} if rules["rounding"] == "sr" else {}
    block = block_format(rng.choice(FORMATS)).resized(8)
    return Decode(block=block, destination=rng.choice(DESTINATIONS), **rules, **bits)


@pytest.mark.parametrize("seed", range(6))
def test_the_model_is_the_exact_definition(seed, record_property):
    rng, compared = random.Random(seed), 0
    for number in range(25):
        rules, drawn = rules_of(rng), np.random.default_rng(100 * seed + number)
        scales = np.array([*EDGES, *drawn.integers(97, 158, 12), *drawn.integers(0, 256, 9)], np.uint8)
        shape = len(scales), 8
        codes = drawn.integers(0, 1 << rules.block.element.bits, shape).astype(code_dtype(rules.block.element))
        bits = drawn.integers(0, 1 << rules.random_bits, shape, np.uint16) if rules.random_bits else None
        y = np.empty(shape, DTYPES[rules.destination.name])
        decode_blocks(scales, codes, rules, y, bits)
        for row, byte in enumerate(scales.tolist()):
            exact = decode_block(byte, codes[row].tolist(), rules, None if bits is None else bits[row].tolist())
            assert y[row].view(f"u{y.itemsize}").tolist() == exact, (rules.by_name(), byte, codes[row])
        compared += y.size
    record_property("comparisons", compared)
    assert compared == 25 * 30 * 8


OUTSIDE = {
    "e5m2": ml_dtypes.float8_e5m2,
    "e4m3": ml_dtypes.float8_e4m3fn,
    "e3m2": ml_dtypes.float6_e3m2fn,
    "e2m3": ml_dtypes.float6_e2m3fn,
    "e2m1": ml_dtypes.float4_e2m1fn,
    "int8": np.int8,
}


@pytest.mark.parametrize("destination", DESTINATIONS)
@pytest.mark.parametrize("name", OUTSIDE)
def test_all_pairs_are_the_products_of_ml_dtypes(name, destination):
    """The product of what ml_dtypes makes of both codes, in float64, where it is exact; one conversion by ml_dtypes."""
    bits = block_format(name).element.bits
    byte, code = np.divmod(np.arange(256 << bits), 1 << bits)
    codes = code.astype(np.uint8)
    if name == "e2m1":  # which ml_dtypes keeps in four bits of a byte
        elements = codes.astype(np.uint8).view(ml_dtypes.float4_e2m1fn).astype(np.float64)
    else:
        elements = codes.view(OUTSIDE[name]).astype(np.float64) / (64 if name == "int8" else 1)
    factors = byte.astype(np.uint8).view(ml_dtypes.float8_e8m0fnu).astype(np.float64)
    with np.errstate(over="ignore", invalid="ignore"):
        products = (elements * factors).astype(np.float32)  # exact, or beyond all numbers
        to = {"fp32": np.float32, "bf16": ml_dtypes.bfloat16, "fp16": np.float16}[destination]
        wanted = products.astype(to)
    q = BlockArray(scales=byte.astype(np.uint8)[:, None], codes=codes[:, None], block=block_format(name).resized(1))
    got = mxcast.dequantize(q, destination=destination)[:, 0]
    pattern = np.uint32 if destination == "fp32" else np.uint16
    nan = np.isnan(wanted.astype(np.float32))
    quiet = {"fp32": 0x7FC00000, "bf16": 0x7FC0, "fp16": 0x7E00}[destination]
    np.testing.assert_array_equal(got.view(pattern)[~nan], wanted.view(pattern)[~nan])
    assert set(got.view(pattern)[nan].tolist()) <= {quiet} and nan.any()


SOURCES_SAY = {
    # gpt-oss: torch.ldexp of a table in bfloat16
    ("gpt_oss", "e2m1"): {(127, 0x7): 0x40C0, (255, 0x1): 0x7F00, (255, 0x7): 0x7F80, (0, 0x1): 0x0020},
    # ggml: 0x00200000 << byte below 2, (byte - 1) << 23 from there; times 0, 1, 2, 3, 4, 6, 8, 12
    ("ggml", "e2m1"): {(127, 0x8): 0, (0, 0x1): 0x00200000, (1, 0x1): 0x00400000, (255, 0x1): 0x7F000000},
    # Transformer Engine: the byte is the exponent field of the factor
    ("te", "e4m3"): {(0, 0x7E): 0, (0, 0xFE): 0x80000000, (255, 0x38): 0x7F800000, (255, 0): 0x7FFFFFFF},
    # its test of pull request 3262: code 0x38 is 2**-127 under byte 0, and NaN under byte 255
    ("te_e8m0", "e4m3"): {
        (0, 0x38): 0x00400000,
        (0, 0xB8): 0x80400000,
        (255, 0x38): 0x7FFFFFFF,
        (255, 0): 0x7FFFFFFF,
        (127, 0x38): 0x3F800000,
    },
    # iDMA: n = byte as a signed number; flush, largest finite, 7FC00000, Inf stays
    ("idma", "e5m2"): {
        (0xFF, 0x3C): 0x3F000000,
        (0x80, 0x3C): 0,
        (0x80, 0xBC): 0x80000000,
        (0x7F, 0x7B): 0x7F7FFFFF,
        (0x7F, 0xFB): 0xFF7FFFFF,
        (0, 0x7C): 0x7F800000,
        (0, 0xFD): 0x7FC00000,
        (0, 0x03): 0x38400000,
    },
    # torch: the fraction of NaN stays, and is made quiet
    ("torchao", "e5m2"): {(127, 0x7D): 0x7FE00000, (127, 0xFF): 0xFFE00000, (255, 0x3C): 0x7FC00000},
    ("torchao", "e4m3"): {(127, 0x7F): 0x7FF00000, (200, 0xFF): 0xFFF00000},
    ("ocp", "int8"): {(127, 0x80): 0xC0000000, (0, 0x01): 0x00010000, (254, 0x80): 0xFF800000},
}
"""For profiles and formats: (scale byte, code) and the pattern that the profile's source says."""


@pytest.mark.parametrize("profile, name", SOURCES_SAY)
def test_what_the_sources_of_profiles_say(profile, name):
    rules = decoding(block_format(name).resized(1), profile)
    for (byte, code), wanted in SOURCES_SAY[profile, name].items():
        assert decode_block(byte, [code], rules) == [wanted], (hex(byte), hex(code))
        y = mxcast.dequantize(
            BlockArray(scales=np.array([byte], np.uint8), codes=np.array([code], np.uint8), block=rules.block), profile
        )
        assert int(y.view(f"u{y.itemsize}")[0]) == wanted


def test_every_profile_is_tried():
    assert {profile for profile, _ in SOURCES_SAY} == set(DECODERS)


def test_destinations_axes_and_random_bits():
    x = np.random.default_rng(1).standard_normal((40, 6)).astype(np.float32)
    q = quantize(x, "e4m3", axis=0, pad=True)
    y = mxcast.dequantize(q)
    assert y.shape == x.shape and mxcast.dequantize(q, destination="fp16").dtype == np.float16
    assert mxcast.dequantize(q, destination="bf16").dtype == np.uint16
    drawn = np.random.default_rng(2)
    by_generator = mxcast.dequantize(q, destination="bf16", rounding="sr", random=drawn)
    np.testing.assert_array_equal(by_generator.astype(np.uint32) << 16, y.view(np.uint32))  # E4M3 needs no rounding
    with pytest.raises(ValueError, match="^the rounding sr needs random bits"):
        mxcast.dequantize(q, rounding="sr")
    np.testing.assert_array_equal(mxcast.dequantize(q, jobs=2), y)


@pytest.mark.parametrize(
    "fields, sentence",
    [
        ({"destination": "e4m3"}, "unknown destination 'e4m3'"),
        ({"overflow": "wrap"}, "unknown overflow 'wrap'"),
        ({"scale_rule": "ceil"}, "unknown field of Decode 'scale_rule'"),
        ({"random_bits": 3}, "random_bits are for the rounding sr, not for rne"),
        ({"profile": "nvidia"}, "unknown profile 'nvidia'"),
        ({"block_size": 16}, "the rules decode mxfp8_e4m3"),
    ],
)
def test_what_is_refused(fields, sentence):
    with pytest.raises(ValueError, match=f"^{sentence}"):
        mxcast.dequantize(quantize(np.ones(32, np.float32), "e4m3"), **fields)


@pytest.mark.parametrize("name", ["nvfp4", "fp4_ue5m3", "mx9"])
def test_scales_that_are_no_powers_of_two_are_refused(name):
    with pytest.raises(ValueError, match="decode takes only E8M0 scales$"):
        Decode(block=name)


def test_an_operation_is_written_and_read():
    rng = random.Random(3)
    for _ in range(50):
        rules = rules_of(rng)
        assert operation_of(rules.to_dict()) == rules and rules.replace() == rules
    assert decoding("e4m3").id != decoding("e4m3", "te").id
