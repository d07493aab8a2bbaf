"""Where scale rules go one up: the constants and the hardware against the exact definition."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import pytest
from amaranth.hdl import Elaboratable, Module, Signal

from mxcast.explain.scale import offset_and_limit
from mxcast.hdl import ScaleUnit, converter_config
from mxcast.hdl.encode.scale import starts_at_one
from mxcast.hdl.encode.threshold import Threshold, exceeds_largest, rounds_up
from mxcast.hdl.primitives.amax import ReduceKey
from mxcast.models.exact.encode import decode
from mxcast.models.exact.scale import shared_exponent
from mxcast.sim.check.families import every_element
from mxcast.spec import BLOCKS, FP32, TF32, Encode, NumberFormat, ScaleRule, block_format, source_format

from ..published import MULTIPLICATION, raises, scale_of
from ..simulation import outputs

EVERY = [element for elements in every_element().values() for element in elements]
OCP = [block.element for block in BLOCKS.values()]


ONE = 0x3F800000
ROUNDS_UP = [rule for rule in ScaleRule if raises(rule)]
"""Rules under which a fraction raises the scale."""


def limits(rules: Encode, exponent: int) -> int:
    """The last fraction of a binade that does not raise the scale."""
    threshold = Threshold.of(rules)
    return threshold.at_bottom if exponent == threshold.bottom else threshold.in_binade


@pytest.mark.sampled(6)
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
                byte = min(max(exponent + scale_of(ONE, rule, element) + (fraction > limit), 0), 254)
                if byte == 0 and source != "fp16" and starts_at_one(rules):
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


# ---- the hardware


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
    """FP32 patterns around the fractions from which the exact definition of some rule goes one up."""
    element = block_format(short).element
    exponents = {0, 1, 2, *range(max(element.emax - 1, 0), element.emax + 3), 127, 253, 254}
    limits = {offset_and_limit(rule, element, e)[1] for rule in ScaleRule for e in exponents} - {None}
    around = {m + d for m in limits | {0, 0x7FFFFF} for d in (-2, -1, 0, 1, 2) if 0 <= m + d <= 0x7FFFFF}
    return [e << 23 | m for e, m in product(sorted(exponents), sorted(around))]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("source", ["fp32", "bf16"])
@pytest.mark.parametrize("short", [block.short_name for block in BLOCKS.values()])
def test_scales_are_exact(short, source):
    """Each rule alone, and all rules as modes of one converter."""
    patterns, emax = largest_magnitudes(short), block_format(short).element.emax
    if source == "bf16":  # every fraction of these binades
        patterns = sorted({e << 23 | m << 16 for e in (0, 1, emax, emax + 1, 127, 254) for m in range(128)})
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
            assert (found, next(together)) == ((scale_of(a, rule, short) + 127,),) * 2, (rule, hex(a))


def test_ceil_and_rceil_differ_as_published():
    for short, patterns in MULTIPLICATION.items():
        assert len(patterns) == 1
        for a in patterns:
            (ceil,), (rceil,) = (
                outputs(Scale(converter_config(short, scale_rule=rule)), [{"magnitude": a}], ["scale"])[0]
                for rule in ("ceil", "rceil")
            )
            assert (ceil, rceil) == (1, 0), (short, hex(a))
