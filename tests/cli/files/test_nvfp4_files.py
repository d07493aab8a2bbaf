"""Files quantized to NVFP4, and back."""

import json

import ml_dtypes
import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

import mxcast
from mxcast.models import dequantize, error_statistics, quantize_nvfp4
from mxcast.tensors.convert import tiles
from mxcast.tensors.convert.files import dequantize_file, quantize_file


@pytest.mark.parametrize("profile", ["nvfp4_te", "nvfp4_ao", "nvfp4_ao_single"])
@pytest.mark.parametrize("chunk", [64, 1 << 18])
def test_tensors_of_a_file(tmp_path, numbers, monkeypatch, profile, chunk):
    """A tensor of many tiles has one tensor scale."""
    monkeypatch.setattr(tiles, "CHUNK", chunk)
    monkeypatch.setattr("mxcast.tensors.convert.tile_conversion.CHUNK", chunk)
    small = np.ascontiguousarray(np.where(np.isfinite(numbers), numbers, 1).astype(np.float32)[:, :40])
    bf16 = np.linspace(-3, 3, 96).astype(ml_dtypes.bfloat16).reshape(2, 48)
    save_file({"w": small, "v": bf16, "ids": np.arange(3)}, tmp_path / "in.safetensors")
    report = quantize_file(tmp_path / "in.safetensors", tmp_path / "q.safetensors", "nvfp4", profile, pad=True)
    got = load_file(tmp_path / "q.safetensors")
    dequantize_file(tmp_path / "q.safetensors", tmp_path / "y.safetensors")
    back = load_file(tmp_path / "y.safetensors")
    for name, x in (("w", small), ("v", bf16)):
        q = quantize_nvfp4(x, "nvfp4", profile, pad=True)
        assert np.array_equal(got[name], q.codes) and np.array_equal(got[f"{name}.scales"], q.scales)
        if q.tensor_scale is None:
            assert f"{name}.tensor_scale" not in got
        else:
            assert got[f"{name}.tensor_scale"] == q.tensor_scale and got[f"{name}.tensor_scale"].shape == ()
        assert np.array_equal(back[name], dequantize(q))
        lost = next(tensor.statistics for tensor in report.tensors if tensor.name == name)
        want = error_statistics(x, q)
        assert (lost.elements, lost.saturated, lost.flushed) == (want.elements, want.saturated, want.flushed)
        assert lost.noise == pytest.approx(want.noise) and (lost.amax_min, lost.amax_max) == (
            want.amax_min,
            want.amax_max,
        )
    assert back["ids"].tolist() == [0, 1, 2]
    assert mxcast.load(tmp_path / "q.safetensors", "w") == quantize_nvfp4(small, "nvfp4", profile, pad=True)


def test_the_command(passes, fails, saved, tmp_path):
    x = np.random.default_rng(1).normal(size=(4, 32)).astype(np.float32)
    text = passes("quantize", saved(x), tmp_path / "q.npz", "--format", "nvfp4", "--profile", "nvfp4_te")
    assert "SQNR dB" in text and f"wrote {tmp_path / 'q.npz'}" in text
    q = mxcast.quantize(x, "nvfp4")
    with np.load(tmp_path / "q.npz") as archive:
        assert archive["tensor_scale"] == q.tensor_scale and np.array_equal(archive["codes"], q.codes)
    passes("dequantize", tmp_path / "q.npz", tmp_path / "y.npy")
    assert np.array_equal(np.load(tmp_path / "y.npy"), dequantize(q))
    arguments = ["quantize", saved(x), tmp_path / "r.npz", "--format", "nvfp4", "--set", "rounding=sr", "--json"]
    report = json.loads(passes(*arguments))
    assert report["numerics"]["order"] == "te" and report["numerics"]["random_bits"] == 8
    sentence = fails(2, "quantize", saved(x), tmp_path / "s.npz", "--format", "nvfp4_2d")
    assert sentence == "files have blocks along one axis, not nvfp4_2d"


def test_nan_in_a_tensor(saved, tmp_path):
    x = np.ones((2, 16), np.float32)
    x[1, 3] = np.nan
    for profile in ("nvfp4_te", "nvfp4_ao"):
        quantize_file(saved(x), tmp_path / f"{profile}.npz", "nvfp4", profile)
        q = quantize_nvfp4(x, "nvfp4", profile)
        found = mxcast.load(tmp_path / f"{profile}.npz")
        assert np.array_equal(found.codes, q.codes) and np.array_equal(
            found.tensor_scale, q.tensor_scale, equal_nan=True
        )


@pytest.mark.parametrize("suffix", [".npz", ".safetensors"])
def test_saved_arrays(tmp_path, suffix):
    x = np.random.default_rng(2).normal(size=(2, 24)).astype(np.float32)
    q = mxcast.quantize(x, "nvfp4", pad=True)
    assert mxcast.load(mxcast.save(q, tmp_path / f"q{suffix}")) == q
    with pytest.raises(ValueError, match="^save takes blocks along one axis and one scale of the tensor$"):
        mxcast.save(mxcast.quantize(x, "nvfp4", pad=True, row_scaled=True), tmp_path / f"r{suffix}")
