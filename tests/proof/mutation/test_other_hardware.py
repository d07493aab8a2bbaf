"""Mutants of converters with registers, modes, layouts, lanes and interfaces."""

import pytest

from mxcast.hdl import cast_config, converter_config, decoder_config
from mxcast.proof.mutation import Fate, mutate

HARDWARE = {
    "registers": converter_config("e4m3", block_size=4, registered_after="level1,scale,rounded"),
    "modes": converter_config("e4m3,e5m2", block_size=4, scale_rule="floor,ceil"),
    "a layout": converter_config("e2m1", layout="ggml"),
    "lanes": converter_config("e4m3", lanes=2, block_size=8),
    "a skid": decoder_config("e3m2", lanes=2, block_size=8, interface="skid"),
    "packed blocks": converter_config("e2m1", lanes=2, block_size=8, interface="axis", scale_place="before"),
    "words of a cast": cast_config("e4m3", lanes=2, interface="axis"),
}


@pytest.mark.sampled(len(HARDWARE), first=3)
@pytest.mark.parametrize("config", HARDWARE.values(), ids=HARDWARE)
def test_no_fault_of_other_hardware_survives(config, tmp_path):
    """Faults of a handshake are found too. A proof that asks more than the results need leaves some undecided."""
    result = mutate(config, 20, out=tmp_path, timeout=30)
    assert result.count(Fate.SURVIVED) == 0 and result.count(Fate.UNDECIDED) <= 2, result.mutants
    assert result.suite == result.count(Fate.KILLED) >= 15


@pytest.mark.slow
def test_a_mutant_that_registers_hide_is_equivalent(tmp_path):
    """No block is needed where outputs and registers take the same values."""
    config = converter_config("e4m3", block_size=4, registered_after="scale,rounded")
    made = mutate(config, 40, out=tmp_path).mutants
    assert any("is what it was" in mutant.by for mutant in made if mutant.fate is Fate.EQUIVALENT)
