"""The exact definition against values from the standards, typed by hand."""

from fractions import Fraction

import pytest

from mxcast.models.exact import decode, element_value, quantize_block, shared_exponent
from mxcast.spec import BLOCKS, FP32, INT8, numerics


def one(pattern: int, element: str, profile: str = "ocp", byte_of: int = 0x3F800000, **rules) -> int:
    """Code of one element in a block whose maximum is given too (1.0 unless said)."""
    return quantize_block([pattern, byte_of] + [0] * 30, numerics(element, profile, **rules))[1][0]


@pytest.mark.parametrize("pattern, value", [
    (0x3F800000, Fraction(1)), (0x40490FDB, Fraction(13176795, 4194304)), (0x00000001, Fraction(1, 2**149)),
    (0x007FFFFF, Fraction(2**23 - 1, 2**149)), (0x00800000, Fraction(1, 2**126)), (0x7F7FFFFF, Fraction((2**24 - 1) * 2**104))])
def test_decode_follows_ieee_754(pattern, value):
    assert decode(pattern, FP32).magnitude == value


# OCP MX v1.0, tables 2 to 5, and OFP8, table 1: (element, code, value)
@pytest.mark.parametrize("element, code, value", [
    ("e5m2", 0x7B, 57344), ("e5m2", 0x04, Fraction(1, 2**14)), ("e5m2", 0x01, Fraction(1, 2**16)), ("e5m2", 0x03, Fraction(3, 2**16)),
    ("e4m3", 0x7E, 448), ("e4m3", 0x08, Fraction(1, 2**6)), ("e4m3", 0x01, Fraction(1, 2**9)), ("e4m3", 0x07, Fraction(7, 2**9)),
    ("e3m2", 0x1F, 28), ("e3m2", 0x04, Fraction(1, 4)), ("e3m2", 0x01, Fraction(1, 16)), ("e3m2", 0x03, Fraction(3, 16)),
    ("e2m3", 0x1F, Fraction(15, 2)), ("e2m3", 0x08, 1), ("e2m3", 0x01, Fraction(1, 8)), ("e2m3", 0x07, Fraction(7, 8)),
    *(("e2m1", code, value) for code, value in enumerate([0, Fraction(1, 2), 1, Fraction(3, 2), 2, 3, 4, 6])),
    ("int8", 0x7F, Fraction(127, 64)), ("int8", 0x01, Fraction(1, 64)), ("int8", 0x40, 1)])
def test_element_values_are_those_of_the_standard(element, code, value):
    block = next(b for b in BLOCKS.values() if b.short_name == element)
    assert element_value(code, block.element) == value


@pytest.mark.parametrize("element, rule, amax, byte", [
    ("e4m3", "floor", 0x3F800000, 119),        # 1.0: X = 0 - 8
    ("e4m3", "floor", 0x3FFFFFFF, 119),
    ("e4m3", "floor", 0x7F7FFFFF, 246),        # FLT_MAX (numerics.md, B.5)
    ("e4m3", "ceil", 0x7F7FFFFF, 247),
    ("e4m3", "ceil", 0x3FE00000, 119),         # 1.75 is 448 * 2**-8 exactly
    ("e4m3", "ceil", 0x3FE00001, 120),         # one ulp more does not fit
    ("e4m3", "ceil", 0x04600000, 0), ("e4m3", "ceil", 0x04600001, 1),    # the one pattern that FP32 arithmetic misses
    ("e5m2", "ceil", 0x07E00000, 0), ("e5m2", "ceil", 0x07E00001, 1),
    ("e3m2", "ceil", 0x02600001, 1), ("e2m3", "ceil", 0x01700001, 1), ("e2m1", "ceil", 0x01400001, 1),
    ("e2m1", "ceil", 0x3FC00000, 125), ("e2m1", "ceil", 0x3FC00001, 126),
    ("e2m1", "floor", 0x40400000, 126),        # 3.0
    ("e4m3", "bias_floor", 0x3F800000, 120),   # 0 - 7: the paper subtracts the bias
    ("e2m1", "bias_floor", 0x40400000, 127), ("e5m2", "bias_floor", 0x3F800000, 112),
    ("e5m2", "floor", 0x007FFFFF, 0), ("e5m2", "ceil", 0x007FFFFF, 0),   # subnormal maxima clamp
    ("int8", "floor", 0x3F800000, 127), ("int8", "ceil", 0x3FFE0000, 127), ("int8", "ceil", 0x3FFE0001, 128),
    ("int8", "ceil", 0x007F0000, 0), ("int8", "ceil", 0x007F0001, 1),    # the only subnormals that move a byte
    ("int8", "ceil", 0x7F7FFFFF, 254),         # X = 128 is beyond E8M0
    ("e4m3", "floor", 0, 0), ("int8", "ceil", 0, 0)])
def test_scale_bytes_of_known_maxima(element, rule, amax, byte):
    rules = numerics(element, scale_rule=rule)
    assert shared_exponent(decode(amax, FP32).magnitude, rules) + 127 == byte


@pytest.mark.parametrize("element, pattern, code", [
    ("e4m3", 0x3F800000, 0x78),                # 1.0 under byte 119 is 256
    ("e4m3", 0x3FE80000, 0x7E),                # 464, midway to 480, saturates
    ("e4m3", 0x3F880000, 0x78), ("e4m3", 0x3F980000, 0x7A),              # ties 272 and 304 go to even
    ("e4m3", 0xBF880001, 0xF9),                # one ulp above a tie
    ("e4m3", 0x36800000, 0x00), ("e4m3", 0x36800001, 0x01),              # half the smallest subnormal, and above
    ("e4m3", 0xB6800000, 0x80),                # the sign of what rounds to zero is kept
    ("e2m1", 0x3D800000, 0x0), ("e2m1", 0x3E400000, 0x2),                # 0.25 and 0.75 are ties
    ("e5m2", 0x3FF00000, 0x7B),                # 61440, midway to the missing 65536
    ("int8", 0x3FFFFFFF, 0x7F), ("int8", 0xBFFFFFFF, 0x81),              # clamped to +-127, never -128
    ("int8", 0xBC000000, 0x00), ("int8", 0xBC000001, 0xFF)])             # ties to even at -1/128
def test_codes_of_known_inputs_under_floor(element, pattern, code):
    assert one(pattern, element) == code


@pytest.mark.parametrize("element, nan_codes, inf_codes", [   # FPGA paper, section III.C, as binary strings with sign 0
    ("e5m2", "01111110", "01111100"), ("e4m3", "01111110", "01111000"), ("e3m2", "011110", "011100"),
    ("e2m3", "011110", "011000"), ("e2m1", "0111", "0110"), ("int8", "01111111", "01111111")])
def test_signal_codes_of_inf_scale(element, nan_codes, inf_codes):
    rules = numerics(element, specials="inf_scale")
    bits = len(nan_codes)
    minus = {"int8": lambda c: (-c) % 256}.get(element, lambda c: c | 1 << (bits - 1))
    for special, byte, text in ((0x7FC00000, 0xFF, nan_codes), (0xFF800000, 0xFE, inf_codes)):
        scale, codes = quantize_block([special, 0xBF800000] + [0x3F800000] * 30, rules)
        code = int(text, 2)
        assert (scale, codes[1], codes[2]) == (byte, minus(code), code)


def test_nan_block_gives_the_canonical_nan_or_zero():
    for element, code in (("e5m2", 0x7F), ("e4m3", 0x7F), ("e3m2", 0), ("e2m3", 0), ("e2m1", 0), ("int8", 0)):
        for special in (0x7F800000, 0xFFC00001):
            assert quantize_block([special] + [0x3F800000] * 31, numerics(element)) == (255, [code] * 32)


def paper_element(pattern: int, byte: int, exp_bits: int, man_bits: int) -> int:
    """numerics.md, B.7, steps 4 and 5, on bit fields: the paper's element for a normal FP32 number at or below the
    block's largest exponent."""
    bias, exponent = 2 ** (exp_bits - 1) - 1, (pattern >> 23) & 255
    sign, t = (pattern >> 31) << (exp_bits + man_bits), byte + bias - exponent
    if t >= 2 ** exp_bits - 1:
        return sign
    field = 2 * bias - t
    leading = (pattern & 0x7FFFFF) >> (23 - man_bits - 1)
    mantissa = (leading >> 1) + (leading & 1)
    if mantissa == 2 ** man_bits:
        field, mantissa = (field, mantissa - 1) if field == 2 * bias else (field + 1, 0)
    return sign | field << man_bits | mantissa


@pytest.mark.parametrize("element", ["e5m2", "e4m3", "e3m2", "e2m3", "e2m1"])
def test_gorodecky_sousa_follows_the_published_steps(element):
    rules = numerics(element, "gorodecky_sousa")
    exp_bits, man_bits = int(element[1]), int(element[3])
    bias, checked = 2 ** (exp_bits - 1) - 1, 0
    for largest in (bias + 1, 100, 127, 200, 254):
        for exponent in range(max(largest - 2 ** exp_bits - 3, 1), largest + 1):
            fractions = [f << 19 for f in range(16)] + [0x7FFFFF, 0x0FFFFF, 0x5FFFFF]
            block = ([largest << 23] + [exponent << 23 | f | (f & 1 << 19) << 12 for f in fractions] + [0] * 32)[:32]
            byte, codes = quantize_block(block, rules)
            assert byte == largest - bias
            assert codes[:20] == [paper_element(v, byte, exp_bits, man_bits) for v in block[:20]]
            checked += 20
    assert checked > 500


def test_int8_is_symmetric():
    assert INT8.max_code == 127
