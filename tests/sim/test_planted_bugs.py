"""Tests of the tests: planted bugs must make the cocotb regression and `verify` fail.

Three bugs are planted in the generator, three in the emitted text; each planting checks that it changed something.
"""

import re
from collections.abc import Callable
from itertools import product

import pytest

from mxcast.hdl import element, verilog
from mxcast.sim import test as regress
from mxcast.sim import verify
from mxcast.sim.verilated import verilate_text
from mxcast.spec import Subnormals, converter_config

CONFIG = converter_config("e4m3")
NAME = "planted"


def flipped_tie(monkeypatch) -> str:
    monkeypatch.setattr(element, "rounds_up", lambda rounding, last, guard, sticky: guard & (~last | sticky))
    return verilog(CONFIG, NAME)


def lost_sticky_bit(monkeypatch) -> str:
    monkeypatch.setattr(element, "rounds_up", lambda rounding, last, guard, sticky: guard & last)
    return verilog(CONFIG, NAME)


def subnormal_not_normalised(monkeypatch) -> str:
    normalise = element.ElementQuantizer.normalise

    def without(self, m, number):
        rules, self.numerics = self.numerics, self.numerics.replace(input_subnormals=Subnormals.FLUSH)
        try:
            return normalise(self, m, number)
        finally:
            self.numerics = rules

    monkeypatch.setattr(element.ElementQuantizer, "normalise", without)
    return verilog(CONFIG, NAME)


def edited(pattern: str, replacement: str | Callable) -> Callable:
    def plant(monkeypatch) -> str:
        text, count = re.subn(pattern, replacement, verilog(CONFIG, NAME))
        assert count == 1, f"{pattern} occurs {count} times"
        return text

    return plant


off_by_one_scale = edited(r"(assign \w+ = (?:key|rounded) - \d'h)8;", r"\g<1>7;")
nan_ignored = edited(r"assign nan = & key;", "assign nan = 1'h0;")
swapped_lane = edited(r"(element_00 \([^;]*?\.x\(x\[)31:0(\]\)[^;]*;[^;]*element_01 \([^;]*?\.x\(x\[)63:32", r"\g<1>63:32\g<2>31:0")

BUGS = {"flipped_tie": flipped_tie, "lost_sticky_bit": lost_sticky_bit, "off_by_one_scale": off_by_one_scale,
        "subnormal_not_normalised": subnormal_not_normalised, "swapped_lane": swapped_lane, "nan_ignored": nan_ignored}


@pytest.mark.parametrize("bug", BUGS)
def test_the_cocotb_regression_finds_it(bug, monkeypatch, tmp_path):
    text = BUGS[bug](monkeypatch)
    assert text != _sound(monkeypatch)
    file = tmp_path / "planted.v"
    file.write_text(text)
    result = regress(CONFIG, out=tmp_path, name=NAME, verilog=file, random_blocks=500)
    assert not result.passed and result.failures, f"the regression passed with {bug}"
    assert "expected 0x" in result.report and "to repeat: mxcast test mxfp8_e4m3" in result.report


@pytest.mark.parametrize("bug, stimuli", [
    (bug, stimuli) for bug, stimuli in product(BUGS, ("corner", "boundary", "random"))
    if (bug, stimuli) != ("nan_ignored", "boundary")])                   # boundary blocks are numbers only
def test_verify_finds_it(bug, stimuli, monkeypatch):
    text = BUGS[bug](monkeypatch)
    result = verify(CONFIG, stimuli=stimuli, blocks=20_000, design=verilate_text(text, NAME, CONFIG.numerics))
    assert not result.passed and result.mismatched_blocks, f"{stimuli} stimuli do not find {bug}"
    assert "element" in result.report or "scale expected" in result.report


def _sound(monkeypatch) -> str:
    monkeypatch.undo()
    return verilog(CONFIG, NAME)
