"""Gate and up of experts: split and interleaved, there and back."""

import json

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from mxcast.models import dequantize, pack, quantize, quantize_nvfp4
from mxcast.tensors.convert import conversions, transposing

NAME = "model.layers.0.mlp.experts.{}_proj"
BOTH, GATE, UP = (NAME.format(part) for part in ("gate_up", "gate", "up"))


def numbers(rows: int = 320) -> np.ndarray:
    return np.random.default_rng(8).normal(size=(2, rows, 64)).astype(np.float32)


@pytest.fixture
def stored(tmp_path):
    """Experts as gpt-oss has them, with a bias and a tensor of another name."""
    arrays = pack(quantize(numbers(), "e2m1"), "gpt_oss", name=BOTH)
    arrays |= pack(quantize(numbers(), "e2m1"), "gpt_oss", name=NAME.format("down"))
    arrays[f"{BOTH}_bias"] = np.arange(640, dtype=np.float32).reshape(2, 320)
    save_file(arrays, tmp_path / "x.safetensors", {"format": "pt"})
    return tmp_path / "x.safetensors"


@pytest.mark.parametrize("part", [1 << 20, 1 << 12])
@pytest.mark.parametrize("layout", ["compressed_tensors", "torchao_swizzled", "gpt_oss"])
def test_there_and_back(part, layout, stored, passes, tmp_path, monkeypatch):
    """Even rows are gate and odd rows up, also in tiles of 128 rows; interleaving again gives the first file."""
    monkeypatch.setattr(conversions, "PART", part)
    target, back, again = (tmp_path / f"{name}.safetensors" for name in ("y", "z", "again"))
    passes("convert", stored, again, "--from", "gpt_oss", "--layout", "gpt_oss")
    passes("convert", stored, target, "--from", "gpt_oss", "--layout", layout, "--experts", "split")
    own = ["--from", layout, "-f", "e2m1"]
    passes("dequantize", target, back, *own)
    found, values = load_file(back), dequantize(quantize(numbers(), "e2m1"))
    assert np.array_equal(found[GATE], values[:, ::2]) and np.array_equal(found[UP], values[:, 1::2])
    assert np.array_equal(found[NAME.format("down")], values)
    assert found[f"{GATE}_bias"].tolist() == [[*range(0, 320, 2)], [*range(320, 640, 2)]]
    passes("dequantize", stored, back, "--from", "gpt_oss", "--experts", "split")
    assert all(np.array_equal(array, found[name]) for name, array in load_file(back).items())
    passes("convert", target, back, *own, "--layout", "gpt_oss", "--experts", "interleaved")
    assert back.read_bytes() == again.read_bytes()
    passes("dequantize", target, back, *own, "--experts", "interleaved")
    assert np.array_equal(load_file(back)[BOTH], values)


def test_into_a_gguf_file_and_back(stored, passes, tmp_path):
    """Names of ggml match the pattern too."""
    arrays = {name.replace("gate_up_proj", "ffn_gate_up_exps"): one for name, one in load_file(stored).items()}
    save_file(arrays, tmp_path / "named.safetensors")
    options = ["--from", "gpt_oss", "--layout", "ggml", "--experts", "split"]
    passes("convert", tmp_path / "named.safetensors", tmp_path / "y.gguf", *options)
    text = passes("dequantize", tmp_path / "y.gguf", tmp_path / "z.safetensors", "--json")
    assert {"ffn_gate_exps", "ffn_up_exps"} <= {name.rpartition(".")[2] for name in json.loads(text)["tensors"]}


def test_scales_of_tensors(passes, fails, tmp_path):
    """One tensor has one scale for each expert, so gate and up must have equal scales."""
    x = numbers(8)
    q = quantize_nvfp4(x, "nvfp4", "nvfp4_ao")
    whole = pack(q, "modelopt", name=BOTH)
    whole[f"{BOTH}_scale_2"] = np.array([0.5, 0.25], np.float32).reshape(2, 1, 1)
    stored = {name: ("F8_E4M3" if name.endswith("_scale") else None, array) for name, array in whole.items()}
    header, data = {}, b""
    for name, (dtype, array) in stored.items():
        dtype = dtype or {"uint8": "U8", "float32": "F32"}[array.dtype.name]
        offsets = [len(data), len(data) + array.nbytes]
        header[name], data = {"dtype": dtype, "shape": array.shape, "data_offsets": offsets}, data + array.tobytes()
    text = json.dumps(header).encode()
    path = tmp_path / "x.safetensors"
    path.write_bytes(len(text).to_bytes(8, "little") + text + data)
    own = ["--from", "modelopt", "-f", "nvfp4"]
    split, back = tmp_path / "y.safetensors", tmp_path / "z.safetensors"
    passes("convert", path, split, *own, "--layout", "modelopt", "--experts", "split")
    passes("dequantize", split, back, *own, "--experts", "interleaved")
    passes("dequantize", path, split.with_suffix(".one.safetensors"), *own)
    assert np.array_equal(load_file(back)[BOTH], load_file(split.with_suffix(".one.safetensors"))[BOTH])
    data = bytearray(split.read_bytes())
    place = data.index(np.array([0.5, 0.25], np.float32).tobytes())
    data[place : place + 4] = np.float32(2).tobytes()
    split.write_bytes(data)
    sentence = fails(2, "convert", split, back, *own, "--layout", "modelopt", "--experts", "interleaved")
    assert "gate and up have different tensor scales" in sentence and GATE in sentence


def test_shards_have_experts_or_not(stored, passes, fails, tmp_path):
    """Shards without experts are converted without a change."""
    folder = tmp_path / "model"
    folder.mkdir()
    stored.rename(folder / "a.safetensors")
    save_file({"ids": np.arange(3)}, folder / "b.safetensors")
    names = dict.fromkeys(load_file(folder / "a.safetensors"), "a.safetensors") | {"ids": "b.safetensors"}
    (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": names}))
    (folder / "config.json").write_text(json.dumps({"quantization_config": {"quant_method": "mxfp4"}}))
    passes("convert", folder, tmp_path / "y", "--layout", "compressed_tensors", "--experts", "split")
    assert f"{GATE}_packed" in load_file(tmp_path / "y" / "a.safetensors")
    options = ["--layout", "mlx", "--experts", "interleaved"]
    assert "has no experts that can be interleaved" in fails(2, "convert", folder, tmp_path / "z", *options)


def test_what_is_refused(stored, fails, tmp_path):
    own = ["--from", "gpt_oss", "--layout", "gpt_oss", "--experts"]

    def refused(arrays, how, sentence):
        save_file(arrays, tmp_path / "x.safetensors")
        assert sentence in fails(2, "convert", tmp_path / "x.safetensors", tmp_path / "y.safetensors", *own, how)
        assert not (tmp_path / "y.safetensors").exists()

    arrays = load_file(stored)
    refused(arrays, "mixed", "unknown arrangement of experts 'mixed'")
    refused(arrays, "interleaved", "no quantized tensor of three axes has a name with gate_proj and up_proj")
    odd = pack(quantize(numbers(5), "e2m1"), "gpt_oss", name=BOTH)
    refused(odd, "split", f"tensor {BOTH!r}: its 5 rows are not gate and up in turn")
    refused(
        arrays | {f"{BOTH}_bias": np.ones((2, 3), np.float32)}, "split", "its 3 numbers are not gate and up in turn"
    )
    gate = pack(quantize(numbers(8), "e2m1"), "gpt_oss", name=GATE)
    refused(gate, "interleaved", f"{GATE!r} is there without {UP!r}")
    other = pack(quantize(numbers(6), "e2m1"), "gpt_oss", name=UP)
    refused(gate | other, "interleaved", "must have one shape and one block format")
    refused(arrays | gate, "split", f"{BOTH!r} becomes {GATE!r}, and there is another tensor of this name")


@pytest.mark.parametrize("side", [1024, 32])
def test_axes_as_transformers_has_them(side, passes, fails, tmp_path, monkeypatch):
    """The last two axes of experts in BF16 are swapped; other tensors stay the same."""
    monkeypatch.setattr(transposing, "SIDE", side)
    monkeypatch.setattr(transposing, "PART", side * side)
    monkeypatch.setattr(conversions, "PART", side * side)
    x, flat = numbers(96), numbers(64)[0]
    path, there, back = (tmp_path / f"{name}.safetensors" for name in "xyz")
    save_file({BOTH: np.ascontiguousarray(x.swapaxes(1, 2)), "flat": flat, "i": np.arange(3)}, path)
    passes("quantize", path, there, "-f", "e2m1", "--layout", "gpt_oss", "--transposed")
    stored = load_file(there)
    for name, array in pack(quantize(x, "e2m1"), "gpt_oss", name=BOTH).items():
        assert np.array_equal(stored[name], array)
    passes("dequantize", there, back, "--from", "gpt_oss", "--transposed")
    found = load_file(back)
    assert np.array_equal(found[BOTH], dequantize(quantize(x, "e2m1")).swapaxes(1, 2))
    assert np.array_equal(found["flat"], dequantize(quantize(flat, "e2m1"))) and found["i"].tolist() == [0, 1, 2]
    folder = tmp_path / "model"
    folder.mkdir()
    path.rename(folder / "model.safetensors")
    passes("quantize", folder, tmp_path / "q", "-f", "e2m1", "--layout", "gpt_oss", "--transposed")
    assert (tmp_path / "q" / "model.safetensors").read_bytes() == there.read_bytes()
    passes("dequantize", tmp_path / "q", tmp_path / "b", "--transposed")
    assert (tmp_path / "b" / "model.safetensors").read_bytes() == back.read_bytes()
    save_file({"flat": flat}, path)
    before = sorted(tmp_path.iterdir())
    sentence = fails(2, "quantize", path, tmp_path / "n.safetensors", "-f", "e2m1", "--transposed")
    assert sentence == f"{path} has no tensor of three axes to transpose"
    assert f"{path} and {path} are the same file" == fails(2, "quantize", path, path, "-f", "e2m1", "--transposed")
    assert sorted(tmp_path.iterdir()) == before
