"""Waveforms with decoded values, read back and compared with the exact definition."""

from __future__ import annotations

import math
import shutil
from fractions import Fraction

import numpy as np
import pytest
from vcd.reader import TokenKind, tokenize

from mxcast.hdl import converter_config
from mxcast.models.exact.encode import decode, quantize_block
from mxcast.sim import verify
from mxcast.sim.check.window import Window
from mxcast.sim.cocotb.traced import trace
from mxcast.sim.run.waves import power
from mxcast.spec import E8M0, FP32, Number

needs_icarus = pytest.mark.skipif(
    shutil.which("iverilog") is None, reason="Icarus is optional: apt-get install iverilog"
)


def at_each_block(path, side: str) -> dict[int, dict[str, object]]:
    """The decoded variables and the pins when a block is about to be followed by another, by its number."""
    names, values, found, scopes = {}, {}, {}, []
    with open(path, "rb") as file:
        for token in tokenize(file):
            if token.kind is TokenKind.SCOPE:
                scopes.append(token.scope.ident)
            elif token.kind is TokenKind.UPSCOPE:
                scopes.pop()
            elif token.kind is TokenKind.VAR and len(scopes) == 1 and scopes[0] != "rootio":
                names[token.var.id_code] = token.var.reference
            elif token.kind is TokenKind.CHANGE_TIME and isinstance(values.get(f"block_{side}"), int):
                found[values[f"block_{side}"]] = dict(values)
            elif token.kind.name.startswith("CHANGE_") and token.kind is not TokenKind.CHANGE_TIME:
                change = token.data
                if change.id_code in names:
                    values[names[change.id_code]] = change.value
    if isinstance(values.get(f"block_{side}"), int):
        found[values[f"block_{side}"]] = dict(values)
    return found


def equal(text_value: float, number: Number) -> bool:
    """Is a real the number, with the sign of zero and every bit?"""
    if number.kind == "nan":
        return math.isnan(text_value)
    if number.kind == "inf":
        return math.isinf(text_value) and (text_value < 0) == number.negative
    sign = math.copysign(1, text_value) < 0
    return Fraction(text_value) == number.value and sign == number.negative


ICARUS = pytest.param("icarus", marks=needs_icarus)

CONFIGS = {
    "no clock": (converter_config("e4m3", block_size=4), "corner"),
    "registers": (converter_config("int8", block_size=4, registered_after=("scale", "output")), "corner"),
    "infinities": (converter_config("e5m2", "te", block_size=4), "corner"),
}


@pytest.mark.sampled(2)
@pytest.mark.parametrize("simulator", [ICARUS, pytest.param("verilator", marks=pytest.mark.slow)])
@pytest.mark.parametrize("config, stimuli", CONFIGS.values(), ids=CONFIGS)
def test_decoded_values_are_those_of_the_exact_definition(config, stimuli, simulator, tmp_path):
    rules, window = config.numerics, Window(9)
    assert verify(config, stimuli=stimuli, blocks=10, window=window).passed
    result = trace(window, config, simulator=simulator, out=tmp_path)
    assert result.passed, result.report
    with np.load(result.log.parent / "blocks.npz") as file:
        patterns = file["x"].tolist()
    assert window.first == 6 and len(patterns) == 7
    entering, leaving = (at_each_block(result.waveform, side) for side in ("in", "out"))
    assert set(entering) == set(leaving) == set(range(6, 13))
    compared = 0
    for block, row in enumerate(patterns, window.first):
        scale, codes = quantize_block(row, rules)
        factor = E8M0.decode(scale)
        for lane, (pattern, code) in enumerate(zip(row, codes, strict=True)):
            number = decode(pattern, FP32)
            element = rules.block.element.decode(code)
            assert equal(entering[block][f"x_{lane}"], number)
            assert equal(leaving[block][f"p_{lane}"], element)
            value = leaving[block][f"value_{lane}"]
            if "nan" in (factor.kind, element.kind):
                assert math.isnan(value)
            else:
                magnitude = element.magnitude * factor.magnitude
                assert equal(value, Number(element.negative, magnitude, element.kind))
            compared += 1
        assert equal(leaving[block]["scale_value"], factor)
        assert leaving[block]["scale_power"] == ("nan" if factor.kind == "nan" else f"2^{scale - 127}")
        assert leaving[block]["test"] == window.stimulus
    assert compared == 28


@pytest.mark.sampled(2)
@needs_icarus
@pytest.mark.parametrize(
    "config, stimuli",
    [
        (converter_config("e4m3", block_size=8, lanes=2), "corner"),
        (converter_config("e2m1,int4", block_size=2, rounding="sr", random_bits=3, registered_after="scale"), "random"),
    ],
    ids=["beats", "modes and random bits"],
)
def test_elements_follow_the_mode_and_the_beat(config, stimuli, tmp_path):
    """In the second mode, or in the last beat of a block, each element times the scale is the value."""
    window = Window(70 if config.alternatives else 9)
    assert verify(config, stimuli=stimuli, blocks=100, window=window).passed
    result = trace(window, config, simulator="icarus", out=tmp_path)
    assert result.passed, result.report
    form = config.modes[-1].block.element
    for _, seen in sorted(at_each_block(result.waveform, "out").items()):
        lanes = [name for name in seen if name.startswith("p_")]
        codes = [seen["p"] >> (form.bits * lane) & ((1 << form.bits) - 1) for lane in range(len(lanes))]
        assert len(lanes) == 2 and all(equal(seen[f"p_{lane}"], form.decode(code)) for lane, code in enumerate(codes))
        for lane in range(2):
            assert seen[f"value_{lane}"] == seen[f"p_{lane}"] * seen["scale_value"] or math.isnan(seen["scale_value"])


@needs_icarus
def test_what_gtkwave_shows_is_in_the_dump(tmp_path):
    config = converter_config("e4m3", block_size=4)
    verify(config, stimuli="corner", window=(window := Window(9)))
    result = trace(window, config, simulator="icarus", out=tmp_path)
    view = result.waveform.with_suffix(".gtkw").read_text()
    shown = [line for line in view.splitlines() if "." in line and line[0] not in "[*"]
    declared, scopes = set(), []
    with open(result.waveform, "rb") as file:
        for token in tokenize(file):
            if token.kind is TokenKind.SCOPE:
                scopes.append(token.scope.ident)
            elif token.kind is TokenKind.UPSCOPE:
                scopes.pop()
            elif token.kind is TokenKind.VAR:
                index = token.var.bit_index
                declared.add(".".join([*scopes, token.var.reference]) + (f"[{index[0]}:{index[1]}]" if index else ""))
    assert set(shown) <= declared and len(shown) == 20
    groups = [line[1:] for line in view.splitlines() if line[0] == "-"]
    assert groups[::2] == ["block", "numbers", "scale", "elements"]


@pytest.mark.parametrize(
    "scale, text",
    [
        (Number(False, Fraction(1)), "s2^0"),
        (Number(False, Fraction(1, 2**127)), "s2^-127"),
        (Number(False, Fraction(448)), "s1.75*2^8"),
        (Number(False, Fraction(7, 512)), "s1.75*2^-7"),
        (Number(False, Fraction(0)), "s0"),
        (Number(False, Fraction(0), "nan"), "snan"),
        (None, "sx"),
    ],
    ids=str,
)
def test_a_scale_as_a_power_of_two(scale, text):
    assert power(scale) == text


@pytest.mark.parametrize("text", ["", "random", "random:", "-1", "random:x", "1.5"])
def test_a_block_is_a_number(text):
    with pytest.raises(ValueError, match="a block must be a number"):
        Window.named(text)


def test_a_block_that_is_not_there(tmp_path):
    window = Window.named("corner:1000000")
    assert verify(converter_config("int4", block_size=2), stimuli="corner", window=window).passed
    with pytest.raises(ValueError, match="no block corner:1000000 was compared"):
        window.found()
