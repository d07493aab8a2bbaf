"""Verilator reports nothing for a stratified sample of all configurations, including modes."""

from __future__ import annotations

import random
import re

import pytest

from mxcast.hdl import AmaxKey, BlockConverter, ConverterConfig, Microarchitecture
from mxcast.hdl.emission.emit import WAIVER
from mxcast.hdl.emission.modules import convert_all
from mxcast.sim.check.families import FAMILIES, every_element
from mxcast.spec import Encode, Rounding, ScaleRule, Specials, Subnormals, block_format

from ..lint import COCOTB, lint


def of_family(name: str, count: int, size: int | None = None) -> list[ConverterConfig]:
    """``count`` numerics of a family, one from each of as many strata, on a tree of either key; all in blocks of
    ``size``, if given.
    """
    draw, sized = random.Random(f"{name} {size}"), {} if size is None else {"block_size": size}
    every = list(dict.fromkeys(rules.replace(**sized) for family in FAMILIES[name]() for rules in family))
    strata = [every[len(every) * i // count : len(every) * (i + 1) // count] for i in range(count)]
    return [
        ConverterConfig(
            numerics=draw.choice(stratum), microarchitecture=Microarchitecture(amax_key=draw.choice(list(AmaxKey)))
        )
        for stratum in strata
    ]


def with_modes(count: int, size: int) -> list[ConverterConfig]:
    """Two element formats of one width, under up to three scale rules."""
    draw = random.Random(f"modes {size}")
    widths = [elements for elements in every_element().values() if len(elements) > 1]
    found = []
    for number in range(count):
        elements = draw.sample(widths[len(widths) * number // count], k=2)
        rules = draw.sample(list(ScaleRule), k=draw.randint(1, 3))
        first = dict(
            source=draw.choice(["fp32", "bf16", "fp16"]),
            rounding=draw.choice(list(Rounding)),
            specials=draw.choice(list(Specials)),
            element_subnormals=draw.choice(list(Subnormals)),
            input_subnormals=draw.choice(list(Subnormals)),
        )
        modes = [
            Encode(block=block_format(element), scale_rule=rule, **first).replace(block_size=size)
            for element in elements
            for rule in rules
        ]
        found.append(ConverterConfig(numerics=modes[0], alternatives=tuple(modes[1:])))
    return found


def unknown(text: str) -> list[str]:
    """Signals that are read and have undriven bits, which are printed as x."""
    undriven = re.findall(r"^  assign (\w+)(?:\[[\d:]+\])? = \d+'h[0-9a-f]*[xz]+;$", text, flags=re.M)
    assert len(undriven) == len(re.findall(r"'s?[bodh][0-9a-f_]*[xz]", text))  # and nowhere else
    return [name for name in undriven if re.search(rf"= .*\b{name}\b|\(.*\b{name}\b", text)]


SAMPLES = {
    "rules": lambda: of_family("rules", 22),
    "sizes": lambda: of_family("sizes", 6, size=8),
    "formats": lambda: of_family("formats", 20),
    "random_bits": lambda: of_family("random_bits", 4),
    "modes": lambda: with_modes(12, 2),
    "32 lanes": lambda: of_family("rules", 7, size=32) + with_modes(3, 32),
}


@pytest.mark.sampled(8)
@pytest.mark.parametrize("sample", SAMPLES)
def test_verilator_reports_nothing_for_a_sample(sample, tmp_path):
    configs = SAMPLES[sample]()
    assert len(set(configs)) == len(configs) > 3
    texts = convert_all({f"dut{number}": BlockConverter(config) for number, config in enumerate(configs)})
    for config, (top, text) in zip(configs, texts.items(), strict=True):
        file = tmp_path / f"{top}.v"
        file.write_text(WAIVER + text)
        assert (lint("--lint-only", "-Wall", file), lint(*COCOTB, tmp_path, file)) == ("", ""), config
        assert not unknown(text), config


def test_undriven_bits_are_found():
    text = "  assign a[3:1] = 3'hx;\n  assign b = 1'h0;\n"
    assert unknown(text) == [] and unknown(text + "  assign c = b ? a[0] : 1'h0;\n") == unknown(
        text + "    .x(a)\n"
    ) == ["a"]


def test_warnings_of_cocotbs_build_are_found(tmp_path):
    loop = "module t(input [1:0] a, output [1:0] y); assign y[0] = a[0]; assign y[1] = y[0] & a[1]; endmodule\n"
    (tmp_path / "t.v").write_text(loop)
    assert "UNOPTFLAT" in lint(*COCOTB, tmp_path, tmp_path / "t.v")
