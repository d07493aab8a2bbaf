"""`.npy` and `.npz` files go into every container that `quantize` writes, as a `.safetensors` file does."""

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from mxcast.models import dequantize, quantize, quantize_nvfp4
from mxcast.tensors.containers.containers import read
from mxcast.tensors.inspect.inspection import inspect_file

RANDOM = np.random.default_rng(5)
X, Y = RANDOM.normal(size=(4, 128)).astype(np.float32), RANDOM.normal(size=(2, 32, 64)).astype(np.float16)
TARGETS = {
    "own": ("q.safetensors", ["-f", "e2m1"]),
    "npz": ("q.npz", ["-f", "e2m1"]),
    "nvfp4 npz": ("q.npz", ["-f", "nvfp4"]),
    "gguf": ("q.gguf", ["-f", "e2m1", "--profile", "ocp"]),
    "nvfp4 gguf": ("q.gguf", ["-f", "nvfp4", "--profile", "nvfp4_ao"]),
    "onnx": ("q.onnx", ["-f", "e4m3"]),
    "gpt_oss": ("q.safetensors", ["-f", "e2m1", "--layout", "gpt_oss"]),
    "modelopt": ("q.safetensors", ["-f", "nvfp4", "--profile", "nvfp4_modelopt", "--layout", "modelopt"]),
    "comfy": ("q.safetensors", ["-f", "e4m3", "--layout", "comfy"]),
}


@pytest.mark.parametrize("suffix", [".npy", ".one.npz", ".npz", ".safetensors"])
@pytest.mark.parametrize("name", TARGETS)
def test_every_container(name, suffix, tmp_path, passes):
    target, options = TARGETS[name]
    if name == "onnx":
        pytest.importorskip("onnx")
    source, arrays = tmp_path / f"l.up{suffix}", {"l.up": X}
    if suffix in (".npz", ".safetensors"):
        arrays |= {"l.0.w": Y, "ids": np.arange(3, dtype=np.int32)}
    if suffix == ".npy":
        np.save(source, X)
    elif suffix == ".safetensors":
        save_file(arrays, source)
    else:
        np.savez(source, **arrays)
    passes("quantize", source, tmp_path / target, *options)
    assert not inspect_file(tmp_path / target).suspicions
    passes("dequantize", tmp_path / target, tmp_path / "y.safetensors")
    found = load_file(tmp_path / "y.safetensors")
    assert found.keys() == arrays.keys()
    profile = options[3] if "--profile" in options else None
    for tensor, x in arrays.items():
        if x.dtype.kind == "f":
            q = quantize_nvfp4(x, "nvfp4", profile) if options[1] == "nvfp4" else quantize(x, options[1])
            assert np.array_equal(found[tensor], dequantize(q)), tensor
        else:
            assert np.array_equal(found[tensor], x)


def test_names_of_arrays(tmp_path, passes):
    """A single tensor has no name in a `.npz` file; several have any names."""
    x = np.ones((2, 32), np.float32)
    np.savez(tmp_path / "one.npz", scales=x, text="a remark")
    passes("quantize", tmp_path / "one.npz", tmp_path / "q.npz", "-f", "nvfp4")
    contents = read(tmp_path / "q.npz")
    assert contents.tensors.keys() == {"codes", "scales", "tensor_scale"} and contents.metadata["text"] == "a remark"
    names = ["codes", "scales", "a/b", "file", "allow_pickle", "é"]
    save_file({name: x * n for n, name in enumerate(names)}, tmp_path / "many.safetensors")
    passes("quantize", tmp_path / "many.safetensors", tmp_path / "q.npz", "-f", "e2m1")
    assert read(tmp_path / "q.npz").tensors.keys() == {*names, *(f"{name}.scales" for name in names)}
    assert {one.name for one in inspect_file(tmp_path / "q.npz").tensors} == {*names}
    passes("quantize", tmp_path / "many.safetensors", tmp_path / "q.safetensors", "-f", "e2m1")
    passes("dequantize", tmp_path / "q.npz", tmp_path / "first.safetensors")
    passes("dequantize", tmp_path / "q.safetensors", tmp_path / "second.safetensors")
    assert (tmp_path / "first.safetensors").read_bytes() == (tmp_path / "second.safetensors").read_bytes()


def test_other_types(tmp_path, passes, fails):
    source = tmp_path / "x.npz"
    np.savez(source, w=X, wide=X.astype(np.float64), truth=np.array([True]))
    assert "tensor 'wide' is F64: mxcast converts F32, F16 and BF16" in fails(
        2, "quantize", source, tmp_path / "q.npz", "-f", "e2m1"
    )
    for target in ("q.npz", "q.safetensors"):
        passes("quantize", source, tmp_path / target, "-f", "e2m1", "--exclude", "wide")
        contents = read(tmp_path / target)
        assert (contents.tensors["wide"].dtype, contents.tensors["truth"].dtype) == ("F64", "BOOL")
        assert np.array_equal(contents.tensors["wide"].data.view("<f8"), X.reshape(-1))
    assert "a .gguf file cannot hold" in fails(
        2, "quantize", source, tmp_path / "q.gguf", "-f", "e2m1", "--exclude", "wide"
    )
    np.savez(source, w=X, c=X.astype(np.complex64))
    for target in ("q.npz", "q.safetensors", "q.gguf"):
        assert "tensor 'c' of " in (said := fails(2, "quantize", source, tmp_path / target, "-f", "e2m1"))
        assert "is complex64, which a ." in said


def test_names_that_collide(tmp_path, fails):
    source = tmp_path / "x.npz"
    np.savez(source, w=X, scales=np.arange(3))
    assert "tensor 'scales' of " in fails(2, "quantize", source, tmp_path / "q.npz", "-f", "e2m1")
    np.savez(source, **{"w": X, "w.scales": X})
    assert "tensor 'w.scales' of " in fails(2, "quantize", source, tmp_path / "q.npz", "-f", "e2m1")
    assert fails(2, "quantize", source, tmp_path / "q.safetensors", "-f", "e2m1") == (
        f"tensor 'w.scales' of {source} has the name that the scales of 'w' need"
    )
    np.savez(source, w=X, v=X, mxcast=np.arange(3))
    assert "tensor 'mxcast' has the name of metadata" in fails(2, "quantize", source, tmp_path / "q.npz", "-f", "e2m1")
    assert not (tmp_path / "q.npz").exists()


def test_a_type_that_numpy_does_not_have(tmp_path, fails, passes, raw_safetensors):
    tensors = {"w": ("F32", (4, 128), X.tobytes()), "b": ("BF16", (2,), bytes(4))}
    source = raw_safetensors(tensors)
    options = ["-f", "e2m1", "--exclude", "b"]
    assert "'b' of " in (said := fails(2, "quantize", source, tmp_path / "q.npz", *options))
    assert said.endswith("is BF16, which a .npz file cannot hold")
    tensors["b"] = "BF16", (32,), bytes(64)
    passes("quantize", raw_safetensors(tensors), tmp_path / "q.npz", "-f", "e2m1")


@pytest.mark.parametrize("target", ["q.npz", "q.safetensors", "q.gguf"])
def test_transposed(target, tmp_path, passes):
    np.save(tmp_path / "x.npy", Y)
    passes("quantize", tmp_path / "x.npy", tmp_path / target, "-f", "e2m1", "--profile", "ocp", "--transposed")
    passes("dequantize", tmp_path / target, tmp_path / "y.safetensors")
    expected = dequantize(quantize(np.ascontiguousarray(Y.swapaxes(1, 2)), "e2m1"))
    assert np.array_equal(load_file(tmp_path / "y.safetensors")["x"], expected)


def test_the_containers_are_listed(tmp_path, fails):
    np.save(tmp_path / "a.npy", X)
    suffixes = {target.partition(".")[2] for target, _ in TARGETS.values()}
    sentence = fails(2, "quantize", tmp_path / "a.npy", tmp_path / "o.pt", "-f", "e4m3")
    assert sentence.endswith(f"a.npy becomes is a .safetensors, .npz, .gguf or .onnx file, not {tmp_path / 'o.pt'}")
    assert all(f".{suffix}" in sentence for suffix in suffixes)
