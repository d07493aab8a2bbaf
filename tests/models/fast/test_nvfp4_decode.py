"""Decoding of NVFP4: the fast model, the exact definition, and what libraries and the specification publish."""

from __future__ import annotations

from itertools import product

import ml_dtypes
import numpy as np
import pytest

import mxcast
from mxcast.models import BlockArray, dequantize, quantize_nvfp4
from mxcast.models.exact.nvfp4_decode import decode_block
from mxcast.spec import (
    NVFP4_DECODERS,
    NVFP4_ENCODERS,
    Convention,
    DecodedNan,
    Nvfp4Decode,
    nvfp4_decoding,
    operation_of,
)

from ..nvfp4_blocks import AMAXIMA, random_blocks
from .test_nvfp4_encode import WORKED, value

WORDS = {"fp32": np.uint32, "bf16": np.uint16, "fp16": np.uint16}


def every_pair(rules: Nvfp4Decode, tensor_scale: float) -> BlockArray:
    """All scale codes, each with all element codes."""
    scales = np.arange(1 << rules.block.scale.bits, dtype=np.uint8)[:, None]
    codes = np.tile(np.arange(16, dtype=np.uint8), (len(scales), 1))
    g = None if rules.convention is Convention.NONE else np.float32(tensor_scale)
    return BlockArray(scales=scales, codes=codes, block=rules.block, tensor_scale=g)


@pytest.mark.parametrize("destination", WORDS)
@pytest.mark.parametrize("convention", Convention)
def test_pairs_of_scale_and_code(convention, destination):
    """Under the last tensor scale every seventh scale code, under the others one of every kind."""
    tensor_scales = [1.0] if convention == "none" else [*AMAXIMA, 0.0037202382, 268.8, 7.7e35, 1e-36, 5e-39, 3.0]
    rules = nvfp4_decoding("nvfp4", convention=convention, destination=destination)
    for g in map(np.float32, tensor_scales):
        q = every_pair(rules, g)
        found = dequantize(q, convention=convention, destination=destination).view(WORDS[destination])
        for scale in range(0, 256, 7) if g == tensor_scales[-1] else (0, 1, 0x3A, 0x7E, 0x80):
            assert found[scale].tolist() == decode_block(scale, range(16), rules, value(g)), (g, scale)


@pytest.mark.parametrize("block", ["nvfp4", "fp4_ue5m3"])
@pytest.mark.parametrize("nan", DecodedNan)
@pytest.mark.parametrize("destination", WORDS)
def test_nan(destination, nan, block):
    """NaN scales, and zero times Inf."""
    for g in map(np.float32, (1, np.inf, 0)):
        rules = nvfp4_decoding(block, convention="multiplier", destination=destination, nan=nan)
        q = every_pair(rules, g)
        found = dequantize(q, convention="multiplier", destination=destination, nan=nan).view(WORDS[destination])
        for scale in (0, 0x38, 0x7F, 0xFF):
            assert found[scale].tolist() == decode_block(scale, range(16), rules, value(g)), (g, scale)


def test_the_worked_example_decoded():
    """nvfp4.md, D.6, in the order of Transformer Engine."""
    q = mxcast.quantize(WORKED, "nvfp4", tensor_amax=10.0)
    expected = [0, -0.26786, 0.53571, -0.80357, 1.0714, -1.0714, 1.6071, -2.1429]
    expected += [2.1429, -3.2143, 3.2143, 0, -0.0, 0, -0.0, 3.2143]
    found = mxcast.dequantize(q)
    assert np.allclose(found, expected, rtol=5e-5) and np.array_equal(np.signbit(found), np.signbit(expected))
    assert np.array_equal(np.asarray(q), found) and np.array_equal(q.dequantize(), found)


@pytest.mark.parametrize("profile", NVFP4_ENCODERS)
def test_what_is_encoded_is_decoded(profile):
    """To the product of the three values but for a few binary32 roundings."""
    x = np.clip(random_blocks(300, 1), -99, 99)
    x[np.isnan(x)] = 0
    q = quantize_nvfp4(x, "nvfp4", profile)
    s = q.scales.view(ml_dtypes.float8_e4m3fn).astype(np.float64)
    g = {"amax": lambda g: g / 2688, "multiplier": lambda g: g, "divisor": lambda g: 1 / g, "none": lambda g: 1.0}
    factor = s * g[q.block.convention](1.0 if q.tensor_scale is None else float(q.tensor_scale))
    exact = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6])[q.codes & 7] * np.where(q.codes & 8, -1, 1) * factor
    assert np.allclose(dequantize(q), exact, rtol=2**-21, atol=2**-140)


def test_profiles_are_of_conventions():
    assert {name: nvfp4_decoding("nvfp4", name).convention.value for name in NVFP4_DECODERS} == {
        "nvfp4_te": "amax",
        "nvfp4_ao": "multiplier",
        "nvfp4_ao_single": "none",
        "nvfp4_modelopt": "multiplier",
        "nvfp4_compressed_tensors": "divisor",
    }
    for name, format in product(NVFP4_DECODERS, ["nvfp4", "nvfp4_2d", "nvfp4_32", "fp4_ue5m3"]):
        rules = nvfp4_decoding(format, name, destination="bf16")
        assert operation_of(rules.to_dict()) == rules and rules.replace() == rules


def test_scales_of_rows_and_tiles_and_other_axes():
    x = np.clip(random_blocks(96, 2), -9, 9).reshape(48, 32)
    x[np.isnan(x)] = 0
    for arguments in ({"row_scaled": True}, {"axis": 0}, {"row_scaled": True, "axis": 0}):
        q = quantize_nvfp4(x, "nvfp4", **arguments)
        lines = x.T if arguments.get("axis") == 0 else x
        other = quantize_nvfp4(np.ascontiguousarray(lines), "nvfp4", row_scaled="row_scaled" in arguments)
        found = dequantize(q)
        assert np.array_equal(found.T if lines is not x else found, dequantize(other))
    tiles = quantize_nvfp4(x, "nvfp4_2d")
    block = nvfp4_decoding("nvfp4").block
    flat = BlockArray(scales=tiles.scales, codes=tiles.codes, tensor_scale=tiles.tensor_scale, block=block)
    assert np.array_equal(dequantize(tiles), dequantize(flat))
    padded = quantize_nvfp4(x[:, :20], "nvfp4", pad=True)
    assert dequantize(padded).shape == (48, 20) and np.array_equal(dequantize(padded, jobs=2), dequantize(padded))


def test_256_as_the_largest_scale():
    q = quantize_nvfp4(WORKED, "nvfp4", "nvfp4_te_4over6", scale_max=256)
    assert np.allclose(dequantize(q), WORKED, atol=0.6)
    assert not np.allclose(dequantize(q, scale_max=448), WORKED, atol=0.6)


@pytest.mark.parametrize(
    "changed, rules, sentence",
    [
        ({}, {"profile": "nvfp4_ao"}, "the rules decode nvfp4 with a tensor scale multiplier, and the"),
        ({}, {"profile": "ocp"}, "unknown profile 'ocp': known are nvfp4_te"),
        ({}, {"random": np.zeros(16, np.uint8)}, "nvfp4 is decoded without random bits"),
        ({}, {"rounding": "rtz"}, "numbers are rounded by rne, not by rtz"),
        ({}, {"scale_max": 300}, "scale_max must be 448 or 256, not 300"),
        ({"tensor_scale": None}, {}, "nvfp4 has a tensor scale, and the array has none"),
        ({"tensor_scale": np.float64(1)}, {}, "tensor_scale must be a float32 number, or (1,) of them"),
        ({"tensor_scale": np.ones(3, np.float32)}, {}, "tensor_scale must be a float32 number, or (1,) of them"),
        ({"codes": np.full(16, 16, np.uint8)}, {}, "codes of e2m1 must be 0 to 15, not 16"),
    ],
)
def test_what_is_refused(changed, rules, sentence):
    q = quantize_nvfp4(WORKED, "nvfp4")
    array = BlockArray(**{name: getattr(q, name) for name in ("scales", "codes", "tensor_scale", "block")} | changed)
    with pytest.raises(ValueError) as refused:
        dequantize(array, **rules)
    assert str(refused.value).startswith(sentence)


def test_torchao():
    torch = pytest.importorskip("torch", reason="torch is optional: pip install torch torchao")
    pytest.importorskip("torchao", reason="torchao is optional: pip install torch torchao")
    from torchao.prototype.mx_formats.nvfp4_tensor import NVFP4Tensor

    for a in (*AMAXIMA, None):
        profile = "nvfp4_ao_single" if a is None else "nvfp4_ao"
        rules = nvfp4_decoding("nvfp4", profile)
        q = every_pair(rules, 1.0 if a is None else float(np.float32(a) / np.float32(2688)))
        packed = torch.from_numpy(q.codes[:, ::2] | q.codes[:, 1::2] << 4)
        for dtype, destination in ((torch.float32, "fp32"), (torch.bfloat16, "bf16")):
            g = None if a is None else torch.tensor(q.tensor_scale)
            scales = torch.from_numpy(q.scales).view(torch.float8_e4m3fn)
            numbers = NVFP4Tensor(packed, scales, 16, dtype, g).dequantize(dtype)
            found = dequantize(q, profile, destination=destination)
            theirs = numbers.view(torch.int16 if dtype is torch.bfloat16 else torch.int32).numpy()
            is_nan = torch.isnan(numbers).numpy()
            ours = found.view(theirs.dtype)
            assert np.array_equal(ours[~is_nan], theirs[~is_nan])
            if destination == "bf16":
                continue  # whose NaN is 0xFFFF there
            made = is_nan & (q.scales & 0x7F != 0x7F)  # 0 * Inf, of which x86 gives the negative NaN
            assert np.array_equal(ours[is_nan & ~made], theirs[is_nan & ~made])
