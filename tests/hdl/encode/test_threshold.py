"""Where scale rules go one up: the constants against the exact definition, and the hardware against the published
table.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from amaranth.hdl import Elaboratable, Module, Signal

from mxcast.hdl import ScaleUnit, converter_config
from mxcast.hdl.encode.scale import starts_at_one
from mxcast.hdl.encode.threshold import Threshold, exceeds_largest, rounds_up
from mxcast.hdl.primitives.amax import ReduceKey
from mxcast.models.exact.encode import decode
from mxcast.models.exact.scale import shared_exponent
from mxcast.sim.check.families import every_element
from mxcast.spec import BLOCKS, FP32, TF32, Encode, NumberFormat, ScaleRule, block_format, source_format

from ..published import BIAS, EMAX, EVEN, MIDDLE, MMAX, MULTIPLICATION, ROOT
from ..simulation import outputs

EVERY = [element for elements in every_element().values() for element in elements]
OCP = [block.element for block in BLOCKS.values()]


def scale_of(pattern: int, rule: ScaleRule, element: str | NumberFormat = "e4m3") -> int:
    """The exponent of the scale for an FP32 pattern, by the exact definition."""
    return shared_exponent(FP32.decode(pattern).magnitude, Encode(block=block_format(element), scale_rule=rule))


ROUNDS_UP = [rule for rule in ScaleRule if scale_of(0x3F800000, rule) < scale_of(0x3FFFFFFF, rule)]
"""Rules under which a fraction raises the scale."""


def limits(rules: Encode, exponent: int) -> int:
    """The last fraction of a binade that does not raise the scale."""
    threshold = Threshold.of(rules)
    return threshold.at_bottom if exponent == threshold.bottom else threshold.in_binade


def subtracted(rule: str, element: NumberFormat) -> int:
    """One more than emax where the largest element is nearer to the power of two above, by its logarithm under
    ``round_log2``, and by what it is divided by under ``linear_nearest``."""
    if rule == "linear_nearest":
        return element.emax + (2**element.emax / element.max_value < Fraction(3, 4))
    return element.emax + (rule == "round_log2" and element.max_value**2 > 2 ** (2 * element.emax + 1))


@pytest.mark.parametrize(
    "source, subnormals",
    [
        ("fp32", "exact"),
        ("fp16", "exact"),
        pytest.param("fp32", "flush", marks=pytest.mark.slow),
        pytest.param("bf16", "exact", marks=pytest.mark.slow),
    ],
)
@pytest.mark.parametrize("rule", ROUNDS_UP)
def test_thresholds_are_exact(rule, source, subnormals):
    """The last fraction below the threshold, the first above, and both ends of the binade, for every format by name.

    All binades for the OCP formats, and some for the others. FP16 numbers are in the binades of 2**-24 to 2**15.
    """
    assert len(EVERY) == 164
    format = TF32 if source == "fp16" else source_format(source)
    highest = (1 << format.man_bits) - 1
    for element in EVERY:
        rules = Encode(block=block_format(element), source=source, scale_rule=rule, input_subnormals=subnormals)
        rules = rules.widened() if source == "fp16" else rules
        bottom = Threshold.of(rules).bottom
        binades = range(103, 143) if source == "fp16" else range(255)
        if element not in OCP:
            binades = {103, 104, 127, 142} if source == "fp16" else {0, 1, bottom, bottom + 1, bottom + 2, 127, 254}
        for exponent in binades:
            limit = limits(rules, exponent)
            for fraction in {0, limit, min(limit + 1, highest), highest}:
                byte = min(max(exponent - subtracted(rule, element) + (fraction > limit), 0), 254)
                if (byte, rule) == (0, "linear_nearest") and source != "fp16" and starts_at_one(rules):
                    byte = int(exponent + (fraction > limit) > element.emax)
                amax = decode(exponent << format.man_bits | fraction, format, rules.input_subnormals).magnitude
                assert byte == shared_exponent(amax, rules) + 127, (element.name, exponent, hex(fraction))


@pytest.mark.parametrize("rule", list(ScaleRule))
def test_what_follows_from_the_constants_of_a_rule(rule):
    """Whether the fraction counts, and whether a number of some binade exceeds the largest element by more than an FP32
    product is rounded.
    """

    def numbers(element: NumberFormat) -> list[int]:
        last = limits(Encode(block=block_format(element), scale_rule=rule), 127)
        return [127 << 23 | fraction for fraction in (last, 0x7FFFFF)]

    exceeds = any(
        FP32.decode(number).magnitude / Fraction(2) ** scale_of(number, rule, element)
        > element.max_value * (1 + Fraction(1, 2**22))
        for element in OCP
        for number in numbers(element)
    )
    assert (rounds_up(rule), exceeds_largest(rule)) == (rule in ROUNDS_UP, exceeds)


@pytest.mark.parametrize("rule", sorted({*ScaleRule} - {*ROUNDS_UP}))
def test_rules_that_never_raise_the_scale_have_no_threshold(rule):
    for element in EVERY:
        threshold = Threshold.of(Encode(block=block_format(element), scale_rule=rule))
        assert threshold.in_binade == threshold.at_bottom == 0x7FFFFF


# ---- the hardware: table B.1 of numerics.md, and its exceptions in table B.3


def published_byte(short: str, rule: str, a: int) -> int:
    """The byte of the FP32 pattern ``a`` of a largest magnitude."""
    e, m = a >> 23, a & 0x7FFFFF
    if rule == "even":
        byte = (a + (0x800000 - EVEN[short]) >> 23) - EMAX[short]
    elif rule == "even1":
        byte = (a + 0x200000 >> 23) - EMAX[short]
    elif rule == "round_log2":
        byte = e - EMAX[short] - 1 + (m >= ROOT[short])
    elif rule == "midmax":
        byte = e - EMAX[short] + (m > MIDDLE[short])
        if e == 0:
            byte = int(short == "int8" and m > 0x7F8000)
    elif rule == "linear_nearest":  # as FlyDSL reads the fields of the product
        one = np.float32(1) / np.float32({0: 127 / 64}.get(EMAX[short], 2.0 ** EMAX[short] * (1 + MMAX[short] / 2**23)))
        p = int((np.uint32(a).view(np.float32) * one).view(np.uint32))
        byte = (p >> 23) + (p & 0x400000 > 0 and (p & 0x3FFFFF > 0 or p >> 23 > 0))
    elif rule == "pow2_ceil":
        byte = e - EMAX[short] + (m != 0)
    elif rule in ("ceil", "rceil"):
        byte = e - EMAX[short] + (m > MMAX[short])
        if e == 0:
            byte = int(short == "int8" and m > 0x7F0000)
        if rule == "rceil" and (a in MULTIPLICATION[short] or (short == "int8" and e and m == 0x7E0001)):
            byte -= 1
    else:
        byte = e - (BIAS if rule == "bias_floor" else EMAX)[short]
    return min(max(byte, 0), 254)


class Scale(Elaboratable):
    """The scale byte of a largest magnitude: a reduced key, then the scale unit."""

    def __init__(self, config) -> None:
        self.parts = ReduceKey(config), ScaleUnit(config)
        self.magnitude, self.scale = Signal.like(self.parts[0].magnitude), Signal(8)
        self.mode = Signal(max(config.mode_bits, 1))

    def elaborate(self, platform) -> Module:
        m = Module()
        m.submodules.key, m.submodules.unit = key, unit = self.parts
        m.d.comb += [key.magnitude.eq(self.magnitude), unit.key.eq(key.key), self.scale.eq(unit.scale)]
        m.d.comb += [part.mode.eq(self.mode) for part in self.parts if "mode" in part.signature.members]
        return m


def largest_magnitudes(short: str) -> list[int]:
    """FP32 patterns around all thresholds of tables B.1 and B.3."""
    mantissas = {0, 0x600000, 0x7F0000, MMAX[short], EVEN[short], ROOT[short] - 1, MIDDLE[short], 0x7F8000, 0x7FFFFF}
    mantissas |= {(3 * (0x800000 + MMAX[short]) >> 2) - 0x800000}  # where the product is 0.75
    around = sorted({m + d for m in mantissas for d in (-2, -1, 0, 1, 2) if 0 <= m + d <= 0x7FFFFF})
    bottom = EMAX[short]
    exponents = sorted({0, 1, 2, max(bottom - 1, 0), bottom, bottom + 1, bottom + 2, 127, 253, 254})
    return [e << 23 | m for e, m in product(exponents, around)] + sorted(MULTIPLICATION[short])


@pytest.mark.parametrize("source", ["fp32", "bf16"])
@pytest.mark.parametrize("short", [block.short_name for block in BLOCKS.values()])
def test_scales_are_the_published_ones(short, source):
    """Each rule alone, and all rules as modes of one converter."""
    patterns = largest_magnitudes(short)
    if source == "bf16":  # every fraction of these binades
        patterns = sorted(
            {e << 23 | m << 16 for e in (0, 1, EMAX[short], EMAX[short] + 1, 127, 254) for m in range(128)}
        )
    dropped = 32 - {"fp32": 32, "bf16": 16}[source]
    every = converter_config(short, source=source, scale_rule=list(ScaleRule))
    stimuli = [{"magnitude": a >> dropped} for a in patterns]
    together = iter(
        outputs(
            Scale(every),
            [stimulus | {"mode": mode} for mode in range(len(ScaleRule)) for stimulus in stimuli],
            ["scale"],
        )
    )
    for rule in ScaleRule:
        alone = outputs(Scale(converter_config(short, source=source, scale_rule=rule)), stimuli, ["scale"])
        for a, found in zip(patterns, alone):
            assert (found, next(together)) == ((published_byte(short, rule, a),),) * 2, (rule, hex(a))


def test_ceil_and_rceil_differ_as_published():
    for short, patterns in MULTIPLICATION.items():
        assert len(patterns) == 1
        for a in patterns:
            (ceil,), (rceil,) = (
                outputs(Scale(converter_config(short, scale_rule=rule)), [{"magnitude": a}], ["scale"])[0]
                for rule in ("ceil", "rceil")
            )
            assert (ceil, rceil) == (1, 0), (short, hex(a))
