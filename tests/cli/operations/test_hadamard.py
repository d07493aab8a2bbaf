"""`--op hadamard`."""

import json

import pytest


def test_the_command(passes, fails, tmp_path):
    asked = ["hadamard16", "--op", "hadamard"]
    assert f"{tmp_path}/hadamard16_hadamard_te/rtl/hadamard16_hadamard_te.v" in passes("emit", *asked, "-o", tmp_path)
    (row,) = json.loads(passes("list", "hadamard", "--json"))["hadamard"]
    assert (row["name"], row["numbers"], row["source"], row["signs"]) == ("hadamard16", 16, "bf16", "0xD7E8")
    assert fails(2, "explain", *asked) == "explain does not take --op hadamard yet"
    assert fails(2, "compare", "te", "te", "--op", "hadamard").startswith("unknown operation 'hadamard'")
    assert fails(2, "emit", "e4m3", "--op", "hadamard").startswith("unknown format 'e4m3'")


@pytest.mark.slow
def test_verify(passes):
    assert "passed" in passes("verify", "hadamard16", "--op", "hadamard", "--blocks", 100, "--stimuli", "random")
