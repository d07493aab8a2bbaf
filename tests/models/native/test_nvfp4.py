"""NVFP4 by the compiled module and by NumPy: the same bits under every order."""

from __future__ import annotations

import os

import numpy as np
import pytest

from mxcast.models import native, quantize_nvfp4
from mxcast.models.fast import nvfp4_encode
from mxcast.spec import NVFP4_ENCODERS, Nvfp4Encode, nvfp4_encoding

pytestmark = pytest.mark.skipif(os.environ.get(native.VARIABLE) == "0", reason="the compiled module is turned off")

FORMATS = ["nvfp4", "nvfp4_2d", "fp4_ue5m3"]


def _rules(profile: str) -> list[Nvfp4Encode]:
    """The operations of a profile: of every format that it has, to nearest and with random bits."""
    found = []
    for format in FORMATS:
        for rounding in ("rne", "sr"):
            try:
                found.append(nvfp4_encoding(format, profile, rounding=rounding))
            except ValueError:  # the order or the profile has no such format or rounding
                continue
    return found


def _matrix(seed: int) -> np.ndarray:
    """Rows of different sizes, with zeros of both signs and quarters, which are on ties."""
    rng = np.random.default_rng(seed)
    x = (rng.standard_normal((256, 64)) * np.exp2(rng.integers(-20, 20, (256, 1)))).astype(np.float32)
    x[rng.random(x.shape) < 0.05] = 0
    x[rng.random(x.shape) < 0.02] = -0.0
    x[100:110] = np.round(x[100:110] * 4) / 4
    x[200] = 0
    return x


@pytest.mark.parametrize("special", [None, np.nan, np.inf])
@pytest.mark.parametrize("profile", NVFP4_ENCODERS)
def test_every_order(profile, special, monkeypatch):
    everything = _rules(profile)
    assert everything
    for number, rules in enumerate(everything):
        x = _matrix(number)
        if special is not None:
            x[5, 7] = special

        def quantized(x=x, rules=rules, number=number):
            random = np.random.default_rng(number) if rules.random_bits else None
            return quantize_nvfp4(x, rules, random=random)

        assert nvfp4_encode._compiled_rules(rules) is not None
        found = quantized()
        with monkeypatch.context() as without:
            without.setattr(nvfp4_encode, "_compiled_rules", lambda rules: None)
            expected = quantized()
        assert np.array_equal(found.scales, expected.scales) and np.array_equal(found.codes, expected.codes)
