"""A child ends with the work that waits for it, and takes along what it has started."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from mxcast.host import processes
from mxcast.host.processes import TookTooLong, run, workers

PARENT_OF = """
import os, subprocess, sys, time
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
print(child.pid, file=open(sys.argv[1] + ".new", "w"), flush=True)
os.rename(sys.argv[1] + ".new", sys.argv[1])
time.sleep(60)
"""


def pid_in(path: Path) -> int:
    until = time.monotonic() + 20
    while not (path.exists() and path.read_text().strip()):
        assert time.monotonic() < until
        time.sleep(0.02)
    return int(path.read_text())


def is_running(pid: int) -> bool:
    """Whether a grandchild goes on although it was killed; the kernel takes a moment to end it."""
    for _ in range(100):
        try:
            if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z":
                return False
        except (FileNotFoundError, ProcessLookupError):
            return False
        time.sleep(0.02)
    return True


def test_output_errors_status_and_input():
    done = run([sys.executable, "-c", "import sys; print(sys.stdin.read().upper()); print('e', file=sys.stderr); sys.exit(3)"], input="a")
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
        run([sys.executable, "-c", PARENT_OF, tmp_path / str(number)])

    def stop() -> None:
        for number in (0, 1):
            pid_in(tmp_path / str(number))
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=stop).start()
    with pytest.raises(KeyboardInterrupt), workers(2) as pool:
        list(pool.map(work, range(10)))
    assert sorted(begun) == [0, 1] and not any(is_running(pid_in(tmp_path / str(number))) for number in begun)


def test_a_generator_that_is_closed_ends_its_children(tmp_path):
    def results():
        with workers(2) as pool:
            yield from pool.completed(lambda number: run([sys.executable, "-c", PARENT_OF, tmp_path / "pid"]) if number else None, [0, 1])

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


SIGNALLED = """
import sys
from mxcast.host import signals
from mxcast.host.processes import run
signals.install()
{before}
try:
    run([sys.executable, "-c", {program!r}, sys.argv[1]], cwd=sys.argv[2])
except signals.Interrupted as stopped:
    sys.exit(128 + stopped.number)
"""
SHIELDED = """
import os, signal, subprocess
begin = subprocess.Popen.__init__
def __init__(self, *arguments, **options):
    begin(self, *arguments, **options)
    os.kill(os.getpid(), signal.SIGINT)  # in the moment in which nobody knows of the child yet
subprocess.Popen.__init__ = __init__
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_all(tmp_path, number):
    with subprocess.Popen([sys.executable, "-c", SIGNALLED.format(before="", program=PARENT_OF), tmp_path / "pid", tmp_path],
                          preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler)) as ours:
        pid = pid_in(tmp_path / "pid")
        ours.send_signal(number)
        assert ours.wait(20) == 128 + number
    assert not is_running(pid) and [path.name for path in tmp_path.iterdir()] == ["pid"]


def test_a_signal_while_a_child_starts_ends_it_too(tmp_path):
    done = subprocess.run([sys.executable, "-c", SIGNALLED.format(before=SHIELDED, program=PARENT_OF), tmp_path / "pid", tmp_path], timeout=30,
                          preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler))
    assert done.returncode == 130
    if (tmp_path / "pid").exists():
        assert not is_running(pid_in(tmp_path / "pid"))


def test_what_the_process_is_to_ignore_it_ignores():
    """As under nohup."""
    program = "import os, signal; from mxcast.host import signals; signals.install(); os.kill(os.getpid(), signal.SIGHUP); print('on')"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True,
                          preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
    assert done.stdout == "on\n"
