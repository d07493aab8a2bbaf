"""A child ends with the work that waits for it, and takes along what it has started."""

from __future__ import annotations

import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from mxcast.host import processes
from mxcast.host.processes import TookTooLong, run, workers

from .interruption import heed_signals, interrupted_everywhere

PARENT_OF = """
import os, subprocess, sys, time
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
print(child.pid, file=open(sys.argv[1] + ".new", "w"), flush=True)
os.rename(sys.argv[1] + ".new", sys.argv[1])
time.sleep(60)
"""


def pid_in(path: Path) -> int:
    until = time.monotonic() + 60
    while not (path.exists() and path.read_text().strip()):
        assert time.monotonic() < until
        time.sleep(0.02)
    return int(path.read_text())


def is_running(pid: int) -> bool:
    """Whether a grandchild goes on although it was killed; the kernel takes a moment to end it."""
    until = time.monotonic() + 20
    while time.monotonic() < until:
        try:
            if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z":
                return False
        except (FileNotFoundError, ProcessLookupError):
            return False
        time.sleep(0.02)
    return True


def test_output_errors_status_and_input():
    done = run(
        [sys.executable, "-c", "import sys; print(sys.stdin.read().upper()); print('e', file=sys.stderr); sys.exit(3)"],
        input="a",
    )
    assert (done.status, done.output, done.errors) == (3, "A\n", "e\n")
    assert run([sys.executable, "-c", r"import sys; sys.stdout.buffer.write(b'\xff')"]).output == "\ufffd"
    with pytest.raises(FileNotFoundError):
        run(["no such program"])


def test_a_log_takes_all(tmp_path):
    with open(tmp_path / "log", "wb") as log:
        done = run([sys.executable, "-c", "import sys; print('e', file=sys.stderr)"], log=log)
    assert done.output == done.errors == "" and (tmp_path / "log").read_text() == "e\n"


def test_temporary_files_of_a_child_are_removed(tmp_path):
    said = run([sys.executable, "-c", "import tempfile; print(tempfile.mkdtemp())"], cwd=tmp_path).output.strip()
    assert Path(said).parent.parent == tmp_path and not Path(said).exists() and list(tmp_path.iterdir()) == []


def test_time_is_up(tmp_path):
    start = time.monotonic()
    with pytest.raises(TookTooLong, match="took more than 0.5 seconds"):
        run([sys.executable, "-c", PARENT_OF, tmp_path / "pid"], timeout=0.5)
    assert time.monotonic() - start < 20
    if (tmp_path / "pid").exists():
        assert not is_running(pid_in(tmp_path / "pid"))


def test_an_exception_ends_the_children_of_workers(tmp_path):
    begun = []

    def work(number: int) -> None:
        begun.append(number)
        if number == 2:
            for other in (0, 1):
                pid_in(tmp_path / str(other))
            raise ArithmeticError
        run([sys.executable, "-c", PARENT_OF, tmp_path / str(number)])

    with pytest.raises(ArithmeticError), workers(3) as pool:
        list(pool.completed(work, range(10)))
    assert set(begun) < set(range(5)), "at most one more began before the others were stopped"
    assert not any(is_running(pid_in(tmp_path / str(number))) for number in (0, 1))


def test_a_generator_that_is_closed_ends_its_children(tmp_path):
    def results():
        with workers(2) as pool:
            yield from pool.completed(
                lambda number: run([sys.executable, "-c", PARENT_OF, tmp_path / "pid"]) if number else None, [0, 1]
            )

    generator = results()
    assert next(generator) == (0, None)
    pid = pid_in(tmp_path / "pid")
    generator.close()
    assert not is_running(pid)


def test_results_come_in_order_and_keep_the_context():
    from contextvars import ContextVar

    variable = ContextVar("variable", default=0)
    variable.set(5)
    with workers(2) as pool:
        assert list(pool.map(lambda number: number + variable.get(), [3, 1, 2])) == [8, 6, 7]


def test_a_child_that_does_not_heed_sigterm_is_killed(tmp_path, monkeypatch):
    monkeypatch.setattr(processes, "GRACE", 0.3)
    program = f"import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); {PARENT_OF}"
    with pytest.raises(TookTooLong):
        run([sys.executable, "-c", program, tmp_path / "pid"], timeout=1)
    if (tmp_path / "pid").exists():
        assert not is_running(pid_in(tmp_path / "pid"))


def test_what_a_child_left_is_ended_too(tmp_path):
    """The grandchild keeps the pipe open after its parent ended."""
    with pytest.raises(TookTooLong):
        run(["sh", "-c", f"sleep 60 & echo $! > {tmp_path}/pid"], timeout=2)
    assert not is_running(pid_in(tmp_path / "pid"))


def test_a_signal_at_any_moment_leaves_no_child(monkeypatch):
    begun = []

    class Counted(subprocess.Popen):
        def __init__(self, *arguments, **options):
            super().__init__(*arguments, **options)
            begun.append(self)

    run(["true"])  # which begins the guardian
    monkeypatch.setattr(processes.subprocess, "Popen", Counted)
    for place in interrupted_everywhere(lambda: run(["sleep", "0.05"]), processes, opcodes=False):
        assert all(child.returncode is not None for child in begun), place
        assert not processes._main_children._running, place
    assert len(begun) > 5


SIGNALLED = """
import sys
from mxcast.host import signals
from mxcast.host.processes import run, workers
signals.install()
{before}
try:
    {work}
except signals.Interrupted as stopped:
    sys.exit(128 + stopped.number)
"""
ALONE = f"run([sys.executable, '-c', {PARENT_OF!r}, sys.argv[1]], cwd=sys.argv[2])"
IN_WORKERS = f"""
    with workers(2) as pool:
        list(pool.map(lambda end: run([sys.executable, '-c', {PARENT_OF!r}, sys.argv[1] + end]), ['', '.other']))
"""
SHIELDED = """
import os, signal, subprocess
begin = subprocess.Popen.__init__
def __init__(self, *arguments, **options):
    begin(self, *arguments, **options)
    os.kill(os.getpid(), signal.SIGINT)  # in the moment in which nobody knows of the child yet
subprocess.Popen.__init__ = __init__
"""


def signalled(work: str, folder: Path, before: str = "") -> list:
    return [sys.executable, "-c", SIGNALLED.format(before=before, work=work), folder / "pid", folder]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_all(tmp_path, number):
    with subprocess.Popen(signalled(ALONE, tmp_path), preexec_fn=heed_signals) as ours:
        pid = pid_in(tmp_path / "pid")
        ours.send_signal(number)
        assert ours.wait(60) == 128 + number
    assert not is_running(pid) and [path.name for path in tmp_path.iterdir()] == ["pid"]


DROPPED = """
import os, signal
class Finalized:
    def __del__(self):
        os.kill(os.getpid(), signal.SIGTERM)
        for _ in range(3):
            pass
Finalized()
"""


SLOW_HOOK = """
import threading, time
class Slow(threading.Timer):
    started = 0
    def start(self):
        super().start()
        Slow.started += 1
        if Slow.started == 1:
            time.sleep(0.2)
signals.threading.Timer = Slow
"""
"""The signal that is sent again arrives while Python's hook for dropped exceptions is still running."""


@pytest.mark.parametrize("before", ["", SLOW_HOOK], ids=["", "while-it-is-dropped"])
def test_a_signal_in_a_finalizer_ends_all(tmp_path, before):
    """Python drops exceptions in these places."""
    with subprocess.Popen(
        signalled(f"exec({before + DROPPED!r}); {ALONE}", tmp_path), preexec_fn=heed_signals, stderr=subprocess.PIPE
    ) as ours:
        assert ours.wait(40) == 128 + signal.SIGTERM and ours.stderr.read() == b""
    assert not (tmp_path / "pid").exists() or not is_running(pid_in(tmp_path / "pid"))


def test_a_signal_ends_the_children_of_workers(tmp_path):
    with subprocess.Popen(signalled(IN_WORKERS, tmp_path), preexec_fn=heed_signals) as ours:
        both = [pid_in(tmp_path / "pid"), pid_in(tmp_path / "pid.other")]
        ours.send_signal(signal.SIGINT)
        assert ours.wait(60) == 130
    assert not any(is_running(pid) for pid in both)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGQUIT, signal.SIGSEGV])
def test_a_process_that_cannot_clear_up_takes_its_children_along(tmp_path, number):
    with subprocess.Popen(signalled(IN_WORKERS, tmp_path), preexec_fn=no_core) as ours:
        both = [pid_in(tmp_path / "pid"), pid_in(tmp_path / "pid.other")]
        ours.send_signal(number)
        assert ours.wait(60) == -number
    assert not any(is_running(pid) for pid in both)


BEFORE_ITS_NUMBER_IS_WRITTEN = """
import os, signal, time
from pathlib import Path
from mxcast.host import processes
def killed(number):
    while not Path(sys.argv[1]).exists():
        time.sleep(0.01)
    os.kill(os.getpid(), signal.SIGKILL)
processes.watch = killed
"""


@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="needs /proc")
def test_a_child_whose_number_was_never_written_is_ended_too(tmp_path):
    with subprocess.Popen(signalled(ALONE, tmp_path, BEFORE_ITS_NUMBER_IS_WRITTEN)) as ours:
        assert ours.wait(60) == -signal.SIGKILL
    assert not is_running(pid_in(tmp_path / "pid"))


def no_core() -> None:
    heed_signals()
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def test_a_signal_while_a_child_starts_ends_it_too(tmp_path):
    done = subprocess.run(signalled(ALONE, tmp_path, SHIELDED), timeout=60, preexec_fn=heed_signals)
    assert done.returncode == 130
    if (tmp_path / "pid").exists():
        assert not is_running(pid_in(tmp_path / "pid"))


def test_what_the_process_is_to_ignore_it_ignores():
    """The process ignores SIGHUP, as under nohup."""
    program = (
        "import os, signal; from mxcast.host import signals; signals.install(); os.kill(os.getpid(), "
        "signal.SIGHUP); print('on')"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN),
    )
    assert done.stdout == "on\n"
