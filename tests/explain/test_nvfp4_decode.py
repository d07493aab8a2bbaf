"""Explanations and comparisons of NVFP4 decoders."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from mxcast.compare import compare_nvfp4_decoders
from mxcast.compare.nvfp4_decode import STORED
from mxcast.explain import explain_nvfp4_decoder
from mxcast.explain import nvfp4_decode as module
from mxcast.models import dequantize, quantize_nvfp4
from mxcast.models.exact.nvfp4_decode import decode_block
from mxcast.spec import Convention, nvfp4_decoding


def pattern(x: float) -> int:
    return int(np.float32(x).view(np.uint32))


@pytest.mark.parametrize("profile", ["nvfp4_te", "nvfp4_ao", "nvfp4_ao_single", "nvfp4_compressed_tensors"])
def test_the_steps_lead_to_what_dequantize_gives(profile):
    x = np.random.default_rng(3).standard_normal((4, 16), np.float32)
    q = quantize_nvfp4(x, "nvfp4", profile)
    rules = nvfp4_decoding("nvfp4", profile, destination="fp32")
    g = None if q.tensor_scale is None else int(q.tensor_scale.view(np.uint32))
    expected = dequantize(q, profile, destination="fp32").view(np.uint32)
    for row in range(4):
        why = explain_nvfp4_decoder(int(q.scales[row, 0]), q.codes[row].tolist(), rules, tensor_scale=g)
        assert [step.pattern for step in why.elements] == expected[row].tolist()
        factor = np.float32(why.factor[-1].value)
        products = np.array([step.element for step in why.elements], np.float32) * factor
        assert [step.product for step in why.elements] == products.tolist()


@pytest.mark.parametrize("g", [0, 1, 0x80000001, 0x7F800000, 0xFF800000, 0x7FC00000, 0xC1200000])
@pytest.mark.parametrize("convention", ["amax", "multiplier", "divisor"])
@pytest.mark.parametrize("scale", [0, 0x3A, 0xBA, 0x7F])
def test_special_tensor_scales(g, convention, scale):
    why = explain_nvfp4_decoder(scale, list(range(16)), "nvfp4", convention=convention, tensor_scale=g)
    assert len(why.elements) == 16 and why.to_dict()["tensor_scale"] == g


def test_exact_and_rounded():
    why = explain_nvfp4_decoder(0x39, [7], "nvfp4", "nvfp4_te", tensor_scale=pattern(10))
    scaled, inverse, factor = why.factor[2:]
    assert scaled.exact == scaled.value == 11.25 and inverse.value == float(np.float32(1) / np.float32(2688))
    assert Fraction(factor.exact) == Fraction(np.float64(11.25) * np.float64(np.float32(1) / np.float32(2688)))
    assert factor.value == float(np.float32(factor.exact))


def test_another_result_of_the_fast_model_is_no_explanation(monkeypatch):
    monkeypatch.setattr(module, "decode_block", lambda *given: [one ^ 1 for one in decode_block(*given)])
    with pytest.raises(AssertionError, match="disagrees"):
        explain_nvfp4_decoder(0x38, [2], "nvfp4", tensor_scale=pattern(3))


@pytest.mark.parametrize(
    "scale, codes, fields, sentence",
    [
        (256, [0], {"tensor_scale": 0}, "scales of e4m3 must be 0 to 255, not 256"),
        (0, [16], {"tensor_scale": 0}, "codes of e2m1 must be 0 to 15, not 16"),
        (0, [0] * 17, {"tensor_scale": 0}, "a block has 16 elements, not 17"),
        (0, [0], {}, "the convention amax takes a tensor scale, and none was given"),
        (0, [0], {"convention": "none", "tensor_scale": 0}, "the convention none takes no tensor scale, and one was"),
        (0, [0], {"tensor_scale": 1 << 32}, "tensor scales of fp32 must be 0 to 4294967295, not 4294967296"),
    ],
)
def test_one_sentence(scale, codes, fields, sentence):
    with pytest.raises(ValueError, match=sentence):
        explain_nvfp4_decoder(scale, codes, "nvfp4", **fields)


def test_decoders_are_compared_with_tensor_scales_of_their_own():
    te, ao, modelopt = (
        nvfp4_decoding("nvfp4", profile, destination="fp32", nan="canonical")
        for profile in ("nvfp4_te", "nvfp4_ao", "nvfp4_modelopt")
    )
    assert compare_nvfp4_decoders(ao, modelopt).equal
    found = compare_nvfp4_decoders(te, ao)
    first = found.causes["value"]
    amax = np.array(first.amax, np.uint32).view(np.float32)
    for rules, g, result in zip((te, ao), first.tensor_scales, (first.first.a, first.first.b)):
        scale = np.array(g, np.uint32).view(np.float32)
        assert scale == STORED[rules.convention](amax, np.float32(2688))
        value = Fraction(float(scale))
        assert decode_block(first.first.byte, [first.first.code], rules, value) == [result]
    again = sum(found.differing for found in compare_nvfp4_decoders(ao, te).causes.values())
    assert again == found.differing > 0


def test_every_convention_has_a_tensor_scale():
    assert set(STORED) == set(Convention) - {Convention.NONE} and set(module.FACTORS) == set(Convention)


def test_what_cannot_be_compared():
    te = nvfp4_decoding("nvfp4", "nvfp4_te")
    with pytest.raises(ValueError, match="both sides must have a tensor scale, or neither"):
        compare_nvfp4_decoders(te, te.replace(convention="none"))
    with pytest.raises(ValueError, match="the same destination, not fp32 and bf16"):
        compare_nvfp4_decoders(te.replace(destination="fp32"), te.replace(destination="bf16"))
