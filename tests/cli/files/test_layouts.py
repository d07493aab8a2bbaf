"""Files in the layouts of libraries: no number changes on the way to them, between them and back."""

import json

import numpy as np
import pytest
from safetensors import deserialize
from safetensors.numpy import load_file, save_file

from mxcast.models import BlockArray, dequantize, pack, quantize, quantize_nvfp4
from mxcast.spec import LAYOUTS
from mxcast.tensors.convert import conversions
from mxcast.tensors.convert.files import quantize_file
from mxcast.tensors.convert.options import ConvertOptions, Execution
from mxcast.tensors.convert.repacking import convert_file

NAMES = "model.layers.0.up.weight", "model.layers.0.down.weight"


@pytest.fixture
def written(passes, tmp_path):
    """A quantized file with two quantized tensors and a copied one, and the tensors."""

    def quantized(format: str, *more: str):
        rng = np.random.default_rng(5)
        x = {name: rng.normal(size=(64, 128)).astype(np.float32) for name in NAMES}
        save_file(x | {"ids": np.arange(3)}, tmp_path / "in.safetensors")
        passes("quantize", tmp_path / "in.safetensors", tmp_path / "q.safetensors", "--format", format, *more)
        return tmp_path / "q.safetensors", x

    return quantized


CHAIN = ["gpt_oss", "compressed_tensors", "quark", "torchao_swizzled", "mlx", "onnx", "torchao", "gpt_oss"]


def test_from_one_layout_to_the_next(written, passes, tmp_path):
    """The last file is the first, byte for byte, and each is dequantized to the numbers of the quantized file."""
    source, x = written("e2m1")
    values = {name: dequantize(quantize(one, "e2m1")) for name, one in x.items()}
    file, own = source, []
    for place, layout in enumerate(CHAIN):
        target = tmp_path / f"{place}.safetensors"
        text = passes("convert", file, target, "--layout", layout, *own)
        assert "copied unchanged: ids" in text and f"wrote {target}" in text
        stored = {name: bytes(one["data"]) for name, one in deserialize(target.read_bytes())}  # load_file has no E8M0
        for name, one in x.items():
            for array, data in pack(quantize(one, "e2m1"), layout, name=name).items():
                assert stored[array] == data.tobytes()
        own = ["--from", layout, "--format", "e2m1"]
        passes("dequantize", target, tmp_path / "y.safetensors", *own)
        back = load_file(tmp_path / "y.safetensors")
        assert set(back) == {*NAMES, "ids"} and back["ids"].tolist() == [0, 1, 2]
        assert all(np.array_equal(back[name], numbers) for name, numbers in values.items())
        file = target
    assert (tmp_path / "0.safetensors").read_bytes() == file.read_bytes()


@pytest.mark.parametrize("format, profile", [("e2m1", "ocp"), ("e4m3", "ocp"), ("nvfp4", "nvfp4_ao")])
def test_parts_are_the_whole(format, profile, tmp_path, monkeypatch):
    """Files depend neither on the parts of tensors nor on the number of threads."""
    rng, source = np.random.default_rng(6), tmp_path / "q.safetensors"
    shapes = {"experts.w": (2, 200, 128), "rows.w": (130, 192), "line.w": (1536,), "none.w": (0, 64)}
    x = {name: rng.normal(size=shape).astype(np.float32) for name, shape in shapes.items()}
    save_file(x, tmp_path / "in.safetensors")
    quantize_file(tmp_path / "in.safetensors", source, format, profile)
    for dialect, layouts in LAYOUTS.items():
        layout = next((one for one in layouts.values() if one.block.split("_")[-1] == format), None)
        if layout is None or layout.axis != -1 or layout.convention not in ("none", "multiplier"):
            continue
        is_flat = (layout.order, layout.scale_padding) == ("linear", (1, 1))
        files = []
        for place, (part, jobs) in enumerate(((1 << 20, 1), (1 << 12, 3))):
            monkeypatch.setattr(conversions, "PART", part)
            there, back = (tmp_path / f"{end}.{place}.safetensors" for end in ("there", "back"))
            to = ConvertOptions(layout=dialect, exclude=() if is_flat else ("line.w",))
            convert_file(source, there, to, Execution(jobs=jobs))
            to = ConvertOptions(stored_as=dialect, format=format, include=("*w*",))
            convert_file(there, back, to, Execution(jobs=jobs))
            files.append((there.read_bytes(), back.read_bytes()))
        assert files[0] == files[1], dialect


@pytest.mark.parametrize("block", ["nvfp4", "mxfp8_e4m3"])
def test_parts_of_columns(block, tmp_path, monkeypatch):
    """Blocks along the last axis but one, and a transposed copy of them."""
    layout = LAYOUTS["te_columnwise"][block]
    rng, shape = np.random.default_rng(7), (256, 384)
    q = BlockArray(
        codes=rng.integers(0, 1 << layout.element_bits, shape, np.uint8) & 0x77,
        scales=rng.integers(1, 0x70, (shape[0] // layout.width, shape[1]), np.uint8),
        block=layout.block_format,
        axis=-2,
        tensor_scale=np.ones((), np.float32) if block == "nvfp4" else None,
    )
    save_file(pack(q, layout, name="w"), tmp_path / "in.safetensors")
    monkeypatch.setattr(conversions, "PART", 1 << 14)
    options = ConvertOptions(stored_as="te_columnwise", format=block)
    convert_file(tmp_path / "in.safetensors", tmp_path / "y.safetensors", options)
    assert np.array_equal(load_file(tmp_path / "y.safetensors")["w"], dequantize(q), equal_nan=True)


def test_quantize_into_a_layout(written, passes, fails, tmp_path):
    """The file equals the result of two commands, and nothing else is left in the folder."""
    source, _ = written("e2m1")
    passes("convert", source, tmp_path / "two.safetensors", "--layout", "torchao")
    before = set(tmp_path.iterdir())
    arguments = ["quantize", tmp_path / "in.safetensors", tmp_path / "one.safetensors", "--layout", "torchao"]
    report = json.loads(passes(*arguments, "--format", "e2m1", "--json"))
    assert report["path"] == str(tmp_path / "one.safetensors") and len(report["tensors"]) == 2
    assert set(tmp_path.iterdir()) == before | {tmp_path / "one.safetensors"}
    assert (tmp_path / "one.safetensors").read_bytes() == (tmp_path / "two.safetensors").read_bytes()
    sentence = fails(2, *arguments, "--format", "int8")
    assert "the layout torchao is of" in sentence and "not of mxint8" in sentence
    assert set(tmp_path.iterdir()) == before | {tmp_path / "one.safetensors"}


def test_a_full_disk_has_the_name_of_the_file(written, fails, tmp_path, monkeypatch):
    """The sentence does not name a temporary file."""
    written("e2m1")
    save_file({"w": np.ones((2, 32, 32), np.float32)}, tmp_path / "three.safetensors")

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.posix_fallocate", full)
    target = tmp_path / "out.safetensors"
    for source, *more in (["in.safetensors"], ["three.safetensors", "--transposed"]):
        arguments = "quantize", tmp_path / source, target, "--layout", "torchao", "-f", "e2m1", *more
        assert fails(2, *arguments) == f"{target}: No space left on device"
    assert not list(tmp_path.glob("*mxcast-part*")) and not target.exists()


def test_a_tensor_scale(written, passes, fails, tmp_path):
    source, x = written("nvfp4", "--profile", "nvfp4_ao")
    target, onward, back = (tmp_path / f"{name}.safetensors" for name in ("modelopt", "comfy", "y"))
    passes("convert", source, target, "--layout", "modelopt")
    passes("convert", target, onward, "--from", "modelopt", "-f", "nvfp4", "--layout", "comfy")
    passes("dequantize", onward, back, "--from", "comfy", "-f", "nvfp4", "--profile", "nvfp4_ao")
    for name, numbers in x.items():
        assert np.array_equal(load_file(back)[name], dequantize(quantize_nvfp4(numbers, "nvfp4", "nvfp4_ao")))
    sentence = fails(2, "convert", source, tmp_path / "te.safetensors", "--layout", "te")
    assert f"tensor {NAMES[1]!r} of {source}: the tensor scale" in sentence
    assert not (tmp_path / "te.safetensors").exists()


def test_one_array_for_codes_and_scales(written, passes, fails, tmp_path):
    """Names do not distinguish such tensors, so patterns must."""
    source, x = written("e2m1")
    target = tmp_path / "ggml.safetensors"
    passes("convert", source, target, "--layout", "ggml")
    own = ["--from", "ggml", "--format", "e2m1"]
    sentence = fails(2, "dequantize", target, tmp_path / "y.safetensors", *own)
    assert "patterns of names must say which are quantized" in sentence
    report = json.loads(
        passes("dequantize", target, tmp_path / "y.safetensors", *own, "--include", "*.weight", "--json")
    )
    assert report["tensors"] == {name: [64, 128] for name in sorted(NAMES)} and report["copied"] == ["ids"]
    for name, numbers in x.items():
        assert np.array_equal(load_file(tmp_path / "y.safetensors")[name], dequantize(quantize(numbers, "e2m1")))


def test_what_is_refused(written, fails, tmp_path):
    source, x = written("e2m1")
    plain, target = tmp_path / "in.safetensors", tmp_path / "t.safetensors"
    damaged = tmp_path / "d.safetensors"
    stored = pack(quantize(x[NAMES[0]], "e2m1"), "compressed_tensors", name="a.weight")
    save_file(stored | {"a.weight_scale": stored["a.weight_scale"].astype(np.int8)}, damaged)
    taken = tmp_path / "taken.safetensors"
    save_file(pack(quantize(x[NAMES[0]], "e2m1"), "gpt_oss", name="w") | {"w_packed": np.ones(3)}, taken)
    refused = {
        "was not written by mxcast quantize: its layout must be given": (plain, "--layout", "ggml"),
        "has no quantized tensors in the layout gpt_oss": (plain, "--layout", "mlx", "--from", "gpt_oss"),
        "it says itself how it is stored": (source, "--layout", "mlx", "--from", "gpt_oss"),
        "unknown layout 'gpt-os'": (source, "--layout", "gpt-os"),
        "is I8, and the layout compressed_tensors:mxfp4_e2m1 has U8 there": (
            damaged, "--layout", "mlx", "--from", "compressed_tensors", "-f", "e2m1",
        ),
        "has another tensor of the name 'w_packed'": (
            taken, "--layout", "compressed_tensors", "--from", "gpt_oss",
        ),
        "the block format must be given": (plain, "--layout", "mlx", "--from", "ggml"),
    }  # fmt: skip
    for sentence, (file, *options) in refused.items():
        assert sentence in fails(2, "convert", file, target, *options)
        assert not target.exists()
    assert "--from names it" in fails(2, "dequantize", source, target, "--profile", "ocp")
    assert "must be a .safetensors, .gguf or .onnx file" in fails(
        2, "convert", tmp_path / "x.npz", target, "--layout", "mlx"
    )


def test_names_lead_back_to_their_tensor():
    """Patterns match the name of a stored array, if the layout keeps the whole name."""
    for layouts in LAYOUTS.values():
        for layout in layouts.values():
            for part in layout.parts:
                assert part.tensor_of(part.of("a.b.weight")) == "a.b.weight", part
                assert part.tensor_of(part.of("weight")) == "weight", part
