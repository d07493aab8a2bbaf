"""Proofs of hardware whose ports carry blocks in the layout of a library."""

import pytest

from mxcast.hdl import converter_config, decoder_config, emit
from mxcast.hdl.emission import stored
from mxcast.proof import prove
from mxcast.spec import Packing


@pytest.mark.parametrize(
    "config",
    [
        decoder_config("e2m1", layout="ggml", destination="bf16"),
        pytest.param(converter_config("e2m1", layout="ggml"), marks=pytest.mark.slow),
        pytest.param(converter_config("e3m2", layout="torchao"), marks=pytest.mark.slow),  # two bits of each byte are 0
        pytest.param(decoder_config("e2m1", layout="seed004", registered_after="scale"), marks=pytest.mark.slow),
    ],
    ids=lambda config: f"{config.microarchitecture.layout}-{config.numerics.name}",
)
def test_layouts_are_proved(config, tmp_path):
    proof = prove(config, out=tmp_path)
    assert proof.passed, proof.remark


def test_a_wrong_order_is_refuted(tmp_path, monkeypatch):
    """Exchanged codes in the hardware are refuted, with a block."""
    monkeypatch.setitem(stored.PACKINGS, Packing.HALVES, stored.PACKINGS[Packing.LOW_FIRST])
    proof = prove(converter_config("e2m1", layout="ggml"), out=tmp_path)
    assert not proof.passed and proof.counterexample, proof.remark


def test_a_bit_that_no_code_has_must_be_0(tmp_path, monkeypatch):
    monkeypatch.setattr("mxcast.proof.solve.counterexample.FEW", 60)  # Icarus is slow on whole blocks
    config = converter_config("e3m2", layout="torchao")
    file = emit(config, tmp_path, "dut")["verilog"]
    text = file.read_text()
    assert text.count("= 64'h0000000000000000;") == 1
    file.write_text(text.replace("= 64'h0000000000000000;", "= 64'h0000000000000001;"))
    proof = prove(config, rtl=file, name="dut", out=tmp_path)
    assert not proof.passed and "bit 6 of codes is not 0, and no code has it" in str(proof.remark)
