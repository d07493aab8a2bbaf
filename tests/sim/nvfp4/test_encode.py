"""NVFP4 in Verilog: the published example byte for byte, the golden model, and planted bugs."""

from __future__ import annotations

import re
from fractions import Fraction
from itertools import islice

import numpy as np
import pytest

import mxcast
from mxcast.hdl import Nvfp4Form, config_of, nvfp4_config, verilog
from mxcast.hdl.config.command import command_line
from mxcast.hdl.config.nvfp4_encode import BY_DIVISOR
from mxcast.hdl.nvfp4.encoder import SCALE_UNITS
from mxcast.hdl.nvfp4.factor import FACTOR_UNITS
from mxcast.hdl.nvfp4.lanes import FORMS
from mxcast.hdl.nvfp4.threshold_row import FACTORS, MARKS, marks_of
from mxcast.models.arrays.codes import code_values
from mxcast.models.exact.binary32 import rounded, value_of
from mxcast.models.exact.encode import decode, nearest_code
from mxcast.models.exact.nvfp4_encode import ORDERS, Constants, block_scale, encode_under
from mxcast.models.fast.nvfp4_encode import tensor_constants
from mxcast.sim import verify
from mxcast.sim.nvfp4.factors import CHUNK, factors
from mxcast.sim.nvfp4.nearest import nearest
from mxcast.sim.nvfp4.products import products
from mxcast.sim.operations import golden
from mxcast.sim.run.verilator.verilated import driver_of
from mxcast.sim.transactions import Transactions
from mxcast.spec import E4M3, FP32, Order, Role, nvfp4_encoding

from ...models.fast.test_nvfp4_encode import WORKED


def made(order: str, **fields):
    """The configuration, and its Verilated design."""
    config = nvfp4_config("nvfp4", f"nvfp4_{order}", **fields)
    return config, driver_of(verilog(config, "dut"), "dut", config)


@pytest.mark.sampled(6)
@pytest.mark.parametrize(
    "order, source, form",
    [
        ("te", "fp32", "thresholds"),
        ("te", "bf16", "table"),
        ("te", "bf16", "cache"),
        ("paper", "fp32", "thresholds"),
        ("ao", "fp32", "thresholds"),
        pytest.param("ao", "bf16", "table", marks=pytest.mark.slow),
        pytest.param("ao", "fp32", "product", marks=pytest.mark.slow),
        ("ao_single", "bf16", "thresholds"),
        ("modelopt", "bf16", "thresholds"),
        ("compressed_tensors", "fp32", "thresholds"),
        *(
            pytest.param(order, source, form, marks=pytest.mark.slow)
            for order, source, form in [
                ("te", "bf16", "product"),
                ("te", "fp32", "product"),
                ("te", "fp32", "table"),
                ("te", "fp32", "cache"),
                ("paper", "fp32", "cache"),
                ("paper", "bf16", "product"),
                ("ao_single", "fp32", "product"),
                ("modelopt", "fp32", "thresholds"),
            ]
        ),
    ],
)
def test_the_golden_model(order, source, form, record_property):
    config, design = made(order, source=source, form=form)
    kinds = ["corner", "boundary"] if form == "table" else ["standard"]  # software writes a table for every block
    for kind in kinds:
        result = verify(config, design=design, stimuli=kind, blocks=20_000)
        assert result.passed, result.report
    record_property("blocks", result.blocks)


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    "order, registers",
    [
        pytest.param("te", "scale", marks=pytest.mark.slow),
        ("te", None),
        pytest.param("paper", None, marks=pytest.mark.slow),
        pytest.param("ao", None, marks=pytest.mark.slow),
        ("modelopt", None),
        pytest.param("compressed_tensors", None, marks=pytest.mark.slow),
    ],
)
def test_registers(order, registers):
    """At one stage boundary, and at all of them."""
    source = "fp32" if order == "compressed_tensors" else "bf16"
    places = nvfp4_config("nvfp4", f"nvfp4_{order}", source=source).stages
    config, design = made(order, source=source, registered_after=registers or places)
    result = verify(config, design=design, stimuli="corner")
    assert result.passed, result.report


@pytest.mark.parametrize("interface", ["skid", pytest.param("axis", marks=pytest.mark.slow)])
def test_a_cache_with_other_handshakes(interface):
    config, design = made("te", source="bf16", form="cache", interface=interface)
    result = verify(config, design=design, stimuli="corner")
    assert result.passed, result.report
    assert result.blocks > 1000


@pytest.mark.parametrize(
    "order, fields",
    [
        pytest.param("te", {"source": "fp32"}, marks=pytest.mark.slow),
        ("te", {"source": "bf16", "random_bits": 16, "registered_after": "amax,factor,output"}),
        pytest.param("paper", {"source": "fp32", "random_bits": 1}, marks=pytest.mark.slow),
    ],
)
def test_stochastic_rounding(order, fields):
    """The usual form for it is the product."""
    config, design = made(order, rounding="sr", **fields)
    assert config.microarchitecture.form is Nvfp4Form.PRODUCT
    result = verify(config, design=design, blocks=10_000)
    assert result.passed, result.report


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    "change",
    [
        lambda bits: np.roll(bits, 1, axis=1),
        lambda bits: np.minimum(bits, 0xFE),
        lambda bits: np.maximum(bits, 1),
        lambda bits: 0xFF - bits,
    ],
    ids=["bits of the next element", "never all ones", "never zero", "inverted"],
)
def test_wrong_random_bits_are_found(change):
    config, design = made("te", source="fp32", rounding="sr")

    def planted(given: Transactions) -> Transactions:
        return design(given.with_arrays({Role.RANDOM: change(given[Role.RANDOM]).astype(np.uint16)}))

    result = verify(config, design=planted, blocks=1000, stimuli="boundary")
    assert not result.passed and "with random bits 0x" in result.report


def test_a_lost_carry_is_found():
    """Elements come from the product rounded to binary32, not from the exact product: few numbers of BF16 show it."""
    config = nvfp4_config("nvfp4", source="bf16", rounding="sr")
    text, count = re.subn(r"(assign top = \S+) \+ _\d+_;", r"\1;", verilog(config, "dut"))
    assert count == 1
    result = verify(config, design=driver_of(text, "dut", config), stimuli="boundary")
    assert not result.passed


def test_thresholds_by_definition():
    """The product with a threshold is rounded to the mark or beyond, the one with the number before it is not."""
    rng, one = np.random.default_rng(1), 1 << 23
    for significand in (
        one,
        one + 1,
        5 << 20,
        6 << 20,
        7 << 20,
        2 * one - 1,
        *rng.integers(one, 2 * one, 2000).tolist(),
    ):
        for (quarters, is_beyond), (fraction, is_upper) in zip(MARKS, marks_of(significand)):
            x, mark = Fraction(one + fraction, one), Fraction(quarters, 4) * (1 if is_upper else 2)
            before = x - Fraction(1, one if fraction else 2 * one)
            at, under = (rounded(number * Fraction(significand, one)) for number in (x, before))
            assert (at > mark >= under) if is_beyond else (at >= mark > under)


def test_no_cell_has_two_thresholds():
    one = 1 << 23
    for significand in np.random.default_rng(2).integers(one, 2 * one, 20_000).tolist():
        assert len({fraction >> 20 for fraction, _ in marks_of(significand)}) == len(MARKS)


def test_it_is_called_like_quantize():
    x = np.random.default_rng(7).standard_normal((3, 40), np.float32)
    for given in ({}, {"tensor_amax": 10.0}, {"row_scaled": True}, {"tensor_amax": lambda amax: 2 * amax}):
        expected = mxcast.quantize(x, "nvfp4", pad=True, **given)
        assert mxcast.verilate("nvfp4")(x, pad=True, **given) == expected
    random = np.random.default_rng(8).integers(0, 256, (3, 40), np.uint16)
    expected = mxcast.quantize(x, "nvfp4", pad=True, rounding="sr", random=random)
    assert mxcast.verilate("nvfp4", rounding="sr")(x, pad=True, random=random) == expected


@pytest.mark.sampled(2)
@pytest.mark.parametrize("order", ["te", "paper", "ao"])
def test_the_worked_example(order):
    """NVFP4 in a tensor whose largest magnitude is 10: the scale 144, and its codes."""
    config, design = made(order, source="fp32")
    constants = tensor_constants(np.float32(10), config.numerics)
    made_of = design(
        Transactions(
            {
                Role.NUMBERS: WORKED.view(np.uint32)[None],
                Role.SCALE_CONSTANT: constants.k.view(np.uint32).reshape(1, 1),
                Role.ELEMENT_CONSTANT: constants.d.view(np.uint32).reshape(1, 1),
            }
        )
    )
    codes = made_of[Role.CODES][0]
    assert made_of[Role.SCALE].tolist() == [[0x71]]
    assert bytes((codes[::2] | codes[1::2] << 4).tolist()) == bytes.fromhex("90B2C4E5F6070878")


def numbers(change):
    """A design that sees other numbers."""
    return lambda design: lambda given: design(given.with_arrays({Role.NUMBERS: change(given[Role.NUMBERS])}))


def exact_d(design):
    """A design whose d is the quotient of the exact S, rounded once."""

    def planted(given: Transactions) -> Transactions:
        s = given[Role.SCALE_CONSTANT].view(np.float32).astype(np.float64) * 6
        with np.errstate(divide="ignore", over="ignore"):
            d = (1 / s).astype(np.float32).view(np.uint32)
        return design(given.with_arrays({Role.ELEMENT_CONSTANT: d}))

    return planted


def is_nan(x: np.ndarray) -> np.ndarray:
    return (x & np.uint32(0x7FFFFFFF)) > 0x7F800000


RULES = ("order", "source", "rounding", "four_over_six")

PLANTED = {
    "-0": numbers(lambda x: np.where(x == 0x80000000, np.uint32(0), x)),
    "NaN ignored": numbers(lambda x: np.where(is_nan(x), np.uint32(0), x)),
    "subnormal numbers as zero": numbers(lambda x: np.where(x & np.uint32(0x7F800000), x, x & np.uint32(0x80000000))),
    "thresholds one ulp up": numbers(lambda x: np.where((x << 1 != 0) & ~is_nan(x), x - np.uint32(1), x)),
    "thresholds one ulp down": numbers(lambda x: np.where(x << 1 < 0xFEFFFFFE, x + np.uint32(1), x)),
    "d of the exact S": exact_d,
}


@pytest.mark.sampled(2)
@pytest.mark.parametrize("bug", PLANTED)
def test_planted_bugs_are_found(bug):
    config, design = made("te", source="fp32")
    result = verify(config, design=PLANTED[bug](design), blocks=5000)
    assert not result.passed and "scale expected 0x" in result.report


def test_the_other_order_is_found():
    """The sixth taken from the largest magnitude, and not from the constant: about one scale in a million differs."""
    config, _ = made("te", source="fp32")
    _, other = made("paper", source="fp32")

    def planted(given: Transactions) -> Transactions:
        k = given[Role.SCALE_CONSTANT].view(np.float32)
        with np.errstate(over="ignore"):
            return other(given.with_arrays({Role.SCALE_CONSTANT: (k * np.float32(6)).view(np.uint32)}))

    assert not verify(config, design=planted, stimuli="boundary").passed


@pytest.mark.parametrize("source", ["fp32", "bf16"])
@pytest.mark.parametrize("order", ["te", "ao"])
def test_the_last_place_of_the_largest_number_is_seen(order, source):
    """By fractions: the largest number has a larger scale than the number before it."""
    rules = nvfp4_encoding("nvfp4", f"nvfp4_{order}", source=source)
    given = nearest(rules, seed=5)
    some = slice(0, 16 * (rules.source.bits - 1), 7)
    blocks = given[Role.NUMBERS][some].astype(np.uint32) << np.uint32(32 - rules.source.bits)
    seen = []
    for block, constant in zip(blocks.tolist(), given[Role.SCALE_CONSTANT][some, 0].tolist()):
        before, number = (
            ORDERS[rules.order].ratio(*(value_of(decode(one, FP32)) for one in (b, constant)), E4M3)
            for b in (min(block), max(block))
        )
        seen.append(block_scale(before, rules) < block_scale(number, rules))
    assert np.mean(seen) > 0.9


@pytest.mark.parametrize("source", ["fp32", "bf16"])
@pytest.mark.parametrize("order", ["te", "ao"])
def test_each_bit_of_a_subnormal_maximum_is_seen(order, source):
    """Another value of any bit, from a leading bit downwards at any place for which a tensor has scales, changes a
    scale.
    """
    rules = nvfp4_encoding("nvfp4", f"nvfp4_{order}", source=source)
    given = nearest(rules, seed=5)
    x, right = given[Role.NUMBERS], golden(rules, given)[Role.SCALE]
    man_bits = rules.source.man_bits
    for leading in range(man_bits - 7, man_bits):
        for bit in range(leading + 1):
            changed = np.where(x >> leading == 1, x ^ x.dtype.type(1 << bit), x)
            other = golden(rules, given.with_arrays({Role.NUMBERS: changed}))[Role.SCALE]
            assert (other != right).any(), (leading, bit)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("order, source, least", [("te", "fp32", 50), ("te", "bf16", 12), ("paper", "fp32", 40)])
def test_products_are_decided_by_one_bit(order, source, least):
    """By fractions: if the last bit of a product counts twice or not at all, it has another scale."""
    rules = nvfp4_encoding("nvfp4", f"nvfp4_{order}", source=source)
    given, decided = products(rules, np.random.default_rng(5)), set()
    numbers = given[Role.NUMBERS].astype(np.uint32).max(axis=1) << np.uint32(32 - rules.source.bits)
    for b, k in zip(numbers.tolist(), given[Role.SCALE_CONSTANT][:, 0].tolist()):
        number, constant = (value_of(decode(one, FP32)) for one in (b, k))
        exact = (number if order == "te" else rounded(number / 6)) * constant
        last = exact.numerator & -exact.numerator  # of a fraction whose denominator is a power of two
        near = (exact + Fraction(more * last, exact.denominator) for more in (-1, 0, 1))
        scales = {nearest_code(rounded(one), E4M3) for one in near}
        if len(scales) > 1:
            decided.add(exact.numerator // last)
    assert len(decided) > least


@pytest.mark.sampled(2)
@pytest.mark.parametrize("order", ["te", "paper"])
def test_divisors_are_rounded_to_small_powers(order):
    """By fractions, from both sides; and constants with a significand of ones come with blocks of zeros."""
    rules, seen = nvfp4_encoding("nvfp4", f"nvfp4_{order}"), set()
    given = nearest(rules, seed=5)
    scales = golden(rules, given)[Role.SCALE]
    for code, d in np.unique(np.hstack([scales, given[Role.ELEMENT_CONSTANT]]), axis=0).tolist():
        if d < 0x10000000:
            exact = Fraction(code_values(E4M3)[code].item()) * value_of(decode(d, FP32))
            seen.add((rounded(exact), (rounded(exact) > exact) - (rounded(exact) < exact)))
    assert {(Fraction(1, 2**power), side) for power in (126, 127, 128) for side in (-1, 0, 1)} <= seen
    of_zeros = given[Role.SCALE_CONSTANT][~given[Role.NUMBERS].any(axis=1)]
    assert len(np.unique(of_zeros[of_zeros & 0x7FFFFF == 0x7FFFFF])) == 254


@pytest.mark.parametrize("source", ["fp32", "bf16"])
def test_quotients_at_and_next_to_underflow_are_tried(source):
    """By fractions: a block of one number whose quotient is half of the smallest number has the scale of zero."""
    rules = nvfp4_encoding("nvfp4", "nvfp4_modelopt", source=source)
    given = nearest(rules, seed=5)
    found = golden(rules, given)[Role.SCALE][:, 0]
    seen = set()
    for block, k, scale in zip(given[Role.NUMBERS].tolist(), given[Role.SCALE_CONSTANT][:, 0].tolist(), found):
        if 0 < k < 0x7F800000 and sum(block) == block[0] < 1 << rules.source.man_bits:
            divisor = rounded(6 * value_of(decode(k, FP32)))
            distance = value_of(decode(block[0], rules.source)) / divisor * 2**150 - 1
            if abs(distance) < Fraction(1, 1 << 20):
                seen.add((distance > 0) - (distance < 0))
                assert scale == (1 if distance > 0 else 0x38)
    assert seen == {-1, 0, 1}


def is_seen(order: str, pattern: str, replacement: str) -> bool:
    """Do the blocks of `nearest` show a change of the emitted text, at one place?"""
    config = nvfp4_config("nvfp4", f"nvfp4_{order}")
    text, count = re.subn(pattern, replacement, verilog(config, "dut"))
    given = nearest(config.numerics, seed=5)
    assert count == 1
    return driver_of(text, "dut", config)(given).differ(golden(config.numerics, given)).any()


@pytest.mark.sampled(16, first=8)
@pytest.mark.parametrize("lane", range(16))
def test_inf_of_each_lane_is_seen(lane):
    place = rf"x\[{32 * lane + 30}:{32 * lane}\]"
    assert is_seen("paper", f"(= {place}) > 31'h7f800000", r"\1 >= 31'h7f800000")


OF_A_BIT = {
    "an early comparison": (
        "compressed_tensors",
        r"(quotient_digit22 = .*) >= d_significand;",
        r"\1 >= (d_significand | 24'h000400);",
    ),
    "a late comparison": (
        "compressed_tensors",
        r"quotient_digit3 = { (\w+), 1'h0 }",
        r"quotient_digit3 = { \1[23:16], 1'b0, \1[14:0], 1'h0 }",
    ),
    "the rest of a small divisor": ("compressed_tensors", r"\| v_moved\[26:0\]", "| { v_moved[26:17], v_moved[15:0] }"),
    "a late remainder": (
        "compressed_tensors",
        r"quotient_left3 = (\w+) \? (\w+) : { (\w+)\[22:0\], 1'h0 };",
        r"quotient_left3 = \1 ? \2 : { \3[22:2], 1'b1, \3[0], 1'h0 };",
    ),
    "the ratio": ("te", r", t_total\[22:0\] }", ", t_total[22:8], 1'b0, t_total[6:0] }"),
    "a product below half a last place": (
        "te",
        r"t_exact\[47\] \? t_exact\[22:0\]",
        "t_exact[47] ? { t_exact[22:15], 1'b0, t_exact[13:0] }",
    ),
    "a subnormal number under a constant of no tensor": (
        "te",
        r"amax\[11\] \? { amax\[11:0\], 12'h000 }",
        "amax[11] ? { amax[11:1], 13'h0000 }",
    ),
    "the zero in place of NaN": ("te", r"31'h00000000 : x\[94:64\]", "31'h00100000 : x[94:64]"),
}
"""Changes of the emitted text, by the order."""


@pytest.mark.sampled(3)
@pytest.mark.parametrize("bug", OF_A_BIT)
def test_one_wrong_bit_is_seen(bug):
    assert is_seen(*OF_A_BIT[bug])


@pytest.mark.parametrize(
    "order, source, rounding",
    [
        *(
            (order, source, "rne")
            for order in Order
            for source in ("fp32", "bf16")
            if (order, source) != ("compressed_tensors", "bf16")
        ),
        *((order, source, "sr") for order in ("te", "paper") for source in ("fp32", "bf16")),
    ],
)
def test_both_sides_of_each_limit_are_seen(order, source, rounding):
    """By fractions: neighbours have the codes on both sides, under the scale that is meant. Random bits are zeros."""
    rules = nvfp4_encoding("nvfp4", f"nvfp4_{order}", source=source, rounding=rounding)
    given = next(factors(rules))
    one = np.full((len(given), 1), 0x3F800000)
    k, d = (given.arrays.get(role, one)[:, 0].tolist() for role in (Role.SCALE_CONSTANT, Role.ELEMENT_CONSTANT))
    for row in (40, 99, len(given) - 1):
        block = given[Role.NUMBERS][row].tolist()
        constants = Constants(*(value_of(decode(words[row], FP32)) for words in (k, d)), Fraction(1))
        scale, codes = encode_under(block, rules, constants)
        assert scale == 0x38 or len(given) < 127
        assert [above - below for below, above in zip(block[:14:2], block[1:14:2])] == [1] * 7
        assert codes[:14] == [code for limit in range(7) for code in (limit, limit + 1)] and codes[-1] == 7


def test_every_significand_has_its_factor():
    """In turn from 1 on, in parts of the same size."""
    rules = nvfp4_encoding("nvfp4", "nvfp4_te")
    chunks = [chunk[Role.ELEMENT_CONSTANT] for chunk in islice(factors(rules), 2)]
    assert np.array_equal(np.concatenate(chunks)[:, 0], 0x3F800000 + np.arange(2 * CHUNK)) and (1 << 23) % CHUNK == 0


@pytest.mark.slow
def test_a_threshold_that_is_wrong_for_few_factors_is_found():
    """A step of the division that corrects a threshold lacks one bit of the remainder."""
    config, _ = made("te")
    lacking = "= { mark6_left3[27:9], 1'b0, mark6_left3[7:0], 1'h1 } +"
    text, count = re.subn(r"= { mark6_left3, 1'h1 } \+", lacking, verilog(config, "dut"))
    assert count == 1
    assert not verify(config, design=driver_of(text, "dut", config, lint=False), stimuli="factors").passed


def test_every_order_and_form_is_made_or_refused():
    assert set(SCALE_UNITS) == set(Order) and set(FACTORS) == set(FACTOR_UNITS) == set(Order) - {*BY_DIVISOR}
    for form, (units, _) in FORMS.items():
        for order in Order:
            if order in units:
                assert nvfp4_config("nvfp4", order=order, form=form).microarchitecture.form is form
            else:
                with pytest.raises(
                    ValueError, match=f"the order {order} divides numbers, which the form {form} does not"
                ):
                    nvfp4_config("nvfp4", order=order, form=form)


def test_configurations_survive_json_and_the_command_line():
    config = nvfp4_config("nvfp4", "nvfp4_ao", source="bf16")
    assert config_of(config.to_dict()) == config
    assert command_line(config) == "nvfp4 --profile nvfp4_ao --set source=bf16"
    stochastic = nvfp4_config("nvfp4", rounding="sr")
    assert (
        command_line(stochastic) == "nvfp4 --profile nvfp4_te --set rounding=sr --set random_bits=8 --set form=product"
    )
    assert verilog(nvfp4_config("nvfp4")).startswith("// nvfp4_nvfp4_te: fp32 to nvfp4 block")
    assert nvfp4_config("nvfp4", block_size=32).numerics.block_size == 32


@pytest.mark.parametrize(
    "fields, sentence",
    [
        (
            {"order": "modelopt", "form": "product"},
            "the order modelopt divides numbers, which the form product does not: leave out form",
        ),
        ({"source": "fp16"}, "hardware for nvfp4 takes fp32 and bf16 numbers, not fp16"),
        ({"form": "table", "registered_after": "scale"}, "the form table has no registers"),
        (
            {"rounding": "sr", "form": "table"},
            "the form table rounds elements by rne, not by sr: leave form as product",
        ),
        (
            {"order": "paper", "four_over_six": "mae", "form": "table"},
            "the form table has one row of thresholds, and four_over_six tries two scales: leave out form",
        ),
    ],
)
def test_what_hardware_does_not_make_is_refused(fields, sentence):
    with pytest.raises(ValueError, match=f"^{sentence}"):
        nvfp4_config("nvfp4", **fields)
    assert nvfp4_encoding("nvfp4", **{name: value for name, value in fields.items() if name in RULES})


@pytest.mark.parametrize("block", ["nvfp4_2d", "fp4_ue5m3"])
def test_other_blocks_are_refused(block):
    with pytest.raises(ValueError, match="^hardware "):
        nvfp4_config(block)
