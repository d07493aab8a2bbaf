"""Configurations whose Verilog is looked at, each made once, and the tools that read it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from mxcast.hdl import emit
from mxcast.spec import BLOCKS, PROFILES, ConverterConfig, converter_config

CASES = [(BLOCKS[name].short_name, profile, {}) for name in BLOCKS for profile in PROFILES] + [
    ("e4m3", "ocp", {"specials": "inf_scale"}),                              # two flags and one more bit of key
    ("e2m3", "nvidia", {"specials": "inf_scale"}),                           # the bit of the key has two meanings
    ("int8", "ocp", {"specials": "inf_scale"}),                              # signed signal codes
    ("e5m2", "ocp", {"input_subnormals": "flush"}),                          # no normaliser
    ("int8", "nvidia", {"input_subnormals": "flush"}),                       # a constant in the comparison below the binades
    ("e3m2", "ocp", {"element_subnormals": "flush"}),                        # zeros below the normal elements
    ("e2m1", "gorodecky_sousa", {"element_subnormals": "exact"}),            # half up, shifted
    ("e2m1", "nvidia", {"amax_key": "magnitude"}),                           # reduced after the tree
    ("e4m3", "gorodecky_sousa", {"amax_key": "magnitude"}),                  # left out before the tree
    ("int8", "ocp", {"amax_key": "magnitude", "specials": "inf_scale", "rounding": "guard_half_up"}),
]


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
    import re
    return re.sub(r"/\*.*?\*/|//[^\n]*", "", text, flags=re.S)


@pytest.fixture(scope="session", params=CASES,
                ids=lambda case: "-".join([case[0], case[1], *(f"{key}={value}" for key, value in case[2].items())]))
def emitted(request, tmp_path_factory) -> Emitted:
    short, profile, overrides = request.param
    config = converter_config(short, profile, **overrides)
    files = emit(config, tmp_path_factory.mktemp("emitted"))
    text = files["verilog"].read_text()
    return Emitted(config=config, top=files["verilog"].stem, files=files, text=text, code=_without_comments(text))
