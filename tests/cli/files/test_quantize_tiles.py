"""Tensor files tile by tile: by several threads, of wide codes, of 16-bit sources, and in little memory."""

import json
import subprocess
import sys

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from mxcast.models import dequantize, quantize
from mxcast.tensors.containers import containers
from mxcast.tensors.convert import tiles
from mxcast.tensors.convert.files import dequantize_file, quantize_file


@pytest.fixture
def model(tmp_path):
    """A file of tensors of several shapes, one of them copied."""
    random = np.random.default_rng(13)
    save_file(
        {
            "a": random.standard_normal((50, 64), dtype=np.float32),
            "b": random.standard_normal(96, dtype=np.float32),
            "ids": np.arange(1000),
            "c": random.standard_normal((3, 5, 32)).astype(np.float16),
        },
        tmp_path / "in.safetensors",
    )
    return tmp_path / "in.safetensors"


@pytest.mark.parametrize("jobs", [2, 3])
def test_jobs_do_not_show(model, tmp_path, monkeypatch, jobs):
    monkeypatch.setattr(tiles, "CHUNK", 128)
    calls = {1: [], jobs: []}
    reports = {
        n: quantize_file(
            model, tmp_path / f"q{n}.safetensors", "e3m2", jobs=n, progress=lambda *call, n=n: calls[n].append(call)
        )
        for n in calls
    }
    assert (tmp_path / "q1.safetensors").read_bytes() == (tmp_path / f"q{jobs}.safetensors").read_bytes()
    assert calls[1] == calls[jobs] and calls[1][-1] == (3776, 3776) and len(calls[1]) > 20
    assert reports[1].tensors == reports[jobs].tensors
    for n in calls:
        dequantize_file(tmp_path / f"q{n}.safetensors", tmp_path / f"y{n}.safetensors", jobs=n)
    assert (tmp_path / "y1.safetensors").read_bytes() == (tmp_path / f"y{jobs}.safetensors").read_bytes()


def test_jobs_on_the_command_line(model, tmp_path, passes, fails):
    passes("quantize", model, tmp_path / "q.safetensors", "-f", "int8", "-j", "2", "-q")
    passes("dequantize", tmp_path / "q.safetensors", tmp_path / "y.safetensors", "--jobs", "1", "-q")
    assert np.array_equal(
        load_file(tmp_path / "y.safetensors")["a"], dequantize(quantize(load_file(model)["a"], "int8"))
    )
    assert "jobs" in fails(2, "quantize", model, tmp_path / "q.safetensors", "-f", "int8", "-j", "0")
    with pytest.raises(ValueError, match="jobs must be 1 to 1024, not 0"):
        quantize_file(model, tmp_path / "q.safetensors", "int8", jobs=0)


@pytest.mark.parametrize("end", [".safetensors", ".npz"])
@pytest.mark.parametrize("format", ["e5m10", "int12"])
def test_codes_of_more_than_eight_bits(saved, tmp_path, numbers, format, end):
    quantize_file(saved(numbers), tmp_path / f"q{end}", format)
    q = quantize(numbers, format)
    got = load_file(tmp_path / "q.safetensors")["x"] if end == ".safetensors" else np.load(tmp_path / "q.npz")["codes"]
    assert got.dtype == np.uint16 and np.array_equal(got, q.codes)
    dequantize_file(tmp_path / f"q{end}", tmp_path / "y.npy")
    assert np.array_equal(np.load(tmp_path / "y.npy").view(np.uint32), dequantize(q).view(np.uint32))


def test_sixteen_bit_sources(raw_safetensors, tmp_path, numbers, fails):
    patterns = (numbers.view(np.uint32) >> 16).astype(np.uint16)
    source = raw_safetensors({"w": ("BF16", (6, 64), patterns.tobytes())})
    quantize_file(source, tmp_path / "q.safetensors", "e2m3", "samson")
    assert np.array_equal(load_file(tmp_path / "q.safetensors")["w"], quantize(patterns, "e2m3", "samson").codes)
    quantize_file(source, tmp_path / "named.safetensors", "e2m3", source="bf16")
    assert (tmp_path / "named.safetensors").read_bytes() == (tmp_path / "q.safetensors").read_bytes()
    wide = raw_safetensors(
        {"ok": ("BF16", (6, 64), patterns.tobytes()), "w": ("F32", (6, 64), numbers.tobytes())}, name="f.safetensors"
    )
    sentence = fails(2, "quantize", wide, tmp_path / "no.safetensors", "-f", "e2m3", "--profile", "samson")
    assert sentence == "tensor 'w' is F32, which the source bf16 does not take"
    assert not (tmp_path / "no.safetensors").exists()


@pytest.mark.sampled(2)
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
@pytest.mark.parametrize("verb", ["quantize", "dequantize", "copy"])
def test_memory_does_not_grow_with_the_file(tmp_path, verb):
    """A process that converts 128 MiB of float32 needs only a few tiles more memory than for 16 MiB. Pages of a map
    that are not released would add 128 MiB, or a quarter of it for the codes."""
    program = """if True:
        import sys
        from pathlib import Path
        from mxcast.tensors.convert.files import dequantize_file, quantize_file
        source, target = sys.argv[2:]
        if sys.argv[1] == "dequantize":
            dequantize_file(source, target, jobs=2)
        else:
            quantize_file(source, target, "e4m3", jobs=2)
        status = Path("/proc/self/status").read_text()
        print(next(line.split()[1] for line in status.splitlines() if line.startswith("VmHWM")))"""
    peaks, sizes = [], (16, 128)
    for mebibytes in sizes:
        arguments = tmp_path / "x.npy", tmp_path / "q.safetensors"
        if verb == "copy":
            arguments = tmp_path / "x.safetensors", tmp_path / "q.safetensors"
            save_file({"ids": np.zeros(mebibytes << 18, np.int32), "w": np.ones(32, np.float32)}, arguments[0])
        else:
            np.lib.format.open_memmap(arguments[0], "w+", np.float32, (mebibytes << 13, 32))
        if verb == "dequantize":
            quantize_file(*arguments, "e4m3")
            arguments = tmp_path / "q.safetensors", tmp_path / "y.npy"
        done = subprocess.run(
            [sys.executable, "-c", program, verb, *map(str, arguments)], capture_output=True, text=True, check=True
        )
        peaks.append(int(done.stdout) / 1024)
    assert peaks[1] - peaks[0] < (sizes[1] - sizes[0]) / 5, f"{peaks} MiB"


def test_pages_are_given_back_and_read_again(model):
    """Releasing part of a map loses no byte, wherever it starts."""
    contents, expected = containers.read(model), load_file(model)
    for name, stored in contents.tensors.items():
        assert stored.map is not None
        for start in (0, 1, stored.data.size - 1):
            stored.release(start, stored.data.size - start)
        assert stored.data.tobytes() == expected[name].tobytes()


def test_metadata_name_the_numerics_of_wide_codes(saved, tmp_path, numbers):
    quantize_file(saved(numbers), tmp_path / "q.npz", "int16", scale_rule="ceil")
    with np.load(tmp_path / "q.npz") as archive:
        about = json.loads(str(archive["mxcast"]))
    assert about["numerics"]["block"] == "mxint16" and about["numerics"]["scale_rule"] == "ceil"


def test_stochastic_rounding_is_repeated_by_its_seed(tmp_path):
    """The result does not depend on the number of threads, and is one of the two neighbours of each number."""
    x = np.random.default_rng(4).standard_normal((3, tiles.CHUNK // 2), dtype=np.float32)
    np.save(tmp_path / "x.npy", x)
    for name, seed, jobs in (("a", 5, 1), ("b", 5, 2), ("c", 6, 1)):
        quantize_file(tmp_path / "x.npy", tmp_path / f"{name}.safetensors", "e2m1", rounding="sr", seed=seed, jobs=jobs)
    a, b, c = ((tmp_path / f"{name}.safetensors").read_bytes() for name in "abc")
    assert a == b != c
    dequantize_file(tmp_path / "a.safetensors", tmp_path / "y.npy")
    y = np.load(tmp_path / "y.npy")
    down = dequantize(quantize(x, "e2m1", rounding="rtz"))
    assert (np.abs(y) >= np.abs(down)).all() and 0.1 < np.mean(y != down) < 0.9
