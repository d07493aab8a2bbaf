"""Single components: their ports, and the results of tree and scale unit compared with plain integers."""

from __future__ import annotations

import gc
import random
import re
import warnings
from fractions import Fraction

import pytest
from amaranth.back import rtlil
from amaranth.hdl import UnusedElaboratable

from mxcast.hdl import AmaxTree, BlockConverter, ElementQuantizer, ScaleUnit, converter_config
from mxcast.hdl.encode.operand import operand_config
from mxcast.hdl.primitives.elaboration import set_elaborated
from mxcast.spec import BLOCKS, ScaleRule

from .published import BITS, MMAX, raises, scale_of
from .simulation import outputs

LANES = 32
SHORT = [block.short_name for block in BLOCKS.values()]


# ---- ports


def ports(component) -> dict[str, tuple[str, int]]:
    """Direction and width of the ports of the component, as Amaranth's RTLIL back end writes it alone."""
    text = rtlil.convert(component, name="alone", emit_src=False)
    body = re.search(r"^module \\alone$.*?^end$", text, flags=re.M | re.S)[0]
    found = {}
    for width, direction, name in re.findall(
        r"^  wire (?:width (\d+) )?(?:signed )?(input|output) \d+ +\\(\S+)", body, flags=re.M
    ):
        found[name] = (direction, int(width or 1))
    return found


# specials, key of a floor rule, key of a ceil rule, flags
@pytest.mark.parametrize(
    "specials, floor_key, ceil_key, flags",
    [
        ("nan_block", 8, 9, ["nan"]),  # an exponent, and one bit for the fraction where the rule asks
        ("inf_scale", 9, 9, ["nan", "inf"]),  # the bit tells NaN from Inf
        ("drop", 8, 9, []),
        ("te", 8, 9, []),  # the tree lets no NaN through
    ],
)
@pytest.mark.sampled(6)
@pytest.mark.parametrize("short", SHORT)
def test_ports(short, specials, floor_key, ceil_key, flags):
    for rule, key in (("floor", floor_key), ("ceil", ceil_key)):
        config = converter_config(short, scale_rule=rule, specials=specials)
        assert ports(AmaxTree(config)) == {"x": ("input", 1024), "amax": ("output", key)}
        assert ports(ScaleUnit(config)) == {
            "key": ("input", key),
            "scale": ("output", 8),
            **dict.fromkeys(flags, ("output", 1)),
        }
        assert ports(ElementQuantizer(config)) == {
            "x": ("input", 32),
            "scale": ("input", 8),
            **dict.fromkeys(flags, ("input", 1)),
            "p": ("output", BITS[short]),
        }
    whole = converter_config(short, scale_rule=rule, specials=specials, amax_key="magnitude")
    assert ports(AmaxTree(whole)) == {"x": ("input", 1024), "amax": ("output", 31)}


@pytest.mark.parametrize(
    "formats, fields, mode, random, key, x, width",
    [
        ("e4m3,e5m2", {}, 1, 0, 8, 32, 8),
        ("e4m3", {"scale_rule": "floor,ceil,even", "source": "bf16"}, 2, 0, 9, 16, 8),
        ("int4,e2m1,e3m0", {"scale_rule": "floor,bias_floor", "rounding": "sr", "random_bits": 3}, 3, 3, 8, 32, 4),
        ("int16", {"rounding": "sr", "source": "fp16"}, 0, 8, 8, 19, 16),  # eight random bits unless told; widened
    ],
)
def test_ports_of_modes_and_random_bits(formats, fields, mode, random, key, x, width):
    config = converter_config(formats, block_size=8, **fields)
    told, drawn = ({"mode": ("input", mode)} if mode else {}), ({"random": ("input", random)} if random else {})
    behind = operand_config(config)  # as the converter makes its parts
    assert ports(AmaxTree(behind)) == {"x": ("input", 8 * x), **told, "amax": ("output", key)}
    assert ports(ScaleUnit(behind)) == {"key": ("input", key), **told, "scale": ("output", 8), "nan": ("output", 1)}
    assert ports(ElementQuantizer(behind)) == {
        "x": ("input", x),
        "scale": ("input", 8),
        **told,
        **drawn,
        "nan": ("input", 1),
        "p": ("output", width),
    }
    assert ports(BlockConverter(config)) == {
        "x": ("input", 8 * config.numerics.source.bits),
        **told,
        **({"random": ("input", 8 * random)} if random else {}),
        "scale": ("output", 8),
        "p": ("output", 8 * width),
    }


@pytest.mark.sampled(3)
@pytest.mark.parametrize("short", SHORT)
def test_ports_of_the_converter(short):
    """Without the module library of emission, as in a design of a user."""
    assert ports(BlockConverter(short, "nvidia")) == {
        "x": ("input", 1024),
        "scale": ("output", 8),
        "p": ("output", 32 * BITS[short]),
    }


def test_the_converter_takes_what_converter_config_takes():
    config = converter_config("e2m1", "nvidia", specials="drop")
    for made in (
        BlockConverter(config),
        BlockConverter("mxfp4_e2m1", "nvidia", specials="drop"),
        BlockConverter(BLOCKS["mxfp4_e2m1"], profile="nvidia", specials="drop"),
    ):
        set_elaborated(made)
        assert made.config == config


@pytest.mark.parametrize(
    "arguments, fields", [(("e4m3x",), {}), (("e4m3", "ocpp"), {}), (("e4m3",), {"scale_rule": "flor"})]
)
def test_refused_before_anything_is_built(arguments, fields):
    """Otherwise Amaranth warns "created but never used" when the unfinished component is collected."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always", UnusedElaboratable)
        with pytest.raises(ValueError, match="did you mean"):
            BlockConverter(*arguments, **fields)
        gc.collect()
    assert [str(warning.message) for warning in said if warning.category is UnusedElaboratable] == []


# ---- simulation


@pytest.mark.sampled(2)
@pytest.mark.parametrize("rule", list(ScaleRule))
@pytest.mark.parametrize("specials", ["nan_block", "inf_scale", "drop", "te"])
@pytest.mark.parametrize("short", SHORT)
def test_scale_unit(short, specials, rule):
    """All keys: the exact byte of the first or last fraction, with the special bytes of section 0.1 of numerics.md."""
    unit = ScaleUnit(converter_config(short, scale_rule=rule, specials=specials))
    flags = {"nan_block": ["nan"], "inf_scale": ["nan", "inf"]}.get(specials, [])
    flag_bits = 1 if raises(rule, short) or specials == "inf_scale" else 0
    keys, expected = [], []
    for exponent in range(255 if specials == "drop" else 256):  # dropped: 255 never comes out of the tree
        for flag in range(1 << flag_bits):
            keys.append({"key": exponent << flag_bits | flag})
            last = 0x7FFFFF if flag else 0
            byte = scale_of(exponent << 23 | last, rule, short) + 127 if exponent < 255 else 0
            nan = inf = 0
            if exponent == 255 and specials == "nan_block":
                nan = 1
            elif exponent == 255 and specials == "te":  # no NaN comes out of the tree
                inf = 1
            elif exponent == 255:
                nan, inf = flag, 1 - flag
            byte = 255 if nan else 254 if inf else byte
            expected.append((byte, *(nan, inf)[: len(flags)]))
    found = outputs(unit, keys, ["scale", *flags])
    wrong = [(hex(k["key"]), e, f) for k, e, f in zip(keys, expected, found) if e != f]
    assert not wrong, f"key, expected, actual (scale, {', '.join(flags)}): {wrong[:5]}"


def blocks(short: str) -> list[list[int]]:
    """Blocks of FP32 patterns around every boundary of the key."""
    seed = random.Random(20240607)
    border, bottom = MMAX[short], 0x7F0000
    mantissas = [0, 1, border - 1, border, border + 1, bottom, bottom + 1, 0x7FFFFF]
    patterns = [e << 23 | m for e in (0, 1, 2, 126, 127, 128, 253, 254, 255) for m in mantissas]
    made = [[p] * LANES for p in patterns]  # a block of equals
    made += [
        [p - 1 if p else 0] * lane
        + [p | sign << 31]
        + [0x80000000] * (LANES - 1 - lane)  # the largest in every lane, of either sign
        for lane in range(LANES)
        for sign in (0, 1)
        for p in seed.sample(patterns, 2)
    ]
    made += [[seed.choice(patterns) | seed.getrandbits(1) << 31 for _ in range(LANES)] for _ in range(20)]
    made += [[seed.getrandbits(32) & 0xBFFFFFFF for _ in range(LANES)] for _ in range(20)]  # no specials
    return made


def largest_key(short: str, rule: str, specials: str, subnormals: str, block: list[int]) -> tuple[int, int]:
    """Exponent and flag of the largest magnitude of a block, by definition and without comparing keys."""
    magnitudes = without_specials(specials, block)
    exponent, mantissa = divmod(max(magnitudes), 1 << 23)
    flag = 0
    if exponent == 255 and specials == "inf_scale":
        flag = mantissa != 0
    elif rule == "ceil" and exponent:
        flag = mantissa > MMAX[short]
    elif (
        rule == "ceil" and subnormals == "exact"
    ):  # section B.1: above the largest number at byte 0 (only int8's is below 2)
        largest = {"int8": Fraction(127, 64)}.get(short, Fraction(2))
        flag = Fraction(mantissa, 1 << 23) * 2 > largest  # mantissa * 2**-149 > largest * 2**-127
    return exponent, int(flag)


def without_specials(specials: str, block: list[int]) -> list[int]:
    """The magnitudes that count in the maximum."""
    magnitudes = [x & 0x7FFFFFFF for x in block]
    left_out = {"drop": lambda m: m >> 23 == 255, "te": lambda m: m > 0x7F800000}.get(specials, lambda m: False)
    return [0 if left_out(m) else m for m in magnitudes]


@pytest.mark.parametrize(
    "short, rule, specials, amax_key, subnormals",
    [
        ("e4m3", "floor", "nan_block", "reduced", "exact"),  # exponents alone
        ("e4m3", "ceil", "nan_block", "reduced", "exact"),
        ("e2m3", "ceil", "nan_block", "reduced", "exact"),
        ("e2m1", "ceil", "inf_scale", "reduced", "exact"),  # both meanings of the flag
        ("e5m2", "floor", "inf_scale", "reduced", "exact"),  # the flag for specials only
        ("e3m2", "floor", "drop", "reduced", "exact"),
        ("e4m3", "ceil", "te", "reduced", "exact"),  # Inf is a maximum, NaN is not
        ("e4m3", "floor", "te", "magnitude", "exact"),
        ("int8", "ceil", "nan_block", "reduced", "exact"),  # a flag for subnormals
        ("int8", "ceil", "nan_block", "reduced", "flush"),  # and none
        ("int8", "ceil", "drop", "magnitude", "exact"),  # the magnitude itself
        ("e4m3", "floor", "nan_block", "magnitude", "exact"),
    ],
)
def test_amax_tree(short, rule, specials, amax_key, subnormals):
    config = converter_config(short, scale_rule=rule, specials=specials, amax_key=amax_key, input_subnormals=subnormals)
    cases = blocks(short)
    stimuli = [{"x": sum(x << 32 * lane for lane, x in enumerate(block))} for block in cases]
    for block, (found,) in zip(cases, outputs(AmaxTree(config), stimuli, ["amax"])):
        if amax_key == "magnitude":
            expected = max(without_specials(specials, block))
        else:
            exponent, flag = largest_key(short, rule, specials, subnormals, block)
            expected = exponent << 1 | flag if rule == "ceil" or specials == "inf_scale" else exponent
        # a flag of a subnormal that the scale unit clamps away may be anything: no element but int8 has it
        if not (amax_key == "reduced" and rule == "ceil" and expected >> 1 == 0 and short != "int8"):
            assert found == expected, (
                f"block {' '.join(f'{x:08x}' for x in block)}: expected {expected:#x}, got {found:#x}"
            )


@pytest.mark.parametrize("size", [2, 4, 128])
@pytest.mark.parametrize("source", ["fp32", "bf16"])
def test_amax_tree_of_other_sizes_and_sources(source, size):
    """The largest magnitude in every lane in turn, and others just below it."""
    bits = {"fp32": 32, "bf16": 16}[source]
    seed, sign = random.Random(size), 1 << (bits - 1)
    cases = [
        [(top if lane == winner else seed.randrange(top)) | sign * seed.getrandbits(1) for lane in range(size)]
        for winner in range(size)
        for top in (seed.randrange(1, sign), 1, sign - 1)
    ]
    tree = AmaxTree(converter_config("e4m3", source=source, block_size=size, amax_key="magnitude"))
    found = outputs(tree, [{"x": sum(x << bits * lane for lane, x in enumerate(block))} for block in cases], ["amax"])
    assert [f for (f,) in found] == [max(x & (sign - 1) for x in block) for block in cases]
