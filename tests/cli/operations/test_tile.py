"""`--op tile`."""

import json

import pytest


def test_the_command(passes, fails, tmp_path):
    asked = ["e2m1", "--op", "tile"]
    small = [*asked, "--set", "block_size=4", "--set", "source=bf16"]
    assert f"{tmp_path}/square/rtl/square.v" in passes("emit", *small, "--name", "square", "-o", tmp_path)
    rows = json.loads(passes("list", "tile-rules", "--json"))["tile-rules"]
    assert [row["value"] for row in rows if row["key"] == "columns"] == ["transposed", "in_place"]
    assert "passed" in passes("verify", *small, "--blocks", 100, "--stimuli", "random")
    assert fails(2, "verify", *asked, "--stimuli", "ties").startswith("stimuli must be one of standard, corner")
    assert fails(2, "explain", *asked) == "explain does not take --op tile yet"
    assert fails(2, "compare", "te", "ocp", "--op", "tile").startswith("unknown operation 'tile'")
    assert fails(2, "emit", "e2m1,e3m2", "--op", "tile") == (
        "only encoders have modes: give --op tile one format, not e2m1,e3m2"
    )
    assert fails(2, "emit", *asked, "--c", "-o", tmp_path) == "the model in C has no operation tile yet"


@pytest.mark.slow
def test_the_command_of_nvfp4(passes, fails, tmp_path):
    asked = ["nvfp4", "--op", "tile", "--set", "source=bf16"]
    assert f"{tmp_path}/square/rtl/square.v" in passes("emit", *asked, "--name", "square", "-o", tmp_path)
    assert "passed" in passes("verify", *asked, "--blocks", 100, "--stimuli", "random")
    assert "passed" in passes("verify", *asked, "--set", "columns=in_place", "--blocks", 100, "--stimuli", "random")
    assert fails(2, "emit", *asked, "--set", "scale_rule=ceil").startswith("unknown field 'scale_rule': did you mean")
    assert fails(2, "emit", *asked, "--c", "-o", tmp_path) == "the model in C has no operation tile yet"
