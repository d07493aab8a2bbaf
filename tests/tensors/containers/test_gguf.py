"""`.gguf` files: what the package gguf, where it is installed, reads of ours, and what we read of its files."""

import json
import math
import random
import re
import struct

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from mxcast.models import BlockArray, dequantize, pack, quantize, quantize_nvfp4
from mxcast.tensors.containers.containers import read, written
from mxcast.tensors.containers.gguf import TYPES
from mxcast.tensors.convert.options import ConvertOptions
from mxcast.tensors.convert.repacking import convert_file

from ...cli.files.test_damaged_files import mutated

PAIRS = {
    "gguf.general.architecture": ["STRING", "ä model"],
    "gguf.general.alignment": ["UINT32", 64],
    "gguf.a.bool": ["BOOL", True],
    "gguf.a.float": ["FLOAT32", 0.10000000149011612],
    "gguf.a.nan": ["FLOAT32", "7fc00001"],
    "gguf.a.inf": ["FLOAT64", "fff0000000000000"],
    "gguf.a.least": ["INT64", -(1 << 63)],
    "gguf.a.texts": ["ARRAY", "STRING", ["", "\udcff", "b"]],
    "gguf.a.numbers": ["ARRAY", "INT16", [-1, 2]],
    "gguf.a.truths": ["ARRAY", "BOOL", [True, False]],
    "gguf.a.nothing": ["ARRAY", "UINT8", []],
}


W = {"w": ("F32", (3, 5), np.arange(15, dtype=np.float32))}


def file_of(path, tensors=W, pairs=PAIRS, **more):
    """A file with tensors (dtype, shape, array) and key-values."""
    header = {name: (dtype, shape, data.nbytes) for name, (dtype, shape, data) in tensors.items()}
    with written(path, header, {key: json.dumps(value) for key, value in pairs.items()} | more) as write:
        for name, (_, _, data) in tensors.items():
            write(name, 0, data)
    return path


def test_key_values_there_and_back(tmp_path):
    path = file_of(tmp_path / "a.gguf", format="pt")
    contents = read(path)
    assert contents.metadata == {key: json.dumps(value) for key, value in PAIRS.items()} | {"format": "pt"}
    assert contents.tensors["w"].data.tolist() == list(range(15)) and contents.tensors["w"].shape == (3, 5)
    assert path.stat().st_size % 64 == 0


def test_other_containers_keep_them(passes, tmp_path):
    """A way to .safetensors and back keeps all bytes, and the types of other tensors."""
    x = np.random.default_rng(0).normal(size=(4, 64)).astype(np.float32)
    blocks = pack(quantize(x, "e2m1"), "ggml", name="blk.0.up.weight")["blk.0.up.weight"]
    others = np.arange(2 * 34, dtype=np.uint8)
    tensors = {
        "embedding.weight": ("F16", (64,), np.arange(64, dtype=np.float16)),
        "output.weight": ("Q8_0", (2, 32), others),
        "blk.0.up.weight": ("MXFP4", (4, 64), blocks),
    }
    source = file_of(tmp_path / "a.gguf", tensors)
    passes("convert", source, tmp_path / "b.safetensors", "--layout", "gpt_oss")
    there = load_file(tmp_path / "b.safetensors")
    assert set(there) == {"embedding.weight", "output.weight", "blk.0.up.weight_blocks", "blk.0.up.weight_scales"}
    assert there["output.weight"].shape == (2, 34)
    assert json.loads(read(tmp_path / "b.safetensors").metadata["ggml_types"]) == {"output.weight": "Q8_0"}
    passes("convert", tmp_path / "b.safetensors", tmp_path / "c.gguf", "--layout", "ggml", "--from", "gpt_oss")
    assert (tmp_path / "c.gguf").read_bytes() == source.read_bytes()
    text = passes("dequantize", source, tmp_path / "y.safetensors")
    assert "copied unchanged: embedding.weight, output.weight" in text
    assert np.array_equal(load_file(tmp_path / "y.safetensors")["blk.0.up.weight"], dequantize(quantize(x, "e2m1")))


@pytest.mark.parametrize("format, profile", [("e2m1", "ocp"), ("nvfp4", "nvfp4_ao")])
def test_quantize_into_a_file(format, profile, passes, tmp_path):
    """The package reads the same key-values."""
    x = np.random.default_rng(1).normal(size=(3, 2, 128)).astype(np.float32)
    save_file({"blk.0.up.weight": x, "rope": np.ones(3, np.float16)}, tmp_path / "x.safetensors")
    only = ["--include", "*weight"]
    target = tmp_path / "y.gguf"
    passes("quantize", tmp_path / "x.safetensors", target, "-f", format, "--profile", profile, *only)
    passes("dequantize", target, tmp_path / "z.safetensors", "--profile", "ggml" if format == "e2m1" else profile)
    q = quantize(x, "e2m1") if format == "e2m1" else quantize_nvfp4(x, "nvfp4", profile)
    found = load_file(tmp_path / "z.safetensors")
    assert np.array_equal(found["blk.0.up.weight"], dequantize(q)) and found["rope"].tolist() == [1, 1, 1]
    gguf = pytest.importorskip("gguf")
    tensors = {one.name: one for one in gguf.GGUFReader(target).tensors}
    stored = tensors["blk.0.up.weight"]
    assert stored.tensor_type.name == {"e2m1": "MXFP4", "nvfp4": "NVFP4"}[format]
    assert stored.shape.tolist() == [128, 2, 3]
    # the package does not know the tensor scale, which is in a tensor of its own
    one = None if q.tensor_scale is None else np.ones((), np.float32)
    without = BlockArray(codes=q.codes, scales=q.scales, block=q.block, tensor_scale=one)
    assert np.array_equal(gguf.dequantize(stored.data, stored.tensor_type), dequantize(without))
    if format == "nvfp4":
        assert tensors["blk.0.up.scale"].data.tolist() == [q.tensor_scale]


def test_types_are_those_of_the_package():
    gguf = pytest.importorskip("gguf")
    for name, (code, count, size) in TYPES.items():
        kind = gguf.GGMLQuantizationType[name]
        assert (kind.value, gguf.GGML_QUANT_SIZES[kind]) == (code, (count, size))


def test_the_writer_of_the_package(tmp_path):
    """The file is the same, byte for byte."""
    gguf = pytest.importorskip("gguf")
    writer = gguf.GGUFWriter(tmp_path / "theirs.gguf", "llama")
    writer.add_uint32("a.number", 7)
    writer.add_array("a.texts", ["x", "yz"])
    writer.add_float32("a.float", 0.5)
    x, blocks = np.arange(6, dtype=np.float32).reshape(2, 3), np.arange(34, dtype=np.uint8).reshape(2, 17)
    writer.add_tensor("x", x)
    writer.add_tensor("w", blocks, raw_dtype=gguf.GGMLQuantizationType.MXFP4)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    contents = read(tmp_path / "theirs.gguf")
    assert contents.tensors["w"].dtype == "MXFP4" and contents.tensors["w"].shape == (2, 32)
    ours = file_of(
        tmp_path / "ours.gguf",
        {name: (one.dtype, one.shape, one.data) for name, one in contents.tensors.items()},
        {key: json.loads(text) for key, text in contents.metadata.items()},
    )
    assert ours.read_bytes() == (tmp_path / "theirs.gguf").read_bytes()


def raw(tensors: int = 0, pairs: int = 0, rest: bytes = b"", version: int = 3) -> bytes:
    return b"GGUF" + struct.pack("<IQQ", version, tensors, pairs) + rest


def info(name: bytes = b"w", shape=(32,), code: int = 0, offset: int = 0) -> bytes:
    return struct.pack("<Q", len(name)) + name + struct.pack(f"<I{len(shape)}QIQ", len(shape), *shape, code, offset)


KEY = struct.pack("<Q", 1) + b"k"
DAMAGED = {
    "it is empty": b"",
    "does not begin with GGUF": b"GGML" + bytes(20),
    "its version 1 must be one of 2, 3": raw(version=1),
    "in the middle of its header": raw(pairs=1 << 60),
    "value of the unknown type 77": raw(pairs=1, rest=KEY + struct.pack("<I", 77)),
    "an array of arrays": raw(pairs=1, rest=KEY + struct.pack("<IIQ", 9, 9, 1)),
    "it ends at byte 49,": raw(pairs=1, rest=KEY + struct.pack("<IIQ", 9, 0, 1 << 62)),
    "neither 0 nor 1": raw(pairs=1, rest=KEY + struct.pack("<IB", 7, 2)),
    "has the key 'k' twice": raw(pairs=2, rest=2 * (KEY + struct.pack("<IB", 7, 1))),
    "tensor 'w' twice": raw(2, rest=info() + info(offset=128) + bytes(300)),
    "has 5 axes, and 4 are the most": raw(1, rest=info(shape=(1, 1, 1, 1, 1))),
    "is of the type 99, which is not known": raw(1, rest=info(code=99)),
    "no rows of whole blocks of MXFP4, 32 each": raw(1, rest=info(shape=(33, 2), code=39) + bytes(400)),
    "are not where a tensor can be": raw(1, rest=info(offset=4) + bytes(400)),
    "data of tensor 'w' are not where": raw(1, rest=info(shape=(1 << 62, 1 << 62))),
    "data of tensor 'v' are not where": raw(2, rest=info() + info(b"v", offset=96) + bytes(400)),
    "tensor 'u' are not where a tensor": raw(2, rest=info() + info(b"u", offset=160) + bytes(400)),
}


@pytest.mark.parametrize("said", DAMAGED)
def test_what_is_damaged(said, tmp_path, fails):
    path = tmp_path / "x.gguf"
    path.write_bytes(DAMAGED[said])
    sentence = fails(2, "dequantize", path, tmp_path / "y.safetensors")
    assert said in sentence and f"{path} is no .gguf file of numbers, or a damaged one" in sentence
    assert not (tmp_path / "y.safetensors").exists()


def test_no_mutant_is_a_traceback(tmp_path):
    generator, taken = random.Random(5), 0
    original = file_of(tmp_path / "a.gguf").read_bytes()
    for _ in range(300):
        (tmp_path / "x.gguf").write_bytes(mutated(original, generator))
        try:
            contents = read(tmp_path / "x.gguf")
        except ValueError as error:
            assert "x.gguf" in str(error)
        else:
            taken += all(math.prod(one.shape) == one.data.size for one in contents.tensors.values())
    assert 3 < taken < 297


BYTES = np.zeros(17, np.uint8)


@pytest.mark.parametrize(
    "tensor, pairs, said",
    [
        (("U8", (17,), BYTES), {}, "tensor 'w' is U8, which a .gguf file cannot hold"),
        (("I8", (1, 1, 1, 1, 17), BYTES), {}, "has 5 axes and a name of 1 bytes, and a .gguf file has 4 and 63"),
        (("MXFP4", (33,), BYTES), {}, "no rows of whole blocks of MXFP4"),
        (("MXFP4", (64,), BYTES), {}, "has other than 17 bytes as MXFP4"),
        (("I8", (17,), BYTES), {"gguf.k": ["UINT8", 256]}, "must be a type and a value of ggml, not "),
        (("I8", (17,), BYTES), {"gguf.k": ["FLOAT32", "00"]}, "must be a type and a value of ggml, not "),
        (("I8", (17,), BYTES), {"gguf.k": 7}, "must be a type and a value of ggml, not '7'"),
        (("I8", (17,), BYTES), {"gguf.general.alignment": ["UINT32", 3]}, "must be a power of two, not 3"),
        (("I8", (17,), BYTES), {"ggml_types": ["w"]}, "must be types of ggml by name"),
    ],
)
def test_what_no_file_can_hold(tensor, pairs, said, tmp_path):
    with pytest.raises(ValueError, match=said):
        file_of(tmp_path / "x.gguf", {"w": tensor}, pairs)
    assert not list(tmp_path.iterdir())


def test_a_long_name_is_not_repeated(tmp_path):
    for tensor in (("MXFP4", (1, 1, 1, 1, 32), BYTES), ("U8", (17,), BYTES)):
        with pytest.raises(ValueError) as error:
            file_of(tmp_path / "x.gguf", {"w" * 10**6: tensor})
        assert len(str(error.value)) < 200


def test_tensor_scales_that_do_not_fit(tmp_path, fails):
    """`inspect` and `dequantize` refuse them with the same sentence."""
    blocks = "NVFP4", (2, 64), np.zeros(72, np.uint8)
    for dtype, scale, said in (
        ("F32", np.ones(3, np.float32), "has 3 tensor scales"),
        ("F16", np.ones(1, np.float16), "is F16, and the layout ggml:nvfp4 has F32 there"),
    ):
        path = file_of(tmp_path / "x.gguf", {"u.weight": blocks, "u.scale": (dtype, scale.shape, scale)}, {})
        sentence = fails(2, "inspect", path)
        assert said in sentence and str(path) in sentence
        assert sentence == fails(2, "dequantize", path, tmp_path / "y.safetensors")


def test_another_layout_is_refused(tmp_path, fails):
    x = np.ones((2, 64), np.float32)
    save_file(pack(quantize(x, "e2m1"), "gpt_oss", name="w"), tmp_path / "x.safetensors")
    arguments = "convert", tmp_path / "x.safetensors", tmp_path / "y.gguf", "--from", "gpt_oss", "--layout", "quark"
    assert "a .gguf file has the layout ggml, not quark" in fails(2, *arguments)
    convert_file(tmp_path / "x.safetensors", tmp_path / "z.gguf", ConvertOptions(layout="ggml", stored_as="gpt_oss"))
    again = "convert", tmp_path / "z.gguf", tmp_path / "y.safetensors", "--layout", "quark"
    assert "a .gguf file has the layout ggml, not mlx" in fails(2, *again, "--from", "mlx")
    assert "has no quantized tensors" in fails(2, *again, "--format", "nvfp4")


BLOCKS = "NVFP4", (2, 64), np.tile(np.array([0x38] * 4 + [0x77] * 32, np.uint8), 2)
"""Elements of 6 under block scales of 1."""
HALF, TWO = np.array([0.5], np.float32), np.array([2], np.float32)


@pytest.mark.parametrize(
    "name, arrays, largest",
    [
        ("u.weight", {"u.scale": HALF}, 3),
        ("u.weight", {"u.weight.scale": HALF}, 3),
        ("u.weight", {"u.weight.scale": HALF.reshape(())}, 3),
        ("u", {"u.scale": TWO}, 12),
        ("u.weight", {"u.weight.scale": HALF, "u.input_scale": TWO, "v.scale": TWO}, 3),
        ("u.weight", {"u.input_scale": TWO, "u.k_scale": TWO, "u.output_scale": TWO}, 6),
    ],
)
def test_the_names_of_a_tensor_scale(name, arrays, largest, tmp_path, passes, capsys):
    """Every command uses the one array that fits, under either name."""
    others = {array: ("F32", one.shape, one) for array, one in arrays.items()}
    path = file_of(tmp_path / "x.gguf", {name: BLOCKS} | others, {})
    passes("dequantize", path, tmp_path / "y.safetensors")
    found = load_file(tmp_path / "y.safetensors")
    assert np.unique(np.abs(found[name])).tolist() == [largest]
    (tensor,) = json.loads(passes("inspect", path, "--json"))["tensors"]
    assert tensor["counts"]["amax"] == largest
    for target, from_ in (("z.safetensors", ["--from", "modelopt", "--format", "nvfp4"]), ("z.gguf", [])):
        layout = "modelopt" if from_ else "ggml"
        passes("convert", path, tmp_path / target, "--layout", layout)
        passes("dequantize", tmp_path / target, tmp_path / "again.safetensors", *from_)
        again = load_file(tmp_path / "again.safetensors")
        assert np.array_equal(again[name], found[name]) and again.keys() == found.keys()


def test_the_one_tensor_scale_that_fits(tmp_path, passes, fails):
    """The other array is copied, and a target that needs its name is refused."""
    arrays = {"u.weight.scale": ("F32", (1,), HALF), "u.scale": ("F32", (3,), np.ones(3, np.float32))}
    path = file_of(tmp_path / "x.gguf", {"u.weight": BLOCKS} | arrays, {})
    passes("dequantize", path, tmp_path / "y.safetensors")
    found = load_file(tmp_path / "y.safetensors")
    assert (np.abs(found["u.weight"]).max(), found["u.scale"].tolist()) == (3, [1, 1, 1])
    sentence = fails(2, "convert", path, tmp_path / "z.gguf", "--layout", "ggml")
    assert "has another tensor of the name 'u.scale', which 'u.weight' becomes" in sentence


@pytest.mark.parametrize(
    "kind, arrays, said",
    [
        (BLOCKS, {"u.scale": HALF, "u.weight.scale": HALF}, "may be 'u.scale' or 'u.weight.scale': a file must have"),
        (BLOCKS, {"u.scale": TWO, "u.weight.scale": HALF}, "may be 'u.scale' or 'u.weight.scale': a file must have"),
        (BLOCKS, {"u.weight.scale": np.ones(3, np.float32)}, "'u.weight.scale' has 3 tensor scales"),
        (BLOCKS, {"u.weight.scale": np.ones(1, np.float16)}, "'u.weight.scale' of .* is F16, and the layout"),
        (
            BLOCKS,
            {"u.weight_scale": HALF},
            "'u.weight_scale' may be its tensor scale, .* 'u.scale' or 'u.weight.scale'",
        ),
        (BLOCKS, {"u.weight.Scale": HALF}, "'u.weight.Scale' may be its tensor scale"),
        (BLOCKS, {"u.weight.amax": HALF}, "'u.weight.amax' may be its tensor scale"),
        (BLOCKS, {"u.scale_2": HALF}, "'u.scale_2' may be its tensor scale, .* 'u.scale' or 'u.weight.scale'"),
        (("MXFP4", (2, 32), np.zeros(34, np.uint8)), {"u.scale": HALF}, "'u.scale' is a tensor scale, and the layout"),
    ],
)
def test_a_tensor_scale_that_is_not_certain(kind, arrays, said, tmp_path, fails):
    """Every command refuses the file and names both arrays."""
    dtypes = {np.dtype(np.float32): "F32", np.dtype(np.float16): "F16"}
    others = {array: (dtypes[one.dtype], one.shape, one) for array, one in arrays.items()}
    path = file_of(tmp_path / "x.gguf", {"u.weight": kind} | others, {})
    target = tmp_path / "y.safetensors"
    commands = ["inspect", path], ["dequantize", path, target], ["convert", path, target, "--layout", "modelopt"]
    for command in commands:
        sentence = fails(2, *command)
        assert re.search(said, sentence) and "'u.weight'" in sentence and str(path) in sentence
    assert not target.exists()


@pytest.mark.parametrize("more", [b"\0", b"x" * 31, bytes(64), b"GGUF" * 100])
@pytest.mark.parametrize("tensors", [W, {}, {"v": ("F32", (8,), np.ones(8, np.float32))}])
def test_bytes_after_the_end(more, tensors, tmp_path):
    """A writer may or may not pad the last tensor to the alignment."""
    path = file_of(tmp_path / "a.gguf", tensors, {})
    whole = path.read_bytes()
    path.write_bytes(whole + more)
    with pytest.raises(ValueError, match=rf"it ends at byte {len(whole)}, and {len(more)} bytes follow"):
        read(path)
    path.write_bytes(whole[:-4] if tensors is W else whole)
    assert read(path).tensors.keys() == tensors.keys()
