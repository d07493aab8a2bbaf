"""Arrays that no layout names: `inspect` says which readings fit, and the options that it prints read them."""

import json
import re
import shlex

import ml_dtypes
import numpy as np
import pytest

from mxcast.cli import main
from mxcast.models import dequantize, pack, quantize, quantize_nvfp4
from mxcast.tensors.containers.containers import read
from mxcast.tensors.inspect.inspection import inspect_file
from mxcast.tensors.unrecognised.named_arrays import NamedArrays

from ..checkpoint.test_mixed import in_this_process  # noqa: F401
from ..layouts.test_scaled import products, random_codes, random_scales, same
from ..stored_files import filled, write_raw

X = np.random.default_rng(8).normal(size=(64, 128)).astype(np.float32)
MXFP8, MXFP4 = quantize(X, "e4m3"), quantize(X, "e2m1")
NVFP4 = quantize_nvfp4(X, "nvfp4", "nvfp4_modelopt", tensor_amax=2.0**-8 * 2688)
CODES = random_codes((200, 384))
FP8 = random_codes((64, 128))
BLOCK, ROW = random_scales((2, 3), "F8_E8M0"), random_scales((64, 1), "F32")


def packed(q):
    return pack(q, "compressed_tensors")["weight_packed"]


def bytes_of(array):
    return array.shape, array.reshape(-1).view(np.uint8)


def fnuz(codes, scales):
    with np.errstate(invalid="ignore"):
        return (codes.view(ml_dtypes.float8_e4m3fnuz).astype(np.float64) * scales.astype(np.float64)).astype(np.float32)


KINDS = {
    "U8 weight_scale_inv": (
        {"l.weight": ("F8_E4M3", *bytes_of(MXFP8.codes)), "l.weight_scale_inv": ("U8", *bytes_of(MXFP8.scales))},
        dequantize(MXFP8),
    ),
    "I8 scales": (
        {"l.weight": ("F8_E4M3", *bytes_of(MXFP8.codes)), "l.scale": ("I8", *bytes_of(MXFP8.scales))},
        dequantize(MXFP8),
    ),
    "U8 scales of blocks": (
        {"l.weight": ("F8_E5M2", *bytes_of(CODES)), "l.scale": ("U8", *bytes_of(BLOCK))},
        products(CODES, "F8_E5M2", BLOCK, (128, 128)),
    ),
    "another name": (
        {"l.weight": ("F8_E4M3", *bytes_of(FP8)), "l.scales": ("F32", *bytes_of(ROW))},
        products(FP8, "F8_E4M3", ROW, (1, 0)),
    ),
    "safetensors F4": (
        {"l.weight": ("F4", (64, 128), packed(MXFP4)), "l.weight_scale": ("F8_E8M0", *bytes_of(MXFP4.scales))},
        dequantize(MXFP4),
    ),
    "F4 as NVFP4": (
        {
            "l.weight": ("F4", (64, 128), packed(NVFP4)),
            "l.weight_scale": ("F8_E4M3", *bytes_of(NVFP4.scales)),
            "l.weight_global_scale": ("F32", (), np.float32(NVFP4.tensor_scale).reshape(1).view(np.uint8)),
        },
        dequantize(NVFP4),
    ),
    "FP4 in bytes": (
        {"l.codes": ("U8", *bytes_of(packed(MXFP4))), "l.scale": ("F8_E8M0", *bytes_of(MXFP4.scales))},
        dequantize(MXFP4),
    ),
    "FNUZ": ({"l.weight": ("F8_E4M3FNUZ", *bytes_of(FP8)), "l.weight_scale": ("F32", *bytes_of(ROW))}, fnuz(FP8, ROW)),
    "FP8 in bytes": (
        {"l.qweight": ("I8", *bytes_of(FP8)), "l.scale": ("F32", *bytes_of(ROW))},
        products(FP8, "F8_E4M3", ROW, (1, 0)),
    ),
}


def numbers_in(path, name):
    stored = read(path).tensors[name]
    assert stored.dtype == "F32"
    return stored.data.reshape(stored.shape)


@pytest.mark.parametrize("arrays, numbers", KINDS.values(), ids=KINDS)
def test_what_inspect_prints_reads_them(arrays, numbers, tmp_path, fails):
    """The right reading is suggested, and none is used without the options."""
    path = write_raw(tmp_path / "a.safetensors", arrays)
    (found,) = [one for one in inspect_file(path).suspicions if str(one.kind) == "unrecognised"]
    assert main(["inspect", str(path), "-q"]) == 1
    options = [shlex.split(one) for one in re.findall(r"\((--names [^()]*)\)", found.sentence)]
    assert options and "has no" in fails(2, "dequantize", path, tmp_path / "b.safetensors", "--from", "modelopt")
    right = 0
    for given in options:
        assert main(["inspect", str(path), "-q", *given]) in (0, 1)
        assert main(["dequantize", str(path), str(tmp_path / "b.safetensors"), "-q", *given]) == 0
        right += same(numbers_in(tmp_path / "b.safetensors", next(iter(arrays))), numbers)
    assert right == 1 or (right == 2 and "l.weight_global_scale" in arrays)  # a multiplier and a divisor have one name


@pytest.mark.parametrize("kind", ["U8 weight_scale_inv", "safetensors F4", "F4 as NVFP4"])
def test_they_are_converted(kind, tmp_path):
    arrays, numbers = KINDS[kind]
    path, names = write_raw(tmp_path / "a.safetensors", arrays), [name.replace("l.", "{}.") for name in arrays]
    given = ["--names", ",".join(f"{key}={name}" for key, name in zip(("codes", "scale", "tensor_scale"), names))]
    given += ["--read", "scale=e8m0"] if kind.startswith("U8") else []
    layout = "modelopt" if "NVFP4" in kind else "compressed_tensors"
    assert main(["convert", str(path), str(tmp_path / "b.safetensors"), "-q", "--layout", layout, *given]) == 0
    assert not inspect_file(tmp_path / "b.safetensors").suspicions
    assert main(["dequantize", str(tmp_path / "b.safetensors"), str(tmp_path / "c.safetensors"), "-q"]) == 0
    assert same(numbers_in(tmp_path / "c.safetensors", "l.weight"), numbers)


def test_bytes_need_to_be_said(tmp_path, fails):
    """Bytes are never guessed, even if only one reading fits."""
    for kind, sentence in (
        ("U8 weight_scale_inv", "may be element=e4m3,scale=e8m0,block=32: --read says which"),
        ("FP4 in bytes", "element=e2m1,scale=e8m0,block=32"),
    ):
        path = write_raw(tmp_path / "a.safetensors", KINDS[kind][0])
        codes, scale = KINDS[kind][0]
        names = f"codes={codes},scale={scale}"
        assert sentence in fails(2, "dequantize", path, tmp_path / "b.safetensors", "--names", names)
        assert "fit nothing" in fails(2, "inspect", path, "--names", names, "--read", "scale=number,element=e4m3")


def test_two_sizes_of_blocks(tmp_path, fails):
    codes, scales = random_codes((192, 192)), random_scales((2, 2), "F32")
    arrays = {"a.w": ("F8_E4M3", *bytes_of(codes)), "a.w_s_scale": ("F32", *bytes_of(scales))}
    path = write_raw(tmp_path / "a.safetensors", arrays)
    names = ["--names", "codes={}.w,scale={}.w_s_scale,name={}.weight"]
    assert "block=128x128 or element=e4m3,scale=number,block=96x96" in fails(2, "inspect", path, *names)
    for size in 96, 128:
        own = [*names, "--read", f"block={size}x{size}"]
        assert main(["dequantize", str(path), str(tmp_path / "b.safetensors"), "-q", *own]) == 0
        assert same(
            numbers_in(tmp_path / "b.safetensors", "a.weight"), products(codes, "F8_E4M3", scales, (size, size))
        )


def test_order_and_convention(tmp_path):
    """High nibbles first, and a tensor scale that divides."""
    q = quantize_nvfp4(X, "nvfp4", "nvfp4_compressed_tensors")
    codes = packed(q)
    arrays = {
        "l.q": ("U8", *bytes_of(codes >> 4 | codes << 4)),
        "l.s": ("F8_E4M3", *bytes_of(q.scales)),
        "l.g": ("F32", *bytes_of(np.float32(q.tensor_scale).reshape(1))),
    }
    path = write_raw(tmp_path / "a.safetensors", arrays)
    own = ["--names", "codes={}.q,scale={}.s,tensor_scale={}.g", "--read"]
    own += ["element=e2m1,order=high_first,tensor_scale=divisor"]
    assert main(["dequantize", str(path), str(tmp_path / "b.safetensors"), "-q", *own]) == 0
    assert same(numbers_in(tmp_path / "b.safetensors", "l.q"), dequantize(q))


def test_beside_a_layout(tmp_path, fails):
    """The rest of the file has the layout of --from, and unreadable arrays are still refused."""
    known = {name: ("U8", *bytes_of(array)) for name, array in pack(MXFP4, "gpt_oss", name="a.up").items()}
    arrays, numbers = KINDS["U8 weight_scale_inv"]
    path = write_raw(tmp_path / "a.safetensors", known | arrays)
    own = ["--names", "codes={}.weight,scale={}.weight_scale_inv", "--read", "scale=e8m0"]
    sentence = fails(2, "dequantize", path, tmp_path / "b.safetensors", *own)
    assert "a.up_blocks" in sentence and "--exclude" in sentence
    assert main(["dequantize", str(path), str(tmp_path / "b.safetensors"), "-q", *own, "--from", "gpt_oss"]) == 0
    assert same(numbers_in(tmp_path / "b.safetensors", "l.weight"), numbers)
    assert same(numbers_in(tmp_path / "b.safetensors", "a.up"), dequantize(MXFP4))
    found = inspect_file(path, names=own[1], reads=own[3])
    assert {tensor.name for tensor in found.tensors} == {"l.weight", "a.up"} and not found.suspicions


def test_a_model(tmp_path):
    """Codes and scales in two shards, next to tensors that the configuration describes."""
    arrays, numbers = KINDS["U8 weight_scale_inv"]
    known = {name: ("U8", *bytes_of(array)) for name, array in pack(MXFP4, "gpt_oss", name="a.up").items()}
    codes, scale = arrays
    shards = {"a.safetensors": {codes: arrays[codes]} | known, "b.safetensors": {scale: arrays[scale]}}
    for shard, content in shards.items():
        write_raw(tmp_path / "model" / shard, content)
    placed = {name: shard for shard, content in shards.items() for name in content}
    (tmp_path / "model" / "model.safetensors.index.json").write_text(json.dumps({"weight_map": placed}))
    (tmp_path / "model" / "config.json").write_text('{"quantization_config": {"quant_method": "mxfp4"}}')
    own = ["--names", "codes={}.weight,scale={}.weight_scale_inv", "--read", "scale=e8m0"]
    assert main(["inspect", str(tmp_path / "model"), "-q", *own]) == 0
    assert main(["dequantize", str(tmp_path / "model"), str(tmp_path / "out"), "-q", *own]) == 0
    assert same(numbers_in(tmp_path / "out" / "a.safetensors", "l.weight"), numbers)
    assert same(numbers_in(tmp_path / "out" / "a.safetensors", "a.up"), dequantize(MXFP4))
    assert not read(tmp_path / "out" / "b.safetensors").tensors


def test_onnx(tmp_path):
    """FLOAT8E4M3FNUZ, and FLOAT8E4M3FN with scales in FLOAT."""
    onnx = pytest.importorskip("onnx", reason="onnx is optional: pip install onnx")
    for kind, own, numbers in (
        ("FLOAT8E4M3FNUZ", [], fnuz(FP8, ROW)),
        ("FLOAT8E4M3FN", [], products(FP8, "F8_E4M3", ROW, (1, 0))),
    ):
        tensors = [
            onnx.TensorProto(
                name="w", dims=FP8.shape, data_type=getattr(onnx.TensorProto, kind), raw_data=FP8.tobytes()
            ),
            onnx.TensorProto(name="w_scale", dims=ROW.shape, data_type=onnx.TensorProto.FLOAT, raw_data=ROW.tobytes()),
        ]
        graph = onnx.helper.make_graph([], "g", [], [], tensors)
        path = tmp_path / "a.onnx"
        onnx.save(onnx.helper.make_model(graph), path)
        (found,) = inspect_file(path).suspicions
        assert str(found.kind) == "unrecognised" and "--names 'codes=w,scale=w_scale'" in found.sentence
        names = ["--names", "codes=w,scale=w_scale", *own]
        assert main(["dequantize", str(path), str(tmp_path / "b.safetensors"), "-q", *names]) == 0
        assert same(numbers_in(tmp_path / "b.safetensors", "w"), numbers)


def test_torch_writes_f4(tmp_path):
    """safetensors writes float4_e2m1fn_x2 with a shape that counts numbers."""
    torch = pytest.importorskip("torch", reason="torch is optional: pip install torch")
    save_file = pytest.importorskip("safetensors.torch").save_file
    codes = torch.from_numpy(packed(MXFP4).copy()).view(torch.float4_e2m1fn_x2)
    scales = torch.from_numpy(MXFP4.scales.copy()).view(torch.float8_e8m0fnu)
    path = tmp_path / "a.safetensors"
    save_file({"l.weight": codes, "l.weight_scale": scales}, path)
    assert read(path).tensors["l.weight"].shape == (64, 128)
    own = ["--names", "codes={}.weight,scale={}.weight_scale"]
    assert main(["dequantize", str(path), str(tmp_path / "b.safetensors"), "-q", *own]) == 0
    assert same(numbers_in(tmp_path / "b.safetensors", "l.weight"), dequantize(MXFP4))


@pytest.mark.parametrize(
    "names, reads, sentence",
    [
        ("codes={}.w", None, "--names needs scale=NAME"),
        ("codes={}.w,scale=s", None, "each name of --names has one {}, or none has"),
        ("codes={}{}.w,scale={}.s", None, "each name of --names has one {}"),
        ("codes={}.w,codes={}.v,scale={}.s", None, "--names takes codes=..."),
        ("codes={}.w,scales={}.s", None, "unknown part of --names 'scales': did you mean 'scale'?"),
        ("codes={}.w,scale={}.s", "scale=e5m3", "unknown scale 'e5m3'"),
        ("codes={}.w,scale={}.s", "element=int8", "unknown element 'int8'"),
        ("codes={}.w,scale={}.s", "block=32x", "a scale is for a tensor, row, column or rows and columns"),
        ("codes={}.w,scale={}.s", "order=sideways", "unknown order 'sideways'"),
        ("codes={}.w,scale={}.s", "e8m0", "--read takes scale=..."),
        ("codes={}.w,scale={}.s", "tensor_scale=inverse", "unknown tensor_scale 'inverse'"),
        (None, "scale=e8m0", "--read is for arrays that --names names"),
    ],
)
def test_options_that_are_refused(names, reads, sentence):
    with pytest.raises(ValueError) as error:
        NamedArrays.given(names, reads)
    assert str(error.value).startswith(sentence)


def test_arrays_that_are_not_there(tmp_path, fails):
    path = write_raw(tmp_path / "a.safetensors", {"l.weight": filled("F8_E4M3", 64, 128)})
    sentence = fails(2, "dequantize", path, tmp_path / "b.safetensors", "--names", "codes={}.weight,scale={}.s")
    assert sentence == f"{path}: found no arrays named '{{}}.weight' with scales named '{{}}.s'"
