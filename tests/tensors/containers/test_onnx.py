"""`.onnx` files and the package onnx: its helpers read our files, and we read theirs."""

import sys

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from mxcast.models import dequantize, pack, quantize
from mxcast.tensors.containers import onnx_model as onnx_files
from mxcast.tensors.containers.containers import read, written
from mxcast.tensors.inspect.inspection import inspect_file

onnx = pytest.importorskip("onnx")
FORMATS = {
    "e2m1": ("FLOAT4E2M1", "float4_e2m1fn"),
    "e3m2": ("FLOAT6E3M2", "float6_e3m2fn"),
    "e2m3": ("FLOAT6E2M3", "float6_e2m3fn"),
    "e4m3": ("FLOAT8E4M3FN", "float8_e4m3fn"),
    "e5m2": ("FLOAT8E5M2", "float8_e5m2"),
}
"""The type of each element, and the dtype of ml_dtypes that the package gives it."""


@pytest.mark.parametrize("format", FORMATS)
def test_quantize_into_a_model(format, passes, tmp_path):
    """The package reads our codes and scales, and a way there and back gives the same file."""
    kind, dtype = FORMATS[format]
    if not hasattr(onnx.TensorProto, kind):
        pytest.skip(f"onnx {onnx.__version__} has no {kind}")
    x = np.random.default_rng(2).normal(size=(4, 96)).astype(np.float32)
    save_file({"w": x, "ids": np.arange(3)}, tmp_path / "x.safetensors", {"made": "here"})
    model = tmp_path / "a.onnx"
    passes("quantize", tmp_path / "x.safetensors", model, "--format", format)
    q = quantize(x, format)
    loaded = onnx.load(model)
    onnx.checker.check_model(loaded)
    there = {one.name: one for one in loaded.graph.initializer}
    assert onnx.TensorProto.DataType.Name(there["w"].data_type) == kind and tuple(there["w"].dims) == (4, 96)
    codes, scales = (onnx.numpy_helper.to_array(there[name]) for name in ("w", "w_scale"))
    assert codes.dtype.name == dtype and np.array_equal(codes.view(np.uint8), q.codes)
    assert scales.dtype.name == "float8_e8m0fnu" and np.array_equal(scales.view(np.uint8), q.scales)
    assert onnx.numpy_helper.to_array(there["ids"]).tolist() == [0, 1, 2]
    assert read(model).metadata == {"made": "here"}
    passes("dequantize", model, tmp_path / "y.safetensors")
    assert np.array_equal(load_file(tmp_path / "y.safetensors")["w"], dequantize(q))
    passes("convert", model, tmp_path / "b.safetensors", "--layout", "torchao")
    own = ["--from", "torchao", "--format", format]
    passes("convert", tmp_path / "b.safetensors", tmp_path / "c.onnx", "--layout", "onnx", *own)
    assert read(tmp_path / "c.onnx").metadata == {"made": "here"}
    assert {one.name: one for one in onnx.load(tmp_path / "c.onnx").graph.initializer} == there


@pytest.mark.parametrize("format", FORMATS)
def test_one_code_to_an_entry(format, tmp_path):
    """The package writes the field int32_data, also with an odd number of elements."""
    kind, dtype = FORMATS[format]
    if not hasattr(onnx.TensorProto, kind):
        pytest.skip(f"onnx {onnx.__version__} has no {kind}")
    codes = np.arange(13, dtype=np.uint8)
    raw = onnx.helper.make_tensor("r", getattr(onnx.TensorProto, kind), (13,), codes.view(dtype).astype(np.float32))
    one = onnx.TensorProto(name="i", dims=(13,), data_type=raw.data_type)
    if kind == "FLOAT4E2M1":
        one.int32_data.extend(int(low | high << 4) for low, high in zip(codes[::2], [*codes[1::2], 0]))
    else:
        one.int32_data.extend(codes.tolist())
    graph = onnx.GraphProto(name="g", initializer=[one])
    onnx.save(onnx.helper.make_model(graph), tmp_path / "x.onnx")
    assert np.array_equal(onnx.numpy_helper.to_array(one).view(np.uint8), codes)
    stored = read(tmp_path / "x.onnx").tensors["i"]
    bits = np.unpackbits(stored.data, bitorder="little")[: 13 * onnx_files.BITS[stored.dtype]]
    found = np.packbits(bits.reshape(13, -1), axis=1, bitorder="little").reshape(-1)
    assert np.array_equal(found, codes) and stored.shape == (13,)


def test_a_model_with_nodes_and_other_fields(tmp_path):
    values = {"f": np.array([1.5, 2], np.float32), "h": np.array([1, 2], np.float16), "b": np.array([True, False])}
    one = onnx.TensorProto(name="f", dims=(2,), data_type=onnx.TensorProto.FLOAT, float_data=[1.5, 2])
    graph = onnx.GraphProto(name="g", initializer=[one])
    for name in ("h", "b"):
        kind = onnx.helper.np_dtype_to_tensor_dtype(values[name].dtype)
        graph.initializer.append(onnx.helper.make_tensor(name, kind, (2,), values[name]))
    onnx.save(onnx.helper.make_model(graph), tmp_path / "x.onnx")
    for name, stored in read(tmp_path / "x.onnx").tensors.items():
        assert stored.data.tobytes() == values[name].tobytes()


def test_what_is_damaged(tmp_path, fails):
    F4 = onnx.TensorProto.FLOAT4E2M1
    good = onnx.TensorProto(name="w", dims=(2,), data_type=F4, raw_data=b"1")
    damaged = {
        "": [b"\x0a\xff\xff"],
        "has data of 1 bytes": [onnx.TensorProto(name="w", dims=(64,), data_type=F4, raw_data=b"1")],
        "tensor 'w' twice": [good, good],
        "is of the type STRING, which is not read": [onnx.TensorProto(name="w", data_type=8, string_data=[b"a"])],
        "is of the type 99, which is not read": [onnx.TensorProto(name="w", data_type=99)],
        "of shape (-2, -1)": [onnx.TensorProto(name="w", dims=(-2, -1), data_type=F4, raw_data=b"1")],
        "No such file": [
            onnx.TensorProto(
                name="w",
                dims=(2,),
                data_type=F4,
                data_location=onnx.TensorProto.EXTERNAL,
                external_data=[onnx.StringStringEntryProto(key="location", value="gone.bin")],
            )
        ],
    }
    for said, tensors in damaged.items():
        path = tmp_path / "x.onnx"
        is_raw = isinstance(tensors[0], bytes)
        graph = onnx.GraphProto(name="g", initializer=[] if is_raw else tensors)
        path.write_bytes(tensors[0] if is_raw else onnx.helper.make_model(graph).SerializeToString())
        sentence = fails(2, "dequantize", path, tmp_path / "y.safetensors")
        assert "x.onnx" in sentence
        assert said in sentence or said == "No such file"
        assert sentence == fails(2, "inspect", path)
    path.write_bytes(b"")
    assert fails(2, "inspect", path).endswith("or a damaged one: it has no graph")
    scale = onnx.TensorProto(name="w_scale", dims=(1,), data_type=onnx.TensorProto.FLOAT8E8M0, raw_data=b"1")
    wide = onnx.TensorProto(name="w_scale", dims=(2, 1), data_type=onnx.TensorProto.FLOAT, raw_data=bytes(8))
    for codes, scales, said in (
        (onnx.TensorProto(name="w", dims=(63,), data_type=F4, raw_data=bytes(32)), scale, "not (63,)"),
        (onnx.TensorProto(name="w", dims=(2, 32), data_type=F4, raw_data=bytes(32)), scale, "not (1,)"),
        (onnx.TensorProto(name="w", dims=(2, 32), data_type=F4, raw_data=bytes(32)), wide, "F8_E8M0 there"),
    ):
        graph = onnx.GraphProto(name="g", initializer=[codes, scales])
        path.write_bytes(onnx.helper.make_model(graph).SerializeToString())
        sentence = fails(2, "dequantize", path, tmp_path / "y.safetensors")
        assert sentence.endswith(said)
        if scales is wide:
            assert [str(one.kind) for one in inspect_file(path).suspicions] == ["unrecognised"]
        else:
            assert sentence == fails(2, "inspect", path)
    assert not (tmp_path / "y.safetensors").exists()


def test_what_no_model_can_hold(tmp_path, monkeypatch, fails):
    save_file(pack(quantize(np.ones((2, 32), np.float32), "e2m1"), "gpt_oss", name="w"), tmp_path / "x.safetensors")
    arguments = "convert", tmp_path / "x.safetensors", tmp_path / "y.onnx", "--from", "gpt_oss", "--layout"
    assert "a .onnx file has the layout onnx, not quark" in fails(2, *arguments, "quark")
    monkeypatch.setattr(onnx_files, "MOST", 8)
    assert "a .onnx file has 8 bytes at most, and these tensors have 34" in fails(2, *arguments, "onnx")
    with pytest.raises(ValueError, match="is Q8_0, which onnx"):
        with written(tmp_path / "y.onnx", {"w": ("Q8_0", (32,), 34)}, {}):
            pass
    assert [path.name for path in tmp_path.iterdir()] == ["x.safetensors"]


def test_without_the_package(tmp_path, monkeypatch, fails):
    monkeypatch.setitem(sys.modules, "onnx", None)
    (tmp_path / "x.onnx").write_bytes(b"")
    assert "onnx is missing: pip install" in fails(3, "dequantize", tmp_path / "x.onnx", tmp_path / "y.safetensors")
