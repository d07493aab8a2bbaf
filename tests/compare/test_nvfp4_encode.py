"""Differences of the orders of NVFP4: the counts of the specification, and examples."""

from __future__ import annotations

import numpy as np
import pytest

from mxcast.compare import compare_nvfp4
from mxcast.models import quantize_nvfp4
from mxcast.spec import nvfp4_encoding


def patterns(values: str) -> np.ndarray:
    x = np.zeros(16, np.uint32)
    given = [int(text, 16) for text in values.split(",")]
    x[: len(given)] = given
    return x.view(np.float32)


def test_te_and_ao():
    """nvfp4.md, D.3, has the number of scales; of elements it has others, on numbers that it does not name."""
    rules = [nvfp4_encoding("nvfp4", f"nvfp4_{order}") for order in ("te", "ao")]
    found = compare_nvfp4(*rules)
    counts = {name: (finding.compared, finding.differing) for name, finding in found.findings.items()}
    assert counts["scales"] == (270_400, 26_606) and counts["elements"] == (14_524_308, 3_335)
    assert counts["samples"] == (100_000, 0) and counts["edges"][1] > 40 and not found.equal
    for name, finding in found.findings.items():
        if finding.first is None:
            continue
        x, a = patterns(finding.first.values), finding.first.tensor_amax
        for side in (0, 1):
            q = quantize_nvfp4(x, rules[side], tensor_amax=a)
            assert q.scales.tolist() == [finding.first.scales[side]]
            assert q.codes.tolist() == list(finding.first.codes[side])
        assert finding.first.scales[0] != finding.first.scales[1] or name == "elements"
        assert finding.first.codes[0] != finding.first.codes[1] or name != "elements"


@pytest.mark.parametrize("profile", ["nvfp4_te_4over6", "nvfp4_ao"])
def test_an_order_equals_itself(profile, monkeypatch):
    monkeypatch.setattr("mxcast.compare.nvfp4_encode.BINADES", 1)
    monkeypatch.setattr("mxcast.compare.nvfp4_encode.ELEMENT_BINADES", 1)
    monkeypatch.setattr("mxcast.compare.nvfp4_encode.SAMPLES", 100)
    rules = nvfp4_encoding("nvfp4", profile)
    assert compare_nvfp4(rules, rules.replace()).equal


def test_what_is_not_compared():
    te = nvfp4_encoding("nvfp4")
    with pytest.raises(
        ValueError, match="^both sides must have the same block format with blocks of 16, not nvfp4 and nvfp4_2d$"
    ):
        compare_nvfp4(te, nvfp4_encoding("nvfp4_2d"))
    with pytest.raises(ValueError, match="^stochastic rounding"):
        compare_nvfp4(te, te.replace(rounding="sr"))
