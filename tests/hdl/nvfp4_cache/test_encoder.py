"""NVFP4 encoders with a cache of rows: what can be asked for, and what the emitted file says."""

from __future__ import annotations

import pytest

from mxcast.hdl import nvfp4_config, nvfp4_tile_config, verilog
from mxcast.hdl.nvfp4_cache.schedule import DIGITS, ROW_CYCLES, TURN
from mxcast.synth import constrained


def test_the_usual_registers_are_within_the_limits():
    """At most 24 stages; from BF16 the memories have 16 words."""
    for block, order, source, latency in (
        ("nvfp4", "te", "bf16", 20),
        ("nvfp4", "te", "fp32", 22),
        ("nvfp4_32", "paper", "fp32", 24),
    ):
        config = nvfp4_config(block, order=order, source=source, form="cache")
        assert config.latency == latency and config.pause == ROW_CYCLES
        assert {"lookup", "factor"} == config.always_registered


def test_a_row_has_time_for_all_scales():
    """As the bits of all scales are cleared while it is computed."""
    assert ROW_CYCLES >= 128 and DIGITS < TURN


def test_the_file_says_how_long_a_block_waits():
    text = verilog(nvfp4_config("nvfp4", source="bf16", form="cache"), "encoder")
    assert "but waits 192 cycles if no block before had its scale since d changed" in text
    assert "initiation interval" not in text


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"order": "ao"}, "computes rows in the orders te and paper, not ao: leave out form"),
        ({"rounding": "sr"}, "rounds elements by rne, not by sr: leave form as product"),
        (
            {"order": "paper", "four_over_six": "mse"},
            "has one row of thresholds, and four_over_six tries two scales: leave out form",
        ),
        ({"lanes": 4}, "has whole blocks: leave out form or lanes"),
        ({"lanes": 4, "interface": "axis"}, "has whole blocks: leave out form or lanes"),
        ({"layout": "te"}, "has scale and codes apart: leave out form, layout and scale_place"),
        (
            {"interface": "axis", "scale_place": "before"},
            "has scale and codes apart: leave out form, layout and scale_place",
        ),
    ],
)
def test_other_rules_are_refused(fields, sentence):
    with pytest.raises(ValueError, match=f"^the form cache {sentence}$"):
        nvfp4_config("nvfp4", form="cache", **fields)


def test_an_order_that_divides_is_refused():
    with pytest.raises(ValueError, match="^the order modelopt divides numbers, which the form cache does not: leave"):
        nvfp4_config("nvfp4", order="modelopt", form="cache")


def test_a_tile_is_refused():
    with pytest.raises(ValueError, match="^the form cache encodes blocks, not tiles: leave out form$"):
        nvfp4_tile_config("nvfp4", form="cache")


def test_a_latency_is_refused():
    with pytest.raises(ValueError, match="^the form cache has its own registers: leave out latency and frequency_mhz"):
        constrained(nvfp4_config("nvfp4", form="cache"), {"latency": 12})
