"""Tests of the tests: planted bugs must make the cocotb regression and `verify` fail.

Some are planted in the generator, some in the emitted text; each planting checks that it changed something.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from types import SimpleNamespace

import pytest

from mxcast.hdl import ConverterConfig, converter_config, verilog
from mxcast.hdl.encode import element, scale, threshold
from mxcast.hdl.encode.threshold import Threshold
from mxcast.hdl.primitives import amax
from mxcast.sim import test as regress
from mxcast.sim import verify
from mxcast.sim.run.verilator.verilated import driver_of
from mxcast.spec import EncodedZero, NumberFormat, ScaleRule, Specials, Subnormals

NAME = "planted"


def rounding_by(rule: Callable) -> Callable:
    """``rule`` takes the arguments of `rounds_up` but the first."""

    def plant(monkeypatch, config) -> str:
        monkeypatch.setattr(element, "rounds_up", lambda rounding, *bits: rule(*bits))
        return verilog(config, NAME)

    return plant


def subnormal_not_normalised(monkeypatch, config) -> str:
    normalise = element.ElementQuantizer.normalise

    def without(self, m, number):
        rules, self.numerics = self.numerics, self.numerics.replace(input_subnormals=Subnormals.FLUSH)
        try:
            return normalise(self, m, number)
        finally:
            self.numerics = rules

    monkeypatch.setattr(element.ElementQuantizer, "normalise", without)
    return verilog(config, NAME)


def threshold_moved(**by: int) -> Callable:
    def plant(monkeypatch, config) -> str:
        of = Threshold.of.__func__

        def moved(cls, rules) -> Threshold:
            right = of(cls, rules)
            return replace(right, **{name: getattr(right, name) + places for name, places in by.items()})

        monkeypatch.setattr(Threshold, "of", classmethod(moved))
        return verilog(config, NAME)

    return plant


def rceil_in_exact_arithmetic(monkeypatch, config) -> str:
    """One largest magnitude in two thousand million differs."""
    monkeypatch.setitem(threshold.LIMITS, ScaleRule.RCEIL, threshold.LIMITS[ScaleRule.CEIL])
    return verilog(config, NAME)


def log2_rounded_in_the_binade_of_destmax(monkeypatch, config) -> str:
    right = threshold.LIMITS[ScaleRule.ROUND_LOG2]

    def halved(element: NumberFormat) -> threshold.Limit:
        return replace(right(element), number=right(element).number / 2)

    monkeypatch.setitem(threshold.LIMITS, ScaleRule.ROUND_LOG2, halved)
    return verilog(config, NAME)


def starts_at_zero(monkeypatch, config) -> str:
    monkeypatch.setattr(scale, "starts_at_one", lambda numerics: False)
    return verilog(config, NAME)


def zero_as(other: EncodedZero) -> Callable:
    """The hardware of another rule for the sign of zero."""

    def plant(monkeypatch, config) -> str:
        return verilog(replace(config, numerics=config.numerics.replace(zero=other)), NAME)

    return plant


def nan_in_the_maximum(monkeypatch, config) -> str:
    monkeypatch.setattr(amax, "Specials", SimpleNamespace(**dict(Specials.__members__) | {"TE": None}))
    return verilog(config, NAME)


def edited(pattern: str, replacement: str | Callable) -> Callable:
    def plant(monkeypatch, config) -> str:
        text, count = re.subn(pattern, replacement, verilog(config, NAME))
        assert count == 1, f"{pattern} occurs {count} times"
        return text

    return plant


@dataclass(frozen=True)
class Bug:
    plant: Callable
    config: ConverterConfig
    missed_by: tuple[str, ...] = ()
    """Stimuli that cannot show the bug: boundaries and distances have numbers only."""


def bug(plant: Callable, block: str = "e4m3", *missed_by: str, **rules: object) -> Bug:
    return Bug(plant, converter_config(block, block_size=4, **rules), missed_by)


USUAL = ("corner", "boundary", "random")

BUGS = {
    "flipped_tie": bug(rounding_by(lambda last, below, sticky, random: below & (~last | sticky))),
    "lost_sticky_bit": bug(rounding_by(lambda last, below, sticky, random: below & last)),
    "off_by_one_scale": bug(edited(r"(assign \w+ = (?:key|rounded) - \d'h)8;", r"\g<1>7;")),
    "subnormal_not_normalised": bug(subnormal_not_normalised),
    "swapped_lane": bug(
        edited(
            r"(element_0 \([^;]*?\.x\(x\[)31:0(\]\)[^;]*;[^;]*element_1 \([^;]*?\.x\(x\[)63:32", r"\g<1>63:32\g<2>31:0"
        )
    ),
    "nan_ignored": bug(edited(r"assign nan = & key;", "assign nan = 1'h0;"), "e4m3", "boundary", "distance"),
    # the other rules
    "ceil_above_its_threshold": bug(threshold_moved(in_binade=1), "e4m3", "distance", scale_rule="ceil"),
    "rceil_below_its_threshold": bug(threshold_moved(in_binade=-1), "e4m3", "distance", scale_rule="rceil"),
    "even_above_its_threshold": bug(
        threshold_moved(in_binade=1, at_bottom=1), "e2m1", scale_rule="even", source="bf16"
    ),
    "int8_ceil_of_subnormals": bug(
        threshold_moved(at_bottom=1), "int8", "corner", "distance", "random", scale_rule="ceil"
    ),
    "rceil_in_exact_arithmetic": bug(
        rceil_in_exact_arithmetic, "e4m3", "corner", "distance", "random", scale_rule="rceil"
    ),
    "rna_tie_to_even": bug(rounding_by(lambda last, below, sticky, random: below & (last | sticky)), rounding="rna"),
    "rnz_tie_up": bug(rounding_by(lambda last, below, sticky, random: below), rounding="rnz"),
    "even1_above_its_threshold": bug(threshold_moved(in_binade=1), "e4m3", "distance", scale_rule="even1"),
    "round_log2_below_its_threshold": bug(
        threshold_moved(in_binade=-1), "e2m1", "distance", "random", scale_rule="round_log2"
    ),
    "linear_nearest_below_its_threshold": bug(
        threshold_moved(in_binade=-1), "e2m3", "distance", "random", scale_rule="linear_nearest"
    ),
    "linear_nearest_from_byte_0_on": bug(starts_at_zero, "e4m3", "distance", "random", scale_rule="linear_nearest"),
    "midmax_above_its_threshold": bug(threshold_moved(in_binade=1), "e4m3", "distance", "random", scale_rule="midmax"),
    "round_log2_without_its_offset": bug(log2_rounded_in_the_binade_of_destmax, "int8", scale_rule="round_log2"),
    "positive_zero_of_zeros_only": bug(zero_as(EncodedZero.TAKEN_POSITIVE), "e2m1", zero="positive"),
    "taken_positive_of_all_zeros": bug(zero_as(EncodedZero.POSITIVE), "e2m1", zero="taken_positive"),
    "taken_negative_keeps_the_sign": bug(zero_as(EncodedZero.SIGNED), "e4m3", "distance", zero="taken_negative"),
    "rtz_rounds_up": bug(rounding_by(lambda last, below, sticky, random: below & sticky), rounding="rtz"),
    "sr_carry_lost": bug(
        rounding_by(lambda last, below, sticky, random: (below + random)[len(below) - 1]), rounding="sr", random_bits=5
    ),
    "sr_random_of_another_lane": bug(edited(r"random\[9:5\]", "random[4:0]"), rounding="sr", random_bits=5),
    "te_nan_in_the_maximum": bug(nan_in_the_maximum, "e2m1", "boundary", "distance", specials="te"),
    "widen_off_by_one": bug(edited(r"= 7'h70 - \{ up8", "= 7'h6f - { up8"), source="fp16"),
    # one entry of a table, for three bits below a tie and for one pair of digits of exponents
    "sticky_entry": bug(
        edited("64'hffffffffffffeea0", "64'hfeffffffffffeea0"), "e4m3", *USUAL, profile="nvidia", target="xcu"
    ),
    "is_below_entry": bug(
        edited("64'h8040201008040201", "64'h8040201208040201"), "e4m3", *USUAL, profile="nvidia", target="xcu"
    ),
    "mode_swapped": bug(edited(r"(scale_unit scale_unit \([^;]*\.mode\()mode\)", r"\g<1>~mode)"), "e4m3,e5m2"),
}

IN_COCOTB = (
    "flipped_tie",
    "off_by_one_scale",
    "swapped_lane",
    "nan_ignored",
    "sr_random_of_another_lane",
    "widen_off_by_one",
    "mode_swapped",
)
"""Bugs for the work of the bench alone: cut and join lanes, see specials, drive random bits, 16-bit numbers and modes.
Each run compiles a simulator, which takes longer than all of `verify`.
"""


def planted(name: str, monkeypatch) -> str:
    """The Verilog with the bug in it."""
    bug = BUGS[name]
    sound, text = verilog(bug.config, NAME), bug.plant(monkeypatch, bug.config)
    monkeypatch.undo()
    assert text != sound
    return text


@pytest.mark.parametrize("name", IN_COCOTB)
def test_the_cocotb_regression_finds_it(name, monkeypatch, tmp_path):
    file = tmp_path / "planted.v"
    file.write_text(planted(name, monkeypatch))
    result = regress(BUGS[name].config, out=tmp_path, name=NAME, verilog=file, random_blocks=500)
    assert not result.passed and result.failures, f"the regression passed with {name}"
    assert "expected 0x" in result.report and "to repeat: mxcast test mxfp8_e4m3" in result.report


@pytest.mark.parametrize("name", BUGS)
def test_verify_finds_it(name, monkeypatch):
    bug = BUGS[name]
    design = driver_of(planted(name, monkeypatch), NAME, bug.config)
    for stimuli in (*USUAL, "distance"):
        result = verify(bug.config, stimuli=stimuli, blocks=20_000, design=design)
        if stimuli not in bug.missed_by:
            assert not result.passed and result.mismatched_blocks, f"{stimuli} stimuli do not find {name}"
            assert "element" in result.report or "scale expected" in result.report
