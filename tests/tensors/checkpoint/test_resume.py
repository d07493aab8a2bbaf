"""A model in a folder is converted by a command that is killed, and by the same command again: shard by shard, and
within a shard tensor by tensor.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

from mxcast.host import unfinished
from mxcast.host.files import UNFINISHED, Waiting
from mxcast.host.unfinished import Journal, write_note
from mxcast.spec import encoding
from mxcast.tensors.checkpoint import shard_jobs
from mxcast.tensors.checkpoint.checkpoints import convert_checkpoint, quantize_checkpoint
from mxcast.tensors.checkpoint.unfinished_model import UnfinishedModel
from mxcast.tensors.containers.containers import read
from mxcast.tensors.convert.files import quantize_file
from mxcast.tensors.convert.options import ConvertOptions, QuantizeOptions

INDEX = "model.safetensors.index.json"


class Killed(BaseException):
    pass


def here(jobs):
    """Run jobs in this process, one after the other."""
    for job in jobs:
        yield job, shard_jobs._report(shard_jobs.run_job(json.dumps(job.to_dict())))


def numbers(seed, shape):
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


def save_model(folder: Path, write, first: float = 1) -> Path:
    """A folder with two shards, the first of which is named as a file that a job makes on its way; ``first`` is the
    first number of each matrix.
    """
    folder.mkdir()
    shards = {
        "codes.safetensors": {f"l.{n}.up.weight": numbers(n, (8, 64)) for n in range(3)} | {"ids": np.arange(5)},
        "model.safetensors": {"experts": numbers(7, (2, 64, 32)), "norm.weight": numbers(8, (64,))},
    }
    placed = {}
    for shard, tensors in shards.items():
        source = folder / "numbers.safetensors"
        for tensor in tensors.values():
            if tensor.ndim > 1:
                tensor.flat[0] = first
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
    return save_model(path, lambda source, shard: quantize_file(source, shard, "e2m1", layout="mlx"))


def of_nan(path):
    """A model with a NaN block in each matrix."""
    return save_model(path, lambda source, shard: quantize_file(source, shard, "e2m1"), np.nan)


def of_nan_in_mlx(path):
    return save_model(path, lambda source, shard: quantize_file(source, shard, "e2m1", layout="mlx"), np.nan)


def rules(format, **options):
    return QuantizeOptions(numerics=encoding(format), **options)


def _quantize(numerics, **options):
    given = QuantizeOptions(numerics=numerics, **options)
    return of_numbers, lambda source, target: quantize_checkpoint(source, target, given, run=here)


def _convert(made, layout, **options):
    given = ConvertOptions(layout=layout, **options)
    return made, lambda source, target: convert_checkpoint(source, target, given, run=here)


STOCHASTIC = encoding("e2m1", rounding="sr", random_bits=8)
COMMANDS = {
    "quantize": _quantize(encoding("e4m3")),
    "quantize by random bits": _quantize(STOCHASTIC, seed=3),
    "quantize with scales of tensors": _quantize(encoding("nvfp4")),
    "quantize to a layout": _quantize(encoding("e2m1"), layout="gpt_oss"),
    "transpose and quantize": _quantize(encoding("e2m1"), layout="gpt_oss", is_transposed=True),
    "convert": _convert(of_codes, "compressed_tensors"),
    "convert from a layout": _convert(of_mlx, "quark", stored_as="mlx", format="e2m1"),
    "dequantize": _convert(of_nan, None),
    "dequantize from a layout": _convert(of_nan_in_mlx, None, stored_as="mlx", format="e2m1"),
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


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", COMMANDS)
def test_killed_after_each_tensor(name, tmp_path, finishes):
    """The bytes and the report equal the ones without a kill, and no tensor is converted twice."""
    made, command = COMMANDS[name]
    model = made(tmp_path / "model")
    whole = command(model, tmp_path / "once")
    if made in (of_nan, of_nan_in_mlx):
        counts = {name: count for shard in whole.shards.values() for name, count in shard["not_finite"].items()}
        assert {name: count["nan"] for name, count in counts.items()} == dict.fromkeys(counts, {"block_scale": 32})
        assert len(counts) == 4
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
        assert len(report.kept) + len(report.resumed) >= 1
        assert content(target) == expected
        shards = json.dumps(report.to_dict()["shards"]).replace(str(target), str(tmp_path / "once"))
        assert json.loads(shards) == json.loads(json.dumps(whole.to_dict()["shards"]))


def test_killed_again_and_again(tmp_path, finishes):
    """A kill after every tensor."""
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
    """A changed model or changed rules start over, and the files of the killed command are removed."""
    model = of_numbers(tmp_path / "model")
    finishes.most = 2
    with pytest.raises(Killed):
        quantize_checkpoint(model, tmp_path / "out", rules("e4m3"), run=here)
    left = {path.name for path in (tmp_path / "out" / UNFINISHED).iterdir()}
    finishes.clear()
    with pytest.raises(Killed):
        quantize_checkpoint(model, tmp_path / "out", rules("e5m2"), run=here)
    assert not left & {path.name for path in (tmp_path / "out" / UNFINISHED).iterdir()}
    shard = model / "codes.safetensors"
    shard.write_bytes(shard.read_bytes()[:-1] + b"\0")
    finishes.clear()
    finishes.most = None
    report = quantize_checkpoint(model, tmp_path / "out", rules("e5m2"), run=here)
    assert not report.kept and not report.resumed
    quantize_checkpoint(model, tmp_path / "once", rules("e5m2"), run=here)
    assert content(tmp_path / "out") == content(tmp_path / "once")


KILLED = """
import os, signal, sys
from mxcast.host import unfinished
from mxcast.cli import main
from mxcast.tensors.checkpoint import shard_jobs
from tests.tensors.checkpoint.test_resume import here

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
    """The command line resumes after a process without time to clean up."""
    model, out, once = of_numbers(tmp_path / "model"), tmp_path / "out", tmp_path / "once"
    options = ["-f", "e2m1", "--layout", "gpt_oss"]
    command = [sys.executable, "-c", KILLED, "quantize", str(model), str(out), *options]
    killed = subprocess.run(command, cwd=Path(__file__).parents[3], capture_output=True, text=True)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    assert {path.name for path in out.iterdir()} == {UNFINISHED}
    text = passes("quantize", model, out, *options)
    assert "an earlier command and this one" in text
    passes("quantize", model, once, *options)
    assert content(out) == content(once)


TERMINATED = KILLED.replace("SIGKILL", "SIGTERM").replace("\nmain()", "\nsys.exit(main())")
VERBS = {
    "quantize": (of_numbers, ["-f", "e2m1", "--layout", "gpt_oss"]),
    "convert": (of_codes, ["--layout", "quark"]),
    "dequantize": (of_codes, []),
}


@pytest.mark.sampled(2)
@pytest.mark.parametrize("verb", VERBS)
def test_a_signal_says_how_it_goes_on(verb, tmp_path, passes):
    made, options = VERBS[verb]
    model, out = made(tmp_path / "model"), tmp_path / "out"
    command = [sys.executable, "-c", TERMINATED, verb, str(model), str(out), *options]
    ended = subprocess.run(command, cwd=Path(__file__).parents[3], capture_output=True, text=True)
    assert (ended.returncode, ended.stdout) == (128 + signal.SIGTERM, "")
    said = f"{out} is not complete; give the same command again to go on"
    assert ended.stderr == f"mxcast: interrupted: {said}\n"
    assert "an earlier command and this one" in passes(verb, model, out, *options)


def quantize(model, target, numerics="e4m3", run=here):
    return quantize_checkpoint(model, target, rules(numerics), run=run)


def killed(model, target, finishes, count, numerics="e4m3"):
    """Kill `quantize` after this many tensors."""
    finishes.clear()
    finishes.most = count
    with pytest.raises(Killed):
        quantize(model, target, numerics)
    finishes.clear()
    finishes.most = None


@pytest.fixture
def model(tmp_path):
    return of_numbers(tmp_path / "model")


@pytest.fixture
def once(model, tmp_path):
    """The files of a command that was not killed."""
    quantize(model, tmp_path / "once")
    return content(tmp_path / "once")


def test_a_shard_of_the_same_size_and_time(model, tmp_path, finishes):
    """A file that was written again, with its old time."""
    killed(model, tmp_path / "out", finishes, 2)
    shard = model / "codes.safetensors"
    times = shard.stat()
    shard.write_bytes(shard.read_bytes()[:-8] + bytes(8))
    os.utime(shard, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert not quantize(model, tmp_path / "out").resumed
    quantize(model, tmp_path / "once")
    assert content(tmp_path / "out") == content(tmp_path / "once")


def test_a_finished_shard_that_was_changed(model, once, tmp_path, finishes):
    """A missing or damaged shard is converted again."""
    for change in (lambda data: data[:-1] + b"\x55", lambda data: data[:-1]):
        killed(model, tmp_path / "out", finishes, 5)  # the first has four
        shard = tmp_path / "out" / "codes.safetensors"
        shard.write_bytes(change(shard.read_bytes()))
        report = quantize(model, tmp_path / "out")
        assert not report.kept and content(tmp_path / "out") == once
        shutil.rmtree(tmp_path / "out")


def test_a_report_that_was_not_written(model, once, tmp_path, finishes, monkeypatch):
    """A complete shard is kept."""

    def kill(*_):
        raise Killed

    with monkeypatch.context() as patched:
        patched.setattr(UnfinishedModel, "keep", kill)
        with pytest.raises(Killed):
            quantize(model, tmp_path / "out")
    count = len(finishes)
    quantize(model, tmp_path / "out")
    assert content(tmp_path / "out") == once
    assert count and len(finishes) == len({*finishes})


@pytest.mark.parametrize("text", [b"", b"{}", b"\xff", b"5\n"])
def test_a_damaged_report(text, model, once, tmp_path, finishes):
    killed(model, tmp_path / "out", finishes, 5)
    (report,) = (tmp_path / "out" / UNFINISHED).glob("*/*/report.json")
    report.write_bytes(text)
    assert not quantize(model, tmp_path / "out").kept
    assert content(tmp_path / "out") == once


def test_a_job_that_nobody_waits_for(model, tmp_path):
    """The command was killed and another one took its place: the folder of the job is missing."""
    jobs = []
    with pytest.raises(Killed):
        quantize_checkpoint(
            model, tmp_path / "out", rules("e4m3", include=("l.*",)), run=lambda given: jobs.extend(given) or stopped()
        )
    quantize(model, tmp_path / "out", "e5m2")
    before = content(tmp_path / "out")
    assert {type(job.options) for job in jobs} == {QuantizeOptions, type(None)}
    for job in jobs:
        assert "No such file" in json.loads(shard_jobs.run_job(json.dumps(job.to_dict())))["error"]
    assert content(tmp_path / "out") == before


def stopped():
    raise Killed
    yield


def test_another_model_into_the_same_folder(model, tmp_path, finishes):
    """Files of the first command are removed, and older files stay."""
    other = save_model(tmp_path / "other", shutil.copy)
    (model / "codes.safetensors").rename(model / "first.safetensors")
    index = json.loads((model / INDEX).read_text())
    index["weight_map"] = {n: s.replace("codes", "first") for n, s in index["weight_map"].items()}
    (model / INDEX).write_text(json.dumps(index))
    killed(model, tmp_path / "out", finishes, 5)
    assert (tmp_path / "out" / "first.safetensors").exists()
    quantize(other, tmp_path / "out")
    quantize(other, tmp_path / "once")
    assert content(tmp_path / "out") == content(tmp_path / "once")


def test_names_that_lead_elsewhere(model, tmp_path):
    """Names in the state of an unfinished model, which anybody may have written."""
    (tmp_path / "mine").write_text("mine")
    other = tmp_path / "out" / UNFINISHED / "other"
    other.mkdir(parents=True)
    write_note(other / "files.json", ["../mine", str(tmp_path / "mine")])
    quantize(model, tmp_path / "out")
    assert (tmp_path / "mine").read_text() == "mine" and not (tmp_path / "out" / UNFINISHED).exists()


def test_a_command_that_waited(model, tmp_path):
    """A command waits for another one, and does not overwrite its model."""

    begun = threading.Event()

    def slowly(jobs):
        begun.set()
        time.sleep(0.5)
        yield from here(jobs)

    with ThreadPoolExecutor(1) as pool, pytest.warns(Waiting):
        first = pool.submit(quantize, model, tmp_path / "out", "e4m3", slowly)
        begun.wait()
        with pytest.raises(ValueError, match="is not empty"):
            quantize(model, tmp_path / "out", "e5m2")
        first.result()
    quantize(model, tmp_path / "once")
    assert content(tmp_path / "out") == content(tmp_path / "once")


@pytest.mark.parametrize("others", [1, 3])
def test_the_same_command_that_waited(others, model, tmp_path, monkeypatch):
    """The second command keeps the finished shards, and the last one removes the state."""
    begun, asked, ask = threading.Event(), set(), UnfinishedModel._ask_for_state

    def noted(unfinished, locks):
        ask(unfinished, locks)
        if unfinished._request:
            asked.add(unfinished)

    def slowly(jobs):
        begun.set()
        until = time.monotonic() + 60
        while len(asked) < others and time.monotonic() < until:
            time.sleep(0.01)
        yield from here(jobs)

    def never(jobs):
        assert not [*jobs], "all shards are there"
        yield from ()

    monkeypatch.setattr(UnfinishedModel, "_ask_for_state", noted)
    with ThreadPoolExecutor(1 + others) as pool, pytest.warns(Waiting):
        first = pool.submit(quantize, model, tmp_path / "out", "e4m3", slowly)
        begun.wait()
        waiting = [pool.submit(quantize, model, tmp_path / "out", "e4m3", never) for _ in range(others)]
        whole = first.result()
        for one in waiting:
            report = one.result()
            assert set(report.kept) == set(whole.shards)
            assert json.loads(json.dumps(whole.shards)) == report.shards
    quantize(model, tmp_path / "once")
    assert content(tmp_path / "out") == content(tmp_path / "once")


def test_the_same_command_that_waited_for_an_error(model, tmp_path, monkeypatch):
    """The second command meets the same error, and no file remains."""
    begun, asked, ask = threading.Event(), threading.Event(), UnfinishedModel._ask_for_state

    def noted(unfinished, locks):
        ask(unfinished, locks)
        if unfinished._request:
            asked.set()

    def refused(jobs):
        begun.set()
        asked.wait(60)
        raise ValueError("refused")
        yield

    monkeypatch.setattr(UnfinishedModel, "_ask_for_state", noted)
    with ThreadPoolExecutor(2) as pool, pytest.warns(Waiting):
        first = pool.submit(quantize, model, tmp_path / "out", "e4m3", refused)
        begun.wait()
        second = pool.submit(quantize, model, tmp_path / "out", "e4m3", refused)
        for one in (first, second):
            with pytest.raises(ValueError, match="^refused$"):
                one.result()
    assert not [*(tmp_path / "out").glob("*")]


@pytest.mark.parametrize("is_there", [False, True])
def test_what_is_refused_leaves_nothing(is_there, model, tmp_path, fails):
    out = tmp_path / "out"
    if is_there:
        out.mkdir()
    fails(2, "quantize", model, out, "-f", "nvfp4", "--layout", "ggml")
    assert [*out.iterdir()] == [] if is_there else not out.exists()


def test_links_and_the_model_itself(model, tmp_path):
    out, other = tmp_path / "out", tmp_path / "other"
    for folder in (out, other, other / "mine"):
        folder.mkdir()
    (out / UNFINISHED).symlink_to(other)
    with pytest.raises(ValueError, match="is not empty"):
        quantize(model, out)
    assert (other / "mine").is_dir()
    (model / UNFINISHED).mkdir()
    before = content_of_files(model)
    with pytest.raises(ValueError, match="are the same folder"):
        quantize(model, model)
    assert content_of_files(model) == before


def content_of_files(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


def test_long_names_of_shards(model, tmp_path):
    """Names of the greatest length of the file system."""
    name = f"{'x' * 243}.safetensors"
    for path in (model / "codes.safetensors", model / INDEX):
        if path.name == INDEX:
            path.write_text(path.read_text().replace("codes.safetensors", name))
        else:
            path.rename(model / name)
    assert name in quantize(model, tmp_path / "out").shards


def test_two_clients_of_one_scheduler(model, tmp_path):
    """Each command gets its own shards, although the names are equal."""
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(n_workers=1, threads_per_worker=1, processes=False, dashboard_address=None) as local:
        run = shard_jobs.on_cluster(local.scheduler_address)
        with ThreadPoolExecutor(2) as pool:
            both = [pool.submit(quantize, model, tmp_path / name, name, run) for name in ("e4m3", "e5m2")]
            for one in both:
                one.result()
    for name in ("e4m3", "e5m2"):
        quantize(model, tmp_path / f"{name}-once", name)
        assert content(tmp_path / name) == content(tmp_path / f"{name}-once")
