"""Whole sweeps of small converters: real Yosys, interruption, failures, a Dask cluster that loses a worker, and the
command.
"""

import csv
import dataclasses
import importlib
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import ml_dtypes
import numpy as np
import pytest
from safetensors.numpy import save_file

from mxcast.cli import main
from mxcast.explore import Point, Sweep, chosen_sweep, exploration, explore, jobs
from mxcast.explore.report.output import write
from mxcast.explore.tensors import given
from mxcast.hdl import converter_config, verilog
from mxcast.hdl.emission.modules import fingerprint
from mxcast.host.errors import ToolError
from mxcast.proof import prove, recorded
from mxcast.proof.solve.record import keep
from mxcast.synth import TARGETS, synth

from .test_sweep import sweeps_of_the_guide

emission, synthesis = (importlib.import_module(f"mxcast.{name}") for name in ("hdl.emission.emit", "synth.synthesis"))

SMALL = {"format": "e2m1", "target": "lut4", "block_size": 2}
TENSORS = {"x": np.linspace(-4, 4, 64, dtype=np.float32)}
SWEEP = Sweep(
    name="small",
    usual={key: (value,) for key, value in SMALL.items()},
    grids=({"scale_rule": ("floor", "ceil", "even")},),
)


@pytest.fixture(scope="module")
def computed(tmp_path_factory, new_cache):
    """A cache with the results of `SWEEP`."""
    folder = new_cache(tmp_path_factory.mktemp("computed"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MXCAST_CACHE", str(folder))
        assert {row.status for row in explore(SWEEP, tensors=TENSORS)} == {"done"}
    return folder


@pytest.fixture
def kept(cache, computed):
    """A copy of that cache for one test."""
    for folder in computed.iterdir():
        if not folder.is_symlink():
            shutil.copytree(folder, cache / folder.name, dirs_exist_ok=True)
    return cache


def planted(monkeypatch, tmp_path, does: str) -> None:
    """Let every job process run this first: a module that Python imports at its start."""
    (tmp_path / "planted").mkdir(exist_ok=True)
    (tmp_path / "planted" / "sitecustomize.py").write_text(does)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "planted"))


def test_rows_have_the_figures_of_synth_and_of_the_model(kept):
    rows = explore(SWEEP, tensors=TENSORS)
    assert [row.scale_rule for row in rows] == ["floor", "ceil", "even"] and {row.status for row in rows} == {"done"}
    for row in rows:
        config = converter_config("e2m1", block_size=2, scale_rule=row.scale_rule)
        whole = synth(config, "lut4", stages=False).whole
        assert (row.luts, row.levels, row.carries, row.config_id) == (
            whole.luts,
            whole.levels,
            whole.carries,
            config.config_id,
        )
        assert (
            row.verilog == fingerprint(verilog(config, "converter"))
            and row.fmax_mhz is None
            and row.gbytes_per_s is None
        )
        assert row.accuracy["x"]["sqnr_db"] == row.sqnr_db > 10
    assert rows[0].profile == "ocp" and rows[1].profile == "nvidia"
    assert {row.scale_rule for row in rows if row.pareto} and rows[0].proof == "not asked"


NONZERO = {"mxfp8_e5m2": 64, "mxfp4_e2m1": 63}
"""Elements of the blocks below that are not zero: 2^-16 next to 3 is an element of E5M2, and zero in E2M1."""


def measured_by_nobody(points, *_):
    """Made-up costs: each point is smaller than the one before."""
    names = ("carries", "muxes", "ffs", "logic_cells", "levels", "delay_ps")
    for number, point in enumerate(points):
        whole = {"luts": 1000 - number, **dict.fromkeys(names, 10)}
        yield point, jobs.Outcome(result={"verilog": "0" * 64, "whole": whole})


@pytest.mark.parametrize("operation", ["decode", "cast"])
def test_decoders_and_casts(operation, cache, monkeypatch, tmp_path):
    """The sweep of the guide, and a sweep of casts: their losses, front and report."""
    monkeypatch.setattr(jobs, "on_record", lambda points, workers: {})
    monkeypatch.setattr(jobs, "locally", measured_by_nobody)
    casts = 'operation = "cast"\nformat = ["e4m3", "e2m1"]\nrounding = ["rne", "rtz"]\n'
    (tmp_path / "sweep.toml").write_text(casts if operation == "cast" else sweeps_of_the_guide()[1][1])
    x = np.array([[3.0, 2.0**-16, *[1.0] * 30], [2.0**20] * 32], np.float32)
    found = exploration(chosen_sweep(str(tmp_path / "sweep.toml")), tensors=given({"x": x}))
    assert {row.operation for row in found.rows} == {operation}
    files = write(found, tmp_path / "out")
    page = files["html"].read_text()
    assert len(json.loads(files["json"].read_text())["points"]) == len(found.rows) and "Differing, %" in page
    if operation == "decode":  # 2^20 is no number of FP16, but Inf
        assert all(
            row.differing == row.lost == (row.destination == "fp16") * 32 / NONZERO[row.format] for row in found.rows
        )
        said = re.sub("<.*?>", "", page)
        commands = page.count("<span>--set destination=fp16</span>"), "--op decode --profile te" in said
        assert '"up":"differing"' in page and commands == (4, True)
        assert [row.id for row in found.rows if row.pareto] == [found.rows[-1].id] and found.rows[-1].lane == "shift"
    else:  # 2^20 saturates, 2^-16 becomes zero
        assert {(row.differing, row.saturated, row.flushed) for row in found.rows} == {(33 / 64, 32 / 64, 1 / 64)}


def test_a_list_of_rows_is_a_table(kept):
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame(explore(SWEEP, tensors=TENSORS))
    assert list(table["scale_rule"]) == ["floor", "ceil", "even"] and (table["luts"] > 0).all()


def test_nothing_is_computed_twice(kept, monkeypatch, tmp_path):
    first = explore(SWEEP, tensors=TENSORS)
    planted(monkeypatch, tmp_path, "import os; os._exit(9)")
    seen = []
    assert explore(SWEEP, tensors=TENSORS, progress=seen.append) == first
    assert seen[-1].cached == seen[-1].total == seen[-1].done == 3
    assert {row.status for row in explore(SWEEP, tensors=TENSORS, force=True)} == {"failed"}, "a job would have failed"


def test_a_damaged_result_is_computed_again(kept):
    first = explore(SWEEP, tensors=TENSORS)
    for path, damaged in zip(
        (kept / "explored").glob("*.json"), (lambda text: text[:40], lambda text: "{}", lambda text: "[]"), strict=True
    ):
        path.write_text(damaged(path.read_text()))
    assert not explore(SWEEP, tensors=TENSORS, cached=True)
    assert explore(SWEEP, tensors=TENSORS) == first


def test_a_failed_point_has_its_log_and_stops_no_other(cache, monkeypatch, tmp_path):
    """Yosys gets a failing script for one of the points."""
    planted(
        monkeypatch,
        tmp_path,
        """
import mxcast.synth.synthesis as synthesis
run = synthesis.run
def broken(commands, folder, technology=None):
    text = (folder / "converter.v").read_text()
    return run([*commands[:1], "no_such_pass"] if "SCALE" in text else commands, folder, technology)
synthesis.run = broken
""".replace("SCALE", "> 23'h400000"),
    )
    assert "> 23'h400000" in verilog(converter_config("e2m1", block_size=2, scale_rule="ceil"), "converter")
    rows = explore(SWEEP, tensors=TENSORS)
    assert [row.status for row in rows] == ["done", "failed", "done"]
    assert "no_such_pass" in rows[1].error and "no_such_pass" in rows[1].log and rows[1].luts is rows[1].proof is None
    monkeypatch.delenv("PYTHONPATH")
    assert [row.status for row in explore(SWEEP, tensors=TENSORS)] == ["done"] * 3, "a failure is not kept"


def test_a_job_that_is_killed_is_a_failed_point(cache, monkeypatch, tmp_path):
    planted(monkeypatch, tmp_path, "import os, signal; os.kill(os.getpid(), signal.SIGKILL)")
    (row, *_) = explore(SWEEP, tensors=TENSORS)
    assert row.status == "failed" and "ended with status -9" in row.error


def test_jobs_are_of_this_package(cache, monkeypatch, tmp_path):
    """A module of the same name in the current folder, such as a clone of the package, is not imported."""
    (tmp_path / "mxcast").mkdir()
    (tmp_path / "mxcast" / "__init__.py").write_text("raise ImportError('another package')")
    monkeypatch.chdir(tmp_path)
    assert {row.status for row in explore(SWEEP, tensors=TENSORS)} == {"done"}


def test_kill_in_the_middle(cache, new_cache, tmp_path):
    """kill -9 after the first result: the second run computes only the others, and writes the files of an uninterrupted
    run.
    """
    sweep = SWEEP
    program = (
        "import sys; from mxcast.explore import explore, Sweep\n"
        f"explore(Sweep(name='small', usual={dict(sweep.usual)!r}, grids={tuple(sweep.grids)!r}), tensors=None, jobs=1)"
    )
    running = subprocess.Popen([sys.executable, "-c", program])
    while not len(list((cache / "explored").glob("*.json"))):
        assert running.poll() is None
        time.sleep(0.05)
    running.send_signal(signal.SIGKILL)
    running.wait()
    kept = {path: path.stat().st_mtime_ns for path in (cache / "explored").glob("*.json")}
    assert 1 <= len(kept) < 3
    seen = []
    found = exploration(sweep, tensors=given(TENSORS), progress=seen.append)
    assert seen[0].cached >= len(kept) and seen[-1].done == 3, [row.error for row in found.rows if row.error]
    assert {path: path.stat().st_mtime_ns for path in kept} == kept, "computed again"
    again = tmp_path / "again"
    write(found, tmp_path / "first")
    os.environ["MXCAST_CACHE"] = str(new_cache(tmp_path / "empty"))  # the fixture takes it back
    write(exploration(sweep, tensors=given(TENSORS)), again)
    assert {p.name: p.read_bytes() for p in again.iterdir()} == {
        p.name: p.read_bytes() for p in (tmp_path / "first").iterdir()
    }


@pytest.mark.slow
def test_two_sweeps_at_once_compute_a_point_once(cache, monkeypatch, tmp_path):
    counted = tmp_path / "count"
    planted(
        monkeypatch,
        tmp_path,
        f"""
import mxcast.explore.jobs as jobs
measured = jobs.measured
def counting(point, force=False):
    with open({str(counted)!r}, "a") as file:
        file.write(point.id + "\\n")
    return measured(point, force)
jobs.measured = counting
""",
    )
    with ThreadPoolExecutor(2) as pool:
        a, b = pool.map(lambda number: explore(SWEEP, tensors=TENSORS), range(2))
    assert a == b and sorted(counted.read_text().split()) == sorted(row.id for row in a)


def test_a_missing_tool_is_said_before_any_job(cache, monkeypatch):
    def missing():
        raise ToolError("Yosys is missing: pip install '.[synth]' in a checkout of mxcast")

    monkeypatch.setattr(jobs, "yosys_version", missing)
    with pytest.raises(ToolError, match="Yosys is missing"):
        explore(SWEEP, tensors=TENSORS)


def test_what_a_result_depends_on(monkeypatch):
    point = Point(config=converter_config("e2m1"), target="xcu")
    first = jobs.key(point)
    assert (
        jobs.key(Point(config=point.config, target="ecp5"))
        != first
        != jobs.key(Point(config=converter_config("e3m2"), target="xcu"))
    )
    monkeypatch.setattr(jobs, "yosys_version", lambda: "0.0")
    assert jobs.key(point) != first


def test_what_a_result_does_not_depend_on(cache, monkeypatch):
    """Other code, another version, header or description does not lead to a new synthesis of the same Verilog."""
    config = converter_config("e2m1", block_size=2)
    sweep = Sweep(name="one", usual=SWEEP.usual, grids=({},))
    rows, whole = explore(sweep, tensors=TENSORS), synth(config, "lut4", stages=False).whole
    header, target = emission._header, TARGETS["lut4"]
    monkeypatch.setattr(emission, "_header", lambda *arguments: "// another header\n" + header(*arguments))
    monkeypatch.setattr(jobs, "sources", lambda *packages: "other code")
    monkeypatch.setattr(jobs, "version", lambda name: "9.9")
    monkeypatch.setitem(TARGETS, "lut4", dataclasses.replace(target, description="in other words"))
    monkeypatch.setattr(synthesis, "run", None)
    assert verilog(config, "converter").startswith("// another header")
    assert explore(sweep, tensors=TENSORS, cached=True) == rows
    assert synth(config, "lut4", stages=False).whole == whole
    monkeypatch.setitem(TARGETS, "lut4", dataclasses.replace(target, script=f"{target.script}; opt"))
    assert explore(sweep, tensors=TENSORS, cached=True) == []
    with pytest.raises(TypeError, match="not callable"):  # it would run Yosys
        synth(config, "lut4", stages=False)


def test_points_with_the_same_verilog_are_one_job(cache, monkeypatch):
    """No FP16 number is a subnormal of FP32, so the rule about these changes nothing."""
    sweep = Sweep(
        name="same", usual=SWEEP.usual, grids=({"source": ("fp16",), "input_subnormals": ("exact", "flush")},)
    )
    a, b = sweep.points()[0]
    assert a.id != b.id and jobs.key(a) == jobs.key(b)
    assert [row.status for row in explore(sweep, tensors=TENSORS)] == ["done", "done"]
    assert len(list((cache / "explored").glob("*.json"))) == 1


def test_proofs_come_from_the_record(kept, tmp_path):
    config = converter_config("e2m1", block_size=2)
    digest = fingerprint(verilog(config, "converter"))
    assert recorded(digest) == "not on record"
    assert prove(config, out=tmp_path).passed
    assert (
        recorded(digest) == "proved"
        and recorded(fingerprint(verilog(converter_config("e2m1", block_size=4), "converter"))) == "not on record"
    )
    keep(verilog(config, "other"), "other", "TIMEOUT")
    assert recorded(digest) == "proved", "a later time-out refutes nothing, and the name of a file is no matter"
    rows = explore(SWEEP, tensors=TENSORS, proved=recorded)
    assert [row.proof for row in rows] == ["proved", "not on record", "not on record"]


def test_a_cluster_gives_the_same_and_survives_a_worker(kept, monkeypatch, new_cache, tmp_path):
    """One of two worker processes is killed as soon as both have a job."""
    distributed = pytest.importorskip("distributed")
    local = explore(SWEEP, tensors=TENSORS)
    monkeypatch.setenv("MXCAST_CACHE", str(new_cache(tmp_path / "elsewhere")))
    killed = []
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None) as cluster:
        pids = [worker.process.pid for worker in cluster.workers.values()]

        def progress(now):
            if not killed and now.done:
                killed.append(pids[0])
                os.kill(pids[0], signal.SIGKILL)

        assert (
            explore(SWEEP, tensors=TENSORS, scheduler=cluster.scheduler_address, progress=progress, force=True) == local
        )
    assert killed


def test_a_worker_of_another_version_is_not_believed(cache, monkeypatch):
    """A worker with another version of the code must not store its results under our key."""
    distributed = pytest.importorskip("distributed")
    from mxcast.explore import cluster

    with distributed.LocalCluster(n_workers=1, threads_per_worker=1, processes=False, dashboard_address=None) as local:
        keys = iter(["ours", "theirs"])
        monkeypatch.setattr(cluster.jobs, "key", lambda point: next(keys))
        monkeypatch.setattr(cluster.jobs, "outcome", lambda point, force: jobs.Outcome(result={"verilog": "-"}))
        ((_, outcome),) = cluster.on_cluster(
            [Point(config=converter_config("e2m1"), target="lut4")], local.scheduler_address
        )
    assert not outcome.done and "another version" in outcome.error and not list(cache.glob("explored/*.json"))


def test_a_scheduler_without_workers(cache, monkeypatch):
    distributed = pytest.importorskip("distributed")
    from mxcast.host import cluster

    monkeypatch.setattr(cluster, "PATIENCE_FOR_WORKER", 2.0)
    with (
        distributed.LocalCluster(n_workers=0, dashboard_address=None) as empty,
        pytest.raises(ToolError, match="has no workers"),
    ):
        explore(SWEEP, tensors=TENSORS, scheduler=empty.scheduler_address)


HEEDS = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); "
"""A shell starts background commands with SIGINT ignored; this restores it."""
SLOWLY = (
    "from concurrent.futures import ThreadPoolExecutor as Pool; import time; submit = Pool.submit; "
    "Pool.submit = lambda *job: (submit(*job), time.sleep(5))[0]; "
)
"""The signal finds the command where it hands out its jobs, and not where it waits for them."""


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    "number, status, before", [(signal.SIGINT, 130, ""), (signal.SIGTERM, 143, ""), (signal.SIGINT, 130, SLOWLY)]
)
def test_an_end_from_outside_takes_the_jobs_along(cache, tmp_path, number, status, before):
    """It says what is kept; the process of the job, which would go on for a minute, ends too."""
    (tmp_path / "planted").mkdir()
    (tmp_path / "planted" / "sitecustomize.py").write_text(f"""
import os, sys, time
if "jobs import main" in " ".join(sys.orig_argv):
    with open({str(tmp_path / "job")!r}, "w") as file:
        file.write(str(os.getpid()))
    time.sleep(60)
""")
    program = [
        sys.executable,
        "-c",
        f"{HEEDS}{before}import sys; from mxcast.cli import main; sys.argv[1:] = "
        f"{COMMAND + ['-j', '1', '--no-report']!r}; sys.exit(main())",
    ]
    running = subprocess.Popen(
        program, stderr=subprocess.PIPE, text=True, env=os.environ | {"PYTHONPATH": str(tmp_path / "planted")}
    )
    while not (tmp_path / "job").exists() or not (tmp_path / "job").read_text():
        assert running.poll() is None
        time.sleep(0.05)
    running.send_signal(number)
    _, said = running.communicate(timeout=30)
    assert running.returncode == status and "interrupted: 0 of 2 points are kept\n" in said
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "job").read_text()), 0)


def test_an_interrupt_between_results_takes_the_jobs_along(cache, monkeypatch, tmp_path):
    """The interrupt comes during a report of progress, not while the command waits. A job that did not end would run
    for a minute.
    """
    planted(
        monkeypatch,
        tmp_path,
        f"""
import os, sys, time
def lasting():
    with open({str(tmp_path / "job")!r}, "w") as file:
        file.write(str(os.getpid()))
    time.sleep(60)
if "jobs import main" in " ".join(sys.orig_argv):
    try:
        os.mkdir({str(tmp_path / "first")!r})
    except FileExistsError:
        lasting()
""",
    )

    def progress(now):
        if now.done:
            while not (tmp_path / "job").exists() or not (tmp_path / "job").read_text():
                time.sleep(0.05)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt) as caught:  # and held, with the frames that it came through
        explore(SWEEP, tensors=TENSORS, progress=progress)
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "job").read_text()), 0)
    assert caught


def test_no_scheduler(cache, monkeypatch):
    pytest.importorskip("distributed")
    from mxcast.host import cluster

    monkeypatch.setattr(cluster, "PATIENCE", 1.0)
    with pytest.raises(ToolError, match="no Dask scheduler answers at tcp://127.0.0.1:9"):
        explore(SWEEP, tensors=TENSORS, scheduler="tcp://127.0.0.1:9")


COMMAND = [
    "explore",
    "point",
    "--format",
    "e2m1",
    "--target",
    "lut4",
    "--set",
    "block_size=2",
    "--set",
    "scale_rule=floor",
    "--set",
    "scale_rule=ceil",
]


def test_the_command(cache, tmp_path, capsys):
    np.save(tmp_path / "x.npy", TENSORS["x"])
    assert main([*COMMAND, "--tensors", str(tmp_path / "x.npy"), "-o", str(tmp_path / "out"), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert [p["scale_rule"] for p in document["points"]] == ["floor", "ceil"] and document["tensors"][0][
        "numbers"
    ] == 64
    assert {"html", "csv", "json"} <= set(document["files"])
    with open(document["files"]["csv"]) as file:
        assert [row["scale_rule"] for row in csv.DictReader(file)] == ["floor", "ceil"]
    kept = json.loads((tmp_path / "out" / "explore.json").read_text())
    assert kept["points"] == document["points"] and "Pareto" not in json.dumps(kept["tools"])


def test_tensors_that_cannot_be_judged_by_are_named(cache, tmp_path, capsys):
    np.savez(tmp_path / "x.npz", x=TENSORS["x"], indices=np.arange(64))
    assert main([*COMMAND, "--tensors", str(tmp_path / "x.npz"), "--no-report"]) == 0
    said = capsys.readouterr().out
    assert "not arrays of F32, F16 or BF16 numbers: indices of " in said
    build = re.search(r"^mxfp\w+, \w+: build .* LUTs.* 10 % .*\n  mxcast emit \w+ --profile .*\n", said, flags=re.M)
    assert build and "\\" not in build[0], "no character is escaped"


def test_a_checkpoint_in_bf16(cache, tmp_path, capsys):
    """A converter from FP32 takes its numbers, which are FP32 numbers."""
    values = TENSORS["x"].astype(ml_dtypes.bfloat16)
    save_file({"x": values}, tmp_path / "x.safetensors")
    assert main([*COMMAND, "--tensors", str(tmp_path / "x.safetensors"), "--no-report", "--json"]) == 0
    points = json.loads(capsys.readouterr().out)["points"]
    assert [p["sqnr_db"] for p in points] == [
        row.sqnr_db for row in explore(SWEEP, tensors={"x": values.astype(np.float32)})
    ][:2]


def test_jobs_for_a_queue(cache, tmp_path, capsys):
    """The sweep finds the results of the written commands, run by a shell."""
    assert main([*COMMAND, "--emit-jobs", str(tmp_path / "jobs")]) == 0
    lines = (tmp_path / "jobs").read_text().splitlines()
    assert len(lines) == 2 and not list(cache.glob("explored/*.json"))
    for line in lines:
        assert main(shlex.split(line)[1:]) == 0
    assert len(list(cache.glob("explored/*.json"))) == 2
    capsys.readouterr()
    assert main([*COMMAND, "--no-report", "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["points"]) == 2 and len(list(cache.glob("explored/*.json"))) == 2


def test_failures_are_said_where_nothing_can_be_drawn(cache, monkeypatch, tmp_path, capsys):
    planted(monkeypatch, tmp_path, "import os; os._exit(9)")
    assert main([*COMMAND, "-o", str(tmp_path / "out")]) == 1
    assert capsys.readouterr().err.count("failed: the job ended with status 9") == 2
    assert {path.name for path in (tmp_path / "out").iterdir()} == {"explore.html", "explore.csv", "explore.json"}


@pytest.mark.parametrize(
    "words, says",
    [
        (["explore", "roundin"], "unknown sweep 'roundin': did you mean 'rounding'"),
        (["explore", "missing.toml"], "missing.toml: No such file"),
        (["explore", "--set", "scale_rul=ceil"], "did you mean 'scale_rule'"),
        (["explore", "--objective", "lut"], "unknown objective 'lut': did you mean 'luts'"),
        (["explore", "--objective", "fmax_mhz"], "fmax_mhz needs place and route: give seeds (--pnr)"),
        (["explore", "--out", __file__], "test_explore.py is no folder"),
        (["explore", "--tensors", "empty.npz"], "empty.npz has no tensors"),
        (["explore", "--emit-jobs", "/"], "/ is a folder: --emit-jobs names a file"),
        (["explore", "--pnr"], "place and route is for ecp5, ice40"),
        (["explore", "--tensors", "x.txt"], "x.txt must be a .safetensors, .npy"),
    ],
)
def test_wrong_calls(cache, words, says, capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    np.savez("empty.npz")
    (tmp_path / "x.txt").touch()
    assert main(words) == 2
    assert says in capsys.readouterr().err


def test_the_bar_begins_twice(monkeypatch):
    """Once for the jobs that are left, once for the points to be judged; both times the bar goes on, so that it has a
    time to go.
    """
    import io

    import rich.progress

    from mxcast.cli.output.output import Output
    from mxcast.cli.verbs.explore import _bar
    from mxcast.explore import Progress

    class Terminal(io.StringIO):
        def isatty(self):
            return True

    class Bar(rich.progress.Progress):
        begun = 0

        def reset(self, task, **more):
            Bar.begun, Bar.last = Bar.begun + 1, self
            super().reset(task, **more)

    monkeypatch.setattr(rich.progress, "Progress", Bar)
    monkeypatch.setattr(sys, "stderr", Terminal())
    seen = []
    with _bar(Output(), "small") as progress:
        for done, judged in [(1, 0), (2, 0), (4, 0), (4, 1), (4, 2), (4, 4)]:
            progress(Progress(total=4, cached=1, done=done, failed=0, running=1, judged=judged))
            seen.append((Bar.last.tasks[0].completed, Bar.last.tasks[0].total, Bar.begun))
    assert seen == [(0, 3, 1), (1, 3, 1), (3, 3, 1), (1, 4, 2), (2, 4, 2), (4, 4, 2)]


def test_a_failed_point_is_exit_code_1(cache, monkeypatch, tmp_path, capsys):
    planted(monkeypatch, tmp_path, "import os; os._exit(9)")
    assert main([*COMMAND, "--no-report"]) == 1
    assert "failed: the job ended with status 9" in capsys.readouterr().err
