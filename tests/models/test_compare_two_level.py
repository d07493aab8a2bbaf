"""Where the orders of NVFP4 differ: counts of the specification, and examples that are differences."""

from __future__ import annotations

import numpy as np
import pytest

from mxcast.models import compare_two_levels, quantize_two_level
from mxcast.spec import two_level


def patterns(values: str) -> np.ndarray:
    x = np.zeros(16, np.uint32)
    given = [int(text, 16) for text in values.split(",")]
    x[: len(given)] = given
    return x.view(np.float32)


def test_te_and_ao():
    """nvfp4.md, D.3, has the number of scales; of elements it has others, on numbers that it does not name."""
    rules = [two_level("nvfp4", f"nvfp4_{order}") for order in ("te", "ao")]
    found = compare_two_levels(*rules)
    counts = {name: (finding.compared, finding.differing) for name, finding in found.findings.items()}
    assert counts["scales"] == (270_400, 26_606) and counts["elements"] == (14_524_308, 3_335)
    assert counts["samples"] == (100_000, 0) and counts["edges"][1] > 40 and not found.equal
    for name, finding in found.findings.items():
        if finding.first is None:
            continue
        x, a = patterns(finding.first.values), finding.first.tensor_amax
        for side in (0, 1):
            q = quantize_two_level(x, rules[side], tensor_amax=a)
            assert q.scales.tolist() == [finding.first.scales[side]]
            assert q.codes.tolist() == list(finding.first.codes[side])
        assert finding.first.scales[0] != finding.first.scales[1] or name == "elements"
        assert finding.first.codes[0] != finding.first.codes[1] or name != "elements"


@pytest.mark.parametrize("profile", ["nvfp4_te_4over6", "nvfp4_ao"])
def test_an_order_equals_itself(profile, monkeypatch):
    monkeypatch.setattr("mxcast.models.compare_two_level.BINADES", 1)
    monkeypatch.setattr("mxcast.models.compare_two_level.ELEMENT_BINADES", 1)
    monkeypatch.setattr("mxcast.models.compare_two_level.SAMPLES", 100)
    rules = two_level("nvfp4", profile)
    assert compare_two_levels(rules, rules.replace()).equal


def test_what_is_not_compared():
    te = two_level("nvfp4")
    with pytest.raises(ValueError, match="^two operations on blocks of 16 are compared, not nvfp4 with nvfp4_2d$"):
        compare_two_levels(te, two_level("nvfp4_2d"))
    with pytest.raises(ValueError, match="^rounding by random bits is not compared$"):
        compare_two_levels(te, te.replace(rounding="sr"))
