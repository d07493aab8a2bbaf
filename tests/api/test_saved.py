"""Quantized arrays as files: loading gives the saved array, and the command reads the file too."""

from __future__ import annotations

import json
import zipfile

import numpy as np
import pytest

import mxcast
from mxcast.models import BlockArray
from mxcast.tensors.convert.files import dequantize_file, quantize_file

X = np.random.default_rng(0).standard_normal((3, 70), np.float32)


@pytest.mark.parametrize("suffix", [".safetensors", ".npz"])
@pytest.mark.parametrize(
    "x, format, rules",
    [
        (X, "e4m3", {"profile": "nvidia"}),
        (X.astype(np.float16), "int8", {"source": "fp16"}),
        ((X.view(np.uint32) >> 16).astype(np.uint16), "e2m1", {"source": "bf16", "block_size": 8}),
        (X[0], "e5m6", {}),  # codes of 12 bits
        (X[:, :0], "e4m3", {}),
    ],
)
def test_there_and_back(tmp_path, suffix, x, format, rules):
    q = mxcast.quantize(x, format, pad=True, **rules)
    path = mxcast.save(q, tmp_path / f"q{suffix}", name="w")
    loaded = mxcast.load(path)
    assert loaded == q and loaded.numerics == q.numerics and loaded.shape == x.shape
    assert loaded.codes.flags.writeable and [f.name for f in tmp_path.iterdir()] == [path.name]
    dequantize_file(path, tmp_path / "y.npy")
    assert np.array_equal(np.load(tmp_path / "y.npy"), np.asarray(q))


def test_files_of_the_command(tmp_path):
    np.savez(tmp_path / "x.npz", a=X, b=X)
    for name in "ab":
        np.save(tmp_path / f"{name}.npy", X if name == "a" else -X)
    quantize_file(tmp_path / "a.npy", tmp_path / "a.npz", "e4m3", pad=True)
    assert mxcast.load(tmp_path / "a.npz") == mxcast.quantize(X, "e4m3", pad=True)
    from safetensors.numpy import save_file

    save_file({"a": X, "b": -X}, tmp_path / "x.safetensors")
    quantize_file(tmp_path / "x.safetensors", tmp_path / "q.safetensors", "e4m3", "te", pad=True)
    assert mxcast.load(tmp_path / "q.safetensors", "b") == mxcast.quantize(-X, "e4m3", "te", pad=True)
    for name, sentence in ((None, "has 2 tensors, so load needs the name of one: it has a, b"), ("c", "tensor 'c'")):
        with pytest.raises(ValueError, match=sentence):
            mxcast.load(tmp_path / "q.safetensors", name)


Q = mxcast.quantize(X[:, :64], "e4m3")


@pytest.mark.parametrize(
    "q, name, file, error, sentence",
    [
        (X, "w", "q.npz", TypeError, "save takes what quantize returns, not array"),
        (BlockArray(codes=Q.codes, scales=Q.scales, block=Q.block), "w", "q.npz", TypeError, "not <BlockArray"),
        (Q, 3, "q.npz", TypeError, "name must be a text, not 3"),
        (Q, "w", "q.npy", ValueError, "must be a .safetensors or .npz file"),
        (mxcast.quantize(X[:2].repeat(16, 0), "e4m3", axis=0), "w", "q.npz", ValueError, "not along axis 0"),
        (
            mxcast.Quantized(codes=Q.codes, scales=Q.scales[:, :1], numerics=Q.numerics),
            "w",
            "q.npz",
            ValueError,
            "must have 32 elements for each scale",
        ),
        (Q, "w", "no folder/q.npz", FileNotFoundError, "no folder"),
        (Q, "__metadata__", "q.safetensors", ValueError, "keeps for its metadata"),
    ],
)
def test_what_is_not_saved(tmp_path, q, name, file, error, sentence):
    with pytest.raises(error, match=sentence):
        mxcast.save(q, tmp_path / file, name=name)
    assert not list(tmp_path.iterdir())


def test_what_is_not_loaded(tmp_path):
    np.savez(tmp_path / "x.npz", x=X)
    with pytest.raises(ValueError, match="was not written by mxcast quantize"):
        mxcast.load(tmp_path / "x.npz")
    with pytest.raises(ValueError, match="must be a .safetensors or .npz file"):
        mxcast.load(tmp_path / "x.npy")
    path = mxcast.save(mxcast.quantize(X[:, :64], "e2m1"), tmp_path / "q.npz")
    arrays = dict(np.load(path))
    np.savez(tmp_path / "beyond.npz", **arrays | {"codes": arrays["codes"] | 16})
    with pytest.raises(ValueError, match="codes of e2m1 must be 0 to 15, not"):
        mxcast.load(tmp_path / "beyond.npz")
    path.write_bytes(path.read_bytes()[:-40])
    with pytest.raises(ValueError, match="or a damaged one"):
        mxcast.load(path)
    assert not zipfile.is_zipfile(path)


def test_a_part_that_two_tensors_name(tmp_path):
    """Metadata are text, which anybody can write."""
    path = mxcast.save(mxcast.quantize(np.ones((3, 1024), np.float32), "e4m3"), tmp_path / "q.npz")
    arrays = dict(np.load(path))
    about = json.loads(str(arrays["mxcast"]))
    about["tensors"] = {"t": about["tensors"]["tensor"], "t.scales": {"dtype": "F32", "shape": [3, 32]}}
    parts = {"t": arrays["codes"], "t.scales": arrays["scales"], "t.scales.scales": arrays["scales"][:, :1]}
    np.savez(path, **parts, mxcast=np.array(json.dumps(about)))
    with pytest.raises(ValueError, match=r"tensor 't\.scales' of .* belongs to two tensors"):
        dequantize_file(path, tmp_path / "y.safetensors")
