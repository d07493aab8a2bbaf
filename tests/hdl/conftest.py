"""Configurations with their Verilog, each emitted once, and the tools that read it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import pytest

from mxcast.hdl import ConverterConfig, converter_config, emit
from mxcast.spec import BLOCKS, FloatFormat, SpecialCodes

SHORT = [block.short_name for block in BLOCKS.values()]

ODD = FloatFormat(name="odd", exp_bits=4, man_bits=2, bias=9, specials=SpecialCodes.NAN_ONLY, source="nobody")

PROFILES = ("ocp", "nvidia", "te", "gorodecky_sousa")
MORE = [
    (short, profile, {})
    for m, short in enumerate(SHORT)
    for n, profile in enumerate(PROFILES)
    if m % len(PROFILES) != n
]
"""The other pairs of a format and a profile, which the quick run leaves out."""

MORE += [
    ("e2m3", "torchao_ceil", {}),
    ("e2m1", "torchao_even", {}),
    ("e2m1", "samson", {}),
    ("int8", "samson", {}),
    ("e4m3", "microxcaling", {}),  # the rules of ocp under another name
]

CASES = (
    [(short, PROFILES[m % len(PROFILES)], {}) for m, short in enumerate(SHORT)]
    + [
        ("e4m3", "torchao_rceil", {}),
        ("int8", "torchao_rceil", {}),  # two constants, one below the binades
        ("e5m2", "torchao_ceil", {}),
        ("e3m2", "torchao_even", {}),
        ("e3m2", "samson", {}),  # sixteen bits in
    ]
    + [
        ("e4m3", "ocp", {"specials": "inf_scale"}),  # two flags and one more bit of key
        ("e2m3", "nvidia", {"specials": "inf_scale"}),  # the bit of the key has two meanings
        ("int8", "ocp", {"specials": "inf_scale"}),  # signed signal codes
        ("e5m2", "ocp", {"input_subnormals": "flush"}),  # no normaliser
        ("int8", "nvidia", {"input_subnormals": "flush"}),  # a constant in the comparison below the binades
        ("e3m2", "ocp", {"element_subnormals": "flush"}),  # zeros below the normal elements
        ("e2m1", "gorodecky_sousa", {"element_subnormals": "exact"}),  # half up, shifted
        ("e2m1", "nvidia", {"amax_key": "magnitude"}),  # reduced after the tree
        ("e4m3", "gorodecky_sousa", {"amax_key": "magnitude"}),  # left out before the tree
        ("int8", "ocp", {"amax_key": "magnitude", "specials": "inf_scale", "rounding": "guard_half_up"}),
        # other sources, block sizes and elements
        ("e5m2", "torchao_even", {"source": "bf16"}),  # a fraction of seven bits
        ("e4m3", "te", {"source": "fp16"}),  # widened in every lane
        ("e2m1", "ocp", {"source": "fp16", "amax_key": "magnitude", "block_size": 8}),
        ("int4", "nvidia", {"block_size": 4}),
        ("e3m3", "ocp", {"block_size": 128, "rounding": "rtz"}),  # lanes of three digits; nothing rounds
        ("e5m10", "nvidia", {"block_size": 16}),  # codes of sixteen bits
        ("int16", "ocp", {"block_size": 2, "source": "bf16", "rounding": "rna"}),  # more bits than the source has
        ("e1m0", "torchao_even", {"block_size": 4}),  # codes of two bits, no fraction
        (ODD, "ocp", {"block_size": 4}),  # a format that its name does not spell
        # random bits
        ("e2m1", "ocp", {"rounding": "sr", "random_bits": 5}),
        ("e4m3", "te", {"rounding": "sr", "random_bits": 1, "source": "fp16", "block_size": 4}),
        # modes
        ("e4m3,e5m2", "ocp", {"scale_rule": "floor,ceil"}),  # two bits of mode
        ("e4m3", "ocp", {"scale_rule": "floor,bias_floor"}),  # one mode bit, which the tree does not need
        ("e3m2,e2m3,int6", "ocp", {"amax_key": "magnitude", "block_size": 8}),  # no format has mode 3
        (
            "int8,e5m2",
            "te",
            {"scale_rule": "rceil,even,pow2_ceil", "source": "fp16", "rounding": "sr", "block_size": 4},
        ),
    ]
)


@dataclass(frozen=True)
class Emitted:
    config: ConverterConfig
    top: str
    files: dict[str, Path]
    text: str
    """The Verilog file."""
    code: str
    """The Verilog without its comments."""


def _without_comments(text: str) -> str:
    return re.sub(r"/\*.*?\*/|//[^\n]*", "", text, flags=re.S)


def _id(case: tuple) -> str:
    element, profile, overrides = case
    return "-".join(
        [str(getattr(element, "name", element)), profile, *(f"{key}={value}" for key, value in overrides.items())]
    )


@pytest.fixture(
    scope="session", params=[*CASES, *(pytest.param(case, marks=pytest.mark.slow) for case in MORE)], ids=_id
)
def emitted(request, tmp_path_factory) -> Emitted:
    element, profile, overrides = request.param
    config = converter_config(element, profile, **overrides)
    files = emit(config, tmp_path_factory.mktemp("emitted"))
    text = files["verilog"].read_text()
    return Emitted(config=config, top=files["verilog"].stem, files=files, text=text, code=_without_comments(text))
