"""The gate accepts emitted files; `test_objections` and `test_attacks` show its objections."""

from __future__ import annotations

import pytest

from mxcast.hdl import BlockConverter, converter_config
from mxcast.hdl.emission.modules import convert_all
from mxcast.proof.verilog.elaboration import elaborated
from mxcast.proof.verilog.gate import objections
from mxcast.proof.verilog.text import plain

SETS = {
    "usual": {},
    "plain": {"optimize": "plain"},
    "registers": {"optimize": "plain", "registered_after": "input,scale,rounded"},
    "bf16": {"source": "bf16"},
    "te": {"specials": "te"},
    "area": {"target": "xcu"},
    "speed": {"optimize": "speed"},
    "random": {"rounding": "sr"},
}


@pytest.mark.parametrize("name", SETS)
def test_no_objection_to_emitted_verilog(name):
    configs = {
        f"{element}_{name}": converter_config(element, block_size=4, **SETS[name])
        for element in ("e4m3", "e2m1", "int8")
    }
    texts = convert_all({top: BlockConverter(config) for top, config in configs.items()})
    assert {top: objections(elaborated(plain(text), top)) for top, text in texts.items()} == dict.fromkeys(configs, [])
