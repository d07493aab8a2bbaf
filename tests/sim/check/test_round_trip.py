"""The bench of an encoder and its decoder, on Icarus: right pairs pass, a wrong half does not."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from mxcast.hdl import converter_config, decoder_config, verilog
from mxcast.sim.check.round_trip import decoder_of, round_trip


def verdict(folder: Path, bench: str, encoder, decoder) -> str:
    """The last line, of a bench with these halves."""
    texts = {"pair_tb.v": bench, "encoder.v": verilog(encoder, "enc"), "decoder.v": verilog(decoder, "dec")}
    for name, text in texts.items():
        (folder / name).write_text(text)
    command = ["iverilog", "-g2005", "-s", "pair_tb", "-o", "a.vvp", "encoder.v", "decoder.v", "pair_tb.v"]
    subprocess.run(command, cwd=folder, check=True)
    said = subprocess.run(["vvp", "a.vvp"], cwd=folder, capture_output=True, text=True, check=True, timeout=100)
    return said.stdout.splitlines()[-1]


@pytest.mark.skipif(shutil.which("iverilog") is None, reason="Icarus is not installed")
@pytest.mark.parametrize("element, fields", [("e2m1", {}), ("e5m2", {"source": "bf16", "registered_after": "scale"})])
def test_numbers_go_out_and_come_back(element, fields, tmp_path):
    encoder = converter_config(element, "ocp", block_size=4, **fields)
    decoder = decoder_of(encoder)
    bench = round_trip(encoder, decoder, "enc", "dec", "pair")
    assert verdict(tmp_path, bench, encoder, decoder).startswith("PASS: ")
    wrong = converter_config(element, "nvidia", block_size=4, **fields)
    assert verdict(tmp_path, bench, wrong, decoder).startswith("FAIL: ")
    back = {"registered_after": "output"} if encoder.latency else {}
    wrong = decoder_config(element, "idma", block_size=4, destination=fields.get("source", "fp32"), **back)
    assert verdict(tmp_path, bench, encoder, wrong).startswith("FAIL: ")


def test_random_bits_are_refused():
    encoder = converter_config("e2m1", block_size=4)
    decoder = decoder_config("e2m1", block_size=4, rounding="sr")
    with pytest.raises(ValueError, match="^the decoder of a pair takes no random bits$"):
        round_trip(encoder, decoder, "enc", "dec", "pair")
