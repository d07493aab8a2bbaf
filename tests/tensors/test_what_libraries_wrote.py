"""Small files that libraries wrote (tests/data/write.py): the numbers that each library reads in them are there too."""

import json
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file

from mxcast.tensors.containers import read
from mxcast.tensors.native import dialect_of
from mxcast.tensors.repacking import repack_file

DATA = Path(__file__).resolve().parents[1] / "data"
FILES = {
    "gguf-mxfp4.gguf": (None, None, "ggml"),
    "gguf-nvfp4.gguf": (None, None, None),
    "onnx-float4e2m1.onnx": (None, None, None),
    "onnx-float6e2m3.onnx": (None, None, None),
    "onnx-float6e3m2.onnx": (None, None, None),
    "onnx-float8e4m3fn.onnx": (None, None, None),
    "onnx-float8e5m2.onnx": (None, None, None),
    "compressed_tensors-mxfp4a16.safetensors": ("compressed_tensors", "mxfp4_e2m1", None),
    "compressed_tensors-mxfp6a16.safetensors": ("compressed_tensors", "mxfp6_e2m3", None),
    "compressed_tensors-mxfp8a16.safetensors": ("compressed_tensors", "mxfp8_e4m3", None),
    "compressed_tensors-nvfp4a16.safetensors": ("compressed_tensors", "nvfp4", "nvfp4_compressed_tensors"),
    "torchao-mxfp4.safetensors": ("torchao", "mxfp4_e2m1", None),
    "torchao-mxfp8.safetensors": ("torchao", "mxfp8_e4m3", None),
    "torchao-nvfp4.safetensors": ("torchao", "nvfp4", "nvfp4_ao"),
    "torchao_swizzled-mxfp4.safetensors": ("torchao_swizzled", "mxfp4_e2m1", None),
    "torchao_swizzled-mxfp8.safetensors": ("torchao_swizzled", "mxfp8_e4m3", None),
    "torchao_swizzled-nvfp4.safetensors": ("torchao_swizzled", "nvfp4", "nvfp4_ao"),
}
"""The layout, the block format where the file does not say it, and the profile by which the library reads."""


def test_every_file_is_read_here():
    assert {path.name for path in DATA.iterdir() if path.suffix != ".py"} == {*FILES, "safetensors.safetensors"}


@pytest.mark.parametrize("name", FILES)
def test_numbers_are_those_of_the_library(name, passes, tmp_path):
    """And what is converted to the same layout is the same, byte for byte."""
    layout, block, profile = FILES[name]
    if name.endswith(".onnx"):
        pytest.importorskip("onnx")
    own = [] if layout is None else ["--from", layout, "--format", block]
    passes("dequantize", DATA / name, tmp_path / "y.safetensors", *own, *(["--profile", profile] if profile else []))
    found = load_file(tmp_path / "y.safetensors")
    assert np.array_equal(found["up.weight"], found["values"])
    again = tmp_path / name
    repack_file(DATA / name, again, layout or dialect_of(again), stored_as=layout, format=block)
    first, second = read(DATA / name), read(again)
    assert first.metadata == second.metadata and first.tensors.keys() == second.tensors.keys()
    for tensor, stored in first.tensors.items():
        there = second.tensors[tensor]
        assert (stored.dtype, stored.data.tobytes()) == (there.dtype, there.data.tobytes())


def test_remarks_of_the_libraries():
    assert json.loads(read(DATA / "gguf-mxfp4.gguf").metadata["gguf.a.list"]) == ["ARRAY", "STRING", ["one", "two"]]
    about = json.loads(read(DATA / "torchao_swizzled-nvfp4.safetensors").metadata["up.weight"])
    assert about["_type"] == "NVFP4Tensor" and about["_data"]["is_swizzled_scales"] is True
    contents = read(DATA / "safetensors.safetensors")
    assert contents.metadata == {"format": "pt", "é": "ü\n"} and len(contents.tensors) == 18
    firsts = sorted(int(stored.data.view(np.uint8)[0]) for stored in contents.tensors.values())
    assert firsts == list(range(18)) and all(stored.data.nbytes == 32 for stored in contents.tensors.values())
    assert contents.tensors["float4_e2m1fn_x2"].shape == (64,)
