"""Designs for tests of `check_rtl`, and the maps of their ports."""

from __future__ import annotations

from pathlib import Path

from mxcast.hdl import converter_config, verilog

DESIGNS = Path(__file__).parent / "designs"
CONFIG = converter_config("e2m1", "ocp", block_size=4)

PORTS = {"x": "in_{i}", "scale": "shared", "p": "out_{i}"}
FIELDS = {
    "x": "signs[{i}]:exponents[{8*i+7}:{8*i}]:fractions[{23*i+22}:{23*i}]",
    "scale": "shared",
    "p": "codes[{4*i}:{4*i+3}]",
}
PIPE = {
    "x": "data@msb",
    "scale": "result[23:16]",
    "p": "result[15:0]@msb",
    "clk": "clk",
    "rst": "rst_n@low",
    "valid": 1,
}
TURN = {"x": "data", "scale": "result[23:16]", "p": "result[15:0]", "clk": "clk", "latency": 1}


def emitted(tmp_path: Path, edit: tuple[str, str] | None = None, **fields: object) -> Path:
    text = verilog(converter_config("e4m3", block_size=2, **fields), "ours")
    if edit:
        assert edit[0] in text
        text = text.replace(*edit)
    path = tmp_path / "ours.v"
    path.write_text(text)
    return path
