"""Files that cannot be converted: one sentence, exit code 2, nothing half-written."""

import numpy as np
import pytest
from safetensors.numpy import save_file

from mxcast.cli import main
from mxcast.tensors.convert import tiles
from mxcast.tensors.convert.files import quantize_file


@pytest.fixture
def refused(fails, tmp_path):
    """Quantizing fails, says these words, leaves no new file behind and an old OUT as it was."""

    def run(source, *words, target="out.safetensors", verb="quantize", options=("--format", "e4m3")):
        target = tmp_path / target
        new = not target.exists()
        if new and target.parent.is_dir():
            target.write_bytes(b"old")
        before = sorted(tmp_path.rglob("*"))
        sentence = fails(2, verb, source, target, *options)
        for word in words:
            assert word in sentence
        assert sorted(tmp_path.rglob("*")) == before
        assert not new or not target.is_file() or target.read_bytes() == b"old"
        return sentence

    return run


F32 = np.zeros((2, 64), np.float32)


def test_missing_input(refused, tmp_path):
    refused(tmp_path / "no.npy", "no.npy: No such file or directory")
    refused(tmp_path / "no.safetensors", "no.safetensors: No such file or directory")


@pytest.mark.parametrize(
    "dtype, named",
    [
        (np.float64, "tensor 'x' is F64: mxcast converts F32, F16 and BF16"),
        (np.int32, "not I32"),
        (np.uint8, "not U8"),
        (np.complex64, "not complex64"),
        (bool, "not BOOL"),
        ("U3", "not <U3"),
    ],
    ids=str,
)
def test_wrong_dtype_of_npy(refused, saved, dtype, named):
    assert refused(saved(np.zeros((2, 32), dtype)), "mxcast converts F32, F16 and BF16").endswith(named)


@pytest.mark.parametrize("dtype, width", [("F64", 8), ("F8_E4M3", 1), ("F8_E5M2", 1)])
def test_wrong_dtype_in_safetensors(refused, raw_safetensors, dtype, width):
    source = raw_safetensors({"good": ("F32", (32,), bytes(128)), "w": (dtype, (32,), bytes(32 * width))})
    refused(source, f"tensor 'w' is {dtype}: mxcast converts F32, F16 and BF16")


def test_nothing_to_convert(refused, saved, tmp_path):
    save_file({"ids": np.arange(3)}, tmp_path / "ids.safetensors")
    refused(tmp_path / "ids.safetensors", "nothing to convert", "I64")
    refused(saved(np.float32(1)), "nothing to convert", "F32 scalars")


@pytest.mark.parametrize("name", ["x.npy", "x.safetensors"])
@pytest.mark.parametrize("shape", [(2, 40), (31,)])
def test_tail(refused, tmp_path, name, shape):
    x = np.zeros(shape, np.float32)
    np.save(tmp_path / "x.npy", x)
    save_file({"x": x}, tmp_path / "x.safetensors")
    refused(tmp_path / name, "tensor 'x'", str(shape), "32", "--pad")


@pytest.mark.parametrize("name", ["x.npy", "x.safetensors"])
def test_damaged(refused, tmp_path, name):
    np.save(tmp_path / "x.npy", F32)
    save_file({"x": F32}, tmp_path / "x.safetensors")
    whole = (tmp_path / name).read_bytes()
    for size in (0, 3, 8, 60, len(whole) - 1):  # empty, in the length, in the header, in the data
        (tmp_path / name).write_bytes(whole[:size])
        refused(tmp_path / name, name, "damaged")
    (tmp_path / name).write_bytes(b"\xff" * 4096)
    refused(tmp_path / name, name, "damaged")


def test_pickles_are_not_opened(refused, tmp_path):
    np.save(tmp_path / "x.npy", np.array([{}, []], dtype=object))
    refused(tmp_path / "x.npy", "x.npy")


def test_scales_collide(refused, tmp_path):
    save_file({"w": F32, "w.scales": np.zeros(3, np.int32)}, tmp_path / "in.safetensors")
    refused(tmp_path / "in.safetensors", "'w.scales'", "'w'")


def test_kinds_of_files(refused, saved, tmp_path):
    source = saved(F32)
    refused(source, "a .safetensors, .npz, .gguf or .onnx file, not", target="out.bin")
    refused(tmp_path / "x.bin", "must be a .npy, .npz or .safetensors file")
    save_file({"w": F32}, tmp_path / "in.safetensors")
    refused(tmp_path / "in.safetensors", "is a .safetensors, .npz, .gguf or .onnx file, not", target="out.npy")


def test_same_file(refused, tmp_path):
    save_file({"w": F32}, tmp_path / "in.safetensors")
    (tmp_path / "link.safetensors").symlink_to(tmp_path / "in.safetensors")
    for name in ("in.safetensors", "link.safetensors"):
        refused(tmp_path / "in.safetensors", "same file", target=name)


def test_unwritable(refused, saved, tmp_path):
    source = saved(F32)
    refused(source, "out.npz: No such file or directory", target="no/out.npz")
    refused(source, "x.npy/out.npz: Not a directory", target="x.npy/out.npz")
    (tmp_path / "folder.npz").mkdir()
    refused(source, "folder.npz", "not a regular file", target="folder.npz")


def test_full_disk(refused, saved, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.posix_fallocate", full, raising=False)
    refused(saved(F32), "out.safetensors: No space left on device")


@pytest.mark.parametrize("end", [".safetensors", ".npz"])
@pytest.mark.parametrize("stop", [KeyboardInterrupt, RuntimeError])
def test_stopped_half_way(saved, tmp_path, monkeypatch, stop, end):
    monkeypatch.setattr(tiles, "CHUNK", 32)
    source, target = saved(F32), tmp_path / f"out{end}"
    target.write_bytes(b"old")

    def progress(done, total):
        if done > total // 2:
            raise stop

    with pytest.raises(stop):
        quantize_file(source, target, "e4m3", progress=progress)
    assert sorted(tmp_path.iterdir()) == [target, source] and target.read_bytes() == b"old"


def test_interrupt_is_130(saved, tmp_path, monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("mxcast.tensors.convert.files.quantize_with", interrupted)
    try:
        assert main(["quantize", str(saved(F32)), str(tmp_path / "out.npz"), "--format", "e4m3"]) == 130
    except KeyboardInterrupt:
        pytest.fail("the command let an interrupt through")


def test_dequantize_of_foreign_files(refused, tmp_path, passes):
    def refused_back(source, *words, target="back.safetensors"):
        refused(source, *words, target=target, verb="dequantize", options=())

    save_file({"w": F32}, tmp_path / "in.safetensors")
    np.savez(tmp_path / "in.npz", codes=F32)
    for name in ("in.safetensors", "in.npz"):
        refused_back(tmp_path / name, name, "not written by mxcast quantize")
    refused_back(tmp_path / "no.npz", "no.npz: No such file")
    (tmp_path / "bad.npz").write_bytes(b"PK\3\4 nothing else")
    refused_back(tmp_path / "bad.npz", "bad.npz", "damaged")
    save_file({"w": F32.astype(np.uint8)}, tmp_path / "lost.safetensors", {"mxcast": "{"})
    refused_back(tmp_path / "lost.safetensors", "damaged 'mxcast' metadata")
    save_file({"a": F32, "b": F32}, tmp_path / "two.safetensors")
    passes("quantize", tmp_path / "two.safetensors", tmp_path / "q.safetensors", "--format", "e2m1", "-q")
    refused_back(tmp_path / "q.safetensors", "holds one tensor", target="y.npy")
    refused(tmp_path / "q.safetensors", "quantized by mxcast already")


def test_dequantize_checks_codes_and_shapes(fails, passes, saved, tmp_path):
    passes("quantize", saved(F32), tmp_path / "q.npz", "--format", "e2m1", "-q")
    with np.load(tmp_path / "q.npz") as archive:
        good = dict(archive)
    for change, words in (
        ({"codes": good["codes"] + 16}, "codes of e2m1 must be 0 to 15"),
        ({"scales": good["scales"][:1]}, "'scales' of shape (2, 2)"),
        ({"codes": good["codes"].astype(np.int8)}, "'codes' of shape (2, 64)"),
    ):
        np.savez(tmp_path / "bad.npz", **(good | change))
        assert words in fails(2, "dequantize", tmp_path / "bad.npz", tmp_path / "y.npy")
        assert not (tmp_path / "y.npy").exists()


@pytest.mark.parametrize(
    "array, named",
    [
        (np.zeros(2, complex), "complex128"),
        (np.zeros(2, np.complex64), "complex64"),
        (np.array(["a", "bc"]), "<U2"),
        (np.zeros(2, "M8[s]"), "datetime64[s]"),
        (np.zeros(2, [("a", "<f4")]), "[('a', '<f4')]"),
    ],
    ids=str,
)
def test_what_safetensors_has_not_is_not_copied(refused, passes, saved, tmp_path, array, named):
    passes("quantize", saved(F32), tmp_path / "q.npz", "--format", "e2m1", "-q")
    with np.load(tmp_path / "q.npz") as archive:
        np.savez(tmp_path / "more.npz", **archive, extra=array)
    refused(
        tmp_path / "more.npz",
        f"tensor 'extra' of {tmp_path / 'more.npz'} is {named}, which a .safetensors file cannot hold",
        verb="dequantize",
        options=(),
    )


def test_a_file_name_that_is_not_utf_8(refused, passes, saved, tmp_path):
    """The name is the name of the tensor."""
    source = saved(F32).rename(tmp_path / "b\udcff.npy")
    sentence = (
        "tensor 'b\\udcff' has a name that is not UTF-8, as a .safetensors file needs: rename the file "
        "that it is named after"
    )
    assert refused(source) == sentence
    passes("quantize", source, tmp_path / "q.npz", "--format", "e2m1")
    assert refused(tmp_path / "q.npz", verb="dequantize", options=()) == sentence
    passes("dequantize", tmp_path / "q.npz", tmp_path / "y.npy")
    source.rename(tmp_path / "x.npy")
    passes("quantize", tmp_path / "x.npy", tmp_path / "q.npz", "--format", "e2m1", "-q")
    with np.load(tmp_path / "q.npz") as archive:
        np.savez(tmp_path / "more.npz", **archive, remark=np.array("b\udcff"))
    refused(
        tmp_path / "more.npz",
        "the metadata 'remark' are not UTF-8, as a .safetensors file needs",
        verb="dequantize",
        options=(),
    )


def test_links_that_lead_to_each_other_stay(fails, saved, tmp_path):
    for name, other in (("a.npz", "b.npz"), ("b.npz", "a.npz"), ("own.npz", "own.npz")):
        (tmp_path / name).symlink_to(tmp_path / other)
    for name in ("a.npz", "own.npz"):
        target = tmp_path / name
        assert (
            fails(2, "quantize", saved(F32), target, "--format", "e4m3")
            == f"{target}: Too many levels of symbolic links"
        )
        assert target.is_symlink()


def test_a_number_of_jobs(refused, saved):
    refused(
        saved(F32),
        "jobs must be 1 to 1024, not 999999999999999999999",
        options=("--format", "e4m3", "-j", "999999999999999999999"),
    )
