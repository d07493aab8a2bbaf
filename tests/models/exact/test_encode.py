"""The exact definition against values from the standards, typed by hand."""

from dataclasses import replace
from fractions import Fraction

import pytest

from mxcast.models.exact.binary32 import fp32
from mxcast.models.exact.decode import dequantize_block
from mxcast.models.exact.encode import decode, element_value, quantize_block
from mxcast.models.exact.scale import shared_exponent
from mxcast.spec import (
    BF16,
    BLOCKS,
    ELEMENTS,
    FP16,
    FP32,
    INT8,
    ScaleRule,
    Subnormals,
    TensorScale,
    block_format,
    numerics,
)

FLOATS = [name for name, element in ELEMENTS.items() if element != INT8]


def one(pattern: int, element: str, profile: str = "ocp", byte_of: int = 0x3F800000, **rules) -> int:
    """Code of one element in a block whose maximum is given too (1.0 unless said)."""
    return quantize_block([pattern, byte_of] + [0] * 30, numerics(element, profile, **rules))[1][0]


@pytest.mark.parametrize(
    "pattern, value",
    [
        (0x3F800000, Fraction(1)),
        (0x40490FDB, Fraction(13176795, 4194304)),
        (0x00000001, Fraction(1, 2**149)),
        (0x007FFFFF, Fraction(2**23 - 1, 2**149)),
        (0x00800000, Fraction(1, 2**126)),
        (0x7F7FFFFF, Fraction((2**24 - 1) * 2**104)),
    ],
)
def test_decode_follows_ieee_754(pattern, value):
    assert decode(pattern, FP32).magnitude == value


@pytest.mark.parametrize(
    "source, pattern, value",
    [
        (FP16, 0x0001, Fraction(1, 2**24)),
        (FP16, 0x03FF, Fraction(1023, 2**24)),
        (FP16, 0x0400, Fraction(1, 2**14)),
        (FP16, 0x3C01, Fraction(1025, 1024)),
        (FP16, 0x7BFF, 65504),
        (BF16, 0x3FE0, Fraction(7, 4)),
        (BF16, 0x0001, Fraction(1, 2**133)),
    ],
)
def test_decode_of_the_16_bit_sources(source, pattern, value):
    assert decode(pattern, source).magnitude == value
    flushed = 0 if value < Fraction(1, 2**126) else value  # FP32 subnormals only
    assert decode(pattern, source, Subnormals.FLUSH).magnitude == flushed


# OCP MX v1.0, tables 2 to 5, and OFP8, table 1: (element, code, value)
@pytest.mark.parametrize(
    "element, code, value",
    [
        ("e5m2", 0x7B, 57344),
        ("e5m2", 0x04, Fraction(1, 2**14)),
        ("e5m2", 0x01, Fraction(1, 2**16)),
        ("e5m2", 0x03, Fraction(3, 2**16)),
        ("e4m3", 0x7E, 448),
        ("e4m3", 0x08, Fraction(1, 2**6)),
        ("e4m3", 0x01, Fraction(1, 2**9)),
        ("e4m3", 0x07, Fraction(7, 2**9)),
        ("e3m2", 0x1F, 28),
        ("e3m2", 0x04, Fraction(1, 4)),
        ("e3m2", 0x01, Fraction(1, 16)),
        ("e3m2", 0x03, Fraction(3, 16)),
        ("e2m3", 0x1F, Fraction(15, 2)),
        ("e2m3", 0x08, 1),
        ("e2m3", 0x01, Fraction(1, 8)),
        ("e2m3", 0x07, Fraction(7, 8)),
        *(("e2m1", code, value) for code, value in enumerate([0, Fraction(1, 2), 1, Fraction(3, 2), 2, 3, 4, 6])),
        ("int8", 0x7F, Fraction(127, 64)),
        ("int8", 0x01, Fraction(1, 64)),
        ("int8", 0x40, 1),
    ],
)
def test_element_values_are_those_of_the_standard(element, code, value):
    block = next(b for b in BLOCKS.values() if b.short_name == element)
    assert element_value(code, block.element) == value


@pytest.mark.parametrize(
    "element, rule, amax, byte",
    [
        ("e4m3", "floor", 0x3F800000, 119),  # 1.0: X = 0 - 8
        ("e4m3", "floor", 0x3FFFFFFF, 119),
        ("e4m3", "floor", 0x7F7FFFFF, 246),  # FLT_MAX (numerics.md, B.5)
        ("e4m3", "ceil", 0x7F7FFFFF, 247),
        ("e4m3", "ceil", 0x3FE00000, 119),  # 1.75 is 448 * 2**-8 exactly
        ("e4m3", "ceil", 0x3FE00001, 120),  # one ulp more does not fit
        ("e4m3", "ceil", 0x04600000, 0),
        ("e4m3", "ceil", 0x04600001, 1),  # the one pattern that FP32 arithmetic misses
        ("e5m2", "ceil", 0x07E00000, 0),
        ("e5m2", "ceil", 0x07E00001, 1),
        ("e3m2", "ceil", 0x02600001, 1),
        ("e2m3", "ceil", 0x01700001, 1),
        ("e2m1", "ceil", 0x01400001, 1),
        ("e2m1", "ceil", 0x3FC00000, 125),
        ("e2m1", "ceil", 0x3FC00001, 126),
        ("e2m1", "floor", 0x40400000, 126),  # 3.0
        ("e4m3", "bias_floor", 0x3F800000, 120),  # 0 - 7: the paper subtracts the bias
        ("e2m1", "bias_floor", 0x40400000, 127),
        ("e5m2", "bias_floor", 0x3F800000, 112),
        ("e5m2", "floor", 0x007FFFFF, 0),
        ("e5m2", "ceil", 0x007FFFFF, 0),  # subnormal maxima clamp
        ("int8", "floor", 0x3F800000, 127),
        ("int8", "ceil", 0x3FFE0000, 127),
        ("int8", "ceil", 0x3FFE0001, 128),
        ("int8", "ceil", 0x007F0000, 0),
        ("int8", "ceil", 0x007F0001, 1),  # the only subnormals that move a byte
        ("int8", "ceil", 0x7F7FFFFF, 254),  # X = 128 is beyond E8M0
        ("e4m3", "even1", 0x3FDFFFFF, 119),
        ("e4m3", "even1", 0x3FE00000, 120),  # 1.75 rounds up to 2 with one fraction bit
        ("e4m3", "even1", 0x7F7FFFFF, 247),
        ("e4m3", "even1", 0x007FFFFF, 0),
        ("e2m3", "even1", 0x3FE00000, 126),  # where even, with three bits, gives 125
        ("int8", "even1", 0x005FFFFF, 0),
        ("int8", "even1", 0x00600000, 1),  # an FP32 subnormal carries into the exponent field
        ("int8", "even1", 0x7F7FFFFF, 254),
        ("e4m3", "round_log2", 0x3F800000, 118),  # log2(1 / 448) = -8.81
        ("e4m3", "round_log2", 0x3FA00000, 119),  # log2(1.25 / 448) = -8.49
        ("e4m3", "round_log2", 0x7F7FFFFF, 246),  # 119.19
        ("e2m1", "round_log2", 0x3F800000, 124),  # log2(1 / 6) = -2.58
        ("e2m1", "round_log2", 0x3F880000, 125),  # log2(1.0625 / 6) = -2.497
        ("e2m1", "round_log2", 0x40C00000, 127),
        ("e2m1", "round_log2", 0x00FFFFFF, 0),
        ("int8", "round_log2", 0x3F800000, 126),  # log2(64 / 127) = -0.99
        ("int8", "round_log2", 0x007FFFFF, 0),  # -126.99
        ("int8", "round_log2", 0x7F7FFFFF, 254),  # 127.01
        ("e4m3", "linear_nearest", 0x3F800000, 118),  # 1 / 448 = 1.14 * 2**-9
        ("e4m3", "linear_nearest", 0x3FA80000, 119),  # 1.3125 / 448 = 1.5 * 2**-9
        ("e4m3", "linear_nearest", 0x3FA7FFFF, 118),  # the number before it: 1.4999999 * 2**-9
        ("e2m3", "linear_nearest", 0x3FB40000, 125),  # 1.40625 / 7.5 = 1.5 * 2**-3
        ("e2m3", "linear_nearest", 0x3FB3FFFF, 125),  # the product with fl32(1 / 7.5) rounds up to 1.5 * 2**-3
        ("e2m3", "linear_nearest", 0x3FB3FFFE, 124),
        ("e2m1", "linear_nearest", 0x40100000, 126),  # 2.25 / 6 = 1.5 * 2**-2
        ("e4m3", "linear_nearest", 0x7F7FFFFF, 246),  # 1.14 * 2**119
        ("e4m3", "linear_nearest", 0x04600000, 0),  # 448 * 2**-127
        ("e4m3", "linear_nearest", 0x04600002, 1),  # just above it: the first bit of a subnormal fraction is set
        ("e4m3", "linear_nearest", 0x04800000, 1),
        ("e4m3", "linear_nearest", 0x007FFFFF, 0),
        ("e4m3", "linear_nearest", 1, 0),  # the product is 0
        ("int8", "linear_nearest", 0x3F800000, 126),  # 64 / 127 = 1.008 * 2**-1
        ("int8", "linear_nearest", 0x007F0001, 0),
        ("int8", "linear_nearest", 0x007F0002, 1),
        ("int8", "linear_nearest", 0x7F7FFFFF, 254),
        ("int2", "linear_nearest", 0x7F400000, 254),  # 1.5 * 2**127, without a scale of 2**128
        ("e4m3", "midmax", 0x3FF00000, 119),  # 1.875 is the middle between 1.75 and 2
        ("e4m3", "midmax", 0x3FF00001, 120),
        ("e5m2", "midmax", 0x3FF00000, 112),
        ("e2m3", "midmax", 0x3FF80000, 125),
        ("e2m3", "midmax", 0x3FF80001, 126),
        ("e2m1", "midmax", 0x40E00000, 127),  # 7 is the middle between 6 and 8
        ("e2m1", "midmax", 0x40E00001, 128),
        ("e4m3", "midmax", 0x7F7FFFFF, 247),
        ("e4m3", "midmax", 0x007FFFFF, 0),
        ("int8", "midmax", 0x007F8000, 0),  # 255/128 * 2**-127
        ("int8", "midmax", 0x007F8001, 1),
        ("int8", "midmax", 0x7F7FFFFF, 254),
        ("e4m3", "floor", 0, 0),
        ("int8", "ceil", 0, 0),
        ("e4m3", "even1", 0, 0),
        ("int8", "round_log2", 0, 0),
    ],
)
def test_scale_bytes_of_known_maxima(element, rule, amax, byte):
    rules = numerics(element, scale_rule=rule)
    assert shared_exponent(decode(amax, FP32).magnitude, rules) + 127 == byte


# numerics.md, B.1: the number whose FP32 rounding the rule multiplies with
@pytest.mark.parametrize(
    "element, reciprocal",
    [
        ("e5m2", 0x37924925),
        ("e4m3", 0x3B124925),
        ("e3m2", 0x3D124925),
        ("e2m3", 0x3E088889),
        ("e2m1", 0x3E2AAAAB),
        ("int8", 0x3F010204),
    ],
)
def test_the_reciprocals_of_rceil(element, reciprocal):
    assert fp32(1 / block_format(element).element.max_value) == decode(reciprocal, FP32).magnitude


def bytes_of(amax: int, element: str, rules: list[str]) -> list[int]:
    return [shared_exponent(decode(amax, FP32).magnitude, numerics(element, scale_rule=rule)) + 127 for rule in rules]


# numerics.md, B.3: the one maximum of a floating-point format that FP32 arithmetic takes for destmax * 2**-127 itself,
# between its neighbours; for INT8 one in every binade, of which the first, two in the middle and the last; and the
# subnormal one
@pytest.mark.parametrize(
    "element, amax, ceil, rceil",
    [
        ("e5m2", 0x07E00001, 1, 0),
        ("e4m3", 0x04600001, 1, 0),
        ("e3m2", 0x02600001, 1, 0),
        ("e2m3", 0x01700001, 1, 0),
        ("e2m1", 0x01400001, 1, 0),
        *(("int8", e << 23 | 0x7E0001, e + 1, e) for e in (1, 127, 200, 253)),
        ("int8", 0x007F0001, 1, 0),
    ],
)
def test_where_rceil_and_ceil_differ(element, amax, ceil, rceil):
    assert bytes_of(amax, element, ["ceil", "rceil"]) == [ceil, rceil]
    for neighbour in (amax - 1, amax + 1):
        both = bytes_of(neighbour, element, ["ceil", "rceil"])
        assert both[0] == both[1] == (rceil if neighbour < amax else ceil)


# numerics.md, B.4: maxima for E4M3
@pytest.mark.parametrize(
    "amax, pow2_ceil, rceil",
    [
        (0x3FA00000, 120, 119),  # 1.25
        (0x3FE00000, 120, 119),  # 1.75
        (0x3F800000, 119, 119),  # 1.0, a power of two
        (0x3F800001, 120, 119),
        (0x3FF00000, 120, 120),
    ],
)  # 1.875
def test_pow2_ceil_and_rceil(amax, pow2_ceil, rceil):
    assert bytes_of(amax, "e4m3", ["pow2_ceil", "rceil"]) == [pow2_ceil, rceil]


# numerics.md, B.1: fractions from which ``even`` rounds up, and emax; B.4: maxima from which it does so at the top
@pytest.mark.parametrize(
    "element, threshold, emax, top",
    [
        ("e5m2", 0x700000, 15, 0x7F700000),
        ("e4m3", 0x780000, 8, 0x7F780000),
        ("e3m2", 0x700000, 4, 0x7F700000),
        ("e2m3", 0x780000, 2, 0x7F780000),
        ("e2m1", 0x600000, 2, 0x7F600000),
        ("int8", 0x7F0000, 0, 0x7F7F0000),
    ],
)
def test_even_rounds_up_from_its_threshold(element, threshold, emax, top):
    one = 0x3F800000
    assert [bytes_of(one | m, element, ["even"]) for m in (0, threshold - 1, threshold, 0x7FFFFF)] == [
        [127 - emax],
        [127 - emax],
        [128 - emax],
        [128 - emax],
    ]
    natural = min(255 - emax, 254)  # the exponent field 255, not Inf
    assert [bytes_of(amax, element, ["even"]) for amax in (top - 1, top, 0x7F7FFFFF)] == [
        [254 - emax],
        [natural],
        [natural],
    ]


# subnormal maxima: byte 0 (numerics.md, B.5), but for INT8 under the rules that round up
@pytest.mark.parametrize(
    "element, amax, rule, byte",
    [
        *((element, 0x007FFFFF, rule, 0) for element in FLOATS for rule in ScaleRule),
        ("int8", 0x007FFFFF, "floor", 0),
        ("int8", 1, "pow2_ceil", 1),
        ("int8", 0x007EFFFF, "even", 0),
        ("int8", 0x007F0000, "even", 1),
        ("int8", 0x007F0002, "rceil", 1),
    ],
)
def test_scale_bytes_of_subnormal_maxima(element, amax, rule, byte):
    assert bytes_of(amax, element, [rule]) == [byte]


# numerics.md, B.1: 16-bit sources are exact sub-cases
@pytest.mark.parametrize(
    "source, amax, rule, byte",
    [
        ("bf16", 0x3FE0, "ceil", 119),
        ("bf16", 0x3FE1, "ceil", 120),
        ("bf16", 0x3FE1, "rceil", 120),
        ("bf16", 0x0001, "floor", 0),
        ("fp16", 0x3F00, "ceil", 119),
        ("fp16", 0x3F01, "ceil", 120),
        ("fp16", 0x7BFF, "floor", 134),
        ("fp16", 0x0001, "floor", 95),
    ],
)  # 2**-24: exponent field 103 of FP32
def test_scale_bytes_of_16_bit_maxima(source, amax, rule, byte):
    assert quantize_block([amax] + [0] * 31, numerics("e4m3", source=source, scale_rule=rule))[0] == byte


@pytest.mark.parametrize(
    "element, pattern, code",
    [
        ("e4m3", 0x3F800000, 0x78),  # 1.0 under byte 119 is 256
        ("e4m3", 0x3FE80000, 0x7E),  # 464, midway to 480, saturates
        ("e4m3", 0x3F880000, 0x78),
        ("e4m3", 0x3F980000, 0x7A),  # ties 272 and 304 go to even
        ("e4m3", 0xBF880001, 0xF9),  # one ulp above a tie
        ("e4m3", 0x36800000, 0x00),
        ("e4m3", 0x36800001, 0x01),  # half the smallest subnormal, and above
        ("e4m3", 0xB6800000, 0x80),  # the sign of what rounds to zero is kept
        ("e2m1", 0x3D800000, 0x0),
        ("e2m1", 0x3E400000, 0x2),  # 0.25 and 0.75 are ties
        ("e5m2", 0x3FF00000, 0x7B),  # 61440, midway to the missing 65536
        ("int8", 0x3FFFFFFF, 0x7F),
        ("int8", 0xBFFFFFFF, 0x81),  # clamped to +-127, never -128
        ("int8", 0xBC000000, 0x00),
        ("int8", 0xBC000001, 0xFF),
    ],
)  # ties to even at -1/128
def test_codes_of_known_inputs_under_floor(element, pattern, code):
    assert one(pattern, element) == code


# the same inputs under the roundings that look at less, and with ties toward zero: (element, pattern, rne, rna, rtz,
# rnz)
@pytest.mark.parametrize(
    "element, pattern, codes",
    [
        ("e4m3", 0x3F880000, [0x78, 0x79, 0x78, 0x78]),  # 272, a tie
        ("e4m3", 0x3F87FFFF, [0x78, 0x78, 0x78, 0x78]),
        ("e4m3", 0x3F880001, [0x79, 0x79, 0x78, 0x79]),
        ("e4m3", 0x3F8FFFFF, [0x79, 0x79, 0x78, 0x79]),
        ("e4m3", 0xBF980000, [0xFA, 0xFA, 0xF9, 0xF9]),  # -304, a tie: away and to even are the same
        ("e4m3", 0x36800000, [0x00, 0x01, 0x00, 0x00]),  # half the smallest subnormal
        ("e4m3", 0x367FFFFF, [0x00, 0x00, 0x00, 0x00]),
        ("e4m3", 0xB6FFFFFF, [0x81, 0x81, 0x80, 0x81]),
        ("e4m3", 0x3FFFFFFF, [0x7E, 0x7E, 0x7E, 0x7E]),  # saturates under all
        ("e2m1", 0x3D800000, [0x0, 0x1, 0x0, 0x0]),  # 0.25, then 0.75 and -5, all ties
        ("e2m1", 0x3E400000, [0x2, 0x2, 0x1, 0x1]),
        ("e2m1", 0xBFA00000, [0xE, 0xF, 0xE, 0xE]),
        ("e5m2", 0x3F900000, [0x78, 0x79, 0x78, 0x78]),  # 1.125 is a tie
        ("int8", 0xBC000000, [0x00, 0xFF, 0x00, 0x00]),
        ("int8", 0x3C000000, [0x00, 0x01, 0x00, 0x00]),
        ("int8", 0x3CC00000, [0x02, 0x02, 0x01, 0x01]),  # 1.5 / 64
        ("int8", 0xBFFFFFFF, [0x81, 0x81, 0x81, 0x81]),
    ],
)
def test_codes_of_known_inputs_under_the_roundings(element, pattern, codes):
    assert [one(pattern, element, rounding=rounding) for rounding in ("rne", "rna", "rtz", "rnz")] == codes


# numerics.md, C.3: multiples of the scale that are ties, and their codes; amax 4 makes X = 0
@pytest.mark.parametrize(
    "pattern, code",
    [
        (0x3E800000, 0),  # 0.25
        (0x3F400000, 1),  # 0.75
        (0x3FA00000, 2),  # 1.25
        (0x3FE00000, 3),  # 1.75
        (0x40200000, 4),  # 2.5
        (0x40600000, 5),  # 3.5
        (0x40A00000, 6),  # 5
    ],
)
def test_ties_toward_zero_are_those_of_ggml(pattern, code):
    assert one(pattern, "e2m1", byte_of=0x40800000, rounding="rnz") == code
    assert one(pattern + 1, "e2m1", byte_of=0x40800000, rounding="rnz") == code + 1
    assert one(pattern | 0x80000000, "e2m1", byte_of=0x40800000, rounding="rnz") == code | 8


# the sign of zero: of -0, of +0, and of what rounds to -0 and +0 (numerics.md, C.2: kept, or +0 as in ggml)
@pytest.mark.parametrize(
    "zero, codes",
    [
        ("signed", [0x8, 0x0, 0x8, 0x0]),
        ("positive", [0x0, 0x0, 0x0, 0x0]),
        ("taken_positive", [0x0, 0x0, 0x8, 0x0]),
        ("taken_negative", [0x8, 0x8, 0x8, 0x0]),
    ],
)
def test_the_sign_of_zero(zero, codes):
    block = [0x40800000, 0x80000000, 0x00000000, 0xBDCCCCCD, 0x3DCCCCCD]  # 4, -0, +0, -0.1, 0.1
    assert quantize_block(block, numerics("e2m1", zero=zero))[1] == [0x6, *codes]
    flushed = [0x40800000, 0x80000001, 0x00000001]
    rules = numerics("e2m1", zero=zero, input_subnormals="flush")
    assert quantize_block(flushed, rules)[1] == [0x6, *codes[:2]]
    assert quantize_block(block, numerics("int8", zero=zero))[1][1:3] == [0, 0]  # which has one zero


# no fraction bit: neighbours of E3M0 are 0, 1/4, 1/2, 1, 2, 4, 8, 16 with the codes 0 to 7; amax 16 makes X = 0
@pytest.mark.parametrize(
    "pattern, code",
    [
        (0x3E000000, 0),
        (0x3EC00000, 2),
        (0x3F400000, 2),
        (0x3FC00000, 4),
        (0x40400000, 4),
        (0x40C00000, 6),
        (0x41400000, 6),
        (0x3FC00001, 4),
        (0x403FFFFF, 4),
        (0x40400001, 5),
        (0x40BFFFFF, 5),
    ],
)
def test_ties_go_to_the_even_code_without_a_fraction_too(pattern, code):
    """1/8, 3/8, 3/4, 3/2, 3, 6 and 12 are midway (docs/numerics.md: ties to the even code)."""
    assert one(pattern, "e3m0", byte_of=0x41800000) == code
    assert one(pattern | 0x80000000, "e3m0", byte_of=0x41800000) == code | 8


# numerics.md, C.5, eight bits and E2M1: up for floor(256 f) of the 256 random numbers, the large ones; amax 4 makes X =
# 0
@pytest.mark.parametrize(
    "pattern, below, up",
    [
        (0x3DCCCCCD, 0x0, 51),  # 0.1 = 0.2 steps of 0.5: floor(51.2)
        (0x3F400000, 0x1, 128),  # 0.75, midway
        (0x3F7FFFFF, 0x1, 255),  # all but 1: not certain, for want of bits
        (0x40600000, 0x5, 128),  # 3.5, into the next binade
        (0x40A00000, 0x6, 128),
        (0x40000000, 0x4, 0),  # 5; 2, which is on the grid
        (0x3B000000, 0x0, 1),
        (0x3AFFFFFF, 0x0, 0),  # 1/256 of a step, and less
        (0x40E00000, 0x7, 0),
    ],
)  # 7 saturates, whatever the bits
def test_stochastic_rounding(pattern, below, up):
    rules = numerics("e2m1", rounding="sr", block_size=2)
    codes = [quantize_block([pattern, 0x40800000], rules, [bits, 0])[1][0] for bits in range(256)]
    assert codes == [below] * (256 - up) + [below + 1] * up
    negative = [quantize_block([pattern | 0x80000000, 0x40800000], rules, [bits, 0])[1][0] for bits in range(256)]
    assert negative == [code | 8 for code in codes]  # of the magnitude


# numerics.md, B.5, columns TE and torchao main: E4M3 blocks of one special element (or two) among 1.0s
ONE, NAN, INF, FLT_MAX = 0x3F800000, 0x7FC00000, 0x7F800000, 0x7F7FFFFF


@pytest.mark.parametrize(
    "block, te, torchao",
    [
        ([0] * 32, (0, [0x00] * 32), (0, [0x00] * 32)),
        ([0x80000000] * 32, (0, [0x80] * 32), (0, [0x80] * 32)),
        ([NAN] + [ONE] * 31, (119, [0x7F] + [0x78] * 31), (255, [0x7F] * 32)),
        ([NAN] * 32, (0, [0x7F] * 32), (255, [0x7F] * 32)),
        ([INF] + [ONE] * 31, (254, [0x7E] + [0x00] * 31), (255, [0x7F] * 32)),
        ([INF, NAN] + [ONE] * 30, (254, [0x7E, 0x7F] + [0x00] * 30), (255, [0x7F] * 32)),
        # C.2: NaN drops its sign
        ([INF | 1 << 31, NAN | 1 << 31] + [ONE] * 30, (254, [0xFE, 0x7F] + [0x00] * 30), (255, [0x7F] * 32)),
        ([FLT_MAX] + [ONE] * 31, (247, [0x78] + [0x00] * 31), (247, [0x78] + [0x00] * 31)),
        ([0x00400000] + [0] * 31, (0, [0x38] + [0x00] * 31), (0, [0x38] + [0x00] * 31)),  # 2**-127 under 2**-127
    ],
    ids=["zeros", "minus zeros", "NaN", "all NaN", "Inf", "Inf and NaN", "-Inf and -NaN", "FLT_MAX", "subnormal"],
)
def test_special_blocks_of_te_and_torchao(block, te, torchao):
    assert quantize_block(block, numerics("e4m3", "te")) == te
    assert quantize_block(block, numerics("e4m3", "torchao_rceil")) == torchao


@pytest.mark.parametrize(
    "element, largest, minus_largest",
    [("e3m2", 0x1F, 0x3F), ("e2m3", 0x1F, 0x3F), ("e2m1", 0x7, 0xF), ("int8", 0x7F, 0x81)],
)
def test_te_elements_of_formats_without_nan(element, largest, minus_largest):
    """C.2: NVIDIA's conversions give NaN +MAX, and Inf the largest number of its sign."""
    byte, codes = quantize_block([NAN, NAN | 1 << 31, INF, INF | 1 << 31] + [0] * 28, numerics(element, "te"))
    assert (byte, codes[:4]) == (254, [largest, largest, largest, minus_largest])


@pytest.mark.parametrize(
    "element, nan_codes, inf_codes",
    [  # FPGA paper, section III.C, as binary strings with sign 0
        ("e5m2", "01111110", "01111100"),
        ("e4m3", "01111110", "01111000"),
        ("e3m2", "011110", "011100"),
        ("e2m3", "011110", "011000"),
        ("e2m1", "0111", "0110"),
        ("int8", "01111111", "01111111"),
    ],
)
def test_signal_codes_of_inf_scale(element, nan_codes, inf_codes):
    rules = numerics(element, specials="inf_scale")
    bits = len(nan_codes)
    minus = {"int8": lambda c: (-c) % 256}.get(element, lambda c: c | 1 << (bits - 1))
    for special, byte, text in ((0x7FC00000, 0xFF, nan_codes), (0xFF800000, 0xFE, inf_codes)):
        scale, codes = quantize_block([special, 0xBF800000] + [0x3F800000] * 30, rules)
        code = int(text, 2)
        assert (scale, codes[1], codes[2]) == (byte, minus(code), code)


def test_nan_block_gives_the_canonical_nan_or_zero():
    for element in ELEMENTS:
        code = {"e5m2": 0x7F, "e4m3": 0x7F}.get(element, 0)
        for special in (0x7F800000, 0xFFC00001):
            assert quantize_block([special] + [0x3F800000] * 31, numerics(element)) == (255, [code] * 32)


def paper_element(pattern: int, byte: int, exp_bits: int, man_bits: int) -> int:
    """numerics.md, B.7, steps 4 and 5, on bit fields: the paper's element for a normal FP32 number at or below the
    block's largest exponent."""
    bias, exponent = 2 ** (exp_bits - 1) - 1, (pattern >> 23) & 255
    sign, t = (pattern >> 31) << (exp_bits + man_bits), byte + bias - exponent
    if t >= 2**exp_bits - 1:
        return sign
    field = 2 * bias - t
    leading = (pattern & 0x7FFFFF) >> (23 - man_bits - 1)
    mantissa = (leading >> 1) + (leading & 1)
    if mantissa == 2**man_bits:
        field, mantissa = (field, mantissa - 1) if field == 2 * bias else (field + 1, 0)
    return sign | field << man_bits | mantissa


@pytest.mark.parametrize("element", FLOATS)
def test_gorodecky_sousa_follows_the_published_steps(element):
    rules = numerics(element, "gorodecky_sousa")
    exp_bits, man_bits = int(element[1]), int(element[3])
    bias, checked = 2 ** (exp_bits - 1) - 1, 0
    for largest in (bias + 1, 100, 127, 200, 254):
        for exponent in range(max(largest - 2**exp_bits - 3, 1), largest + 1):
            fractions = [f << 19 for f in range(16)] + [0x7FFFFF, 0x0FFFFF, 0x5FFFFF]
            block = ([largest << 23] + [exponent << 23 | f | (f & 1 << 19) << 12 for f in fractions] + [0] * 32)[:32]
            byte, codes = quantize_block(block, rules)
            assert byte == largest - bias
            assert codes[:20] == [paper_element(v, byte, exp_bits, man_bits) for v in block[:20]]
            checked += 20
    assert checked > 500


def test_int8_is_symmetric():
    assert INT8.max_code == 127


# ---- other block formats, decoded by hand


@pytest.mark.parametrize(
    "block, scale, codes, more, numbers",
    [
        # NVFP4: 0x38 is 1 as UE4M3; E2M1 codes are 0.5 and -6; times the FP32 scale of the tensor
        ("nvfp4", 0x38, [0x1, 0xF], {"tensor_scale": Fraction(3, 4)}, [Fraction(3, 8), Fraction(-9, 2)]),
        ("nvfp4_32", 0x01, [0x7, 0x8], {}, [Fraction(6, 512), 0]),  # the smallest scale is 2^-9
        ("fp4_ue5m3", 0xFE, [0x7, 0x9], {}, [6 * 114688, -57344]),
        # MX9: seven bits of magnitude, the point behind the first; the second pair is shifted by one
        (
            "mx9",
            127,
            [0x7F, 0xC0, 0x40, 0x81],
            {"sub_scales": [0, 1]},
            [Fraction(127, 64), -1, Fraction(1, 2), Fraction(-1, 128)],
        ),
        ("mx6", 130, [0x0F, 0x18], {"sub_scales": [1]}, [Fraction(15, 2), -4]),  # 2^3, shifted
        ("mxfp8_e5m2", 126, [0x3C, 0xBC], {}, [Fraction(1, 2), Fraction(-1, 2)]),
        ("mxint8", 127, [0x81, 0x40], {}, [Fraction(-127, 64), 1]),
    ],
)
def test_other_blocks_are_decoded(block, scale, codes, more, numbers):
    found = dequantize_block(scale, codes, block_format(block).resized(len(codes)), **more)
    assert [number.value for number in found] == numbers


@pytest.mark.parametrize(
    "block, scale, codes, kinds",
    [
        ("nvfp4", 0x7F, [0x1, 0x0], ["nan", "nan"]),  # the scale is NaN
        ("mxfp8_e4m3", 255, [0x00, 0x7F], ["nan", "nan"]),
        ("mxfp8_e4m3", 0, [0x00, 0xFF], ["finite", "nan"]),
        ("mxfp8_e5m2", 127, [0x7C, 0xFC], ["inf", "inf"]),
    ],
)
def test_special_codes_are_decoded(block, scale, codes, kinds):
    found = dequantize_block(scale, codes, block_format(block).resized(len(codes)))
    assert [number.kind for number in found] == kinds


def test_a_divisor():
    block = replace(block_format("nvfp4").resized(1), tensor_scale=TensorScale(format=FP32, convention="divisor"))
    assert dequantize_block(0x38, [0x2], block, tensor_scale=Fraction(4))[0].value == Fraction(1, 4)


@pytest.mark.parametrize(
    "codes, more, sentence",
    [
        ([1], {}, "a block of mx9 has 4 elements, not 1"),
        ([1] * 4, {}, "a block of mx9 has 2 shifts of 1 bits"),
        ([1] * 4, {"sub_scales": [0, 2]}, "a block of mx9 has 2 shifts of 1 bits"),
    ],
)
def test_a_block_that_is_none(codes, more, sentence):
    with pytest.raises(ValueError, match=f"^{sentence}$"):
        dequantize_block(127, codes, block_format("mx9").resized(4), **more)
