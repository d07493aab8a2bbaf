"""Formats against the tables of the standards: OCP OFP8 v1.0 table 1, OCP MX v1.0 tables 1 to 5, IEEE 754-2019 table
3.5.
"""

from __future__ import annotations

import dataclasses
import json
from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest

from mxcast.spec import (
    BF16,
    BLOCK_SIZES,
    BLOCKS,
    E2M1,
    E2M3,
    E3M2,
    E4M3,
    E4M3FNUZ,
    E5M2,
    E5M2FNUZ,
    E8M0,
    ELEMENTS,
    FP16,
    FP32,
    INT8,
    OTHER_BLOCKS,
    SCALARS,
    SOURCES,
    TF32,
    UE4M3,
    UE5M3,
    BlockFormat,
    Convention,
    Encode,
    FixedFormat,
    FloatFormat,
    SpecialCodes,
    block_format,
    casting,
    decoding,
    element_format,
    numerics,
    signal_codes,
    source_format,
)
from mxcast.spec.formats.names import named_blocks
from mxcast.spec.formats.number import OTHER_ELEMENTS
from mxcast.spec.profiles.resolve import resolved

F = Fraction


def value(element: FloatFormat, code: int) -> Fraction:
    """The number that a positive code stands for, by the definition of the formats and from their widths alone."""
    field, fraction = code >> element.man_bits, code & ((1 << element.man_bits) - 1)
    if field == 0:
        return F(fraction, 1 << element.man_bits) * F(2) ** (1 - element.bias)
    return (1 + F(fraction, 1 << element.man_bits)) * F(2) ** (field - element.bias)


# format, bits, exponent bits, mantissa bits, bias, emax, largest number and its code, smallest normal, smallest
# subnormal
@pytest.mark.parametrize(
    "element, bits, exp_bits, man_bits, bias, emax, max_value, max_code, min_normal, min_subnormal",
    [
        (E5M2, 8, 5, 2, 15, 15, 57344, 0x7B, F(2) ** -14, F(2) ** -16),  # OFP8 table 1; 1.75 * 2**15
        (E4M3, 8, 4, 3, 7, 8, 448, 0x7E, F(2) ** -6, F(2) ** -9),  # OFP8 table 1; 1.75 * 2**8
        (E3M2, 6, 3, 2, 3, 4, 28, 0x1F, F(1, 4), F(1, 16)),  # MX table 3
        (E2M3, 6, 2, 3, 1, 2, F(15, 2), 0x1F, 1, F(1, 8)),  # MX table 3
        (E2M1, 4, 2, 1, 1, 2, 6, 0x7, 1, F(1, 2)),  # MX table 5
        (FP16, 16, 5, 10, 15, 15, 65504, 0x7BFF, F(2) ** -14, F(2) ** -24),  # binary16
        (BF16, 16, 8, 7, 127, 127, F(255, 128) * 2**127, 0x7F7F, F(2) ** -126, F(2) ** -133),
        (FP32, 32, 8, 23, 127, 127, (2 - F(2) ** -23) * 2**127, 0x7F7FFFFF, F(2) ** -126, F(2) ** -149),  # binary32
        (TF32, 19, 8, 10, 127, 127, (2 - F(2) ** -10) * 2**127, 0x3FBFF, F(2) ** -126, F(2) ** -136),  # A100 whitepaper
    ],
    ids=lambda p: getattr(p, "name", None),
)
def test_floating_point_table(
    element, bits, exp_bits, man_bits, bias, emax, max_value, max_code, min_normal, min_subnormal
):
    assert (element.bits, element.exp_bits, element.man_bits, element.bias) == (bits, exp_bits, man_bits, bias)
    assert (element.emax, element.max_value, element.max_code) == (emax, max_value, max_code)
    assert F(2) ** element.emin == min_normal == value(element, 1 << man_bits)
    assert F(2) ** (element.emin - element.man_bits) == min_subnormal == value(element, 1)
    assert value(element, max_code) == max_value
    assert element.sign_mask == 1 << (bits - 1)
    assert element.magnitude_mask == (1 << (bits - 1)) - 1


def test_all_numbers_of_e2m1():
    """MX table 5 prints them all."""
    assert [value(E2M1, code) for code in range(8)] == [0, F(1, 2), 1, F(3, 2), 2, 3, 4, 6]


# format, kind, codes that are Inf, codes that are NaN (positive ones), the canonical NaN
@pytest.mark.parametrize(
    "element, specials, infs, nans, nan_code",
    [
        (E5M2, "ieee", [0x7C], [0x7D, 0x7E, 0x7F], 0x7F),  # OFP8 table 1: S.11111.00 and S.11111.{01, 10, 11}
        (E4M3, "nan_only", [], [0x7F], 0x7F),  # OFP8 table 1: S.1111.111 and no Inf
        (E3M2, "none", [], [], None),  # MX section 5.3.2
        (E2M3, "none", [], [], None),  # MX section 5.3.2
        (E2M1, "none", [], [], None),  # MX section 5.3.3
    ],
    ids=lambda p: getattr(p, "name", None),
)
def test_special_codes(element, specials, infs, nans, nan_code):
    assert element.specials is SpecialCodes(specials)
    assert element.nan_code == nan_code
    # the special codes are those above the largest number
    assert list(range(element.max_code + 1, element.magnitude_mask + 1)) == infs + nans


def test_int8():
    """MX section 5.3.4: two's complement with six fraction bits, largest magnitude 1 63/64; -2 is left unused."""
    assert (INT8.bits, INT8.frac_bits, INT8.lowest, INT8.highest) == (8, 6, -127, 127)
    assert [INT8.decode(code).value for code in (0x7F, 0x40, 1, 0, 0xFF, 0x81, 0x80)] == [
        F(127, 64),
        1,
        F(1, 64),
        0,
        F(-1, 64),
        F(-127, 64),
        -2,
    ]
    assert (INT8.max_code, INT8.max_value, INT8.emax, INT8.nan_code) == (0x7F, 1 + F(63, 64), 0, None)


def test_e8m0():
    """MX section 5.4.1: 0x00 is 2**-127, 0xFE is 2**127, 0xFF is NaN; no zero, no Inf."""
    assert (E8M0.bits, E8M0.exp_bits, E8M0.man_bits, E8M0.bias) == (8, 8, 0, 127)
    assert (E8M0.max_code, E8M0.nan_code, E8M0.is_power_of_two) == (0xFE, 0xFF, True)
    assert (E8M0.emin, E8M0.emax) == (-127, 127)
    assert [E8M0.decode(code).value for code in range(0xFF)] == [F(2) ** (code - 127) for code in range(0xFF)]
    assert E8M0.decode(0xFF).kind == "nan"


@pytest.mark.parametrize(
    "scale, bits, smallest, largest, max_code, nan_code",
    [
        (UE4M3, 7, F(1, 2**9), 448, 0x7E, 0x7F),  # E4M3 of OFP8 without its sign
        (UE5M3, 8, F(1, 2**17), 114688, 0xFE, 0xFF),  # CUDA 13.4
    ],
    ids=lambda p: getattr(p, "name", None),
)
def test_scales_of_nvidia(scale, bits, smallest, largest, max_code, nan_code):
    assert (scale.bits, scale.max_value, scale.max_code, scale.nan_code, scale.sign_mask) == (
        bits,
        largest,
        max_code,
        nan_code,
        0,
    )
    assert (scale.decode(0).value, scale.decode(1).value, scale.decode(nan_code).kind) == (0, smallest, "nan")
    assert not scale.is_power_of_two


@pytest.mark.parametrize("element", [E5M2, E4M3, E3M2, E2M3, E2M1, FP16, BF16], ids=lambda e: e.name)
def test_every_code_is_decoded_as_by_ml_dtypes(element):
    """Widened by another library, NaN and Inf included."""
    names = {
        E5M2: "float8_e5m2",
        E4M3: "float8_e4m3fn",
        E3M2: "float6_e3m2fn",
        E2M3: "float6_e2m3fn",
        E2M1: "float4_e2m1fn",
        FP16: np.float16,
        BF16: "bfloat16",
    }
    codes = np.arange(1 << element.bits).astype(f"u{-(-element.bits // 8)}")
    with np.errstate(invalid="ignore"):  # signalling NaN
        theirs = codes.view(
            getattr(ml_dtypes, names[element]) if isinstance(names[element], str) else names[element]
        ).astype(np.float64)
    for code, number in enumerate(theirs):
        ours = element.decode(code)
        assert ours.kind == ("nan" if np.isnan(number) else "inf" if np.isinf(number) else "finite")
        assert ours.kind == "nan" or ours.negative == bool(np.signbit(number))
        assert ours.kind != "finite" or ours.value == F(number)


def test_a_code_beyond_the_format():
    with pytest.raises(ValueError, match="^a code of e2m1 has 4 bits, not the value 16$"):
        E2M1.decode(16)
    with pytest.raises(ValueError, match="^e8m0 has no sign$"):
        E8M0.signed_code(127, True)
    with pytest.raises(ValueError, match="^nan is not a number$"):
        _ = E4M3.decode(0x7F).value


# the magnitudes that the FPGA paper's section III.C gives to every element of an Inf and of a NaN block
@pytest.mark.parametrize(
    "element, inf, nan",
    [
        (E5M2, "1111100", "1111110"),
        (E4M3, "1111000", "1111110"),
        (E3M2, "11100", "11110"),
        (E2M3, "11000", "11110"),  # Inf is misprinted with four digits
        (E2M1, "110", "111"),  # of one mantissa bit, so NaN is all ones
        (INT8, "1111111", "1111111"),  # 127 for both
    ],
    ids=lambda p: getattr(p, "name", None),
)
def test_signal_codes(element, inf, nan):
    assert signal_codes(element) == (int(inf, 2), int(nan, 2))


# OCP MX v1.0, table 1
@pytest.mark.parametrize(
    "name, short, element",
    [
        ("mxfp8_e5m2", "e5m2", E5M2),
        ("mxfp8_e4m3", "e4m3", E4M3),
        ("mxfp6_e3m2", "e3m2", E3M2),
        ("mxfp6_e2m3", "e2m3", E2M3),
        ("mxfp4_e2m1", "e2m1", E2M1),
        ("mxint8", "int8", INT8),
    ],
)
def test_blocks(name, short, element):
    block = block_format(name)
    assert block is block_format(short) is block_format(block) is BLOCKS[name]
    assert (block.name, block.short_name) == (name, short)
    assert (block.element, block.scale, block.shape, block.block_size) == (element, E8M0, (32,), 32)
    assert block.tensor_scale is None and block.sub_scale is None


# layouts.md, "Formats that the descriptor of formats must be able to express as data"
@pytest.mark.parametrize(
    "name, element_bits, scale, shape, bits_each",
    [
        ("nvfp4", 4, E4M3, (16,), F(9, 2)),
        ("nvfp4_32", 4, E4M3, (32,), F(17, 4)),
        ("nvfp4_2d", 4, E4M3, (16, 16), F(4) + F(1, 32)),
        ("fp4_ue5m3", 4, UE5M3, (16,), F(9, 2)),
        ("mx6", 5, E8M0, (16,), F(6)),  # the names count the bits of a number: 5 + 8/16 + 1/2
        ("mx9", 8, E8M0, (16,), F(9)),
    ],
)
def test_other_blocks(name, element_bits, scale, shape, bits_each):
    block = block_format(name)
    assert block is OTHER_BLOCKS[name] and (block.element.bits, block.scale, block.shape) == (
        element_bits,
        scale,
        shape,
    )
    shared = F(scale.bits, block.block_size) + (F(block.sub_scale.bits, block.sub_scale.size) if block.sub_scale else 0)
    assert block.element.bits + shared == bits_each
    if name.startswith("nvfp4"):
        assert block.tensor_scale.format is FP32 and block.tensor_scale.convention is Convention.MULTIPLIER


def test_the_catalogue_is_that_of_the_standard():
    assert len(BLOCKS) == 6
    assert BLOCK_SIZES == (2, 4, 8, 16, 32, 64, 128)
    assert list(SOURCES) == ["fp32", "bf16", "fp16"]
    assert source_format("fp32") is source_format(FP32) is FP32


FLOAT = {"name": "t", "exp_bits": 4, "man_bits": 3, "bias": 7, "specials": "none", "source": "a test"}
FIXED = {"name": "t", "bits": 8, "frac_bits": 6, "lowest": -127, "highest": 127, "source": "a test"}
BLOCK = {"name": "t", "element": E4M3, "scale": E8M0}


@pytest.mark.parametrize(
    "make, fields, sentence",
    [
        (FloatFormat, FLOAT | {"exp_bits": 0}, "exp_bits must be 1 to 11, not 0"),
        (FloatFormat, FLOAT | {"exp_bits": 12}, "exp_bits must be 1 to 11, not 12"),  # beyond binary64
        (FloatFormat, FLOAT | {"man_bits": -1}, "man_bits must be 0 to 52, not -1"),
        (FloatFormat, FLOAT | {"man_bits": 53}, "man_bits must be 0 to 52, not 53"),
        (FloatFormat, FLOAT | {"specials": "iee"}, "unknown specials 'iee': did you mean 'ieee'?"),
        (
            FloatFormat,
            FLOAT | {"exp_bits": 1, "man_bits": 0, "specials": "nan_only"},  # 0 and NaN
            "t has no normal number: its top exponent field is special",
        ),
        (
            FloatFormat,
            FLOAT | {"exp_bits": 1, "specials": "ieee"},
            "t has no normal number: its top exponent field is special",
        ),
        (FloatFormat, FLOAT | {"man_bits": 0, "specials": "ieee"}, "t must have a fraction bit to tell NaN from Inf"),
        (FixedFormat, FIXED | {"bits": 1}, "bits must be 2 to 16, not 1"),  # a sign and nothing else
        (FixedFormat, FIXED | {"bits": 17}, "bits must be 2 to 16, not 17"),
        (FixedFormat, FIXED | {"frac_bits": 8}, "frac_bits must be 0 to 7, not 8"),  # a fraction bit for the sign
        (FixedFormat, FIXED | {"frac_bits": -1}, "frac_bits must be 0 to 7, not -1"),
        (FixedFormat, FIXED | {"highest": 128}, "8 bits hold the integers -128 to 127, not -127 to 128"),
        (FixedFormat, FIXED | {"lowest": -129}, "8 bits hold the integers -128 to 127, not -129 to 127"),
        (
            FixedFormat,
            FIXED | {"lowest": -128, "negatives": "sign_magnitude"},
            "8 bits hold the integers -127 to 127, not -128 to 127",
        ),
        (
            FixedFormat,
            FIXED | {"negatives": "ones"},
            "unknown negatives 'ones': known are twos_complement, sign_magnitude",
        ),
        *(
            (BlockFormat, BLOCK | {"shape": shape}, f"the shape of a block must be positive integers, not {shape}")
            for shape in ((), (0,), (2, -2), (32.0,), (True,))
        ),
    ],
)
def test_impossible_formats(make, fields, sentence):
    with pytest.raises(ValueError) as error:
        make(**fields)
    assert str(error.value) == sentence


@pytest.mark.parametrize(
    "exp_bits, man_bits, bias, max_value",
    [
        (1, 0, 0, 2),  # the smallest format there is: 0 and 2
        (1, 3, 0, F(15, 4)),  # subnormals below 2
        (3, 0, 3, 16),  # powers of two
        (11, 52, 1023, (2 - F(2) ** -52) * F(2) ** 1024),
    ],
)
def test_any_exmy_is_a_format(exp_bits, man_bits, bias, max_value):
    made = FloatFormat(**FLOAT | {"exp_bits": exp_bits, "man_bits": man_bits, "bias": bias})
    assert made.max_value == max_value == value(made, made.max_code)


@pytest.mark.parametrize("kind", [None, BLOCKS["mxint8"], "mxint8"])
def test_a_block_has_an_element_and_a_scale(kind):
    with pytest.raises(TypeError, match="^t must have an element format and a scale format$"):
        BlockFormat(**BLOCK | {"element": kind})


# ---- names that spell a format


# The IEEE-like formats of ml_dtypes under their names there: bias, largest number, smallest normal and smallest
# subnormal number
@pytest.mark.parametrize(
    "name, dtype, bias, max_value, min_normal, min_subnormal",
    [
        ("e3m4_ieee", "float8_e3m4", 3, 15.5, 2.0**-2, 2.0**-6),
        ("e4m3_ieee", "float8_e4m3", 7, 240, 2.0**-6, 2.0**-9),
        ("e5m2_ieee", "float8_e5m2", 15, 57344, 2.0**-14, 2.0**-16),
        ("e4m3_nan_only", "float8_e4m3fn", 7, 448, 2.0**-6, 2.0**-9),
        ("e3m2_none", "float6_e3m2fn", 3, 28, 2.0**-2, 2.0**-4),
    ],
)
def test_spelt_formats_are_those_of_ml_dtypes(name, dtype, bias, max_value, min_normal, min_subnormal):
    element, theirs = element_format(name), getattr(ml_dtypes, dtype)
    assert (element.bias, element.max_value, F(2) ** element.emin) == (bias, max_value, min_normal)
    assert value(element, 1) == min_subnormal
    info = ml_dtypes.finfo(theirs)
    assert (info.nexp, info.nmant, info.bits) == (element.exp_bits, element.man_bits, element.bits)
    assert [float(n) for n in (info.max, info.smallest_normal, info.smallest_subnormal)] == [
        max_value,
        min_normal,
        min_subnormal,
    ]
    codes = np.arange(element.sign_mask, dtype=np.uint8)
    numbers = codes.view(theirs).astype(np.float64)
    assert [value(element, int(code)) for code in codes[: element.max_code + 1]] == list(
        map(F, numbers[: element.max_code + 1])
    )
    infs, nans = np.flatnonzero(np.isinf(numbers)).tolist(), np.flatnonzero(np.isnan(numbers)).tolist()
    assert infs == ([element.max_code + 1] if element.specials is SpecialCodes.IEEE else [])
    assert infs + nans == list(range(element.max_code + 1, element.sign_mask))
    assert (element.nan_code in nans) if nans else element.nan_code is None


# name, its block format, bits, bias, emax, largest number and its code, smallest subnormal (by `element_format`)
@pytest.mark.parametrize(
    "name, block, bits, bias, emax, max_value, max_code, min_subnormal",
    [
        ("e3m3", "mxfp7_e3m3", 7, 3, 4, 30, 0x3F, F(1, 32)),  # 1.875 * 2**4
        (
            "e5m10",
            "mxfp16_e5m10",
            16,
            15,
            16,
            131008,
            0x7FFF,
            F(2) ** -24,
        ),  # binary16 whose top field is one of numbers
        ("e5m10_ieee", "mxfp16_e5m10_ieee", 16, 15, 15, 65504, 0x7BFF, F(2) ** -24),  # binary16
        ("e3m0", "mxfp4_e3m0", 4, 3, 4, 16, 0x7, F(1, 4)),  # no fraction: code 1 is the smallest normal number
        ("e2m0_nan_only", "mxfp3_e2m0_nan_only", 3, 1, 1, 2, 0x2, 1),
        ("e1m2", "mxfp4_e1m2", 4, 0, 1, F(7, 2), 0x7, F(1, 2)),  # subnormals up to 1.5, then 2 to 3.5: fixed point
        ("e4m3_none", "mxfp8_e4m3_none", 8, 7, 8, 480, 0x7F, F(2) ** -9),  # every code a number
        ("e2m1_ieee", "mxfp4_e2m1_ieee", 4, 1, 1, 3, 0x5, F(1, 2)),
    ],
)
def test_spelt_floating_point_formats(name, block, bits, bias, emax, max_value, max_code, min_subnormal):
    made = block_format(name)
    assert made == block_format(block) and (made.name, made.short_name) == (block, name)
    element = made.element
    assert (element.bits, element.bias, element.emax) == (bits, bias, emax)
    assert (element.max_value, element.max_code) == (max_value, max_code)
    assert value(element, max_code) == max_value and value(element, 1) == min_subnormal
    assert (made.scale, made.block_size) == (E8M0, 32)


@pytest.mark.parametrize(
    "name, bits, max_value",
    [
        ("int2", 2, 1),  # -1, 0, 1
        ("int4", 4, F(7, 4)),
        ("int16", 16, F(32767, 16384)),
        ("mxint6", 6, F(31, 16)),
    ],
)
def test_spelt_fixed_point_formats(name, bits, max_value):
    element = element_format(name)
    assert (element.name, element.bits, element.max_value, element.emax) == (f"int{bits}", bits, max_value, 0)
    assert block_format(name).name == f"mxint{bits}"


@pytest.mark.parametrize(
    "name, standard",
    [
        ("e4m3_nan_only", E4M3),
        ("e5m2_ieee", E5M2),
        ("e3m2_none", E3M2),
        ("e2m3_none", E2M3),
        ("e2m1_none", E2M1),
        ("mxint8", INT8),
        ("mxfp8_e4m3_nan_only", E4M3),
        ("mxfp4", E2M1),
        ("MXFP4", E2M1),
    ],
)
def test_another_spelling_of_a_standard_format(name, standard):
    assert element_format(name) is standard
    assert block_format(name) is block_format(standard) is BLOCKS[block_format(name).name]


@pytest.mark.parametrize("format, theirs", [(E4M3FNUZ, "float8_e4m3fnuz"), (E5M2FNUZ, "float8_e5m2fnuz")])
def test_formats_without_negative_zero(format, theirs):
    """Every code has the value of ml_dtypes; blocks have no such elements."""
    values = np.arange(256, dtype=np.uint8).view(getattr(ml_dtypes, theirs)).astype(np.float64)
    numbers = [format.decode(code) for code in range(256)]
    assert [number.kind for number in numbers] == ["nan" if np.isnan(value) else "finite" for value in values]
    assert all(np.isnan(value) or number.value == F(value) for number, value in zip(numbers, values))
    assert (format.nan_code, format.signed_zero, format.signed_code(0, negative=True)) == (0x80, False, 0)
    assert float(format.max_value) == float(ml_dtypes.finfo(theirs).max)
    mine = dataclasses.replace(format, name="mine")
    for make in (numerics, decoding):
        with pytest.raises(ValueError, match="^mine is a format of casts, not of elements: its negative zero is NaN$"):
            make(mine)
    with pytest.raises(ValueError, match="^mine must have a sign and a zero, as negative zero is its NaN$"):
        dataclasses.replace(mine, signed=False)


# ---- formats of one's own

OWN = [
    FloatFormat(
        **FLOAT | {"name": "e4m3b11", "bias": 11, "specials": "nan_only"}
    ),  # another bias than its fields suggest
    FloatFormat(**FLOAT | {"name": "log5", "exp_bits": 5, "man_bits": 0, "bias": 0}),
    FixedFormat(**FIXED | {"name": "q4_4", "bits": 9, "frac_bits": 4, "lowest": -255, "highest": 255}),
]


@pytest.mark.parametrize("element", OWN, ids=lambda e: e.name)
def test_a_format_of_ones_own(element):
    block = block_format(element)
    assert block.element == element and block.name.startswith("mx") and block.name.endswith(element.name)
    rules = Encode(block=element).replace(block_size=64)
    written = json.loads(json.dumps(rules.to_dict()))
    assert Encode.from_dict(written) == rules and written["formats"]["element"]["name"] == element.name
    named = Encode(block=BlockFormat(name="mine", element=element, scale=E8M0))
    assert Encode.from_dict(json.loads(json.dumps(named.to_dict()))) == named and named.to_dict()["block"] == "mine"


@pytest.mark.parametrize("name", ["e3m3", "int4", "e4m3_none", "e5m10_ieee", *BLOCKS])
def test_every_format_is_written_in_full(name):
    rules = Encode(block=name).replace(block_size=8)
    written = json.loads(json.dumps(rules.to_dict()))
    assert Encode.from_dict(written) == rules and list(written["formats"]) == ["source", "element", "scale"]
    wrong = {
        "name": "e8m0",
        "kind": "float",
        "exp_bits": 7,
        "man_bits": 1,
        "bias": 63,
        "specials": "none",
        "signed": False,
        "subnormals": False,
    }
    with pytest.raises(ValueError, match="^the scale format must be e8m0 as its name defines it, not e8m0$"):
        Encode.from_dict(written | {"formats": written["formats"] | {"scale": wrong}})


@pytest.mark.parametrize(
    "old",
    [
        {"block": "mxfp8_e4m3", "block_size": 32, "source": "bf16"},
        {"block": "mxint8", "block_size": 16},
        {
            "block": "mxq4_4",
            "element": {"name": "q4_4", "bits": 9, "frac_bits": 4, "symmetric": True, "source": "a test"},
        },
        {
            "block": "mine",
            "element": {
                "name": "b11",
                "exp_bits": 4,
                "man_bits": 3,
                "bias": 11,
                "specials": "none",
                "source": "a test",
            },
        },
    ],
)
def test_files_of_version_0_1_are_read(old):
    rules = Encode.from_dict(old)
    assert (
        rules.block.name == old["block"]
        and rules.block.element.name == old.get("element", {"name": rules.block.element.name})["name"]
    )
    assert Encode.from_dict(rules.to_dict()) == rules


@pytest.mark.parametrize("taken", ["e4m3", "int8", "e3m3"])
def test_a_taken_name(taken):
    with pytest.raises(ValueError) as error:
        block_format(FloatFormat(**FLOAT | {"name": taken, "bias": 6}))
    assert str(error.value) == f"{taken!r} is the name of another element format: give this one a name of its own"


def test_where_a_format_was_published_does_not_matter():
    assert block_format(dataclasses.replace(E4M3, source="elsewhere")) is BLOCKS["mxfp8_e4m3"]


KNOWN = ", ".join([*ELEMENTS, *OTHER_ELEMENTS, *BLOCKS, *("nvfp4", "nvfp4_32", "nvfp4_2d", "fp4_ue5m3", "mx6", "mx9")])


def of_casts(name):
    return casting(name)


@pytest.mark.parametrize(
    "lookup, name, sentence",
    [
        (block_format, "f4m3", "unknown format 'f4m3': did you mean 'e4m3'?"),
        (block_format, "mxfp8_e4n3", "unknown format 'mxfp8_e4n3': did you mean 'mxfp8_e4m3'?"),
        (block_format, "MXFP6", "unknown format 'MXFP6': did you mean 'mxfp6_e3m2' or 'mxfp6_e2m3'?"),
        (block_format, "e4m3fnuz", "e4m3fnuz is a format of single numbers, which casts convert to, and not of blocks"),
        (block_format, "UE5M3", "UE5M3 is a format of single numbers, which casts convert to, and not of blocks"),
        (block_format, "e4m3b11fnuz", f"unknown format 'e4m3b11fnuz': known are {KNOWN}"),
        (block_format, "e4m3fn", "unknown format 'e4m3fn': did you mean 'e4m3'?"),
        (of_casts, "e3m3", f"unknown format 'e3m3': known are {', '.join(SCALARS)}"),
        (of_casts, "e8m0fnu", "unknown format 'e8m0fnu': did you mean 'e8m0'?"),
        (of_casts, "e4m", "unknown format 'e4m': did you mean 'e4m3' or 'e4m3fnuz'?"),
        (
            block_format,
            "e04m3",
            "unknown format 'e04m3': did you mean 'e4m3'?",
        ),  # and its special codes would be other ones
        (block_format, "mxfp8_e4m4", "e4m4 has 9 bits, which mxfp8_e4m4 contradicts"),
        (block_format, "e6m1", "ExMy formats have 1 to 5 exponent bits and 0 to 10 fraction bits, not e6m1"),
        (block_format, "e0m3", "ExMy formats have 1 to 5 exponent bits and 0 to 10 fraction bits, not e0m3"),
        (block_format, "e4m11", "ExMy formats have 1 to 5 exponent bits and 0 to 10 fraction bits, not e4m11"),
        (block_format, "e4m0_ieee", "e4m0_ieee must have a fraction bit to tell NaN from Inf"),
        (block_format, "e1m0_nan_only", "e1m0_nan_only has no normal number: its top exponent field is special"),
        (block_format, "e4m" + "9" * 5000, f"unknown format 'e4m{'9' * 57}...': known are {KNOWN}"),
        (block_format, "int999999999", "INT formats have 2 to 16 bits, not 999999999"),
        (block_format, "int1", "INT formats have 2 to 16 bits, not 1"),
        (block_format, "mxint17", "INT formats have 2 to 16 bits, not 17"),
        (block_format, "", f"unknown format '': known are {KNOWN}"),
        (source_format, ["fp32"], "unknown source ['fp32']: did you mean 'fp32'?"),
        (source_format, "fp33", "unknown source 'fp33': did you mean 'fp32'?"),
        (source_format, "double", "unknown source 'double': known are fp32, bf16, fp16"),
    ],
)
def test_unknown_names(lookup, name, sentence):
    with pytest.raises(ValueError) as error:
        lookup(name)
    assert str(error.value) == sentence


@pytest.mark.parametrize(
    "made, fields, sentence",
    [
        (E4M3, {"exp_bits": "4"}, "exp_bits of a FloatFormat must be a whole number, not '4'"),
        (E4M3, {"bias": 7.5}, "bias of a FloatFormat must be a whole number, not 7.5"),
        (E4M3, {"man_bits": True}, "man_bits of a FloatFormat must be a whole number, not True"),
        (E4M3, {"name": 3}, "name of a FloatFormat must be a string, not 3"),
        (INT8, {"bits": 8.0}, "bits of a FixedFormat must be a whole number, not 8.0"),
        (E8M0, {"signed": 0}, "signed of a FloatFormat must be true or false, not 0"),
        (INT8, {"lowest": None}, "lowest of a FixedFormat must be a whole number, not None"),
        (BLOCKS["mxint8"], {"name": 3}, "the name of a BlockFormat must be a string, not 3"),
    ],
)
def test_fields_of_another_kind(made, fields, sentence):
    with pytest.raises(TypeError) as error:
        dataclasses.replace(made, **fields)
    assert str(error.value) == sentence


@pytest.mark.parametrize(
    "kind, text",
    [
        (None, "None"),
        (8, "8"),
        (E8M0, "FloatFormat(name='e8m0', exp_bits=8, man_bits=0, bias=127, s..."),
        (["e4m3"], "['e4m3']"),
    ],
)
def test_a_block_format_of_another_kind(kind, text):
    with pytest.raises(TypeError) as error:
        block_format(kind)
    assert str(error.value) == f"a block format is given by name or as a BlockFormat, not {text}"


@pytest.mark.parametrize("made", [FP32, E4M3, INT8, E8M0, BLOCKS["mxint8"]], ids=lambda m: m.name)
def test_frozen_and_hashable(made):
    same = dataclasses.replace(made)
    assert same == made and hash(same) == hash(made) and same is not made
    with pytest.raises(dataclasses.FrozenInstanceError):
        made.name = "other"


@pytest.mark.parametrize("kind", [FloatFormat, FixedFormat, BlockFormat])
def test_keyword_only(kind):
    with pytest.raises(TypeError, match="positional"):
        kind("t", 8, 6, True, "a test")


def test_a_format_with_a_name_of_its_own_is_one_entry(monkeypatch, request):
    """It is found by its name, reads itself again, and two that differ are two configurations."""
    request.addfinalizer(resolved.cache_clear)
    ids, without = set(), named_blocks()
    for bias in (10, 11):
        own = FloatFormat(name="own", exp_bits=4, man_bits=3, bias=bias, specials=SpecialCodes.NAN_ONLY, source="here")
        monkeypatch.setitem(OTHER_ELEMENTS, "own", own)
        resolved.cache_clear()
        rules = numerics("own", "nvidia")
        assert rules.block.element is own and block_format("mxfp8_own").element is own
        assert Encode.from_dict(rules.to_dict()) == rules and rules.identity()["formats"]["element"]["bias"] == bias
        assert named_blocks() == without | {"mxfp8_own": block_format(own)}
        ids.add(rules.id)
    assert len(ids) == 2
