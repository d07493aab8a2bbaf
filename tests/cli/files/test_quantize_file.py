"""Tensor files through the golden model: names, shapes, types and metadata, and back."""

import json

import numpy as np
import pytest
from safetensors import safe_open
from safetensors.numpy import load_file, save_file

from mxcast.models import dequantize, error_statistics, quantize
from mxcast.spec import BLOCKS, numerics
from mxcast.tensors.convert import tiles
from mxcast.tensors.convert.files import dequantize_file, quantize_file, read_blocks


def same(a, b):
    """Equal bits, NaN included."""
    assert a.dtype == b.dtype and a.shape == b.shape
    assert np.array_equal(a.view(np.uint8), b.view(np.uint8)) if a.size else True


def metadata(path):
    with safe_open(path, "np") as file:
        return file.metadata()


@pytest.mark.parametrize("format", list(BLOCKS))
@pytest.mark.parametrize("end", [".safetensors", ".npz"])
def test_npy_round_trip(saved, tmp_path, numbers, format, end):
    quantize_file(saved(numbers, "w.npy"), tmp_path / f"q{end}", format, "nvidia")
    q = quantize(numbers, format, "nvidia")
    if end == ".npz":
        with np.load(tmp_path / "q.npz", allow_pickle=False) as archive:
            got = {"w": archive["codes"], "w.scales": archive["scales"]}
            about = json.loads(str(archive["mxcast"]))
            assert archive["mxcast"].shape == ()
    else:
        got, about = load_file(tmp_path / "q.safetensors"), json.loads(metadata(tmp_path / "q.safetensors")["mxcast"])
    assert got.keys() == {"w", "w.scales"}
    same(got["w"], q.codes)
    same(got["w.scales"], q.scales)
    assert about["numerics"] == q.numerics.to_dict() and about["profile"] == "nvidia"
    for back in ("y.npy", "y.safetensors"):
        dequantize_file(tmp_path / f"q{end}", tmp_path / back)
    same(np.load(tmp_path / "y.npy"), dequantize(q))
    assert load_file(tmp_path / "y.safetensors").keys() == {"w"}
    same(load_file(tmp_path / "y.safetensors")["w"], dequantize(q))
    assert not metadata(tmp_path / "y.safetensors")


def test_dtypes_names_and_remarks(raw_safetensors, tmp_path, numbers):
    upper = (numbers.view(np.uint32) >> 16).astype(np.uint16)
    with np.errstate(over="ignore"):
        half = numbers.astype(np.float16)
    source = raw_safetensors(
        {
            "flags": ("BOOL", (3,), b"\1\0\1"),  # first, so that all floats below are unaligned
            "f32": ("F32", (6, 64), numbers.tobytes()),
            "layer.0/bf16 ü": ("BF16", (6, 64), upper.tobytes()),
            "f16": ("F16", (3, 2, 64), half.tobytes()),
            "ids": ("I64", (2,), np.array([-1, 5]).tobytes()),
            "logit_scale": ("F32", (), np.float32(3.25).tobytes()),
            "double_scale": ("F64", (), np.float64(0.1).tobytes()),
            "empty": ("F32", (0, 64), b""),
        },
        {"format": "pt", "licence": "of the input"},
    )
    report = quantize_file(source, tmp_path / "q.safetensors", "e2m3")
    got = load_file(tmp_path / "q.safetensors")
    widened = {
        "f32": numbers,
        "layer.0/bf16 ü": (upper.astype(np.uint32) << 16).view(np.float32),
        "f16": half.astype(np.float32).reshape(3, 2, 64),
    }
    for name, x in widened.items():
        q = quantize(x, "e2m3")
        same(got[name], q.codes)
        same(got[f"{name}.scales"], q.scales)
    copied = {"flags", "ids", "logit_scale", "double_scale"}
    assert set(report.copied) == copied
    assert got.keys() == copied | {"empty", "empty.scales"} | widened.keys() | {f"{name}.scales" for name in widened}
    assert got["empty"].shape == (0, 64) and got["empty.scales"].shape == (0, 2)
    assert got["ids"].tolist() == [-1, 5] and got["logit_scale"] == np.float32(3.25) and got["double_scale"] == 0.1
    remarks = metadata(tmp_path / "q.safetensors")
    assert remarks["format"] == "pt" and remarks["licence"] == "of the input"
    assert json.loads(remarks["mxcast"])["tensors"]["f16"] == {"dtype": "F16", "shape": [3, 2, 64]}
    dequantize_file(tmp_path / "q.safetensors", tmp_path / "y.safetensors")
    back = load_file(tmp_path / "y.safetensors")
    assert back.keys() == copied | {"empty"} | widened.keys()
    for name, x in widened.items():
        same(back[name], dequantize(quantize(x, "e2m3")))
    assert back["empty"].shape == (0, 64) and back["empty"].dtype == np.float32
    assert metadata(tmp_path / "y.safetensors") == {"format": "pt", "licence": "of the input"}


@pytest.mark.parametrize("chunk", [32, 100, 96, 1 << 18])  # a block; no multiple of one; above a row; the usual one
@pytest.mark.parametrize("shape", [(1,), (31,), (33,), (300,), (5, 64), (7, 40), (2, 3, 100), (4, 1), (0, 5), (3, 0)])
def test_padding_and_chunks(saved, tmp_path, monkeypatch, chunk, shape):
    monkeypatch.setattr(tiles, "CHUNK", chunk)
    x = np.random.default_rng(1).standard_normal(shape).astype(np.float32)
    if x.size > 30:
        x.reshape(-1)[-1] = np.nan  # in an incomplete block: the padding must not count as NaN
    report = quantize_file(saved(x), tmp_path / "q.safetensors", "e4m3", pad=True)
    q = quantize(x, "e4m3", pad=True)
    got = load_file(tmp_path / "q.safetensors")
    same(got["x"], q.codes)
    same(got["x.scales"], q.scales)
    dequantize_file(tmp_path / "q.safetensors", tmp_path / "y.npy")
    same(np.load(tmp_path / "y.npy"), dequantize(q))
    want, total = error_statistics(x, q), report.total
    for name in ("elements", "blocks", "saturated", "flushed", "nan", "amax_max", "amax_min"):
        assert getattr(total, name) == getattr(want, name), name
    assert total.signal == pytest.approx(want.signal) and total.noise == pytest.approx(want.noise)
    blocks = [part for name, part in read_blocks(tmp_path / "x.npy", 32, pad=True) if name == "x"]
    same(
        np.concatenate([np.empty((0, 32), np.float32), *blocks]).reshape(q.codes.shape),
        np.pad(x, [(0, 0)] * (x.ndim - 1) + [(0, -x.shape[-1] % 32)]),
    )


@pytest.mark.parametrize("change", [np.asfortranarray, lambda x: x.astype(">f4")], ids=["fortran", "big_endian"])
def test_other_layouts_of_npy(saved, tmp_path, numbers, change):
    quantize_file(saved(change(numbers)), tmp_path / "q.npz", "int8")
    with np.load(tmp_path / "q.npz") as archive:
        same(archive["codes"], quantize(numbers, "int8").codes)


def test_numerics_overrides_and_progress(saved, tmp_path, numbers):
    source, calls = saved(numbers), []
    report = quantize_file(
        source, tmp_path / "a.npz", "e4m3", scale_rule="ceil", progress=lambda *call: calls.append(call)
    )
    quantize_file(source, tmp_path / "b.npz", numerics("e4m3", scale_rule="ceil"))
    with np.load(tmp_path / "a.npz") as a, np.load(tmp_path / "b.npz") as b:
        same(a["codes"], b["codes"])
        same(a["codes"], quantize(numbers, "e4m3", scale_rule="ceil").codes)
    assert report.numerics.scale_rule == "ceil" and calls[-1] == (numbers.size, numbers.size)


@pytest.mark.parametrize("order", "<>")
def test_what_a_npz_has_besides_is_copied(saved, tmp_path, numbers, order):
    """A .npy file in any byte order is written in the byte order of the result."""
    quantize_file(saved(numbers), tmp_path / "q.npz", "int12")
    kinds = [*(f"{kind}{size}" for kind in "iu" for size in (1, 2, 4, 8)), "f2", "f4", "f8"]
    more = {kind: np.arange(5, dtype=order + kind) for kind in kinds}
    more |= {"bool": np.array([[True, False]]), "scalar": np.int64(-5)}
    with np.load(tmp_path / "q.npz") as archive:
        quantized = {
            name: array.astype(array.dtype.newbyteorder(order)) if array.dtype == np.uint16 else array
            for name, array in archive.items()
        }
    np.savez(tmp_path / "more.npz", **quantized, **more)
    assert set(dequantize_file(tmp_path / "more.npz", tmp_path / "y.safetensors").copied) == set(more)
    got = load_file(tmp_path / "y.safetensors")
    same(got.pop("x"), dequantize(quantize(numbers, "int12")))
    assert got.keys() == more.keys()
    for name, array in more.items():
        assert (
            got[name].dtype == array.dtype.newbyteorder("=")
            and got[name].shape == array.shape
            and np.array_equal(got[name], array)
        )


def test_same_input_same_bytes(saved, tmp_path, numbers):
    for end in (".safetensors", ".npz"):
        for name in ("a", "b"):
            quantize_file(saved(numbers), tmp_path / f"{name}{end}", "e3m2")
        assert (tmp_path / f"a{end}").read_bytes() == (tmp_path / f"b{end}").read_bytes()


def test_a_link_is_followed(saved, tmp_path, numbers):
    (tmp_path / "link.npz").symlink_to(tmp_path / "real.npz")
    quantize_file(saved(numbers), tmp_path / "link.npz", "e3m2")
    assert (tmp_path / "link.npz").is_symlink() and (tmp_path / "real.npz").is_file()


def test_verify_reads_what_quantize_converts(tmp_path, numbers):
    save_file({"a": numbers, "ids": np.arange(3), "b": np.ones((2, 32), np.float16)}, tmp_path / "in.safetensors")
    got = {}
    for name, blocks in read_blocks(tmp_path / "in.safetensors"):
        got[name] = got.get(name, 0) + len(blocks)
        assert blocks.dtype == np.float32 and blocks.shape[1] == 32
    assert got == {"a": 12, "b": 2}


def test_a_name_that_safetensors_keeps_for_itself(saved, tmp_path, numbers):
    saved(numbers, "__metadata__.npy")
    with pytest.raises(ValueError, match="'__metadata__' has a name that a .safetensors file keeps for its metadata"):
        quantize_file(tmp_path / "__metadata__.npy", tmp_path / "q.safetensors", "e4m3")
    quantize_file(tmp_path / "__metadata__.npy", tmp_path / "q.npz", "e4m3")
    with pytest.raises(ValueError, match="keeps for its metadata"):
        dequantize_file(tmp_path / "q.npz", tmp_path / "y.safetensors")
    assert not list(tmp_path.glob("*.safetensors"))


@pytest.mark.parametrize("fortran", [False, True])
def test_elements_that_are_arrays_are_refused(fortran, tmp_path):
    """NumPy would give them another axis."""
    header = f"{{'descr':('<f4',(2,)),'fortran_order':{fortran},'shape':(32,),}}".encode()
    content = b"\x93NUMPY\1\0" + len(header).to_bytes(2, "little") + header + np.ones(64, "f4").tobytes()
    (tmp_path / "a.npy").write_bytes(content)
    with pytest.raises(ValueError, match="each of its elements is an array"):
        quantize_file(tmp_path / "a.npy", tmp_path / "q.safetensors", "e4m3")


@pytest.mark.parametrize(
    "shape, sentence",
    [
        ((0, 2**64 - 1), "is larger than any memory"),
        ((2**63 - 1, 0), "is larger than any memory"),
        ((*[1] * 80, 64), "has 81 axes, and 64 are the most"),
    ],
)
def test_shapes_that_nobody_could_read_again(shape, sentence, raw_safetensors, tmp_path):
    source = raw_safetensors({"a": ("F32", shape, bytes(0 if 0 in shape else 256))})
    with pytest.raises(ValueError, match=sentence):
        quantize_file(source, tmp_path / "q.safetensors", "e4m3", pad=True)


def test_patterns_of_names(tmp_path, numbers, passes, fails):
    """Tensors that patterns leave out are copied, whatever their type."""
    names = ("a.weight", "a.LayerNorm.weight", "a.bias")
    source = tmp_path / "m.safetensors"
    save_file(dict.fromkeys(names, numbers) | {"b": np.ones(3, np.float64)}, source)
    target, options = tmp_path / "q.safetensors", ("--format", "e4m3", "--json")
    chosen = ("--include", "*.weight", "--exclude", "*LayerNorm*")
    report = json.loads(passes("quantize", source, target, *options, *chosen))
    assert [tensor["name"] for tensor in report["tensors"]] == ["a.weight"]
    assert set(report["copied"]) == {"a.LayerNorm.weight", "a.bias", "b"}
    found = load_file(target)
    same(found["a.bias"], numbers)
    same(found["a.weight"], quantize(numbers, "e4m3").codes)
    dequantize_file(target, tmp_path / "y.safetensors")
    assert load_file(tmp_path / "y.safetensors").keys() == {*names, "b"}
    for given, sentence in (
        (("--include", "a*", "--exclude", "c*"), "no tensor has a name that matches 'c*'"),
        (("--exclude", "*"), f"the patterns of names leave no tensor of {source} to convert"),
        (("--include", "b"), "tensor 'b' is F64: mxcast converts F32, F16 and BF16"),
    ):
        assert fails(2, "quantize", source, tmp_path / "z.safetensors", "--format", "e4m3", *given) == sentence
    assert not (tmp_path / "z.safetensors").exists()
