"""A model in a folder is converted by a command that is killed, and by the same command again: shard by shard, and
within a shard tensor by tensor.
"""

import json
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

from mxcast.host import unfinished
from mxcast.host.files import UNFINISHED
from mxcast.host.unfinished import Journal
from mxcast.spec import encoding
from mxcast.tensors import shard_jobs
from mxcast.tensors.checkpoints import convert_checkpoint, quantize_checkpoint
from mxcast.tensors.containers import read
from mxcast.tensors.files import quantize_file
from mxcast.tensors.repacking import quantize_layout

INDEX = "model.safetensors.index.json"


class Killed(BaseException):
    pass


def here(jobs):
    """Jobs in this process, one after the other."""
    for job in jobs:
        yield job, shard_jobs._report(shard_jobs.answered(json.dumps(job.to_dict())))


def numbers(seed, shape):
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


def save_model(folder: Path, write) -> Path:
    """A folder with two shards, the first of which is named as a file that a job makes on its way."""
    folder.mkdir()
    shards = {
        "codes.safetensors": {f"l.{n}.up.weight": numbers(n, (8, 64)) for n in range(3)} | {"ids": np.arange(5)},
        "model.safetensors": {"experts": numbers(7, (2, 64, 32)), "norm.weight": numbers(8, (64,))},
    }
    placed = {}
    for shard, tensors in shards.items():
        source = folder / "numbers.safetensors"
        save_file(tensors, source)
        write(source, folder / shard)
        source.unlink()
        placed |= dict.fromkeys(read(folder / shard).tensors, shard)
    (folder / INDEX).write_text(json.dumps({"weight_map": placed}))
    return folder


def of_numbers(path):
    return save_model(path, shutil.copy)


def of_codes(path):
    return save_model(path, lambda source, shard: quantize_file(source, shard, "e2m1"))


def of_mlx(path):
    return save_model(path, lambda source, shard: quantize_layout(source, shard, "e2m1", layout="mlx"))


def _quantize(numerics, **options):
    return of_numbers, lambda source, target: quantize_checkpoint(source, target, numerics, run=here, **options)


def _convert(made, layout, **options):
    return made, lambda source, target: convert_checkpoint(source, target, layout, run=here, **options)


STOCHASTIC = encoding("e2m1", rounding="sr", random_bits=8)
COMMANDS = {
    "quantize": _quantize(encoding("e4m3")),
    "quantize by random bits": _quantize(STOCHASTIC, seed=3),
    "quantize with scales of tensors": _quantize(encoding("nvfp4")),
    "quantize to a layout": _quantize(encoding("e2m1"), layout="gpt_oss"),
    "transpose and quantize": _quantize(encoding("e2m1"), layout="gpt_oss", is_transposed=True),
    "convert": _convert(of_codes, "compressed_tensors"),
    "convert from a layout": _convert(of_mlx, "quark", stored_as="mlx", format="e2m1"),
    "dequantize": _convert(of_codes, None),
    "dequantize from a layout": _convert(of_mlx, None, stored_as="mlx", format="e2m1"),
}


def content(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.fixture
def finishes(monkeypatch):
    """The files and parts that `Journal.finish` was called for; after ``most`` of them the command is killed."""
    monkeypatch.setattr(unfinished, "EVERY", 0.0)
    finish = Journal.finish

    class Calls(list):
        most = None

    calls = Calls()

    def counted(journal, parts, note=None):
        finish(journal, parts, note)
        calls.append((journal._data.name, *parts))
        if len(calls) == calls.most:
            raise Killed

    monkeypatch.setattr(Journal, "finish", counted)
    return calls


@pytest.mark.parametrize("name", COMMANDS)
def test_killed_after_each_tensor(name, tmp_path, finishes):
    """The bytes and the report are those of a command that was not killed, and no tensor is made twice."""
    made, command = COMMANDS[name]
    model = made(tmp_path / "model")
    whole = command(model, tmp_path / "once")
    expected, total = content(tmp_path / "once"), len(finishes)
    assert total >= 6
    for count in range(1, total + 1):
        target = tmp_path / f"killed-{count}"
        finishes.clear()
        finishes.most = count
        with pytest.raises(Killed):
            command(model, target)
        assert not (target / INDEX).exists()
        before = [*finishes]
        finishes.clear()
        finishes.most = None
        report = command(model, target)
        assert sorted(before + finishes) == sorted({*before, *finishes}), "a tensor was made twice"
        assert len(before + finishes) == total
        assert len(report.kept) + len(report.continued) >= 1
        assert content(target) == expected
        shards = json.dumps(report.to_dict()["shards"]).replace(str(target), str(tmp_path / "once"))
        assert json.loads(shards) == json.loads(json.dumps(whole.to_dict()["shards"]))


def test_killed_again_and_again(tmp_path, finishes):
    """One tensor each time."""
    made, command = COMMANDS["transpose and quantize"]
    model = made(tmp_path / "model")
    command(model, tmp_path / "once")
    total, times = len(finishes), 0
    finishes.most = 1
    while True:
        finishes.clear()
        try:
            command(model, tmp_path / "out")
            break
        except Killed:
            times += 1
    assert times == total
    assert content(tmp_path / "out") == content(tmp_path / "once")


def test_another_command_begins_anew(tmp_path, finishes):
    """Also where the model or the rules have changed; what the killed one left is removed."""
    model = of_numbers(tmp_path / "model")
    finishes.most = 2
    with pytest.raises(Killed):
        quantize_checkpoint(model, tmp_path / "out", encoding("e4m3"), run=here)
    left = {path.name for path in (tmp_path / "out" / UNFINISHED).iterdir()}
    finishes.clear()
    with pytest.raises(Killed):
        quantize_checkpoint(model, tmp_path / "out", encoding("e5m2"), run=here)
    assert not left & {path.name for path in (tmp_path / "out" / UNFINISHED).iterdir()}
    shard = model / "codes.safetensors"
    shard.write_bytes(shard.read_bytes()[:-1] + b"\0")
    finishes.clear()
    finishes.most = None
    report = quantize_checkpoint(model, tmp_path / "out", encoding("e5m2"), run=here)
    assert not report.kept and not report.continued
    quantize_checkpoint(model, tmp_path / "once", encoding("e5m2"), run=here)
    assert content(tmp_path / "out") == content(tmp_path / "once")


KILLED = """
import os, signal, sys
from mxcast.host import unfinished
from mxcast.cli import main
from mxcast.tensors import shard_jobs
from tests.tensors.test_going_on import here

finish, count = unfinished.Journal.finish, 0

def counted(journal, parts, note=None):
    global count
    finish(journal, parts, note)
    count += 1
    if count == 3:
        os.kill(os.getpid(), signal.SIGKILL)

unfinished.EVERY = 0.0
unfinished.Journal.finish = counted
shard_jobs.locally = lambda count: here
main()
"""


def test_kill_9(tmp_path, passes):
    """A process that has no time to clear up, and the command line."""
    model, out, once = of_numbers(tmp_path / "model"), tmp_path / "out", tmp_path / "once"
    options = ["-f", "e2m1", "--layout", "gpt_oss"]
    command = [sys.executable, "-c", KILLED, "quantize", str(model), str(out), *options]
    killed = subprocess.run(command, cwd=Path(__file__).parents[2], capture_output=True, text=True)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    assert {path.name for path in out.iterdir()} == {UNFINISHED}
    text = passes("quantize", model, out, *options)
    assert "an earlier command and this one" in text
    passes("quantize", model, once, *options)
    assert content(out) == content(once)
