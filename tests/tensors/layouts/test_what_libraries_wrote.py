"""Files that libraries wrote (tests/tensors/data/write.py), with the numbers that each library reads in them."""

import json
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from mxcast.tensors.containers.containers import read, written
from mxcast.tensors.containers.native_types import dialect_of
from mxcast.tensors.convert import conversions
from mxcast.tensors.convert.files import quantize_file
from mxcast.tensors.convert.options import ConvertOptions
from mxcast.tensors.convert.repacking import convert_file

DATA = Path(__file__).resolve().parents[1] / "data"
FILES = {
    "gguf/mxfp4.gguf": (None, None, "ggml"),
    "gguf/nvfp4.gguf": (None, None, None),
    "onnx/float4e2m1.onnx": (None, None, None),
    "onnx/float6e2m3.onnx": (None, None, None),
    "onnx/float6e3m2.onnx": (None, None, None),
    "onnx/float8e4m3fn.onnx": (None, None, None),
    "onnx/float8e5m2.onnx": (None, None, None),
    "compressed_tensors/mxfp4a16.safetensors": ("compressed_tensors", "mxfp4_e2m1", None),
    "compressed_tensors/mxfp6a16.safetensors": ("compressed_tensors", "mxfp6_e2m3", None),
    "compressed_tensors/mxfp8a16.safetensors": ("compressed_tensors", "mxfp8_e4m3", None),
    "compressed_tensors/nvfp4a16.safetensors": ("compressed_tensors", "nvfp4", "nvfp4_compressed_tensors"),
    "torchao/mxfp4.safetensors": ("torchao", "mxfp4_e2m1", None),
    "torchao/mxfp8.safetensors": ("torchao", "mxfp8_e4m3", None),
    "torchao/nvfp4.safetensors": ("torchao", "nvfp4", "nvfp4_ao"),
    "torchao_swizzled/mxfp4.safetensors": ("torchao_swizzled", "mxfp4_e2m1", None),
    "torchao_swizzled/mxfp8.safetensors": ("torchao_swizzled", "mxfp8_e4m3", None),
    "torchao_swizzled/nvfp4.safetensors": ("torchao_swizzled", "nvfp4", "nvfp4_ao"),
}
"""The layout, the block format where the file does not say it, and the profile by which the library reads."""


DECODERS = dict.fromkeys(("e2m1", "e4m3", "e5m2", "e2m3", "e3m2"), "torchao") | {"nvfp4": "nvfp4_ao"}
COMFY = ["--layout", "comfy", "--profile", "nvfp4_ao"]


def test_every_file_is_read_here():
    assert {str(path.relative_to(DATA)) for path in DATA.glob("*/*")} == {*FILES}


@pytest.mark.parametrize("name", FILES)
def test_numbers_are_those_of_the_library(name, passes, tmp_path):
    """Conversion to the same layout keeps every byte, and adds the metadata of mxcast."""
    layout, block, profile = FILES[name]
    if name.endswith(".onnx"):
        pytest.importorskip("onnx")
    own = [] if layout is None else ["--from", layout, "--format", block]
    passes("dequantize", DATA / name, tmp_path / "y.safetensors", *own, *(["--profile", profile] if profile else []))
    found = load_file(tmp_path / "y.safetensors")
    assert np.array_equal(found["up.weight"], found["values"])
    again = tmp_path / Path(name).name
    convert_file(DATA / name, again, ConvertOptions(layout=layout or dialect_of(again), stored_as=layout, format=block))
    first, second = read(DATA / name), read(again)
    said = {"mxcast_layouts": json.dumps({f"{layout}:{block}": ["up.weight"]})} if layout else {}
    assert first.metadata | said == second.metadata and first.tensors.keys() == second.tensors.keys()
    for tensor, stored in first.tensors.items():
        there = second.tensors[tensor]
        assert (stored.dtype, stored.data.tobytes()) == (there.dtype, there.data.tobytes())


@pytest.mark.parametrize("element", ["e2m1", "e4m3", "e5m2", "e2m3", "e3m2", "nvfp4"])
@pytest.mark.parametrize("layout", ["torchao", "torchao_swizzled"])
def test_torchao_reads_a_file_of_ours(element, layout, tmp_path):
    """torchao reads the file by its metadata, with the same numbers."""
    torch = pytest.importorskip("torch", reason="torch is optional: pip install '.[oracles]'")
    support = pytest.importorskip("torchao.prototype.safetensors.safetensors_support")
    x = np.random.default_rng(1).normal(size=(40, 96)).astype(np.float32)
    save_file({"up.weight": x, "up.bias": x[0], "ids": x[:, 0]}, tmp_path / "x.safetensors")
    profile = "nvfp4_ao" if element == "nvfp4" else "ocp"
    target, back = tmp_path / "y.safetensors", tmp_path / "z.safetensors"
    quantize_file(tmp_path / "x.safetensors", target, element, profile, include=["up.weight"], layout=layout)
    contents = read(target)
    dtypes = {"U8": torch.uint8, "F32": torch.float32, "F8_E4M3": torch.float8_e4m3fn, "F8_E5M2": torch.float8_e5m2}
    dtypes["F8_E8M0"] = torch.float8_e8m0fnu
    arrays = {
        name: torch.from_numpy(one.data.view(np.uint8).copy()).view(dtypes[one.dtype]).reshape(one.shape)
        for name, one in contents.tensors.items()
    }
    tensors, rest = support.unflatten_tensor_state_dict(arrays, contents.metadata)
    assert set(tensors) == {"up.weight", "up.bias"} and set(rest) == {"ids"}
    convert_file(target, back, ConvertOptions(stored_as=layout, format=element, profile=DECODERS[element]))
    found = load_file(back)["up.weight"]
    assert np.array_equal(tensors["up.weight"].dequantize(torch.float32).numpy(), found)
    assert read(back).metadata == {}, "outdated metadata are removed"


@pytest.mark.parametrize(
    "element, name, format",
    [
        ("e2m1", "MXFP4A16", "mxfp4-pack-quantized"),
        ("e2m3", "MXFP6A16", "mxfp6-pack-quantized"),
        ("e4m3", "MXFP8A16", "mxfp8-quantized"),
    ],
)
def test_compressed_tensors_reads_a_file_of_ours(element, name, format, tmp_path):
    """The comparison is in bfloat16, which represents all of these numbers."""
    torch = pytest.importorskip("torch", reason="torch is optional: pip install '.[oracles]'")
    base = pytest.importorskip("compressed_tensors.compressors.base")
    scheme = pytest.importorskip("compressed_tensors.quantization.quant_scheme").preset_name_to_scheme(name, ["Linear"])
    x = np.random.default_rng(1).normal(size=(40, 96)).astype(np.float32)
    save_file({"up.weight": x}, tmp_path / "x.safetensors")
    target, back = tmp_path / "y.safetensors", tmp_path / "z.safetensors"
    quantize_file(tmp_path / "x.safetensors", target, element, layout="compressed_tensors")
    convert_file(target, back, ConvertOptions(stored_as="compressed_tensors", format=element))
    dtypes = {"U8": torch.uint8, "F8_E4M3": torch.float8_e4m3fn}
    state = {
        array.removeprefix("up."): torch.from_numpy(one.data.copy()).view(dtypes[one.dtype]).reshape(one.shape)
        for array, one in read(target).tensors.items()
    }
    found = base.BaseCompressor.get_value_from_registry(format).decompress(state, scheme)["weight"]
    assert np.array_equal(found.float().numpy(), load_file(back)["up.weight"])


def test_the_mark_of_comfy(passes, tmp_path):
    """The padding is written, and removed again."""
    x = np.random.default_rng(1).normal(size=(32, 64)).astype(np.float32)
    save_file({"up.weight": x}, tmp_path / "x.safetensors")
    passes("quantize", tmp_path / "x.safetensors", tmp_path / "y.safetensors", "-f", "nvfp4", *COMFY)
    assert read(tmp_path / "y.safetensors").tensors["up.comfy_quant"].data.tobytes() == b'{"format": "nvfp4"}'
    own = ["--from", "comfy", "-f", "nvfp4"]
    passes("convert", tmp_path / "y.safetensors", tmp_path / "z.safetensors", *own, "--layout", "modelopt")
    assert set(read(tmp_path / "z.safetensors").tensors) == {"up.weight", "up.weight_scale", "up.weight_scale_2"}


@pytest.mark.parametrize("part", [1 << 20, 1 << 10])
def test_rows_that_comfy_completes(part, passes, fails, tmp_path, monkeypatch):
    """The metadata have the number of rows, so the way back gives the first file."""
    monkeypatch.setattr(conversions, "PART", part)
    x = np.random.default_rng(1).normal(size=(141, 64)).astype(np.float32)
    save_file({"up.weight": x}, tmp_path / "x.safetensors")
    plain, comfy, back = (tmp_path / f"{name}.safetensors" for name in ("plain", "comfy", "back"))
    passes(
        "quantize", tmp_path / "x.safetensors", plain, "-f", "nvfp4", "--layout", "modelopt", "--profile", "nvfp4_ao"
    )
    passes("convert", plain, comfy, "--from", "modelopt", "-f", "nvfp4", "--layout", "comfy")
    own = ["--from", "comfy", "-f", "nvfp4"]
    passes("convert", comfy, back, *own, "--layout", "modelopt")
    assert back.read_bytes() == plain.read_bytes()
    contents = read(comfy)
    assert contents.tensors["up.weight"].shape == (144, 32)
    refused = {
        '{"up.weight": [99, 64]}': "codes of shape (112, 32) here, not (144, 32)",
        '{"up.weight": [141, 63]}': "declare the shape (141, 63), and its codes have the shape (144, 64)",
        '{"up.weight": [9024]}': "declare the shape (9024,)",
    }
    for text in (*refused, "[", '{"up.weight": [-1]}'):
        header = {name: (one.dtype, one.shape, one.data.nbytes) for name, one in contents.tensors.items()}
        with written(tmp_path / "other.safetensors", header, {"mxcast_shapes": text}) as write:
            for name, one in contents.tensors.items():
                write(name, 0, one.data)
        arguments = "convert", tmp_path / "other.safetensors", back, *own, "--layout", "modelopt"
        if text in refused:
            assert refused[text] in fails(2, *arguments)
        else:
            passes(*arguments)
            assert read(back).tensors["up.weight"].shape == (144, 32), "what nobody can read says nothing"


def test_remarks_of_the_libraries():
    assert json.loads(read(DATA / "gguf/mxfp4.gguf").metadata["gguf.a.list"]) == ["ARRAY", "STRING", ["one", "two"]]
    about = json.loads(read(DATA / "torchao_swizzled/nvfp4.safetensors").metadata["up.weight"])
    assert about["_type"] == "NVFP4Tensor" and about["_data"]["is_swizzled_scales"] is True
    contents = read(DATA / "safetensors.safetensors")
    assert contents.metadata == {"format": "pt", "é": "ü\n"} and len(contents.tensors) == 18
    firsts = sorted(int(stored.data.view(np.uint8)[0]) for stored in contents.tensors.values())
    assert firsts == list(range(18)) and all(stored.data.nbytes == 32 for stored in contents.tensors.values())
    assert contents.tensors["float4_e2m1fn_x2"].shape == (64,)
