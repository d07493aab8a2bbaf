"""Without --profile, `mxcast quantize --layout` encodes as the library of the layout does, and says so."""

import json

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

import mxcast
from mxcast.models import quantize, quantize_nvfp4, unpack
from mxcast.spec import LAYOUTS, NVFP4_ENCODERS, PROFILES, Convention, numerics, nvfp4_encoding
from mxcast.spec.layouts.catalogue import Layout
from mxcast.spec.profiles.layouts import OF_LAYOUTS, library_profile
from mxcast.tensors.containers.containers import read

OF = {
    "modelopt:nvfp4": "nvfp4_modelopt",
    "modelopt:mxfp8_e4m3": "modelopt",
    "compressed_tensors:nvfp4": "nvfp4_compressed_tensors",
    "compressed_tensors:mxfp4_e2m1": "compressed_tensors",
    "compressed_tensors:mxfp6_e2m3": "compressed_tensors",
    "compressed_tensors:mxfp8_e4m3": "compressed_tensors",
    "torchao:nvfp4": "nvfp4_ao",
    "torchao:mxfp8_e5m2": "torchao_floor",
    "torchao_swizzled:mxfp4_e2m1": "torchao_floor",
    "quark:mxfp6_e3m2": "quark",
    "quark_pack:mxfp4_e2m1": "quark",
    "mlx:mxfp4_e2m1": "mlx",
    "mlx:mxfp8_e4m3": "mlx",
    "te:nvfp4": "nvfp4_te",
    "te:mxfp8_e4m3": "te",
    "te_columnwise:mxfp8_e5m2": "te",
    "ggml:mxfp4_e2m1": "ggml",
}
"""Profiles by layout, as the sources of both name the same library."""
WITHOUT = ["gpt_oss:mxfp4_e2m1", "comfy:nvfp4", "comfy:mxfp8_e4m3", "ggml:nvfp4", "mlx:nvfp4", "onnx:mxfp4_e2m1"]
"""Layouts whose library has no profile of these blocks."""
EVERY = {layout.name: layout for layouts in LAYOUTS.values() for layout in layouts.values()}
X = np.random.default_rng(3).normal(size=(32, 128)).astype(np.float32) * 1.7


@pytest.fixture
def source(tmp_path):
    save_file({"l.weight": X}, tmp_path / "x.safetensors")
    return tmp_path / "x.safetensors"


def test_the_table():
    assert {name: library_profile(EVERY[name].dialect, EVERY[name].block_format) for name in OF} == OF
    assert not any(library_profile(EVERY[name].dialect, EVERY[name].block_format) for name in WITHOUT)
    assert OF_LAYOUTS.keys() <= LAYOUTS.keys()
    assert {name for names in OF_LAYOUTS.values() for name in names} <= PROFILES.keys() | NVFP4_ENCODERS.keys()
    for layout in EVERY.values():
        profile = library_profile(layout.dialect, layout.block_format)
        if profile in NVFP4_ENCODERS:
            assert nvfp4_encoding("nvfp4", profile).block.convention is layout.convention


def arrays(path) -> dict[str, bytes]:
    return {name: stored.data.tobytes() for name, stored in read(path).tensors.items()}


@pytest.mark.parametrize("name", [name for name in OF if "columnwise" not in name])
def test_it_is_taken_and_said(name, source, tmp_path, passes):
    layout: Layout = EVERY[name]
    suffix = ".gguf" if layout.dialect == "ggml" else ".safetensors"
    options = ["-f", layout.block, *([] if suffix == ".gguf" else ["--layout", layout.dialect])]
    said = passes("quantize", source, tmp_path / f"a{suffix}", *options)
    sentence = f"profile {OF[name]}, of the library with the layout {layout.dialect}; --profile takes another\n"
    assert said.startswith(sentence)
    given = passes("quantize", source, tmp_path / f"b{suffix}", *options, "--profile", OF[name])
    assert given.replace("b.", "a.") == said.removeprefix(sentence)
    assert arrays(tmp_path / f"a{suffix}") == arrays(tmp_path / f"b{suffix}")
    document = json.loads(passes("quantize", source, tmp_path / f"a{suffix}", *options, "--json"))
    assert document["profile"] == OF[name]


def test_bits_are_those_of_the_profile(source, tmp_path, passes):
    """Its codes differ from the codes under OCP and Transformer Engine."""
    passes("quantize", source, tmp_path / "a.safetensors", "-f", "e2m1", "--layout", "mlx")
    q = unpack(load_file(tmp_path / "a.safetensors"), "mlx", "mxfp4_e2m1", name="l.weight")
    right, other = quantize(X, "e2m1", "mlx"), quantize(X, "e2m1", "ocp")
    assert np.array_equal(q.scales, right.scales) and np.array_equal(q.codes, right.codes)
    assert not np.array_equal(q.scales, other.scales)
    passes("quantize", source, tmp_path / "b.safetensors", "-f", "nvfp4", "--layout", "modelopt")
    stored = {name: one.data.reshape(one.shape) for name, one in read(tmp_path / "b.safetensors").tensors.items()}
    q = unpack(stored, "modelopt", "nvfp4", name="l.weight")
    right = quantize_nvfp4(X, "nvfp4", "nvfp4_modelopt")
    assert np.array_equal(q.scales, right.scales) and np.array_equal(q.codes, right.codes)
    assert q.tensor_scale == right.tensor_scale


def test_a_folder(source, tmp_path, passes):
    (tmp_path / "model").mkdir()
    source.rename(tmp_path / "model" / "model.safetensors")
    text = passes("quantize", tmp_path / "model", tmp_path / "q", "-f", "nvfp4", "--layout", "modelopt")
    assert text.startswith("profile nvfp4_modelopt, of the library with the layout modelopt; ")


def test_what_is_given_wins(source, tmp_path, passes):
    options = ["-f", "e2m1", "--layout", "quark"]
    assert "profile" not in passes("quantize", source, tmp_path / "a.safetensors", *options, "--profile", "ocp")
    config = tmp_path / "c.toml"
    config.write_text('profile = "nvidia"\n')
    assert "profile" not in passes("quantize", source, tmp_path / "a.safetensors", *options, "--config", config)
    config.write_text('format = "e2m1"\n')
    text = passes("quantize", source, tmp_path / "a.safetensors", "--layout", "quark", "--config", config)
    assert text.startswith("profile quark, ")
    document = json.loads(
        passes("quantize", source, tmp_path / "a.safetensors", *options, "--set", "rounding=rtz", "--json")
    )
    assert document["numerics"]["rounding"] == "rtz"
    assert document["numerics"]["scale_rule"] == str(numerics("e2m1", "quark").scale_rule)


@pytest.mark.parametrize("layout, suffix", [("comfy", ".safetensors"), ("ggml", ".gguf")])
def test_a_library_without_a_profile(layout, suffix, source, tmp_path, fails, passes):
    """The sentence names the profiles that fit the layout, and each of them is accepted."""
    arguments = "quantize", source, tmp_path / f"a{suffix}", "-f", "nvfp4", "--layout", layout
    sentence = fails(2, *arguments)
    assert sentence.endswith("--profile takes one with a multiplier: nvfp4_ao, nvfp4_modelopt")
    assert f"the library with the layout {layout} has no profile for nvfp4 here" in sentence
    for profile in sentence.rpartition(": ")[2].split(", "):
        assert nvfp4_encoding("nvfp4", profile).block.convention is Convention.MULTIPLIER
        passes(*arguments, "--profile", profile)
    passes("quantize", source, tmp_path / "te.safetensors", "-f", "nvfp4", "--profile", "nvfp4_te")
    again = fails(2, "convert", tmp_path / "te.safetensors", tmp_path / f"b{suffix}", "--layout", layout)
    assert "quantize the (dequantized) numbers with a profile of this convention" in again


def test_what_is_refused_says_no_profile(source, tmp_path, fails):
    assert "is of" in fails(2, "quantize", source, tmp_path / "a.safetensors", "-f", "e4m3", "--layout", "quark")


@pytest.mark.parametrize("name", [name for name in EVERY if "columnwise" in name])
def test_blocks_along_columns(name, source, tmp_path, fails):
    """The sentence has the Python that makes the arrays."""
    layout = EVERY[name]
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "model.safetensors").write_bytes(source.read_bytes())
    for given, made in (source, "a.safetensors"), (tmp_path / "model", "q"):
        sentence = fails(2, "quantize", given, tmp_path / made, "-f", layout.block, "--layout", layout.dialect)
        assert f"the layout {name} has them along axis -2: mxcast.pack(" in sentence
        assert not (tmp_path / made).exists()
    expression = sentence[sentence.index("mxcast.pack(") :].removesuffix(" makes its arrays in Python")
    arrays = eval(expression, {"mxcast": mxcast, "x": X})
    assert list(arrays) == list(layout.names("weight"))
    encode = quantize_nvfp4 if layout.block == "nvfp4" else quantize
    rows = mxcast.dequantize(encode(np.ascontiguousarray(X.T), layout.block))
    assert np.array_equal(mxcast.dequantize(unpack(arrays, layout, name="weight")), rows.T)
