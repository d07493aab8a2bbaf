"""Encoding and decoding undo each other as far as their rules allow, by enumeration.

What is decoded and encoded again is every block of a scale byte, a largest element and all elements up to it.
"""

import math

import numpy as np
import pytest

from mxcast.models import BlockArray, dequantize, quantize
from mxcast.models.arrays.codes import code_values
from mxcast.spec import BLOCKS, FP32, PROFILES, EncodedZero, ScaleRule, block_format, decoding, numerics
from mxcast.spec.profiles.resolve import like

FORMATS = [block.short_name for block in BLOCKS.values()]
SIZE = 128
PATTERNS = {"fp32": (np.uint32, np.uint32(0x7F800000)), "bf16": (np.uint16, np.uint16(0x7F80))}

GORODECKY = "gorodecky_sousa"
"""It flushes subnormal elements and saturates below the largest, so only INT8 comes back."""
ENCODERS = [
    (format, name)
    for format in FORMATS
    for name in PROFILES
    if like(numerics(format), name)
    and (name != GORODECKY or format == "int8")
    and name not in ("torchao_floor", "microxcaling")  # which are ocp
]
DECODERS = ["torchao", "gpt_oss", "ggml", "te"]
"""But for `ocp`. What `idma` reads no encoder writes: its bytes are signed."""


def all_blocks(format: str) -> np.ndarray:
    """(n, SIZE) codes: first the largest, then some of the finite codes that are not larger, zeros behind them."""
    values = code_values(block_format(format).element).astype(np.float64)
    codes = np.flatnonzero(np.isfinite(values))
    if format == "int8":
        codes = codes[codes != 0x80]  # which is never encoded
    rows = []
    for largest in codes[~np.signbit(values[codes])]:
        others = codes[np.abs(values[codes]) <= values[largest]]
        for start in range(0, len(others), SIZE - 1):
            row = np.append(largest, others[start : start + SIZE - 1])
            rows.append(np.pad(row, (0, SIZE - len(row))))
    return np.array(rows, np.uint8)


def exact(scales: np.ndarray, rules) -> np.ndarray:
    """Blocks of which no product is rounded when it is decoded: BF16 has no bits below 2^-133."""
    to = rules.source
    return scales - 127 + rules.block.element.lowest_exponent >= to.emin - to.man_bits


def there_and_back(format: str, encoder: str, decoder: str):
    """Bytes (n,), codes (n, SIZE) and numbers of all blocks whose numbers are finite; bytes, codes and numbers of what
    is encoded from these numbers. The numbers are patterns.
    """
    block, rows = block_format(format).resized(SIZE), all_blocks(format)
    rules = decoding(block, decoder)
    source = numerics(block, encoder).source.name
    destination = source if source != "fp32" else rules.destination.name
    encode = numerics(block, encoder, source=destination)
    scales, codes = np.repeat(np.arange(256), len(rows)).astype(np.uint8), np.tile(rows, (256, 1))
    dtype, inf = PATTERNS[destination]

    def decoded(scales: np.ndarray, codes: np.ndarray) -> np.ndarray:
        q = BlockArray(scales=scales[:, None], codes=codes, block=block)
        return dequantize(q, decoder, destination=destination)

    y = decoded(scales, codes)
    finite = ((y.view(dtype) & (inf | (inf - 1))) < inf).all(axis=1)
    scales, codes, y = scales[finite], codes[finite], y[finite]
    q = quantize(y, encode)
    again = q.scales[:, 0], q.codes, decoded(q.scales[:, 0], q.codes).view(dtype)
    return (scales.astype(int), codes, y.view(dtype)), (again[0].astype(int), *again[1:]), encode


def new_byte(scales: np.ndarray, largest: np.ndarray, rules) -> np.ndarray:
    """The byte under which a block is encoded again, by the scale rule: (n,) bytes and largest elements > 0."""
    element = rules.block.element
    exponents = np.frexp(largest)[1] - 1
    fractions = largest / 2.0**exponents
    up = {
        ScaleRule.CEIL: fractions > float(element.max_value) / 2.0**element.emax,
        ScaleRule.RCEIL: fractions > float(element.max_value) / 2.0**element.emax,
        ScaleRule.POW2_CEIL: fractions > 1,
        ScaleRule.EVEN1: fractions >= 1.75,
        ScaleRule.ROUND_LOG2: -(fractions < float(element.max_value) / 2.0**element.emax / 2**0.5).astype(int),
    }.get(rules.scale_rule, False)
    byte = scales + exponents - element.emax + up
    if element.name == "int8":  # an FP32 subnormal number counts as one of exponent field 0 (docs/numerics.md)
        subnormal = scales + exponents - 127 < FP32.emin
        if rules.scale_rule is ScaleRule.POW2_CEIL:
            byte = np.where(subnormal, 1, byte)
        if rules.scale_rule is ScaleRule.EVEN:
            byte = np.where(subnormal & (scales == 0) & (largest == float(element.max_value)), 1, byte)
    return byte.clip(0, 254)


def expected(first, rules) -> tuple[np.ndarray, np.ndarray]:
    """For each block the byte, and for each element whether its value times 2**(byte - new byte) is a number of the
    format, which is when the value comes back.
    """
    scales, codes, _ = first
    values = code_values(rules.block.element).astype(np.float64)
    largest = values[codes[:, 0]]
    byte = np.where(largest > 0, new_byte(scales, np.where(largest > 0, largest, 1), rules), 0)
    magnitudes = np.abs(values)
    moved = np.exp2(np.arange(-2, 256))[:, None] * magnitudes
    return byte, np.isin(moved, magnitudes[np.isfinite(magnitudes)])[(scales - byte + 2)[:, None], codes]


def without_signs_of_zeros(scales: np.ndarray, codes: np.ndarray, numbers: np.ndarray, rules) -> tuple:
    """Bytes, codes and numbers, in which every zero is +0."""
    magnitudes = codes & np.uint8(rules.block.element.magnitude_mask)
    _, inf = PATTERNS[rules.source.name]
    return scales, np.where(magnitudes, codes, 0), np.where(numbers & (inf | (inf - 1)), numbers, 0)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("format, encoder", ENCODERS)
def test_what_ocp_decodes_comes_back(format, encoder):
    first, again, rules = there_and_back(format, encoder, "ocp")
    if rules.zero is not EncodedZero.SIGNED:
        first, again = (without_signs_of_zeros(*side, rules) for side in (first, again))
    byte, kept = expected(first, rules)
    np.testing.assert_array_equal(again[0], byte)
    np.testing.assert_array_equal(first[2] == again[2], kept)
    whole = exact(first[0], rules)
    same = (first[0] == again[0]) & (first[1] == again[1]).all(axis=1)
    np.testing.assert_array_equal(same[whole], (byte == first[0])[whole])
    if rules.scale_rule in (ScaleRule.CEIL, ScaleRule.RCEIL):
        assert kept.all()
    top = code_values(rules.block.element)[first[1][:, 0]] >= 2.0**rules.block.element.emax
    others = (ScaleRule.POW2_CEIL, ScaleRule.EVEN1, ScaleRule.ROUND_LOG2)  # by which a number of the top binade moves
    if rules.scale_rule not in others and (format, encoder) != ("int8", "torchao_even"):
        assert same[top & whole].all()
    if format not in ("e4m3",) and rules.scale_rule is ScaleRule.FLOOR:
        assert kept.all()


@pytest.mark.sampled(3)
@pytest.mark.parametrize("decoder", DECODERS)
@pytest.mark.parametrize("format", FORMATS)
def test_what_other_profiles_decode_comes_back_under_ocp(format, decoder):
    first, again, rules = there_and_back(format, "ocp", decoder)
    byte, kept = expected(first, rules)
    same = first[1] == again[1]
    if decoder == "te":  # which reads byte 0 as a factor of 0
        zero = (first[2] & (PATTERNS["fp32"][1] | (PATTERNS["fp32"][1] - 1))) == 0
        byte[first[0] == 0] = 0
        kept = (kept & (byte > 0)[:, None] & (first[0] > 0)[:, None]) | zero
        same |= (first[0] == 0)[:, None]
        if format == "int8":  # which has one zero
            again[2][zero] = first[2][zero]
    if decoder == "ggml":  # which gives -0 as 0
        values = code_values(rules.block.element)
        same |= (values[first[1]] == 0) & np.signbit(values[first[1]])
    np.testing.assert_array_equal(again[0], byte)
    np.testing.assert_array_equal(first[2] == again[2], kept)
    assert same[(byte == first[0]) & exact(first[0], rules)].all()


def test_e4m3_has_no_480():
    """1.875 times a power of two is a number of E4M3 in every binade but the top one."""
    q = BlockArray(
        scales=np.array([[127]], np.uint8), codes=np.full((1, 32), 0x3F, np.uint8), block=block_format("e4m3")
    )
    again = quantize(dequantize(q), "e4m3")
    assert dequantize(q)[0, 0] == 1.875 and dequantize(again)[0, 0] == 1.75
    assert dequantize(quantize(dequantize(q), "e4m3", "nvidia"))[0, 0] == 1.875


# -- the error of encoding ---------------------------------------------------------------------------------------------

ROUNDINGS = ["rne", "rna", "rtz", "sr"]


def a_block_of_every_binade(format: str) -> np.ndarray:
    """(n, 128) BF16 patterns: a largest number of every exponent with one of three fractions, and all BF16 numbers in
    the binades below it down to where every format has zeros.
    """
    element = block_format(format).element
    binades = element.emax - element.lowest_exponent + 3
    rows = []
    for field in range(255):
        for fraction in (0, 0x60, 0x7F):
            largest = field << 7 | fraction
            below = np.arange(max((field - binades) << 7, 0), largest + 1)
            below = np.pad(below, (0, -len(below) % 127)).reshape(-1, 127)
            rows.append(np.column_stack([np.full(len(below), largest), below]))
    return np.concatenate(rows).astype(np.uint16)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("rounding", ROUNDINGS)
@pytest.mark.parametrize("scale_rule", ["floor", "ceil", "pow2_ceil"])
@pytest.mark.parametrize("format", ["e5m2", "e3m2", "e2m1", "int8"])
def test_the_error_is_at_most_half_a_step_or_a_step(format, scale_rule, rounding):
    x = a_block_of_every_binade(format)
    drawn = np.random.default_rng(3) if rounding == "sr" else None
    q = quantize(x, format, source="bf16", block_size=SIZE, scale_rule=scale_rule, rounding=rounding, random=drawn)
    element = q.block.element
    numbers = (x.astype(np.uint32) << 16).view(np.float32).astype(np.float64)
    factors = np.exp2(q.scales.astype(np.float64) - 127)
    quotients, decoded = numbers / factors, code_values(element)[q.codes].astype(np.float64)
    fraction_bits = element.frac_bits if format == "int8" else element.man_bits
    binades = np.maximum(np.frexp(quotients)[1] - 1, element.emin) if format != "int8" else 0
    steps = np.exp2(binades - float(fraction_bits))
    error, inside = np.abs(decoded - quotients), quotients <= float(element.max_value)
    assert inside.any() and (decoded[~inside] == float(element.max_value)).all()
    if rounding in ("rne", "rna"):
        assert (2 * error <= steps)[inside].all()
    else:
        assert (error < steps)[inside].all()
    if rounding == "rtz":
        assert (decoded <= quotients).all()
    assert (quotients < 2.0 ** (element.emax + 1)).all() or scale_rule != "floor"
    if scale_rule != "floor" and format != "int8":
        assert inside.all()
    assert math.isfinite(error.max())
